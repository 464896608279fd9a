// Solver steps on samples so small that calls from Python would cost more than the arithmetic: runs of stochastic
// backward Euler steps, and transfers of single points between clusters.
#pragma once

#include "pass.hpp"

namespace eulermeans {
namespace {

// n_outer times: x <- average of y_l = x - gamma grad(y_{l-1}), l = 1 .. n_inner, each gradient on its own batch.
inline void implicit_steps(const Points &batches, const ImplicitSteps &steps, std::int64_t k, double *centers,
                           int n_threads) {
  const std::int64_t size = k * batches.n_features;
  const bool wide = batches.storage == Storage::float64;
  Buffer<double> iterate(size), average(size), sums(size), counts(k);
  Buffer<float> rounded(wide ? 0 : size);
  const void *iterate_as_given = wide ? static_cast<void *>(iterate.data()) : rounded.data();
  double step_size = steps.step_size;
  Points batch = batches;
  batch.n_rows = steps.batch_size;
  for (std::int64_t outer = 0; outer < steps.n_outer; ++outer, step_size *= steps.decay) {
    std::memcpy(iterate.data(), centers, std::size_t(size) * sizeof(double));
    std::memcpy(average.data(), centers, std::size_t(size) * sizeof(double));
    for (std::int64_t inner = 0; inner < steps.n_inner; ++inner, batch.rows += steps.batch_size) {
      double cost = 0;
      std::memset(sums.data(), 0, std::size_t(size) * sizeof(double));
      std::memset(counts.data(), 0, std::size_t(k) * sizeof(double));
      for (std::int64_t i = 0; !wide && i < size; ++i) rounded.data()[i] = float(iterate.data()[i]);
      pass(batch, {iterate_as_given, k, batches.n_features}, {counts.data(), sums.data(), &cost, nullptr, nullptr},
           {nullptr, nullptr, nullptr}, n_threads);
      const double total = double(steps.batch_size);
      for (std::int64_t j = 0; j < k; ++j) {
        const double count = counts.data()[j];
        const double largest = count > 0 ? steps.limit * total / count : step_size;
        const double step = std::min(step_size, largest) / total;
        for (std::int64_t i = j * batches.n_features; i < (j + 1) * batches.n_features; ++i) {
          iterate.data()[i] = centers[i] - step * (count * iterate.data()[i] - sums.data()[i]);
          average.data()[i] = steps.averaging * average.data()[i] + (1 - steps.averaging) * iterate.data()[i];
        }
      }
    }
    std::memcpy(centers, average.data(), std::size_t(size) * sizeof(double));
  }
}

// Hartigan's rule: a point of weight w moves from a cluster of weight n_a at distance d_a to one of weight n_b at
// distance d_b if d_b^2 n_b / (n_b + w) < d_a^2 n_a / (n_a - w). Means are updated at once. Returns the number moved.
inline std::int64_t transfer(const Points &points, const double *weights, const std::int32_t *labels, std::int64_t k,
                             double *counts, double *sums, const double *centers) {
  const std::int64_t d = points.n_features;
  // Means are stored feature by feature, so that the distances to all of them are summed together.
  Buffer<double> means(k * d), distances(k), coordinates(d);
  double *point = coordinates.data(), *distance = distances.data();
  for (std::int64_t j = 0; j < k; ++j)
    for (std::int64_t f = 0; f < d; ++f)
      means.data()[f * k + j] = counts[j] > 0 ? sums[j * d + f] / counts[j] : centers[j * d + f];
  std::int64_t n_moved = 0;
  for (std::int64_t i = 0; i < points.n_rows; ++i) {
    const double weight = weights[i];
    const std::int32_t from = labels[i];
    if (!(counts[from] > weight)) continue;
    with_types(points.storage, [&]<class T, class S>() {
      const S *stored = static_cast<const S *>(points.data) + points.rows[i] * d;
      for (std::int64_t f = 0; f < d; ++f) point[f] = double(widened<T, S>(stored[f]));
    });
    std::memset(distance, 0, std::size_t(k) * sizeof(double));
    for (std::int64_t f = 0; f < d; ++f) {
      const double *mean = means.data() + f * k, coordinate = point[f];
      for (std::int64_t j = 0; j < k; ++j) distance[j] += (coordinate - mean[j]) * (coordinate - mean[j]);
    }
    double least = distance[from] * (counts[from] / (counts[from] - weight));
    std::int64_t to = from;
    for (std::int64_t j = 0; j < k; ++j) {
      const double cost = distance[j] * (counts[j] / (counts[j] + weight));
      if (j != from && cost < least) {
        least = cost;
        to = j;
      }
    }
    if (to == from) continue;
    ++n_moved;
    counts[from] -= weight;
    counts[to] += weight;
    for (std::int64_t f = 0; f < d; ++f) {
      sums[from * d + f] -= weight * point[f];
      sums[to * d + f] += weight * point[f];
      means.data()[f * k + from] = sums[from * d + f] / counts[from];
      means.data()[f * k + to] = sums[to * d + f] / counts[to];
    }
  }
  return n_moved;
}

}  // namespace
}  // namespace eulermeans
