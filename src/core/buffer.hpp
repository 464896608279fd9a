// Scratch memory, and how stored coordinates become numbers to compute with.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace eulermeans {
namespace {

// Uninitialised, cache-line aligned scratch. Not std::vector: a template of the standard library that is
// instantiated in a translation unit built for AVX may be the copy that the linker keeps for every other one.
template <class T>
class Buffer {
 public:
  explicit Buffer(std::int64_t size) {
    const std::size_t bytes = (std::size_t(size) * sizeof(T) + 63) / 64 * 64;
    data_ = static_cast<T *>(std::aligned_alloc(64, bytes == 0 ? 64 : bytes));
    if (data_ == nullptr) throw std::bad_alloc();
  }
  ~Buffer() { std::free(data_); }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  T *data() { return data_; }

 private:
  T *data_;
};

struct Half {
  std::uint16_t bits;
};

template <class S>
constexpr bool is_byte = sizeof(S) == 1;

template <class T, class S>
inline T widened(S value) {
  return T(value);
}

template <>
inline float widened<float, Half>(Half value) {
  // Moving exponent and mantissa into float's place leaves the value 2^112 too small, denormals included.
  std::uint32_t magnitude = std::uint32_t(value.bits & 0x7fffu) << 13;
  float scaled;
  std::memcpy(&scaled, &magnitude, sizeof scaled);
  scaled *= 5192296858534827628530496329220096.0f;
  std::uint32_t bits;
  std::memcpy(&bits, &scaled, sizeof bits);
  bits |= magnitude >= 0x0f800000u ? 0x7f800000u : 0u;  // infinity and NaN
  bits |= std::uint32_t(value.bits & 0x8000u) << 16;
  std::memcpy(&scaled, &bits, sizeof scaled);
  return scaled;
}

template <class S, class T>
inline void widen(const S *stored, T *out, std::int64_t n) {
  std::int64_t i = 0;
#if defined(__F16C__)
  if constexpr (std::is_same_v<S, Half>)
    for (; i + 8 <= n; i += 8)
      _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(stored + i))));
#endif
  for (; i < n; ++i) out[i] = widened<T, S>(stored[i]);
}

}  // namespace
}  // namespace eulermeans
