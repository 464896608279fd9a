// One pass over sparse points, and their distances to all centers.
#pragma once

#include "nearest_csr.hpp"
#include "pass.hpp"

namespace eulermeans {
namespace {

template <class T, class I>
struct StoredRows {
  std::int64_t index(std::int64_t i) const { return points.rows == nullptr ? i : points.rows[i]; }
  double weight(std::int64_t i) const { return points.weights == nullptr ? 1 : points.weights[index(i)]; }
  StoredRow<T, I> operator[](std::int64_t i) const {
    const std::int64_t first = points.starts[index(i)], end = points.starts[index(i) + 1];
    return {static_cast<const T *>(points.values) + first, static_cast<const I *>(points.indices) + first, end - first};
  }

  const CsrPoints &points;
};

// The nearest centers of the rows of one block. Rows have few stored values, so they are added to the totals one by one
// when the block is flushed: sums for each block would be as large as all centers.
template <class T, class I>
struct CsrBlock {
  static constexpr std::int64_t n_rows = 8 * block_rows, most_per_run = 1;  // a sparse row is little work

  explicit CsrBlock(const StoredRows<T, I> &rows) : rows(rows) {}

  void flush_into(const Totals &totals) const {
    double cost = 0;
    for (std::int64_t i = first; i < end; ++i) {
      const double weight = rows.weight(i);
      if (weight == 0) continue;
      const Nearest &nearest = found[i - first];
      cost += weight * nearest.nearest;
      totals.counts[nearest.label] += weight;
      if (totals.errors != nullptr) totals.errors[nearest.label] += weight * nearest.nearest;
      if (totals.utilities != nullptr) totals.utilities[nearest.label] += weight * (nearest.second - nearest.nearest);
      const StoredRow<T, I> row = rows[i];
      double *sum = totals.sums + nearest.label * rows.points.n_features;
      for (std::int64_t s = 0; s < row.size; ++s) sum[row.features[s]] += weight * double(row.values[s]);
    }
    *totals.cost += cost;
  }

  const StoredRows<T, I> rows;
  std::int64_t first = 0, end = 0;  // rows of the block
  Nearest found[n_rows];
};

// Multiplications of a pass, approximately.
inline double work_of(const CsrPoints &points, std::int64_t n_clusters) {
  const double stored_per_row = double(points.starts[points.n_stored_rows]) / double(points.n_stored_rows);
  return double(points.n_rows) * (stored_per_row + 4) * double(n_clusters);
}

// Calls f.operator()<T, I>() with the types of the values and of the indices.
template <class F>
auto with_csr_types(const CsrPoints &points, F f) {
  if (points.wide_values)
    return points.wide_indices ? f.template operator()<double, std::int64_t>()
                               : f.template operator()<double, std::int32_t>();
  return points.wide_indices ? f.template operator()<float, std::int64_t>()
                             : f.template operator()<float, std::int32_t>();
}

// What one thread works with.
struct CsrWorker {
  explicit CsrWorker(std::int64_t n_keys) : keys(n_keys) {}

  Buffer<double> keys;
  Farthest farthest;
};

// Adds to the totals and sets the results of each row. Returns the largest squared distance to a nearest center.
inline double csr_pass(const CsrPoints &points, const Centers<void> &centers, const Totals &totals,
                       const PerRow &per_row, int n_threads) {
  if (points.n_rows == 0) return 0;
  return with_csr_types(points, [&]<class T, class I>() {
    NearestCsr<T> nearest(centers.as<T>(), true, n_threads);
    const StoredRows<T, I> rows{points};
    BlockScheduler<CsrBlock<T, I>> scheduler(points.n_rows, n_threads, work_of(points, centers.n_clusters), rows);
    std::deque<CsrWorker> workers;
    for (int t = 0; t < scheduler.n_threads; ++t) workers.emplace_back(nearest.n_padded());
    scheduler.run(totals, [&](int thread, std::int64_t first, std::int64_t end, CsrBlock<T, I> &block) {
      CsrWorker &worker = workers[std::size_t(thread)];
      block.first = first;
      block.end = end;
      for (std::int64_t i = first; i < end; ++i) {
        const Nearest found = nearest.find(rows[i], worker.keys.data());
        block.found[i - first] = found;
        set_row(per_row, i, found);
        worker.farthest.see(found.nearest);
      }
    });
    return farthest_of(workers);
  });
}

// Sets the results of each row. Returns the largest squared distance to a nearest center.
inline double csr_assign(const CsrPoints &points, const Centers<void> &centers, const PerRow &per_row, int n_threads) {
  if (points.n_rows == 0) return 0;
  return with_csr_types(points, [&]<class T, class I>() {
    NearestCsr<T> nearest(centers.as<T>(), true, n_threads);
    n_threads = useful_threads(n_threads, points.n_rows, work_of(points, centers.n_clusters));
    const StoredRows<T, I> rows{points};
    std::deque<CsrWorker> workers;
    for (int t = 0; t < n_threads; ++t) workers.emplace_back(nearest.n_padded());
    parallel_for(points.n_rows, n_threads, [&](std::int64_t i, int thread) {
      CsrWorker &worker = workers[std::size_t(thread)];
      const Nearest found = nearest.find(rows[i], worker.keys.data());
      set_row(per_row, i, found);
      worker.farthest.see(found.nearest);
    });
    return farthest_of(workers);
  });
}

// out[i * n_clusters + j] = distance of row i to center j.
inline void csr_distances(const CsrPoints &points, const Centers<void> &centers, void *out, int n_threads) {
  if (points.n_rows == 0) return;
  with_csr_types(points, [&]<class T, class I>() {
    NearestCsr<T> nearest(centers.as<T>(), false, n_threads);
    n_threads = useful_threads(n_threads, points.n_rows, work_of(points, centers.n_clusters));
    const StoredRows<T, I> rows{points};
    std::deque<Buffer<double>> keys;
    for (int t = 0; t < n_threads; ++t) keys.emplace_back(nearest.n_padded());
    parallel_for(points.n_rows, n_threads, [&](std::int64_t i, int thread) {
      nearest.set_distances(rows[i], keys[std::size_t(thread)].data(), static_cast<T *>(out) + i * centers.n_clusters);
    });
  });
}

}  // namespace
}  // namespace eulermeans
