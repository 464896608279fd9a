// The only file that knows Python: checks shapes and dtypes, releases the GIL, calls a kernel.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <omp.h>
#include <pthread.h>

#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels.hpp"

namespace nb = nanobind;

namespace eulermeans {

extern const Kernels kernels_baseline;
#ifdef EULERMEANS_X86
extern const Kernels kernels_avx2;
extern const Kernels kernels_avx512;
#endif

namespace {

std::vector<const Kernels *> supported_kernels() {  // best last
  std::vector<const Kernels *> all{&kernels_baseline};
#ifdef EULERMEANS_X86
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    all.push_back(&kernels_avx2);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
      all.push_back(&kernels_avx512);
  }
#endif
  return all;
}

const Kernels *chosen_kernels() {
  const std::vector<const Kernels *> all = supported_kernels();
  const char *wanted = std::getenv("EULERMEANS_ISA");
  if (wanted == nullptr || *wanted == '\0') return all.back();
  std::string names;
  for (const Kernels *kernels : all) {
    if (std::string(wanted) == kernels->name) return kernels;
    names += std::string(names.empty() ? "" : ", ") + kernels->name;
  }
  throw nb::import_error(
      ("EULERMEANS_ISA=" + std::string(wanted) + " is not supported by this machine; it has: " + names).c_str());
}

const Kernels *active = nullptr;

// GNU's OpenMP cannot start threads in a child that was forked from a process that had some.
bool forked = false;

using AnyPoints = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using AnyCenters = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Weights = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Vector1 = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix2 = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Labels = nb::ndarray<std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Floats1 = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Floats2 = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Moved = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Members = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Distances = nb::ndarray<nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Starts = Rows;
using Stored = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void require(bool condition, const char *message) {
  if (!condition) throw nb::value_error(message);
}

Storage storage_of(const AnyPoints &points) {
  const nb::dlpack::dtype dtype = points.dtype();
  if (dtype == nb::dtype<float>()) return Storage::float32;
  if (dtype == nb::dtype<double>()) return Storage::float64;
  if (dtype == nb::dtype<std::uint8_t>()) return Storage::uint8;
  if (dtype == nb::dtype<std::int8_t>()) return Storage::int8;
  if (dtype.code == std::uint8_t(nb::dlpack::dtype_code::Float) && dtype.bits == 16) return Storage::float16;
  throw nb::type_error("points: expected float32, float64, float16, uint8 or int8");
}

void check_centers(const AnyCenters &centers, bool wide_points) {
  require(centers.shape(0) > 0, "centers: there must be at least one");
  const bool wide = centers.dtype() == nb::dtype<double>();
  if (!wide && centers.dtype() != nb::dtype<float>()) throw nb::type_error("centers: expected float32 or float64");
  if (wide != wide_points)
    throw nb::type_error("centers: expected float64 for float64 points and float32 for all others");
}

template <class AnyKind>
void choose_rows(AnyKind &points, std::int64_t n, const std::optional<Rows> &rows, const std::optional<Weights> &weights) {
  if (rows) {
    points.rows = rows->data();
    points.n_rows = std::int64_t(rows->shape(0));
    for (std::int64_t i = 0; i < points.n_rows; ++i)
      require(points.rows[i] >= 0 && points.rows[i] < n, "rows: an index is out of range");
  }
  if (weights) {
    require(std::int64_t(weights->shape(0)) == n, "weights: expected one for each row of points");
    points.weights = weights->data();
  }
}

Points view(const AnyPoints &points, const AnyCenters &centers, const std::optional<Rows> &rows,
            const std::optional<Weights> &weights) {
  const auto n = std::int64_t(points.shape(0));
  Points out{points.data(), storage_of(points), n, std::int64_t(points.shape(1)), nullptr, nullptr};
  require(centers.shape(1) == points.shape(1), "centers and points differ in their number of features");
  check_centers(centers, out.storage == Storage::float64);
  choose_rows(out, n, rows, weights);
  return out;
}

// Indices and starts are taken to be as kernels.hpp says: check_csr can tell.
CsrPoints view(const Stored &values, const Stored &indices, const Starts &starts, const AnyCenters &centers,
               const std::optional<Rows> &rows, const std::optional<Weights> &weights) {
  require(starts.shape(0) > 0, "starts: expected one more than rows");
  require(values.shape(0) == indices.shape(0), "values and indices differ in their number");
  const bool wide = values.dtype() == nb::dtype<double>(), wide_indices = indices.dtype() == nb::dtype<std::int64_t>();
  if (!wide && values.dtype() != nb::dtype<float>()) throw nb::type_error("values: expected float32 or float64");
  if (!wide_indices && indices.dtype() != nb::dtype<std::int32_t>())
    throw nb::type_error("indices: expected int32 or int64");
  check_centers(centers, wide);
  const std::int64_t n = std::int64_t(starts.shape(0)) - 1;
  CsrPoints out{values.data(), indices.data(), wide_indices, starts.data(), n, n, std::int64_t(centers.shape(1)),
                nullptr, nullptr};
  choose_rows(out, n, rows, weights);
  return out;
}

double *checked(const std::optional<Vector1> &array, std::int64_t size, const char *message) {
  if (!array) return nullptr;
  require(std::int64_t(array->shape(0)) == size, message);
  return array->data();
}

Totals checked(const AnyCenters &centers, const Vector1 &counts, const Matrix2 &sums, const Vector1 &cost,
               const std::optional<Vector1> &errors, const std::optional<Vector1> &utilities) {
  const auto k = std::int64_t(centers.shape(0));
  require(std::int64_t(counts.shape(0)) == k && std::int64_t(cost.shape(0)) == 1,
          "counts, cost: expected one for each center, and one");
  require(sums.shape(0) == centers.shape(0) && sums.shape(1) == centers.shape(1), "sums: expected the shape of centers");
  return {counts.data(), sums.data(), cost.data(), checked(errors, k, "errors: expected one for each center"),
          checked(utilities, k, "utilities: expected one for each center")};
}

PerRow checked(std::int64_t n_rows, const std::optional<Labels> &labels, const std::optional<Vector1> &nearest,
               const std::optional<Vector1> &second) {
  if (labels) require(std::int64_t(labels->shape(0)) == n_rows, "labels: expected one for each row");
  return {labels ? labels->data() : nullptr, checked(nearest, n_rows, "nearest: expected one for each row"),
          checked(second, n_rows, "second: expected one for each row")};
}

int allowed_threads(std::optional<int> n_threads) {
  if (n_threads) require(*n_threads >= 1, "n_threads: expected at least 1");
  if (forked || omp_in_parallel()) return 1;
  return n_threads ? *n_threads : omp_get_max_threads();
}

void accumulate(const AnyPoints &points, const AnyCenters &centers, const Vector1 &counts, const Matrix2 &sums,
                const Vector1 &cost, const std::optional<Rows> &rows, const std::optional<Weights> &weights,
                const std::optional<Vector1> &errors, const std::optional<Vector1> &utilities,
                const std::optional<Labels> &labels, const std::optional<Vector1> &nearest,
                const std::optional<Vector1> &second, std::optional<int> n_threads) {
  const Points in = view(points, centers, rows, weights);
  const auto k = std::int64_t(centers.shape(0));
  const Totals totals = checked(centers, counts, sums, cost, errors, utilities);
  const PerRow per_row = checked(in.n_rows, labels, nearest, second);
  const int threads = allowed_threads(n_threads);
  nb::gil_scoped_release release;
  if (in.storage == Storage::float64)
    active->pass_f64(in, {static_cast<const double *>(centers.data()), k}, totals, per_row, threads);
  else
    active->pass_f32(in, {static_cast<const float *>(centers.data()), k}, totals, per_row, threads);
}

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

void check_distances(const Distances &out, std::int64_t n_rows, const AnyCenters &centers) {
  require(std::int64_t(out.shape(0)) == n_rows && out.shape(1) == centers.shape(0),
          "out: expected a row for each point and a column for each center");
  require(out.dtype() == centers.dtype(), "out: expected the dtype of centers");
}

void distances(const AnyPoints &points, const AnyCenters &centers, const Distances &out, std::optional<int> n_threads) {
  const Points in = view(points, centers, std::nullopt, std::nullopt);
  const auto k = std::int64_t(centers.shape(0));
  check_distances(out, in.n_rows, centers);
  const int threads = allowed_threads(n_threads);
  nb::gil_scoped_release release;
  if (in.storage == Storage::float64)
    active->distances_f64(in, {static_cast<const double *>(centers.data()), k}, static_cast<double *>(out.data()), threads);
  else
    active->distances_f32(in, {static_cast<const float *>(centers.data()), k}, static_cast<float *>(out.data()), threads);
}

void accumulate_csr(const Stored &values, const Stored &indices, const Starts &starts, const AnyCenters &centers,
                    const Vector1 &counts, const Matrix2 &sums, const Vector1 &cost, const std::optional<Rows> &rows,
                    const std::optional<Weights> &weights, const std::optional<Vector1> &errors,
                    const std::optional<Vector1> &utilities, const std::optional<Labels> &labels,
                    const std::optional<Vector1> &nearest, const std::optional<Vector1> &second,
                    std::optional<int> n_threads) {
  const CsrPoints in = view(values, indices, starts, centers, rows, weights);
  const Totals totals = checked(centers, counts, sums, cost, errors, utilities);
  const PerRow per_row = checked(in.n_rows, labels, nearest, second);
  const auto k = std::int64_t(centers.shape(0));
  const int threads = allowed_threads(n_threads);
  nb::gil_scoped_release release;
  if (centers.dtype() == nb::dtype<double>())
    active->csr_pass_f64(in, {static_cast<const double *>(centers.data()), k}, totals, per_row, threads);
  else
    active->csr_pass_f32(in, {static_cast<const float *>(centers.data()), k}, totals, per_row, threads);
}

void distances_csr(const Stored &values, const Stored &indices, const Starts &starts, const AnyCenters &centers,
                   const Distances &out, std::optional<int> n_threads) {
  const CsrPoints in = view(values, indices, starts, centers, std::nullopt, std::nullopt);
  check_distances(out, in.n_rows, centers);
  const auto k = std::int64_t(centers.shape(0));
  const int threads = allowed_threads(n_threads);
  nb::gil_scoped_release release;
  if (centers.dtype() == nb::dtype<double>())
    active->csr_distances_f64(in, {static_cast<const double *>(centers.data()), k}, static_cast<double *>(out.data()), threads);
  else
    active->csr_distances_f32(in, {static_cast<const float *>(centers.data()), k}, static_cast<float *>(out.data()), threads);
}

template <class I>
bool check_csr(const nb::ndarray<const I, nb::ndim<1>, nb::c_contig, nb::device::cpu> &indices, const Starts &starts,
               std::int64_t n_features) {
  const I *feature = indices.data();
  const std::int64_t *start = starts.data(), n_rows = std::int64_t(starts.shape(0)) - 1;
  require(n_rows >= 0 && start[0] == 0, "indptr: expected to begin with 0");
  bool in_order = true;
  nb::gil_scoped_release release;
  for (std::int64_t i = 0; i < n_rows; ++i) {
    // What std::invalid_argument says becomes a ValueError; nanobind's own needs the GIL.
    if (start[i] > start[i + 1] || start[i + 1] > std::int64_t(indices.shape(0)))
      throw std::invalid_argument("indptr: expected not to decrease, and to end with the number of stored values");
    for (std::int64_t s = start[i]; s < start[i + 1]; ++s) {
      if (feature[s] < 0 || std::int64_t(feature[s]) >= n_features)
        throw std::invalid_argument("indices: one is negative or not below the number of features");
      in_order &= s == start[i] || feature[s - 1] < feature[s];
    }
  }
  return in_order;
}

}  // namespace
}  // namespace eulermeans

NB_MODULE(_core, m) {
  using namespace nb::literals;
  using namespace eulermeans;
  active = chosen_kernels();
  pthread_atfork(nullptr, nullptr, [] { forked = true; });

  m.doc() = "Compiled kernels: one pass over points, without a points-by-centers matrix.";
  m.def("accumulate", &accumulate, "points"_a.noconvert(), "centers"_a.noconvert(), "counts"_a.noconvert(), "sums"_a.noconvert(), "cost"_a.noconvert(), "rows"_a.noconvert() = nb::none(),
        "weights"_a.noconvert() = nb::none(), "errors"_a.noconvert() = nb::none(), "utilities"_a.noconvert() = nb::none(), "labels"_a.noconvert() = nb::none(),
        "nearest"_a.noconvert() = nb::none(), "second"_a.noconvert() = nb::none(), "n_threads"_a = nb::none(),
        "Add to counts, sums and cost, and to errors and utilities, what the points give; fill labels, nearest, second.");
  m.def("refine", &refine, "points"_a.noconvert(), "centers"_a.noconvert(), "counts"_a.noconvert(),
        "sums"_a.noconvert(), "labels"_a.noconvert(), "upper"_a.noconvert(), "lower"_a.noconvert(),
        "moved"_a.noconvert(), "group_moved"_a.noconvert(), "half_gap"_a.noconvert(), "group_of"_a.noconvert(),
        "members"_a.noconvert(), "group_start"_a.noconvert(), "weights"_a.noconvert() = nb::none(),
        "n_threads"_a = nb::none(),
        "Bring labels and bounds up to date with the centers; add to counts and sums what changed. Returns how many "
        "distances that took.");
  m.def("distances", &distances, "points"_a.noconvert(), "centers"_a.noconvert(), "out"_a.noconvert(), "n_threads"_a = nb::none(),
        "Fill out with the Euclidean distance of each point to each center.");
  m.def("accumulate_csr", &accumulate_csr, "values"_a.noconvert(), "indices"_a.noconvert(), "starts"_a.noconvert(), "centers"_a.noconvert(),
        "counts"_a.noconvert(), "sums"_a.noconvert(), "cost"_a.noconvert(), "rows"_a.noconvert() = nb::none(),
        "weights"_a.noconvert() = nb::none(), "errors"_a.noconvert() = nb::none(), "utilities"_a.noconvert() = nb::none(), "labels"_a.noconvert() = nb::none(),
        "nearest"_a.noconvert() = nb::none(), "second"_a.noconvert() = nb::none(), "n_threads"_a = nb::none(),
        "The same as accumulate for sparse points.");
  m.def("distances_csr", &distances_csr, "values"_a.noconvert(), "indices"_a.noconvert(), "starts"_a.noconvert(), "centers"_a.noconvert(),
        "out"_a.noconvert(), "n_threads"_a = nb::none(), "The same as distances for sparse points.");
  m.def("check_csr", &check_csr<std::int32_t>, "indices"_a.noconvert(), "starts"_a.noconvert(), "n_features"_a,
        "Raise ValueError if the kernels could read past an end; return whether each row's indices are in order, none twice.");
  m.def("check_csr", &check_csr<std::int64_t>, "indices"_a.noconvert(), "starts"_a.noconvert(), "n_features"_a);
  m.def("instruction_set", [] { return std::string(active->name); }, "The instruction set in use.");
  m.def("instruction_sets", [] {
    std::vector<std::string> names;
    for (const Kernels *kernels : supported_kernels()) names.emplace_back(kernels->name);
    return names;
  }, "Those that this machine supports, the best last.");
  m.def("max_threads", [] { return allowed_threads(std::nullopt); }, "The number of threads that None stands for.");
  m.attr("BLOCK_ROWS") = block_rows;
}
