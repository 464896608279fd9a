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
  return Vector<T>{} + value;
}

template <class T>
inline T sum_of_lanes(Vector<T> v) {
  T total = 0;
  for (int i = 0; i < lanes<T>; ++i) total += v[i];
  return total;
}

}  // namespace
}  // namespace eulermeans
