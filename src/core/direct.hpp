// The nearest of a few centers where there are many features: every squared distance, with features in the vector's
// lanes. Whatever the number of centers, no lane is padding; nothing cancels; and the distance to the nearest center
// is there without another look at it.
#pragma once

#include "nearest.hpp"

namespace eulermeans {
namespace {

// Points and centers whose distances are held in registers: as many as leave room for what they are made from.
constexpr int direct_rows = many_registers ? 4 : 2, direct_centers = many_registers ? 6 : 5;
template <class T>  // with more, products are cheaper
constexpr std::int64_t few_centers = many_registers || sizeof(T) == 4 ? 2 * direct_centers : direct_centers;
constexpr std::int64_t many_features = 64;  // with fewer, adding up the lanes costs too much
static_assert(group_rows % direct_rows == 0 && direct_rows <= look_ahead);

template <class T>
constexpr bool measured_directly(std::int64_t n_features, std::int64_t n_clusters) {
  return n_clusters <= few_centers<T> && n_features >= many_features;
}

// The centers in turns of a few, in each of which a vector of the first is followed by one of the second, and so on.
// The last vector of a row ends where the row does: its lanes that the one before has already are zero.
template <class T>
class Turns : public InTurns {
 public:
  Turns(const Centers<T> &centers, std::int64_t n_features)
      : InTurns(centers.n_clusters, direct_centers),
        n_vectors_((n_features + lanes<T> - 1) / lanes<T>),
        packed_(centers.n_clusters * n_vectors_ * lanes<T>) {
    for (std::int64_t turn = 0; turn < n_turns; ++turn)
      for (int c = 0; c < size(turn); ++c)
        pack(centers.data + (first(turn) + c) * n_features, n_features, size(turn), data(turn) + c * lanes<T>);
  }

  T *data(std::int64_t turn) { return packed_.data() + first(turn) * n_vectors_ * lanes<T>; }

 private:
  void pack(const T *center, std::int64_t n_features, int stride, T *out) const {
    const std::int64_t n_whole = n_features / lanes<T>, n_left = n_features % lanes<T>;
    for (std::int64_t i = 0; i < n_whole; ++i) store(out + i * stride * lanes<T>, load(center + i * lanes<T>));
    T *last = out + n_whole * stride * lanes<T>;
    for (std::int64_t l = 0; n_left > 0 && l < lanes<T>; ++l)
      last[l] = l < lanes<T> - n_left ? T(0) : center[n_features - lanes<T> + l];
  }

  const std::int64_t n_vectors_;
  Buffer<T> packed_;
};

// distances[c * P + p] = the squared distance of point p to center c of the turn. There is room for whole vectors.
template <class T, int P, int C>
inline void measure(const T *const *points, const T *centers, std::int64_t n_features, bool first_turn,
                    T *distances) {
  constexpr int step = lanes<T>;
  constexpr std::int64_t line = 64 / sizeof(T);
  Vector<T> parts[C * P];
#pragma GCC unroll 32
  for (int i = 0; i < C * P; ++i) parts[i] = Vector<T>{};
  const auto add = [&](const Vector<T> (&coordinates)[P]) {
    for (int c = 0; c < C; ++c) {
      const Vector<T> center = load(centers + c * step);
      for (int p = 0; p < P; ++p) {
        const Vector<T> offset = coordinates[p] - center;
        parts[c * P + p] += offset * offset;
      }
    }
    centers += C * step;
  };
  Vector<T> coordinates[P];
  std::int64_t f = 0;
  for (; f + step <= n_features; f += step) {
    if (first_turn && f % line == 0)  // the rows of the next points, on their way while these are worked on
      for (int p = 0; p < P; ++p) __builtin_prefetch(points[P + p] + f, 0, 2);
    for (int p = 0; p < P; ++p) coordinates[p] = load(points[p] + f);
    add(coordinates);
  }
  if (f < n_features) {
    Index<T> lane;
    for (int i = 0; i < step; ++i) lane[i] = i;
    const auto rest = lane >= Index<T>{} + typename Simd<T>::Integer(step - (n_features - f));
    for (int p = 0; p < P; ++p) coordinates[p] = rest ? load(points[p] + n_features - step) : Vector<T>{};
    add(coordinates);
  }
#pragma GCC unroll 16
  for (int i = 0; i < C * P; i += step)  // unrolled, or the parts would not stay in registers
    store(distances + i, sums_of_lanes<lanes<T>>(parts + i, C * P - i));
}

// Fills in the distances of one turn's centers: to all points of a group, center after center.
template <class T, int C = direct_centers>
inline void measure_turn(const T *const *points, int n_points, Turns<T> &turns, std::int64_t turn,
                         std::int64_t n_features, T *distances) {
  if constexpr (C > 1)
    if (turns.size(turn) < C) return measure_turn<T, C - 1>(points, n_points, turns, turn, n_features, distances);
  for (int p = 0; p < n_points; p += direct_rows) {
    T tile[C * direct_rows + lanes<T>];
    measure<T, direct_rows, C>(points + p, turns.data(turn), n_features, turn == 0, tile);
    for (int c = 0; c < C; ++c)
      std::copy_n(tile + c * direct_rows, direct_rows, distances + (turns.first(turn) + c) * group_rows + p);
  }
}

// The centers whose distance rounding leaves open, compared in double.
template <class T>
Nearest settle(const T *point, const Centers<T> &centers, std::int64_t n_features, const T *distances, T limit) {
  Nearest found = nothing_yet;
  for (std::int64_t j = 0; j < centers.n_clusters; ++j)
    if (!(distances[j * group_rows] > limit))
      keep_nearest(found, j, squared_distance_wide(point, centers.data + j * n_features, n_features));
  return found;
}

template <class T>
void nearest_directly(const T *const *points, int n_points, const Centers<T> &centers, Turns<T> &turns,
                      std::int64_t n_features, Nearest *found) {
  T distances[few_centers<T> * group_rows];
  for (std::int64_t turn = 0; turn < turns.n_turns; ++turn)
    measure_turn<T>(points, n_points, turns, turn, n_features, distances);
  const T relative = rounding<T>(n_features);  // of a sum of squares, relative to the sum
  for (int first = 0; first < n_points; first += lanes<T>) {
    Smallest<T> smallest;
    for (std::int64_t j = 0; j < centers.n_clusters; ++j)
      smallest.see(load(distances + j * group_rows + first), Index<T>{} + typename Simd<T>::Integer(j));
    for (int p = first; p < std::min(n_points, first + lanes<T>); ++p) {
      const T nearest = smallest.best[p - first], second = smallest.second[p - first];
      if (out_of_range(nearest, n_features))
        found[p] = compare(points[p], centers, n_features);
      else if (!(second > nearest * (1 + 4 * relative)) && centers.n_clusters > 1)
        found[p] = settle(points[p], centers, n_features, distances + p, nearest * (1 + 4 * relative));
      else
        found[p] = {std::int32_t(smallest.index[p - first]), nearest, second};
    }
  }
}

}  // namespace
}  // namespace eulermeans
