// What every point would choose at the present prices, and how far that is from the bounds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "placement.hpp"
#include "placement_pause.hpp"

namespace eulermeans {

constexpr double infinite_cost = std::numeric_limits<double>::infinity();

// How far numbers have moved against each other.
inline double spread(const double *now, const double *before, std::int64_t n) {
  double lowest = now[0] - before[0], highest = lowest;
  for (std::int64_t j = 1; j < n; ++j) {
    lowest = std::min(lowest, now[j] - before[j]);
    highest = std::max(highest, now[j] - before[j]);
  }
  return highest - lowest;
}

template <class T>
class Choices {
 public:
  Choices(const PlacementProblem<T> &problem, const double *prices);

  double weight(std::int64_t i) const { return problem.weights == nullptr ? 1 : problem.weights[i]; }
  double mean_weight() const { return n_with_weight == 0 ? 1 : total / double(n_with_weight); }

  // The squared distance; or what a transfer costs, counting that the mean follows.
  double cost(std::int64_t i, std::int64_t j) const {
    const double distance = problem.distances[i * k + j], squared = distance * distance;
    return problem.current == nullptr ? squared : transfer_cost(i, j, squared);
  }

  // Sets the choices of all points at the present prices, and the weights of the clusters. Where prices may move only so
  // far, the first call lists the clusters that a point can ever choose. A point that has only one gets the reach as its
  // gap, which is at least that.
  void choose();

  // Whether only some clusters are near a point: all others cost more than its choice by at least the reach, as long as
  // prices move no further than that.
  bool is_listed() const { return !list_starts_.empty(); }

  // Calls with each cluster near a point, in ascending order.
  template <class Action>
  void for_each_near(std::int64_t i, Action action) const {
    if (!is_listed()) {
      for (std::int64_t j = 0; j < k; ++j) action(j);
      return;
    }
    for (std::int64_t t = list_starts_[std::size_t(i)]; t < list_starts_[std::size_t(i) + 1]; ++t)
      action(std::int64_t(lists_[std::size_t(t)]));
  }

  // Subtracts the sink's price from all, which changes no choice.
  void normalize();

  // How far prices may still move against each other.
  double reach_left() const;

  // Half the weight that is not where the prices ask for it: what has to move.
  double wrong() const;

  const PlacementProblem<T> problem;
  const std::vector<double> given;  // (k,) prices
  const std::int64_t k;
  double total = 0;      // weight
  double tolerance = 0;  // less weight than this counts as none
  std::int64_t n_with_weight = 0;
  Pause pause;
  std::vector<std::int32_t> first;  // (n_points,) the cheapest clusters
  std::vector<double> gap;          // (n_points,) how much more the second choice costs; infinite without weight
  std::vector<double> price;        // (k + 1,) of the clusters, and of the sink behind them
  std::vector<double> excess;       // (k + 1,) the weight that a node has too much
  std::vector<double> size;         // (k,) of each cluster: its weight,
  std::vector<double> flow;         // (k,) and the weight that its price asks for, which flows on to the sink

 private:
  double transfer_cost(std::int64_t i, std::int64_t j, double squared) const;
  void set_priced(std::int64_t i);
  void set_flow();
  void list(double least);

  std::vector<double> priced_;             // (k,) scratch: the costs of one point with prices
  std::vector<std::int64_t> list_starts_;  // (n_points + 1,) where the list of each point begins; empty: no lists
  std::vector<std::int32_t> lists_;        // clusters
  bool may_list_;                          // whether prices are limited and lists are short
};

}  // namespace eulermeans
