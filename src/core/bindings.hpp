// What the files that know Python share: array types, checks, and the kernels in use.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <optional>

#include "kernels.hpp"

namespace nb = nanobind;

namespace eulermeans {

extern const Kernels *active;  // chosen when the module is imported

int allowed_threads(std::optional<int> n_threads);

void bind_search(nb::module_ &m);
void bind_csr(nb::module_ &m);

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
using Points2 = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Distances = nb::ndarray<nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Starts = Rows;
using Stored = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline void require(bool condition, const char *message) {
  if (!condition) throw nb::value_error(message);
}

inline void check_centers(const AnyCenters &centers, bool wide_points) {
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

inline Storage storage_of(const AnyPoints &points) {
  const nb::dlpack::dtype dtype = points.dtype();
  if (dtype == nb::dtype<float>()) return Storage::float32;
  if (dtype == nb::dtype<double>()) return Storage::float64;
  if (dtype == nb::dtype<std::uint8_t>()) return Storage::uint8;
  if (dtype == nb::dtype<std::int8_t>()) return Storage::int8;
  if (dtype.code == std::uint8_t(nb::dlpack::dtype_code::Float) && dtype.bits == 16) return Storage::float16;
  throw nb::type_error("points: expected float32, float64, float16, uint8 or int8");
}

inline Points view(const AnyPoints &points, const AnyCenters &centers, const std::optional<Rows> &rows,
            const std::optional<Weights> &weights) {
  const auto n = std::int64_t(points.shape(0));
  Points out{points.data(), storage_of(points), n, std::int64_t(points.shape(1)), nullptr, nullptr};
  require(centers.shape(1) == points.shape(1), "centers and points differ in their number of features");
  check_centers(centers, out.storage == Storage::float64);
  choose_rows(out, n, rows, weights);
  return out;
}

inline double *checked(const std::optional<Vector1> &array, std::int64_t size, const char *message) {
  if (!array) return nullptr;
  require(std::int64_t(array->shape(0)) == size, message);
  return array->data();
}

inline Totals checked(const AnyCenters &centers, const Vector1 &counts, const Matrix2 &sums, const Vector1 &cost,
               const std::optional<Vector1> &errors, const std::optional<Vector1> &utilities) {
  const auto k = std::int64_t(centers.shape(0));
  require(std::int64_t(counts.shape(0)) == k && std::int64_t(cost.shape(0)) == 1,
          "counts, cost: expected one for each center, and one");
  require(sums.shape(0) == centers.shape(0) && sums.shape(1) == centers.shape(1), "sums: expected the shape of centers");
  return {counts.data(), sums.data(), cost.data(), checked(errors, k, "errors: expected one for each center"),
          checked(utilities, k, "utilities: expected one for each center")};
}

inline PerRow checked(std::int64_t n_rows, const std::optional<Labels> &labels, const std::optional<Vector1> &nearest,
               const std::optional<Vector1> &second) {
  if (labels) require(std::int64_t(labels->shape(0)) == n_rows, "labels: expected one for each row");
  return {labels ? labels->data() : nullptr, checked(nearest, n_rows, "nearest: expected one for each row"),
          checked(second, n_rows, "second: expected one for each row")};
}

inline void check_distances(const Distances &out, std::int64_t n_rows, const AnyCenters &centers) {
  require(std::int64_t(out.shape(0)) == n_rows && out.shape(1) == centers.shape(0),
          "out: expected a row for each point and a column for each center");
  require(out.dtype() == centers.dtype(), "out: expected the dtype of centers");
}

}  // namespace eulermeans
