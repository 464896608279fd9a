// Nearest centers of sparse points. Centers are stored feature after feature, so that a stored value is multiplied with
// the coordinates of all centers side by side. Keys are |c|^2/2 - x.c, as in nearest_product.hpp. They are computed in
// double, or in float, which halves the memory that is read, where no distances are needed or centers are many. Where
// rounding leaves the nearest center open, the candidates are compared in twice the precision of double.
#pragma once

#include "nearest.hpp"
#include "scheduler.hpp"

#if defined(__FMA__)
#include <immintrin.h>
#endif

namespace eulermeans {
namespace {

inline double product_error(double a, double b, double product) { return std::fma(a, b, -product); }

inline Vector<double> product_error(Vector<double> a, Vector<double> b, Vector<double> product) {
#if defined(__FMA__)
  return (Vector<double>)_mm256_fmsub_pd((__m256d)a, (__m256d)b, (__m256d)product);
#else
  for (int l = 0; l < lanes<double>; ++l) product[l] = std::fma(a[l], b[l], -product[l]);
  return product;
#endif
}

// A sum in twice the precision of double (Dot2 of Ogita, Rump and Oishi 2005), for squared distances that cancel: the
// rounded sum and its rounding error. V is double, or a vector with one sum per lane.
template <class V>
struct TwofoldSum {
  V high{}, low{};

  V value() const { return high + low; }

  inline void add(V term) {
    const V sum = high + term, part = sum - high;
    low += (high - (sum - part)) + (term - part);
    high = sum;
  }

  // Exact: whether the product of a and b needs no rounding, as that of two floats.
  template <bool Exact>
  inline void add_product(V a, V b) {
    V product = a * b;
    if constexpr (!Exact) {
      // Keeps the compiler from fusing the unrounded product into the sum above.
      __asm__("" : "+m"(product));
      low += product_error(a, b, product);
    }
    add(product);
  }
};
using Twofold = TwofoldSum<double>;

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

// Keys are computed as A: float or double.
template <class T, class A>
class NearestCsr {
 public:
  static constexpr bool narrowed = !std::is_same_v<A, double>;  // `find` sets only approximate distances

  // With `distinct`, only the first of equal centers gets finite keys. Centers that start at points of sparse data are
  // often equal, and each of their ties would have to be decided exactly. Keys with prices must be of double.
  NearestCsr(const Centers<T> &centers, bool distinct, int n_threads)
      : centers_(centers),
        n_features_(centers.n_features),
        n_vectors_((centers.n_clusters + lanes<A> - 1) / lanes<A>),
        stride_((centers.n_clusters + line - 1) / line * line),
        table_(n_features_ * stride_),
        half_norms_(stride_),
        norms_(stride_),
        first_(centers.n_clusters),
        repeated_(centers.n_clusters) {
    const std::int64_t k = centers.n_clusters;
    n_threads = useful_threads(n_threads, stride_ / line, double(k) * double(n_features_) * 2);
    parallel_for(stride_ / line, n_threads, [&](std::int64_t i, int) { pack(i * line); });
    for (std::int64_t j = 0; j < k; ++j)
      largest_squared_norm_ = std::max(largest_squared_norm_, norms_.data()[j].value());
    find_repeated();
    for (std::int64_t j = 0; j < stride_; ++j) {
      const bool has_key = j < k && (!distinct || first_.data()[j]);
      const double doubled = has_key ? norms_.data()[j].value() + centers.price(j) : 0;
      half_norms_.data()[j] = has_key ? A(doubled / 2) : std::numeric_limits<A>::infinity();
      if (has_key) largest_price_ = std::max(largest_price_, std::abs(centers.price(j)));
    }
  }

  // Whether keys of float do not overflow, and do not underflow more than the margin allows.
  bool usable() const { return norm_in_range(std::sqrt(largest_squared_norm_)); }
  std::int64_t n_padded() const { return stride_; }  // number of centers with padding

  // keys: (n_padded,) scratch.
  template <class I>
  inline Nearest find(const StoredRow<T, I> &row, A *keys) {
    Smallest<A> smallest;
    Index<A> lane;
    for (int l = 0; l < lanes<A>; ++l) lane[l] = l;
    for_each_key(row, [&](std::int64_t vector, Vector<A> key) {
      smallest.see(key, lane + typename Simd<A>::Integer(vector * lanes<A>));
    });
    const Lowest<A> low = across_lanes(smallest);
    const double norm = row.squared_norm(), margin = key_margin(row.size, norm), gap = double(low.second) - low.best;
    double nearest = norm + 2 * double(low.best);
    Nearest found{std::int32_t(low.index), nearest, nearest + 2 * gap};
    if (!(gap > 2 * margin && norm < out_of_range))
      found = decide(row, norm, margin, keys);
    else if (!narrowed && !is_trusted(nearest - centers_.price(low.index), row.size, norm))
      found.nearest = exact_distance(row, low.index) + centers_.price(low.index);
    if (centers_.prices == nullptr && repeated_.data()[found.label]) found.second = found.nearest;
    return found;
  }

  // What squared_distance_to reads.
  void prefetch(std::int64_t j, std::int64_t f) const { __builtin_prefetch(centers_[j] + f); }

  // The squared distance to center j.
  template <class I>
  inline double squared_distance_to(const StoredRow<T, I> &row, std::int64_t j) {
    const T *center = centers_[j];
    double norm = 0, product = 0;
    for (std::int64_t s = 0; s < row.size; ++s) {
      const double value = row.values[s];
      norm += value * value;
      product += value * double(center[row.features[s]]);
    }
    const double squared = norm - 2 * product + norms_.data()[j].value();
    return is_trusted(squared, row.size, norm) ? squared : exact_distance(row, j);
  }

  // distances[j] = distance to center j. keys: (n_padded,) scratch.
  template <class I>
  void set_distances(const StoredRow<T, I> &row, A *keys, T *distances) {
    store_keys(row, keys);
    const double norm = row.squared_norm();
    bool all_trusted = true;
    for (std::int64_t j = 0; j < centers_.n_clusters; ++j) {
      const double squared = norm + 2 * keys[j];
      all_trusted &= is_trusted(squared, row.size, norm);
      distances[j] = T(std::sqrt(squared));
    }
    if (all_trusted) return;
    for (std::int64_t j = 0; j < centers_.n_clusters; ++j)
      if (!is_trusted(norm + 2 * keys[j], row.size, norm)) distances[j] = T(std::sqrt(exact_distance(row, j)));
  }

 private:
  static constexpr std::int64_t line = 64 / sizeof(A);  // rows of the table are whole cache lines
  static constexpr int register_vectors = 13;           // vectors of centers whose keys are held in registers
  static constexpr double trusted = 1e9;  // a squared distance this many times its error is not computed again
  static constexpr double out_of_range = narrowed ? 1e30 : std::numeric_limits<double>::infinity();  // squared norm

  // Coordinates as A. Those that are not zero do not become zero, so that `overlap` sees them.
  static inline Vector<A, lanes<double> * sizeof(A)> narrow(Vector<double> values) {
    using Narrow = Vector<A, lanes<double> * sizeof(A)>;
    const Narrow narrowed_values = __builtin_convertvector(values, Narrow);
    if constexpr (sizeof(A) == sizeof(T) || !narrowed) return narrowed_values;
    const auto lost =
        __builtin_convertvector(values != 0, Index<A, lanes<double> * sizeof(A)>) & (narrowed_values == 0);
    return lost ? Narrow{} + std::numeric_limits<A>::denorm_min() : narrowed_values;
  }

  // Sets the columns of the table for one cache line of centers, and their norms.
  void pack(std::int64_t first) {
    constexpr int n = lanes<double>, n_sums = int(line) / n;
    const T *center[line];
    for (int i = 0; i < line; ++i) center[i] = centers_[std::min(first + i, centers_.n_clusters - 1)];
    TwofoldSum<Vector<double>> norms[n_sums];
    const auto add = [&](std::int64_t f, int i, Vector<double> values) {
      store(table_.data() + f * stride_ + first + i * n, narrow(values));
      norms[i].template add_product<sizeof(T) == 4>(values, values);
    };
    std::int64_t f = 0;
    for (; f + n <= n_features_; f += n) {
#pragma GCC unroll 4
      for (int i = 0; i < n_sums; ++i) {
        Vector<double> rows[n];
        for (int l = 0; l < n; ++l)
          rows[l] = __builtin_convertvector(load<n * sizeof(T)>(center[i * n + l] + f), Vector<double>);
        transpose(rows);
        for (int l = 0; l < n; ++l) add(f + l, i, rows[l]);
      }
    }
    for (; f < n_features_; ++f) {
      for (int i = 0; i < n_sums; ++i) {
        Vector<double> values;
        for (int l = 0; l < n; ++l) values[l] = double(center[i * n + l][f]);
        add(f, i, values);
      }
    }
    for (int i = 0; i < line; ++i) norms_.data()[first + i] = {norms[i / n].high[i % n], norms[i / n].low[i % n]};
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
    for (; first_vector + V <= n_vectors_; first_vector += V) {
      const std::int64_t first = first_vector * lanes<A>;
      Vector<A> keys[V];
      for (int v = 0; v < V; ++v) keys[v] = load(half_norms_.data() + first + v * lanes<A>);
      for (std::int64_t s = 0; s < row.size; ++s) {
        const Vector<A> value = splat(A(row.values[s]));
        const A *coordinates = table_.data() + std::int64_t(row.features[s]) * stride_ + first;
        for (int v = 0; v < V; ++v) keys[v] -= value * load(coordinates + v * lanes<A>);
      }
      for (int v = 0; v < V; ++v) see(first_vector + v, keys[v]);
    }
    if constexpr (V > 1) for_each_key<V / 2>(row, see, first_vector);
  }

  template <class I>
  inline void store_keys(const StoredRow<T, I> &row, A *keys) {
    for_each_key(row, [&](std::int64_t vector, Vector<A> key) { store(keys + vector * lanes<A>, key); });
  }

  // Bound on the rounding error of a sum of n products, relative to the sum of their absolute values. Most rows are
  // short, and for them one bound will do.
  template <class B>
  static double relative_error(std::int64_t n) {
    return (n <= 32 ? 42 * double(unit<B>) : double(rounding<B>(n))) + (narrowed ? 2 * double(unit<B>) : 0);
  }

  // Bound on the rounding error of a key, by |x.c| + |c|^2 / 2 <= |x|^2 / 2 + |c|^2.
  double key_margin(std::int64_t n_stored, double squared_norm) const {
    return relative_error<A>(n_stored + 1) * (squared_norm + largest_squared_norm_ + largest_price_);
  }

  // Whether a squared distance computed in double is not lost to cancellation. (|x| + |c|)^2 <= 2 (|x|^2 + |c|^2).
  bool is_trusted(double squared, std::int64_t n_stored, double squared_norm) const {
    return squared > trusted * relative_error<double>(n_stored + 1) * 2 * (squared_norm + largest_squared_norm_);
  }

  template <class I>
  static Twofold exact_norm(const StoredRow<T, I> &row) {
    Twofold norm;
    for (std::int64_t s = 0; s < row.size; ++s) norm.add_product<sizeof(T) == 4>(row.values[s], row.values[s]);
    return norm;
  }

  template <class I>
  Twofold exact_product(const StoredRow<T, I> &row, std::int64_t j) {
    Twofold product;
    for (std::int64_t s = 0; s < row.size; ++s)
      product.add_product<sizeof(T) == 4>(row.values[s], centers_[j][row.features[s]]);
    return product;
  }

  template <class I>
  double exact_distance(const StoredRow<T, I> &row, std::int64_t j) {
    return squared_distance(exact_norm(row), exact_product(row, j), norms_.data()[j]);
  }

  // Nonzero in the lanes of the centers that have a coordinate other than zero among the features of the row.
  template <class I>
  inline Index<A> overlap(const StoredRow<T, I> &row, std::int64_t vector) {
    Index<A> bits{};
    for (std::int64_t s = 0; s < row.size; ++s)
      bits |= (Index<A>)load(table_.data() + std::int64_t(row.features[s]) * stride_ + vector * lanes<A>);
    return bits;
  }

  // Compares the centers whose keys are within the error of the lowest exactly; all if keys are out of range. Where
  // centers are points, most of them share no feature with the row, and their product with it is zero.
  template <class I>
  Nearest decide(const StoredRow<T, I> &row, double norm, double margin, A *keys) {
    store_keys(row, keys);
    double lowest = std::numeric_limits<double>::infinity();
    for (std::int64_t j = 0; j < centers_.n_clusters; ++j) lowest = keys[j] < lowest ? double(keys[j]) : lowest;
    const bool in_range = norm < out_of_range;
    const Twofold point = exact_norm(row);
    Nearest found = nothing_yet;
    for (std::int64_t vector = 0; vector < n_vectors_; ++vector) {
      const Index<A> shared = overlap(row, vector);
      const std::int64_t first = vector * lanes<A>, end = std::min(first + lanes<A>, centers_.n_clusters);
      for (std::int64_t j = first; j < end; ++j) {
        if (in_range && double(keys[j]) > lowest + 4 * margin) continue;
        const Twofold product = shared[j - first] == 0 ? Twofold{} : exact_product(row, j);
        keep_nearest(found, j, squared_distance(point, product, norms_.data()[j]) + centers_.price(j));
      }
    }
    return found;
  }

  const Centers<T> centers_;
  const std::int64_t n_features_, n_vectors_;
  const std::int64_t stride_;  // number of centers with padding
  Buffer<A> table_;            // (n_features, stride) coordinates; past the last center, those of the last
  Buffer<A> half_norms_;
  Buffer<Twofold> norms_;  // squared
  Buffer<bool> first_;     // whether no earlier center is equal
  Buffer<bool> repeated_;  // whether a later center is equal to this one, which is the first
  double largest_squared_norm_ = 0;
  double largest_price_ = 0;  // in magnitude
};

}  // namespace
}  // namespace eulermeans
