// Sums over one block of dense points, which are added to the totals when the block is done.
#pragma once

#include "nearest.hpp"

namespace eulermeans {
namespace {

// Sums over the rows of one block, for the clusters that have points in it. S is the type that points are stored as.
// Bytes without weights are summed as integers: a block of them fits 16 bits.
template <class S>
class BlockSums {
 public:
  static constexpr std::int64_t n_rows = block_rows, most_per_run = 16;

  BlockSums(std::int64_t n_clusters, std::int64_t n_features, bool unweighted)
      : n_features_(n_features),
        place_(n_clusters),
        narrow_(is_byte<S> && unweighted),
        sums_(narrow_ ? 0 : std::min(n_clusters, block_rows) * n_features),
        narrow_sums_(narrow_ ? std::min(n_clusters, block_rows) * n_features : 0) {
    for (std::int64_t j = 0; j < n_clusters; ++j) place_.data()[j] = -1;
  }

  template <class R>
  void add(const R *const *points, const double *weights, const Nearest *found, int n) {
    if (n_features_ >= sorting_features) return add_by_cluster(points, weights, found, n);
    for (int p = 0; p < n; ++p) {
      if (weights[p] == 0) continue;
      Met &met = meet(found[p].label);
      met.add(weights[p], found[p]);
      add_to_sum<1>(points + p, weights + p, met);
    }
  }

  void flush_into(const Totals &totals) {
    for (std::int32_t i = 0; i < n_met_; ++i) {
      const Met &met = met_[i];
      place_.data()[met.label] = -1;
      *totals.cost += met.error;
      totals.counts[met.label] += met.count;
      if (totals.errors != nullptr) totals.errors[met.label] += met.error;
      if (totals.utilities != nullptr) totals.utilities[met.label] += met.utility;
      double *total = totals.sums + met.label * n_features_;
      if (narrow_)
        add_up(narrow_sums_.data() + i * n_features_, total);
      else
        add_up(sums_.data() + i * n_features_, total);
    }
    n_met_ = 0;
  }

 private:
  static constexpr int together = 4;
  static constexpr std::int64_t sorting_features = 64;  // with fewer features, sorting costs more than it saves
  using Narrow = std::conditional_t<std::is_signed_v<S>, std::int16_t, std::uint16_t>;
  static_assert(block_rows * (std::is_signed_v<S> ? 128 : 255) <= std::numeric_limits<Narrow>::max());

  // A cluster with points in this block.
  struct Met {
    std::int32_t label;
    std::int32_t first;  // first point of the group in this cluster; -1: none
    bool empty;          // no point added yet: the sum is not initialised
    double count, error, utility;

    void add(double weight, const Nearest &found) {
      count += weight;
      error += weight * found.nearest;
      utility += weight * (found.second - found.nearest);
    }
  };

  // Adds the points of a cluster a few at a time: the sum is read and written once for all of them.
  template <class R>
  void add_by_cluster(const R *const *points, const double *weights, const Nearest *found, int n) {
    std::int32_t next[group_rows];  // next point of the same cluster; -1 at the end
    for (int p = n - 1; p >= 0; --p) {
      next[p] = -1;
      if (weights[p] == 0) continue;
      Met &met = meet(found[p].label);
      next[p] = met.first;
      met.first = p;
    }
    for (std::int32_t i = 0; i < n_met_; ++i) {
      Met &met = met_[i];
      for (std::int32_t p = met.first; p >= 0;) {
        const R *of[together];
        double weight[together];
        int m = 0;
        for (; m < together && p >= 0; ++m, p = next[p]) {
          of[m] = points[p];
          weight[m] = weights[p];
          met.add(weights[p], found[p]);
        }
        if (m == together)
          add_long<together>(of, weight, met);
        else
          for (int q = 0; q < m; ++q) add_long<1>(of + q, weight + q, met);
      }
      met.first = -1;
    }
  }

  Met &meet(std::int32_t label) {
    std::int32_t &place = place_.data()[label];
    if (place < 0) {
      place = n_met_++;
      met_[place] = {label, -1, true, 0, 0, 0};
    }
    return met_[place];
  }

  // Not inlined, so that the compiler keeps everything the loop needs in registers.
  template <int M, class R>
  [[gnu::noinline]] void add_long(const R *const *points, const double *weights, Met &met) {
    add_to_sum<M>(points, weights, met);
  }

  template <int M, class R>
  void add_to_sum(const R *const *points, const double *weights, Met &met) {
    const std::int64_t at = (&met - met_) * n_features_;
    if constexpr (is_byte<R>)
      if (narrow_) return add_points<M>(points, weights, narrow_sums_.data() + at, met);
    add_points<M>(points, weights, sums_.data() + at, met);
  }

  template <int M, class R, class Sum>
  void add_points(const R *const *points, const double *weights, Sum *sum, Met &met) {
    if (met.empty)
      add_points<M, true>(points, weights, sum);
    else
      add_points<M, false>(points, weights, sum);
    met.empty = false;
  }

  template <int M, bool Empty, class R, class Sum>
  void add_points(const R *const *points, const double *weights, Sum *sum) const {
    for (std::int64_t f = 0; f < n_features_; ++f) {
      Sum total = Empty ? Sum(0) : sum[f];
      for (int m = 0; m < M; ++m) {
        if constexpr (std::is_same_v<Sum, double>)
          total += weights[m] * double(points[m][f]);
        else
          total = Sum(total + points[m][f]);
      }
      sum[f] = total;
    }
  }

  template <class A>
  [[gnu::noinline]] void add_up(const A *sum, double *total) const {
    for (std::int64_t f = 0; f < n_features_; ++f) total[f] += double(sum[f]);
  }

  const std::int64_t n_features_;
  Buffer<std::int32_t> place_;  // (n_clusters,) position in met_; -1: not met
  const bool narrow_;
  Buffer<double> sums_;
  Buffer<Narrow> narrow_sums_;
  Met met_[block_rows];
  std::int32_t n_met_ = 0;
};

}  // namespace
}  // namespace eulermeans
