// What every way to find the nearest center of a point is made from.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "buffer.hpp"
#include "kernels.hpp"
#include "simd.hpp"

namespace eulermeans {
namespace {

constexpr int tile_rows = 6;                // points whose products are held in registers
constexpr int group_rows = 8 * tile_rows;   // points that share one trip of a panel into the near cache
constexpr int look_ahead = tile_rows;       // rows past the end of a group whose addresses are known, to prefetch

struct Nearest {
  std::int32_t label;
  double nearest, second;  // squared distances
};
constexpr Nearest nothing_yet{0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};

// Centers in turns of at most so many, shared out evenly.
class InTurns {
 public:
  InTurns(std::int64_t n_clusters, int most) : n_turns((n_clusters + most - 1) / most), n_clusters_(n_clusters) {}

  std::int64_t first(std::int64_t turn) const { return turn * n_clusters_ / n_turns; }
  int size(std::int64_t turn) const { return int(first(turn + 1) - first(turn)); }

  const std::int64_t n_turns;

 private:
  const std::int64_t n_clusters_;
};

// The smallest and the second smallest key seen in each lane, and where the smallest was.
template <class T, int B = vector_bytes>
struct Smallest {
  using Limits = std::numeric_limits<T>;
  static constexpr T none = Limits::has_infinity ? Limits::infinity() : Limits::max();
  Vector<T, B> best = splat<B>(none);
  Vector<T, B> second = splat<B>(none);
  Index<T, B> index{};

  inline void see(Vector<T, B> key, Index<T, B> where) {
    const auto lower = key < best;
    const Vector<T, B> loser = lower ? best : key;
    second = loser < second ? loser : second;
    index = lower ? where : index;
    best = lower ? key : best;
  }

  inline void see_first(Vector<T, B> key, Index<T, B> where) {
    const auto lower = key < best;
    index = lower ? where : index;
    best = lower ? key : best;
  }
};

template <class T>
inline T squared_distance(const T *a, const T *b, std::int64_t n) {
  Vector<T> part[4] = {};
  std::int64_t f = 0;
  for (; f + 4 * lanes<T> <= n; f += 4 * lanes<T>) {
    for (int i = 0; i < 4; ++i) {
      const Vector<T> offset = load(a + f + i * lanes<T>) - load(b + f + i * lanes<T>);
      part[i] += offset * offset;
    }
  }
  for (; f + lanes<T> <= n; f += lanes<T>) {
    const Vector<T> offset = load(a + f) - load(b + f);
    part[0] += offset * offset;
  }
  T total = sum_of_lanes((part[0] + part[1]) + (part[2] + part[3]));
  for (; f < n; ++f) total += (a[f] - b[f]) * (a[f] - b[f]);
  return total;
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

// The smallest and second smallest key of a point, and the lowest index that has the smallest.
template <class T>
struct Lowest {
  T best, second;
  std::int64_t index;
};

template <class T, int B>
inline Lowest<T> across_lanes(const Smallest<T, B> &smallest) {
  const Vector<T, B> best = min_of_lanes(smallest.best);
  const Index<T, B> none = Index<T, B>{} + std::numeric_limits<typename Simd<T>::Integer>::max();
  const Index<T, B> index = min_of_lanes(smallest.best == best ? smallest.index : none);
  // The lane that won offers its second, every other its best.
  const auto won = (smallest.best == best) & (smallest.index == index);
  const Vector<T, B> second = min_of_lanes(won ? smallest.second : smallest.best);
  const std::int64_t where = index[0] == none[0] ? 0 : std::int64_t(index[0]);  // no key was a number
  return {best[0], second[0], where};
}

// Centers are shown in order, so that of equal ones the first is kept.
inline void keep_nearest(Nearest &found, std::int64_t j, double distance) {
  if (distance < found.nearest) {
    found.second = found.nearest;
    found.nearest = distance;
    found.label = std::int32_t(j);
  } else if (distance < found.second) {
    found.second = distance;
  }
}

// The plain comparison of all centers, in double.
template <class T>
Nearest compare(const T *point, const Centers<T> &centers, std::int64_t n_features) {
  Nearest found = nothing_yet;
  for (std::int64_t j = 0; j < centers.n_clusters; ++j)
    keep_nearest(found, j, squared_distance_wide(point, centers.data + j * n_features, n_features));
  return found;
}

template <class T>
constexpr T unit = std::numeric_limits<T>::epsilon() / 2;

// What rounding may change a product or a sum of squares of n terms by, relative to the sum of their absolute values:
// the probabilistic bound of Higham and Mary (2019) with lambda = 6.
template <class T>
inline T rounding(std::int64_t n) {
  return unit<T> * (T(6) * std::sqrt(T(n)) + T(8));
}

// Squared distances smaller than this, or as large as the type holds, have lost digits, or all, to underflow and overflow.
template <class T>
inline T smallest_in_range(std::int64_t n_features) {
  return T(n_features) * (std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon());
}

template <class T>
inline bool out_of_range(T distance, std::int64_t n_features) {
  return !(distance > smallest_in_range<T>(n_features) && distance < std::numeric_limits<T>::max());
}

// The mean of the centers, as near as T has it.
template <class T>
void set_mean(const Centers<T> &centers, T *mean, std::int64_t n_features) {
  for (std::int64_t f = 0; f < n_features; ++f) {
    double total = 0;
    for (std::int64_t j = 0; j < centers.n_clusters; ++j) total += centers.data[j * n_features + f];
    mean[f] = T(total / double(centers.n_clusters));
  }
}

}  // namespace
}  // namespace eulermeans
