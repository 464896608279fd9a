// Nearest centers of points with a moderate number of features: plain squared distances, points in the lanes of
// vectors. Nothing cancels, no lane is padding, and no comparison across lanes is needed. Distances may be computed in
// less precision than the points have (A narrower than T); where rounding leaves the order open, double decides.
#pragma once

#include "nearest.hpp"

namespace eulermeans {
namespace {

// Vectors of points, and centers, whose distances are held in registers.
constexpr int column_vectors = 3, column_centers = many_registers ? 6 : 3;
template <class A>
constexpr int column_rows = column_vectors * lanes<A>;
static_assert(group_rows % column_rows<float> == 0 && group_rows % column_rows<double> == 0);

// columns[f * group_rows + p] = feature f of point p minus the shift. Columns after n_points repeat the last point.
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

template <class T, class A>
class NearestColumns {
 public:
  // With more, NearestProduct is faster: it costs more per point, but less per center.
  static constexpr bool suits(const Centers<T> &centers) {
    return centers.n_features <= 128 && centers.n_features * centers.n_clusters < 4096;
  }

  // If A is narrower than T, the mean of the centers is subtracted, so that rounding is relative to what remains.
  explicit NearestColumns(const Centers<T> &centers)
      : centers_(centers),
        n_features_(centers.n_features),
        split_(centers.n_clusters, column_centers),
        packed_(centers.n_clusters * n_features_),
        norms_(centers.n_clusters),
        shift_(n_features_) {
    std::fill_n(shift_.data(), n_features_, T(0));
    if (narrowed) set_mean(centers, shift_.data());
    for (std::int64_t panel = 0; panel < split_.n_panels; ++panel)
      for (int c = 0; c < split_.size(panel); ++c) pack(split_.first(panel) + c, panel, c);
  }

  static constexpr bool reads_stored = false;
  bool usable() const { return norm_in_range(largest_norm_); }
  std::int64_t scratch_bytes() const { return group_rows * n_features_ * std::int64_t(sizeof(A)); }

  // scratch: room for the columns of a group. If A is narrower than T, `second` is a lower bound.
  void find(const T *const *points, int n_points, void *scratch, Nearest *found) {
    const std::int64_t d = n_features_;
    const int n_padded = (n_points + column_rows<A> - 1) / column_rows<A> * column_rows<A>;
    A *columns = static_cast<A *>(scratch);
    set_columns(points, n_points, n_padded, shift_.data(), d, columns);
    Seen seen;
    for (int first = 0; first < n_padded; first += column_rows<A>) see_columns(columns, first, seen);

    // The rounding error of a sum of squares is relative to the sum. Rounding the coordinates of point and center to A
    // adds an error to the distance itself, relative to their norms: these are at most |c| + distance for the point and
    // |c| + 2 distance for a center that may be nearer than c.
    const A relative = rounding<A>(d), smallest = smallest_in_range<A>(d);
    const A lost = narrowed ? 2 * unit<A> : 0, most = 2 * largest_norm_;
    for (int p = 0; p < n_padded; ++p) {
      const A distance = std::sqrt(seen.nearest[p]), norm = norms_.data()[seen.label[p]];
      const A farthest = distance * (1 + 4 * relative) + 2 * lost * std::min(distance + most, 4 * distance + 3 * norm);
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
        const T *center = centers_[seen.label[p]];
        double nearest = seen.nearest[p], second = seen.second[p];
        if (narrowed) {
          const double distance = std::sqrt(nearest), norm = norms_.data()[seen.label[p]];
          const double loss = lost * std::min(distance + most, 3 * (distance + norm) + 2 * std::sqrt(second));
          const double least = std::sqrt(second) * (1 - relative) - loss;
          nearest = squared_distance(points[p], center, d);
          second = std::max(nearest, least * least);
        }
        if (out_of_range(T(nearest), d)) nearest = squared_distance_wide(points[p], center, d);
        found[p] = {std::int32_t(seen.label[p]), nearest, second};
      }
      if (!all_decided) decide(points, columns, first, end, seen, found);
    }
  }

 private:
  static constexpr bool narrowed = !std::is_same_v<T, A>;

  // The smallest distances of the points of a group, rounded.
  struct Seen {
    A nearest[group_rows], second[group_rows];  // squared
    typename Simd<A>::Integer label[group_rows];
    A limit[group_rows];  // a squared distance above this is larger than the smallest, whatever the rounding
  };

  // The packed centers of a panel: the first feature of each center, then the second feature of each, and so on.
  A *data(std::int64_t panel) { return packed_.data() + split_.first(panel) * n_features_; }

  void pack(std::int64_t j, std::int64_t panel, int c) {
    double norm = 0;
    for (std::int64_t f = 0; f < n_features_; ++f) {
      const A value = A(centers_[j][f] - shift_.data()[f]);
      data(panel)[f * split_.size(panel) + c] = value;
      norm += double(value) * double(value);
    }
    norms_.data()[j] = A(std::sqrt(norm));
    largest_norm_ = std::max(largest_norm_, norms_.data()[j]);
  }

  // Calls see(j, distances) for each center j of the panel, in order, with its squared distances to column_rows points.
  template <int C = column_centers, class See>
  inline void measure_columns(const A *columns, std::int64_t panel, const See &see) {
    if constexpr (C > 1)
      if (split_.size(panel) < C) return measure_columns<C - 1>(columns, panel, see);
    const std::int64_t d = n_features_;
    const A *center = data(panel);
    Vector<A> distances[C][column_vectors];
    for (int c = 0; c < C; ++c)
      for (int v = 0; v < column_vectors; ++v) distances[c][v] = Vector<A>{};
    for (std::int64_t f = 0; f < d; ++f, center += C) {
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
    for (int c = 0; c < C; ++c) see(split_.first(panel) + c, distances[c]);
  }

  inline void see_columns(const A *columns, int first, Seen &seen) {
    Smallest<A> smallest[column_vectors];
    for (std::int64_t panel = 0; panel < split_.n_panels; ++panel) {
      measure_columns(columns + first, panel, [&](std::int64_t j, const Vector<A> *distances) {
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

  // For points with a second distance within the limit: compares all centers within the limit in double.
  void decide(const T *const *points, const A *columns, int first, int end, const Seen &seen, Nearest *found) {
    const std::int64_t d = n_features_;
    bool open[column_rows<A>] = {};
    for (int p = first; p < end; ++p) {
      open[p - first] = !(seen.second[p] > seen.limit[p]);
      if (open[p - first]) found[p] = nothing_yet;
    }
    for (std::int64_t panel = 0; panel < split_.n_panels; ++panel) {
      measure_columns(columns + first, panel, [&](std::int64_t j, const Vector<A> *distances) {
        for (int i = 0; i < end - first; ++i)
          if (open[i] && !(distances[i / lanes<A>][i % lanes<A>] > seen.limit[first + i]))
            keep_nearest(found[first + i], j, squared_distance_wide(points[first + i], centers_[j], d));
      });
    }
  }

  const Centers<T> centers_;
  const std::int64_t n_features_;
  const PanelSplit split_;
  Buffer<A> packed_, norms_;
  Buffer<T> shift_;
  A largest_norm_ = 0;
};

}  // namespace
}  // namespace eulermeans
