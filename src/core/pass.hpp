// One pass over points: blocks of rows, each added up on its own and then into the totals in order, so that
// the result has the same bits whatever the number of threads.
#pragma once

#include <omp.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>

#include "finder.hpp"

namespace eulermeans {
namespace {

static_assert(block_rows % group_rows == 0);

// Multiplications, a tenth of a millisecond of them or two: with fewer, waking a thread and waiting for it costs more
// than it gives, and on a busy machine far more.
constexpr double work_worth_a_thread = 1 << 22;

inline int useful_threads(int n_threads, std::int64_t n_blocks, double work) {
  const double worth = work / work_worth_a_thread;
  if (worth < n_threads) n_threads = worth < 1 ? 1 : int(worth);
  return n_blocks < n_threads ? int(n_blocks) : n_threads;
}

// What the rows of one block add up to, for those clusters only that have points among them.
template <class T>
class BlockTotals {
 public:
  BlockTotals(std::int64_t n_clusters, std::int64_t n_features)
      : n_features_(n_features), place_(n_clusters), sums_(std::min(n_clusters, block_rows) * n_features) {
    for (std::int64_t j = 0; j < n_clusters; ++j) place_.data()[j] = -1;
  }

  // Points of one cluster go in together, a few at a time: the sum is read and written once for them all.
  void add(const T *const *points, const double *weights, const Nearest *found, int n) {
    std::int32_t next[group_rows];  // the next point of the same cluster; -1 at the end
    for (int p = n - 1; p >= 0; --p) {
      next[p] = -1;
      if (weights[p] == 0) continue;
      Met &met = meet(found[p].label);
      next[p] = met.first;
      met.first = p;
    }
    for (std::int32_t i = 0; i < n_met_; ++i) {
      Met &met = met_[i];
      double *sum = sums_.data() + i * n_features_;
      for (std::int32_t p = met.first; p >= 0;) {
        const T *of[together];
        double weight[together];
        int m = 0;
        for (; m < together && p >= 0; ++m, p = next[p]) {
          of[m] = points[p];
          weight[m] = weights[p];
          met.count += weights[p];
          met.error += weights[p] * found[p].nearest;
          met.utility += weights[p] * (found[p].second - found[p].nearest);
        }
        if (m == together)
          add_weighted<together>(of, weight, sum);
        else
          for (int q = 0; q < m; ++q) add_weighted<1>(of + q, weight + q, sum);
      }
      met.first = -1;
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
      const double *sum = sums_.data() + i * n_features_;
      for (std::int64_t f = 0; f < n_features_; ++f) total[f] += sum[f];
    }
    n_met_ = 0;
  }

 private:
  static constexpr int together = 4;

  struct Met {
    std::int32_t label, first;
    double count, error, utility;
  };

  Met &meet(std::int32_t label) {
    std::int32_t &place = place_.data()[label];
    if (place < 0) {
      place = n_met_++;
      met_[place] = {label, -1, 0, 0, 0};
      std::memset(sums_.data() + place * n_features_, 0, std::size_t(n_features_) * sizeof(double));
    }
    return met_[place];
  }

  template <int M>
  void add_weighted(const T *const *points, const double *weights, double *sum) const {
    for (std::int64_t f = 0; f < n_features_; ++f) {
      double total = sum[f];
      for (int m = 0; m < M; ++m) total += weights[m] * double(points[m][f]);
      sum[f] = total;
    }
  }

  const std::int64_t n_features_;
  Buffer<std::int32_t> place_;  // of each cluster among those met; -1 if not met
  Buffer<double> sums_;
  Met met_[block_rows];
  std::int32_t n_met_ = 0;
};

// Hands out blocks to threads and adds what they made into the totals in the blocks' order. A thread waits only if
// it is a whole ring of blocks ahead, and then asleep: a neighbour that lost its core is not waited for by spinning.
// `sizes` is what a block is made with.
template <class T, class Block = BlockTotals<T>>
class InOrder {
 public:
  template <class... Sizes>
  InOrder(std::int64_t n_blocks, int n_threads, const Sizes &...sizes) : n_blocks_(n_blocks) {
    for (int i = 0; i < (n_threads == 1 ? 1 : 2 * n_threads + 1); ++i) ring_.emplace_back(sizes...);
    ready_.reset(new bool[ring_.size()]());
  }

  // The next block to add up, or -1 when there are no more.
  std::int64_t take() {
    std::unique_lock<std::mutex> lock(mutex_);
    if (taken_ == n_blocks_) return -1;
    const std::int64_t block = taken_++;
    room_.wait(lock, [&] { return block < flushed_ + std::int64_t(ring_.size()); });
    return block;
  }

  Block &totals_of(std::int64_t block) { return ring_[std::size_t(block) % ring_.size()]; }

  void finish(std::int64_t block, const Totals &totals) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ready_[std::size_t(block) % ring_.size()] = true;
    for (; ready_[std::size_t(flushed_) % ring_.size()]; ++flushed_) {
      ready_[std::size_t(flushed_) % ring_.size()] = false;
      totals_of(flushed_).flush_into(totals);
    }
    room_.notify_all();
  }

 private:
  const std::int64_t n_blocks_;
  std::deque<Block> ring_;
  std::unique_ptr<bool[]> ready_;
  std::int64_t taken_ = 0, flushed_ = 0;
  std::mutex mutex_;
  std::condition_variable room_;
};

inline void tell(const PerRow &per_row, std::int64_t i, const Nearest &found) {
  if (per_row.labels != nullptr) per_row.labels[i] = found.label;
  if (per_row.nearest != nullptr) per_row.nearest[i] = found.nearest;
  if (per_row.second != nullptr) per_row.second[i] = found.second;
}

// A group of rows as the search for the nearest center wants them. S is how they are stored.
template <class T, class S>
class Group {
 public:
  Group(std::int64_t n_features, bool shifts)
      : n_features_(n_features),
        converted_(same ? 0 : group_rows * n_features),
        moved_(shifts ? group_rows * n_features : 0) {}

  void read(const Points &from, std::int64_t first, int n, const T *shift) {
    const auto row_at = [&](int p) { return from.rows == nullptr ? first + p : from.rows[first + p]; };
    for (int p = 0; p < n; ++p) {
      row[p] = row_at(p);
      points[p] = converted(from, row[p], p);
      moved[p] = shift == nullptr ? points[p] : shifted(points[p], shift, p);
    }
    // Past the end of the group lie rows to prefetch, or copies of the last one; nobody reads their results.
    for (int p = n; p < group_rows + look_ahead; ++p) {
      const bool ahead = same && shift == nullptr && first + p < from.n_rows;
      moved[p] = ahead ? static_cast<const T *>(from.data) + row_at(p) * n_features_ : moved[n - 1];
      points[p] = shift == nullptr ? moved[p] : points[n - 1];
    }
  }

  std::int64_t row[group_rows];
  const T *points[group_rows + look_ahead];
  const T *moved[group_rows + look_ahead];

 private:
  static constexpr bool same = std::is_same_v<T, S>;

  const T *converted(const Points &from, std::int64_t row, int p) {
    const S *stored = static_cast<const S *>(from.data) + row * n_features_;
    if constexpr (same) {
      return stored;
    } else {
      T *out = converted_.data() + p * n_features_;
      widen(stored, out, n_features_);
      return out;
    }
  }

  const T *shifted(const T *point, const T *shift, int p) {
    T *out = moved_.data() + p * n_features_;
    for (std::int64_t f = 0; f < n_features_; ++f) out[f] = point[f] - shift[f];
    return out;
  }

  const std::int64_t n_features_;
  Buffer<T> converted_, moved_;
};

// What one thread works with.
template <class T, class S>
struct Worker {
  explicit Worker(Finder<T> &finder) : group(finder.n_features, finder.shift() != nullptr), found(finder.n_keys()) {}

  // The nearest centers of n rows, the first of which is `first`.
  void find(const Points &points, std::int64_t first, int n, bool second, Finder<T> &finder) {
    group.read(points, first, n, finder.shift());
    finder.find(group.points, group.moved, n, second, found);
  }

  Group<T, S> group;
  Found<T> found;
};

template <class T, class S>
void pass_over(const Points &points, const Centers<T> &centers, const Totals &totals, const PerRow &per_row,
               int n_threads) {
  const std::int64_t d = points.n_features, k = centers.n_clusters;
  const std::int64_t n_blocks = (points.n_rows + block_rows - 1) / block_rows;
  n_threads = useful_threads(n_threads, n_blocks, double(points.n_rows) * double(d) * double(k));
  if (n_blocks == 0) return;
  const bool second = totals.utilities != nullptr || per_row.second != nullptr;
  Finder<T> finder(centers, d);
  InOrder<T> blocks(n_blocks, n_threads, k, d);
  std::deque<Worker<T, S>> workers;
  for (int t = 0; t < n_threads; ++t) workers.emplace_back(finder);

#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
  {
    Worker<T, S> &worker = workers[std::size_t(omp_get_thread_num() % n_threads)];
    for (std::int64_t block = blocks.take(); block >= 0; block = blocks.take()) {
      BlockTotals<T> &block_totals = blocks.totals_of(block);
      const std::int64_t end = std::min(points.n_rows, (block + 1) * block_rows);
      for (std::int64_t first = block * block_rows; first < end; first += group_rows) {
        const int n = int(std::min<std::int64_t>(group_rows, end - first));
        worker.find(points, first, n, second, finder);
        double weights[group_rows];
        for (int p = 0; p < n; ++p) weights[p] = points.weights == nullptr ? 1 : points.weights[worker.group.row[p]];
        block_totals.add(worker.group.points, weights, worker.found.nearest, n);
        for (int p = 0; p < n; ++p) tell(per_row, first + p, worker.found.nearest[p]);
      }
      blocks.finish(block, totals);
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
