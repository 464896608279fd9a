// The choice between the ways to find the nearest center. src/core/README.md has a table of the conditions.
#pragma once

#include <memory>

#include "nearest_bytes.hpp"
#include "nearest_columns.hpp"
#include "nearest_direct.hpp"
#include "nearest_few_features.hpp"
#include "nearest_product.hpp"

namespace eulermeans {
namespace {

// What the caller needs to know about the squared distance to the second nearest center: nothing, whether it is larger
// than that to the nearest, a lower bound, or all.
enum class Second { nothing, whether_larger, lower_bound, exact };

// Finds the nearest centers of the first n rows of a group, by one of the ways.
template <class T, class S>
struct NearestFinder {
  virtual ~NearestFinder() = default;
  virtual bool reads_stored() const = 0;           // reads rows as they are stored, not converted to T
  virtual std::int64_t scratch_bytes() const = 0;  // scratch memory that each thread needs
  virtual void find(const RowGroup<T, S> &group, int n, void *scratch, Nearest *found) = 0;
};

template <class T, class S, class Way>
struct FinderOf final : NearestFinder<T, S> {
  template <class... Arguments>
  explicit FinderOf(const Arguments &...arguments) : way(arguments...) {}

  bool reads_stored() const override { return Way::reads_stored; }
  std::int64_t scratch_bytes() const override { return way.scratch_bytes(); }
  void find(const RowGroup<T, S> &group, int n, void *scratch, Nearest *found) override {
    if constexpr (Way::reads_stored)
      way.find(group.stored, n, scratch, found);
    else
      way.find(group.points, n, scratch, found);
  }

  Way way;
};

template <class T, class S>
using Finder = std::unique_ptr<NearestFinder<T, S>>;

// Null if the way cannot handle the range of the centers, unless it is the last resort.
template <class T, class S, class Way>
Finder<T, S> make_finder(const Centers<T> &centers, bool last_resort) {
  auto finder = std::make_unique<FinderOf<T, S, Way>>(centers);
  if (!last_resort && !finder->way.usable()) return nullptr;
  return finder;
}

// Distances or keys are computed as A. Null if A is narrower than T and the centers are out of its range.
template <class T, class S, class A>
Finder<T, S> choose_in_precision(const Centers<T> &centers) {
  constexpr bool last_resort = std::is_same_v<T, A>;
  if (centers.prices == nullptr && NearestColumns<T, A>::suits(centers))
    return make_finder<T, S, NearestColumns<T, A>>(centers, last_resort);
  if (centers.n_clusters <= lanes<A>)
    return make_finder<T, S, NearestProduct<T, A, vector_bytes>>(centers, last_resort);
  return make_finder<T, S, NearestProduct<T, A, product_bytes>>(centers, last_resort);
}

// Only NearestProduct knows prices. A single center needs none.
template <class T, class S>
Finder<T, S> choose_nearest(const Centers<T> &centers, Second second) {
  const bool priced = centers.prices != nullptr;
  if (!priced && centers.n_features <= NearestFewFeatures<T>::most_features)
    return std::make_unique<FinderOf<T, S, NearestFewFeatures<T>>>(centers, second != Second::nothing);
  const bool many_features = centers.n_features >= NearestDirect<T>::fewest_features;
  if constexpr (is_byte<S> && bytes_multiply)
    if (!priced && second <= Second::whether_larger && many_features && centers.n_clusters > 1)
      if (Finder<T, S> finder = make_finder<T, S, NearestBytes<S>>(centers, false)) return finder;
  if (!priced && many_features && centers.n_clusters <= NearestDirect<T>::most_centers)
    return std::make_unique<FinderOf<T, S, NearestDirect<T>>>(centers);
  if constexpr (std::is_same_v<T, double>)  // float takes half the time
    if (second != Second::exact)
      if (Finder<T, S> finder = choose_in_precision<T, S, float>(centers)) return finder;
  return choose_in_precision<T, S, T>(centers);
}

}  // namespace
}  // namespace eulermeans
