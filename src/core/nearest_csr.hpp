// Nearest centers of sparse points. Centers are stored feature after feature, so that a stored value is multiplied with
// the coordinates of all centers side by side. Arithmetic is in double: it costs little here, and few distances need to
// be computed again. Keys are |c|^2/2 - x.c, as in nearest_product.hpp.
#pragma once

#include "nearest.hpp"
#include "scheduler.hpp"

namespace eulermeans {
namespace {

// A sum in twice the precision of double (Dot2 of Ogita, Rump and Oishi 2005), for squared distances that cancel: the
// rounded sum and its rounding error.
struct Twofold {
  double high = 0, low = 0;

  double value() const { return high + low; }

  inline void add(double term) {
    const double sum = high + term, part = sum - high;
    low += (high - (sum - part)) + (term - part);
    high = sum;
  }

  template <class T>
  inline void add_product(T a, T b) {
    double product = double(a) * double(b);
    if constexpr (sizeof(T) == sizeof(double)) {  // the product of two floats is exact
      // Keeps the compiler from fusing the unrounded product into the sum above.
      __asm__("" : "+m"(product));
      low += std::fma(double(a), double(b), -product);
    }
    add(product);
  }
};

// |x|^2 - 2 x.c + |c|^2. Exactly 0 if the three are products of the same numbers in the same order.
inline double squared_distance(const Twofold &point, const Twofold &product, const Twofold &center) {
  Twofold total = center;
  total.add(point.high);
  total.add(-2 * product.high);
  const double distance = total.high + (total.low + (point.low - 2 * product.low));
  return distance < 0 ? 0 : distance;
}

// The stored values of one point, in increasing order of distinct features.
template <class T, class I>
struct StoredRow {
  double squared_norm() const {
    double total = 0;
    for (std::int64_t s = 0; s < size; ++s) total += double(values[s]) * double(values[s]);
    return total;
  }

  const T *values;    // (size,)
  const I *features;  // (size,)
  std::int64_t size;
};

template <class T>
class NearestCsr {
 public:
  // With `distinct`, only the first of equal centers gets finite keys. Centers that start at points of sparse data are
  // often equal, and each of their ties would have to be decided exactly.
  NearestCsr(const Centers<T> &centers, bool distinct, int n_threads)
      : centers_(centers),
        n_features_(centers.n_features),
        n_vectors_((centers.n_clusters + lanes<double> - 1) / lanes<double>),
        table_(n_features_ * n_padded()),
        half_norms_(n_padded()),
        norms_(centers.n_clusters),
        first_(centers.n_clusters),
        repeated_(centers.n_clusters) {
    const std::int64_t k = centers.n_clusters;
    n_threads = useful_threads(n_threads, k, double(k) * double(n_features_) * 8);
    transpose_centers(n_threads);
    set_norms(n_threads);
    find_repeated();
    for (std::int64_t j = 0; j < n_padded(); ++j) {
      const bool has_key = j < k && (!distinct || first_.data()[j]);
      half_norms_.data()[j] = has_key ? norms_.data()[j].value() / 2 : std::numeric_limits<double>::infinity();
    }
  }

  std::int64_t n_padded() const { return n_vectors_ * lanes<double>; }  // number of centers with padding

  // keys: (n_padded,) scratch.
  template <class I>
  inline Nearest find(const StoredRow<T, I> &row, double *keys) {
    Smallest<double> smallest;
    Index<double> lane;
    for (int l = 0; l < lanes<double>; ++l) lane[l] = l;
    for_each_key(row, [&](std::int64_t vector, Vector<double> key) {
      smallest.see(key, lane + vector * lanes<double>);
    });
    const Lowest<double> low = across_lanes(smallest);
    const double norm = row.squared_norm(), error = margin(row.size, norm), gap = low.second - low.best;
    double nearest = norm + 2 * low.best;
    if (gap > 2 * error && !(nearest > trusted * error)) nearest = exact_distance(row, low.index);
    Nearest found{std::int32_t(low.index), nearest, nearest + 2 * gap};
    if (!(gap > 2 * error)) found = decide(row, error, keys);
    if (repeated_.data()[found.label]) found.second = found.nearest;
    return found;
  }

  // distances[j] = distance to center j. keys: (n_padded,) scratch.
  template <class I>
  void set_distances(const StoredRow<T, I> &row, double *keys, T *distances) {
    store_keys(row, keys);
    const double norm = row.squared_norm(), smallest_trusted = trusted * margin(row.size, norm);
    bool all_trusted = true;
    for (std::int64_t j = 0; j < centers_.n_clusters; ++j) {
      const double squared = norm + 2 * keys[j];
      all_trusted &= squared > smallest_trusted;
      distances[j] = T(std::sqrt(squared));
    }
    if (all_trusted) return;
    for (std::int64_t j = 0; j < centers_.n_clusters; ++j)
      if (!(norm + 2 * keys[j] > smallest_trusted)) distances[j] = T(std::sqrt(exact_distance(row, j)));
  }

 private:
  static constexpr int register_vectors = 13;  // vectors of centers whose keys are held in registers
  static constexpr double trusted = 1e9;       // a squared distance this many times its error is not computed again

  void transpose_centers(int n_threads) {
    constexpr std::int64_t line = 64 / sizeof(double);
    const std::int64_t width = n_padded(), n_lines = (n_features_ + line - 1) / line;
    parallel_for(n_lines, n_threads, [&](std::int64_t i, int) {
      const std::int64_t first = i * line, end = std::min(n_features_, first + line);
      for (std::int64_t j = 0; j < width; ++j)
        for (std::int64_t f = first; f < end; ++f)
          table_.data()[f * width + j] = j < centers_.n_clusters ? double(centers_[j][f]) : 0;
    });
  }

  void set_norms(int n_threads) {
    parallel_for(centers_.n_clusters, n_threads, [&](std::int64_t j, int) {
      Twofold norm;
      for (std::int64_t f = 0; f < n_features_; ++f) norm.add_product(centers_[j][f], centers_[j][f]);
      norms_.data()[j] = norm;
    });
    for (std::int64_t j = 0; j < centers_.n_clusters; ++j)
      largest_squared_norm_ = std::max(largest_squared_norm_, norms_.data()[j].value());
  }

  void find_repeated() {
    for (std::int64_t j = 0; j < centers_.n_clusters; ++j) {
      first_.data()[j] = true;
      repeated_.data()[j] = false;
      for (std::int64_t i = 0; i < j && first_.data()[j]; ++i) {
        const bool same_norm = norms_.data()[i].high == norms_.data()[j].high;
        if (!first_.data()[i] || !same_norm || !std::equal(centers_[i], centers_[i + 1], centers_[j])) continue;
        first_.data()[j] = false;
        repeated_.data()[i] = true;
      }
    }
  }

  // Calls see(vector, keys) with the keys of one vector of centers after the other.
  template <int V = register_vectors, class I, class See>
  inline void for_each_key(const StoredRow<T, I> &row, const See &see, std::int64_t first_vector = 0) {
    const std::int64_t width = n_padded();
    for (; first_vector + V <= n_vectors_; first_vector += V) {
      const std::int64_t first = first_vector * lanes<double>;
      Vector<double> keys[V];
      for (int v = 0; v < V; ++v) keys[v] = load(half_norms_.data() + first + v * lanes<double>);
      for (std::int64_t s = 0; s < row.size; ++s) {
        const Vector<double> value = splat(double(row.values[s]));
        const double *coordinates = table_.data() + std::int64_t(row.features[s]) * width + first;
        for (int v = 0; v < V; ++v) keys[v] -= value * load(coordinates + v * lanes<double>);
      }
      for (int v = 0; v < V; ++v) see(first_vector + v, keys[v]);
    }
    if constexpr (V > 1) for_each_key<V / 2>(row, see, first_vector);
  }

  template <class I>
  inline void store_keys(const StoredRow<T, I> &row, double *keys) {
    for_each_key(row, [&](std::int64_t vector, Vector<double> key) { store(keys + vector * lanes<double>, key); });
  }

  // Bound on the rounding error of a key and of half a squared distance, by (|x| + |c|)^2 <= 2 (|x|^2 + |c|^2).
  double margin(std::int64_t n_stored, double squared_norm) const {
    return rounding<double>(n_stored) * 2 * (squared_norm + largest_squared_norm_);
  }

  template <class I>
  double exact_distance(const StoredRow<T, I> &row, std::int64_t j) {
    Twofold point, product;
    for (std::int64_t s = 0; s < row.size; ++s) {
      point.add_product(row.values[s], row.values[s]);
      product.add_product(row.values[s], centers_[j][row.features[s]]);
    }
    return squared_distance(point, product, norms_.data()[j]);
  }

  // Compares the centers whose keys are within the error of the lowest exactly.
  template <class I>
  Nearest decide(const StoredRow<T, I> &row, double error, double *keys) {
    store_keys(row, keys);
    double lowest = std::numeric_limits<double>::infinity();
    for (std::int64_t j = 0; j < centers_.n_clusters; ++j) lowest = keys[j] < lowest ? keys[j] : lowest;
    Nearest found = nothing_yet;
    for (std::int64_t j = 0; j < centers_.n_clusters; ++j)
      if (!(keys[j] > lowest + 4 * error)) keep_nearest(found, j, exact_distance(row, j));
    return found;
  }

  const Centers<T> centers_;
  const std::int64_t n_features_, n_vectors_;
  Buffer<double> table_;  // (n_features, n_padded) coordinates, zero past the last center
  Buffer<double> half_norms_;
  Buffer<Twofold> norms_;  // squared
  Buffer<bool> first_;     // whether no earlier center is equal
  Buffer<bool> repeated_;  // whether a later center is equal to this one, which is the first
  double largest_squared_norm_ = 0;
};

}  // namespace
}  // namespace eulermeans
