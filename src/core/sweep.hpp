// A sweep: every point in turn goes to the cluster of its list where it raises the cost least (Hartigan). The means of
// the two clusters move at once. With a temperature, clusters are drawn instead, the cheaper the more likely.
#pragma once

#include <algorithm>
#include <cmath>

#include "pass.hpp"

namespace eulermeans {
namespace {

// Random numbers that depend on the seed, the point and how many were drawn for it: not on threads.
class PointRandom {
 public:
  PointRandom(std::uint64_t seed, std::int64_t point) : state_(seed ^ (std::uint64_t(point) * 0x9e3779b97f4a7c15u)) {}

  // The smallest of costs minus temperature * gumbel() is at j with a probability proportional to
  // exp(-costs[j] / temperature).
  double gumbel() {
    const double uniform = (double(next() >> 11) + 0.5) * 0x1p-53;
    return -std::log(-std::log(uniform));
  }

 private:
  std::uint64_t next() {  // splitmix64
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

// Adds the squared offsets of a point from C centers, feature by feature in vectors of B bytes, to the distances. Returns
// the first feature that is left.
template <int B, class T, int C>
inline std::int64_t add_squares(const T *point, const T *const (&centers)[C], std::int64_t f, std::int64_t n,
                                T (&distances)[C]) {
  constexpr int step = lanes<T, B>;
  if (f + step > n) return f;
  Vector<T, B> parts[C] = {};
  for (; f + step <= n; f += step) {
    const Vector<T, B> coordinates = load<B>(point + f);
    for (int c = 0; c < C; ++c) {
      const Vector<T, B> offset = coordinates - load<B>(centers[c] + f);
      parts[c] += offset * offset;
    }
  }
  for (int c = 0; c < C; ++c) distances[c] += sum_of_lanes(parts[c]);
  return f;
}

// squared[l] = squared distance of the point to the mean list[l]. Four at a time, so that the point is read less often.
template <class T>
inline void squared_distances(const T *point, const T *means, std::int64_t d, const std::int32_t *list,
                              std::int64_t length, double *squared) {
  constexpr int at_once = 4;
  for (std::int64_t first = 0; first < length; first += at_once) {
    const T *centers[at_once];
    T distances[at_once] = {};
    for (int c = 0; c < at_once; ++c) centers[c] = means + list[std::min(first + c, length - 1)] * d;
    std::int64_t f = add_squares<product_bytes>(point, centers, 0, d, distances);
    f = add_squares<vector_bytes>(point, centers, f, d, distances);
    for (int c = 0; c < at_once && first + c < length; ++c) {
      for (std::int64_t g = f; g < d; ++g) distances[c] += (point[g] - centers[c][g]) * (point[g] - centers[c][g]);
      squared[first + c] = double(distances[c]);
    }
  }
}

// Fetches a row into the cache.
template <class T>
inline void prefetch_row(const T *row, std::int64_t d) {
  constexpr std::int64_t line = 64 / sizeof(T);
  for (std::int64_t f = 0; f < d; f += line) __builtin_prefetch(row + f);
}

// Points are compared on all threads in turns of some points, with the means at the turn's beginning. What moves is then
// moved one by one, on one thread. So the bits do not depend on the number of threads.
template <class T, class S>
class SweepTurns {
 public:
  SweepTurns(const Points &points, const Sweep &sweep)
      : points_(points),
        sweep_(sweep),
        means_(static_cast<T *>(sweep.means)),
        d_(points.n_features),
        size_(turn_size(points.n_rows, sweep.length * points.n_features)),
        targets_(size_) {}

  std::int64_t run(int n_threads) {
    std::int64_t n_moved = 0;
    RowGroup<T, S> one(d_, true);
    for (std::int64_t first = 0; first < points_.n_rows; first += size_) {
      const std::int64_t n = std::min(size_, points_.n_rows - first);
      Points turn = points_;
      turn.rows = points_.rows + first;
      turn.n_rows = n;
      for_each_group<T, S>(turn, n_threads, work_of(n, d_, sweep_.length + 1),
                           [&](const RowGroup<T, S> &group, std::int64_t at, int m, int) {
        for (int p = 0; p < m; ++p) {
          if (p + 1 < m) prefetch_row(group.points[p + 1], d_);
          targets_.data()[at + p] = target(group.points[p], group.row[p], sweep_.order[first + at + p]);
        }
      });
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int32_t to = targets_.data()[i];
        const std::int64_t position = sweep_.order[first + i];
        if (to == sweep_.labels[position]) continue;
        one.read(turn, i, 1);
        n_moved += move(one.points[0], weight_of(one.row[0]), sweep_.labels[position], to);
      }
    }
    return n_moved;
  }

 private:
  static constexpr double likely = 8;  // temperatures above the cheapest: more is chosen once in 3000 times

  static std::int64_t turn_size(std::int64_t n, std::int64_t multiplications) {
    const std::int64_t worth_threads = (1 << 22) / std::max<std::int64_t>(1, multiplications);
    return std::max<std::int64_t>(64, std::min({n / 16, worth_threads, std::int64_t(2048)}));
  }

  double weight_of(std::int64_t row) const { return points_.weights == nullptr ? 1 : points_.weights[row]; }

  double leaving(const T *point, std::int32_t from, double weight) const {
    const double count = sweep_.counts[from];
    return double(squared_distance(point, means_ + from * d_, d_)) * (count / (count - weight));
  }

  double joining(const T *point, std::int32_t to, double weight) const {
    const double count = sweep_.counts[to];
    return double(squared_distance(point, means_ + to * d_, d_)) * (count / (count + weight));
  }

  // The cluster that a point goes to. Sets its squared distance to its own mean, and the least cost of joining another.
  std::int32_t target(const T *point, std::int64_t row, std::int64_t position) const {
    const std::int32_t from = sweep_.labels[position];
    const double weight = weight_of(row), count = sweep_.counts[from];
    const bool stays = !(count > weight) || !(weight > 0);  // a point alone stays
    const std::int32_t *list = sweep_.lists + position * sweep_.length, *const end = list + sweep_.length;
    double squared[most_neighbours];
    squared_distances(point, means_, d_, list, sweep_.length, squared);
    const std::int64_t place = std::find(list, end, from) - list;
    const double own = place < sweep_.length ? squared[place] : double(squared_distance(point, means_ + from * d_, d_));
    const double temperature = sweep_.temperature > 0 ? sweep_.temperature / weight : 0;
    PointRandom random(sweep_.seed, position);
    double least = stays ? 0 : own * (count / (count - weight)), second = std::numeric_limits<double>::infinity();
    const double dearest = least + likely * temperature;
    if (temperature > 0) least -= temperature * random.gumbel();
    std::int32_t to = from;
    for (std::int64_t l = 0; l < sweep_.length; ++l) {
      const std::int32_t j = list[l];
      if (j == from) continue;
      double cost = squared[l] * (sweep_.counts[j] / (sweep_.counts[j] + weight));
      second = std::min(second, cost);
      if (temperature > 0 && cost < dearest) cost -= temperature * random.gumbel();
      if (cost < least) {
        least = cost;
        to = j;
      }
    }
    sweep_.nearest[position] = own;
    sweep_.second[position] = second;
    return stays ? from : to;
  }

  // Moves a point unless the clusters have changed so that this is no longer good. Returns whether it moved.
  bool move(const T *point, double weight, std::int32_t &label, std::int32_t to) {
    double *counts = sweep_.counts;
    const std::int32_t from = label;
    if (!(counts[from] > weight)) return false;
    if (!(sweep_.temperature > 0) && !(joining(point, to, weight) < leaving(point, from, weight))) return false;
    counts[from] -= weight;
    counts[to] += weight;
    const T left = T(weight / counts[from]), joined = T(weight / counts[to]);
    T *old_mean = means_ + from * d_, *new_mean = means_ + to * d_;
    for (std::int64_t f = 0; f < d_; ++f) {
      old_mean[f] += (old_mean[f] - point[f]) * left;
      new_mean[f] += (point[f] - new_mean[f]) * joined;
    }
    label = to;
    return true;
  }

  const Points points_;
  const Sweep sweep_;
  T *const means_;
  const std::int64_t d_, size_;
  Buffer<std::int32_t> targets_;
};

// Returns how many points moved. Means and counts are updated up to rounding.
inline std::int64_t sweep(const Points &points, const Sweep &sweep, int n_threads) {
  if (points.n_rows == 0) return 0;
  return with_types(points.storage, [&]<class T, class S>() { return SweepTurns<T, S>(points, sweep).run(n_threads); });
}

}  // namespace
}  // namespace eulermeans
