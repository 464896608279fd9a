// Inner products as if computed with twice the digits of a double (Ogita, Rump and Oishi 2005, Dot2): for the few
// squared distances that cancel.
#pragma once

#include <cmath>

namespace eulermeans {
namespace {

// A sum and what rounding took from it.
struct Twofold {
  double high = 0, low = 0;

  double value() const { return high + low; }

  inline void add(double term) {
    const double sum = high + term, part = sum - high;
    low += (high - (sum - part)) + (term - part);
    high = sum;
  }

  template <class T>
  inline void add_product(T a, T b) {
    double product = double(a) * double(b);
    if constexpr (sizeof(T) == sizeof(double)) {
      // Hidden from the compiler, which may otherwise fuse this product, unrounded, into the sum above.
      __asm__("" : "+m"(product));
      low += std::fma(double(a), double(b), -product);
    }  // the product of two floats is exact
    add(product);
  }
};

// |x|^2 - 2 x.c + |c|^2. Exactly 0 where the three are products of the same numbers in the same order.
inline double squared_distance(const Twofold &point, const Twofold &product, const Twofold &center) {
  Twofold total = center;
  total.add(point.high);
  total.add(-2 * product.high);
  const double distance = total.high + (total.low + (point.low - 2 * product.low));
  return distance < 0 ? 0 : distance;
}

}  // namespace
}  // namespace eulermeans
