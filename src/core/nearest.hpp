// The nearest center of each point of a group: a matrix product in registers with the arg-min fused in where
// there are many features, the plain squared distance with points in the vector's lanes where there are few.
#pragma once

#include <algorithm>

#include "panels.hpp"

namespace eulermeans {
namespace {

constexpr int tile_rows = 6;                // points whose products are held in registers
constexpr int group_rows = 8 * tile_rows;   // points that share one trip of a panel into the near cache
constexpr int few_features = 8;
constexpr int look_ahead = tile_rows;       // rows past the end of a group whose addresses are known, to prefetch
template <class T>
constexpr int few_vectors = group_rows / lanes<T> % 4 == 0 ? 4 : 3;  // of points, whose distances are held in registers

struct Nearest {
  std::int32_t label;
  double nearest, second;  // squared distances
};

// The smallest and the second smallest key seen in each lane, and where the smallest was.
template <class T>
struct Smallest {
  using Limits = std::numeric_limits<T>;
  static constexpr T none = Limits::has_infinity ? Limits::infinity() : Limits::max();
  Vector<T> best = splat(none);
  Vector<T> second = splat(none);
  Index<T> index{};

  inline void see(Vector<T> key, Index<T> where) {
    const auto lower = key < best;
    const Vector<T> loser = lower ? best : key;
    second = loser < second ? loser : second;
    index = lower ? where : index;
    best = lower ? key : best;
  }

  inline void see_first(Vector<T> key, Index<T> where) {
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
  T total = sum_of_lanes<T>((part[0] + part[1]) + (part[2] + part[3]));
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

// products[p][v] = the products of point p with the centers of vector v of the panel.
template <class T, int P, int V>
inline void multiply(const T *const *points, const T *panel, std::int64_t n_features, bool first_panel,
                     Vector<T> (&products)[P][V]) {
  constexpr std::int64_t line = 64 / sizeof(T);
  for (int p = 0; p < P; ++p)
    for (int v = 0; v < V; ++v) products[p][v] = Vector<T>{};
  for (std::int64_t begin = 0; begin < n_features; begin += line) {
    if (first_panel)  // the rows of the next tile, on their way while this one is worked on
      for (int p = 0; p < P; ++p) __builtin_prefetch(points[P + p] + begin, 0, 2);
    const std::int64_t end = std::min(begin + line, n_features);
    for (std::int64_t f = begin; f < end; ++f) {
      Vector<T> center[V];
      for (int v = 0; v < V; ++v) center[v] = load(panel + (f * V + v) * lanes<T>);
      for (int p = 0; p < P; ++p) {
        const Vector<T> coordinate = splat(points[p][f]);
        for (int v = 0; v < V; ++v) products[p][v] += coordinate * center[v];
      }
    }
  }
}

// A key orders centers as the squared distance does: |x - c|^2 = |x|^2 + 2 key, key = |c|^2/2 - x.c.
template <class T, int P, int V>
inline void see_panel(const T *const *points, Panels<T> &panels, std::int64_t i, Smallest<T> *smallest) {
  Vector<T> products[P][V];
  multiply<T, P, V>(points, panels.panel(i), panels.n_features, i == 0, products);
  Index<T> where;
  for (int l = 0; l < lanes<T>; ++l) where[l] = i * panels.width + l;
  for (int v = 0; v < V; ++v) {
    const Vector<T> half_norm = load(panels.half_norms(i) + v * lanes<T>);
    for (int p = 0; p < P; ++p) smallest[p].see(half_norm - products[p][v], where);
    where += lanes<T>;
  }
}

// The smallest and second smallest key of a point, and the lowest index that has the smallest.
template <class T>
struct Lowest {
  T best, second;
  std::int64_t index;
};

template <class T>
inline Lowest<T> across_lanes(const Smallest<T> &smallest) {
  const Vector<T> best = min_of_lanes<T>(smallest.best);
  const Index<T> none = Index<T>{} + std::numeric_limits<typename Simd<T>::Integer>::max();
  const Index<T> index = min_of_lanes<T>(smallest.best == best ? smallest.index : none);
  // The lane that won offers its second, every other its best.
  const auto won = (smallest.best == best) & (smallest.index == index);
  const Vector<T> second = min_of_lanes<T>(won ? smallest.second : smallest.best);
  const std::int64_t where = index[0] == none[0] ? 0 : std::int64_t(index[0]);  // no key was a number
  return {best[0], second[0], where};
}

template <class T>
void lowest_by_panels(const T *const *points, int n_points, Panels<T> &panels, Lowest<T> *lowest) {
  Smallest<T> smallest[group_rows];
  for (std::int64_t i = 0; i < panels.n_panels; ++i) {
    for (int p = 0; p < n_points; p += tile_rows) {
      if (panels.vectors(i) == 2)
        see_panel<T, tile_rows, 2>(points + p, panels, i, smallest + p);
      else
        see_panel<T, tile_rows, 1>(points + p, panels, i, smallest + p);
    }
  }
  for (int p = 0; p < n_points; ++p) lowest[p] = across_lanes(smallest[p]);
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

// The plain comparison in double, over all centers or over those whose key is at most `limit`.
// A key that is no number does not rule its center out.
template <class T>
Nearest compare(const T *point, const Centers<T> &centers, std::int64_t n_features, const T *keys, T limit) {
  Nearest found{0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  for (std::int64_t j = 0; j < centers.n_clusters; ++j) {
    if (keys != nullptr && keys[j] > limit) continue;
    keep_nearest(found, j, squared_distance_wide(point, centers.data + j * n_features, n_features));
  }
  return found;
}

// Where rounding leaves the order of the keys open: the centers within the margin of it, compared in double.
template <class T>
Nearest decide(const T *point, const T *moved, Panels<T> &panels, const Centers<T> &centers, T margin, T *keys) {
  T lowest = std::numeric_limits<T>::infinity();
  for (std::int64_t i = 0; i < panels.n_panels; ++i) {
    for (int v = 0; v < panels.vectors(i); ++v) {
      Vector<T> product{};
      for (std::int64_t f = 0; f < panels.n_features; ++f)
        product += moved[f] * load(panels.panel(i) + (f * panels.vectors(i) + v) * lanes<T>);
      store(keys + i * panels.width + v * lanes<T>, load(panels.half_norms(i) + v * lanes<T>) - product);
    }
  }
  for (std::int64_t j = 0; j < panels.n_clusters; ++j) lowest = keys[j] < lowest ? keys[j] : lowest;
  return compare(point, centers, panels.n_features, keys, lowest + 4 * margin);
}

// Squared distances this small or large have lost digits, or all, to underflow and overflow.
template <class T>
inline bool out_of_range(T distance, std::int64_t n_features) {
  using Limits = std::numeric_limits<T>;
  return !(distance > T(n_features) * (Limits::min() / Limits::epsilon()) && distance < Limits::max());
}

// points: the coordinates as stored; moved: less the panels' shift. The two are the same rows where there is none.
template <class T>
void nearest_by_product(const T *const *points, const T *const *moved, int n_points, Panels<T> &panels,
                        const Centers<T> &centers, T *keys, Nearest *found) {
  Lowest<T> lowest[group_rows];
  if (panels.n_clusters == 1)
    std::fill_n(lowest, n_points, Lowest<T>{0, std::numeric_limits<T>::infinity(), 0});
  else
    lowest_by_panels<T>(moved, n_points, panels, lowest);

  // Rounding of a product of n terms, by the probabilistic bound of Higham and Mary (2019) with lambda = 6.
  const T unit = std::numeric_limits<T>::epsilon() / 2;
  const T relative = unit * (T(6) * std::sqrt(T(panels.n_features)) + T(8));
  const T absolute = T(panels.n_features) * std::numeric_limits<T>::min();
  for (int p = 0; p < n_points; ++p) {
    const Lowest<T> &low = lowest[p];
    const T nearest = squared_distance(points[p], centers.data + low.index * panels.n_features, panels.n_features);
    const T reach = std::sqrt(nearest) + panels.largest_norm;  // at least |x|, by the triangle inequality
    const T margin = relative * panels.largest_norm * (reach + panels.largest_norm) + absolute;
    const T gap = low.second - low.best;
    if (!(gap > 2 * margin) && panels.n_clusters > 1) {
      found[p] = decide(points[p], moved[p], panels, centers, margin, keys);
    } else {
      const double exact = out_of_range(nearest, panels.n_features)
                               ? squared_distance_wide(points[p], centers.data + low.index * panels.n_features,
                                                       panels.n_features)
                               : double(nearest);
      found[p] = {std::int32_t(low.index), exact, exact + 2 * double(gap)};
    }
  }
}

// With D features the columns of a few vectors of points stay in registers. The second nearest is left out (and
// given as the nearest) where nobody asks for it.
template <class T, int D, bool Second>
void nearest_of_features(const T *const *points, int n_points, const Centers<T> &centers, Nearest *found) {
  T columns[D][group_rows];
  for (int p = 0; p < group_rows; ++p)
    for (int f = 0; f < D; ++f) columns[f][p] = points[p < n_points ? p : n_points - 1][f];
  for (int first = 0; first < n_points; first += few_vectors<T> * lanes<T>) {
    Smallest<T> smallest[few_vectors<T>];
    for (std::int64_t j = 0; j < centers.n_clusters; ++j) {
      const T *center = centers.data + j * D;
      const Index<T> where = Index<T>{} + typename Simd<T>::Integer(j);
#pragma GCC unroll 4
      for (int v = 0; v < few_vectors<T>; ++v) {
        Vector<T> distance{};
#pragma GCC unroll 8
        for (int f = 0; f < D; ++f) {
          const Vector<T> offset = load(&columns[f][first + v * lanes<T>]) - splat(center[f]);
          distance += offset * offset;
        }
        if constexpr (Second)
          smallest[v].see(distance, where);
        else
          smallest[v].see_first(distance, where);
      }
    }
    for (int p = first; p < std::min(n_points, first + few_vectors<T> * lanes<T>); ++p) {
      const Smallest<T> &seen = smallest[(p - first) / lanes<T>];
      const int lane = (p - first) % lanes<T>;
      const double nearest = seen.best[lane], second = Second ? double(seen.second[lane]) : nearest;
      found[p] = out_of_range(T(nearest), D) ? compare<T>(points[p], centers, D, nullptr, 0)
                                             : Nearest{std::int32_t(seen.index[lane]), nearest, second};
    }
  }
}

template <class T, int D = 1>
void nearest_of_few_features(const T *const *points, int n_points, const Centers<T> &centers, int n_features,
                             bool second, Nearest *found) {
  if (n_features == D && second)
    nearest_of_features<T, D, true>(points, n_points, centers, found);
  else if (n_features == D)
    nearest_of_features<T, D, false>(points, n_points, centers, found);
  else if constexpr (D < few_features)
    nearest_of_few_features<T, D + 1>(points, n_points, centers, n_features, second, found);
}

}  // namespace
}  // namespace eulermeans
