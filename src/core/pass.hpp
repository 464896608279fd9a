// One pass over points: blocks of rows, each added up on its own and then into the totals in order, so that
// the result has the same bits whatever the number of threads.
#pragma once

#include <omp.h>

#include <deque>

#include "nearest.hpp"

namespace eulermeans {
namespace {

static_assert(block_rows % group_rows == 0);
constexpr double work_worth_a_thread = 1 << 19;  // multiplications; with fewer, a thread costs more than it gives

inline int useful_threads(int n_threads, std::int64_t n_blocks, double work) {
  const double worth = work / work_worth_a_thread;
  if (worth < n_threads) n_threads = worth < 1 ? 1 : int(worth);
  return n_blocks < n_threads ? int(n_blocks) : n_threads;
}

// What one thread has added up of one block of rows.
template <class T>
class BlockTotals {
 public:
  BlockTotals(std::int64_t n_clusters, std::int64_t n_features)
      : n_features_(n_features),
        sums_(n_clusters * n_features),
        counts_(n_clusters),
        errors_(n_clusters),
        utilities_(n_clusters),
        met_(n_clusters),
        is_met_(n_clusters) {
    std::memset(is_met_.data(), 0, std::size_t(n_clusters));
  }

  void add(const T *point, double weight, const Nearest &found) {
    if (weight == 0) return;
    const std::int32_t j = found.label;
    double *sum = sums_.data() + j * n_features_;
    if (!is_met_.data()[j]) {
      is_met_.data()[j] = 1;
      met_.data()[n_met_++] = j;
      counts_.data()[j] = errors_.data()[j] = utilities_.data()[j] = 0;
      std::memset(sum, 0, std::size_t(n_features_) * sizeof(double));
    }
    counts_.data()[j] += weight;
    errors_.data()[j] += weight * found.nearest;
    utilities_.data()[j] += weight * (found.second - found.nearest);
    for (std::int64_t f = 0; f < n_features_; ++f) sum[f] += weight * double(point[f]);
  }

  void flush_into(const Totals &totals) {
    double cost = 0;
    for (std::int64_t i = 0; i < n_met_; ++i) {
      const std::int32_t j = met_.data()[i];
      is_met_.data()[j] = 0;
      cost += errors_.data()[j];
      totals.counts[j] += counts_.data()[j];
      if (totals.errors != nullptr) totals.errors[j] += errors_.data()[j];
      if (totals.utilities != nullptr) totals.utilities[j] += utilities_.data()[j];
      double *total = totals.sums + j * n_features_;
      const double *sum = sums_.data() + j * n_features_;
      for (std::int64_t f = 0; f < n_features_; ++f) total[f] += sum[f];
    }
    *totals.cost += cost;
    n_met_ = 0;
  }

 private:
  const std::int64_t n_features_;
  Buffer<double> sums_, counts_, errors_, utilities_;
  Buffer<std::int32_t> met_;  // the clusters that this block has points of
  Buffer<unsigned char> is_met_;
  std::int64_t n_met_ = 0;
};

// A group of rows as the search for the nearest center wants them. S is how they are stored.
template <class T, class S>
class Group {
 public:
  Group(std::int64_t n_features, bool shifts)
      : n_features_(n_features),
        converted_(same ? 0 : group_rows * n_features),
        moved_(shifts ? group_rows * n_features : 0) {}

  void read(const Points &from, std::int64_t first, int n, const T *shift) {
    for (int p = 0; p < group_rows; ++p) {
      if (p >= n) {  // the last tile is filled up with copies, whose results nobody reads
        points[p] = points[n - 1];
        moved[p] = moved[n - 1];
        continue;
      }
      row[p] = from.rows == nullptr ? first + p : from.rows[first + p];
      const S *stored = static_cast<const S *>(from.data) + row[p] * n_features_;
      if constexpr (same) {
        points[p] = stored;
      } else {
        widen(stored, converted_.data() + p * n_features_, n_features_);
        points[p] = converted_.data() + p * n_features_;
      }
      moved[p] = points[p];
      if (shift != nullptr) {
        T *out = moved_.data() + p * n_features_;
        for (std::int64_t f = 0; f < n_features_; ++f) out[f] = points[p][f] - shift[f];
        moved[p] = out;
      }
    }
  }

  std::int64_t row[group_rows];
  const T *points[group_rows];
  const T *moved[group_rows];

 private:
  static constexpr bool same = std::is_same_v<T, S>;
  const std::int64_t n_features_;
  Buffer<T> converted_, moved_;
};

template <class T, class S>
struct Worker {
  Worker(std::int64_t n_clusters, std::int64_t n_features, std::int64_t n_keys, bool shifts)
      : totals(n_clusters, n_features), group(n_features, shifts), keys(n_keys) {}
  BlockTotals<T> totals;
  Group<T, S> group;
  Buffer<T> keys;
};

template <class T, class S>
void pass_over(const Points &points, const Centers<T> &centers, const Totals &totals, const PerRow &per_row,
               int n_threads) {
  const std::int64_t d = points.n_features;
  const bool few = d <= few_features;
  Panels<T> panels(few ? Centers<T>{nullptr, 0} : centers, d);
  const T *shift = panels.shifted ? panels.shift() : nullptr;
  const std::int64_t n_blocks = (points.n_rows + block_rows - 1) / block_rows;
  n_threads = useful_threads(n_threads, n_blocks, double(points.n_rows) * double(d) * double(centers.n_clusters));
  std::deque<Worker<T, S>> workers;
  for (int t = 0; t < n_threads; ++t)
    workers.emplace_back(centers.n_clusters, d, panels.n_panels * panels.width, panels.shifted);

#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
  {
    Worker<T, S> &worker = workers[std::size_t(omp_get_thread_num() % n_threads)];
    Group<T, S> &group = worker.group;
    Nearest found[group_rows];
#pragma omp for ordered schedule(static, 1)
    for (std::int64_t block = 0; block < n_blocks; ++block) {
      const std::int64_t end = std::min(points.n_rows, (block + 1) * block_rows);
      for (std::int64_t first = block * block_rows; first < end; first += group_rows) {
        const int n = int(std::min<std::int64_t>(group_rows, end - first));
        group.read(points, first, n, shift);
        if (few)
          nearest_of_few_features(group.points, n, centers, int(d), found);
        else if (panels.vectors == 1)
          nearest_by_product<T, 1>(group.points, group.moved, n, panels, centers, worker.keys.data(), found);
        else
          nearest_by_product<T, 2>(group.points, group.moved, n, panels, centers, worker.keys.data(), found);
        for (int p = 0; p < n; ++p) {
          const double weight = points.weights == nullptr ? 1 : points.weights[group.row[p]];
          worker.totals.add(group.points[p], weight, found[p]);
          if (per_row.labels != nullptr) per_row.labels[first + p] = found[p].label;
          if (per_row.nearest != nullptr) per_row.nearest[first + p] = found[p].nearest;
          if (per_row.second != nullptr) per_row.second[first + p] = found[p].second;
        }
      }
#pragma omp ordered
      worker.totals.flush_into(totals);
    }
  }
}

template <class T, class S>
void distances_of(const Points &points, const Centers<T> &centers, T *out, int n_threads) {
  const std::int64_t d = points.n_features, n_groups = (points.n_rows + group_rows - 1) / group_rows;
  n_threads = useful_threads(n_threads, n_groups, double(points.n_rows) * double(d) * double(centers.n_clusters));
  std::deque<Group<T, S>> groups;
  for (int t = 0; t < n_threads; ++t) groups.emplace_back(d, false);
#pragma omp parallel for num_threads(n_threads) if (n_threads > 1) schedule(static)
  for (std::int64_t g = 0; g < n_groups; ++g) {
    Group<T, S> &group = groups[std::size_t(omp_get_thread_num() % n_threads)];
    const std::int64_t first = g * group_rows;
    const int n = int(std::min<std::int64_t>(group_rows, points.n_rows - first));
    group.read(points, first, n, nullptr);
    for (int p = 0; p < n; ++p) {
      for (std::int64_t j = 0; j < centers.n_clusters; ++j) {
        const T *center = centers.data + j * d;
        const T squared = squared_distance(group.points[p], center, d);
        out[(first + p) * centers.n_clusters + j] =
            out_of_range(squared, d) ? T(std::sqrt(squared_distance_wide(group.points[p], center, d)))
                                     : std::sqrt(squared);
      }
    }
  }
}

}  // namespace
}  // namespace eulermeans
