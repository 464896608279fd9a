// Nearest centers of points with many features: a matrix product in registers, with the choice of the nearest fused in.
//
// A key orders centers as the squared distance does: |x - c|^2 = |x|^2 + 2 key, key = |c|^2/2 - x.c. Half the price of a
// center is added to its key. Keys may be computed in less precision than the points have (A narrower than T); where rounding leaves the order open, distances
// in double decide.
#pragma once

#include "nearest.hpp"

namespace eulermeans {
namespace {

constexpr int panel_vectors = many_registers ? 4 : 2;

// products[p][v] = products of point p with the centers of vector v of the panel. Not inlined: inlined, the compiler
// does not keep the addresses of the rows in registers.
template <int B, class A, int P, int V>
[[gnu::noinline]] void multiply(const A *const *points, const A *panel, std::int64_t n_features, bool first_panel,
                                Vector<A, B> (&products)[P][V]) {
  constexpr std::int64_t line = 64 / sizeof(A);
  Vector<A, B> sums[P][V] = {};
  for (std::int64_t begin = 0; begin < n_features; begin += line) {
    if (first_panel)  // prefetch the rows of the next tile
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

// Centers given as T and multiplied as A, in vectors of B bytes. Must have at least two centers. If the centers after
// the last whole vector fit a vector of half the size, they are stored as the `rest` behind the panels.
template <class T, class A, int B>
class NearestProduct {
 public:
  explicit NearestProduct(const Centers<T> &centers)
      : centers_(centers),
        n_features_(centers.n_features),
        has_rest_(has_half && centers.n_clusters > n_lanes && (centers.n_clusters - 1) % n_lanes < n_lanes / 2),
        n_vectors_((centers.n_clusters - (has_rest_ ? centers.n_clusters % n_lanes : 0) + n_lanes - 1) / n_lanes),
        split_(n_vectors_, panel_vectors),
        packed_(n_padded() * n_features_),
        half_norms_(n_padded()),
        norms_(n_padded()),
        shift_(n_features_) {
    choose_shift();
    for (std::int64_t i = 0; i < split_.n_panels; ++i)
      pack(split_.first(i) * n_lanes, split_.size(i) * n_lanes, panel(i));
    if (has_rest_) pack(n_vectors_ * n_lanes, n_lanes / 2, rest());
  }

  static constexpr bool reads_stored = false;
  bool usable() const { return norm_in_range(largest_norm_) && largest_price_ < A(1e30); }
  std::int64_t scratch_bytes() const {
    return (n_padded() + (shifted_ ? group_rows * n_features_ : 0)) * std::int64_t(sizeof(A));
  }

  // scratch: room for the keys of one point, then for the shifted rows of a group.
  void find(const T *const *points, int n_points, void *scratch, Nearest *found) {
    A *keys = static_cast<A *>(scratch);
    const A *moved[group_rows + look_ahead];
    move(points, n_points, keys + n_padded(), moved);
    find_moved(points, moved, n_points, keys, found);
  }

  // keys[p * n_padded() + j] = key of point p and center j; infinite for padding. scratch as for find.
  void find_keys(const T *const *points, int n_points, void *scratch, A *keys) {
    const A *moved[group_rows + look_ahead];
    move(points, n_points, static_cast<A *>(scratch) + n_padded(), moved);
    for (std::int64_t i = 0; i < split_.n_panels; ++i) set_panel_keys<panel_vectors>(moved, n_points, i, keys);
    if (has_rest_)
      for (int p = 0; p < n_points; ++p) set_keys<vector_bytes>(moved[p], rest(), 1, n_vectors_, keys + p * n_padded());
  }

  std::int64_t n_padded() const { return (n_vectors_ + has_rest_) * n_lanes; }  // number of centers with padding

 private:
  static constexpr int n_lanes = lanes<A, B>;
  static constexpr bool has_half = B > vector_bytes, narrowed = !std::is_same_v<T, A>;

  A *panel(std::int64_t i) { return packed_.data() + split_.first(i) * n_lanes * n_features_; }
  A *rest() { return packed_.data() + n_vectors_ * n_lanes * n_features_; }
  const A *half_norms(std::int64_t vector) { return half_norms_.data() + vector * n_lanes; }

  // Sets moved to the rows minus the shift, copied if need be.
  void move(const T *const *points, int n_points, A *copies, const A **moved) {
    const T *shift = shift_.data();
    for (int p = 0; p < group_rows + look_ahead; ++p) {
      if constexpr (!narrowed) {
        if (!shifted_) {
          moved[p] = points[p];
          continue;
        }
      }
      A *copy = copies + std::min(p, n_points - 1) * n_features_;
      for (std::int64_t f = 0; p < n_points && f < n_features_; ++f) copy[f] = A(points[p][f] - shift[f]);
      moved[p] = copy;
    }
  }

  // Subtracting the mean of the centers from centers and points changes no distance, and it keeps |c|^2/2 - x.c from
  // cancelling where data are far from the origin. It needs a copy of the points, so it is done only where it matters
  // or where they are copied anyway.
  void choose_shift() {
    set_mean(centers_, shift_.data());
    double mean_norm = 0, spread = 0;
    for (std::int64_t f = 0; f < n_features_; ++f) {
      const double mean = shift_.data()[f];
      double squares = 0;
      for (std::int64_t j = 0; j < centers_.n_clusters; ++j) {
        const double offset = centers_[j][f] - mean;
        squares += offset * offset;
      }
      mean_norm += mean * mean;
      spread += squares / double(centers_.n_clusters);
    }
    shifted_ = narrowed || mean_norm > 4 * spread;
    if (!shifted_) std::fill_n(shift_.data(), n_features_, T(0));
  }

  // Packs `width` centers side by side, feature after feature. Centers past the last one have infinite keys.
  void pack(std::int64_t first, int width, A *out) {
    for (int l = 0; l < width; ++l) {
      const std::int64_t j = first + l;
      const bool padding = j >= centers_.n_clusters;
      double norm = 0;
      for (std::int64_t f = 0; f < n_features_; ++f) {
        const A value = padding ? A(0) : A(centers_[j][f] - shift_.data()[f]);
        out[f * width + l] = value;
        norm += double(value) * double(value);
      }
      half_norms_.data()[j] = padding ? std::numeric_limits<A>::infinity() : A((norm + centers_.price(j)) / 2);
      norms_.data()[j] = A(std::sqrt(norm));
      if (!padding && A(std::sqrt(norm)) > largest_norm_) largest_norm_ = A(std::sqrt(norm));
      if (!padding) largest_price_ = std::max(largest_price_, A(std::abs(centers_.price(j))));
    }
  }

  // points: rows as given. moved: rows minus the shift, as A; the same rows if there is no shift. If A is narrower
  // than T, `second` is a lower bound.
  void find_moved(const T *const *points, const A *const *moved, int n_points, A *keys, Nearest *found) {
    Smallest<A, B> smallest[group_rows];
    for (std::int64_t i = 0; i < split_.n_panels; ++i) see_panel<panel_vectors>(moved, n_points, i, smallest);
    if constexpr (has_half)
      if (has_rest_) see_rest(moved, n_points, smallest);

    const A relative = rounding<A>(n_features_) + (narrowed ? 2 * unit<A> : 0);
    const A absolute = A(n_features_) * std::numeric_limits<A>::min() + 2 * unit<A> * largest_price_;
    for (int p = 0; p < n_points; ++p) {
      const Lowest<A> low = across_lanes(smallest[p]);
      const T *center = centers_[low.index];
      const T nearest = squared_distance(points[p], center, n_features_);
      // By the triangle inequality, |x| is at most `reach`, and a center that may be nearer has a norm of at most
      // reach + distance. Centers of more than twice that, if there are any, are farther whatever the rounding.
      const A distance = A(std::sqrt(double(nearest) + 2 * double(largest_price_)));
      const A reach = distance + norms_.data()[low.index];
      const A far = std::min(largest_norm_, 2 * (reach + distance));
      const A margin = relative * far * (reach + far) + absolute;
      const A gap = low.second - low.best;
      if (!(gap > 2 * margin && gap <= std::numeric_limits<A>::max())) {
        found[p] = decide(points[p], moved[p], margin, keys);
      } else {
        const double squared = out_of_range(nearest, n_features_)
                                   ? squared_distance_wide(points[p], center, n_features_)
                                   : double(nearest);
        const double exact = squared + centers_.price(low.index);
        double second = exact + 2 * double(narrowed ? gap - 2 * margin : gap);
        if (narrowed && far < largest_norm_)
          second = std::min(second, double(far - reach) * double(far - reach) - double(largest_price_));
        found[p] = {std::int32_t(low.index), exact, second};
      }
    }
  }

  template <int V>
  inline void see_panel(const A *const *points, int n_points, std::int64_t i, Smallest<A, B> *smallest) {
    if constexpr (V > 1)
      if (split_.size(i) < V) return see_panel<V - 1>(points, n_points, i, smallest);
    for (int first = 0; first < n_points; first += tile_rows) {
      Vector<A, B> products[tile_rows][V];
      multiply<B>(points + first, panel(i), n_features_, i == 0, products);
      Index<A, B> where;
      for (int l = 0; l < n_lanes; ++l) where[l] = split_.first(i) * n_lanes + l;
      for (int v = 0; v < V; ++v) {
        const Vector<A, B> half_norm = load<B>(half_norms(split_.first(i) + v));
        for (int p = 0; p < tile_rows; ++p) smallest[first + p].see(half_norm - products[p][v], where);
        where += n_lanes;
      }
    }
  }

  template <int V>
  inline void set_panel_keys(const A *const *points, int n_points, std::int64_t i, A *keys) {
    if constexpr (V > 1)
      if (split_.size(i) < V) return set_panel_keys<V - 1>(points, n_points, i, keys);
    for (int first = 0; first < n_points; first += tile_rows) {
      Vector<A, B> products[tile_rows][V];
      multiply<B>(points + first, panel(i), n_features_, i == 0, products);
      for (int p = 0; p < std::min(tile_rows, n_points - first); ++p)
        for (int v = 0; v < V; ++v) {
          const std::int64_t vector = split_.first(i) + v;
          store(keys + (first + p) * n_padded() + vector * n_lanes, load<B>(half_norms(vector)) - products[p][v]);
        }
    }
  }

  inline void see_rest(const A *const *points, int n_points, Smallest<A, B> *smallest) {
    constexpr int half = vector_bytes;
    const Vector<A, half> half_norm = load<half>(half_norms(n_vectors_));
    Index<A, B> where;
    for (int l = 0; l < n_lanes; ++l) where[l] = n_vectors_ * n_lanes + l;
    for (int first = 0; first < n_points; first += 2 * tile_rows) {
      Vector<A, half> products[2 * tile_rows][1];
      multiply<half>(points + first, rest(), n_features_, false, products);
      for (int p = 0; p < 2 * tile_rows; ++p) {
        Vector<A, B> key = splat<B>(std::numeric_limits<A>::infinity());
        const Vector<A, half> low = half_norm - products[p][0];
        std::memcpy(&key, &low, sizeof low);
        smallest[first + p].see(key, where);
      }
    }
  }

  // Compares the centers whose keys are within the margin of the lowest in double. A NaN key excludes no center.
  Nearest decide(const T *point, const A *moved, A margin, A *keys) {
    for (std::int64_t i = 0; i < split_.n_panels; ++i)
      set_keys<B>(moved, panel(i), split_.size(i), split_.first(i), keys);
    if (has_rest_) set_keys<vector_bytes>(moved, rest(), 1, n_vectors_, keys);
    A lowest = std::numeric_limits<A>::infinity();
    for (std::int64_t j = 0; j < centers_.n_clusters; ++j) lowest = keys[j] < lowest ? keys[j] : lowest;
    const auto is_open = [&](std::int64_t j) { return !(keys[j] > lowest + 4 * margin); };
    return compare_open(point, centers_, n_features_, is_open);
  }

  // The keys of one point and the centers of a panel, or of the rest, in vectors of W bytes.
  template <int W, int V = panel_vectors>
  inline void set_keys(const A *point, const A *panel, int n_vectors, std::int64_t first_vector, A *keys) {
    if constexpr (V > 1)
      if (n_vectors < V) return set_keys<W, V - 1>(point, panel, n_vectors, first_vector, keys);
    Vector<A, W> products[1][V];
    multiply<W>(&point, panel, n_features_, false, products);
    for (int v = 0; v < V; ++v)
      store(keys + first_vector * n_lanes + v * lanes<A, W>,
            load<W>(half_norms(first_vector) + v * lanes<A, W>) - products[0][v]);
  }

  const Centers<T> centers_;
  const std::int64_t n_features_;
  const bool has_rest_;
  const std::int64_t n_vectors_;
  const PanelSplit split_;
  Buffer<A> packed_, half_norms_, norms_;
  Buffer<T> shift_;
  bool shifted_ = false;
  A largest_norm_ = 0;   // of the shifted centers
  A largest_price_ = 0;  // in magnitude
};

}  // namespace
}  // namespace eulermeans
