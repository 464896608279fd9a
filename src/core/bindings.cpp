// The Python module: chooses the kernels for this machine, and binds those for dense points.
#include "bindings.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <omp.h>
#include <pthread.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "kernel_tables.hpp"

namespace eulermeans {

const Kernels *active = nullptr;

namespace {

const Kernels *chosen_kernels() {
  const std::vector<const Kernels *> all = supported_kernels();
  if (all.empty())
    throw nb::import_error(
        "eulermeans was compiled for another processor than this one; install it again here, or with "
        "--config-settings=cmake.define.EULERMEANS_SETS=all for any processor.");
  const char *wanted = std::getenv("EULERMEANS_ISA");
  if (wanted == nullptr || *wanted == '\0') return all.back();
  std::string names;
  for (const Kernels *kernels : all) {
    if (std::string(wanted) == kernels->name) return kernels;
    names += std::string(names.empty() ? "" : ", ") + kernels->name;
  }
  throw nb::import_error(
      ("EULERMEANS_ISA=" + std::string(wanted) + " is not supported here, expected one of: " + names).c_str());
}

// A forked child has none of its parent's threads, and usually siblings that use the other cores.
bool forked = false;

constexpr int most_threads = 1024;  // more would be refused by the system, or slow it down

bool is_main_thread() {  // the only thread that Python runs signal handlers on
  const nb::module_ threading = nb::module_::import_("threading");
  return threading.attr("main_thread")().attr("ident").equal(threading.attr("get_ident")());
}

// Runs the handlers of signals that have come, and returns the exception that one of them raised.
std::exception_ptr pending_exception() {
  const nb::gil_scoped_acquire gil;
  return PyErr_CheckSignals() == 0 ? nullptr : std::make_exception_ptr(nb::python_error());
}

// Sets after how many seconds the calls of this thread end; nullopt: never. Returns how many were left before.
std::optional<double> limit_time(std::optional<double> seconds) {
  using Clock = CallLimits::Clock;
  Clock::time_point &deadline = call_limits().deadline;
  const Clock::time_point now = Clock::now(), before = deadline;
  require(!seconds || !std::isnan(*seconds), "seconds: expected a number");
  const double longest = 1e9;
  deadline = !seconds || *seconds > longest ? Clock::time_point::max()
                                            : now + std::chrono::duration_cast<Clock::duration>(
                                                        std::chrono::duration<double>(std::max(*seconds, -longest)));
  if (before == Clock::time_point::max()) return std::nullopt;
  return std::chrono::duration<double>(before - now).count();
}

double accumulate(const AnyMatrix &points, const AnyMatrix &centers, const Doubles &counts, const DoubleMatrix &sums,
                  const Doubles &cost, const MaybeRows &rows, const MaybeWeights &weights, const MaybeDoubles &errors,
                  const MaybeDoubles &utilities, const MaybeDoubles &n_tied, const MaybeLabels &labels,
                  const MaybeDoubles &nearest, const MaybeDoubles &second, const MaybeWeights &prices,
                  std::optional<int> n_threads) {
  const Points in = checked_points(points, centers.shape(1), rows, weights);
  const Centers<void> checked = checked_centers(centers, in.storage == Storage::float64, prices);
  const Totals totals = checked_totals(centers, counts, sums, cost, errors, utilities, n_tied);
  const PerRow per_row = checked_per_row(in.n_rows, labels, nearest, second);
  Apart()
      .reads(points, centers, rows, weights, prices)
      .writes(counts, sums, cost, errors, utilities, n_tied, labels, nearest, second);
  const int threads = allowed_threads(n_threads);
  return without_gil([&] { return active->pass(in, checked, totals, per_row, threads); });
}

double assign(const AnyMatrix &points, const AnyMatrix &centers, const MaybeRows &rows, const MaybeLabels &labels,
              const MaybeDoubles &nearest, const MaybeDoubles &second, const MaybeWeights &prices,
              std::optional<int> n_threads) {
  const Points in = checked_points(points, centers.shape(1), rows, std::nullopt);
  const Centers<void> checked = checked_centers(centers, in.storage == Storage::float64, prices);
  const PerRow per_row = checked_per_row(in.n_rows, labels, nearest, second);
  Apart().reads(points, centers, rows, prices).writes(labels, nearest, second);
  const int threads = allowed_threads(n_threads);
  return without_gil([&] { return active->assign(in, checked, per_row, threads); });
}

void distances(const AnyMatrix &points, const AnyMatrix &centers, const OutMatrix &out, const MaybeRows &rows,
               std::optional<int> n_threads) {
  const Points in = checked_points(points, centers.shape(1), rows, std::nullopt);
  const Centers<void> checked = checked_centers(centers, in.storage == Storage::float64);
  check_distances(out, in.n_rows, centers);
  Apart().reads(points, centers, rows).writes(out);
  const int threads = allowed_threads(n_threads);
  without_gil([&] { active->distances(in, checked, out.data(), threads); });
}

std::int64_t refine(const AnyMatrix &points, const AnyMatrix &centers, const Doubles &counts, const DoubleMatrix &sums,
                    const Labels &labels, const Floats &upper, const FloatMatrix &lower, const ReadFloats &moved,
                    const ReadFloats &lower_moved, const ReadFloats &half_gap, const MaybeWeights &weights,
                    std::optional<int> n_threads) {
  const std::size_t n = points.shape(0), k = centers.shape(0), n_lower = lower.shape(1);
  const Points in = checked_points(points, centers.shape(1), std::nullopt, weights);
  const Centers<void> checked = checked_centers(centers, in.storage == Storage::float64);
  check_counts_and_sums(counts, sums, k, centers.shape(1));
  require(labels.shape(0) == n, "labels: expected one for each point");
  require(upper.shape(0) == n, "upper: expected one for each point");
  require(lower.shape(0) == n && (n_lower == 1 || n_lower == k),
          "lower: expected a row for each point, with one column or one for each center");
  require(moved.shape(0) == k, "moved: expected one for each center");
  require(lower_moved.shape(0) == n_lower, "lower_moved: expected one for each column of lower");
  require(half_gap.shape(0) == k, "half_gap: expected one for each center");
  Apart().reads(points, centers, moved, lower_moved, half_gap, weights).writes(counts, sums, labels, upper, lower);
  check_range("labels", labels.data(), n, k);
  double cost = 0;
  const Totals totals{counts.data(), sums.data(), &cost, nullptr, nullptr, nullptr};
  const Bounds bounds{labels.data(), upper.data(),       lower.data(),   std::int64_t(n_lower),
                      moved.data(),  lower_moved.data(), half_gap.data()};
  const int threads = allowed_threads(n_threads);
  return without_gil([&] { return active->refine(in, checked, bounds, totals, threads); });
}

void implicit_steps(const AnyMatrix &points, const Rows &rows, const DoubleMatrix &centers, std::int64_t n_outer,
                    std::int64_t n_inner, double step_size, double decay, double averaging, double limit,
                    std::optional<int> n_threads) {
  const auto n_rows = std::int64_t(rows.shape(0));
  // Divisions instead of a product, which may overflow.
  require(n_outer >= 1 && n_inner >= 1 && n_rows > 0 && n_rows % n_outer == 0 && n_rows / n_outer % n_inner == 0,
          "rows: expected a positive multiple of n_outer * n_inner, for batches of equal size");
  require(centers.shape(0) > 0 && centers.shape(0) <= most_clusters, "centers: expected at least one, below 2**31");
  const Points in = checked_points(points, centers.shape(1), rows, std::nullopt);
  Apart().reads(points, rows).writes(centers);
  const ImplicitSteps steps{n_outer, n_inner, n_rows / (n_outer * n_inner), step_size, decay, averaging, limit};
  const int threads = allowed_threads(n_threads);
  without_gil([&] { active->implicit_steps(in, steps, std::int64_t(centers.shape(0)), centers.data(), threads); });
}

void seed_greedily(const AnyMatrix &points, const AnyMatrix &centers, const ReadLabels &labels, const Weights &nearest,
                   const ReadDoubleMatrix &numbers, const Array<1, std::int64_t> &chosen, const MaybeRows &rows,
                   const MaybeWeights &weights, std::optional<int> n_threads) {
  const Points in = checked_points(points, centers.shape(1), rows, weights);
  const Centers<void> known = checked_centers(centers, in.storage == Storage::float64);
  const auto n_rows = std::size_t(in.n_rows);
  require(n_rows > 0, "points: expected at least one row");
  require(labels.shape(0) == n_rows, "labels: expected one for each row");
  require(nearest.shape(0) == n_rows, "nearest: expected one for each row");
  check_range("labels", labels.data(), n_rows, centers.shape(0));
  require(numbers.shape(1) > 0, "numbers: expected at least one column");
  require(std::all_of(numbers.data(), numbers.data() + numbers.size(), [](double x) { return x >= 0 && x < 1; }),
          "numbers: expected values from 0 up to 1");
  require(chosen.shape(0) == numbers.shape(0), "chosen: expected one for each row of numbers");
  require(centers.shape(0) + numbers.shape(0) <= most_clusters, "numbers: expected fewer than 2**31 centers in all");
  Apart().reads(points, centers, labels, nearest, numbers, rows, weights).writes(chosen);
  const Draws draws{numbers.data(), std::int64_t(numbers.shape(0)), std::int64_t(numbers.shape(1))};
  const Assigned assigned{labels.data(), nearest.data()};
  const int threads = allowed_threads(n_threads);
  without_gil([&] { active->seed_greedily(in, known, assigned, draws, chosen.data(), threads); });
}

}  // namespace

int allowed_threads(std::optional<int> n_threads) {
  if (n_threads) require(*n_threads >= 1, "n_threads: expected at least 1");
  if (forked || omp_in_parallel()) return 1;
  return std::clamp(n_threads ? *n_threads : omp_get_max_threads(), 1, most_threads);
}

void begin_call() {
  static thread_local const bool main_thread = is_main_thread();
  CallLimits &limits = call_limits();
  limits.interrupted = main_thread ? pending_exception : nullptr;
  limits.next_check = {};
}

}  // namespace eulermeans

NB_MODULE(_core, m) {
  using namespace nb::literals;
  using namespace eulermeans;
  active = chosen_kernels();
  pthread_atfork(nullptr, nullptr, [] { forked = true; });

  m.doc() = "Compiled kernels: one pass over points, without a points-by-centers matrix.";
  m.def("accumulate", aligned(&accumulate), arg("points"), arg("centers"), arg("counts"), arg("sums"), arg("cost"),
        optional_arg("rows"), optional_arg("weights"), optional_arg("errors"), optional_arg("utilities"),
        optional_arg("n_tied"), optional_arg("labels"), optional_arg("nearest"), optional_arg("second"),
        optional_arg("prices"), "n_threads"_a = nb::none(),
        "Assign points to their nearest centers: add to counts, sums, cost, errors, utilities and the number of ties, "
        "and fill labels, nearest and second. Return the largest squared distance to a nearest center.");
  m.def("assign", aligned(&assign), arg("points"), arg("centers"), optional_arg("rows"), optional_arg("labels"),
        optional_arg("nearest"), optional_arg("second"), optional_arg("prices"), "n_threads"_a = nb::none(),
        "The same as accumulate without sums: fill labels, nearest and second only.");
  m.def("distances", aligned(&distances), arg("points"), arg("centers"), arg("out"), optional_arg("rows"),
        "n_threads"_a = nb::none(), "Fill out with the Euclidean distance of each point to each center.");
  nb::exception<OutOfTime>(m, "OutOfTime", PyExc_TimeoutError);
  m.def("limit_time", &limit_time, "seconds"_a.none(),
        "Set after how many seconds calls from this thread end with OutOfTime; None: never. Return what was left "
        "before.");
  m.def("instruction_set", [] { return std::string(active->name); }, "The instruction set in use.");
  m.def("instruction_sets", [] {
    std::vector<std::string> names;
    for (const Kernels *kernels : supported_kernels()) names.emplace_back(kernels->name);
    return names;
  }, "The instruction sets that this machine supports, the best last.");
  m.def("max_threads", [] { return allowed_threads(std::nullopt); }, "The number of threads used by default.");
  m.def("refine", aligned(&refine), arg("points"), arg("centers"), arg("counts"), arg("sums"), arg("labels"),
        arg("upper"), arg("lower"), arg("moved"), arg("lower_moved"), arg("half_gap"), optional_arg("weights"),
        "n_threads"_a = nb::none(),
        "Update labels and bounds for centers that have moved, and add the changes to counts and sums. Return the "
        "number of distances computed.");
  m.def("implicit_steps", aligned(&implicit_steps), arg("points"), arg("rows"), arg("centers"), "n_outer"_a,
        "n_inner"_a, "step_size"_a, "decay"_a, "averaging"_a, "limit"_a, "n_threads"_a = nb::none(),
        "Take n_outer stochastic backward Euler steps of n_inner mini-batches each.");
  m.def("seed_greedily", aligned(&seed_greedily), arg("points"), arg("centers"), arg("labels"), arg("nearest"),
        arg("numbers"), arg("chosen"), optional_arg("rows"), optional_arg("weights"), "n_threads"_a = nb::none(),
        "Add centers by greedy k-means++, and fill chosen with the rows that become centers.");
  bind_neighbourhoods(m);
  bind_csr(m);
  bind_placement(m);
  m.attr("BLOCK_ROWS") = block_rows;
}
