// The Python module: chooses the kernels, and binds a pass over dense points. All that knows Python is in the files
// named bindings: they check shapes and dtypes, release the GIL and call a kernel.
#include "bindings.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <omp.h>
#include <pthread.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace eulermeans {

const Kernels *active = nullptr;

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

// A child that was forked has none of its parent's threads, and most often brothers for the other cores.
bool forked = false;

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

void distances(const AnyPoints &points, const AnyCenters &centers, const Distances &out, const std::optional<Rows> &rows,
               std::optional<int> n_threads) {
  const Points in = view(points, centers, rows, std::nullopt);
  const auto k = std::int64_t(centers.shape(0));
  check_distances(out, in.n_rows, centers);
  const int threads = allowed_threads(n_threads);
  nb::gil_scoped_release release;
  if (in.storage == Storage::float64)
    active->distances_f64(in, {static_cast<const double *>(centers.data()), k}, static_cast<double *>(out.data()), threads);
  else
    active->distances_f32(in, {static_cast<const float *>(centers.data()), k}, static_cast<float *>(out.data()), threads);
}

}  // namespace

int allowed_threads(std::optional<int> n_threads) {
  if (n_threads) require(*n_threads >= 1, "n_threads: expected at least 1");
  if (forked || omp_in_parallel()) return 1;
  return n_threads ? *n_threads : omp_get_max_threads();
}

}  // namespace eulermeans

NB_MODULE(_core, m) {
  using namespace nb::literals;
  using namespace eulermeans;
  active = chosen_kernels();
  pthread_atfork(nullptr, nullptr, [] { forked = true; });

  m.doc() = "Compiled kernels: one pass over points, without a points-by-centers matrix.";
  m.def("accumulate", &accumulate, "points"_a.noconvert(), "centers"_a.noconvert(), "counts"_a.noconvert(),
        "sums"_a.noconvert(), "cost"_a.noconvert(), "rows"_a.noconvert() = nb::none(),
        "weights"_a.noconvert() = nb::none(), "errors"_a.noconvert() = nb::none(),
        "utilities"_a.noconvert() = nb::none(), "labels"_a.noconvert() = nb::none(),
        "nearest"_a.noconvert() = nb::none(), "second"_a.noconvert() = nb::none(), "n_threads"_a = nb::none(),
        "Add to counts, sums, cost, errors and utilities what the points give; fill labels, nearest and second.");
  m.def("distances", &distances, "points"_a.noconvert(), "centers"_a.noconvert(), "out"_a.noconvert(),
        "rows"_a.noconvert() = nb::none(), "n_threads"_a = nb::none(),
        "Fill out with the Euclidean distance of each point to each center.");
  m.def("instruction_set", [] { return std::string(active->name); }, "The instruction set in use.");
  m.def("instruction_sets", [] {
    std::vector<std::string> names;
    for (const Kernels *kernels : supported_kernels()) names.emplace_back(kernels->name);
    return names;
  }, "Those that this machine supports, the best last.");
  m.def("max_threads", [] { return allowed_threads(std::nullopt); }, "The number of threads that None stands for.");
  bind_search(m);
  bind_csr(m);
  m.attr("BLOCK_ROWS") = block_rows;
}
