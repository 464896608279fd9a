// What all ways to find the nearest center share: the result and its tie rule, squared distances, bounds on rounding,
// and the rows that are worked on together.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "simd.hpp"
#include "storage.hpp"

namespace eulermeans {
namespace {

constexpr int tile_rows = 6;               // rows whose products are held in registers
constexpr int group_rows = 8 * tile_rows;  // rows that use a panel of centers while it is in the L1 cache
constexpr int look_ahead = tile_rows;      // rows after the group whose addresses are known, for prefetching
static_assert(block_rows % group_rows == 0);

struct Nearest {
  std::int32_t label;
  double nearest, second;  // squared distances
};
constexpr Nearest nothing_yet{0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};

// The tie rule: of equally near centers, the one with the lowest index wins. Centers are compared in the order of their
// indices, and a center replaces the best one only if it is strictly nearer. This function is the only comparison of
// centers; keys and indices are scalars, or vectors with one comparison per lane.
template <bool WithSecond = true, class Key, class Where>
[[gnu::always_inline]] inline void keep_smallest(Key key, Where where, Key &best, Key &second, Where &index) {
  const auto lower = key < best;
  if constexpr (WithSecond) {
    const Key loser = lower ? best : key;
    second = loser < second ? loser : second;
  }
  index = lower ? where : index;
  best = lower ? key : best;
}

inline void keep_nearest(Nearest &found, std::int64_t j, double distance) {
  keep_smallest(distance, std::int32_t(j), found.nearest, found.second, found.label);
}

// The smallest and the second smallest key seen in each lane, and the index of the smallest.
template <class T, int B = vector_bytes>
struct Smallest {
  static constexpr T none = std::is_integral_v<T> ? std::numeric_limits<T>::max() : std::numeric_limits<T>::infinity();
  Vector<T, B> best = splat<B>(none);
  Vector<T, B> second = splat<B>(none);
  Index<T, B> index{};

  template <bool WithSecond = true>
  inline void see(Vector<T, B> key, Index<T, B> where) {
    keep_smallest<WithSecond>(key, where, best, second, index);
  }
};

// The smallest and second smallest key of all lanes.
template <class T>
struct Lowest {
  T best, second;
  std::int64_t index;
};

// Lanes hold different centers, so the tie rule takes the lowest index of the lanes that share the smallest key.
template <class T, int B>
inline Lowest<T> across_lanes(const Smallest<T, B> &smallest) {
  const Vector<T, B> best = min_of_lanes(smallest.best);
  const Index<T, B> none = Index<T, B>{} + std::numeric_limits<typename Simd<T>::Integer>::max();
  const Index<T, B> index = min_of_lanes(smallest.best == best ? smallest.index : none);
  // The winning lane contributes its second key, every other lane its best.
  const auto won = (smallest.best == best) & (smallest.index == index);
  const Vector<T, B> second = min_of_lanes(won ? smallest.second : smallest.best);
  const std::int64_t where = index[0] == none[0] ? 0 : std::int64_t(index[0]);  // none if all keys are NaN
  return {best[0], second[0], where};
}

// load_a(pointer) returns a vector of T, whatever the row is stored as.
template <class T, class S, class Load>
inline T squared_distance(const S *a, const T *b, std::int64_t n, const Load &load_a) {
  Vector<T> part[4] = {};
  std::int64_t f = 0;
  for (; f + 4 * lanes<T> <= n; f += 4 * lanes<T>) {
    for (int i = 0; i < 4; ++i) {
      const Vector<T> offset = load_a(a + f + i * lanes<T>) - load(b + f + i * lanes<T>);
      part[i] += offset * offset;
    }
  }
  for (; f + lanes<T> <= n; f += lanes<T>) {
    const Vector<T> offset = load_a(a + f) - load(b + f);
    part[0] += offset * offset;
  }
  T total = sum_of_lanes((part[0] + part[1]) + (part[2] + part[3]));
  for (; f < n; ++f) total += (T(a[f]) - b[f]) * (T(a[f]) - b[f]);
  return total;
}

template <class T>
inline T squared_distance(const T *a, const T *b, std::int64_t n) {
  return squared_distance(a, b, n, [](const T *from) { return load(from); });
}

template <class T>
inline double squared_distance_wide(const T *a, const T *b, std::int64_t n) {
  double part[16] = {};
  std::int64_t f = 0;
  for (; f + 16 <= n; f += 16) {
    for (int i = 0; i < 16; ++i) {
      const double offset = double(a[f + i]) - double(b[f + i]);
      part[i] += offset * offset;
    }
  }
  for (; f < n; ++f) part[0] += (double(a[f]) - double(b[f])) * (double(a[f]) - double(b[f]));
  double total = 0;
  for (int i = 0; i < 16; ++i) total += part[i];
  return total;
}

// Compares in double, in order, those centers for which is_open(j) is true. n_features may be a compile-time constant.
template <class T, class IsOpen>
Nearest compare_open(const T *point, const Centers<T> &centers, std::int64_t n_features, const IsOpen &is_open) {
  Nearest found = nothing_yet;
  for (std::int64_t j = 0; j < centers.n_clusters; ++j)
    if (is_open(j))
      keep_nearest(found, j,
                   squared_distance_wide(point, centers.data + j * n_features, n_features) + centers.price(j));
  return found;
}

template <class T>
Nearest compare_all(const T *point, const Centers<T> &centers, std::int64_t n_features) {
  return compare_open(point, centers, n_features, [](std::int64_t) { return true; });
}

template <class T>
constexpr T unit = std::numeric_limits<T>::epsilon() / 2;

// Bound on the rounding error of a product or a sum of squares of n terms, relative to the sum of their absolute
// values: the probabilistic bound of Higham and Mary (2019) with lambda = 6.
template <class T>
inline T rounding(std::int64_t n) {
  return unit<T> * (T(6) * std::sqrt(T(n)) + T(8));
}

// Smaller squared distances have lost digits to underflow.
template <class T>
inline T smallest_in_range(std::int64_t n_features) {
  return T(n_features) * (std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon());
}

template <class T>
inline bool out_of_range(T distance, std::int64_t n_features) {
  return !(distance > smallest_in_range<T>(n_features) && distance < std::numeric_limits<T>::max());
}

template <class T>
inline double distance(const T *a, const T *b, std::int64_t n) {
  const T squared = squared_distance(a, b, n);
  return std::sqrt(out_of_range(squared, n) ? squared_distance_wide(a, b, n) : double(squared));
}

constexpr double largest_double = std::numeric_limits<double>::max();

// Whether squares and products of vectors with this norm are far from underflow and overflow.
template <class A>
inline bool norm_in_range(A norm) {
  return norm > A(1e-12) && norm < A(1e15);
}

// The mean of the centers, rounded to T: the same bits in any order of the centers. Values are added up as whole numbers
// of a unit, which is so small that the mean is as precise as a sum in double. Values that are not finite count as 0.
template <class T>
void set_mean(const Centers<T> &centers, T *mean) {
  const std::int64_t d = centers.n_features, k = centers.n_clusters;
  const int bits = 62 - int(std::bit_width(std::uint64_t(k)));  // of a value: the total of k values fits 63
  Buffer<double> scales(d);
  Buffer<std::int64_t> totals(d);
  std::fill_n(scales.data(), d, 0.0);
  std::fill_n(totals.data(), d, std::int64_t(0));
  for (std::int64_t j = 0; j < k; ++j)
    for (std::int64_t f = 0; f < d; ++f) {
      const double size = std::abs(double(centers[j][f]));
      scales.data()[f] = size > scales.data()[f] && size <= largest_double ? size : scales.data()[f];
    }
  for (std::int64_t f = 0; f < d; ++f) {
    int exponent = 0;
    std::frexp(scales.data()[f], &exponent);
    scales.data()[f] = std::ldexp(1.0, std::min(bits - exponent, 1023));
  }
  for (std::int64_t j = 0; j < k; ++j)
    for (std::int64_t f = 0; f < d; ++f) {
      const double units = double(centers[j][f]) * scales.data()[f];
      totals.data()[f] += std::abs(units) < 0x1p62 ? std::int64_t(units) : 0;
    }
  for (std::int64_t f = 0; f < d; ++f) mean[f] = T(double(totals.data()[f]) / double(k) / scales.data()[f]);
}

// Splits n centers, or vectors of centers, evenly into panels of at most `most`.
struct PanelSplit {
  PanelSplit(std::int64_t n, int most) : n(n), n_panels((n + most - 1) / most) {}

  std::int64_t first(std::int64_t panel) const { return panel * n / n_panels; }
  int size(std::int64_t panel) const { return int(first(panel + 1) - first(panel)); }

  const std::int64_t n, n_panels;
};

// Pointers to a few rows, as stored (type S) and converted to the type of the arithmetic (T). If the two are the same,
// nothing is copied. After the rows of the group come the next rows, for prefetching, or repetitions of the last one.
template <class T, class S>
class RowGroup {
 public:
  RowGroup(std::int64_t n_features, bool converts)
      : n_features_(n_features), converts_(converts), converted_(converts && !same ? group_rows * n_features : 0) {}

  void read(const Points &from, std::int64_t first, int n) {
    for (int p = 0; p < group_rows + look_ahead; ++p) {
      const std::int64_t i = std::min(first + p, from.n_rows - 1), index = from.rows == nullptr ? i : from.rows[i];
      stored[p] = static_cast<const S *>(from.data) + index * n_features_;
      if (p < n) row[p] = index;
    }
    if (!converts_) return;
    for (int p = 0; p < group_rows + look_ahead; ++p) {
      if constexpr (same) {
        points[p] = stored[p];
      } else {
        T *copy = converted_.data() + std::min(p, n - 1) * n_features_;
        if (p < n) widen(stored[p], copy, n_features_);
        points[p] = copy;
      }
    }
  }

  std::int64_t row[group_rows];
  const S *stored[group_rows + look_ahead];
  const T *points[group_rows + look_ahead];  // not set if the group does not convert

 private:
  static constexpr bool same = std::is_same_v<T, S>;

  const std::int64_t n_features_;
  const bool converts_;
  Buffer<T> converted_;
};

}  // namespace
}  // namespace eulermeans
