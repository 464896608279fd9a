#include "placement_choices.hpp"

#include <algorithm>
#include <cmath>

namespace eulermeans {
namespace {

constexpr double small_weight = 1e-9;       // of all weight: less counts as none
constexpr std::int64_t fewest_listed = 16;  // clusters: with fewer, lists do not pay
constexpr std::int64_t largest_part = 4;    // lists that hold more than one of this many clusters are given up

}  // namespace

template <class T>
Choices<T>::Choices(const PlacementProblem<T> &problem, const double *prices)
    : problem(problem),
      given(prices, prices + problem.n_clusters),
      k(problem.n_clusters),
      first(std::size_t(problem.n_points)),
      gap(std::size_t(problem.n_points)),
      price(std::size_t(k + 1)),
      excess(std::size_t(k + 1)),
      size(static_cast<std::size_t>(k)),
      flow(static_cast<std::size_t>(k)),
      priced_(static_cast<std::size_t>(k)),
      may_list_(problem.reach < infinite_cost && k >= fewest_listed) {
  std::copy_n(prices, k, price.begin());
  for (std::int64_t i = 0; i < problem.n_points; ++i) {
    total += weight(i);
    n_with_weight += weight(i) > 0;
  }
  tolerance = problem.weights == nullptr ? 0.5 : small_weight * total;
}

template <class T>
double Choices<T>::transfer_cost(std::int64_t i, std::int64_t j, double squared) const {
  const double count = problem.counts[j], w = weight(i);
  if (problem.current[i] != j) return squared * (count / (count + w));
  return count > w ? squared * (count / (count - w)) : 0;
}

// Sets the costs of a point in all clusters, plus the prices.
template <class T>
void Choices<T>::set_priced(std::int64_t i) {
  double *priced = priced_.data();
  const double *prices = price.data();
  if (problem.current != nullptr) {
    for (std::int64_t j = 0; j < k; ++j) priced[j] = cost(i, j) + prices[j];
    return;
  }
  const T *distances = problem.distances + i * k;
  for (std::int64_t j = 0; j < k; ++j) priced[j] = double(distances[j]) * double(distances[j]) + prices[j];
}

template <class T>
void Choices<T>::choose() {
  std::fill(size.begin(), size.end(), 0.0);
  const bool from_lists = is_listed();
  if (may_list_ && !from_lists) list_starts_.assign(1, 0);
  const bool to_lists = is_listed() && !from_lists;
  for (std::int64_t i = 0; i < problem.n_points; ++i) {
    double least = infinite_cost, next = infinite_cost;
    std::int32_t best = 0;
    const auto consider = [&](std::int64_t j, double priced) {
      if (!(priced < next)) return;  // nearly always: the branch is cheap
      if (priced < least) {
        next = least;
        least = priced;
        best = std::int32_t(j);
      } else {
        next = priced;
      }
    };
    if (from_lists) {
      pause.after(8);
      for_each_near(i, [&](std::int64_t j) { consider(j, cost(i, j) + price[std::size_t(j)]); });
      next = std::min(next, least + problem.reach);
    } else {
      pause.after(k);
      set_priced(i);
      for (std::int64_t j = 0; j < k; ++j) consider(j, priced_[std::size_t(j)]);
      if (to_lists && may_list_) list(least);
    }
    first[std::size_t(i)] = best;
    gap[std::size_t(i)] = weight(i) > 0 ? next - least : infinite_cost;
    size[std::size_t(best)] += weight(i);
  }
  if (!may_list_) list_starts_.clear();
  set_flow();
}

// Lists the clusters near the next point, whose costs are in the scratch.
template <class T>
void Choices<T>::list(double least) {
  const double limit = least + 2 * problem.reach;
  for (std::int64_t j = 0; j < k; ++j)
    if (priced_[std::size_t(j)] <= limit) lists_.push_back(std::int32_t(j));
  list_starts_.push_back(std::int64_t(lists_.size()));
  may_list_ = std::int64_t(lists_.size()) <= problem.n_points * k / largest_part;
}

// A cluster with a positive price must be full, one with a negative price must be at its lowest weight.
template <class T>
void Choices<T>::set_flow() {
  double all = 0;
  for (std::size_t j = 0; j < std::size_t(k); ++j) {
    const double low = problem.lowest[j], high = problem.highest[j];
    flow[j] = price[j] > 0 ? high : price[j] < 0 ? low : std::min(std::max(size[j], low), high);
    excess[j] = size[j] - flow[j];
    all += flow[j];
  }
  excess[std::size_t(k)] = all - total;
}

template <class T>
void Choices<T>::normalize() {
  const double sink = price[std::size_t(k)];
  for (double &each : price) each -= sink;
}

template <class T>
double Choices<T>::reach_left() const {
  return problem.reach < infinite_cost ? problem.reach - spread(price.data(), given.data(), k) : infinite_cost;
}

template <class T>
double Choices<T>::wrong() const {
  double all = 0;
  for (const double each : excess) all += std::abs(each) / 2;
  return all;
}

template class Choices<float>;
template class Choices<double>;

}  // namespace eulermeans
