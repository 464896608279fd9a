// Bounded passes, runs of steps and transfers for Python.
#include "bindings.hpp"

namespace eulermeans {
namespace {

std::int64_t refine(const AnyPoints &points, const AnyCenters &centers, const Vector1 &counts, const Matrix2 &sums,
                    const Labels &labels, const Floats1 &upper, const Floats2 &lower, const Moved &moved,
                    const Moved &group_moved, const Moved &half_gap, const Members &group_of, const Members &members,
                    const Members &group_start, const std::optional<Weights> &weights, std::optional<int> n_threads) {
  const Points in = view(points, centers, std::nullopt, weights);
  const std::size_t n = points.shape(0), k = centers.shape(0), groups = lower.shape(1);
  require(counts.shape(0) == k && sums.shape(0) == k && sums.shape(1) == points.shape(1),
          "counts, sums: expected one for each center, and the shape of centers");
  require(labels.shape(0) == n && upper.shape(0) == n && lower.shape(0) == n,
          "labels, upper, lower: expected one for each row");
  require(groups >= 1 && group_moved.shape(0) == groups && group_start.shape(0) == groups + 1,
          "group_moved, group_start: expected one for each column of lower, and one more");
  require(moved.shape(0) == k && half_gap.shape(0) == k && group_of.shape(0) == k && members.shape(0) == k,
          "moved, half_gap, group_of, members: expected one for each center");
  double cost = 0;
  const Totals totals{counts.data(), sums.data(), &cost, nullptr, nullptr};
  const Bounds bounds{labels.data(),   upper.data(),    lower.data(),   std::int64_t(groups), moved.data(),
                      group_moved.data(), half_gap.data(), group_of.data(), members.data(),       group_start.data()};
  const int threads = allowed_threads(n_threads);
  nb::gil_scoped_release release;
  if (in.storage == Storage::float64)
    return active->refine_f64(in, {static_cast<const double *>(centers.data()), std::int64_t(k)}, bounds, totals, threads);
  return active->refine_f32(in, {static_cast<const float *>(centers.data()), std::int64_t(k)}, bounds, totals, threads);
}

void implicit_steps(const AnyPoints &points, const Rows &rows, const Matrix2 &centers, std::int64_t n_outer,
                    std::int64_t n_inner, double step_size, double decay, double averaging, double limit,
                    std::optional<int> n_threads) {
  const auto n = std::int64_t(points.shape(0)), n_rows = std::int64_t(rows.shape(0));
  require(n_outer >= 1 && n_inner >= 1 && n_rows % (n_outer * n_inner) == 0 && n_rows > 0,
          "rows: expected as many for each of n_outer * n_inner batches");
  require(centers.shape(0) > 0 && centers.shape(1) == points.shape(1),
          "centers and points differ in their number of features");
  Points in{points.data(), storage_of(points), n, std::int64_t(points.shape(1)), nullptr, nullptr};
  choose_rows(in, n, rows, std::nullopt);
  const ImplicitSteps steps{n_outer, n_inner, n_rows / (n_outer * n_inner), step_size, decay, averaging, limit};
  const auto run = in.storage == Storage::float64 ? active->implicit_steps_f64 : active->implicit_steps_f32;
  const int threads = allowed_threads(n_threads);
  nb::gil_scoped_release release;
  run(in, steps, std::int64_t(centers.shape(0)), centers.data(), threads);
}

std::int64_t transfer(const AnyPoints &points, const Rows &rows, const Weights &weights, const Members &labels,
                      const Vector1 &counts, const Matrix2 &sums, const Points2 &centers) {
  const std::size_t n = rows.shape(0), k = centers.shape(0), d = points.shape(1);
  require(weights.shape(0) == n && labels.shape(0) == n, "weights, labels: expected one for each of the rows");
  require(counts.shape(0) == k && sums.shape(0) == k && sums.shape(1) == d && centers.shape(1) == d,
          "counts, sums, centers: expected one for each center, with the points' features");
  for (std::size_t i = 0; i < n; ++i)
    require(labels.data()[i] >= 0 && std::size_t(labels.data()[i]) < k, "labels: one is out of range");
  const auto n_points = std::int64_t(points.shape(0));
  Contest contest{{points.data(), storage_of(points), n_points, std::int64_t(d), nullptr, nullptr},
                  weights.data(),
                  labels.data(),
                  std::int64_t(k)};
  choose_rows(contest.points, n_points, rows, std::nullopt);
  nb::gil_scoped_release release;
  return active->transfer(contest, counts.data(), sums.data(), centers.data());
}

}  // namespace

void bind_search(nb::module_ &m) {
  using namespace nb::literals;
  m.def("refine", &refine, "points"_a.noconvert(), "centers"_a.noconvert(), "counts"_a.noconvert(),
        "sums"_a.noconvert(), "labels"_a.noconvert(), "upper"_a.noconvert(), "lower"_a.noconvert(),
        "moved"_a.noconvert(), "group_moved"_a.noconvert(), "half_gap"_a.noconvert(), "group_of"_a.noconvert(),
        "members"_a.noconvert(), "group_start"_a.noconvert(), "weights"_a.noconvert() = nb::none(),
        "n_threads"_a = nb::none(),
        "Bring labels and bounds up to date with the centers; add to counts and sums what changed. Returns how many "
        "distances that took.");
  m.def("implicit_steps", &implicit_steps, "points"_a.noconvert(), "rows"_a.noconvert(), "centers"_a.noconvert(),
        "n_outer"_a, "n_inner"_a, "step_size"_a, "decay"_a, "averaging"_a, "limit"_a, "n_threads"_a = nb::none(),
        "Take n_outer stochastic backward Euler steps of n_inner batches each, the rows of one after the other.");
  m.def("transfer", &transfer, "points"_a.noconvert(), "rows"_a.noconvert(), "weights"_a.noconvert(), "labels"_a.noconvert(),
        "counts"_a.noconvert(), "sums"_a.noconvert(), "centers"_a.noconvert(),
        "Move single points to other clusters where that lowers the cost; returns how many were moved.");
}

}  // namespace eulermeans
