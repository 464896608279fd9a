// What the binding files share: array types, checks, and the kernels in use. The binding files are the only ones that
// know Python: they check shapes and dtypes, release the GIL and call a kernel.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "kernels.hpp"
#include "scheduler.hpp"

namespace nb = nanobind;

namespace eulermeans {

extern const Kernels *active;  // chosen when the module is imported

// The number of threads a call may use; nullopt stands for OpenMP's number.
int allowed_threads(std::optional<int> n_threads);

// Gets this thread ready for a call: when it asks for signals next.
void begin_call();

// Runs a kernel without the GIL. Ctrl-C and the time limit of this thread end it early, by an exception.
template <class Kernel>
auto without_gil(const Kernel &kernel) {
  begin_call();
  nb::gil_scoped_release release;
  return kernel();
}

void bind_csr(nb::module_ &m);
void bind_neighbourhoods(nb::module_ &m);
void bind_placement(nb::module_ &m);

template <int NDim, class... Config>
using Array = nb::ndarray<Config..., nb::ndim<NDim>, nb::c_contig, nb::device::cpu>;

// Read only; without a scalar type, any dtype.
using AnyVector = Array<1, nb::ro>;
using AnyMatrix = Array<2, nb::ro>;
using Rows = Array<1, const std::int64_t>;
using Weights = Array<1, const double>;
using ReadFloats = Array<1, const float>;
using ReadLabels = Array<1, const std::int32_t>;
using ReadDoubleMatrix = Array<2, const double>;

// Written.
using Doubles = Array<1, double>;
using DoubleMatrix = Array<2, double>;
using Labels = Array<1, std::int32_t>;
using Floats = Array<1, float>;
using FloatMatrix = Array<2, float>;
using OutMatrix = Array<2>;

using MaybeRows = std::optional<Rows>;
using MaybeWeights = std::optional<Weights>;
using MaybeDoubles = std::optional<Doubles>;
using MaybeLabels = std::optional<Labels>;

inline auto arg(const char *name) { return nb::arg(name).noconvert(); }
inline auto optional_arg(const char *name) { return nb::arg(name).noconvert() = nb::none(); }

inline void require(bool condition, const char *message) {
  if (!condition) throw nb::value_error(message);
}

// Requires that an array is aligned to its elements: kernels load whole elements. Other arguments are not looked at.
template <class T>
void check_aligned(const T &, int) {}

template <class... Config>
void check_aligned(const nb::ndarray<Config...> &array, int position) {
  const auto address = reinterpret_cast<std::uintptr_t>(static_cast<const void *>(array.data()));
  const std::size_t alignment = std::max<std::size_t>(1, std::min(array.itemsize(), alignof(double)));
  if (array.size() == 0 || address % alignment == 0) return;
  throw nb::value_error(("argument " + std::to_string(position) +
                         " is an array that is not aligned to its elements; np.require(array, requirements=\"A\") "
                         "is a copy that is")
                            .c_str());
}

template <class T>
void check_aligned(const std::optional<T> &argument, int position) {
  if (argument) check_aligned(*argument, position);
}

// The function, after a check that its arrays are aligned. All functions with arrays are bound through this.
template <class Result, class... Arguments>
auto aligned(Result (*function)(Arguments...)) {
  return [function](Arguments... arguments) -> Result {
    int position = 0;
    (check_aligned(arguments, ++position), ...);
    return function(arguments...);
  };
}

// Arrays of one call. None that the kernel writes may share memory with another: it would read what it has just written,
// for example as an index.
class Apart {
 public:
  template <class... Arrays>
  Apart &reads(const Arrays &...arrays) {
    (add(arrays, false), ...);
    return *this;
  }
  template <class... Arrays>
  Apart &writes(const Arrays &...arrays) {
    (add(arrays, true), ...);
    return *this;
  }

 private:
  static constexpr int most = 20;

  struct Range {
    const char *begin, *end;
    bool written;
  };

  template <class A>
  void add(const std::optional<A> &array, bool written) {
    if (array) add(*array, written);
  }

  template <class A>
  void add(const A &array, bool written) {
    const char *begin = static_cast<const char *>(static_cast<const void *>(array.data()));
    const Range range{begin, begin + array.nbytes(), written};
    for (int i = 0; i < n_; ++i)
      require((!written && !ranges_[i].written) || range.end <= ranges_[i].begin || ranges_[i].end <= range.begin,
              "two arguments share memory, and one of them is written");
    require(n_ < most, "too many arrays");
    if (range.begin != range.end) ranges_[n_++] = range;
  }

  Range ranges_[most];
  int n_ = 0;
};

inline void check_counts_and_sums(const Doubles &counts, const DoubleMatrix &sums, std::size_t k, std::size_t d) {
  require(counts.shape(0) == k, "counts: expected one for each center");
  require(sums.shape(0) == k && sums.shape(1) == d, "sums: expected the shape of centers");
}

// Requires 0 <= value < end for all values.
template <class I>
void check_range(const char *name, const I *values, std::size_t n, std::size_t end) {
  I lowest = 0, highest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    lowest = std::min(lowest, values[i]);
    highest = std::max(highest, values[i]);
  }
  if (n == 0 || (lowest >= 0 && std::size_t(highest) < end)) return;
  const std::string wrong = std::to_string(lowest < 0 ? lowest : highest), last = std::to_string(std::int64_t(end) - 1);
  throw nb::value_error((std::string(name) + ": " + wrong + " is out of range, expected 0 to " + last).c_str());
}

constexpr std::size_t most_clusters = 0x7fffffff;  // labels are int32

inline Centers<void> checked_centers(const AnyMatrix &centers, bool wide_points) {
  require(centers.shape(0) > 0 && centers.shape(1) > 0, "centers: expected at least one, with at least one feature");
  require(centers.shape(0) <= most_clusters, "centers: expected fewer than 2**31");
  const bool wide = centers.dtype() == nb::dtype<double>();
  if (!wide && centers.dtype() != nb::dtype<float>()) throw nb::type_error("centers: expected float32 or float64");
  if (wide != wide_points)
    throw nb::type_error("centers: expected float64 if the points are float64, otherwise float32");
  return {centers.data(), std::int64_t(centers.shape(0)), std::int64_t(centers.shape(1))};
}

// The same with a price for each center.
inline Centers<void> checked_centers(const AnyMatrix &centers, bool wide_points, const MaybeWeights &prices) {
  Centers<void> checked = checked_centers(centers, wide_points);
  if (!prices) return checked;
  require(prices->shape(0) == centers.shape(0) && centers.shape(0) > 1,
          "prices: expected one for each of at least two centers");
  checked.prices = prices->data();
  return checked;
}

// Sets the rows to read and the weights of Points or CsrPoints with n rows.
template <class AnyPoints>
void choose_rows(AnyPoints &points, std::size_t n, const MaybeRows &rows, const MaybeWeights &weights) {
  if (rows) {
    check_range("rows", rows->data(), rows->shape(0), n);
    points.rows = rows->data();
    points.n_rows = std::int64_t(rows->shape(0));
  }
  if (weights) {
    require(weights->shape(0) == n, "weights: expected one for each point");
    points.weights = weights->data();
  }
}

inline Storage storage_of(const AnyMatrix &points) {
  const nb::dlpack::dtype dtype = points.dtype();
  if (dtype == nb::dtype<float>()) return Storage::float32;
  if (dtype == nb::dtype<double>()) return Storage::float64;
  if (dtype == nb::dtype<std::uint8_t>()) return Storage::uint8;
  if (dtype == nb::dtype<std::int8_t>()) return Storage::int8;
  if (dtype.code == std::uint8_t(nb::dlpack::dtype_code::Float) && dtype.bits == 16) return Storage::float16;
  throw nb::type_error("points: expected float32, float64, float16, uint8 or int8");
}

inline Points checked_points(const AnyMatrix &points, std::size_t n_features, const MaybeRows &rows,
                             const MaybeWeights &weights) {
  require(points.shape(1) > 0, "points: expected at least one feature");
  require(points.shape(1) == n_features, "centers: expected as many features as points have");
  const auto n = std::int64_t(points.shape(0)), d = std::int64_t(n_features);
  Points out{points.data(), storage_of(points), n, d, nullptr, nullptr};
  choose_rows(out, points.shape(0), rows, weights);
  return out;
}

inline double *optional_data(const MaybeDoubles &array, std::size_t size, const char *message) {
  if (!array) return nullptr;
  require(array->shape(0) == size, message);
  return array->data();
}

inline Totals checked_totals(const AnyMatrix &centers, const Doubles &counts, const DoubleMatrix &sums,
                             const Doubles &cost, const MaybeDoubles &errors, const MaybeDoubles &utilities,
                             const MaybeDoubles &n_tied) {
  const std::size_t k = centers.shape(0);
  check_counts_and_sums(counts, sums, k, centers.shape(1));
  require(cost.shape(0) == 1, "cost: expected one value");
  return {counts.data(),
          sums.data(),
          cost.data(),
          optional_data(errors, k, "errors: expected one for each center"),
          optional_data(utilities, k, "utilities: expected one for each center"),
          optional_data(n_tied, 1, "n_tied: expected one value")};
}

inline PerRow checked_per_row(std::int64_t n_rows, const MaybeLabels &labels, const MaybeDoubles &nearest,
                              const MaybeDoubles &second) {
  const auto n = std::size_t(n_rows);
  if (labels) require(labels->shape(0) == n, "labels: expected one for each row");
  return {labels ? labels->data() : nullptr, optional_data(nearest, n, "nearest: expected one for each row"),
          optional_data(second, n, "second: expected one for each row")};
}

inline void check_distances(const OutMatrix &out, std::int64_t n_rows, const AnyMatrix &centers) {
  require(std::int64_t(out.shape(0)) == n_rows && out.shape(1) == centers.shape(0),
          "out: expected a row for each point and a column for each center");
  require(out.dtype() == centers.dtype(), "out: expected the dtype of centers");
}

}  // namespace eulermeans
