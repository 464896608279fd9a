// The nearest centers of points with a moderate number of features: every squared distance, with points in the vector's
// lanes. Nothing cancels, no lane is padding, and nothing need be compared across lanes. Distances may be computed in
// less precision than the points have: where rounding leaves their order open, distances in double decide.
#pragma once

#include "nearest.hpp"

namespace eulermeans {
namespace {

// Vectors of points, and centers, whose distances are held in registers.
constexpr int column_vectors = 3, column_centers = many_registers ? 6 : 3;
template <class A>
constexpr int column_rows = column_vectors * lanes<A>;
static_assert(group_rows % column_rows<float> == 0 && group_rows % column_rows<double> == 0);

// With more, the products are cheaper: they cost more a point, but less a center.
constexpr bool measured_by_columns(std::int64_t n_features, std::int64_t n_clusters) {
  return n_features <= 128 && n_features * n_clusters < 4096;
}

// The centers as A in turns of a few, in each of which the first feature of all is followed by the second, and so on.
// If A is narrower than T they are less their mean: what is lost by rounding is relative to what is left.
template <class T, class A>
class Interleaved : public InTurns {
 public:
  Interleaved(const Centers<T> &centers, std::int64_t n_features)
      : InTurns(centers.n_clusters, column_centers),
        n_features(n_features),
        packed_(centers.n_clusters * n_features),
        shift_(n_features) {
    std::fill_n(shift_.data(), n_features, T(0));
    if (narrowed) set_mean(centers, shift_.data(), n_features);
    for (std::int64_t turn = 0; turn < n_turns; ++turn)
      for (int c = 0; c < size(turn); ++c) pack(centers.data + (first(turn) + c) * n_features, turn, c);
  }

  static constexpr bool narrowed = !std::is_same_v<T, A>;

  A *data(std::int64_t turn) { return packed_.data() + first(turn) * n_features; }
  const T *shift() { return shift_.data(); }

  const std::int64_t n_features;
  A largest_norm = 0;

 private:
  void pack(const T *center, std::int64_t turn, int c) {
    double norm = 0;
    for (std::int64_t f = 0; f < n_features; ++f) {
      const A value = A(center[f] - shift_.data()[f]);
      data(turn)[f * size(turn) + c] = value;
      norm += double(value) * double(value);
    }
    largest_norm = std::max(largest_norm, A(std::sqrt(norm)));
  }

  Buffer<A> packed_;
  Buffer<T> shift_;
};

// columns[f * group_rows + p] = feature f of point p less the shift; past the end, of the last point.
template <class T, class A>
inline void set_columns(const T *const *points, int n_points, int n_padded, const T *shift, std::int64_t n_features,
                        A *columns) {
  constexpr int n = lanes<A>, bytes = n * int(sizeof(T));
  for (int first = 0; first < n_padded; first += n) {
    const T *point[n];
    for (int i = 0; i < n; ++i) point[i] = points[std::min(first + i, n_points - 1)];
    std::int64_t f = 0;
    for (; f + n <= n_features; f += n) {
      Vector<A> rows[n];
#pragma GCC unroll 16
      for (int i = 0; i < n; ++i)
        rows[i] = __builtin_convertvector(load<bytes>(point[i] + f) - load<bytes>(shift + f), Vector<A>);
      transpose(rows);
#pragma GCC unroll 16
      for (int i = 0; i < n; ++i) store(columns + (f + i) * group_rows + first, rows[i]);
    }
    for (; f < n_features; ++f)
      for (int i = 0; i < n; ++i) columns[f * group_rows + first + i] = A(point[i][f] - shift[f]);
  }
}

// Calls see(j, distances) for each center j, in order, with its squared distances to the points of a few columns.
template <int C = column_centers, class T, class A, class See>
inline void measure_columns(const A *columns, Interleaved<T, A> &centers, std::int64_t turn, const See &see) {
  if constexpr (C > 1)
    if (centers.size(turn) < C) return measure_columns<C - 1>(columns, centers, turn, see);
  const A *center = centers.data(turn);
  Vector<A> distances[C][column_vectors];
  for (int c = 0; c < C; ++c)
    for (int v = 0; v < column_vectors; ++v) distances[c][v] = Vector<A>{};
  for (std::int64_t f = 0; f < centers.n_features; ++f, center += C) {
    Vector<A> column[column_vectors];
    for (int v = 0; v < column_vectors; ++v) column[v] = load(columns + f * group_rows + v * lanes<A>);
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) {
      for (int v = 0; v < column_vectors; ++v) {
        const Vector<A> offset = column[v] - splat(center[c]);
        distances[c][v] += offset * offset;
      }
    }
  }
#pragma GCC unroll 8
  for (int c = 0; c < C; ++c) see(centers.first(turn) + c, distances[c]);
}

// What a search among columns has found of the points of a group.
template <class A>
struct Columns {
  A nearest[group_rows], second[group_rows];  // squared distances, rounded
  typename Simd<A>::Integer label[group_rows];
  A limit[group_rows];  // squared distances above are larger than the smallest, whatever rounding did to both
};

template <class T, class A>
inline void see_columns(const A *columns, Interleaved<T, A> &centers, int first, Columns<A> &seen) {
  Smallest<A> smallest[column_vectors];
  for (std::int64_t turn = 0; turn < centers.n_turns; ++turn) {
    measure_columns(columns + first, centers, turn, [&](std::int64_t j, const Vector<A> *distances) {
      const Index<A> where = Index<A>{} + typename Simd<A>::Integer(j);
      for (int v = 0; v < column_vectors; ++v) smallest[v].see(distances[v], where);
    });
  }
  for (int v = 0; v < column_vectors; ++v) {
    store(seen.nearest + first + v * lanes<A>, smallest[v].best);
    store(seen.second + first + v * lanes<A>, smallest[v].second);
    store(seen.label + first + v * lanes<A>, smallest[v].index);
  }
}

// Of the points whose second distance is not above their limit, the centers that may be nearest, compared in double.
template <class T, class A>
void decide_columns(const T *const *points, const A *columns, Interleaved<T, A> &turns, const Centers<T> &centers,
                    int first, int end, const Columns<A> &seen, Nearest *found) {
  const std::int64_t d = turns.n_features;
  bool open[column_rows<A>] = {};
  for (int p = first; p < end; ++p) {
    open[p - first] = !(seen.second[p] > seen.limit[p]);
    if (open[p - first]) found[p] = nothing_yet;
  }
  for (std::int64_t turn = 0; turn < turns.n_turns; ++turn) {
    measure_columns(columns + first, turns, turn, [&](std::int64_t j, const Vector<A> *distances) {
      for (int i = 0; i < end - first; ++i)
        if (open[i] && !(distances[i / lanes<A>][i % lanes<A>] > seen.limit[first + i]))
          keep_nearest(found[first + i], j, squared_distance_wide(points[first + i], centers.data + j * d, d));
    });
  }
}

// columns: room for the coordinates of a group. If A is narrower than T, the second squared distance is at most that.
template <class T, class A>
void nearest_by_columns(const T *const *points, int n_points, Interleaved<T, A> &turns, const Centers<T> &centers,
                        A *columns, Nearest *found) {
  const std::int64_t d = turns.n_features;
  const int n_padded = (n_points + column_rows<A> - 1) / column_rows<A> * column_rows<A>;
  set_columns(points, n_points, n_padded, turns.shift(), d, columns);
  Columns<A> seen;
  for (int first = 0; first < n_padded; first += column_rows<A>) see_columns(columns, turns, first, seen);

  // Rounding of a sum of squares is relative to the sum. In a distance, what the narrower coordinates of point and center
  // have lost comes on top.
  const A relative = rounding<A>(d), smallest = smallest_in_range<A>(d);
  const A lost = turns.narrowed ? 2 * unit<A> : 0, norm = turns.largest_norm;
  for (int p = 0; p < n_padded; ++p) {
    const A distance = std::sqrt(seen.nearest[p]);
    const A farthest = distance * (1 + 4 * relative) + 2 * lost * (distance + 2 * norm);
    seen.limit[p] = std::max(farthest * farthest, smallest);
  }
  for (int first = 0; first < n_points; first += column_rows<A>) {
    const int end = std::min(first + column_rows<A>, n_points);
    bool all_decided = true;
    for (int p = first; p < end; ++p) {
      if (!(seen.second[p] > seen.limit[p])) {
        all_decided = false;
        continue;
      }
      const T *center = centers.data + seen.label[p] * d;
      double nearest = seen.nearest[p], second = seen.second[p];
      if (turns.narrowed) {
        const double loss = lost * (std::sqrt(nearest) + 2 * norm), least = std::sqrt(second) * (1 - relative) - loss;
        nearest = squared_distance(points[p], center, d);
        second = std::max(nearest, least * least);
      }
      if (out_of_range(T(nearest), d)) nearest = squared_distance_wide(points[p], center, d);
      found[p] = {std::int32_t(seen.label[p]), nearest, second};
    }
    if (!all_decided) decide_columns(points, columns, turns, centers, first, end, seen, found);
  }
}

}  // namespace
}  // namespace eulermeans
