// One pass over the stored values of sparse points, and their distances to all centers.
#pragma once

#include "transposed.hpp"

namespace eulermeans {
namespace {

constexpr int register_vectors = 13;              // of centers, whose keys are held in registers
constexpr std::int64_t csr_rows = 8 * block_rows;  // a block; its rows are little work each, its turn is waited for
constexpr double trusted = 1e9;                   // a squared distance so many times its rounding is not computed again

// Calls see(first_vector, keys) with the keys of a few vectors of centers at a time, in order.
template <int V = register_vectors, class T, class I, class See>
inline void for_each_key(const StoredRow<T, I> &row, TransposedCenters<T> &centers, const See &see,
                         std::int64_t first_vector = 0) {
  for (; first_vector + V <= centers.n_vectors; first_vector += V) {
    Vector<double> keys[V];
    centers.template keys_of<V>(row, first_vector, keys);
    for (int v = 0; v < V; ++v) see(first_vector + v, keys[v]);
  }
  if constexpr (V > 1) for_each_key<V / 2>(row, centers, see, first_vector);
}

template <class T, class I>
inline double squared_norm(const StoredRow<T, I> &row) {
  double total = 0;
  for (std::int64_t s = 0; s < row.size; ++s) total += double(row.values[s]) * double(row.values[s]);
  return total;
}

template <class T, class I>
inline void store_keys(const StoredRow<T, I> &row, TransposedCenters<T> &centers, double *keys) {
  const auto keep = [&](std::int64_t vector, Vector<double> key) { store(keys + vector * lanes<double>, key); };
  for_each_key(row, centers, keep);
}

// Where rounding leaves the order of the keys open: the centers within the margin of the lowest, compared exactly.
template <class T, class I>
Nearest decide(const StoredRow<T, I> &row, TransposedCenters<T> &centers, double margin, double *keys) {
  store_keys(row, centers, keys);
  double lowest = std::numeric_limits<double>::infinity();
  for (std::int64_t j = 0; j < centers.n_clusters; ++j) lowest = keys[j] < lowest ? keys[j] : lowest;
  Nearest found = nothing_yet;
  for (std::int64_t j = 0; j < centers.n_clusters; ++j)
    if (!(keys[j] > lowest + 4 * margin)) keep_nearest(found, j, centers.exact_distance(row, j));
  return found;
}

template <class T, class I>
inline Nearest nearest_distinct(const StoredRow<T, I> &row, TransposedCenters<T> &centers, double *keys) {
  Smallest<double> smallest;
  Index<double> lane;
  for (int l = 0; l < lanes<double>; ++l) lane[l] = l;
  const auto see = [&](std::int64_t vector, Vector<double> key) { smallest.see(key, lane + vector * lanes<double>); };
  for_each_key(row, centers, see);
  const Lowest<double> low = across_lanes(smallest);
  const double norm = squared_norm(row), margin = centers.margin(row.size, norm), gap = low.second - low.best;
  if (!(gap > 2 * margin)) return decide(row, centers, margin, keys);
  double nearest = norm + 2 * low.best;
  if (!(nearest > trusted * margin)) nearest = centers.exact_distance(row, low.index);
  return {std::int32_t(low.index), nearest, nearest + 2 * gap};
}

template <class T, class I>
inline Nearest nearest_of(const StoredRow<T, I> &row, TransposedCenters<T> &centers, double *keys) {
  Nearest found = nearest_distinct(row, centers, keys);
  if (centers.repeated(found.label)) found.second = found.nearest;
  return found;
}

// What was found for the rows of one block. Their stored values are few, so they are added to the totals one by one
// when the block's turn comes: a sum of its own would have as many numbers as all centers.
template <class T, class I>
class CsrBlock {
 public:
  explicit CsrBlock(const StoredRows<T, I> &rows) : rows_(rows) {}

  void begin(std::int64_t first) {
    first_ = first;
    n_ = 0;
  }
  void add(const Nearest &found) { found_[n_++] = found; }

  void flush_into(const Totals &totals) const {
    double cost = 0;
    for (int p = 0; p < n_; ++p) {
      const double weight = rows_.weight(first_ + p);
      if (weight == 0) continue;
      const Nearest &found = found_[p];
      cost += weight * found.nearest;
      totals.counts[found.label] += weight;
      if (totals.errors != nullptr) totals.errors[found.label] += weight * found.nearest;
      if (totals.utilities != nullptr) totals.utilities[found.label] += weight * (found.second - found.nearest);
      const StoredRow<T, I> row = rows_[first_ + p];
      double *sum = totals.sums + found.label * rows_.points.n_features;
      for (std::int64_t s = 0; s < row.size; ++s) sum[row.features[s]] += weight * double(row.values[s]);
    }
    *totals.cost += cost;
  }

 private:
  const StoredRows<T, I> rows_;
  std::int64_t first_ = 0;
  int n_ = 0;
  Nearest found_[csr_rows];
};

// Multiplications that a pass takes, about.
inline double work_of(const CsrPoints &points, std::int64_t n_clusters) {
  const double stored_per_row = double(points.starts[points.n_stored_rows]) / double(points.n_stored_rows);
  return double(points.n_rows) * (stored_per_row + 4) * double(n_clusters);
}

template <class T, class I>
void csr_pass_over(const CsrPoints &points, const Centers<T> &centers, const Totals &totals, const PerRow &per_row,
                   int n_threads) {
  const std::int64_t n_blocks = (points.n_rows + csr_rows - 1) / csr_rows;
  if (n_blocks == 0) return;
  TransposedCenters<T> transposed(centers, points.n_features, true, n_threads);
  n_threads = useful_threads(n_threads, n_blocks, work_of(points, centers.n_clusters));
  const StoredRows<T, I> rows(points);
  InOrder<CsrBlock<T, I>> blocks(n_blocks, 1, n_threads, rows);
  std::deque<Buffer<double>> keys;
  for (int t = 0; t < n_threads; ++t) keys.emplace_back(transposed.n_vectors * lanes<double>);

  on_threads(n_threads, [&](int thread) {
    double *own_keys = keys[std::size_t(thread)].data();
    blocks.work(thread, totals, [&](std::int64_t block, CsrBlock<T, I> &block_totals) {
      block_totals.begin(block * csr_rows);
      const std::int64_t end = std::min(points.n_rows, (block + 1) * csr_rows);
      for (std::int64_t i = block * csr_rows; i < end; ++i) {
        const Nearest found = nearest_of(rows[i], transposed, own_keys);
        block_totals.add(found);
        tell(per_row, i, found);
      }
    });
  });
}

template <class T, class I>
void csr_distances_of(const CsrPoints &points, const Centers<T> &centers, T *out, int n_threads) {
  if (points.n_rows == 0) return;
  TransposedCenters<T> transposed(centers, points.n_features, false, n_threads);
  n_threads = useful_threads(n_threads, points.n_rows, work_of(points, centers.n_clusters));
  const StoredRows<T, I> rows(points);
  std::deque<Buffer<double>> keys;
  for (int t = 0; t < n_threads; ++t) keys.emplace_back(transposed.n_vectors * lanes<double>);
  for_each(points.n_rows, n_threads, [&](std::int64_t i, int thread) {
    double *own_keys = keys[std::size_t(thread)].data();
    const StoredRow<T, I> row = rows[i];
    store_keys(row, transposed, own_keys);
    const double norm = squared_norm(row), smallest_trusted = trusted * transposed.margin(row.size, norm);
    T *distances = out + i * centers.n_clusters;
    bool all_trusted = true;
    for (std::int64_t j = 0; j < centers.n_clusters; ++j) {
      const double squared = norm + 2 * own_keys[j];
      all_trusted &= squared > smallest_trusted;
      distances[j] = T(std::sqrt(squared));
    }
    if (all_trusted) return;
    for (std::int64_t j = 0; j < centers.n_clusters; ++j)
      if (!(norm + 2 * own_keys[j] > smallest_trusted)) distances[j] = T(std::sqrt(transposed.exact_distance(row, j)));
  });
}

template <class T>
void csr_pass(const CsrPoints &points, const Centers<T> &centers, const Totals &totals, const PerRow &per_row,
              int n_threads) {
  if (points.wide_indices)
    csr_pass_over<T, std::int64_t>(points, centers, totals, per_row, n_threads);
  else
    csr_pass_over<T, std::int32_t>(points, centers, totals, per_row, n_threads);
}

template <class T>
void csr_distances(const CsrPoints &points, const Centers<T> &centers, T *out, int n_threads) {
  if (points.wide_indices)
    csr_distances_of<T, std::int64_t>(points, centers, out, n_threads);
  else
    csr_distances_of<T, std::int32_t>(points, centers, out, n_threads);
}

}  // namespace
}  // namespace eulermeans
