// Sweeps over sparse points: every point in turn goes to the cluster where it raises the cost least (Hartigan), among all
// clusters. With the sums of clusters feature after feature, a point's products with all of them take one pass over its
// stored values; moving it changes only the sums at these features.
#pragma once

#include "csr_pass.hpp"

namespace eulermeans {
namespace {

template <class T, class I>
class CsrSweeps {
 public:
  CsrSweeps(const CsrPoints &points, const CsrSweep &sweep, std::int64_t k)
      : points_(points), sweep_(sweep), k_(k), sums_(points.n_features * k), squares_(k), inverse_(k), center_(k), targets_(turn_rows) {
    for (std::int64_t j = 0; j < k; ++j) {
      double squares = 0;
      for (std::int64_t f = 0; f < points.n_features; ++f) {
        const double sum = sweep.sums[j * points.n_features + f];
        sums_.data()[f * k + j] = sum;
        squares += sum * sum;
      }
      squares_.data()[j] = squares;
      update(j);
    }
  }

  // Sweeps once, in turns: points are compared on all threads with the sums at the turn's beginning, then moved one by
  // one. So the bits do not depend on the number of threads.
  std::int64_t run(int n_threads) {
    n_threads = useful_threads(n_threads, turn_rows, work_per_thread * 4);
    std::deque<Buffer<double>> products;
    for (int t = 0; t < n_threads; ++t) products.emplace_back(k_);
    std::int64_t n_moved = 0;
    for (std::int64_t first = 0; first < points_.n_rows; first += turn_rows) {
      const std::int64_t n = std::min(turn_rows, points_.n_rows - first);
      parallel_for(n, n_threads, [&](std::int64_t i, int thread) {
        targets_.data()[i] = target(sweep_.order[first + i], products[std::size_t(thread)].data());
      });
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t row = sweep_.order[first + i];
        if (targets_.data()[i] != sweep_.labels[row]) n_moved += move(row, targets_.data()[i]);
      }
    }
    return n_moved;
  }

  void write_sums() {
    for (std::int64_t j = 0; j < k_; ++j)
      for (std::int64_t f = 0; f < points_.n_features; ++f)
        sweep_.sums[j * points_.n_features + f] = sums_.data()[f * k_ + j];
  }

 private:
  static constexpr std::int64_t turn_rows = 512;

  StoredRow<T, I> stored(std::int64_t row) const {
    const std::int64_t begin = points_.starts[row];
    return {static_cast<const T *>(points_.values) + begin, static_cast<const I *>(points_.indices) + begin,
            points_.starts[row + 1] - begin};
  }

  double weight_of(std::int64_t row) const { return points_.weights == nullptr ? 1 : points_.weights[row]; }

  // Keeps what comparisons need of a cluster, after its weight or sum has changed.
  void update(std::int64_t j) {
    const double count = sweep_.counts[j];
    inverse_.data()[j] = count > 0 ? 1 / count : 0;
    center_.data()[j] = squares_.data()[j] * inverse_.data()[j] * inverse_.data()[j];
  }

  // The squared distance of a point to the mean of a cluster, from its product with the sum.
  double squared(double norm, double product, std::int64_t j) {
    return std::max(0.0, norm - 2 * product * inverse_.data()[j] + center_.data()[j]);
  }

  // How much a point adds to the cost of a cluster, for each unit of its weight. Nothing where it is alone.
  double joining(double norm, double product, std::int64_t j, double weight) {
    const double count = sweep_.counts[j];
    return squared(norm, product, j) * (count / (count + weight));
  }

  double leaving(double norm, double product, std::int64_t j, double weight) {
    const double count = sweep_.counts[j];
    return squared(norm, product, j) * (count / (count - weight));
  }

  std::int32_t target(std::int64_t row, double *products) {
    const StoredRow<T, I> point = stored(row);
    std::fill_n(products, k_, 0.0);
    for (std::int64_t s = 0; s < point.size; ++s) {
      const double value = double(point.values[s]), *sums = sums_.data() + std::int64_t(point.features[s]) * k_;
      for (std::int64_t j = 0; j < k_; ++j) products[j] += value * sums[j];
    }
    const double norm = point.squared_norm(), weight = weight_of(row);
    const std::int32_t from = sweep_.labels[row];
    const bool stays = !(sweep_.counts[from] > weight) || !(weight > 0);  // a point alone stays
    const double own = squared(norm, products[from], from);
    const double least = stays ? 0 : leaving(norm, products[from], from, weight);
    const double *inverse = inverse_.data(), *center = center_.data(), *counts = sweep_.counts;
    for (std::int64_t j = 0; j < k_; ++j)  // the products become costs
      products[j] = std::max(0.0, norm - 2 * products[j] * inverse[j] + center[j]) * (counts[j] / (counts[j] + weight));
    products[from] = std::numeric_limits<double>::infinity();
    const double *second = std::min_element(products, products + k_);
    sweep_.nearest[row] = own;
    sweep_.second[row] = *second;
    return *second < least ? std::int32_t(second - products) : from;
  }

  double product_with(const StoredRow<T, I> &point, std::int32_t j) {
    double product = 0;
    for (std::int64_t s = 0; s < point.size; ++s)
      product += double(point.values[s]) * sums_.data()[std::int64_t(point.features[s]) * k_ + j];
    return product;
  }

  // Moves a point unless the clusters have changed so that this is no longer good. Returns whether it moved.
  bool move(std::int64_t row, std::int32_t to) {
    const StoredRow<T, I> point = stored(row);
    const std::int32_t from = sweep_.labels[row];
    const double norm = point.squared_norm(), weight = weight_of(row);
    const double own = product_with(point, from), other = product_with(point, to);
    if (!(sweep_.counts[from] > weight)) return false;
    if (!(joining(norm, other, to, weight) < leaving(norm, own, from, weight))) return false;
    sweep_.counts[from] -= weight;
    sweep_.counts[to] += weight;
    squares_.data()[from] += weight * (weight * norm - 2 * own);
    squares_.data()[to] += weight * (weight * norm + 2 * other);
    update(from);
    update(to);
    for (std::int64_t s = 0; s < point.size; ++s) {
      double *sums = sums_.data() + std::int64_t(point.features[s]) * k_;
      sums[from] -= weight * double(point.values[s]);
      sums[to] += weight * double(point.values[s]);
    }
    sweep_.labels[row] = to;
    return true;
  }

  const CsrPoints points_;
  const CsrSweep sweep_;
  const std::int64_t k_;
  Buffer<double> sums_;                         // (n_features, n_clusters)
  Buffer<double> squares_, inverse_, center_;  // (n_clusters,) squared norm of each sum, 1 / count, squared norm of each mean
  Buffer<std::int32_t> targets_;
};

// Sweeps up to n_sweeps times, until at most `few` points move. Returns how many sweeps were made.
inline std::int64_t csr_sweep(const CsrPoints &points, const CsrSweep &sweep, std::int64_t k, std::int64_t n_sweeps,
                              std::int64_t few, int n_threads) {
  return with_csr_types(points, [&]<class T, class I>() {
    CsrSweeps<T, I> sweeps(points, sweep, k);
    std::int64_t made = 0;
    while (made < n_sweeps) {
      ++made;
      if (sweeps.run(n_threads) <= few) break;
    }
    sweeps.write_sums();
    return made;
  });
}

}  // namespace
}  // namespace eulermeans
