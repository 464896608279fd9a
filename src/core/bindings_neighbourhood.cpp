// Binds the kernels that work near some centers.
#include <cmath>
#include <vector>

#include "bindings.hpp"

namespace eulermeans {
namespace {

using Ids = ReadLabels;
using IdMatrix = Array<2, std::int32_t>;
using ReadIdMatrix = Array<2, const std::int32_t>;
using Cube = Array<3, double>;

constexpr std::int64_t most_steps = 10000;  // a trial ends early only if its costs are numbers

// members may be fewer than the rows of the array.
Clusters checked_clusters(const AnyMatrix &points, const Rows &members, const Rows &starts,
                          const ReadIdMatrix &neighbours, std::size_t k) {
  const std::size_t n = members.shape(0), m = neighbours.shape(1);
  const std::int64_t *start = starts.data();
  require(k > 0 && k <= most_clusters, "centers: expected at least one, below 2**31");
  require(starts.shape(0) == k + 1, "starts: expected one for each center and one more");
  require(start[0] == 0 && start[k] == std::int64_t(n) && std::is_sorted(start, start + k + 1),
          "starts: expected to increase from 0 to the number of members");
  require(neighbours.shape(0) == k, "neighbours: expected a row for each center");
  require(m < k && m <= std::size_t(most_neighbours), "neighbours: expected fewer columns than centers, at most 255");
  check_range("members", members.data(), n, points.shape(0));
  check_range("neighbours", neighbours.data(), k * m, k);
  return {members.data(), start, neighbours.data(), std::int64_t(m)};
}

void group(const Ids &labels, const Array<1, std::int64_t> &starts, const Array<1, std::int64_t> &order) {
  const std::size_t n = labels.shape(0), k = starts.shape(0) - 1;
  require(starts.shape(0) >= 1, "starts: expected one for each cluster and one more");
  require(order.shape(0) == n, "order: expected one for each label");
  check_range("labels", labels.data(), n, k);
  Apart().reads(labels).writes(starts, order);
  nb::gil_scoped_release release;
  std::int64_t *start = starts.data();
  std::fill_n(start, k + 1, 0);
  for (std::size_t i = 0; i < n; ++i) ++start[labels.data()[i] + 1];
  for (std::size_t j = 0; j < k; ++j) start[j + 1] += start[j];
  std::vector<std::int64_t> next(start, start + k);
  for (std::size_t i = 0; i < n; ++i) order.data()[next[std::size_t(labels.data()[i])]++] = std::int64_t(i);
}

// Cuts rows in halves where they vary most, until there are `n_cells` of the same size.
void split_rows(const double *points, std::size_t d, std::int64_t *rows, std::size_t n, std::size_t n_cells) {
  if (n_cells == 1) return;
  std::size_t widest = 0;
  double most = -1;
  for (std::size_t f = 0; f < d; ++f) {
    double mean = 0, squares = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double x = points[std::size_t(rows[i]) * d + f], offset = x - mean;
      mean += offset / double(i + 1);
      squares += offset * (x - mean);
    }
    if (squares > most) {
      most = squares;
      widest = f;
    }
  }
  const auto lower = [=](std::int64_t a, std::int64_t b) {
    const double x = points[std::size_t(a) * d + widest], y = points[std::size_t(b) * d + widest];
    return x != y ? x < y : a < b;
  };
  std::nth_element(rows, rows + n / 2, rows + n, lower);
  split_rows(points, d, rows, n / 2, n_cells / 2);
  split_rows(points, d, rows + n / 2, n / 2, n_cells / 2);
}

void split_cells(const ReadDoubleMatrix &points, const Array<2, std::int64_t> &cells) {
  const std::size_t n_cells = cells.shape(0), n = cells.size();
  require(n_cells > 0 && (n_cells & (n_cells - 1)) == 0, "cells: expected a power of two");
  require(n <= points.shape(0) && points.shape(1) > 0, "cells: expected at most as many rows as points");
  require(std::all_of(points.data(), points.data() + points.size(), [](double x) { return std::isfinite(x); }),
          "points: expected finite coordinates");  // others have no order
  Apart().reads(points).writes(cells);
  nb::gil_scoped_release release;
  for (std::size_t i = 0; i < n; ++i) cells.data()[i] = std::int64_t(i);
  split_rows(points.data(), points.shape(1), cells.data(), n, n_cells);
}

Chosen checked_choice(const Ids &chosen, std::size_t k) {
  check_range("chosen", chosen.data(), chosen.shape(0), k);
  return {chosen.data(), std::int64_t(chosen.shape(0))};
}

void neighbours(const ReadDoubleMatrix &centers, const IdMatrix &out, std::optional<int> n_threads) {
  const std::size_t k = centers.shape(0), m = out.shape(1);
  require(k <= most_clusters && centers.shape(1) > 0, "centers: expected fewer than 2**31, with at least one feature");
  require(out.shape(0) == k, "out: expected a row for each center");
  Apart().reads(centers).writes(out);
  require(m >= 1 && m < k, "out: expected at least one column and fewer than centers");
  const int threads = allowed_threads(n_threads);
  without_gil([&] {
    active->neighbours(centers.data(), std::int64_t(k), std::int64_t(centers.shape(1)), std::int64_t(m), out.data(),
                       threads);
  });
}

void reassign(const AnyMatrix &points, const AnyMatrix &centers, const Rows &members, const Rows &starts,
              const ReadIdMatrix &neighbours, const Ids &chosen, const Labels &labels, const Doubles &nearest,
              const Doubles &second, std::optional<int> n_threads) {
  const Points in = checked_points(points, centers.shape(1), std::nullopt, std::nullopt);
  const Centers<void> checked = checked_centers(centers, in.storage == Storage::float64);
  const Clusters clusters = checked_clusters(points, members, starts, neighbours, centers.shape(0));
  const Chosen checked_chosen = checked_choice(chosen, centers.shape(0));
  const PerRow per_row = checked_per_row(std::int64_t(members.shape(0)), labels, nearest, second);
  Apart().reads(points, centers, members, starts, neighbours, chosen).writes(labels, nearest, second);
  const int threads = allowed_threads(n_threads);
  without_gil([&] { active->reassign(in, checked, clusters, checked_chosen, per_row, threads); });
}

void shortlist(const AnyMatrix &points, const AnyMatrix &centers, const Rows &rows, const IdMatrix &lists,
               std::optional<int> n_threads) {
  const Points in = checked_points(points, centers.shape(1), rows, std::nullopt);
  const Centers<void> checked = checked_centers(centers, in.storage == Storage::float64);
  const std::size_t k = centers.shape(0), m = lists.shape(1);
  require(lists.shape(0) == rows.shape(0), "lists: expected one for each of the rows");
  require(k >= 2 && m >= 1 && m <= k && m <= std::size_t(most_neighbours),
          "lists: expected at least two centers, and lists of at most all of them and at most 255");
  Apart().reads(points, centers, rows).writes(lists);
  const int threads = allowed_threads(n_threads);
  without_gil([&] { active->shortlist(in, checked, std::int64_t(m), lists.data(), threads); });
}

void compare_listed(const AnyMatrix &points, const AnyMatrix &centers, const Rows &rows, const Rows &order,
                    const ReadIdMatrix &lists, const Labels &labels, const Doubles &nearest, const Doubles &second,
                    std::optional<int> n_threads) {
  const std::size_t k = centers.shape(0), n_lists = lists.shape(0), length = lists.shape(1);
  const Points in = checked_points(points, centers.shape(1), rows, std::nullopt);
  const Centers<void> checked = checked_centers(centers, in.storage == Storage::float64);
  require(order.shape(0) == rows.shape(0), "order: expected one for each of the rows");
  require(length >= 1, "lists: expected at least one center in each");
  check_range("order", order.data(), order.shape(0), n_lists);
  check_range("lists", lists.data(), n_lists * length, k);
  const PerRow per_row = checked_per_row(in.n_rows, labels, nearest, second);
  Apart().reads(points, centers, rows, order, lists).writes(labels, nearest, second);
  const Lists checked_lists{lists.data(), order.data(), std::int64_t(length)};
  const int threads = allowed_threads(n_threads);
  without_gil([&] { active->compare_listed(in, checked, checked_lists, per_row, threads); });
}

void sum_clusters(const AnyMatrix &points, const Rows &members, const Rows &starts, const ReadIdMatrix &neighbours,
                  const Ids &chosen, const Doubles &counts, const DoubleMatrix &sums, const MaybeWeights &weights,
                  std::optional<int> n_threads) {
  const std::size_t k = counts.shape(0);
  const Points in = checked_points(points, points.shape(1), std::nullopt, weights);
  const Clusters clusters = checked_clusters(points, members, starts, neighbours, k);
  const Chosen checked_chosen = checked_choice(chosen, k);
  check_counts_and_sums(counts, sums, k, points.shape(1));
  Apart().reads(points, members, starts, neighbours, chosen, weights).writes(counts, sums);
  const int threads = allowed_threads(n_threads);
  without_gil([&] { active->sum_clusters(in, clusters, checked_chosen, counts.data(), sums.data(), threads); });
}

void transfer_nearby(const AnyMatrix &points, const Rows &rows, const Weights &weights, const Labels &labels,
                     const ReadIdMatrix &neighbours, const Doubles &counts, const DoubleMatrix &sums,
                     const DoubleMatrix &means) {
  const std::size_t n = rows.shape(0), k = means.shape(0);
  const Points in = checked_points(points, means.shape(1), rows, std::nullopt);
  require(weights.shape(0) == n && labels.shape(0) == n, "weights, labels: expected one for each of the rows");
  require(neighbours.shape(0) == k, "neighbours: expected a row for each center");
  check_range("neighbours", neighbours.data(), k * neighbours.shape(1), k);
  check_range("labels", labels.data(), n, k);
  check_counts_and_sums(counts, sums, k, means.shape(1));
  Apart().reads(points, rows, weights, neighbours).writes(labels, counts, sums, means);
  const Clusters clusters{nullptr, nullptr, neighbours.data(), std::int64_t(neighbours.shape(1))};
  without_gil([&] {
    active->transfer_nearby(in, weights.data(), labels.data(), clusters, counts.data(), sums.data(), means.data());
  });
}

std::int64_t sweep(const AnyMatrix &points, const Rows &rows, const Rows &order, const ReadIdMatrix &lists,
                   const Labels &labels, const Doubles &counts, const OutMatrix &means, const Doubles &nearest,
                   const Doubles &second, double temperature, std::uint64_t seed, const MaybeWeights &weights,
                   std::optional<int> n_threads) {
  const std::size_t n = lists.shape(0), k = means.shape(0);
  const Points in = checked_points(points, means.shape(1), rows, weights);
  require(means.dtype() == (in.storage == Storage::float64 ? nb::dtype<double>() : nb::dtype<float>()),
          "means: expected float64 if the points are float64, otherwise float32");
  require(order.shape(0) == rows.shape(0), "order: expected one for each of the rows");
  require(counts.shape(0) == k, "counts: expected one for each center");
  require(labels.shape(0) == n && nearest.shape(0) == n && second.shape(0) == n,
          "labels, nearest, second: expected one for each list");
  require(lists.shape(1) <= std::size_t(most_neighbours), "lists: expected at most 255 columns");
  require(temperature >= 0, "temperature: expected 0 or more");
  check_range("order", order.data(), order.shape(0), n);
  check_range("lists", lists.data(), n * lists.shape(1), k);
  check_range("labels", labels.data(), n, k);
  const Sweep checked_sweep{order.data(),
                            lists.data(),
                            std::int64_t(lists.shape(1)),
                            labels.data(),
                            counts.data(),
                            means.data(),
                            nearest.data(),
                            second.data(),
                            temperature,
                            seed};
  const int threads = allowed_threads(n_threads);
  Apart().reads(points, rows, order, lists, weights).writes(labels, counts, means, nearest, second);
  return without_gil([&] { return active->sweep(in, checked_sweep, threads); });
}

std::int64_t try_moves(const AnyMatrix &points, const ReadDoubleMatrix &centers, const Weights &errors,
                       const Rows &members, const Rows &starts, const ReadIdMatrix &neighbours, const Ids &removed,
                       const Ids &inside, const Rows &added, const Doubles &gains, std::int64_t n_adapting,
                       std::int64_t largest_adapting, std::int64_t n_steps, double part_of_way, bool may_give_up,
                       bool transfers, bool sphere, const MaybeWeights &weights, const std::optional<IdMatrix> &touched,
                       const std::optional<Cube> &positions, std::optional<int> n_threads) {
  const std::size_t k = centers.shape(0), d = centers.shape(1), n = gains.shape(0);
  const Points in = checked_points(points, d, std::nullopt, weights);
  const Clusters clusters = checked_clusters(points, members, starts, neighbours, k);
  require(errors.shape(0) == k, "errors: expected one for each center");
  require(removed.shape(0) == n && inside.shape(0) == n && added.shape(0) == n,
          "removed, inside, added: expected one for each move");
  require(n_adapting >= 0 && n_adapting <= most_neighbours, "n_adapting: expected 0 to 255");
  require(largest_adapting >= 0, "largest_adapting: expected a number of points");
  require(n_steps >= 1 && n_steps <= most_steps, "n_steps: expected 1 to 10000");
  require(part_of_way > 0 && part_of_way <= 1, "part_of_way: expected more than 0 and at most 1");
  for (std::size_t i = 0; i < n; ++i) {
    require(removed.data()[i] >= -1 && removed.data()[i] < std::int64_t(k), "removed: expected a center or -1");
    require(added.data()[i] >= -1 && added.data()[i] < std::int64_t(points.shape(0)), "added: expected a row or -1");
    require(added.data()[i] == -1
                ? inside.data()[i] == -1
                : inside.data()[i] >= 0 && inside.data()[i] < std::int64_t(k) && inside.data()[i] != removed.data()[i],
            "inside: expected another center where a row is added, otherwise -1");
  }
  const auto most = touched ? std::int64_t(touched->shape(1)) : 0;
  require(touched.has_value() == positions.has_value(), "touched, positions: expected both or neither");
  if (touched)
    require(touched->shape(0) == n && most >= 2 * n_adapting + 2 && positions->shape(0) == n &&
                positions->shape(1) == touched->shape(1) && positions->shape(2) == d,
            "touched, positions: expected room for 2 * n_adapting + 2 centers of each move");
  Apart()
      .reads(points, centers, errors, members, starts, neighbours, removed, inside, added, weights)
      .writes(gains, touched, positions);
  const Moves moves{std::int64_t(n),
                    removed.data(),
                    inside.data(),
                    added.data(),
                    gains.data(),
                    touched ? touched->data() : nullptr,
                    positions ? positions->data() : nullptr,
                    most};
  const int threads = allowed_threads(n_threads);
  return without_gil([&] {
    return active->try_moves(in, {centers.data(), std::int64_t(k), std::int64_t(d)}, errors.data(), clusters,
                             {n_adapting, largest_adapting, n_steps, part_of_way, may_give_up, transfers, sphere},
                             moves, threads);
  });
}

}  // namespace

void bind_neighbourhoods(nb::module_ &m) {
  using namespace nb::literals;
  m.def("neighbours", aligned(&neighbours), arg("centers"), arg("out"), "n_threads"_a = nb::none(),
        "Fill each row of out with the nearest other centers of a center, the nearest first.");
  m.def(
      "group", aligned(&group), arg("labels"), arg("starts"), arg("order"),
      "Sort by label: set order to the indices of the labels, cluster after cluster, and starts to where each begins.");
  m.def("split_cells", aligned(&split_cells), arg("points"), arg("cells"),
        "Fill each row of cells with points that are near each other; the first points, as many as there is room for.");
  m.def("reassign", aligned(&reassign), arg("points"), arg("centers"), arg("members"), arg("starts"), arg("neighbours"),
        arg("chosen"), arg("labels"), arg("nearest"), arg("second"), "n_threads"_a = nb::none(),
        "Compare the members of chosen clusters with their own center and its neighbours: set labels, nearest and "
        "second of these members.");
  m.def("shortlist", aligned(&shortlist), arg("points"), arg("centers"), arg("rows"), arg("lists"),
        "n_threads"_a = nb::none(),
        "Fill lists with the nearest centers of each of the rows, the nearest first, up to rounding.");
  m.def("compare_listed", aligned(&compare_listed), arg("points"), arg("centers"), arg("rows"), arg("order"),
        arg("lists"), arg("labels"), arg("nearest"), arg("second"), "n_threads"_a = nb::none(),
        "Compare each of the rows with the centers of its list: set labels, nearest and second.");
  m.def("sum_clusters", aligned(&sum_clusters), arg("points"), arg("members"), arg("starts"), arg("neighbours"),
        arg("chosen"), arg("counts"), arg("sums"), optional_arg("weights"), "n_threads"_a = nb::none(),
        "Set counts and sums of chosen clusters from their members.");
  m.def("transfer_nearby", aligned(&transfer_nearby), arg("points"), arg("rows"), arg("weights"), arg("labels"),
        arg("neighbours"), arg("counts"), arg("sums"), arg("means"),
        "Move single points to a neighbouring cluster where that lowers the cost: update labels, counts, sums and "
        "means.");
  m.def("sweep", aligned(&sweep), arg("points"), arg("rows"), arg("order"), arg("lists"), arg("labels"), arg("counts"),
        arg("means"), arg("nearest"), arg("second"), "temperature"_a, "seed"_a, optional_arg("weights"),
        "n_threads"_a = nb::none(),
        "Let every row go to the cluster of its list where it raises the cost least, or with a temperature to one that "
        "is drawn. Return how many moved.");
  m.def("try_moves", aligned(&try_moves), arg("points"), arg("centers"), arg("errors"), arg("members"), arg("starts"),
        arg("neighbours"), arg("removed"), arg("inside"), arg("added"), arg("gains"), "n_adapting"_a,
        "largest_adapting"_a, "n_steps"_a, "part_of_way"_a, "may_give_up"_a, "transfers"_a, "sphere"_a,
        optional_arg("weights"), optional_arg("touched"), optional_arg("positions"), "n_threads"_a = nb::none(),
        "Try moves of centers, each on its own: set how much the cost of the points nearby falls and, if asked, where "
        "the centers nearby go. Return the number of distances computed.");
}

}  // namespace eulermeans
