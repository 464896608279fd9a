// The stored values of sparse points, and the centers laid out to be multiplied with them: feature after feature, so
// that a stored value meets the coordinates of all centers side by side. Arithmetic is in double, which costs little
// here and leaves few distances to compute again.
#pragma once

#include "pass.hpp"
#include "twofold.hpp"

namespace eulermeans {
namespace {

// The stored values of one point, ordered by feature, no feature twice.
template <class T, class I>
struct StoredRow {
  const T *values;    // (size,)
  const I *features;  // (size,)
  std::int64_t size;
};

template <class T, class I>
struct StoredRows {
  explicit StoredRows(const CsrPoints &from)
      : points(from), values(static_cast<const T *>(from.values)), features(static_cast<const I *>(from.indices)) {}

  std::int64_t index(std::int64_t i) const { return points.rows == nullptr ? i : points.rows[i]; }
  double weight(std::int64_t i) const { return points.weights == nullptr ? 1 : points.weights[index(i)]; }
  StoredRow<T, I> operator[](std::int64_t i) const {
    const std::int64_t first = points.starts[index(i)];
    return {values + first, features + first, points.starts[index(i) + 1] - first};
  }

  const CsrPoints &points;
  const T *values;
  const I *features;
};

template <class T>
class TransposedCenters {
 public:
  // With `distinct`, of equal centers only the first gets keys that are finite. Sparse data have many equal points, so
  // that centers which start at points often are: their ties would all have to be decided exactly.
  TransposedCenters(const Centers<T> &centers, std::int64_t n_features, bool distinct, int n_threads)
      : n_clusters(centers.n_clusters),
        n_vectors((centers.n_clusters + lanes<double> - 1) / lanes<double>),
        centers_(centers),
        n_features_(n_features),
        table_(n_features * n_vectors * lanes<double>),
        half_norms_(n_vectors * lanes<double>),
        norms_(centers.n_clusters),
        first_(centers.n_clusters),
        repeated_(centers.n_clusters) {
    n_threads = useful_threads(n_threads, n_clusters, double(n_clusters) * double(n_features) * 8);
    transpose(n_threads);
    add_up_norms(n_threads);
    find_repeated();
    for (std::int64_t j = 0; j < n_vectors * lanes<double>; ++j) {
      const bool has_key = j < n_clusters && (!distinct || first_.data()[j]);
      half_norms_.data()[j] = has_key ? norms_.data()[j].value() / 2 : std::numeric_limits<double>::infinity();
    }
  }

  // Whether another center is equal to this one, which is the first of them.
  bool repeated(std::int64_t j) { return repeated_.data()[j]; }

  // The keys |c|^2/2 - x.c of V vectors of centers, which order centers as the squared distance does.
  template <int V, class I>
  inline void keys_of(const StoredRow<T, I> &row, std::int64_t first_vector, Vector<double> (&keys)[V]) {
    const std::int64_t width = n_vectors * lanes<double>, first = first_vector * lanes<double>;
    for (int v = 0; v < V; ++v) keys[v] = load(half_norms_.data() + first + v * lanes<double>);
    for (std::int64_t s = 0; s < row.size; ++s) {
      const Vector<double> value = splat(double(row.values[s]));
      const double *coordinates = table_.data() + std::int64_t(row.features[s]) * width + first;
      for (int v = 0; v < V; ++v) keys[v] -= value * load(coordinates + v * lanes<double>);
    }
  }

  // What rounding may change a key and half a squared distance by, with (|x| + |c|)^2 <= 2 (|x|^2 + |c|^2).
  double margin(std::int64_t n_stored, double squared_norm) const {
    return rounding<double>(n_stored) * 2 * (squared_norm + largest_squared_norm_);
  }

  template <class I>
  double exact_distance(const StoredRow<T, I> &row, std::int64_t j) {
    Twofold point, product;
    for (std::int64_t s = 0; s < row.size; ++s) {
      point.add_product(row.values[s], row.values[s]);
      product.add_product(row.values[s], centers_.data[j * n_features_ + std::int64_t(row.features[s])]);
    }
    return squared_distance(point, product, norms_.data()[j]);
  }

  const std::int64_t n_clusters, n_vectors;

 private:
  void transpose(int n_threads) {
    constexpr std::int64_t line = 64 / sizeof(double);
    const std::int64_t width = n_vectors * lanes<double>, n_lines = (n_features_ + line - 1) / line;
    for_each(n_lines, n_threads, [&](std::int64_t i, int) {
      const std::int64_t first = i * line, end = std::min(n_features_, first + line);
      for (std::int64_t j = 0; j < width; ++j)
        for (std::int64_t f = first; f < end; ++f)
          table_.data()[f * width + j] = j < n_clusters ? double(centers_.data[j * n_features_ + f]) : 0;
    });
  }

  void add_up_norms(int n_threads) {
    for_each(n_clusters, n_threads, [&](std::int64_t j, int) {
      Twofold norm;
      for (std::int64_t f = 0; f < n_features_; ++f)
        norm.add_product(centers_.data[j * n_features_ + f], centers_.data[j * n_features_ + f]);
      norms_.data()[j] = norm;
    });
    for (std::int64_t j = 0; j < n_clusters; ++j)
      largest_squared_norm_ = std::max(largest_squared_norm_, norms_.data()[j].value());
  }

  void find_repeated() {
    for (std::int64_t j = 0; j < n_clusters; ++j) {
      first_.data()[j] = true;
      repeated_.data()[j] = false;
      for (std::int64_t i = 0; i < j && first_.data()[j]; ++i) {
        if (!first_.data()[i] || !equal(i, j)) continue;
        first_.data()[j] = false;
        repeated_.data()[i] = true;
      }
    }
  }

  bool equal(std::int64_t i, std::int64_t j) {
    const T *one = centers_.data + i * n_features_, *other = centers_.data + j * n_features_;
    return norms_.data()[i].high == norms_.data()[j].high && std::equal(one, one + n_features_, other);
  }

  const Centers<T> centers_;
  const std::int64_t n_features_;
  Buffer<double> table_;  // (n_features, n_vectors * lanes), zeros past the last center
  Buffer<double> half_norms_;
  Buffer<Twofold> norms_;
  Buffer<bool> first_, repeated_;  // among equal centers; followed by others
  double largest_squared_norm_ = 0;
};

}  // namespace
}  // namespace eulermeans
