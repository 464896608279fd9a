// The centers, laid out for the microkernel: panels of a few vectors of centers, feature after feature.
#pragma once

#include <cmath>
#include <limits>

#include "buffer.hpp"
#include "kernels.hpp"
#include "simd.hpp"

namespace eulermeans {
namespace {

template <class T>
class Panels {
 public:
  // Subtracting the centers' own mean from centers and points changes no distance; it keeps |c|^2/2 - x.c from
  // cancelling where the data lies far from the origin. It costs a copy of each tile, so only where it matters.
  Panels(const Centers<T> &centers, std::int64_t n_features)
      : n_clusters(centers.n_clusters),
        n_features(n_features),
        width((centers.n_clusters > lanes<T> ? 2 : 1) * lanes<T>),
        n_panels((centers.n_clusters + width - 1) / width),
        panels_(n_panels * width * n_features),
        half_norms_(n_panels * width),
        shift_(n_features) {
    if (n_clusters == 0) return;
    choose_shift(centers);
    pack(centers);
  }

  const T *panel(std::int64_t i) { return panels_.data() + i * width * n_features; }
  const T *half_norms(std::int64_t i) { return half_norms_.data() + i * width; }
  const T *shift() { return shift_.data(); }
  // The last panel is a vector narrower than the others where that is enough.
  int vectors(std::int64_t i) const { return width > lanes<T> && n_clusters - i * width > lanes<T> ? 2 : 1; }

  const std::int64_t n_clusters, n_features;
  const int width;
  const std::int64_t n_panels;
  bool shifted = false;
  T largest_norm = 0;  // of the (shifted) centers

 private:
  void choose_shift(const Centers<T> &centers) {
    double mean_norm = 0, spread = 0;
    for (std::int64_t f = 0; f < n_features; ++f) {
      double total = 0, squares = 0;
      for (std::int64_t j = 0; j < n_clusters; ++j) total += centers.data[j * n_features + f];
      const double mean = total / double(n_clusters);
      for (std::int64_t j = 0; j < n_clusters; ++j) {
        const double offset = centers.data[j * n_features + f] - mean;
        squares += offset * offset;
      }
      shift_.data()[f] = T(mean);
      mean_norm += mean * mean;
      spread += squares / double(n_clusters);
    }
    shifted = mean_norm > 4 * spread;
    if (!shifted) std::memset(shift_.data(), 0, std::size_t(n_features) * sizeof(T));
  }

  void pack(const Centers<T> &centers) {
    for (std::int64_t j = 0; j < n_panels * width; ++j) {
      const std::int64_t i = j / width, stride = vectors(i) * lanes<T>;
      if (j % width >= stride) continue;
      T *column = panels_.data() + i * width * n_features + j % width;
      const bool padding = j >= n_clusters;
      double norm = 0;
      for (std::int64_t f = 0; f < n_features; ++f) {
        const T value = padding ? T(0) : centers.data[j * n_features + f] - shift_.data()[f];
        column[f * stride] = value;
        norm += double(value) * double(value);
      }
      half_norms_.data()[j] = padding ? std::numeric_limits<T>::infinity() : T(norm / 2);
      if (!padding && T(std::sqrt(norm)) > largest_norm) largest_norm = T(std::sqrt(norm));
    }
  }

  Buffer<T> panels_, half_norms_, shift_;
};

}  // namespace
}  // namespace eulermeans
