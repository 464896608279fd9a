// One pass over dense points: blocks of rows are summed on their own, and the sums are added to the totals in order.
// And what needs no sums: the nearest center of each row, the distances to all centers.
#pragma once

#include "block_sums.hpp"
#include "nearest_choice.hpp"
#include "scheduler.hpp"

namespace eulermeans {
namespace {

inline void set_row(const PerRow &per_row, std::int64_t i, const Nearest &found) {
  if (per_row.labels != nullptr) per_row.labels[i] = found.label;
  if (per_row.nearest != nullptr) per_row.nearest[i] = found.nearest;
  if (per_row.second != nullptr) per_row.second[i] = found.second;
}

// The largest squared distance of a point to its nearest center. It is infinite if a coordinate is NaN or infinite:
// then so are the distances to all centers, none of them is below the infinity that every search starts from, and every
// way falls back to that search in double.
struct Farthest {
  void see(double nearest) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (!(nearest <= squared)) squared = nearest < infinity ? nearest : infinity;
  }

  double squared = 0;
};

// Whether no other center is as near.
inline bool is_alone(const Nearest &found) { return found.second > found.nearest; }

template <class Workers>
double farthest_of(const Workers &workers) {
  double squared = 0;
  for (const auto &worker : workers) squared = std::max(squared, worker.farthest.squared);
  return squared;
}

template <class Workers>
double n_tied_of(const Workers &workers) {
  std::int64_t n_tied = 0;
  for (const auto &worker : workers) n_tied += worker.n_tied;
  return double(n_tied);
}

// What one thread works with.
template <class T, class S>
struct Worker {
  // finder: null if only rows are read.
  Worker(const Finder<T, S> &finder, std::int64_t n_features)
      : finder(finder.get()),
        group(n_features, !finder || !finder->reads_stored()),
        scratch(finder ? finder->scratch_bytes() : 0) {}

  // Finds the nearest centers of n rows, starting at `first`.
  void find(const Points &points, std::int64_t first, int n) {
    group.read(points, first, n);
    finder->find(group, n, scratch.data(), found);
  }

  // Sets the results of the n rows that were found last, starting at `first`.
  void set_rows(const PerRow &per_row, std::int64_t first, int n) {
    for (int p = 0; p < n; ++p) {
      set_row(per_row, first + p, found[p]);
      farthest.see(found[p].nearest);
      n_tied += !is_alone(found[p]);
    }
  }

  NearestFinder<T, S> *const finder;
  RowGroup<T, S> group;
  Buffer<char> scratch;
  Nearest found[group_rows];
  Farthest farthest;
  std::int64_t n_tied = 0;
};

// Adds to the totals and sets the results of each row. Returns the largest squared distance to a nearest center.
inline double pass(const Points &points, const Centers<void> &centers, const Totals &totals, const PerRow &per_row,
                   int n_threads) {
  const std::int64_t d = points.n_features, k = centers.n_clusters;
  const bool unweighted = points.weights == nullptr;
  // Utilities are compared with each other: what rounding to float takes from them does not matter.
  const Second second = per_row.second != nullptr     ? Second::exact
                        : totals.utilities != nullptr ? Second::lower_bound
                        : totals.n_tied != nullptr    ? Second::whether_larger
                                                      : Second::nothing;
  if (points.n_rows == 0) return 0;
  return with_types(points.storage, [&]<class T, class S>() {
    const Finder<T, S> finder = choose_nearest<T, S>(centers.as<T>(), second);
    BlockScheduler<BlockSums<S>> scheduler(points.n_rows, n_threads, work_of(points.n_rows, d, k), k, d, unweighted);
    std::deque<Worker<T, S>> workers;
    for (int t = 0; t < scheduler.n_threads; ++t) workers.emplace_back(finder, d);

    scheduler.run(totals, [&](int thread, std::int64_t first, std::int64_t end, BlockSums<S> &sums) {
      Worker<T, S> &worker = workers[std::size_t(thread)];
      for (; first < end; first += group_rows) {
        const int n = int(std::min<std::int64_t>(group_rows, end - first));
        worker.find(points, first, n);
        double weights[group_rows];
        for (int p = 0; p < n; ++p) weights[p] = unweighted ? 1 : points.weights[worker.group.row[p]];
        if constexpr (is_byte<S>)
          sums.add(worker.group.stored, weights, worker.found, n);
        else
          sums.add(worker.group.points, weights, worker.found, n);
        worker.set_rows(per_row, first, n);
      }
    });
    if (totals.n_tied != nullptr) *totals.n_tied += n_tied_of(workers);
    return farthest_of(workers);
  });
}

// Sets the results of each row. Returns the largest squared distance to a nearest center.
inline double assign(const Points &points, const Centers<void> &centers, const PerRow &per_row, int n_threads) {
  const std::int64_t d = points.n_features, n_groups = (points.n_rows + group_rows - 1) / group_rows;
  n_threads = useful_threads(n_threads, n_groups, work_of(points.n_rows, d, centers.n_clusters));
  if (points.n_rows == 0) return 0;
  return with_types(points.storage, [&]<class T, class S>() {
    const Finder<T, S> finder =
        choose_nearest<T, S>(centers.as<T>(), per_row.second != nullptr ? Second::exact : Second::nothing);
    std::deque<Worker<T, S>> workers;
    for (int t = 0; t < n_threads; ++t) workers.emplace_back(finder, d);
    parallel_for(n_groups, n_threads, [&](std::int64_t group, int thread) {
      Worker<T, S> &worker = workers[std::size_t(thread)];
      const std::int64_t first = group * group_rows;
      const int n = int(std::min<std::int64_t>(group_rows, points.n_rows - first));
      worker.find(points, first, n);
      worker.set_rows(per_row, first, n);
    });
    return farthest_of(workers);
  });
}

// Reads the rows in groups, converted to T, and calls work(group, first row, number of rows, thread) for each. Without
// a finder: for kernels that compare a row with centers in their own way. multiplications: of the whole call.
template <class T, class S, class Work>
void for_each_group(const Points &points, int n_threads, double multiplications, const Work &work) {
  const std::int64_t n_groups = (points.n_rows + group_rows - 1) / group_rows;
  n_threads = useful_threads(n_threads, n_groups, multiplications);
  std::deque<RowGroup<T, S>> groups;
  for (int t = 0; t < n_threads; ++t) groups.emplace_back(points.n_features, true);
  parallel_for(n_groups, n_threads, [&](std::int64_t g, int thread) {
    RowGroup<T, S> &group = groups[std::size_t(thread)];
    const std::int64_t first = g * group_rows;
    const int n = int(std::min<std::int64_t>(group_rows, points.n_rows - first));
    group.read(points, first, n);
    work(group, first, n, thread);
  });
}

// out[i * n_clusters + j] = distance of row i to center j.
inline void distances(const Points &points, const Centers<void> &untyped_centers, void *out, int n_threads) {
  with_types(points.storage, [&]<class T, class S>() {
    const Centers<T> centers = untyped_centers.as<T>();
    const std::int64_t d = points.n_features, k = centers.n_clusters;
    for_each_group<T, S>(points, n_threads, work_of(points.n_rows, d, k),
                         [&](const RowGroup<T, S> &group, std::int64_t first, int n, int) {
      for (int p = 0; p < n; ++p) {
        T *of_row = static_cast<T *>(out) + (first + p) * k;
        for (std::int64_t j = 0; j < k; ++j) of_row[j] = T(distance(group.points[p], centers[j], d));
      }
    });
  });
}

}  // namespace
}  // namespace eulermeans
