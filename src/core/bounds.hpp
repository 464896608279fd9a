// A pass that remembers: distances that the triangle inequality already decides are not computed again.
//
// For each point there is an upper bound on the distance to its own center and, for each group of centers, a lower
// bound on the distance to the nearest other one. A center that has moved by m moves these bounds by m at most. So
// that no bound need be written while it holds, bounds are kept relative to how far centers have moved in all so far:
// upper + moved[own center] and lower - group_moved[group] are the bounds of today.
#pragma once

#include "pass.hpp"

namespace eulermeans {
namespace {

// Bounds are rounded to float; this much slack, relative to the numbers they come from, keeps them bounds.
constexpr float slack = 1e-6f;
constexpr float unbounded = std::numeric_limits<float>::infinity();

// The nearest and second nearest center of one group, the point's own center left out.
struct GroupNearest {
  std::int32_t label;  // -1 if the group was not looked at
  double first, second;
};

template <class T>
class Bounder {
 public:
  Bounder(const Centers<T> &centers, std::int64_t n_features, const Bounds &bounds)
      : centers_(centers), n_features_(n_features), bounds_(bounds), seen_(bounds.n_groups) {}

  // Whether the bounds alone show that the row keeps its center.
  bool keeps(std::int64_t row) const { return holds(row, upper_of(row)); }

  // The same with the distance to its own center measured.
  bool keeps(std::int64_t row, const T *point) {
    const std::int32_t own = bounds_.labels[row];
    const double distance = distance_to(point, own);
    set_upper(row, own, distance);
    return holds(row, float(distance * (1 + slack)));
  }

  // Look at every group whose bound does not rule it out.
  void search(std::int64_t row, const T *point) {
    const std::int32_t own = bounds_.labels[row];
    const float *lower = lower_of(row);
    const double to_own = distance_to(point, own);
    double nearest = to_own;
    std::int32_t label = own;
    for (std::int64_t g = 0; g < bounds_.n_groups; ++g) {
      GroupNearest &seen = seen_.data()[g];
      seen.label = -1;
      if (float(nearest * (1 + slack)) <= lower[g] - bounds_.group_moved[g]) continue;
      seen = nearest_in_group(point, g, own);
      if (seen.first < nearest || (seen.first == nearest && seen.label < label)) {
        nearest = seen.first;
        label = seen.label;
      }
    }
    for (std::int64_t g = 0; g < bounds_.n_groups; ++g) {
      const GroupNearest &seen = seen_.data()[g];
      if (seen.label >= 0) set_lower(row, g, seen.label == label ? seen.second : seen.first);
    }
    if (label == own) return;
    const std::int64_t left = bounds_.group_of[own];  // its old center is one of the others from now on
    if (to_own < double(lower[left]) - bounds_.group_moved[left]) set_lower(row, left, to_own);
    bounds_.labels[row] = label;
    set_upper(row, label, nearest);
  }

  // With one group, what a search among all centers has found.
  void set(std::int64_t row, const Nearest &found) {
    bounds_.labels[row] = found.label;
    set_upper(row, found.label, std::sqrt(found.nearest));
    set_lower(row, 0, std::sqrt(found.second));
    n_distances += centers_.n_clusters;
  }

  std::int64_t n_distances = 0;

 private:
  float *lower_of(std::int64_t row) const { return bounds_.lower + row * bounds_.n_groups; }

  float upper_of(std::int64_t row) const { return bounds_.upper[row] + bounds_.moved[bounds_.labels[row]]; }

  bool holds(std::int64_t row, float upper) const {
    if (upper <= bounds_.half_gap[bounds_.labels[row]]) return true;
    const float *lower = lower_of(row);
    std::int64_t g = 0;
    if (bounds_.n_groups >= lanes<float>) {
      Index<float> fails{};
      for (; g + lanes<float> <= bounds_.n_groups; g += lanes<float>)
        fails |= upper > load(lower + g) - load(bounds_.group_moved + g);
      if (min_of_lanes(fails)[0] < 0) return false;
    }
    for (; g < bounds_.n_groups; ++g)
      if (upper > lower[g] - bounds_.group_moved[g]) return false;
    return true;
  }

  void set_upper(std::int64_t row, std::int32_t label, double distance) const {
    const double moved = bounds_.moved[label];
    bounds_.upper[row] = float(distance - moved + slack * (distance + moved));
  }

  void set_lower(std::int64_t row, std::int64_t g, double distance) const {
    const double kept = (distance + double(bounds_.group_moved[g])) * (1 - slack);
    lower_of(row)[g] = kept < double(std::numeric_limits<float>::max()) ? float(kept) : unbounded;
  }

  double distance_to(const T *point, std::int64_t j) {
    ++n_distances;
    const T *center = centers_.data + j * n_features_;
    const T squared = squared_distance(point, center, n_features_);
    return std::sqrt(out_of_range(squared, n_features_) ? squared_distance_wide(point, center, n_features_)
                                                        : double(squared));
  }

  GroupNearest nearest_in_group(const T *point, std::int64_t g, std::int32_t own) {
    GroupNearest found{own, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
    for (std::int32_t i = bounds_.group_start[g]; i < bounds_.group_start[g + 1]; ++i) {
      const std::int32_t j = bounds_.members[i];
      if (j == own) continue;
      const double distance = distance_to(point, j);
      if (distance < found.first) {
        found = {j, distance, found.first};
      } else if (distance < found.second) {
        found.second = distance;
      }
    }
    return found;
  }

  const Centers<T> centers_;
  const std::int64_t n_features_;
  const Bounds bounds_;
  Buffer<GroupNearest> seen_;
};

template <class T, class S>
class Refiner {
 public:
  Refiner(const Points &points, const Centers<T> &centers, const Bounds &bounds, Finder<T, S> &finder)
      : points_(points),
        bounds_(bounds),
        finder_(finder),
        bounder_(centers, points.n_features, bounds),
        worker_(finder) {}

  // Brings the labels and bounds of the rows up to date, and adds to the totals what the changes of center change.
  void refine(std::int64_t begin, std::int64_t end, BlockTotals<S> &totals) {
    const bool one_group = bounds_.n_groups == 1;
    std::int64_t open[block_rows];
    std::int32_t before[block_rows];
    int n_open = 0;
    for (std::int64_t row = begin; row < end; ++row)
      if (!bounder_.keeps(row)) open[n_open++] = row;
    n_open = filter(open, n_open, [&](std::int64_t row, const T *point) { return !bounder_.keeps(row, point); });
    for (int i = 0; i < n_open; ++i) before[i] = bounds_.labels[open[i]];
    if (one_group)
      search_all(open, n_open);
    else
      filter(open, n_open, [&](std::int64_t row, const T *point) { return bounder_.search(row, point), true; });
    move(open, before, n_open, totals);
  }

  std::int64_t n_distances() const { return bounder_.n_distances; }

 private:
  const Points points_;
  const Bounds bounds_;
  Finder<T, S> &finder_;
  Bounder<T> bounder_;
  Worker<T, S> worker_;

  Points only(const std::int64_t *rows, int n) const {
    Points some = points_;
    some.rows = rows;
    some.n_rows = n;
    return some;
  }

  // Keeps of the rows those for which `wanted` is true, in order; returns how many.
  template <class Wanted>
  int filter(std::int64_t *rows, int n, Wanted wanted) {
    int kept = 0;
    for (int first = 0; first < n; first += group_rows) {
      const int m = std::min(group_rows, n - first);
      worker_.group.read(only(rows, n), first, m);
      for (int p = 0; p < m; ++p)
        if (wanted(worker_.group.row[p], worker_.group.points[p])) rows[kept++] = worker_.group.row[p];
    }
    return kept;
  }

  void search_all(const std::int64_t *rows, int n) {
    for (int first = 0; first < n; first += group_rows) {
      const int m = std::min(group_rows, n - first);
      worker_.find(only(rows, n), first, m, finder_);
      for (int p = 0; p < m; ++p) bounder_.set(worker_.group.row[p], worker_.found[p]);
    }
  }

  void move(std::int64_t *rows, std::int32_t *before, int n, BlockTotals<S> &totals) {
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
      totals.add(worker_.group.points, less, from, m);
      totals.add(worker_.group.points, more, to, m);
    }
  }
};

// Adds to the totals what has changed since the labels were last brought up to date; returns how many distances that
// took.
template <class T, class S>
std::int64_t refine_over(const Points &points, const Centers<T> &centers, const Bounds &bounds, const Totals &totals,
                         int n_threads) {
  const std::int64_t d = points.n_features, k = centers.n_clusters;
  const std::int64_t n_blocks = (points.n_rows + block_rows - 1) / block_rows;
  if (n_blocks == 0) return 0;
  const double work = work_of(points.n_rows, d, k);
  n_threads = useful_threads(n_threads, n_blocks, work);
  const bool whole = bounds.n_groups == 1;  // else groups are searched one by one
  Finder<T, S> finder(whole ? centers : Centers<T>{nullptr, 0}, d, Second::at_most_it);
  InOrder<BlockTotals<S>> blocks(n_blocks, run_of(n_blocks, n_threads, work), n_threads, k, d, false);
  std::deque<Refiner<T, S>> refiners;
  for (int t = 0; t < n_threads; ++t) refiners.emplace_back(points, centers, bounds, finder);
  on_threads(n_threads, [&](int thread) {
    Refiner<T, S> &refiner = refiners[std::size_t(thread)];
    blocks.work(thread, totals, [&](std::int64_t block, BlockTotals<S> &block_totals) {
      refiner.refine(block * block_rows, std::min(points.n_rows, (block + 1) * block_rows), block_totals);
    });
  });
  std::int64_t n_distances = 0;
  for (Refiner<T, S> &refiner : refiners) n_distances += refiner.n_distances();
  return n_distances;
}

}  // namespace
}  // namespace eulermeans
