// Python binding of the placement of points in clusters of bounded weight.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "bindings.hpp"
#include "placement.hpp"

namespace eulermeans {
namespace {

// Beyond these, costs are no finite numbers: a placement would go on for ever, or find no cluster for a point.
constexpr double largest_distance = 1e154, largest_price = 5e307;

// Requires lowest <= value <= highest for all values, which are then numbers.
template <class T>
void check_between(const char *name, const T *values, std::size_t n, double lowest, double highest) {
  bool good = true;
  for (std::size_t i = 0; i < n; ++i) good &= double(values[i]) >= lowest && double(values[i]) <= highest;
  if (good) return;
  throw nb::value_error((std::string(name) + ": expected numbers that are finite and not too large").c_str());
}

template <class T>
bool place_points(const Array<2, const T> &distances, const Weights &lowest, const Weights &highest,
                  const Doubles &prices, const Labels &labels, const MaybeWeights &weights,
                  const std::optional<ReadLabels> &current, const MaybeWeights &counts, bool exact, double reach,
                  const std::optional<Array<1, std::int64_t>> &n_in_doubt) {
  const std::size_t n = distances.shape(0), k = distances.shape(1);
  require(k > 0, "distances: expected a column for each of at least one center");
  require(lowest.shape(0) == k && highest.shape(0) == k && prices.shape(0) == k,
          "lowest, highest, prices: expected one for each center");
  require(reach > 0, "reach: expected a positive number");
  require(labels.shape(0) == n, "labels: expected one for each point");
  constexpr double infinite = std::numeric_limits<double>::infinity(), finite = std::numeric_limits<double>::max();
  check_between("distances", distances.data(), n * k, 0, largest_distance);
  check_between("lowest", lowest.data(), k, -infinite, finite);
  check_between("highest", highest.data(), k, -finite, infinite);
  check_between("prices", prices.data(), k, -largest_price, largest_price);
  if (weights) {
    require(weights->shape(0) == n, "weights: expected one for each point");
    check_between("weights", weights->data(), n, 0, finite);
  }
  require(current.has_value() == counts.has_value(), "current, counts: expected both or none");
  if (current) {
    require(current->shape(0) == n && counts->shape(0) == k,
            "current, counts: expected one for each point, one for each center");
    check_range("current", current->data(), n, k);
    check_between("counts", counts->data(), k, -finite, finite);
  }
  std::vector<double> clipped(counts ? k : 0);  // weights that were subtracted again may leave a little less than 0
  for (std::size_t j = 0; j < clipped.size(); ++j) clipped[j] = std::max(0.0, counts->data()[j]);
  if (n_in_doubt) require(n_in_doubt->shape(0) == 1, "n_in_doubt: expected a single number");
  const PlacementProblem<T> problem{distances.data(),
                                    std::int64_t(n),
                                    std::int64_t(k),
                                    weights ? weights->data() : nullptr,
                                    lowest.data(),
                                    highest.data(),
                                    current ? current->data() : nullptr,
                                    counts ? clipped.data() : nullptr,
                                    reach};
  Apart().reads(distances, lowest, highest, weights, current, counts).writes(prices, labels, n_in_doubt);
  const PlacementResult placed = without_gil([&] { return place(problem, prices.data(), labels.data(), exact); });
  if (n_in_doubt) *n_in_doubt->data() = placed.n_in_doubt;
  return placed.is_met;
}

}  // namespace

void bind_placement(nb::module_ &m) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  const char *doc = "Place points at the least sum of squared distances with every cluster's weight within its bounds.";
  m.def("place", aligned(&place_points<float>), arg("distances"), arg("lowest"), arg("highest"), arg("prices"),
        arg("labels"), optional_arg("weights"), optional_arg("current"), optional_arg("counts"), arg("exact") = true,
        arg("reach") = infinite, optional_arg("n_in_doubt"), doc);
  m.def("place", aligned(&place_points<double>), arg("distances"), arg("lowest"), arg("highest"), arg("prices"),
        arg("labels"), optional_arg("weights"), optional_arg("current"), optional_arg("counts"), arg("exact") = true,
        arg("reach") = infinite, optional_arg("n_in_doubt"));
}

}  // namespace eulermeans
