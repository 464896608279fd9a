// Centers prepared for a search, and which of the ways to search suits them and the points.
#pragma once

#include <memory>

#include "bytes.hpp"
#include "columns.hpp"
#include "direct.hpp"
#include "features.hpp"
#include "group.hpp"
#include "product.hpp"

namespace eulermeans {
namespace {

// What is asked for of the second nearest center's squared distance.
enum class Second { nothing, at_most_it, itself };

// A way to find the nearest centers of the first n points of a group. S is how the points are stored.
template <class T, class S>
struct Way {
  virtual ~Way() = default;
  virtual bool widens() const { return true; }              // whether it reads the points as T
  virtual std::int64_t scratch_bytes() const { return 0; }  // that each thread needs
  virtual void find(const Group<T, S> &group, int n, void *scratch, Nearest *found) = 0;
};

template <class T, class S>
class ByFeature final : public Way<T, S> {
 public:
  ByFeature(const Centers<T> &centers, std::int64_t n_features, bool second)
      : centers_(centers), n_features_(n_features), second_(second) {}

  void find(const Group<T, S> &group, int n, void *, Nearest *found) override {
    nearest_of_few_features<T>(group.points, n, centers_, int(n_features_), second_, found);
  }

 private:
  const Centers<T> centers_;
  const std::int64_t n_features_;
  const bool second_;
};

template <class T, class S>
class Directly final : public Way<T, S> {
 public:
  Directly(const Centers<T> &centers, std::int64_t n_features)
      : centers_(centers), n_features_(n_features), turns_(centers, n_features) {}

  void find(const Group<T, S> &group, int n, void *, Nearest *found) override {
    nearest_directly<T>(group.points, n, centers_, turns_, n_features_, found);
  }

 private:
  const Centers<T> centers_;
  const std::int64_t n_features_;
  Turns<T> turns_;
};

template <class S>
class ByBytes final : public Way<float, S> {
 public:
  ByBytes(const Centers<float> &centers, std::int64_t n_features)
      : centers_(centers), n_features_(n_features), turns_(centers, n_features) {}

  bool usable() const { return turns_.usable; }
  bool widens() const override { return false; }
  std::int64_t scratch_bytes() const override { return n_features_ * std::int64_t(sizeof(float)); }

  void find(const Group<float, S> &group, int n, void *scratch, Nearest *found) override {
    nearest_of_bytes<S>(group.stored, n, turns_, centers_, n_features_, static_cast<float *>(scratch), found);
  }

 private:
  const Centers<float> centers_;
  const std::int64_t n_features_;
  ByteTurns<S> turns_;
};

// Whether squares and products of numbers of this size are far from underflow and overflow.
template <class A>
bool in_range(A norm) {
  return norm > A(1e-12) && norm < A(1e15);
}

template <class T, class S, class A>
class ByColumns final : public Way<T, S> {
 public:
  ByColumns(const Centers<T> &centers, std::int64_t n_features) : centers_(centers), turns_(centers, n_features) {}

  bool usable() const { return in_range(turns_.largest_norm); }
  std::int64_t scratch_bytes() const override { return group_rows * turns_.n_features * std::int64_t(sizeof(A)); }

  void find(const Group<T, S> &group, int n, void *scratch, Nearest *found) override {
    nearest_by_columns(group.points, n, turns_, centers_, static_cast<A *>(scratch), found);
  }

 private:
  const Centers<T> centers_;
  Interleaved<T, A> turns_;
};

template <class T, class S, class A, int B>
class ByProduct final : public Way<T, S> {
 public:
  ByProduct(const Centers<T> &centers, std::int64_t n_features) : centers_(centers), panels_(centers, n_features) {}

  bool usable() const { return in_range(panels_.largest_norm); }

  std::int64_t scratch_bytes() const override {
    const std::int64_t copied = panels_.shifted ? group_rows * panels_.n_features : 0;
    return (padded_clusters() + copied) * std::int64_t(sizeof(A));
  }

  void find(const Group<T, S> &group, int n, void *scratch, Nearest *found) override {
    A *keys = static_cast<A *>(scratch), *copies = keys + padded_clusters();
    if constexpr (std::is_same_v<T, A>)
      if (!panels_.shifted) return nearest_by_product(group.points, group.points, n, panels_, centers_, keys, found);
    const A *moved[group_rows + look_ahead];
    for (int p = 0; p < group_rows + look_ahead; ++p) {
      moved[p] = copies + std::min(p, n - 1) * panels_.n_features;
      if (p < n) subtract(group.points[p], panels_.shift(), copies + p * panels_.n_features);
    }
    nearest_by_product(group.points, moved, n, panels_, centers_, keys, found);
  }

 private:
  std::int64_t padded_clusters() const { return (panels_.n_vectors + panels_.has_rest) * lanes<A, B>; }

  void subtract(const T *point, const T *shift, A *out) const {
    for (std::int64_t f = 0; f < panels_.n_features; ++f) out[f] = A(point[f] - shift[f]);
  }

  const Centers<T> centers_;
  Panels<T, A, B> panels_;
};

template <class T, class S>
class Finder {
 public:
  Finder(const Centers<T> &centers, std::int64_t n_features, Second second)
      : n_features(n_features), way_(best_way(centers, n_features, second)) {}

  bool widens() const { return way_->widens(); }
  std::int64_t scratch_bytes() const { return way_->scratch_bytes(); }
  void find(const Group<T, S> &group, int n, void *scratch, Nearest *found) { way_->find(group, n, scratch, found); }

  const std::int64_t n_features;

 private:
  using AnyWay = std::unique_ptr<Way<T, S>>;

  static AnyWay best_way(const Centers<T> &centers, std::int64_t n_features, Second second) {
    if (n_features <= few_features<T>)
      return std::make_unique<ByFeature<T, S>>(centers, n_features, second != Second::nothing);
    if constexpr (is_byte<S> && bytes_multiply)
      if (second == Second::nothing && n_features >= many_features && centers.n_clusters > 1)
        if (auto way = std::make_unique<ByBytes<S>>(centers, n_features); way->usable()) return way;
    if (measured_directly<T>(n_features, centers.n_clusters))
      return std::make_unique<Directly<T, S>>(centers, n_features);
    if constexpr (std::is_same_v<T, double>)  // in half the time
      if (second != Second::itself)
        if (AnyWay way = in_precision<float>(centers, n_features)) return way;
    return in_precision<T>(centers, n_features);
  }

  // Nothing if the centers are out of the range of A, which is narrower than T.
  template <class A>
  static AnyWay in_precision(const Centers<T> &centers, std::int64_t n_features) {
    if (measured_by_columns(n_features, centers.n_clusters))
      return if_usable<ByColumns<T, S, A>, A>(centers, n_features);
    if (centers.n_clusters <= lanes<A>) return if_usable<ByProduct<T, S, A, vector_bytes>, A>(centers, n_features);
    return if_usable<ByProduct<T, S, A, product_bytes>, A>(centers, n_features);
  }

  template <class W, class A>
  static AnyWay if_usable(const Centers<T> &centers, std::int64_t n_features) {
    auto way = std::make_unique<W>(centers, n_features);
    if (!std::is_same_v<T, A> && !way->usable()) return nullptr;
    return way;
  }

  const AnyWay way_;
};

// What one thread works with.
template <class T, class S>
struct Worker {
  explicit Worker(const Finder<T, S> &finder)
      : group(finder.n_features, finder.widens()), scratch(finder.scratch_bytes()) {}

  // The nearest centers of n rows, the first of which is `first`.
  void find(const Points &points, std::int64_t first, int n, Finder<T, S> &finder) {
    group.read(points, first, n);
    finder.find(group, n, scratch.data(), found);
  }

  Group<T, S> group;
  Buffer<char> scratch;
  Nearest found[group_rows];
};

}  // namespace
}  // namespace eulermeans
