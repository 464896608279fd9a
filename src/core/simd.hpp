// Fixed-width vectors by the vector extension of GCC and Clang: the same source compiles to SSE2, AVX2, AVX-512 or
// NEON, depending on the flags of the translation unit.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace eulermeans {
namespace {

constexpr int vector_bytes = EULERMEANS_VECTOR_BYTES;

#if defined(__AVX512VL__) || defined(__aarch64__)
constexpr bool many_registers = true;  // 32 vector registers instead of 16
#else
constexpr bool many_registers = false;
#endif

// Vector size for matrix products. On Zen 4, 64-byte vectors have the same peak rate as 32-byte vectors but need half
// the instructions and come closer to it: 112 Gflop/s on one core instead of 78 to 93.
#if defined(__AVX512F__)
constexpr int product_bytes = 64;
#else
constexpr int product_bytes = vector_bytes;
#endif

// B is the size of the vector in bytes. Comparisons give integers as wide as T.
template <class T, int B = vector_bytes>
struct Simd {
  typedef std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t> Integer;
  typedef T Vector __attribute__((vector_size(B)));
  typedef Integer Index __attribute__((vector_size(B)));
};

template <class T, int B = vector_bytes>
using Vector = typename Simd<T, B>::Vector;
template <class T, int B = vector_bytes>
using Index = typename Simd<T, B>::Index;
template <class T, int B = vector_bytes>
constexpr int lanes = B / int(sizeof(T));
template <class V>
constexpr int lanes_of = int(sizeof(V) / sizeof(V{}[0]));

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
  return value - Vector<T, B>{};  // x - 0 is x for every x, so this compiles to a broadcast; 0 + x does not
}

// Lane i of the result is lane from(i) of a, or lane from(i) - n of b, where n is the number of lanes.
template <class V, class From>
[[gnu::always_inline]] inline V shuffled(V a, V b, const From &from) {
  constexpr int n = lanes_of<V>;
#if defined(__clang__)
  V out;
  for (int i = 0; i < n; ++i) out[i] = from(i) < n ? a[from(i)] : b[from(i) - n];
  return out;
#else
  decltype(a < b) lane;
  for (int i = 0; i < n; ++i) lane[i] = from(i);
  return __builtin_shuffle(a, b, lane);
#endif
}

// Combines all lanes with the function; every lane of the result is the same.
template <int By, class V, class Combine>
inline V combined_lanes(V v, const Combine &combine) {
  if constexpr (By == 0)
    return v;
  else
    return combined_lanes<By / 2>(combine(v, shuffled(v, v, [](int i) { return (i + By) % lanes_of<V>; })), combine);
}

template <class V>
inline auto sum_of_lanes(V v) {
  return combined_lanes<lanes_of<V> / 2>(v, [](V a, V b) { return V(a + b); })[0];
}

// Every lane of the result is the smallest lane of v.
template <class V>
inline V min_of_lanes(V v) {
  return combined_lanes<lanes_of<V> / 2>(v, [](V a, V b) { return V(b < a ? b : a); });
}

// Splits a and b into runs of Step lanes and interleaves their even (Odd = 0) or odd (Odd = 1) runs.
template <int Step, int Odd, class V>
inline V alternated(V a, V b) {
  constexpr int n = lanes_of<V>;
  return shuffled(a, b, [](int i) { return i / Step % 2 == 0 ? i + Odd * Step : n + i - (1 - Odd) * Step; });
}

// Transposes a square matrix in place: there are as many rows as lanes.
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

// Lane i of the result is the sum of all lanes of vectors[i], i < n. Inlined so that the vectors can stay in registers.
template <int Step, class V>
[[gnu::always_inline]] inline V sums_of_lanes(const V *vectors, int n) {
  if (n <= 0) return V{};
  if constexpr (Step == 1) {
    return vectors[0];
  } else {
    constexpr int half = Step / 2;
    const V a = sums_of_lanes<half>(vectors, n), b = sums_of_lanes<half>(vectors + half, n - half);
    return alternated<half, 0>(a, b) + alternated<half, 1>(a, b);
  }
}

}  // namespace
}  // namespace eulermeans
