// Python bindings of the kernels for sparse points.
#include <stdexcept>

#include "bindings.hpp"

namespace eulermeans {
namespace {

// Indices and starts are not checked here: that is what check_csr is for.
CsrPoints checked_csr(const AnyVector &values, const AnyVector &indices, const Rows &starts, std::size_t n_features,
                      const MaybeRows &rows, const MaybeWeights &weights) {
  require(starts.shape(0) > 0, "starts: expected one more than points");
  require(values.shape(0) == indices.shape(0), "indices: expected one for each of the values");
  const bool wide = values.dtype() == nb::dtype<double>(), wide_indices = indices.dtype() == nb::dtype<std::int64_t>();
  if (!wide && values.dtype() != nb::dtype<float>()) throw nb::type_error("values: expected float32 or float64");
  if (!wide_indices && indices.dtype() != nb::dtype<std::int32_t>())
    throw nb::type_error("indices: expected int32 or int64");
  const std::int64_t n = std::int64_t(starts.shape(0)) - 1, d = std::int64_t(n_features);
  CsrPoints out{values.data(), wide, indices.data(), wide_indices, starts.data(), n, n, d, nullptr, nullptr};
  choose_rows(out, std::size_t(n), rows, weights);
  return out;
}

double accumulate_csr(const AnyVector &values, const AnyVector &indices, const Rows &starts, const AnyMatrix &centers,
                      const Doubles &counts, const DoubleMatrix &sums, const Doubles &cost, const MaybeRows &rows,
                      const MaybeWeights &weights, const MaybeDoubles &errors, const MaybeDoubles &utilities,
                      const MaybeLabels &labels, const MaybeDoubles &nearest, const MaybeDoubles &second,
                      const MaybeWeights &prices, std::optional<int> n_threads) {
  const CsrPoints in = checked_csr(values, indices, starts, centers.shape(1), rows, weights);
  const Centers<void> checked = checked_centers(centers, in.wide_values, prices);
  const Totals totals = checked_totals(centers, counts, sums, cost, errors, utilities);
  const PerRow per_row = checked_per_row(in.n_rows, labels, nearest, second);
  const int threads = allowed_threads(n_threads);
  nb::gil_scoped_release release;
  return active->csr_pass(in, checked, totals, per_row, threads);
}

double assign_csr(const AnyVector &values, const AnyVector &indices, const Rows &starts, const AnyMatrix &centers,
                  const MaybeRows &rows, const MaybeLabels &labels, const MaybeDoubles &nearest,
                  const MaybeDoubles &second, const MaybeWeights &prices, std::optional<int> n_threads) {
  const CsrPoints in = checked_csr(values, indices, starts, centers.shape(1), rows, std::nullopt);
  const Centers<void> checked = checked_centers(centers, in.wide_values, prices);
  const PerRow per_row = checked_per_row(in.n_rows, labels, nearest, second);
  const int threads = allowed_threads(n_threads);
  nb::gil_scoped_release release;
  return active->csr_assign(in, checked, per_row, threads);
}

void distances_csr(const AnyVector &values, const AnyVector &indices, const Rows &starts, const AnyMatrix &centers,
                   const OutMatrix &out, std::optional<int> n_threads) {
  const CsrPoints in = checked_csr(values, indices, starts, centers.shape(1), std::nullopt, std::nullopt);
  const Centers<void> checked = checked_centers(centers, in.wide_values);
  check_distances(out, in.n_rows, centers);
  const int threads = allowed_threads(n_threads);
  nb::gil_scoped_release release;
  active->csr_distances(in, checked, out.data(), threads);
}

std::int64_t sweep_csr(const AnyVector &values, const AnyVector &indices, const Rows &starts, const Rows &order,
                       const Labels &labels, const Doubles &counts, const DoubleMatrix &sums, const Doubles &nearest,
                       const Doubles &second, std::int64_t n_sweeps, std::int64_t few, const MaybeWeights &weights,
                       std::optional<int> n_threads) {
  const CsrPoints in = checked_csr(values, indices, starts, sums.shape(1), std::nullopt, weights);
  const auto n = std::size_t(in.n_rows), k = sums.shape(0);
  require(order.shape(0) == n && labels.shape(0) == n && nearest.shape(0) == n && second.shape(0) == n,
          "order, labels, nearest, second: expected one for each point");
  check_counts_and_sums(counts, sums, k, sums.shape(1));
  check_range("order", order.data(), n, n);
  check_range("labels", labels.data(), n, k);
  const CsrSweep sweep{order.data(), labels.data(), counts.data(), sums.data(), nearest.data(), second.data()};
  const int threads = allowed_threads(n_threads);
  nb::gil_scoped_release release;
  return active->csr_sweep(in, sweep, std::int64_t(k), n_sweeps, few, threads);
}

template <class I>
bool check_csr(const Array<1, const I> &indices, const Rows &starts, std::int64_t n_features) {
  const I *feature = indices.data();
  const std::int64_t *start = starts.data(), n_rows = std::int64_t(starts.shape(0)) - 1;
  require(n_rows >= 0 && start[0] == 0, "indptr: expected 0 as the first value");
  bool in_order = true;
  nb::gil_scoped_release release;
  for (std::int64_t i = 0; i < n_rows; ++i) {
    // Without the GIL, nanobind's own exceptions cannot be thrown. This one becomes a ValueError too.
    if (start[i] > start[i + 1] || start[i + 1] > std::int64_t(indices.shape(0)))
      throw std::invalid_argument("indptr: expected non-decreasing values up to the number of stored values");
    for (std::int64_t s = start[i]; s < start[i + 1]; ++s) {
      if (feature[s] < 0 || std::int64_t(feature[s]) >= n_features)
        throw std::invalid_argument("indices: a value is out of range, expected 0 to n_features - 1");
      in_order &= s == start[i] || feature[s - 1] < feature[s];
    }
  }
  return in_order;
}

}  // namespace

void bind_csr(nb::module_ &m) {
  using namespace nb::literals;
  m.def("accumulate_csr", &accumulate_csr, arg("values"), arg("indices"), arg("starts"), arg("centers"), arg("counts"),
        arg("sums"), arg("cost"), optional_arg("rows"), optional_arg("weights"), optional_arg("errors"),
        optional_arg("utilities"), optional_arg("labels"), optional_arg("nearest"), optional_arg("second"),
        optional_arg("prices"), "n_threads"_a = nb::none(), "The same as accumulate, for sparse points.");
  m.def("assign_csr", &assign_csr, arg("values"), arg("indices"), arg("starts"), arg("centers"), optional_arg("rows"),
        optional_arg("labels"), optional_arg("nearest"), optional_arg("second"), optional_arg("prices"),
        "n_threads"_a = nb::none(),
        "The same as assign, for sparse points.");
  m.def("distances_csr", &distances_csr, arg("values"), arg("indices"), arg("starts"), arg("centers"), arg("out"),
        "n_threads"_a = nb::none(), "The same as distances, for sparse points.");
  m.def("sweep_csr", &sweep_csr, arg("values"), arg("indices"), arg("starts"), arg("order"), arg("labels"), arg("counts"),
        arg("sums"), arg("nearest"), arg("second"), "n_sweeps"_a, "few"_a, optional_arg("weights"),
        "n_threads"_a = nb::none(),
        "Let every point go to the cluster where it raises the cost least, again until at most `few` points move. Return "
        "how many sweeps were made.");
  m.def("check_csr", &check_csr<std::int32_t>, arg("indices"), arg("starts"), "n_features"_a,
        "Raise ValueError if a kernel would read out of bounds. Return whether the indices of each row are increasing "
        "and distinct.");
  m.def("check_csr", &check_csr<std::int64_t>, arg("indices"), arg("starts"), "n_features"_a);
}

}  // namespace eulermeans
