// Nearest center of points stored as bytes, by integer products. Centers are rounded to a grid that fits 16 bits, so
// products with bytes are exact. The distance of a center to its grid point bounds the error of its keys. Only where
// keys are closer than that, distances in double decide. Keys are |c|^2/2 - x.c in units of the grid.
#pragma once

#include "nearest_direct.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace eulermeans {
namespace {

#if defined(__SSE2__)
constexpr bool bytes_multiply = true;
typedef std::int16_t Shorts __attribute__((vector_size(vector_bytes)));

// Products of all lanes, summed in pairs of neighbouring lanes.
inline Index<float> products_of_pairs(Shorts a, Shorts b) {
#if defined(__AVX2__)
  return (Index<float>)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#else
  return (Index<float>)_mm_madd_epi16((__m128i)a, (__m128i)b);
#endif
}

// By intrinsics: the code of GCC 12 for __builtin_convertvector takes four times as long.
template <class S>
inline Shorts shorts(const S *from) {
#if defined(__AVX2__)
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i *>(from));
  return (Shorts)(std::is_signed_v<S> ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes));
#else
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i *>(from)), zero = _mm_setzero_si128();
  return (Shorts)(std::is_signed_v<S> ? _mm_srai_epi16(_mm_unpacklo_epi8(zero, bytes), 8)
                                      : _mm_unpacklo_epi8(bytes, zero));
#endif
}

template <class S>
inline Vector<float> floats(const S *from) {
#if defined(__AVX2__)
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i *>(from));
  return (Vector<float>)_mm256_cvtepi32_ps(std::is_signed_v<S> ? _mm256_cvtepi8_epi32(bytes)
                                                               : _mm256_cvtepu8_epi32(bytes));
#else
  return Vector<float>{float(from[0]), float(from[1]), float(from[2]), float(from[3])};
#endif
}

constexpr int short_lanes = vector_bytes / 2;

// products[c * P + p] = product of point p and center c of the panel. `products` has room for whole vectors.
template <class S, int P, int C>
inline void multiply_bytes(const S *const *points, const std::int16_t *centers, std::int64_t n_features,
                           bool prefetches, std::int32_t *products) {
  constexpr int step = short_lanes, sums = lanes<float>;
  Index<float> parts[C * P];
#pragma GCC unroll 32
  for (int i = 0; i < C * P; ++i) parts[i] = Index<float>{};
  for (std::int64_t f = 0; f < n_features; f += step, centers += C * step) {
    if (P > 1 && prefetches && f % 64 == 0)  // the rows of the next points
      for (int p = 0; p < P; ++p) __builtin_prefetch(points[P + p] + f, 0, 2);
    const std::int64_t begin = std::min(f, n_features - step);
    Shorts coordinates[P];
    for (int p = 0; p < P; ++p) coordinates[p] = shorts(points[p] + begin);
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) {
      Shorts center;
      std::memcpy(&center, centers + c * step, sizeof center);
#pragma GCC unroll 8
      for (int p = 0; p < P; ++p) parts[c * P + p] += products_of_pairs(coordinates[p], center);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < C * P; i += sums)  // unrolled so that the parts stay in registers
    store(products + i, sums_of_lanes<lanes<float>>(parts + i, C * P - i));
}

template <class S>
class NearestBytes {
 public:
  explicit NearestBytes(const Centers<float> &centers)
      : centers_(centers),
        n_features_(centers.n_features),
        split_(centers.n_clusters, direct_centers),
        n_vectors_((n_features_ + short_lanes - 1) / short_lanes),
        packed_(centers.n_clusters * n_vectors_ * short_lanes),
        half_norms_(centers.n_clusters) {
    choose_unit();
    for (std::int64_t panel = 0; usable_ && panel < split_.n_panels; ++panel)
      for (int c = 0; c < split_.size(panel); ++c)
        pack(split_.first(panel) + c, split_.size(panel), data(panel) + c * short_lanes);
  }

  static constexpr bool reads_stored = true;
  bool usable() const { return usable_; }  // false if centers are far outside the range of bytes
  std::int64_t scratch_bytes() const { return 4 * (n_features_ + centers_.n_clusters); }

  // scratch: room for one row as floats, then for the keys of one point. `second` is only larger than `nearest` or equal.
  void find(const S *const *points, int n_points, void *scratch, Nearest *found) {
    Smallest<std::int32_t> smallest[group_rows / lanes<float>];
    for (std::int64_t panel = 0; panel < split_.n_panels; ++panel) {
      std::int32_t keys[direct_centers * group_rows];
      set_keys<direct_rows>(points, n_points, panel, keys, group_rows);
      for (int c = 0; c < split_.size(panel); ++c)
        for (int v = 0; v < group_rows / lanes<float>; ++v)
          smallest[v].see(load(keys + c * group_rows + v * lanes<float>),
                          Index<float>{} + std::int32_t(split_.first(panel) + c));
    }
    float *row = static_cast<float *>(scratch);
    std::int32_t *keys = static_cast<std::int32_t *>(scratch) + n_features_;
    for (int p = 0; p < n_points; ++p) {
      const Smallest<std::int32_t> &seen = smallest[p / lanes<float>];
      const int lane = p % lanes<float>;
      const std::int32_t label = seen.index[lane];
      const float nearest = squared_distance(points[p], centers_[label], n_features_, floats<S>);
      const double margin = margin_of(std::sqrt(double(nearest)) * 1.00001 + largest_norm_);
      const double gap = unit_ * (double(seen.second[lane]) - double(seen.best[lane]));
      const bool open = !(gap > 2 * margin);
      if (open || out_of_range(nearest, n_features_))
        found[p] = decide(points[p], open ? margin : 0, row, keys);
      else
        found[p] = {label, nearest, std::numeric_limits<double>::infinity()};
    }
  }

 private:
  static constexpr double largest_byte = std::is_signed_v<S> ? 128 : 255;
  static constexpr double largest_key = 1 << 30;  // so that the difference of two keys does not overflow

  // Packed as in NearestDirect.
  std::int16_t *data(std::int64_t panel) { return packed_.data() + split_.first(panel) * n_vectors_ * short_lanes; }

  // Bound on the error of a key, times the unit, for a point of this norm.
  double margin_of(double norm) const { return 1.000001 * (unit_ / 2 + norm * largest_loss_); }

  void choose_unit() {
    double largest = 0, key = 0;
    for (std::int64_t j = 0; j < centers_.n_clusters; ++j) {
      double sum = 0, squares = 0;
      for (std::int64_t f = 0; f < n_features_; ++f) {
        const double value = std::abs(double(centers_[j][f]));
        largest = value > largest ? value : largest;
        sum += value;
        squares += value * value;
      }
      const double highest = largest_byte * sum + squares / 2;
      key = highest > key ? highest : key;
      largest_norm_ = std::sqrt(squares) > largest_norm_ ? std::sqrt(squares) : largest_norm_;
    }
    const double room = largest_key - largest_byte * double(n_features_) / 2 - 1;  // each coordinate may be rounded up
    usable_ = largest <= 4 * largest_byte && room > largest_key / 2;
    if (largest > 0) unit_ = std::max(largest / 32767, key / room);
  }

  void pack(std::int64_t j, int stride, std::int16_t *out) {
    const float *center = centers_[j];
    double norm = 0, lost = 0;
    for (std::int64_t i = 0; i < n_vectors_; ++i, out += stride * short_lanes) {
      const std::int64_t begin = std::min(i * short_lanes, n_features_ - short_lanes);
      for (std::int64_t l = 0; l < short_lanes; ++l) {
        out[l] = 0;
        if (begin + l < i * short_lanes) continue;
        const double value = center[begin + l], rounded = std::nearbyint(value / unit_);
        out[l] = std::int16_t(rounded);
        norm += value * value;
        lost += (value - unit_ * rounded) * (value - unit_ * rounded);
      }
    }
    half_norms_.data()[j] = std::int32_t(std::nearbyint(norm / (2 * unit_)));
    largest_loss_ = std::sqrt(lost) > largest_loss_ ? std::sqrt(lost) : largest_loss_;
  }

  // keys[c * stride + p] = key of point p and center c of the panel. P points are multiplied at a time.
  template <int P, int C = direct_centers>
  inline void set_keys(const S *const *points, int n_points, std::int64_t panel, std::int32_t *keys,
                       std::int64_t stride) {
    if constexpr (C > 1)
      if (split_.size(panel) < C) return set_keys<P, C - 1>(points, n_points, panel, keys, stride);
    constexpr int sums = lanes<float>;
    const std::int32_t *half_norms = half_norms_.data() + split_.first(panel);
    for (int first = 0; first < n_points; first += P) {
      std::int32_t products[(C * P + sums - 1) / sums * sums];
      multiply_bytes<S, P, C>(points + first, data(panel), n_features_, panel == 0, products);
      for (int c = 0; c < C; ++c)
        for (int p = 0; p < P; ++p) keys[c * stride + first + p] = half_norms[c] - products[c * P + p];
    }
  }

  // Compares the centers whose keys are within the margin of the lowest in double.
  Nearest decide(const S *point, double margin, float *row, std::int32_t *keys) {
    widen(point, row, n_features_);
    for (std::int64_t panel = 0; panel < split_.n_panels; ++panel)
      set_keys<1>(&point, 1, panel, keys + split_.first(panel), 1);
    std::int64_t lowest = std::numeric_limits<std::int32_t>::max();
    for (std::int64_t j = 0; j < centers_.n_clusters; ++j) lowest = keys[j] < lowest ? keys[j] : lowest;
    const auto is_open = [&](std::int64_t j) { return !(unit_ * double(keys[j] - lowest) > 4 * margin); };
    return compare_open(row, centers_, n_features_, is_open);
  }

  const Centers<float> centers_;
  const std::int64_t n_features_;
  const PanelSplit split_;
  const std::int64_t n_vectors_;
  Buffer<std::int16_t> packed_;
  Buffer<std::int32_t> half_norms_;
  bool usable_ = false;
  double unit_ = 1;  // of the grid and of the keys
  double largest_norm_ = 0;
  double largest_loss_ = 0;  // largest distance of a center to its grid point
};

#else
constexpr bool bytes_multiply = false;
template <class S>
class NearestBytes;
#endif

}  // namespace
}  // namespace eulermeans
