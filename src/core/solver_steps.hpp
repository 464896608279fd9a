// Runs of stochastic backward Euler steps, on samples so small that calls from Python would cost more than the
// arithmetic.
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
      pass(batch, {iterate_as_given, k, batches.n_features},
           {counts.data(), sums.data(), &cost, nullptr, nullptr, nullptr}, {nullptr, nullptr, nullptr}, n_threads);
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

}  // namespace
}  // namespace eulermeans
