// Sweeps over sparse points: every point in turn goes to the cluster where it raises the cost least (Hartigan), among all
// clusters. With the sums of clusters feature after feature, a point's products with all of them take one pass over its
// stored values; moving it changes only the sums at these features. A point with the label -1 is in no cluster yet.
//
// The sums are kept in double. Points are compared with a copy of them, in float where that is precise enough, which
// reads half of the memory. Where rounding leaves open whether a point gains by a move, it is compared in double, and
// every move is made only if it lowers the cost in double.
#pragma once

#include "csr_pass.hpp"

namespace eulermeans {
namespace {

// What comparisons need of the clusters. A is float or double.
template <class A>
class ComparedClusters {
 public:
  ComparedClusters(std::int64_t k, std::int64_t n_features)
      : n_vectors((k + lanes<A> - 1) / lanes<A>),
        stride((k + line - 1) / line * line),
        table(n_features * stride),
        doubled_inverse(stride),
        center(stride),
        grown(stride),
        count(stride) {
    // Past the last cluster, costs are NaN, which is never the least, whatever the weights are.
    std::fill_n(doubled_inverse.data(), stride, A(0));
    std::fill_n(center.data(), stride, std::numeric_limits<A>::quiet_NaN());
    std::fill_n(grown.data(), stride, A(1));
    std::fill_n(count.data(), stride, A(1));
  }

  // Copies the sums (k, n_features), in tiles that stay in the cache.
  void set_sums(const double *sums, std::int64_t k, std::int64_t n_features, int n_threads) {
    constexpr std::int64_t tile = 16;
    n_threads = useful_threads(n_threads, n_features / tile + 1, double(k) * double(n_features) * 2);
    parallel_for((n_features + tile - 1) / tile, n_threads, [&](std::int64_t block, int) {
      const std::int64_t f0 = block * tile, f1 = std::min(n_features, f0 + tile);
      for (std::int64_t f = f0; f < f1; ++f) std::fill(row(f) + k, row(f) + stride, A(0));
      for (std::int64_t j = 0; j < k; ++j)
        for (std::int64_t f = f0; f < f1; ++f) row(f)[j] = A(sums[j * n_features + f]);
    });
  }

  void set(std::int64_t j, double weight, double squared_norm) {
    const double inverse = weight > 0 ? 1 / weight : 0;
    doubled_inverse.data()[j] = A(2 * inverse);
    center.data()[j] = A(squared_norm);
    grown.data()[j] = A(weight / (weight + 1));
    count.data()[j] = A(weight);
  }

  A *row(std::int64_t f) { return table.data() + f * stride; }

  static constexpr std::int64_t line = 64 / sizeof(A);  // rows of the table are whole cache lines
  const std::int64_t n_vectors;
  const std::int64_t stride;  // number of clusters with padding
  Buffer<A> table;            // (n_features, stride) sums
  Buffer<A> doubled_inverse;  // (stride,) 2 / weight
  Buffer<A> center;           // (stride,) squared norm of each mean
  Buffer<A> grown;            // (stride,) weight / (weight + 1)
  Buffer<A> count;            // (stride,) weight
};

// The squared norm of a vector of doubles.
inline double squared_norm(const double *values, std::int64_t n) {
  Vector<double> totals[4] = {};
  std::int64_t i = 0;
  for (; i + 4 * lanes<double> <= n; i += 4 * lanes<double>)
    for (int v = 0; v < 4; ++v) {
      const Vector<double> some = load(values + i + v * lanes<double>);
      totals[v] += some * some;
    }
  double total = sum_of_lanes((totals[0] + totals[1]) + (totals[2] + totals[3]));
  for (; i < n; ++i) total += values[i] * values[i];
  return total;
}

// Squared norms that sweeps need.
struct SweptNorms {
  SweptNorms(std::int64_t n_rows, std::int64_t k) : of_rows(n_rows), of_sums(k) {}

  Buffer<double> of_rows;  // (n_rows,)
  Buffer<double> of_sums;  // (n_clusters,)
  double largest = 0;      // of a point
};

template <class T, class I, class A>
class CsrSweeps {
 public:
  CsrSweeps(const CsrPoints &points, const CsrSweep &sweep, std::int64_t k, SweptNorms &norms, int n_threads)
      : points_(points),
        sweep_(sweep),
        k_(k),
        n_threads_(n_threads),
        clusters_(k, points.n_features),
        norms_(norms),
        targets_(turn_rows) {
    clusters_.set_sums(sweep.sums, k, points.n_features, n_threads);
    for (std::int64_t j = 0; j < k; ++j) update(j);
  }

  // Sweeps once, in turns: points are compared on all threads with the sums at the turn's beginning, then moved one by
  // one. So the bits do not depend on the number of threads.
  std::int64_t run() {
    const int n_threads = useful_threads(n_threads_, turn_rows, work_per_thread * 4);
    std::int64_t n_moved = 0;
    for (std::int64_t first = 0; first < points_.n_rows; first += turn_rows) {
      const std::int64_t n = std::min(turn_rows, points_.n_rows - first);
      parallel_for(n, n_threads, [&](std::int64_t i, int) { targets_.data()[i] = target(sweep_.order[first + i]); });
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t row = sweep_.order[first + i];
        if (targets_.data()[i] != sweep_.labels[row]) n_moved += move(row, targets_.data()[i]);
      }
    }
    return n_moved;
  }

  // The cost of each cluster: sum of w |x|^2, minus |sum of w x|^2 / weight. What rounding may have left is not a cost.
  void write_errors() {
    std::fill_n(sweep_.errors, k_, 0.0);
    for (std::int64_t row = 0; row < points_.n_rows; ++row)
      if (const std::int32_t j = sweep_.labels[row]; j >= 0)
        sweep_.errors[j] += weight_of(row) * norms_.of_rows.data()[row];
    for (std::int64_t j = 0; j < k_; ++j) {
      const double squares = sweep_.errors[j], weight = sweep_.counts[j];
      const double error = weight > 0 ? squares - norms_.of_sums.data()[j] / weight : 0;
      sweep_.errors[j] = error > 1e-13 * squares ? error : 0;
    }
  }

 private:
  static constexpr bool narrowed = !std::is_same_v<A, double>;
  static constexpr std::int64_t turn_rows = 512;
  static constexpr int register_vectors = 13;  // vectors of clusters whose products are held in registers

  double *sum_of(std::int64_t j) { return sweep_.sums + j * points_.n_features; }

  StoredRow<T, I> stored(std::int64_t row) const {
    const std::int64_t begin = points_.starts[row];
    return {static_cast<const T *>(points_.values) + begin, static_cast<const I *>(points_.indices) + begin,
            points_.starts[row + 1] - begin};
  }

  double weight_of(std::int64_t row) const { return points_.weights == nullptr ? 1 : points_.weights[row]; }

  // Keeps what comparisons need of a cluster, after its weight or sum has changed.
  void update(std::int64_t j) { clusters_.set(j, sweep_.counts[j], squared_center(j)); }

  double squared_center(std::int64_t j) {
    const double count = sweep_.counts[j], inverse = count > 0 ? 1 / count : 0;
    return norms_.of_sums.data()[j] * inverse * inverse;
  }

  // The squared distance of a point to the mean of a cluster, from its product with the sum.
  double squared(double norm, double product, std::int64_t j) {
    const double count = sweep_.counts[j];
    return std::max(0.0, norm - (count > 0 ? 2 * product / count : 0) + squared_center(j));
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

  struct Compared {
    double own;           // squared distance to the mean of the own cluster; 0 if there is none
    double other;         // the least cost of joining another cluster
    std::int64_t target;  // which one
  };

  // The cluster that a point goes to.
  std::int32_t target(std::int64_t row) {
    const StoredRow<T, I> point = stored(row);
    const double norm = norms_.of_rows.data()[row], weight = weight_of(row);
    const std::int32_t from = sweep_.labels[row];
    Compared found = points_.weights == nullptr ? compare<false>(point, norm, weight, from)
                                                : compare<true>(point, norm, weight, from);
    if (from < 0) {
      sweep_.extra[row] = 0;
      return std::int32_t(found.target);
    }
    double factor = 0;  // of a point that may not leave
    if (!alone(from, weight) && weight > 0) factor = sweep_.counts[from] / (sweep_.counts[from] - weight);
    if (narrowed) {
      const double error =
          rounding_error(point.size, norm, found.other) + factor * rounding_error(point.size, norm, found.own);
      if (!(std::abs(found.other - found.own * factor) > error)) found = compare_exactly(point, norm, weight, from);
    }
    sweep_.extra[row] = found.other - found.own;
    return found.other < found.own * factor ? std::int32_t(found.target) : from;
  }

  // Bound on the error of a squared distance D in float: by |c| <= |x| + D^(1/2), the terms of |x|^2 - 2 x.c + |c|^2 add up
  // to at most 2 (|x|^2 + |c|^2) <= 6 |x|^2 + 4 D. The last term is for what underflows.
  static double rounding_error(std::int64_t n_stored, double norm, double squared) {
    return double(rounding<float>(n_stored + 4)) * (6 * norm + 4 * squared) + 1e-36;
  }

  // Of clusters that cost the same to join, the first one is found.
  template <bool Weighted>
  Compared compare(const StoredRow<T, I> &point, double norm, double weight, std::int32_t from) {
    Vector<A> least = splat(std::numeric_limits<A>::infinity()), own{};
    Index<A> at{}, lane;
    for (int l = 0; l < lanes<A>; ++l) lane[l] = l;
    const Vector<A> norms = splat(A(norm)), weights = splat(A(weight));
    for_each_product(point, [&](std::int64_t vector, Vector<A> product) {
      const std::int64_t first = vector * lanes<A>;
      const Index<A> here = lane + typename Simd<A>::Integer(first), is_own = here == typename Simd<A>::Integer(from);
      Vector<A> squared = norms + load(clusters_.center.data() + first);
      squared -= product * load(clusters_.doubled_inverse.data() + first);
      squared = squared < 0 ? Vector<A>{} : squared;
      Vector<A> cost = load(clusters_.grown.data() + first);
      if constexpr (Weighted) {
        const Vector<A> count = load(clusters_.count.data() + first);
        cost = count / (count + weights);
      }
      cost = is_own ? splat(std::numeric_limits<A>::infinity()) : cost * squared;
      own = is_own ? squared : own;
      const Index<A> lower = cost < least;
      at = lower ? here : at;
      least = lower ? cost : least;
    });
    const Vector<A> lowest = min_of_lanes(least);
    const Index<A> none = Index<A>{} + std::numeric_limits<typename Simd<A>::Integer>::max();
    const Index<A> index = min_of_lanes(least == lowest ? at : none);
    return {from < 0 ? 0 : double(own[from % lanes<A>]), double(lowest[0]), std::int64_t(index[0])};
  }

  // Calls see(vector, products) with the products with one vector of clusters after the other.
  template <int V = register_vectors, class See>
  inline void for_each_product(const StoredRow<T, I> &point, const See &see, std::int64_t first_vector = 0) {
    for (; first_vector + V <= clusters_.n_vectors; first_vector += V) {
      const std::int64_t first = first_vector * lanes<A>;
      Vector<A> products[V] = {};
      for (std::int64_t s = 0; s < point.size; ++s) {
        const Vector<A> value = splat(A(point.values[s]));
        const A *sums = clusters_.row(point.features[s]) + first;
        for (int v = 0; v < V; ++v) products[v] += value * load(sums + v * lanes<A>);
      }
      for (int v = 0; v < V; ++v) see(first_vector + v, products[v]);
    }
    if constexpr (V > 1) for_each_product<V / 2>(point, see, first_vector);
  }

  // The same in double, from sums that lie apart.
  Compared compare_exactly(const StoredRow<T, I> &point, double norm, double weight, std::int32_t from) {
    Compared found{squared(norm, product_with(point, from), from), std::numeric_limits<double>::infinity(), 0};
    for (std::int64_t j = 0; j < k_; ++j) {
      if (j == from) continue;
      const double cost = joining(norm, product_with(point, j), j, weight);
      if (cost < found.other) found.other = cost, found.target = j;
    }
    return found;
  }

  double product_with(const StoredRow<T, I> &point, std::int64_t j) {
    const double *sum = sum_of(j);
    double product = 0;
    for (std::int64_t s = 0; s < point.size; ++s) product += double(point.values[s]) * sum[point.features[s]];
    return product;
  }

  // Moves a point unless the clusters have changed so that this is no longer good. Returns whether it moved.
  bool move(std::int64_t row, std::int32_t to) {
    const StoredRow<T, I> point = stored(row);
    const std::int32_t from = sweep_.labels[row];
    const double norm = norms_.of_rows.data()[row], weight = weight_of(row), other = product_with(point, to);
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
    norms_.of_sums.data()[j] += weight * (weight * norm + 2 * product);
    update(j);
    double *sum = sum_of(j);
    for (std::int64_t s = 0; s < point.size; ++s) {
      const std::int64_t f = point.features[s];
      sum[f] += weight * double(point.values[s]);
      clusters_.row(f)[j] = A(sum[f]);
    }
  }

  const CsrPoints points_;
  const CsrSweep sweep_;
  const std::int64_t k_;
  const int n_threads_;
  ComparedClusters<A> clusters_;
  SweptNorms &norms_;
  Buffer<std::int32_t> targets_;
};

template <class T, class I>
void measure(const CsrPoints &points, const CsrSweep &sweep, std::int64_t k, int n_threads, SweptNorms &norms) {
  const StoredRows<T, I> rows{points};
  parallel_for(points.n_rows, useful_threads(n_threads, points.n_rows, work_of(points, 1)),
               [&](std::int64_t row, int) { norms.of_rows.data()[row] = rows[row].squared_norm(); });
  const double work = double(k) * double(points.n_features);
  parallel_for(k, useful_threads(n_threads, k, work), [&](std::int64_t j, int) {
    norms.of_sums.data()[j] = squared_norm(sweep.sums + j * points.n_features, points.n_features);
  });
  for (std::int64_t row = 0; row < points.n_rows; ++row)
    norms.largest = std::max(norms.largest, norms.of_rows.data()[row]);
}

// Whether sums and distances in float are precise enough for most points: far from overflow and underflow, and with
// squared distances that are not much smaller than the squared norms from which they are computed.
inline bool float_suffices(const CsrPoints &points, const CsrSweep &sweep, std::int64_t k, SweptNorms &norms) {
  constexpr double small = 1e-3;
  double total = 0, lightest = 1, squares = 0, saved = 0;
  for (std::int64_t row = 0; row < points.n_rows; ++row) {
    const double weight = points.weights == nullptr ? 1 : points.weights[row];
    if (weight > 0) lightest = std::min(lightest, weight);
    if (sweep.labels[row] < 0) continue;
    total += weight;
    squares += weight * norms.of_rows.data()[row];
  }
  for (std::int64_t j = 0; j < k; ++j)
    if (sweep.counts[j] > 0) saved += norms.of_sums.data()[j] / sweep.counts[j];
  const bool in_range = norm_in_range(std::sqrt(norms.largest)) && lightest > 1e-12 && total < 1e15;
  return in_range && squares - saved >= small * squares;
}

// Sweeps up to n_sweeps times, until at most `few` points move. Returns how many sweeps were made.
inline std::int64_t csr_sweep(const CsrPoints &points, const CsrSweep &sweep, std::int64_t k, std::int64_t n_sweeps,
                              std::int64_t few, int n_threads) {
  return with_csr_types(points, [&]<class T, class I>() {
    SweptNorms norms(points.n_rows, k);
    measure<T, I>(points, sweep, k, n_threads, norms);
    const auto run = [&]<class A>() {
      CsrSweeps<T, I, A> sweeps(points, sweep, k, norms, n_threads);
      std::int64_t made = 0;
      while (made < n_sweeps) {
        ++made;
        if (sweeps.run() <= few) break;
      }
      sweeps.write_errors();
      return made;
    };
    return float_suffices(points, sweep, k, norms) ? run.template operator()<float>()
                                                   : run.template operator()<double>();
  });
}

}  // namespace
}  // namespace eulermeans
