// Nearest centers of points with few features: plain squared distances, points in the lanes of vectors, coordinates in
// registers.
#pragma once

#include "nearest.hpp"

namespace eulermeans {
namespace {

template <class T>
class NearestFewFeatures {
 public:
  static constexpr int most_features = sizeof(T) == 4 ? 7 : 4;  // with more, NearestColumns is faster

  NearestFewFeatures(const Centers<T> &centers, bool with_second) : centers_(centers), with_second_(with_second) {}

  static constexpr bool reads_stored = false;
  std::int64_t scratch_bytes() const { return 0; }

  // Without the second nearest, `second` is set to `nearest`.
  void find(const T *const *points, int n_points, void *, Nearest *found) { dispatch<1>(points, n_points, found); }

 private:
  static constexpr int vectors = group_rows / lanes<T> % 4 == 0 ? 4 : 3;  // of points, with distances in registers

  template <int D>
  void dispatch(const T *const *points, int n_points, Nearest *found) const {
    if (centers_.n_features == D && with_second_)
      find_with<D, true>(points, n_points, centers_, found);
    else if (centers_.n_features == D)
      find_with<D, false>(points, n_points, centers_, found);
    else if constexpr (D < most_features)
      dispatch<D + 1>(points, n_points, found);
  }

  template <int D, bool WithSecond>
  static void find_with(const T *const *points, int n_points, const Centers<T> &centers, Nearest *found) {
    T columns[D][group_rows];
    for (int p = 0; p < group_rows; ++p)
      for (int f = 0; f < D; ++f) columns[f][p] = points[p < n_points ? p : n_points - 1][f];
    for (int first = 0; first < n_points; first += vectors * lanes<T>) {
      Smallest<T> smallest[vectors];
      for (std::int64_t j = 0; j < centers.n_clusters; ++j) {
        const T *center = centers.data + j * D;
        const Index<T> where = Index<T>{} + typename Simd<T>::Integer(j);
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) {
          Vector<T> distance{};
#pragma GCC unroll 8
          for (int f = 0; f < D; ++f) {
            const Vector<T> offset = load(&columns[f][first + v * lanes<T>]) - splat(center[f]);
            distance += offset * offset;
          }
          smallest[v].template see<WithSecond>(distance, where);
        }
      }
      for (int p = first; p < std::min(n_points, first + vectors * lanes<T>); ++p) {
        const Smallest<T> &seen = smallest[(p - first) / lanes<T>];
        const int lane = (p - first) % lanes<T>;
        const double nearest = seen.best[lane], second = WithSecond ? double(seen.second[lane]) : nearest;
        found[p] = out_of_range(T(nearest), D) ? compare_all(points[p], centers, D)
                                               : Nearest{std::int32_t(seen.index[lane]), nearest, second};
      }
    }
  }

  const Centers<T> centers_;
  const bool with_second_;
};

}  // namespace
}  // namespace eulermeans
