// The kernels for one instruction set. This file is compiled once for each, with that set's flags and these two
// macros; everything that it includes has internal linkage, so the copies do not mix.
#include "bounds.hpp"
#include "csr.hpp"
#include "pass.hpp"
#include "search.hpp"

#if !defined(EULERMEANS_ISA) || !defined(EULERMEANS_TABLE)
#error "the build defines EULERMEANS_ISA (a string) and EULERMEANS_TABLE (a name)"
#endif

namespace eulermeans {
namespace {

// Calls f with a value of the type that the coordinates are stored as, where arithmetic is in float.
template <class F>
auto by_storage(Storage storage, F f) {
  switch (storage) {
    case Storage::float16: return f(Half{});
    case Storage::uint8: return f(std::uint8_t{});
    case Storage::int8: return f(std::int8_t{});
    default: return f(float{});
  }
}

void pass_f32(const Points &points, const Centers<float> &centers, const Totals &totals, const PerRow &per_row,
              int n_threads) {
  by_storage(points.storage, [&]<class S>(S) { pass_over<float, S>(points, centers, totals, per_row, n_threads); });
}

std::int64_t refine_f32(const Points &points, const Centers<float> &centers, const Bounds &bounds,
                        const Totals &totals, int n_threads) {
  return by_storage(points.storage,
                    [&]<class S>(S) { return refine_over<float, S>(points, centers, bounds, totals, n_threads); });
}

void implicit_steps_f32(const Points &points, const ImplicitSteps &steps, std::int64_t k, double *centers,
                        int n_threads) {
  by_storage(points.storage,
             [&]<class S>(S) { implicit_steps_over<float, S>(points, steps, k, centers, n_threads); });
}

std::int64_t transfer(const Contest &contest, double *counts, double *sums, const double *centers) {
  if (contest.points.storage == Storage::float64)
    return transfer_points<double, double>(contest, counts, sums, centers);
  return by_storage(contest.points.storage,
                    [&]<class S>(S) { return transfer_points<float, S>(contest, counts, sums, centers); });
}

void distances_f32(const Points &points, const Centers<float> &centers, float *out, int n_threads) {
  by_storage(points.storage, [&]<class S>(S) { distances_of<float, S>(points, centers, out, n_threads); });
}

}  // namespace

extern const Kernels EULERMEANS_TABLE;
const Kernels EULERMEANS_TABLE = {
    .name = EULERMEANS_ISA,
    .pass_f32 = pass_f32,
    .pass_f64 = pass_over<double, double>,
    .refine_f32 = refine_f32,
    .refine_f64 = refine_over<double, double>,
    .implicit_steps_f32 = implicit_steps_f32,
    .implicit_steps_f64 = implicit_steps_over<double, double>,
    .transfer = transfer,
    .distances_f32 = distances_f32,
    .distances_f64 = distances_of<double, double>,
    .csr_pass_f32 = csr_pass<float>,
    .csr_pass_f64 = csr_pass<double>,
    .csr_distances_f32 = csr_distances<float>,
    .csr_distances_f64 = csr_distances<double>,
};

}  // namespace eulermeans
