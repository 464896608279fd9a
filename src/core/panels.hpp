// The centers, laid out for products: panels of a few vectors of centers, feature after feature.
#pragma once

#include "nearest.hpp"

namespace eulermeans {
namespace {

constexpr int panel_vectors = many_registers ? 4 : 2;

// Centers given as T, multiplied as A in vectors of B bytes. What is left of them after whole vectors is a vector of
// half that size if it fits one: a `rest`, behind the panels.
template <class T, class A, int B>
class Panels {
 public:
  // Subtracting the centers' own mean from centers and points changes no distance; it keeps |c|^2/2 - x.c from
  // cancelling where the data lie far from the origin. It costs a copy of the points, so it is done only where it
  // matters or where they are copied anyway.
  Panels(const Centers<T> &centers, std::int64_t n_features)
      : n_clusters(centers.n_clusters),
        n_features(n_features),
        has_rest(has_half && n_clusters > n_lanes && (n_clusters - 1) % n_lanes < n_lanes / 2),
        n_vectors((n_clusters - (has_rest ? n_clusters % n_lanes : 0) + n_lanes - 1) / n_lanes),
        n_panels((n_vectors + panel_vectors - 1) / panel_vectors),
        panels_((n_vectors + has_rest) * n_lanes * n_features),
        half_norms_((n_vectors + has_rest) * n_lanes),
        shift_(n_features) {
    choose_shift(centers);
    for (std::int64_t i = 0; i < n_panels; ++i) pack(centers, first_vector(i) * n_lanes, vectors(i) * n_lanes, panel(i));
    if (has_rest) pack(centers, n_vectors * n_lanes, n_lanes / 2, rest());
  }

  static constexpr int n_lanes = lanes<A, B>;
  static constexpr bool has_half = B > vector_bytes;

  // Vectors are shared out evenly among panels.
  std::int64_t first_vector(std::int64_t i) const { return i * n_vectors / n_panels; }
  int vectors(std::int64_t i) const { return int(first_vector(i + 1) - first_vector(i)); }
  A *panel(std::int64_t i) { return panels_.data() + first_vector(i) * n_lanes * n_features; }
  A *rest() { return panels_.data() + n_vectors * n_lanes * n_features; }
  const A *half_norms(std::int64_t vector) { return half_norms_.data() + vector * n_lanes; }
  const T *shift() { return shift_.data(); }

  const std::int64_t n_clusters, n_features;
  const bool has_rest;
  const std::int64_t n_vectors, n_panels;
  bool shifted = false;
  A largest_norm = 0;  // of the (shifted) centers

 private:
  void choose_shift(const Centers<T> &centers) {
    set_mean(centers, shift_.data(), n_features);
    double mean_norm = 0, spread = 0;
    for (std::int64_t f = 0; f < n_features; ++f) {
      const double mean = shift_.data()[f];
      double squares = 0;
      for (std::int64_t j = 0; j < n_clusters; ++j) {
        const double offset = centers.data[j * n_features + f] - mean;
        squares += offset * offset;
      }
      mean_norm += mean * mean;
      spread += squares / double(n_clusters);
    }
    shifted = !std::is_same_v<T, A> || mean_norm > 4 * spread;
    if (!shifted) std::fill_n(shift_.data(), n_features, T(0));
  }

  // The centers from the first on, side by side; none where there are no more.
  void pack(const Centers<T> &centers, std::int64_t first, int width, A *out) {
    for (int l = 0; l < width; ++l) {
      const std::int64_t j = first + l;
      const bool padding = j >= n_clusters;
      double norm = 0;
      for (std::int64_t f = 0; f < n_features; ++f) {
        const A value = padding ? A(0) : A(centers.data[j * n_features + f] - shift_.data()[f]);
        out[f * width + l] = value;
        norm += double(value) * double(value);
      }
      half_norms_.data()[j] = padding ? std::numeric_limits<A>::infinity() : A(norm / 2);
      if (!padding && A(std::sqrt(norm)) > largest_norm) largest_norm = A(std::sqrt(norm));
    }
  }

  Buffer<A> panels_, half_norms_;
  Buffer<T> shift_;
};

}  // namespace
}  // namespace eulermeans
