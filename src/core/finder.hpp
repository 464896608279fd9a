// Centers prepared for a search, and which of the ways to search suits their number and the number of features.
#pragma once

#include "direct.hpp"

namespace eulermeans {
namespace {

enum class Way { by_feature, directly, by_product };

template <class T>
inline Way way_for(std::int64_t n_features, std::int64_t n_clusters) {
  if (n_features <= few_features) return Way::by_feature;
  return measured_directly<T>(n_features, n_clusters) ? Way::directly : Way::by_product;
}

// What one search writes that nobody else may read: one for each thread.
template <class T>
struct Found {
  explicit Found(std::int64_t n_keys) : keys(n_keys) {}
  Nearest nearest[group_rows];
  Buffer<T> keys;
};

template <class T>
class Finder {
 public:
  Finder(const Centers<T> &centers, std::int64_t n_features)
      : n_features(n_features),
        centers_(centers),
        way_(way_for<T>(n_features, centers.n_clusters)),
        panels_(way_ == Way::by_product ? centers : Centers<T>{nullptr, 0}, n_features),
        turns_(way_ == Way::directly ? centers : Centers<T>{nullptr, 0}, n_features) {}

  // To be subtracted from points before a search; null if nothing is.
  const T *shift() { return panels_.shifted ? panels_.shift() : nullptr; }
  std::int64_t n_keys() const { return panels_.n_panels * panels_.width; }

  // points: the coordinates as stored; moved: less the shift.
  void find(const T *const *points, const T *const *moved, int n_points, bool second, Found<T> &found) {
    if (way_ == Way::by_feature)
      nearest_of_few_features<T>(points, n_points, centers_, int(n_features), second, found.nearest);
    else if (way_ == Way::directly)
      nearest_directly<T>(points, n_points, centers_, turns_, n_features, found.nearest);
    else
      nearest_by_product<T>(points, moved, n_points, panels_, centers_, found.keys.data(), found.nearest);
  }

  const std::int64_t n_features;

 private:
  const Centers<T> centers_;
  const Way way_;
  Panels<T> panels_;
  Turns<T> turns_;
};

}  // namespace
}  // namespace eulermeans
