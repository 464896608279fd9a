// Fixed-width vectors by the compiler's own extension (GCC and Clang): the same source becomes SSE2, AVX2,
// AVX-512 or NEON, as the flags of the translation unit say.
#pragma once

#include <cstdint>
#include <cstring>

#ifndef EULERMEANS_VECTOR_BYTES
#define EULERMEANS_VECTOR_BYTES 16
#endif

namespace eulermeans {
namespace {

constexpr int vector_bytes = EULERMEANS_VECTOR_BYTES;

template <class T>
struct Simd;

template <>
struct Simd<float> {
  typedef float Vector __attribute__((vector_size(vector_bytes)));
  typedef std::int32_t Integer;
  typedef std::int32_t Index __attribute__((vector_size(vector_bytes)));
};

template <>
struct Simd<double> {
  typedef double Vector __attribute__((vector_size(vector_bytes)));
  typedef std::int64_t Integer;
  typedef std::int64_t Index __attribute__((vector_size(vector_bytes)));
};

template <>
struct Simd<std::int32_t> {
  typedef std::int32_t Vector __attribute__((vector_size(vector_bytes)));
  typedef std::int32_t Integer;
  typedef Vector Index;
};

template <class T>
using Vector = typename Simd<T>::Vector;
template <class T>
using Index = typename Simd<T>::Index;
template <class T>
constexpr int lanes = vector_bytes / int(sizeof(T));

template <class T>
inline Vector<T> load(const T *from) {
  Vector<T> v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

template <class T>
inline void store(T *to, Vector<T> v) {
  std::memcpy(to, &v, sizeof v);
}

template <class T>
inline Vector<T> splat(T value) {
  return value - Vector<T>{};  // x - 0 is x for every x, so this compiles to a broadcast; 0 + x would not
}

// The lanes of a vector of either kind turned by `By` places.
template <class T, int By, class V>
inline V rotated(V v) {
#if defined(__clang__)
  V out;
  for (int i = 0; i < lanes<T>; ++i) out[i] = v[(i + By) % lanes<T>];
  return out;
#else
  Index<T> from;
  for (int i = 0; i < lanes<T>; ++i) from[i] = (i + By) % lanes<T>;
  return __builtin_shuffle(v, from);
#endif
}

template <class T, int By = lanes<T> / 2>
inline T sum_of_lanes(Vector<T> v) {
  if constexpr (By == 0)
    return v[0];
  else
    return sum_of_lanes<T, By / 2>(v + rotated<T, By>(v));
}

// The sums of neighbours in two vectors, Step lanes apart: Step of them from a, Step from b, and so on.
template <class T, int Step, class V>
inline V paired(V a, V b) {
#if defined(__clang__)
  V one, other;
  for (int i = 0; i < lanes<T>; ++i) {
    one[i] = i / Step % 2 == 0 ? a[i] : b[i - Step];
    other[i] = i / Step % 2 == 0 ? a[i + Step] : b[i];
  }
  return one + other;
#else
  Index<T> from;
  for (int i = 0; i < lanes<T>; ++i) from[i] = i / Step % 2 == 0 ? i : lanes<T> + i - Step;
  return __builtin_shuffle(a, b, from) + __builtin_shuffle(a, b, from + Step);
#endif
}

// In lane i the sum of all lanes of vectors[i], of which there are n. Inlined, so that they may stay in registers.
template <class T, int Step = lanes<T>, class V>
[[gnu::always_inline]] inline V sums_of_lanes(const V *vectors, int n) {
  if (n <= 0) return V{};
  if constexpr (Step == 1)
    return vectors[0];
  else
    return paired<T, Step / 2>(sums_of_lanes<T, Step / 2>(vectors, n),
                               sums_of_lanes<T, Step / 2>(vectors + Step / 2, n - Step / 2));
}

// The smallest lane, in every lane.
template <class T, int By, class V>
inline V min_of_lanes(V v) {
  if constexpr (By == 0) {
    return v;
  } else {
    const V other = rotated<T, By>(v);
    return min_of_lanes<T, By / 2>(V(other < v ? other : v));
  }
}

template <class T, class V>
inline V min_of_lanes(V v) {
  return min_of_lanes<T, lanes<T> / 2, V>(v);
}

}  // namespace
}  // namespace eulermeans
