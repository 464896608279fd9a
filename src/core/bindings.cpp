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
using Distances = nb::ndarray<nb::ndim<2>, nb::c_contig, nb::device::cpu>;

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

Points view(const AnyPoints &points, const AnyCenters &centers, const std::optional<Rows> &rows,
            const std::optional<Weights> &weights) {
  const auto n = std::int64_t(points.shape(0));
  Points out{points.data(), storage_of(points), n, std::int64_t(points.shape(1)), nullptr, nullptr};
  require(centers.shape(0) > 0, "centers: there must be at least one");
  require(centers.shape(1) == points.shape(1), "centers and points differ in their number of features");
  const bool wide = centers.dtype() == nb::dtype<double>();
  if (!wide && centers.dtype() != nb::dtype<float>()) throw nb::type_error("centers: expected float32 or float64");
  if (wide != (out.storage == Storage::float64))
    throw nb::type_error("centers: expected float64 for float64 points and float32 for all others");
  if (rows) {
    out.rows = rows->data();
    out.n_rows = std::int64_t(rows->shape(0));
    for (std::int64_t i = 0; i < out.n_rows; ++i)
      require(out.rows[i] >= 0 && out.rows[i] < n, "rows: an index is out of range");
  }
  if (weights) {
    require(std::int64_t(weights->shape(0)) == n, "weights: expected one for each row of points");
    out.weights = weights->data();
  }
  return out;
}

double *checked(const std::optional<Vector1> &array, std::int64_t size, const char *message) {
  if (!array) return nullptr;
  require(std::int64_t(array->shape(0)) == size, message);
  return array->data();
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
  require(std::int64_t(counts.shape(0)) == k && std::int64_t(cost.shape(0)) == 1,
          "counts, cost: expected one for each center, and one");
  require(std::int64_t(sums.shape(0)) == k && std::int64_t(sums.shape(1)) == in.n_features,
          "sums: expected the shape of centers");
  const Totals totals{counts.data(), sums.data(), cost.data(), checked(errors, k, "errors: expected one for each center"),
                      checked(utilities, k, "utilities: expected one for each center")};
  PerRow per_row{nullptr, checked(nearest, in.n_rows, "nearest: expected one for each row"),
                 checked(second, in.n_rows, "second: expected one for each row")};
  if (labels) {
    require(std::int64_t(labels->shape(0)) == in.n_rows, "labels: expected one for each row");
    per_row.labels = labels->data();
  }
  const int threads = allowed_threads(n_threads);
  nb::gil_scoped_release release;
  if (in.storage == Storage::float64)
    active->pass_f64(in, {static_cast<const double *>(centers.data()), k}, totals, per_row, threads);
  else
    active->pass_f32(in, {static_cast<const float *>(centers.data()), k}, totals, per_row, threads);
}

void distances(const AnyPoints &points, const AnyCenters &centers, const Distances &out, std::optional<int> n_threads) {
  const Points in = view(points, centers, std::nullopt, std::nullopt);
  const auto k = std::int64_t(centers.shape(0));
  require(std::int64_t(out.shape(0)) == in.n_rows && std::int64_t(out.shape(1)) == k,
          "out: expected a row for each point and a column for each center");
  require(out.dtype() == centers.dtype(), "out: expected the dtype of centers");
  const int threads = allowed_threads(n_threads);
  nb::gil_scoped_release release;
  if (in.storage == Storage::float64)
    active->distances_f64(in, {static_cast<const double *>(centers.data()), k}, static_cast<double *>(out.data()), threads);
  else
    active->distances_f32(in, {static_cast<const float *>(centers.data()), k}, static_cast<float *>(out.data()), threads);
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
  m.def("distances", &distances, "points"_a.noconvert(), "centers"_a.noconvert(), "out"_a.noconvert(), "n_threads"_a = nb::none(),
        "Fill out with the Euclidean distance of each point to each center.");
  m.def("instruction_set", [] { return std::string(active->name); }, "The instruction set in use.");
  m.def("instruction_sets", [] {
    std::vector<std::string> names;
    for (const Kernels *kernels : supported_kernels()) names.emplace_back(kernels->name);
    return names;
  }, "Those that this machine supports, the best last.");
  m.def("max_threads", [] { return allowed_threads(std::nullopt); }, "The number of threads that None stands for.");
  m.attr("BLOCK_ROWS") = block_rows;
}
