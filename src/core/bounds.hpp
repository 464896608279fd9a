// A pass that keeps bounds: distances that the triangle inequality already decides are not computed again.
//
// A point has an upper bound on the distance to its own center, and one lower bound for all other centers or one for
// each center. A center that moves by m changes a bound by at most m. Bounds are stored relative to all moves so far:
// bounds that still hold need not be written. The current ones are upper + moved[label] and lower - lower_moved.
#pragma once

#include "pass.hpp"

namespace eulermeans {
namespace {

// Relative slack that keeps bounds valid when they are rounded to float.
constexpr float slack = 1e-6f;

template <class T, class S>
class Refiner {
 public:
  // finder: null if there is a lower bound for each center.
  Refiner(const Points &points, const Centers<T> &centers, const Bounds &bounds, const Finder<T, S> &finder)
      : points_(points),
        centers_(centers),
        bounds_(bounds),
        worker_(finder, points.n_features),
        measured_(bounds.n_lower) {}

  // Updates labels and bounds of the rows, and adds to the sums what the points that change their center contribute.
  void refine(std::int64_t begin, std::int64_t end, BlockSums<S> &sums) {
    std::int64_t open[block_rows];  // rows that may change their center
    std::int32_t before[block_rows];
    int n_open = 0;
    for (std::int64_t row = begin; row < end; ++row)
      if (!keeps_center(row, bounds_.upper[row] + bounds_.moved[bounds_.labels[row]])) open[n_open++] = row;
    n_open = filter_by_distance(open, n_open);
    for (int i = 0; i < n_open; ++i) before[i] = bounds_.labels[open[i]];
    if (worker_.finder != nullptr)
      compare_all_centers(open, n_open);
    else
      for_each_row(open, n_open, [&](std::int64_t row, const T *point) { compare_possible_centers(row, point); });
    move_points(open, before, n_open, sums);
  }

  std::int64_t n_distances = 0;

 private:
  float *lower_of(std::int64_t row) const { return bounds_.lower + row * bounds_.n_lower; }

  // Whether the bounds show that no other center is nearer. upper: an upper bound on the distance to the own center.
  bool keeps_center(std::int64_t row, float upper) const {
    if (upper <= bounds_.half_gap[bounds_.labels[row]]) return true;
    const float *lower = lower_of(row);
    std::int64_t i = 0;
    if (bounds_.n_lower >= lanes<float>) {
      Index<float> fails{};
      for (; i + lanes<float> <= bounds_.n_lower; i += lanes<float>)
        fails |= upper > load(lower + i) - load(bounds_.lower_moved + i);
      if (min_of_lanes(fails)[0] < 0) return false;
    }
    for (; i < bounds_.n_lower; ++i)
      if (upper > lower[i] - bounds_.lower_moved[i]) return false;
    return true;
  }

  // Measures the distance of each row to its own center, and keeps the rows for which the bounds still fail.
  int filter_by_distance(std::int64_t *rows, int n) {
    int n_kept = 0;
    for_each_row(rows, n, [&](std::int64_t row, const T *point) {
      const std::int32_t own = bounds_.labels[row];
      const double to_own = distance_to(point, own);
      set_upper(row, own, to_own);
      if (!keeps_center(row, float(to_own * (1 + slack)))) rows[n_kept++] = row;
    });
    return n_kept;
  }

  void compare_all_centers(const std::int64_t *rows, int n) {
    for (int first = 0; first < n; first += group_rows) {
      const int m = std::min(group_rows, n - first);
      worker_.find(only(rows, n), first, m);
      for (int p = 0; p < m; ++p) {
        const std::int64_t row = worker_.group.row[p];
        const Nearest &found = worker_.found[p];
        bounds_.labels[row] = found.label;
        set_upper(row, found.label, std::sqrt(found.nearest));
        set_lower(row, 0, std::sqrt(found.second));
      }
    }
    n_distances += n * centers_.n_clusters;
  }

  // Compares the centers that their lower bounds do not rule out.
  void compare_possible_centers(std::int64_t row, const T *point) {
    const std::int32_t own = bounds_.labels[row];
    const float *lower = lower_of(row);
    const double to_own = distance_to(point, own);
    Nearest found = nothing_yet;
    found.label = own;  // if no distance is a finite number
    for (std::int64_t j = 0; j < centers_.n_clusters; ++j) {
      double &measured = measured_.data()[j];
      measured = not_measured;
      const double least = std::min(to_own, found.nearest);
      if (j != own && float(least * (1 + slack)) <= lower[j] - bounds_.lower_moved[j]) continue;
      measured = j == own ? to_own : distance_to(point, j);
      keep_nearest(found, j, measured);
    }
    for (std::int64_t j = 0; j < centers_.n_clusters; ++j) {
      if (j == found.label)
        set_lower(row, j, std::numeric_limits<double>::infinity());
      else if (measured_.data()[j] != not_measured)
        set_lower(row, j, measured_.data()[j]);
    }
    if (found.label == own) return;
    bounds_.labels[row] = found.label;
    set_upper(row, found.label, found.nearest);
  }

  void set_upper(std::int64_t row, std::int32_t label, double distance) const {
    const double moved = bounds_.moved[label];
    bounds_.upper[row] = float(distance - moved + slack * (distance + moved));
  }

  void set_lower(std::int64_t row, std::int64_t i, double distance) const {
    const double bound = (distance + double(bounds_.lower_moved[i])) * (1 - slack);
    const bool fits = bound < double(std::numeric_limits<float>::max());
    lower_of(row)[i] = fits ? float(bound) : std::numeric_limits<float>::infinity();
  }

  double distance_to(const T *point, std::int64_t j) {
    ++n_distances;
    return distance(point, centers_[j], points_.n_features);
  }

  // The same points, but only these rows.
  Points only(const std::int64_t *rows, int n) const {
    Points some = points_;
    some.rows = rows;
    some.n_rows = n;
    return some;
  }

  // Calls work(row, point) for each of the rows, in order. It may overwrite the rows that it has been called with.
  template <class Work>
  void for_each_row(const std::int64_t *rows, int n, const Work &work) {
    for (int first = 0; first < n; first += group_rows) {
      const int m = std::min(group_rows, n - first);
      worker_.group.read(only(rows, n), first, m);
      for (int p = 0; p < m; ++p) work(worker_.group.row[p], worker_.group.points[p]);
    }
  }

  // Subtracts the points that changed their center from the sums of the old one, and adds them to those of the new one.
  void move_points(std::int64_t *rows, std::int32_t *before, int n, BlockSums<S> &sums) {
    int n_moved = 0;
    for (int i = 0; i < n; ++i) {
      if (bounds_.labels[rows[i]] == before[i]) continue;
      rows[n_moved] = rows[i];
      before[n_moved++] = before[i];
    }
    for (int first = 0; first < n_moved; first += group_rows) {
      const int m = std::min(group_rows, n_moved - first);
      worker_.group.read(only(rows, n_moved), first, m);
      Nearest from[group_rows], to[group_rows];
      double less[group_rows], more[group_rows];
      for (int p = 0; p < m; ++p) {
        const std::int64_t row = worker_.group.row[p];
        more[p] = points_.weights == nullptr ? 1 : points_.weights[row];
        less[p] = -more[p];
        from[p] = {before[first + p], 0, 0};
        to[p] = {bounds_.labels[row], 0, 0};
      }
      sums.add(worker_.group.points, less, from, m);
      sums.add(worker_.group.points, more, to, m);
    }
  }

  static constexpr double not_measured = -1;

  const Points points_;
  const Centers<T> centers_;
  const Bounds bounds_;
  Worker<T, S> worker_;
  Buffer<double> measured_;  // (n_lower,) distances of one point
};

// Updates labels and bounds, and adds the changes to counts and sums. Returns the number of distances computed.
inline std::int64_t refine(const Points &points, const Centers<void> &untyped_centers, const Bounds &bounds,
                           const Totals &totals, int n_threads) {
  const std::int64_t d = points.n_features, k = untyped_centers.n_clusters;
  std::int64_t n_distances = 0;
  if (points.n_rows == 0) return n_distances;
  with_types(points.storage, [&]<class T, class S>() {
    const Centers<T> centers = untyped_centers.as<T>();
    const Finder<T, S> finder = bounds.n_lower == 1 ? choose_nearest<T, S>(centers, Second::lower_bound) : nullptr;
    BlockScheduler<BlockSums<S>> scheduler(points.n_rows, n_threads, work_of(points.n_rows, d, k), k, d, false);
    std::deque<Refiner<T, S>> refiners;
    for (int t = 0; t < scheduler.n_threads; ++t) refiners.emplace_back(points, centers, bounds, finder);
    scheduler.run(totals, [&](int thread, std::int64_t first, std::int64_t end, BlockSums<S> &sums) {
      refiners[std::size_t(thread)].refine(first, end, sums);
    });
    for (const Refiner<T, S> &refiner : refiners) n_distances += refiner.n_distances;
  });
  return n_distances;
}

}  // namespace
}  // namespace eulermeans
