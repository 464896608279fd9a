// Greedy k-means++: each new center is the best of a few points, drawn in proportion to their weight times their squared
// distance to the nearest center so far. A point goes over to a new center only if it is farther from its own than half
// of the distance between the two centers, so most points need not be measured.
#pragma once

#include <deque>

#include "nearest.hpp"
#include "scheduler.hpp"

namespace eulermeans {
namespace {

// Holds the points cluster after cluster, in the order in which the centers came.
template <class T, class S>
class GreedySeeding {
 public:
  GreedySeeding(const Points &points, const Centers<T> &known, const Assigned &assigned, const Draws &draws,
                int n_threads)
      : points_(points),
        d_(points.n_features),
        n_candidates_(draws.n_candidates),
        n_threads_(n_threads),
        k_(known.n_clusters),
        n_measured_(points.n_rows * draws.n_candidates) {
    const std::int64_t n = points.n_rows, most = k_ + draws.n_new;
    rows_.resize(n);
    nearest_.resize(n);
    taken_.resize(n);
    radii_.resize(most);
    masses_.resize(most);
    centers_.resize(most * d_);
    std::copy_n(known.data, k_ * d_, centers_.data());
    for (std::int64_t c = 0; c < n_candidates_; ++c) candidates_.emplace_back(n, d_);
    for (int thread = 0; thread < n_threads; ++thread) converted_.emplace_back(d_);
    starts_.filled(most + 1, 0);
    for (std::int64_t i = 0; i < n; ++i) ++starts_[assigned.labels[i] + 1];
    for (std::int64_t j = 0; j < k_; ++j) starts_[j + 1] += starts_[j];
    Buffer<std::int64_t> next(k_);
    std::copy_n(starts_.data(), k_, next.data());
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t at = next.data()[assigned.labels[i]]++;
      rows_[at] = points.rows == nullptr ? i : points.rows[i];
      nearest_[at] = assigned.nearest[i];
    }
    for (std::int64_t j = 0; j < k_; ++j) measure_cluster(j, starts_[j], starts_[j + 1]);
  }

  // Adds the best of the points that these numbers draw. Returns its row.
  std::int64_t add(const double *numbers) {
    double total = 0;
    for (std::int64_t j = 0; j < k_; ++j) total += masses_[j];
    for (std::int64_t c = 0; c < n_candidates_; ++c) candidate(c).row = rows_[drawn(numbers[c], total)];
    const double work = double(n_measured_) * double(d_ + distance_overhead);
    parallel_for(n_candidates_, useful_threads(n_threads_, n_candidates_, work),
                 [&](std::int64_t c, int thread) { measure(candidate(c), converted_[std::size_t(thread)].data()); });
    std::int64_t best = 0;
    n_measured_ = 0;
    for (std::int64_t c = 0; c < n_candidates_; ++c) {
      n_measured_ += candidate(c).n_measured;
      if (candidate(c).gain > candidate(best).gain) best = c;
    }
    admit(candidate(best));
    return candidate(best).row;
  }

 private:
  static constexpr std::int64_t distance_overhead = 16;  // of measuring a distance, in multiplications

  // A point that may become a center, and the points that are nearer to it than to their own centers.
  struct Candidate {
    Candidate(std::int64_t n_rows, std::int64_t d) : point(d), members(n_rows), distances(n_rows) {}

    std::int64_t row = 0, n_members = 0, n_measured = 0;
    double gain = 0;
    Buffer<T> point;
    Buffer<std::int64_t> members;  // their positions in rows_, in ascending order
    Buffer<double> distances;      // squared
  };

  Candidate &candidate(std::int64_t c) { return candidates_[std::size_t(c)]; }

  double weight(std::int64_t row) const { return points_.weights == nullptr ? 1 : points_.weights[row]; }

  // The coordinates of a row, converted to T if they are stored otherwise.
  const T *coordinates(std::int64_t row, T *converted) const {
    const S *stored = static_cast<const S *>(points_.data) + row * d_;
    if constexpr (std::is_same_v<T, S>) {
      return stored;
    } else {
      widen(stored, converted, d_);
      return converted;
    }
  }

  double squared(const T *a, const T *b) const {
    const T distance = squared_distance(a, b, d_);
    return out_of_range(distance, d_) ? squared_distance_wide(a, b, d_) : double(distance);
  }

  // The position of the point that a number from 0 up to 1 draws: all have the same chance if each is at a center.
  std::int64_t drawn(double number, double total) const {
    if (!(total > 0)) return std::min(points_.n_rows - 1, std::int64_t(number * double(points_.n_rows)));
    double left = number * total;
    std::int64_t last = 0;  // that has a chance: rounding may leave something behind it
    for (std::int64_t j = 0; j < k_; ++j) {
      if (!(left < masses_[j])) {
        left -= masses_[j];
        if (masses_[j] > 0) last = starts_[j + 1] - 1;
        continue;
      }
      for (std::int64_t i = starts_[j]; i < starts_[j + 1]; ++i) {
        const double mass = weight(rows_[i]) * nearest_[i];
        if (mass > 0) last = i;
        if (left < mass) return i;
        left -= mass;
      }
    }
    return last;
  }

  void measure(Candidate &tried, T *converted) {
    const T *point = tried.point.data();
    std::copy_n(coordinates(tried.row, converted), d_, tried.point.data());
    tried.n_members = tried.n_measured = 0;
    tried.gain = 0;
    const double quarter = 0.25 / (1 + 8 * double(rounding<T>(d_)));  // of a squared distance, with room for rounding
    for (std::int64_t j = 0; j < k_; ++j) {
      const double near = quarter * squared(centers_.data() + j * d_, point);
      if (!(radii_[j] > near)) continue;
      for (std::int64_t i = starts_[j]; i < starts_[j + 1]; ++i) {
        if (!(nearest_[i] > near)) continue;
        const double distance = squared(coordinates(rows_[i], converted), point);
        ++tried.n_measured;
        if (!(distance < nearest_[i])) continue;
        tried.gain += weight(rows_[i]) * (nearest_[i] - distance);
        tried.members.data()[tried.n_members] = i;
        tried.distances.data()[tried.n_members++] = distance;
      }
    }
  }

  // Makes the candidate a center and moves its members from their clusters into one of their own, behind all others.
  void admit(Candidate &chosen) {
    std::copy_n(chosen.point.data(), d_, centers_.data() + k_ * d_);
    std::int64_t to = 0, n_taken = 0;
    for (std::int64_t j = 0; j < k_; ++j) {
      const std::int64_t first = starts_[j], end = starts_[j + 1], n_before = n_taken;
      starts_[j] = to;
      for (std::int64_t i = first; i < end; ++i) {
        if (n_taken < chosen.n_members && chosen.members.data()[n_taken] == i) {
          taken_[n_taken++] = rows_[i];
        } else {
          rows_[to] = rows_[i];
          nearest_[to++] = nearest_[i];
        }
      }
      if (n_taken > n_before) measure_cluster(j, starts_[j], to);
    }
    starts_[k_] = to;
    std::copy_n(taken_.data(), n_taken, rows_.data() + to);
    std::copy_n(chosen.distances.data(), n_taken, nearest_.data() + to);
    starts_[k_ + 1] = points_.n_rows;
    measure_cluster(k_, to, points_.n_rows);
    ++k_;
  }

  void measure_cluster(std::int64_t j, std::int64_t first, std::int64_t end) {
    radii_[j] = masses_[j] = 0;
    for (std::int64_t i = first; i < end; ++i) {
      radii_[j] = std::max(radii_[j], nearest_[i]);
      masses_[j] += weight(rows_[i]) * nearest_[i];
    }
  }

  const Points points_;
  const std::int64_t d_, n_candidates_;
  const int n_threads_;
  std::int64_t k_, n_measured_;                  // centers so far; distances measured for the last one
  Scratch<std::int64_t> rows_, taken_, starts_;  // rows_: of the array, cluster after cluster
  Scratch<double> nearest_;                      // squared distance to the own center, in the order of rows_
  Scratch<double> radii_, masses_;               // of each cluster: the largest of nearest_, and the weighted sum
  Scratch<T> centers_;
  std::deque<Candidate> candidates_;
  std::deque<Buffer<T>> converted_;  // for each thread
};

// Sets chosen to the rows that become centers, one after the other: those after an exception are not set.
inline void seed_greedily(const Points &points, const Centers<void> &known, const Assigned &assigned,
                          const Draws &draws, std::int64_t *chosen, int n_threads) {
  with_types(points.storage, [&]<class T, class S>() {
    GreedySeeding<T, S> seeding(points, known.as<T>(), assigned, draws, n_threads);
    for (std::int64_t i = 0; i < draws.n_new; ++i) chosen[i] = seeding.add(draws.numbers + i * draws.n_candidates);
  });
}

}  // namespace
}  // namespace eulermeans
