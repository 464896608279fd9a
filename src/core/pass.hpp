// One pass over points: blocks of rows, each added up on its own and then into the totals.
#pragma once

#include "finder.hpp"
#include "team.hpp"
#include "totals.hpp"

namespace eulermeans {
namespace {

static_assert(block_rows % group_rows == 0);

// Work is counted in multiplications, as which a row costs a few hundred besides its own. A thread that watches for
// work takes up what is worth some ten microseconds, and one that sleeps is not waited for.
constexpr double work_of_a_row = 256;
constexpr double work_worth_a_thread = 1 << 20;
constexpr double work_worth_a_turn = 1 << 20;

inline double work_of(std::int64_t n_rows, std::int64_t n_features, std::int64_t n_clusters) {
  return double(n_rows) * (double(n_features) * double(n_clusters) + work_of_a_row);
}

inline int useful_threads(int n_threads, std::int64_t n_blocks, double work) {
  const double worth = work / work_worth_a_thread;
  if (worth < n_threads) n_threads = worth < 1 ? 1 : int(worth);
  return n_blocks < n_threads ? int(n_blocks) : n_threads;
}

// How many blocks a thread takes at a time: where one is little work, as many as make handing them out cheap beside it.
inline std::int64_t run_of(std::int64_t n_blocks, int n_threads, double work) {
  const double worth = work_worth_a_turn * double(n_blocks) / work, fair = double(n_blocks) / (8.0 * n_threads);
  return std::max<std::int64_t>(1, std::int64_t(std::min({worth, fair, 16.0})));
}

template <class T, class S>
void pass_over(const Points &points, const Centers<T> &centers, const Totals &totals, const PerRow &per_row,
               int n_threads) {
  const std::int64_t d = points.n_features, k = centers.n_clusters;
  const std::int64_t n_blocks = (points.n_rows + block_rows - 1) / block_rows;
  if (n_blocks == 0) return;
  const double work = work_of(points.n_rows, d, k);
  n_threads = useful_threads(n_threads, n_blocks, work);
  const bool second = totals.utilities != nullptr || per_row.second != nullptr;
  Finder<T, S> finder(centers, d, second ? Second::itself : Second::nothing);
  InOrder<BlockTotals<S>> blocks(n_blocks, run_of(n_blocks, n_threads, work), n_threads, k, d,
                                  points.weights == nullptr);
  std::deque<Worker<T, S>> workers;
  for (int t = 0; t < n_threads; ++t) workers.emplace_back(finder);

  on_threads(n_threads, [&](int thread) {
    Worker<T, S> &worker = workers[std::size_t(thread)];
    blocks.work(thread, totals, [&](std::int64_t block, BlockTotals<S> &block_totals) {
      const std::int64_t end = std::min(points.n_rows, (block + 1) * block_rows);
      for (std::int64_t first = block * block_rows; first < end; first += group_rows) {
        const int n = int(std::min<std::int64_t>(group_rows, end - first));
        worker.find(points, first, n, finder);
        double weights[group_rows];
        for (int p = 0; p < n; ++p) weights[p] = points.weights == nullptr ? 1 : points.weights[worker.group.row[p]];
        if constexpr (is_byte<S>)
          block_totals.add(worker.group.stored, weights, worker.found, n);
        else
          block_totals.add(worker.group.points, weights, worker.found, n);
        for (int p = 0; p < n; ++p) tell(per_row, first + p, worker.found[p]);
      }
    });
  });
}

template <class T, class S>
void distances_of(const Points &points, const Centers<T> &centers, T *out, int n_threads) {
  const std::int64_t d = points.n_features, n_groups = (points.n_rows + group_rows - 1) / group_rows;
  n_threads = useful_threads(n_threads, n_groups, work_of(points.n_rows, d, centers.n_clusters));
  std::deque<Group<T, S>> groups;
  for (int t = 0; t < n_threads; ++t) groups.emplace_back(d, true);
  for_each(n_groups, n_threads, [&](std::int64_t g, int thread) {
    Group<T, S> &group = groups[std::size_t(thread)];
    const std::int64_t first = g * group_rows;
    const int n = int(std::min<std::int64_t>(group_rows, points.n_rows - first));
    group.read(points, first, n);
    for (int p = 0; p < n; ++p) {
      for (std::int64_t j = 0; j < centers.n_clusters; ++j) {
        const T *center = centers.data + j * d;
        const T squared = squared_distance(group.points[p], center, d);
        out[(first + p) * centers.n_clusters + j] =
            out_of_range(squared, d) ? T(std::sqrt(squared_distance_wide(group.points[p], center, d)))
                                     : std::sqrt(squared);
      }
    }
  });
}

}  // namespace
}  // namespace eulermeans
