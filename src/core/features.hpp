// The nearest centers of points with few features: the plain squared distance, with points in the vector's lanes.
#pragma once

#include "nearest.hpp"

namespace eulermeans {
namespace {

template <class T>
constexpr int few_features = sizeof(T) == 4 ? 7 : 4;  // with more, columns take less time
template <class T>
constexpr int few_vectors = group_rows / lanes<T> % 4 == 0 ? 4 : 3;  // of points, whose distances are held in registers

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
      found[p] = out_of_range(T(nearest), D) ? compare(points[p], centers, D)
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
  else if constexpr (D < few_features<T>)
    nearest_of_few_features<T, D + 1>(points, n_points, centers, n_features, second, found);
}

}  // namespace
}  // namespace eulermeans
