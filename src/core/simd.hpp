// Fixed-width vectors by the compiler's own extension (GCC and Clang): the same source becomes SSE2, AVX2,
// AVX-512 or NEON, as the flags of the translation unit say.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#ifndef EULERMEANS_VECTOR_BYTES
#define EULERMEANS_VECTOR_BYTES 16
#endif

namespace eulermeans {
namespace {

constexpr int vector_bytes = EULERMEANS_VECTOR_BYTES;

#if defined(__AVX512VL__) || defined(__aarch64__)
constexpr bool many_registers = true;  // 32 of them, not 16
#else
constexpr bool many_registers = false;
#endif

// Vectors for products alone, which need few instructions for their arithmetic. On Zen 4 those of 64 bytes have the
// same peak as those of 32, and come closer to it: 112 Gflop/s of one core where those reach 78 to 93.
#if defined(__AVX512F__)
constexpr int product_bytes = 64;
#else
constexpr int product_bytes = vector_bytes;
#endif

// B is the size of a vector in bytes.
template <class T, int B = vector_bytes>
struct Simd;

template <int B>
struct Simd<float, B> {
  typedef float Vector __attribute__((vector_size(B)));
  typedef std::int32_t Integer;
  typedef std::int32_t Index __attribute__((vector_size(B)));
};

template <int B>
struct Simd<double, B> {
  typedef double Vector __attribute__((vector_size(B)));
  typedef std::int64_t Integer;
  typedef std::int64_t Index __attribute__((vector_size(B)));
};

template <int B>
struct Simd<std::int32_t, B> {
  typedef std::int32_t Vector __attribute__((vector_size(B)));
  typedef std::int32_t Integer;
  typedef Vector Index;
};

template <class T, int B = vector_bytes>
using Vector = typename Simd<T, B>::Vector;
template <class T, int B = vector_bytes>
using Index = typename Simd<T, B>::Index;
template <class T, int B = vector_bytes>
constexpr int lanes = B / int(sizeof(T));
template <class V>
constexpr int lanes_of = int(sizeof(V) / sizeof(V{}[0]));
template <class V>
using IndexOf = Index<std::conditional_t<sizeof(V{}[0]) == 4, float, double>, sizeof(V)>;

template <int B = vector_bytes, class T>
inline Vector<T, B> load(const T *from) {
  Vector<T, B> v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

template <class T, class V>
inline void store(T *to, V v) {
  std::memcpy(to, &v, sizeof v);
}

template <int B = vector_bytes, class T>
inline Vector<T, B> splat(T value) {
  return value - Vector<T, B>{};  // x - 0 is x for every x, so this compiles to a broadcast; 0 + x would not
}

// The lanes of a vector turned by `By` places.
template <int By, class V>
inline V rotated(V v) {
  constexpr int n = lanes_of<V>;
#if defined(__clang__)
  V out;
  for (int i = 0; i < n; ++i) out[i] = v[(i + By) % n];
  return out;
#else
  IndexOf<V> from;
  for (int i = 0; i < n; ++i) from[i] = (i + By) % n;
  return __builtin_shuffle(v, from);
#endif
}

template <int By, class V>
inline auto sum_of_turns(V v) {
  if constexpr (By == 0)
    return v[0];
  else
    return sum_of_turns<By / 2>(V(v + rotated<By>(v)));
}

template <class V>
inline auto sum_of_lanes(V v) {
  return sum_of_turns<lanes_of<V> / 2>(v);
}

// Of every two runs of Step lanes the first (Odd = 0) or the second (Odd = 1), in turn of a and of b.
template <int Step, int Odd, class V>
inline V alternated(V a, V b) {
  constexpr int n = lanes_of<V>;
#if defined(__clang__)
  V out;
  for (int i = 0; i < n; ++i) out[i] = i / Step % 2 == 0 ? a[i + Odd * Step] : b[i - (1 - Odd) * Step];
  return out;
#else
  IndexOf<V> from;
  for (int i = 0; i < n; ++i) from[i] = i / Step % 2 == 0 ? i + Odd * Step : n + i - (1 - Odd) * Step;
  return __builtin_shuffle(a, b, from);
#endif
}

// Lane j of rows[i] and lane i of rows[j] change places. There are as many rows as lanes.
template <int Step = 1, class V>
[[gnu::always_inline]] inline void transpose(V *rows) {
  constexpr int n = lanes_of<V>;
#pragma GCC unroll 16
  for (int i = 0; i < n; ++i) {
    if (i / Step % 2 == 1) continue;
    const V one = rows[i], other = rows[i + Step];
    rows[i] = alternated<Step, 0>(one, other);
    rows[i + Step] = alternated<Step, 1>(one, other);
  }
  if constexpr (2 * Step < n) transpose<2 * Step>(rows);
}

template <int Step, class V>
inline V sums_of_pairs(V a, V b) {
  return alternated<Step, 0>(a, b) + alternated<Step, 1>(a, b);
}

// In lane i the sum of all lanes of vectors[i], of which there are n. Inlined, so that they may stay in registers.
template <int Step, class V>
[[gnu::always_inline]] inline V sums_of_lanes(const V *vectors, int n) {
  if (n <= 0) return V{};
  if constexpr (Step == 1)
    return vectors[0];
  else
    return sums_of_pairs<Step / 2>(sums_of_lanes<Step / 2>(vectors, n),
                                   sums_of_lanes<Step / 2>(vectors + Step / 2, n - Step / 2));
}

template <int By, class V>
inline V min_of_turns(V v) {
  if constexpr (By == 0) {
    return v;
  } else {
    const V other = rotated<By>(v);
    return min_of_turns<By / 2>(V(other < v ? other : v));
  }
}

// The smallest lane, in every lane.
template <class V>
inline V min_of_lanes(V v) {
  return min_of_turns<lanes_of<V> / 2>(v);
}

}  // namespace
}  // namespace eulermeans
