// Scratch memory, the types that coordinates are stored as, and their conversion to float or double.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <type_traits>

#include "kernels.hpp"

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace eulermeans {
namespace {

// Uninitialised scratch memory, aligned to cache lines. Not std::vector<double>: the linker keeps one copy of such a
// template for the whole library, and that copy may be the one compiled with AVX instructions.
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

// Scratch memory that is used again and again, and grows where it is too small.
template <class T>
class Scratch {
 public:
  // Room for `size` elements. What was there before is lost.
  T *resize(std::int64_t size) {
    if (size > size_) {
      buffer_.emplace(size + size / 2);
      size_ = size + size / 2;
    }
    return data();
  }
  T *filled(std::int64_t size, T value) { return std::fill_n(resize(size), size, value) - size; }
  T *data() { return buffer_->data(); }
  const T *data() const { return const_cast<Scratch *>(this)->data(); }
  T &operator[](std::int64_t i) { return data()[i]; }
  const T &operator[](std::int64_t i) const { return data()[i]; }

 private:
  std::optional<Buffer<T>> buffer_;
  std::int64_t size_ = 0;
};

struct Half {
  std::uint16_t bits;
};

template <class S>
constexpr bool is_byte = sizeof(S) == 1;

template <class T, class S>
inline T widened(S value) {
  if constexpr (!std::is_same_v<S, Half>) {
    return T(value);
  } else {
    // With exponent and mantissa shifted into a float's position, the value is too small by 2^112, denormals included.
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
}

// Converts n stored coordinates.
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

// Calls f.operator()<T, S>(): T is the type of the arithmetic, S the type that coordinates are stored as.
template <class F>
auto with_types(Storage storage, F f) {
  switch (storage) {
    case Storage::float64: return f.template operator()<double, double>();
    case Storage::float16: return f.template operator()<float, Half>();
    case Storage::uint8: return f.template operator()<float, std::uint8_t>();
    case Storage::int8: return f.template operator()<float, std::int8_t>();
    default: return f.template operator()<float, float>();
  }
}

}  // namespace
}  // namespace eulermeans
