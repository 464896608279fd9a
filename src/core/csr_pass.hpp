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

// Calls f(nearest) with keys in double or in float. Double gives exact distances along with the labels.
template <class T, class F>
double with_nearest_csr(const Centers<T> &centers, bool wide, int n_threads, F f) {
  if (!wide) {
    NearestCsr<T, float> nearest(centers, true, n_threads);
    if (nearest.usable()) return f(nearest);
  }
  NearestCsr<T, double> nearest(centers, centers.prices == nullptr, n_threads);
  return f(nearest);
}

// Finds the nearest centers of rows, on all threads.
template <class T, class A, class I>
class CsrFinder {
 public:
  CsrFinder(NearestCsr<T, A> &nearest, const StoredRows<T, I> &rows, int n_threads) : nearest_(nearest), rows_(rows) {
    for (int t = 0; t < n_threads; ++t) workers_.emplace_back(nearest.n_padded());
  }

  // Calls set(row, found) for each of the rows.
  template <class Set>
  void find(std::int64_t first, std::int64_t end, const Set &set) {
    parallel_for(end - first, int(workers_.size()), [&](std::int64_t i, int thread) {
      Worker &worker = workers_[std::size_t(thread)];
      const Nearest found = nearest_.find(rows_[first + i], worker.keys.data());
      worker.farthest.see(found.nearest);
      worker.n_tied += !is_alone(found);
      set(first + i, found);
    });
  }

  double farthest() const { return farthest_of(workers_); }
  double n_tied() const { return n_tied_of(workers_); }

 private:
  struct Worker {
    explicit Worker(std::int64_t n_keys) : keys(n_keys) {}

    Buffer<A> keys;
    Farthest farthest;
    std::int64_t n_tied = 0;
  };

  NearestCsr<T, A> &nearest_;
  const StoredRows<T, I> rows_;
  std::deque<Worker> workers_;
};

// Adds rows to the totals, one after the other in their order. Clusters are divided among threads; each thread adds the
// rows of its own clusters. So sums cost what the stored values cost, and their bits do not depend on the threads.
template <class T, class A, class I>
class CsrSums {
 public:
  CsrSums(NearestCsr<T, A> &nearest, const StoredRows<T, I> &rows, std::int64_t n_clusters, int n_threads)
      : nearest_(nearest), rows_(rows), n_clusters_(n_clusters), n_threads_(n_threads), part_(n_clusters) {}

  // found: (end - first,) the nearest centers of the rows, INOUT: approximate distances become exact.
  void add(std::int64_t first, std::int64_t end, Nearest *found, const Totals &totals) {
    divide_clusters(found, end - first);
    parallel_for(n_threads_, n_threads_, [&](std::int64_t part, int) {
      for (std::int64_t i = first; i < end; ++i) {
        const std::int64_t ahead = std::min(i + 6, end - 1);
        const std::int32_t label_ahead = found[ahead - first].label;
        if (part_.data()[label_ahead] == part) prefetch(rows_[ahead], label_ahead, totals);
        Nearest &of_row = found[i - first];
        if (part_.data()[of_row.label] == part) add_row(rows_[i], rows_.weight(i), of_row, totals);
      }
    });
    for (std::int64_t begin = first; begin < end; begin += block_rows) {
      double cost = 0;
      for (std::int64_t i = begin; i < std::min(end, begin + block_rows); ++i)
        if (const double weight = rows_.weight(i); weight != 0) cost += weight * found[i - first].nearest;
      *totals.cost += cost;
    }
  }

 private:
  // Gives each part about the same number of rows.
  void divide_clusters(const Nearest *found, std::int64_t n) {
    std::int32_t *part = part_.data();
    std::fill_n(part, n_clusters_, 0);
    if (n_threads_ == 1) return;
    for (std::int64_t i = 0; i < n; ++i) ++part[found[i].label];
    std::int64_t n_before = 0;
    for (std::int64_t j = 0; j < n_clusters_; ++j) {
      const std::int64_t size = part[j];
      part[j] = std::int32_t((2 * n_before + size) * n_threads_ / (2 * n + 1));
      n_before += size;
    }
  }

  inline void add_row(const StoredRow<T, I> &row, double weight, Nearest &found, const Totals &totals) {
    const std::int32_t j = found.label;
    if (nearest_.narrowed) found.nearest = nearest_.squared_distance_to(row, j);
    if (weight == 0) return;
    totals.counts[j] += weight;
    if (totals.errors != nullptr) totals.errors[j] += weight * found.nearest;
    if (totals.utilities != nullptr) totals.utilities[j] += weight * (found.second - found.nearest);
    double *sum = totals.sums + j * rows_.points.n_features;
    for (std::int64_t s = 0; s < row.size; ++s) sum[row.features[s]] += weight * double(row.values[s]);
  }

  inline void prefetch(const StoredRow<T, I> &row, std::int64_t j, const Totals &totals) {
    const double *sum = totals.sums + j * rows_.points.n_features;
    for (std::int64_t s = 0; s < row.size; ++s) {
      __builtin_prefetch(sum + row.features[s], 1);
      if (nearest_.narrowed) nearest_.prefetch(j, row.features[s]);
    }
  }

  NearestCsr<T, A> &nearest_;
  const StoredRows<T, I> rows_;
  const std::int64_t n_clusters_;
  const int n_threads_;
  Buffer<std::int32_t> part_;  // (n_clusters,) which part each cluster belongs to
};

constexpr std::int64_t csr_chunk = 512 * block_rows;  // rows whose nearest centers are remembered
constexpr std::int64_t narrow_clusters = 96;          // with fewer, keys in double cost less than distances afterwards

// Adds to the totals and sets the results of each row. Returns the largest squared distance to a nearest center.
inline double csr_pass(const CsrPoints &points, const Centers<void> &centers, const Totals &totals,
                       const PerRow &per_row, int n_threads) {
  const std::int64_t n = points.n_rows, chunk = std::min(n, csr_chunk);
  const bool second = totals.utilities != nullptr || per_row.second != nullptr;
  if (n == 0) return 0;
  return with_csr_types(points, [&]<class T, class I>() {
    const bool wide = second || centers.prices != nullptr || centers.n_clusters < narrow_clusters;
    return with_nearest_csr(centers.as<T>(), wide, n_threads, [&]<class A>(NearestCsr<T, A> &nearest) {
      const int threads = useful_threads(n_threads, n, work_of(points, centers.n_clusters));
      const StoredRows<T, I> rows{points};
      CsrFinder<T, A, I> finder(nearest, rows, threads);
      CsrSums<T, A, I> sums(nearest, rows, centers.n_clusters, threads);
      Buffer<Nearest> found(chunk);
      for (std::int64_t first = 0; first < n; first += chunk) {
        const std::int64_t end = std::min(n, first + chunk);
        finder.find(first, end, [&](std::int64_t i, const Nearest &of_row) { found.data()[i - first] = of_row; });
        sums.add(first, end, found.data(), totals);
        for (std::int64_t i = first; i < end; ++i) set_row(per_row, i, found.data()[i - first]);
      }
      if (totals.n_tied != nullptr) *totals.n_tied += finder.n_tied();
      return finder.farthest();
    });
  });
}

// Sets the results of each row. Returns the largest squared distance to a nearest center.
inline double csr_assign(const CsrPoints &points, const Centers<void> &centers, const PerRow &per_row, int n_threads) {
  if (points.n_rows == 0) return 0;
  return with_csr_types(points, [&]<class T, class I>() {
    const bool wide = per_row.second != nullptr || centers.prices != nullptr ||
                      (per_row.nearest != nullptr && centers.n_clusters < narrow_clusters);
    return with_nearest_csr(centers.as<T>(), wide, n_threads, [&]<class A>(NearestCsr<T, A> &nearest) {
      const int threads = useful_threads(n_threads, points.n_rows, work_of(points, centers.n_clusters));
      const StoredRows<T, I> rows{points};
      CsrFinder<T, A, I> finder(nearest, rows, threads);
      finder.find(0, points.n_rows, [&](std::int64_t i, Nearest found) {
        if (nearest.narrowed && per_row.nearest != nullptr)
          found.nearest = nearest.squared_distance_to(rows[i], found.label);
        set_row(per_row, i, found);
      });
      return finder.farthest();
    });
  });
}

// out[i * n_clusters + j] = distance of row i to center j.
inline void csr_distances(const CsrPoints &points, const Centers<void> &centers, void *out, int n_threads) {
  if (points.n_rows == 0) return;
  with_csr_types(points, [&]<class T, class I>() {
    NearestCsr<T, double> nearest(centers.as<T>(), false, n_threads);
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
