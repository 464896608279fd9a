// A few rows of the points, as a search for their nearest centers wants them.
#pragma once

#include <type_traits>

#include "nearest.hpp"

namespace eulermeans {
namespace {

// Rows as they are stored (as S) and as numbers to compute with: the same rows where nothing need be done to them. Past
// the end of the group lie the rows that come next, to prefetch, or copies of the last one.
template <class T, class S>
class Group {
 public:
  Group(std::int64_t n_features, bool widens)
      : n_features_(n_features), widens_(widens), widened_(widens && !same ? group_rows * n_features : 0) {}

  void read(const Points &from, std::int64_t first, int n) {
    for (int p = 0; p < group_rows + look_ahead; ++p) {
      const std::int64_t i = std::min(first + p, from.n_rows - 1), index = from.rows == nullptr ? i : from.rows[i];
      stored[p] = static_cast<const S *>(from.data) + index * n_features_;
      if (p < n) row[p] = index;
    }
    if (!widens_) return;
    for (int p = 0; p < group_rows + look_ahead; ++p) points[p] = same || p < n ? widened(p) : points[n - 1];
  }

  std::int64_t row[group_rows];
  const S *stored[group_rows + look_ahead];
  const T *points[group_rows + look_ahead];  // not there if the group does not widen

 private:
  static constexpr bool same = std::is_same_v<T, S>;

  const T *widened(int p) {
    if constexpr (same) {
      return stored[p];
    } else {
      T *out = widened_.data() + p * n_features_;
      widen(stored[p], out, n_features_);
      return out;
    }
  }

  const std::int64_t n_features_;
  const bool widens_;
  Buffer<T> widened_;
};

}  // namespace
}  // namespace eulermeans
