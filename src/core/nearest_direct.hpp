// Nearest of a few centers, with many features: plain squared distances, features in the lanes of vectors. No lane is
// padding whatever the number of centers, nothing cancels, and the distance to the nearest center needs no second look.
#pragma once

#include "nearest.hpp"

namespace eulermeans {
namespace {

// Rows and centers whose distances are held in registers: as many as leave room for the operands.
constexpr int direct_rows = many_registers ? 4 : 2, direct_centers = many_registers ? 6 : 5;
static_assert(group_rows % direct_rows == 0 && direct_rows <= look_ahead);

// distances[c * P + p] = squared distance of point p to center c of the panel. `distances` has room for whole vectors.
template <class T, int P, int C>
inline void measure(const T *const *points, const T *centers, std::int64_t n_features, bool first_panel, T *distances) {
  constexpr int step = lanes<T>;
  constexpr std::int64_t line = 64 / sizeof(T);
  Vector<T> parts[C * P];
#pragma GCC unroll 32
  for (int i = 0; i < C * P; ++i) parts[i] = Vector<T>{};
  const auto add = [&](const Vector<T>(&coordinates)[P]) {
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
    if (first_panel && f % line == 0)  // prefetch the rows of the next points
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
  for (int i = 0; i < C * P; i += step)  // unrolled so that the parts stay in registers
    store(distances + i, sums_of_lanes<lanes<T>>(parts + i, C * P - i));
}

template <class T>
class NearestDirect {
 public:
  static constexpr std::int64_t most_centers = many_registers || sizeof(T) == 4 ? 2 * direct_centers : direct_centers;
  static constexpr std::int64_t fewest_features = 64;  // with fewer, summing the lanes costs too much

  explicit NearestDirect(const Centers<T> &centers)
      : centers_(centers),
        split_(centers.n_clusters, direct_centers),
        n_vectors_((centers.n_features + lanes<T> - 1) / lanes<T>),
        packed_(centers.n_clusters * n_vectors_ * lanes<T>) {
    for (std::int64_t panel = 0; panel < split_.n_panels; ++panel)
      for (int c = 0; c < split_.size(panel); ++c)
        pack(centers[split_.first(panel) + c], split_.size(panel), data(panel) + c * lanes<T>);
  }

  static constexpr bool reads_stored = false;
  std::int64_t scratch_bytes() const { return 0; }

  void find(const T *const *points, int n_points, void *, Nearest *found) {
    T distances[most_centers * group_rows];
    for (std::int64_t panel = 0; panel < split_.n_panels; ++panel)
      measure_panel<direct_centers>(points, n_points, panel, distances);
    const std::int64_t d = centers_.n_features;
    const T relative = rounding<T>(d);  // of a sum of squares, relative to the sum
    for (int first = 0; first < n_points; first += lanes<T>) {
      Smallest<T> smallest;
      for (std::int64_t j = 0; j < centers_.n_clusters; ++j)
        smallest.see(load(distances + j * group_rows + first), Index<T>{} + typename Simd<T>::Integer(j));
      for (int p = first; p < std::min(n_points, first + lanes<T>); ++p) {
        const T nearest = smallest.best[p - first], second = smallest.second[p - first];
        const T limit = nearest * (1 + 4 * relative);
        const auto is_open = [&](std::int64_t j) { return !(distances[j * group_rows + p] > limit); };
        if (out_of_range(nearest, d))
          found[p] = compare_all(points[p], centers_, d);
        else if (!(second > limit) && centers_.n_clusters > 1)
          found[p] = compare_open(points[p], centers_, d, is_open);
        else
          found[p] = {std::int32_t(smallest.index[p - first]), nearest, second};
      }
    }
  }

 private:
  // The packed centers of a panel: the first vector of each center, then the second vector of each, and so on.
  T *data(std::int64_t panel) { return packed_.data() + split_.first(panel) * n_vectors_ * lanes<T>; }

  // The last vector ends where the row ends. Its lanes that overlap the vector before are zero.
  void pack(const T *center, int stride, T *out) const {
    const std::int64_t d = centers_.n_features, n_whole = d / lanes<T>, n_left = d % lanes<T>;
    for (std::int64_t i = 0; i < n_whole; ++i) store(out + i * stride * lanes<T>, load(center + i * lanes<T>));
    T *last = out + n_whole * stride * lanes<T>;
    for (std::int64_t l = 0; n_left > 0 && l < lanes<T>; ++l)
      last[l] = l < lanes<T> - n_left ? T(0) : center[d - lanes<T> + l];
  }

  // distances[j * group_rows + p] = squared distance of point p to center j, for the centers of the panel.
  template <int C>
  inline void measure_panel(const T *const *points, int n_points, std::int64_t panel, T *distances) {
    if constexpr (C > 1)
      if (split_.size(panel) < C) return measure_panel<C - 1>(points, n_points, panel, distances);
    for (int p = 0; p < n_points; p += direct_rows) {
      T tile[C * direct_rows + lanes<T>];
      measure<T, direct_rows, C>(points + p, data(panel), centers_.n_features, panel == 0, tile);
      for (int c = 0; c < C; ++c)
        std::copy_n(tile + c * direct_rows, direct_rows, distances + (split_.first(panel) + c) * group_rows + p);
    }
  }

  const Centers<T> centers_;
  const PanelSplit split_;
  const std::int64_t n_vectors_;
  Buffer<T> packed_;
};

}  // namespace
}  // namespace eulermeans
