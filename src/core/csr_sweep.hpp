// Sweeps over sparse points: every point in turn goes to the cluster where it raises the cost least (Hartigan), among all
// clusters. With the sums of clusters feature after feature, a point's products with all of them take one pass over its
// stored values; moving it changes only the sums at these features. A point with the label -1 is in no cluster yet.
#pragma once

#include <numeric>

#include "csr_pass.hpp"

namespace eulermeans {
namespace {

template <class T, class I>
class CsrSweeps {
 public:
  CsrSweeps(const CsrPoints &points, const CsrSweep &sweep, std::int64_t k)
      : points_(points),
        sweep_(sweep),
        k_(k),
        sums_(points.n_features * k),
        squares_(k),
        inverse_(k),
        center_(k),
        grown_(k),
        targets_(turn_rows) {
    transpose(sweep.sums, k, points.n_features, sums_.data());
    for (std::int64_t j = 0; j < k; ++j) {
      const double *sum = sweep.sums + j * points.n_features;
      squares_.data()[j] = std::inner_product(sum, sum + points.n_features, sum, 0.0);
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

  void write_sums() { transpose(sums_.data(), points_.n_features, k_, sweep_.sums); }

 private:
  static constexpr std::int64_t turn_rows = 512;

  // to[j * n + i] = from[i * m + j], in tiles that stay in the cache.
  static void transpose(const double *from, std::int64_t n, std::int64_t m, double *to) {
    constexpr std::int64_t tile = 16;
    for (std::int64_t i0 = 0; i0 < n; i0 += tile)
      for (std::int64_t j0 = 0; j0 < m; j0 += tile)
        for (std::int64_t i = i0; i < std::min(n, i0 + tile); ++i)
          for (std::int64_t j = j0; j < std::min(m, j0 + tile); ++j) to[j * n + i] = from[i * m + j];
  }

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
    grown_.data()[j] = count / (count + 1);
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

  // Whether a point is alone in its cluster, but for what rounding has left of others: it stays there.
  bool alone(std::int64_t from, double weight) const { return !(sweep_.counts[from] > weight * (1 + 1e-9)); }

  // The cluster that a point goes to.
  std::int32_t target(std::int64_t row, double *products) {
    const StoredRow<T, I> point = stored(row);
    std::fill_n(products, k_, 0.0);
    for (std::int64_t s = 0; s < point.size; ++s) {
      const double value = double(point.values[s]), *sums = sums_.data() + std::int64_t(point.features[s]) * k_;
      for (std::int64_t j = 0; j < k_; ++j) products[j] += value * sums[j];
    }
    const double norm = point.squared_norm(), weight = weight_of(row);
    const std::int32_t from = sweep_.labels[row];
    double own = 0, least = std::numeric_limits<double>::infinity();
    if (from >= 0) {
      const bool stays = alone(from, weight) || !(weight > 0);
      own = squared(norm, products[from], from);
      least = stays ? 0 : leaving(norm, products[from], from, weight);
    }
    if (from >= 0) products[from] = -std::numeric_limits<double>::infinity();  // to join it again is never cheapest
    const Cheapest other = points_.weights == nullptr ? cheapest_to_join<false>(norm, weight, products)
                                                      : cheapest_to_join<true>(norm, weight, products);
    sweep_.nearest[row] = from >= 0 ? own : other.cost;
    sweep_.second[row] = other.cost;
    return other.cost < least || from < 0 ? std::int32_t(other.cluster) : from;
  }

  struct Cheapest {
    double cost = std::numeric_limits<double>::infinity();
    std::int64_t cluster = 0;
  };

  // The first of the clusters that cost least to join, from the products with their sums.
  template <bool Weighted>
  Cheapest cheapest_to_join(double norm, double weight, const double *products) {
    constexpr int step = lanes<double, product_bytes>;
    const double *inverse = inverse_.data(), *center = center_.data(), *counts = sweep_.counts, *grown = grown_.data();
    Vector<double, product_bytes> least = splat<product_bytes>(std::numeric_limits<double>::infinity());
    Index<double, product_bytes> at{}, here;
    for (int l = 0; l < step; ++l) here[l] = l;
    std::int64_t j = 0;
    for (; j + step <= k_; j += step, here += step) {
      const Vector<double, product_bytes> product = load<product_bytes>(products + j);
      auto cost = norm - 2 * product * load<product_bytes>(inverse + j) + load<product_bytes>(center + j);
      cost = cost < 0 ? Vector<double, product_bytes>{} : cost;
      if constexpr (Weighted) {
        const Vector<double, product_bytes> count = load<product_bytes>(counts + j);
        cost *= count / (count + weight);
      } else {
        cost *= load<product_bytes>(grown + j);
      }
      at = cost < least ? here : at;
      least = cost < least ? cost : least;
    }
    Cheapest found;
    for (int l = 0; l < step; ++l)
      if (least[l] < found.cost || (least[l] == found.cost && at[l] < found.cluster)) found = {least[l], at[l]};
    for (; j < k_; ++j) {
      const double squared = norm - 2 * products[j] * inverse[j] + center[j];
      const double cost = (squared < 0 ? 0 : squared) * (Weighted ? counts[j] / (counts[j] + weight) : grown[j]);
      if (cost < found.cost) found = {cost, j};
    }
    return found;
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
    const double norm = point.squared_norm(), weight = weight_of(row), other = product_with(point, to);
    if (from >= 0) {
      const double own = product_with(point, from);
      if (alone(from, weight)) return false;
      if (!(joining(norm, other, to, weight) < leaving(norm, own, from, weight))) return false;
      add(point, norm, own, from, -weight);
    }
    add(point, norm, other, to, weight);
    sweep_.labels[row] = to;
    return true;
  }

  // Adds a point to a cluster; with a negative weight, takes it away.
  void add(const StoredRow<T, I> &point, double norm, double product, std::int32_t j, double weight) {
    sweep_.counts[j] += weight;
    squares_.data()[j] += weight * (weight * norm + 2 * product);
    update(j);
    for (std::int64_t s = 0; s < point.size; ++s)
      sums_.data()[std::int64_t(point.features[s]) * k_ + j] += weight * double(point.values[s]);
  }

  const CsrPoints points_;
  const CsrSweep sweep_;
  const std::int64_t k_;
  Buffer<double> sums_;  // (n_features, n_clusters)
  Buffer<double> squares_, inverse_,
      center_;            // (n_clusters,) squared norm of each sum, 1 / count, squared norm of each mean
  Buffer<double> grown_;  // (n_clusters,) count / (count + 1)
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
