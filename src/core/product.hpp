// The nearest centers of points with many features: a matrix product in registers, with the arg-min fused in.
//
// A key orders centers as the squared distance does: |x - c|^2 = |x|^2 + 2 key, key = |c|^2/2 - x.c. Keys may be
// computed in less precision than the points have: where rounding leaves their order open, distances in double decide.
#pragma once

#include "panels.hpp"

namespace eulermeans {
namespace {

// products[p][v] = the products of point p with the centers of vector v of the panel. Not inlined: among all that is
// around it the compiler does not keep the rows' addresses in registers.
template <int B, class A, int P, int V>
[[gnu::noinline]] void multiply(const A *const *points, const A *panel, std::int64_t n_features, bool first_panel,
                                Vector<A, B> (&products)[P][V]) {
  constexpr std::int64_t line = 64 / sizeof(A);
  Vector<A, B> sums[P][V] = {};
  for (std::int64_t begin = 0; begin < n_features; begin += line) {
    if (first_panel)  // the rows of the next tile, on their way while this one is worked on
      for (int p = 0; p < P; ++p) __builtin_prefetch(points[P + p] + begin, 0, 2);
    const std::int64_t end = std::min(begin + line, n_features);
    for (std::int64_t f = begin; f < end; ++f) {
      Vector<A, B> center[V];
      for (int v = 0; v < V; ++v) center[v] = load<B>(panel + (f * V + v) * lanes<A, B>);
      for (int p = 0; p < P; ++p) {
        const Vector<A, B> coordinate = splat<B>(points[p][f]);
        for (int v = 0; v < V; ++v) sums[p][v] += coordinate * center[v];
      }
    }
  }
  for (int p = 0; p < P; ++p)
    for (int v = 0; v < V; ++v) products[p][v] = sums[p][v];
}

template <int V, class T, class A, int B>
inline void see_panel(const A *const *points, int n_points, Panels<T, A, B> &panels, std::int64_t i,
                      Smallest<A, B> *smallest) {
  if constexpr (V > 1)
    if (panels.vectors(i) < V) return see_panel<V - 1>(points, n_points, panels, i, smallest);
  for (int first = 0; first < n_points; first += tile_rows) {
    Vector<A, B> products[tile_rows][V];
    multiply<B>(points + first, panels.panel(i), panels.n_features, i == 0, products);
    Index<A, B> where;
    for (int l = 0; l < lanes<A, B>; ++l) where[l] = panels.first_vector(i) * lanes<A, B> + l;
    for (int v = 0; v < V; ++v) {
      const Vector<A, B> half_norm = load<B>(panels.half_norms(panels.first_vector(i) + v));
      for (int p = 0; p < tile_rows; ++p) smallest[first + p].see(half_norm - products[p][v], where);
      where += lanes<A, B>;
    }
  }
}

template <class T, class A, int B>
inline void see_rest(const A *const *points, int n_points, Panels<T, A, B> &panels, Smallest<A, B> *smallest) {
  constexpr int half = vector_bytes;
  const Vector<A, half> half_norm = load<half>(panels.half_norms(panels.n_vectors));
  Index<A, B> where;
  for (int l = 0; l < lanes<A, B>; ++l) where[l] = panels.n_vectors * lanes<A, B> + l;
  for (int first = 0; first < n_points; first += 2 * tile_rows) {
    Vector<A, half> products[2 * tile_rows][1];
    multiply<half>(points + first, panels.rest(), panels.n_features, false, products);
    for (int p = 0; p < 2 * tile_rows; ++p) {
      Vector<A, B> key = splat<B>(std::numeric_limits<A>::infinity());
      const Vector<A, half> low = half_norm - products[p][0];
      std::memcpy(&key, &low, sizeof low);
      smallest[first + p].see(key, where);
    }
  }
}

// The keys of one point and the centers of a panel.
template <int B, int V = panel_vectors, class A>
inline void set_keys(const A *point, const A *panel, int n_vectors, std::int64_t n_features, const A *half_norms,
                     A *keys) {
  if constexpr (V > 1)
    if (n_vectors < V) return set_keys<B, V - 1>(point, panel, n_vectors, n_features, half_norms, keys);
  Vector<A, B> products[1][V];
  multiply<B>(&point, panel, n_features, false, products);
  for (int v = 0; v < V; ++v)
    store(keys + v * lanes<A, B>, load<B>(half_norms + v * lanes<A, B>) - products[0][v]);
}

// The centers within the margin of the lowest key, compared in double. A key that is no number rules no center out.
template <class T, class A, int B>
Nearest decide(const T *point, const A *moved, Panels<T, A, B> &panels, const Centers<T> &centers, A margin, A *keys) {
  const std::int64_t d = panels.n_features;
  for (std::int64_t i = 0; i < panels.n_panels; ++i) {
    const std::int64_t first = panels.first_vector(i);
    set_keys<B>(moved, panels.panel(i), panels.vectors(i), d, panels.half_norms(first), keys + first * lanes<A, B>);
  }
  if (panels.has_rest)
    set_keys<vector_bytes>(moved, panels.rest(), 1, d, panels.half_norms(panels.n_vectors),
                           keys + panels.n_vectors * lanes<A, B>);
  A lowest = std::numeric_limits<A>::infinity();
  for (std::int64_t j = 0; j < panels.n_clusters; ++j) lowest = keys[j] < lowest ? keys[j] : lowest;
  Nearest found = nothing_yet;
  for (std::int64_t j = 0; j < panels.n_clusters; ++j)
    if (!(keys[j] > lowest + 4 * margin))
      keep_nearest(found, j, squared_distance_wide(point, centers.data + j * d, d));
  return found;
}

// points: the coordinates as stored; moved: less the panels' shift, as A. The two are the same rows where there is none.
// If A is narrower than T, the second squared distance is not the distance itself but at most that.
template <class T, class A, int B>
void nearest_by_product(const T *const *points, const A *const *moved, int n_points, Panels<T, A, B> &panels,
                        const Centers<T> &centers, A *keys, Nearest *found) {
  constexpr bool narrowed = !std::is_same_v<T, A>;
  Smallest<A, B> smallest[group_rows];
  for (std::int64_t i = 0; panels.n_clusters > 1 && i < panels.n_panels; ++i)
    see_panel<panel_vectors>(moved, n_points, panels, i, smallest);
  if constexpr (Panels<T, A, B>::has_half)
    if (panels.has_rest) see_rest(moved, n_points, panels, smallest);

  const A relative = rounding<A>(panels.n_features) + (narrowed ? 2 * unit<A> : 0);
  const A absolute = A(panels.n_features) * std::numeric_limits<A>::min();
  const Lowest<A> only{0, std::numeric_limits<A>::infinity(), 0};
  for (int p = 0; p < n_points; ++p) {
    const Lowest<A> low = panels.n_clusters > 1 ? across_lanes(smallest[p]) : only;
    const T *center = centers.data + low.index * panels.n_features;
    const T nearest = squared_distance(points[p], center, panels.n_features);
    const A reach = A(std::sqrt(nearest)) + panels.largest_norm;  // at least |x|, by the triangle inequality
    const A margin = relative * panels.largest_norm * (reach + panels.largest_norm) + absolute;
    const A gap = low.second - low.best;
    if (!(gap > 2 * margin && gap <= std::numeric_limits<A>::max()) && panels.n_clusters > 1) {
      found[p] = decide(points[p], moved[p], panels, centers, margin, keys);
    } else {
      const double exact = out_of_range(nearest, panels.n_features)
                               ? squared_distance_wide(points[p], center, panels.n_features)
                               : double(nearest);
      found[p] = {std::int32_t(low.index), exact, exact + 2 * double(narrowed ? gap - 2 * margin : gap)};
    }
  }
}

}  // namespace
}  // namespace eulermeans
