// Centers prepared for a search, and which of the ways to search suits them and the points.
#pragma once

#include "bytes.hpp"
#include "direct.hpp"
#include "group.hpp"

namespace eulermeans {
namespace {

enum class Way { by_feature, directly, by_product, by_bytes };

// `second`: whether the second nearest is asked for. S is how the points are stored.
template <class T, class S>
class Finder {
 public:
  Finder(const Centers<T> &centers, std::int64_t n_features, bool second)
      : n_features(n_features),
        second(second),
        centers_(centers),
        bytes_(may_be_bytes() ? centers : none, n_features),
        way_(best_way()),
        panels_(way_ == Way::by_product ? centers : none, n_features),
        turns_(way_ == Way::directly ? centers : none, n_features) {}

  // To be subtracted from points before a search; null if nothing is.
  const T *shift() { return panels_.shifted ? panels_.shift() : nullptr; }
  bool widens() const { return way_ != Way::by_bytes; }
  std::int64_t scratch() const { return way_ == Way::by_bytes ? n_features : panels_.n_panels * panels_.width; }

  void find(const Group<T, S> &group, int n, T *scratch, Nearest *found) {
    if (way_ == Way::by_feature)
      nearest_of_few_features<T>(group.points, n, centers_, int(n_features), second, found);
    else if (way_ == Way::directly)
      nearest_directly<T>(group.points, n, centers_, turns_, n_features, found);
    else if (way_ == Way::by_product)
      nearest_by_product<T>(group.points, group.moved, n, panels_, centers_, scratch, found);
    else if constexpr (has_bytes)
      nearest_of_bytes<S>(group.stored, n, bytes_, centers_, n_features, scratch, found);
  }

  const std::int64_t n_features;
  const bool second;

 private:
  static constexpr bool has_bytes = is_byte<S> && bytes_multiply;
  static constexpr Centers<T> none{nullptr, 0};
  struct NoBytes {
    NoBytes(const Centers<T> &, std::int64_t) {}
    static constexpr bool usable = false;
  };

  bool may_be_bytes() const {
    return has_bytes && !second && n_features >= many_features && centers_.n_clusters > 1;
  }

  Way best_way() const {
    if (n_features <= few_features) return Way::by_feature;
    if (bytes_.usable) return Way::by_bytes;
    return measured_directly<T>(n_features, centers_.n_clusters) ? Way::directly : Way::by_product;
  }

  const Centers<T> centers_;
  std::conditional_t<has_bytes, ByteTurns<S>, NoBytes> bytes_;
  const Way way_;
  Panels<T> panels_;
  Turns<T> turns_;
};

// What one thread works with.
template <class T, class S>
struct Worker {
  explicit Worker(Finder<T, S> &finder)
      : group(finder.n_features, finder.widens(), finder.shift() != nullptr), scratch(finder.scratch()) {}

  // The nearest centers of n rows, the first of which is `first`.
  void find(const Points &points, std::int64_t first, int n, Finder<T, S> &finder) {
    group.read(points, first, n, finder.shift());
    finder.find(group, n, scratch.data(), found);
  }

  Group<T, S> group;
  Buffer<T> scratch;
  Nearest found[group_rows];
};

}  // namespace
}  // namespace eulermeans
