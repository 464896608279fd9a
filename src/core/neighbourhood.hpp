// Work near some centers: passes that compare each point with the centers near its own, and trials of moves.
//
// A move of a few centers changes the assignment near them and hardly anywhere else. Its cost follows the number of
// points nearby, not the number of points times the number of centers.
#pragma once

#include <bit>

#include "pass.hpp"

namespace eulermeans {
namespace {

// Not std::less: the linker would keep one copy of the sort for the whole library, perhaps one compiled with AVX.
constexpr auto lower_id = [](std::int32_t a, std::int32_t b) { return a < b; };
constexpr auto lower_key = [](std::uint64_t a, std::uint64_t b) { return a < b; };

// neighbours[i * m + l] = the l-th nearest other center of center i; the nearest first, of equals the lowest index.
inline void neighbours(const double *centers, std::int64_t k, std::int64_t d, std::int64_t m, std::int32_t *out,
                       int n_threads) {
  // Relative to their mean and their range, centers are precise enough as float, and squares cannot overflow.
  Buffer<float> rounded(k * d);
  Buffer<double> mean(d);
  std::fill_n(mean.data(), d, 0.0);
  for (std::int64_t j = 0; j < k; ++j)
    for (std::int64_t f = 0; f < d; ++f) mean.data()[f] += centers[j * d + f] / double(k);
  double range = 0;
  for (std::int64_t j = 0; j < k; ++j)
    for (std::int64_t f = 0; f < d; ++f) range = std::max(range, std::abs(centers[j * d + f] - mean.data()[f]));
  for (std::int64_t j = 0; j < k; ++j)
    for (std::int64_t f = 0; f < d; ++f)
      rounded.data()[j * d + f] = range > 0 ? float((centers[j * d + f] - mean.data()[f]) / range) : 0.0f;
  n_threads = useful_threads(n_threads, k, work_of(k, d, k));
  std::deque<Buffer<std::uint64_t>> all_keys;
  for (int t = 0; t < n_threads; ++t) all_keys.emplace_back(k);
  parallel_for(k, n_threads, [&](std::int64_t i, int thread) {
    // The bits of floats that are not negative have the order of the floats; below them, the index decides ties.
    std::uint64_t *keys = all_keys[std::size_t(thread)].data(), n = 0;
    for (std::int64_t j = 0; j < k; ++j) {
      if (j == i) continue;
      const float distance = squared_distance(rounded.data() + i * d, rounded.data() + j * d, d);
      keys[n++] = std::uint64_t(std::bit_cast<std::uint32_t>(distance)) << 32 | std::uint64_t(j);
    }
    std::nth_element(keys, keys + (m - 1), keys + n, lower_key);
    std::sort(keys, keys + m, lower_key);
    for (std::int64_t l = 0; l < m; ++l) out[i * m + l] = std::int32_t(keys[l] & 0xffffffffu);
  });
}

// Compares the members of chosen clusters with the center of their cluster and its neighbours only. Sets the results of
// these members, in the order of clusters.members.
inline void reassign(const Points &points, const Centers<void> &untyped, const Clusters &clusters, const Chosen &chosen,
                     const PerRow &per_row, int n_threads) {
  const std::int64_t d = points.n_features, m = clusters.n_neighbours;
  with_types(points.storage, [&]<class T, class S>() {
    const Centers<T> centers = untyped.as<T>();
    n_threads = useful_threads(n_threads, chosen.n, work_of(points.n_rows, d, m + 1));
    std::deque<Buffer<T>> buffers;
    for (int t = 0; t < n_threads; ++t) buffers.emplace_back((m + 1) * d);
    parallel_for(chosen.n, n_threads, [&](std::int64_t i, int thread) {
      const std::int32_t own = chosen.ids[i];
      const std::int64_t begin = clusters.starts[own], end = clusters.starts[own + 1];
      if (begin == end) return;
      std::int32_t candidates[most_neighbours + 1];
      candidates[0] = own;
      std::copy_n(clusters.neighbours + own * m, m, candidates + 1);
      std::sort(candidates, candidates + m + 1, lower_id);  // the tie rule prefers the lowest index
      T *near = buffers[std::size_t(thread)].data();
      for (std::int64_t c = 0; c <= m; ++c) std::copy_n(centers[candidates[c]], d, near + c * d);
      Points members = points;
      members.rows = clusters.members + begin;
      members.n_rows = end - begin;
      const Finder<T, S> finder = choose_nearest<T, S>(Centers<T>{near, m + 1, d}, Second::lower_bound);
      Worker<T, S> worker(finder, d);
      for (std::int64_t first = 0; first < members.n_rows; first += group_rows) {
        const int n = int(std::min<std::int64_t>(group_rows, members.n_rows - first));
        worker.find(members, first, n);
        for (int p = 0; p < n; ++p) {
          worker.found[p].label = candidates[worker.found[p].label];
          set_row(per_row, begin + first + p, worker.found[p]);
        }
      }
    });
  });
}

// Selects the `m` of `k` centers with the smallest keys. Keys are followed by padding to whole vectors.
inline void keep_lowest(const float *keys, std::int64_t k, std::int64_t m, std::int32_t *out) {
  constexpr std::int64_t step = lanes<float, product_bytes>;
  float kept[most_neighbours];  // sorted, the lowest first
  std::int64_t n = 0;
  for (std::int64_t first = 0; first < k; first += step) {
    if (n == m && !(min_of_lanes(load<product_bytes>(keys + first))[0] < kept[n - 1])) continue;
    for (std::int64_t j = first; j < std::min(first + step, k); ++j) {
      const float key = keys[j];
      if (n == m && !(key < kept[n - 1])) continue;
      std::int64_t at = n < m ? n++ : n - 1;
      for (; at > 0 && key < kept[at - 1]; --at) {
        kept[at] = kept[at - 1];
        out[at] = out[at - 1];
      }
      kept[at] = key;
      out[at] = std::int32_t(j);
    }
  }
}

// lists[i * m + l] = the l-th nearest center of row i, up to the rounding of float.
inline void shortlist(const Points &points, const Centers<void> &untyped, std::int64_t m, std::int32_t *lists,
                      int n_threads) {
  const std::int64_t d = points.n_features, k = untyped.n_clusters;
  with_types(points.storage, [&]<class T, class S>() {
    using Way = NearestProduct<T, float, product_bytes>;
    Way way(untyped.as<T>());
    std::deque<Buffer<char>> scratches;
    std::deque<Buffer<float>> all_keys;
    for (int t = 0; t < n_threads; ++t) {
      scratches.emplace_back(way.scratch_bytes());
      all_keys.emplace_back(group_rows * way.n_padded());
    }
    for_each_group<T, S>(points, n_threads, work_of(points.n_rows, d, k),
                         [&](const RowGroup<T, S> &group, std::int64_t first, int n, int thread) {
      float *keys = all_keys[std::size_t(thread)].data();
      way.find_keys(group.points, n, scratches[std::size_t(thread)].data(), keys);
      for (int p = 0; p < n; ++p) keep_lowest(keys + p * way.n_padded(), k, m, lists + (first + p) * m);
    });
  });
}

// Compares each row with the centers of its list.
inline void compare_listed(const Points &points, const Centers<void> &untyped, const Lists &lists,
                           const PerRow &per_row, int n_threads) {
  const std::int64_t d = points.n_features, m = lists.length;
  with_types(points.storage, [&]<class T, class S>() {
    const Centers<T> centers = untyped.as<T>();
    for_each_group<T, S>(points, n_threads, work_of(points.n_rows, d, m),
                         [&](const RowGroup<T, S> &group, std::int64_t first, int n, int) {
      for (int p = 0; p < n; ++p) {
        const std::int32_t *list = lists.ids + lists.order[first + p] * m;
        Nearest found = nothing_yet;
        found.label = list[0];
        for (std::int64_t l = 0; l < m; ++l)
          keep_nearest(found, list[l], double(squared_distance(group.points[p], centers[list[l]], d)));
        set_row(per_row, first + p, found);
      }
    });
  });
}

// The weight and the weighted sum of the members of chosen clusters, in their order.
inline void sum_clusters(const Points &points, const Clusters &clusters, const Chosen &chosen, double *counts,
                         double *sums, int n_threads) {
  const std::int64_t d = points.n_features;
  n_threads = useful_threads(n_threads, chosen.n, work_of(points.n_rows, d, 1));
  with_types(points.storage, [&]<class T, class S>() {
    parallel_for(chosen.n, n_threads, [&](std::int64_t i, int) {
      const std::int32_t own = chosen.ids[i];
      Buffer<T> converted(std::is_same_v<S, Half> ? d : 0);
      double count = 0, *sum = sums + own * d;
      std::fill_n(sum, d, 0.0);
      for (std::int64_t at = clusters.starts[own]; at < clusters.starts[own + 1]; ++at) {
        const std::int64_t row = clusters.members[at];
        const double weight = points.weights == nullptr ? 1 : points.weights[row];
        const S *stored = static_cast<const S *>(points.data) + row * d;
        count += weight;
        if constexpr (std::is_same_v<S, Half>) {
          widen(stored, converted.data(), d);
          for (std::int64_t f = 0; f < d; ++f) sum[f] += weight * double(converted.data()[f]);
        } else {
          for (std::int64_t f = 0; f < d; ++f) sum[f] += weight * double(stored[f]);
        }
      }
      counts[own] = count;
    });
  });
}

// Hartigan's rule, among the center of a point's cluster and its neighbours: a point of weight w moves from a cluster
// of weight n_a at distance d_a to one of weight n_b at distance d_b if d_b^2 n_b / (n_b + w) < d_a^2 n_a / (n_a - w).
// Means are updated at once. weights, labels: (n_rows,); labels INOUT. counts, sums, means INOUT.
inline void transfer_nearby(const Points &points, const double *weights, std::int32_t *labels, const Clusters &clusters,
                            double *counts, double *sums, double *means) {
  const std::int64_t d = points.n_features, m = clusters.n_neighbours;
  Buffer<double> coordinates(d);
  double *point = coordinates.data();
  for (std::int64_t i = 0; i < points.n_rows; ++i) {
    const double weight = weights[i];
    const std::int32_t from = labels[i];
    if (!(counts[from] > weight)) continue;
    with_types(points.storage, [&]<class T, class S>() {
      const S *stored = static_cast<const S *>(points.data) + points.rows[i] * d;
      for (std::int64_t f = 0; f < d; ++f) point[f] = double(widened<T, S>(stored[f]));
    });
    double least = squared_distance(point, means + from * d, d) * (counts[from] / (counts[from] - weight));
    std::int32_t to = from;
    for (std::int64_t l = 0; l < m; ++l) {
      const std::int32_t j = clusters.neighbours[from * m + l];
      const double cost = squared_distance(point, means + j * d, d) * (counts[j] / (counts[j] + weight));
      if (cost < least) {
        least = cost;
        to = j;
      }
    }
    if (to == from) continue;
    labels[i] = to;
    counts[from] -= weight;
    counts[to] += weight;
    for (std::int64_t f = 0; f < d; ++f) {
      sums[from * d + f] -= weight * point[f];
      sums[to * d + f] += weight * point[f];
      means[from * d + f] = sums[from * d + f] / counts[from];
      means[to * d + f] = sums[to * d + f] / counts[to];
    }
  }
}

// Tries one move: a center is removed, or one is added at a point, or both. The centers nearby adapt to it by a few
// steps of Lloyd's algorithm on their points; all others stay where they are. So do those nearby that have very many
// points, which would take long to read and hardly move: the others' points may go to them.
class MoveTrial {
 public:
  MoveTrial(const Points &points, const double *centers, std::int64_t k, const double *errors, const Clusters &clusters,
            const MoveOptions &options)
      : points_(points), centers_(centers), errors_(errors), clusters_(clusters), options_(options), seen_(k) {
    std::fill_n(seen_.data(), k, 0);
  }

  // How much lower the cost of the points nearby is after the move.
  double gain(const Move &move) {
    tried = false;
    choose_centers(move);
    const bool adds = move.added >= 0;
    const std::int64_t d = points_.n_features, n_kept = n_ids_, n_adapting = n_kept + adds;
    const std::int64_t k = n_adapting + n_fixed_;
    // If no neighbours adapt, there is nobody to take the points of the removed center: the new one would follow them.
    const std::int32_t removed = options_.n_adapting > 0 ? move.removed : -1;
    double before = removed >= 0 ? errors_[removed] : 0;
    std::int64_t n = removed >= 0 ? size_of(removed) : 0;
    for (std::int64_t i = 0; i < n_ids_; ++i) {
      before += errors_[ids_[i]];
      n += size_of(ids_[i]);
    }
    if (k == 0 || !(before > 0)) return 0;
    // Coordinates are relative to a center and to the typical distance from it: so float is precise enough, and safe
    // from overflow. Unit vectors need neither.
    scale_ = options_.sphere ? 1 : std::sqrt(before / double(n));
    origin_ = options_.sphere ? nullptr : centers_ + std::int64_t(removed >= 0 ? removed : ids_[0]) * d;
    if (!(scale_ > 0) || !std::isfinite(1 / scale_)) return 0;
    tried = true;
    read_points(removed, n);
    near_.resize(k * d);
    for (std::int64_t i = 0; i < n_kept; ++i) {
      const double *center = centers_ + ids_[i] * d;
      set_local([=](std::int64_t f) { return center[f]; }, near_.data() + i * d);
    }
    if (adds) start_center(move, near_.data() + n_kept * d);
    for (std::int64_t i = 0; i < n_fixed_; ++i) {
      const double *center = centers_ + fixed_[i] * d;
      set_local([=](std::int64_t f) { return center[f]; }, near_.data() + (n_adapting + i) * d);
    }
    sums_.filled(k * d, 0.0);
    counts_.filled(k, 0.0);
    labels_.filled(n, -1);
    before /= scale_ * scale_;
    double after = std::numeric_limits<double>::infinity();
    for (std::int64_t left = options_.n_steps - 1; left >= 0; --left) {
      const double previous = after;
      after = lloyd_step(n, k, n_adapting);
      n_distances += n * k;
      // Each step gains less than the one before it: stop where that cannot be enough, or where nothing moves.
      if (options_.may_give_up && after - (previous - after) * double(left) > before) break;
      if (previous - after <= 1e-7 * before) break;
    }
    if (options_.transfers && !options_.sphere && n <= few_points * n_adapting && after < (1 + within_reach) * before)
      after -= transfer_points(n, n_adapting);
    return (before - after) * scale_ * scale_;
  }

  // The centers that moved, and where to; the one that was added comes last.
  const std::int32_t *ids() const { return ids_; }
  std::int64_t n_ids() const { return n_ids_; }
  double position(std::int64_t i, std::int64_t f) const {
    return (origin_ == nullptr ? 0 : origin_[f]) + scale_ * double(near_[i * points_.n_features + f]);
  }

  std::int64_t n_distances = 0;
  bool tried = false;  // whether the last move was tried, so that there are positions: not if there is nothing to gain

 private:
  static constexpr std::int64_t few_points = 100;  // for each center: with more, single points change little
  static constexpr double within_reach = 0.02;     // of the cost: what transfers may still gain

  // The centers that adapt: the neighbours of the one removed, and of the cluster that gets another.
  void choose_centers(const Move &move) {
    ++stamp_;
    n_ids_ = n_fixed_ = 0;
    if (move.removed >= 0) seen_.data()[move.removed] = stamp_;
    if (move.added >= 0) see(move.inside, true);
    for (const std::int32_t end : {move.removed, move.inside})
      for (std::int64_t l = 0; end >= 0 && l < std::min(options_.n_adapting, clusters_.n_neighbours); ++l)
        see(clusters_.neighbours[end * clusters_.n_neighbours + l], false);
  }

  void see(std::int32_t id, bool is_end) {
    if (seen_.data()[id] == stamp_) return;
    seen_.data()[id] = stamp_;
    if (is_end || size_of(id) <= options_.largest_adapting)
      ids_[n_ids_++] = id;
    else
      fixed_[n_fixed_++] = id;
  }

  std::int64_t size_of(std::int32_t j) const { return clusters_.starts[j + 1] - clusters_.starts[j]; }

  // out[f] = coordinate(f), relative to the origin and the scale.
  template <class Coordinate>
  void set_local(const Coordinate &coordinate, float *out) const {
    const double inverse = 1 / scale_;
    for (std::int64_t f = 0; origin_ == nullptr && f < points_.n_features; ++f) out[f] = float(coordinate(f) * inverse);
    for (std::int64_t f = 0; origin_ != nullptr && f < points_.n_features; ++f)
      out[f] = float((coordinate(f) - origin_[f]) * inverse);
  }

  void read_points(std::int32_t removed, std::int64_t n) {
    rows_.resize(n * points_.n_features);
    weights_.resize(n);
    std::int64_t at = 0;
    if (removed >= 0) read_members(removed, at);
    for (std::int64_t i = 0; i < n_ids_; ++i) read_members(ids_[i], at);
  }

  void read_members(std::int32_t j, std::int64_t &at) {
    for (std::int64_t i = clusters_.starts[j]; i < clusters_.starts[j + 1]; ++i, ++at) {
      const std::int64_t row = clusters_.members[i];
      read(row, rows_.data() + at * points_.n_features);
      weights_[at] = points_.weights == nullptr ? 1 : points_.weights[row];
    }
  }

  void read(std::int64_t row, float *out) const {
    with_types(points_.storage, [&]<class T, class S>() {
      const S *stored = static_cast<const S *>(points_.data) + row * points_.n_features;
      set_local([=](std::int64_t f) { return double(widened<T, S>(stored[f])); }, out);
    });
  }

  // A point is a poor center where features are many: points of its own cluster are farther from it than from a center
  // between clusters. Part of the way to it, they are not.
  void start_center(const Move &move, float *out) {
    read(move.added, out);
    if (options_.part_of_way == 1) return;
    start_.resize(points_.n_features);
    const double *center = centers_ + move.inside * points_.n_features;
    set_local([=](std::int64_t f) { return center[f]; }, start_.data());
    for (std::int64_t f = 0; f < points_.n_features; ++f)
      out[f] = float(start_[f] + options_.part_of_way * (double(out[f]) - double(start_[f])));
  }

  // Assigns the points to the k centers and moves those that adapt, which come first, to the means of their points.
  // Returns the cost after that.
  double lloyd_step(std::int64_t n, std::int64_t k, std::int64_t n_adapting) {
    const std::int64_t d = points_.n_features;
    const Finder<float, float> finder = choose_nearest<float, float>({near_.data(), k, d}, Second::nothing);
    Worker<float, float> worker(finder, d);
    const Points rows{rows_.data(), Storage::float32, n, d, nullptr, nullptr};
    double cost = 0;
    for (std::int64_t first = 0; first < n; first += group_rows) {
      const int m = int(std::min<std::int64_t>(group_rows, n - first));
      worker.find(rows, first, m);
      for (int p = 0; p < m; ++p) {
        const double weight = weights_[first + p];
        const std::int32_t label = worker.found[p].label;
        cost += weight * worker.found[p].nearest;
        std::int32_t &before = labels_[first + p];
        if (label == before) continue;
        if (before >= 0) add(first + p, before, -weight);
        add(first + p, label, weight);
        before = label;
      }
    }
    for (std::int64_t i = 0; i < n_adapting; ++i) cost -= move_center(i);
    return cost;
  }

  // Moves single points of the k centers that adapt to where they raise the cost least (Hartigan), each center at once
  // to the mean of its points. Returns how much that lowers the cost.
  double transfer_points(std::int64_t n, std::int64_t k) {
    const std::int64_t d = points_.n_features;
    double gained = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const double weight = weights_[i];
      const std::int32_t from = labels_[i];
      const double rest = counts_[from] - weight;
      if (from >= k || !(rest > 0) || !(weight > 0)) continue;
      const float *point = rows_.data() + i * d;
      const double stays = squared_distance(point, near_.data() + from * d, d) * (counts_[from] / rest);
      double least = stays;
      std::int32_t to = from;
      for (std::int32_t j = 0; j < k; ++j) {
        const double count = counts_[j];
        const double cost = squared_distance(point, near_.data() + j * d, d) * (count / (count + weight));
        if (j != from && cost < least) {
          least = cost;
          to = j;
        }
      }
      if (to == from) continue;
      gained += weight * (stays - least);
      add(i, from, -weight);
      add(i, to, weight);
      labels_[i] = to;
      for (const std::int32_t j : {from, to})
        for (std::int64_t f = 0; f < d; ++f) near_[j * d + f] = float(sums_[j * d + f] / counts_[j]);
    }
    return gained;
  }

  void add(std::int64_t row, std::int32_t label, double weight) {
    const std::int64_t d = points_.n_features;
    const float *point = rows_.data() + row * d;
    double *sum = sums_.data() + label * d;
    counts_[label] += weight;
    for (std::int64_t f = 0; f < d; ++f) sum[f] += weight * double(point[f]);
  }

  // Moves a center to the mean of its points, if it has any. Returns how much that lowers their cost.
  double move_center(std::int64_t i) {
    const std::int64_t d = points_.n_features;
    const double count = counts_[i], *sum = sums_.data() + i * d;
    float *center = near_.data() + i * d;
    double squares = 0, product = 0, moved = 0;
    for (std::int64_t f = 0; options_.sphere && f < d; ++f) {
      squares += sum[f] * sum[f];
      product += sum[f] * double(center[f]);
    }
    const double divisor = options_.sphere ? std::sqrt(squares) : count;
    if (!(divisor > 0)) return 0;
    for (std::int64_t f = 0; f < d; ++f) {
      const double offset = sum[f] / divisor - double(center[f]);
      moved += offset * offset;
      center[f] = float(sum[f] / divisor);
    }
    return options_.sphere ? 2 * (divisor - product) : count * moved;
  }

  const Points points_;
  const double *const centers_, *const errors_;
  const Clusters clusters_;
  const MoveOptions options_;
  Buffer<std::int32_t> seen_;                  // (n_clusters,) the last trial that a center took part in
  std::int32_t stamp_ = 0;                     // which trial this is
  std::int32_t ids_[2 * most_neighbours + 2];  // the centers that adapt
  std::int32_t fixed_[2 * most_neighbours];    // those nearby that do not
  std::int64_t n_ids_ = 0, n_fixed_ = 0;
  const double *origin_ = nullptr;
  double scale_ = 1;
  Scratch<float> rows_, near_;  // local coordinates of the points and the centers
  Scratch<float> start_;        // (n_features,) of the center that a new one starts from
  Scratch<double> weights_, sums_, counts_;
  Scratch<std::int32_t> labels_;  // of the points, among near_; -1 before the first step
};

// Tries moves, each on its own. Returns the number of distances computed.
inline std::int64_t try_moves(const Points &points, const Centers<double> &centers, const double *errors,
                              const Clusters &clusters, const MoveOptions &options, const Moves &moves, int n_threads) {
  const std::int64_t d = points.n_features;
  n_threads = int(std::min<std::int64_t>(n_threads, moves.n));
  std::deque<MoveTrial> trials;
  for (int t = 0; t < n_threads; ++t)
    trials.emplace_back(points, centers.data, centers.n_clusters, errors, clusters, options);
  parallel_for(moves.n, n_threads, [&](std::int64_t i, int thread) {
    MoveTrial &trial = trials[std::size_t(thread)];
    const Move move{moves.removed[i], moves.inside[i], moves.added[i]};
    moves.gains[i] = trial.gain(move);
    if (moves.touched == nullptr) return;
    const std::int64_t n = trial.n_ids();
    std::int32_t *touched = moves.touched + i * moves.most_touched;
    double *positions = moves.positions + i * moves.most_touched * d;
    std::fill_n(touched, moves.most_touched, -1);
    if (!trial.tried) return;
    std::copy_n(trial.ids(), n, touched);
    if (move.added >= 0) touched[n] = move.removed;  // the center that is removed becomes the one that is added
    for (std::int64_t at = 0; at < n + (move.added >= 0); ++at)
      for (std::int64_t f = 0; f < d; ++f) positions[at * d + f] = trial.position(at, f);
  });
  std::int64_t n_distances = 0;
  for (const MoveTrial &trial : trials) n_distances += trial.n_distances;
  return n_distances;
}

}  // namespace
}  // namespace eulermeans
