// Python bindings of the kernels for sparse points.
#include <algorithm>
#include <stdexcept>

#include "bindings.hpp"

namespace eulermeans {
namespace {

constexpr std::int64_t most_sweeps = 10000;  // sums that do not belong to the points may let points move for ever

// Requires 0 <= index < n_features for the values from `first` to `end`.
template <class I>
bool in_range(const void *indices, std::int64_t first, std::int64_t end, std::int64_t n_features) {
  const I *index = static_cast<const I *>(indices);
  I lowest = 0, highest = 0;
  for (std::int64_t s = first; s < end; ++s) {
    lowest = std::min(lowest, index[s]);
    highest = std::max(highest, index[s]);
  }
  return lowest >= 0 && std::int64_t(highest) < n_features;
}

// Indices and starts that have been checked, so that a pass need not do it again. Holds the arrays, so that no others
// come to lie at their addresses; whoever changes them afterwards is on their own.
class CheckedCsr {
 public:
  CheckedCsr(const AnyVector &indices, const Rows &starts, std::int64_t n_features)
      : indices_(indices), starts_(starts), n_features_(n_features) {
    check_aligned(indices, 1);
    check_aligned(starts, 2);
    if (indices.dtype() == nb::dtype<std::int32_t>())
      in_order = check<std::int32_t>();
    else if (indices.dtype() == nb::dtype<std::int64_t>())
      in_order = check<std::int64_t>();
    else
      throw nb::type_error("indices: expected int32 or int64");
  }

  bool is_about(const AnyVector &indices, const Rows &starts, std::int64_t n_features) const {
    return indices.data() == indices_.data() && indices.shape(0) == indices_.shape(0) &&
           indices.dtype() == indices_.dtype() && starts.data() == starts_.data() &&
           starts.shape(0) == starts_.shape(0) && n_features == n_features_;
  }

  bool in_order = false;  // whether the indices of each row are increasing and distinct

 private:
  template <class I>
  bool check() const;

  const AnyVector indices_;
  const Rows starts_;
  const std::int64_t n_features_;
};

// Requires that the rows to read lie within the stored values, and their indices within the features. Whether indices
// are increasing and distinct is what CheckedCsr tells: if they are not, results are wrong but nothing is read out of bounds.
void check_rows(const CsrPoints &points, std::int64_t n_stored) {
  const auto good = [&](std::int64_t first, std::int64_t end) {
    if (first < 0 || end < first || end > n_stored) return false;
    return points.wide_indices ? in_range<std::int64_t>(points.indices, first, end, points.n_features)
                               : in_range<std::int32_t>(points.indices, first, end, points.n_features);
  };
  bool all_good = points.starts[0] >= 0 && points.starts[points.n_stored_rows] <= n_stored;
  if (points.rows != nullptr) {
    for (std::int64_t i = 0; all_good && i < points.n_rows; ++i)
      all_good = good(points.starts[points.rows[i]], points.starts[points.rows[i] + 1]);
  } else {
    for (std::int64_t i = 0; i < points.n_stored_rows; ++i) all_good &= points.starts[i] <= points.starts[i + 1];
    all_good = all_good && good(points.starts[0], points.starts[points.n_stored_rows]);
  }
  require(all_good,
          "starts, indices: expected starts that do not decrease, up to the number of values, and indices of 0 "
          "to n_features - 1");
}

CsrPoints checked_csr(const AnyVector &values, const AnyVector &indices, const Rows &starts, std::size_t n_features,
                      const MaybeRows &rows, const MaybeWeights &weights, const CheckedCsr *checked) {
  require(starts.shape(0) > 0, "starts: expected one more than points");
  require(values.shape(0) == indices.shape(0), "indices: expected one for each of the values");
  const bool wide = values.dtype() == nb::dtype<double>(), wide_indices = indices.dtype() == nb::dtype<std::int64_t>();
  if (!wide && values.dtype() != nb::dtype<float>()) throw nb::type_error("values: expected float32 or float64");
  if (!wide_indices && indices.dtype() != nb::dtype<std::int32_t>())
    throw nb::type_error("indices: expected int32 or int64");
  require(n_features > 0, "centers: expected at least one feature");
  const std::int64_t n = std::int64_t(starts.shape(0)) - 1, d = std::int64_t(n_features);
  CsrPoints out{values.data(), wide, indices.data(), wide_indices, starts.data(), n, n, d, nullptr, nullptr};
  choose_rows(out, std::size_t(n), rows, weights);
  if (checked == nullptr || !checked->is_about(indices, starts, d)) check_rows(out, std::int64_t(values.shape(0)));
  return out;
}

double accumulate_csr(const AnyVector &values, const AnyVector &indices, const Rows &starts, const AnyMatrix &centers,
                      const Doubles &counts, const DoubleMatrix &sums, const Doubles &cost, const MaybeRows &rows,
                      const MaybeWeights &weights, const MaybeDoubles &errors, const MaybeDoubles &utilities,
                      const MaybeDoubles &n_tied, const MaybeLabels &labels, const MaybeDoubles &nearest,
                      const MaybeDoubles &second, const MaybeWeights &prices, const CheckedCsr *known,
                      std::optional<int> n_threads) {
  const CsrPoints in = checked_csr(values, indices, starts, centers.shape(1), rows, weights, known);
  const Centers<void> checked = checked_centers(centers, in.wide_values, prices);
  const Totals totals = checked_totals(centers, counts, sums, cost, errors, utilities, n_tied);
  const PerRow per_row = checked_per_row(in.n_rows, labels, nearest, second);
  Apart()
      .reads(values, indices, starts, centers, rows, weights, prices)
      .writes(counts, sums, cost, errors, utilities, n_tied, labels, nearest, second);
  const int threads = allowed_threads(n_threads);
  return without_gil([&] { return active->csr_pass(in, checked, totals, per_row, threads); });
}

double assign_csr(const AnyVector &values, const AnyVector &indices, const Rows &starts, const AnyMatrix &centers,
                  const MaybeRows &rows, const MaybeLabels &labels, const MaybeDoubles &nearest,
                  const MaybeDoubles &second, const MaybeWeights &prices, const CheckedCsr *known,
                  std::optional<int> n_threads) {
  const CsrPoints in = checked_csr(values, indices, starts, centers.shape(1), rows, std::nullopt, known);
  const Centers<void> checked = checked_centers(centers, in.wide_values, prices);
  const PerRow per_row = checked_per_row(in.n_rows, labels, nearest, second);
  Apart().reads(values, indices, starts, centers, rows, prices).writes(labels, nearest, second);
  const int threads = allowed_threads(n_threads);
  return without_gil([&] { return active->csr_assign(in, checked, per_row, threads); });
}

void distances_csr(const AnyVector &values, const AnyVector &indices, const Rows &starts, const AnyMatrix &centers,
                   const OutMatrix &out, const CheckedCsr *known, std::optional<int> n_threads) {
  const CsrPoints in = checked_csr(values, indices, starts, centers.shape(1), std::nullopt, std::nullopt, known);
  const Centers<void> checked = checked_centers(centers, in.wide_values);
  check_distances(out, in.n_rows, centers);
  Apart().reads(values, indices, starts, centers).writes(out);
  const int threads = allowed_threads(n_threads);
  without_gil([&] { active->csr_distances(in, checked, out.data(), threads); });
}

std::int64_t sweep_csr(const AnyVector &values, const AnyVector &indices, const Rows &starts, const Rows &order,
                       const Labels &labels, const Doubles &counts, const DoubleMatrix &sums, const Doubles &errors,
                       const Doubles &extra, std::int64_t n_sweeps, std::int64_t few, const MaybeWeights &weights,
                       const CheckedCsr *known, std::optional<int> n_threads) {
  const CsrPoints in = checked_csr(values, indices, starts, sums.shape(1), std::nullopt, weights, known);
  const auto n = std::size_t(in.n_rows), k = sums.shape(0);
  require(order.shape(0) == n && labels.shape(0) == n && extra.shape(0) == n,
          "order, labels, extra: expected one for each point");
  require(errors.shape(0) == k, "errors: expected one for each cluster");
  check_counts_and_sums(counts, sums, k, sums.shape(1));
  check_range("order", order.data(), n, n);
  const bool known_clusters = std::all_of(labels.data(), labels.data() + n,
                                          [&](std::int32_t label) { return label >= -1 && label < std::int64_t(k); });
  require(k > 0 && known_clusters, "labels: expected -1 to n_clusters - 1");
  require(n_sweeps >= 0 && n_sweeps <= most_sweeps, "n_sweeps: expected 0 to 10000");
  const CsrSweep sweep{order.data(), labels.data(), counts.data(), sums.data(), errors.data(), extra.data()};
  Apart().reads(values, indices, starts, order, weights).writes(labels, counts, sums, errors, extra);
  const int threads = allowed_threads(n_threads);
  return without_gil([&] { return active->csr_sweep(in, sweep, std::int64_t(k), n_sweeps, few, threads); });
}

template <class I>
bool CheckedCsr::check() const {
  const I *feature = static_cast<const I *>(indices_.data());
  const std::int64_t *start = starts_.data(), n_rows = std::int64_t(starts_.shape(0)) - 1;
  require(n_rows >= 0 && start[0] == 0, "indptr: expected 0 as the first value");
  bool in_order = true;
  nb::gil_scoped_release release;
  for (std::int64_t i = 0; i < n_rows; ++i) {
    // Without the GIL, nanobind's own exceptions cannot be thrown. This one becomes a ValueError too.
    if (start[i] > start[i + 1] || start[i + 1] > std::int64_t(indices_.shape(0)))
      throw std::invalid_argument("indptr: expected non-decreasing values up to the number of stored values");
    for (std::int64_t s = start[i]; s < start[i + 1]; ++s) {
      if (feature[s] < 0 || std::int64_t(feature[s]) >= n_features_)
        throw std::invalid_argument("indices: a value is out of range, expected 0 to n_features - 1");
      in_order &= s == start[i] || feature[s - 1] < feature[s];
    }
  }
  return in_order;
}

}  // namespace

void bind_csr(nb::module_ &m) {
  using namespace nb::literals;
  m.def("accumulate_csr", aligned(&accumulate_csr), arg("values"), arg("indices"), arg("starts"), arg("centers"),
        arg("counts"), arg("sums"), arg("cost"), optional_arg("rows"), optional_arg("weights"), optional_arg("errors"),
        optional_arg("utilities"), optional_arg("n_tied"), optional_arg("labels"), optional_arg("nearest"),
        optional_arg("second"), optional_arg("prices"), "checked"_a = nb::none(), "n_threads"_a = nb::none(),
        "The same as accumulate, for sparse points.");
  m.def("assign_csr", aligned(&assign_csr), arg("values"), arg("indices"), arg("starts"), arg("centers"),
        optional_arg("rows"), optional_arg("labels"), optional_arg("nearest"), optional_arg("second"),
        optional_arg("prices"), "checked"_a = nb::none(), "n_threads"_a = nb::none(),
        "The same as assign, for sparse points.");
  m.def("distances_csr", aligned(&distances_csr), arg("values"), arg("indices"), arg("starts"), arg("centers"),
        arg("out"), "checked"_a = nb::none(), "n_threads"_a = nb::none(), "The same as distances, for sparse points.");
  m.def(
      "sweep_csr", aligned(&sweep_csr), arg("values"), arg("indices"), arg("starts"), arg("order"), arg("labels"),
      arg("counts"), arg("sums"), arg("errors"), arg("extra"), "n_sweeps"_a, "few"_a, optional_arg("weights"),
      "checked"_a = nb::none(), "n_threads"_a = nb::none(),
      "Let every point go to the cluster where it raises the cost least, again until at most `few` points move. Points "
      "with the label -1 are in no cluster yet. Return how many sweeps were made.");
  nb::class_<CheckedCsr>(m, "CheckedCsr", "Indices and starts that no kernel would read out of bounds.")
      .def(nb::init<const AnyVector &, const Rows &, std::int64_t>(), arg("indices"), arg("starts"), "n_features"_a)
      .def_ro("in_order", &CheckedCsr::in_order);
}

}  // namespace eulermeans
