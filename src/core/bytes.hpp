// The nearest center of points that are stored as bytes, by products of integers: centers rounded to a grid so fine
// that 16 bits hold them. Products of bytes with these are exact, and what the rounding took from a center bounds what
// it takes from a key, so that only keys closer than that are compared anew, in double.
#pragma once

#include <cmath>

#include "direct.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace eulermeans {
namespace {

#if defined(__SSE2__)
constexpr bool bytes_multiply = true;
typedef std::int16_t Shorts __attribute__((vector_size(vector_bytes)));

// The products of neighbouring lanes, added up in pairs.
inline Index<float> products_of_pairs(Shorts a, Shorts b) {
#if defined(__AVX2__)
  return (Index<float>)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#else
  return (Index<float>)_mm_madd_epi16((__m128i)a, (__m128i)b);
#endif
}

// By hand: what GCC 12 makes of __builtin_convertvector takes four times as long.
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

// The centers on the grid, laid out as in Turns. What lies in lanes that two vectors share is zero in the second.
template <class S>
class ByteTurns : public InTurns {
 public:
  ByteTurns(const Centers<float> &centers, std::int64_t n_features)
      : InTurns(centers.n_clusters, direct_centers),
        n_vectors((n_features + short_lanes - 1) / short_lanes),
        packed_(centers.n_clusters * n_vectors * short_lanes),
        half_norms_(centers.n_clusters) {
    choose_unit(centers, n_features);
    for (std::int64_t turn = 0; usable && turn < n_turns; ++turn)
      for (int c = 0; c < size(turn); ++c)
        pack(centers.data + (first(turn) + c) * n_features, n_features, first(turn) + c, size(turn),
             data(turn) + c * short_lanes);
  }

  std::int16_t *data(std::int64_t turn) { return packed_.data() + first(turn) * n_vectors * short_lanes; }
  std::int32_t half_norm(std::int64_t j) { return half_norms_.data()[j]; }

  // By how much a key in units may differ from |c|^2/2 - x.c, for a point of this norm.
  double margin(double norm) const { return 1.000001 * (unit / 2 + norm * farthest_); }

  const std::int64_t n_vectors;
  bool usable = false;       // false if the centers are far from all that bytes can be
  double unit = 1;           // the grid's; of keys too
  double largest_norm = 0;

 private:
  static constexpr double largest_byte = std::is_signed_v<S> ? 128 : 255;
  static constexpr double largest_key = 1 << 30;  // so that a difference of two is a number still

  void choose_unit(const Centers<float> &centers, std::int64_t n_features) {
    double largest = 0, key = 0;
    for (std::int64_t j = 0; j < centers.n_clusters; ++j) {
      double sum = 0, squares = 0;
      for (std::int64_t f = 0; f < n_features; ++f) {
        const double value = std::abs(double(centers.data[j * n_features + f]));
        largest = value > largest ? value : largest;
        sum += value;
        squares += value * value;
      }
      const double highest = largest_byte * sum + squares / 2;
      key = highest > key ? highest : key;
      largest_norm = std::sqrt(squares) > largest_norm ? std::sqrt(squares) : largest_norm;
    }
    const double room = largest_key - largest_byte * double(n_features) / 2 - 1;  // each coordinate may be rounded up
    usable = centers.n_clusters > 0 && largest <= 4 * largest_byte && room > largest_key / 2;
    if (largest > 0) unit = std::max(largest / 32767, key / room);
  }

  void pack(const float *center, std::int64_t n_features, std::int64_t j, int stride, std::int16_t *out) {
    double norm = 0, lost = 0;
    for (std::int64_t i = 0; i < n_vectors; ++i, out += stride * short_lanes) {
      const std::int64_t begin = std::min(i * short_lanes, n_features - short_lanes);
      for (std::int64_t l = 0; l < short_lanes; ++l) {
        out[l] = 0;
        if (begin + l < i * short_lanes) continue;
        const double value = center[begin + l], rounded = std::nearbyint(value / unit);
        out[l] = std::int16_t(rounded);
        norm += value * value;
        lost += (value - unit * rounded) * (value - unit * rounded);
      }
    }
    half_norms_.data()[j] = std::int32_t(std::nearbyint(norm / (2 * unit)));
    farthest_ = std::sqrt(lost) > farthest_ ? std::sqrt(lost) : farthest_;
  }

  Buffer<std::int16_t> packed_;
  Buffer<std::int32_t> half_norms_;
  double farthest_ = 0;  // that a center lies from its place on the grid
};

// keys[c * stride + p] = the key of point p and center c of the turn.
template <class S, int P, int C>
inline void keys_of_bytes(const S *const *points, ByteTurns<S> &turns, std::int64_t turn, std::int64_t n_features,
                          std::int32_t *keys, std::int64_t stride) {
  constexpr int step = short_lanes, sums = lanes<float>;
  Index<float> parts[C * P];
#pragma GCC unroll 32
  for (int i = 0; i < C * P; ++i) parts[i] = Index<float>{};
  const std::int16_t *centers = turns.data(turn);
  for (std::int64_t f = 0; f < n_features; f += step, centers += C * step) {
    if (P > 1 && turn == 0 && f % 64 == 0)  // the rows of the next points, on their way while these are worked on
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
  std::int32_t products[(C * P + sums - 1) / sums * sums];
#pragma GCC unroll 16
  for (int i = 0; i < C * P; i += sums)  // unrolled, or the parts would not stay in registers
    store(products + i, sums_of_lanes<lanes<float>>(parts + i, C * P - i));
  for (int c = 0; c < C; ++c)
    for (int p = 0; p < P; ++p) keys[c * stride + p] = turns.half_norm(turns.first(turn) + c) - products[c * P + p];
}

template <class S, int P, int C = direct_centers>
inline void keys_of_turn(const S *const *points, int n_points, ByteTurns<S> &turns, std::int64_t turn,
                         std::int64_t n_features, std::int32_t *keys, std::int64_t stride) {
  if constexpr (C > 1)
    if (turns.size(turn) < C)
      return keys_of_turn<S, P, C - 1>(points, n_points, turns, turn, n_features, keys, stride);
  for (int p = 0; p < n_points; p += P)
    keys_of_bytes<S, P, C>(points + p, turns, turn, n_features, keys + p, stride);
}

// Where the grid leaves the order of the keys open: the centers within the margin of the lowest, compared in double.
template <class S>
Nearest decide_bytes(const S *point, ByteTurns<S> &turns, const Centers<float> &centers, std::int64_t n_features,
                     double margin, float *row) {
  widen(point, row, n_features);
  std::int64_t lowest = std::numeric_limits<std::int32_t>::max();
  Nearest found = nothing_yet;
  for (const bool compares : {false, true}) {
    for (std::int64_t turn = 0; turn < turns.n_turns; ++turn) {
      std::int32_t keys[direct_centers];
      keys_of_turn<S, 1>(&point, 1, turns, turn, n_features, keys, 1);
      for (int c = 0; c < turns.size(turn); ++c) {
        const std::int64_t j = turns.first(turn) + c;
        if (!compares)
          lowest = keys[c] < lowest ? keys[c] : lowest;
        else if (!(turns.unit * double(keys[c] - lowest) > 4 * margin))
          keep_nearest(found, j, squared_distance_wide(row, centers.data + j * n_features, n_features));
      }
    }
  }
  return found;
}

template <class S>
inline float squared_distance_of_bytes(const S *point, const float *center, std::int64_t n) {
  constexpr int step = lanes<float>;
  Vector<float> part[4] = {};
  std::int64_t f = 0;
  for (; f + 4 * step <= n; f += 4 * step) {
    for (int i = 0; i < 4; ++i) {
      const Vector<float> offset = floats(point + f + i * step) - load(center + f + i * step);
      part[i] += offset * offset;
    }
  }
  for (; f + step <= n; f += step) {
    const Vector<float> offset = floats(point + f) - load(center + f);
    part[0] += offset * offset;
  }
  float total = sum_of_lanes((part[0] + part[1]) + (part[2] + part[3]));
  for (; f < n; ++f) total += (float(point[f]) - center[f]) * (float(point[f]) - center[f]);
  return total;
}

// row: room for one point's coordinates as floats. The second nearest is not looked for.
template <class S>
void nearest_of_bytes(const S *const *points, int n_points, ByteTurns<S> &turns, const Centers<float> &centers,
                      std::int64_t n_features, float *row, Nearest *found) {
  Smallest<std::int32_t> smallest[group_rows / lanes<float>];
  for (std::int64_t turn = 0; turn < turns.n_turns; ++turn) {
    std::int32_t keys[direct_centers * group_rows];
    keys_of_turn<S, direct_rows>(points, n_points, turns, turn, n_features, keys, group_rows);
    for (int c = 0; c < turns.size(turn); ++c)
      for (int v = 0; v < group_rows / lanes<float>; ++v)
        smallest[v].see(load(keys + c * group_rows + v * lanes<float>),
                        Index<float>{} + std::int32_t(turns.first(turn) + c));
  }
  for (int p = 0; p < n_points; ++p) {
    const Smallest<std::int32_t> &seen = smallest[p / lanes<float>];
    const int lane = p % lanes<float>;
    const std::int32_t label = seen.index[lane];
    const float nearest = squared_distance_of_bytes(points[p], centers.data + label * n_features, n_features);
    const double margin = turns.margin(std::sqrt(double(nearest)) * 1.00001 + turns.largest_norm);
    const double gap = turns.unit * (double(seen.second[lane]) - double(seen.best[lane]));
    if (!(gap > 2 * margin) && centers.n_clusters > 1)
      found[p] = decide_bytes(points[p], turns, centers, n_features, margin, row);
    else if (out_of_range(nearest, n_features))
      found[p] = decide_bytes(points[p], turns, centers, n_features, 0, row);
    else
      found[p] = {label, nearest, nearest};
  }
}

#else
constexpr bool bytes_multiply = false;
template <class S>
class ByteTurns;
#endif

}  // namespace
}  // namespace eulermeans
