// Sparse points for Python.
#include "bindings.hpp"

#include <stdexcept>

namespace eulermeans {
namespace {

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

void bind_csr(nb::module_ &m) {
  using namespace nb::literals;
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
}

}  // namespace eulermeans
