// The kernels for one instruction set. This file is compiled once for each, with that set's flags and these two
// macros; everything that it includes has internal linkage, so the copies do not mix.
#include "bounds.hpp"
#include "csr.hpp"
#include "pass.hpp"

#if !defined(EULERMEANS_ISA) || !defined(EULERMEANS_TABLE)
#error "the build defines EULERMEANS_ISA (a string) and EULERMEANS_TABLE (a name)"
#endif

namespace eulermeans {
namespace {

void pass_f32(const Points &points, const Centers<float> &centers, const Totals &totals, const PerRow &per_row,
              int n_threads) {
  switch (points.storage) {
    case Storage::float16: return pass_over<float, Half>(points, centers, totals, per_row, n_threads);
    case Storage::uint8: return pass_over<float, std::uint8_t>(points, centers, totals, per_row, n_threads);
    case Storage::int8: return pass_over<float, std::int8_t>(points, centers, totals, per_row, n_threads);
    default: return pass_over<float, float>(points, centers, totals, per_row, n_threads);
  }
}

void pass_f64(const Points &points, const Centers<double> &centers, const Totals &totals, const PerRow &per_row,
              int n_threads) {
  pass_over<double, double>(points, centers, totals, per_row, n_threads);
}

std::int64_t refine_f32(const Points &points, const Centers<float> &centers, const Bounds &bounds,
                        const Totals &totals, int n_threads) {
  switch (points.storage) {
    case Storage::float16: return refine_over<float, Half>(points, centers, bounds, totals, n_threads);
    case Storage::uint8: return refine_over<float, std::uint8_t>(points, centers, bounds, totals, n_threads);
    case Storage::int8: return refine_over<float, std::int8_t>(points, centers, bounds, totals, n_threads);
    default: return refine_over<float, float>(points, centers, bounds, totals, n_threads);
  }
}

std::int64_t refine_f64(const Points &points, const Centers<double> &centers, const Bounds &bounds,
                        const Totals &totals, int n_threads) {
  return refine_over<double, double>(points, centers, bounds, totals, n_threads);
}

void distances_f32(const Points &points, const Centers<float> &centers, float *out, int n_threads) {
  switch (points.storage) {
    case Storage::float16: return distances_of<float, Half>(points, centers, out, n_threads);
    case Storage::uint8: return distances_of<float, std::uint8_t>(points, centers, out, n_threads);
    case Storage::int8: return distances_of<float, std::int8_t>(points, centers, out, n_threads);
    default: return distances_of<float, float>(points, centers, out, n_threads);
  }
}

void distances_f64(const Points &points, const Centers<double> &centers, double *out, int n_threads) {
  distances_of<double, double>(points, centers, out, n_threads);
}

}  // namespace

extern const Kernels EULERMEANS_TABLE;
const Kernels EULERMEANS_TABLE = {EULERMEANS_ISA, pass_f32, pass_f64, refine_f32, refine_f64, distances_f32, distances_f64, csr_pass<float>, csr_pass<double>,
                                  csr_distances<float>, csr_distances<double>};

}  // namespace eulermeans
