// Placement of points in clusters of bounded weight, at the least sum of squared distances. Knows neither Python nor
// coordinates: only distances.
#pragma once

#include <cstdint>

namespace eulermeans {

// What is to be placed. `current` and `counts` are both null or both given.
template <class T>
struct PlacementProblem {
  const T *distances;  // (n_points, n_clusters), IN
  std::int64_t n_points, n_clusters;
  const double *weights;        // (n_points,), IN; null: all 1
  const double *lowest;         // (n_clusters,) the least weight of each cluster, IN
  const double *highest;        // (n_clusters,) the most, IN
  const std::int32_t *current;  // (n_points,) the cluster that each point is in, IN; null: none
  const double *counts;         // (n_clusters,) the weight of each cluster with all its points, IN; null: unknown
  double reach;                 // how far prices may move against each other: beyond, other points would move too
};

struct PlacementResult {
  bool is_met;              // whether the bounds are met
  std::int64_t n_in_doubt;  // points whose first choice was no surer than prices have moved against each other
};

// Sets labels and improves prices until both are optimal. If not `exact`, only improves prices while many points find a
// place at once; labels are then the cheapest clusters. Asks the clock and for signals now and then, and throws what
// they answer.
PlacementResult place(const PlacementProblem<float> &problem, double *prices, std::int32_t *labels, bool exact);
PlacementResult place(const PlacementProblem<double> &problem, double *prices, std::int32_t *labels, bool exact);

}  // namespace eulermeans
