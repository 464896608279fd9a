// Exact placement: prices are improved all at once, then points are sent along shortest paths one by one.
//
// Where much is wrong, prices come from every eighth point first, placed alone with bounds in proportion.
#include "placement.hpp"

#include <algorithm>
#include <cmath>

#include "placement_paths.hpp"
#include "placement_prices.hpp"

namespace eulermeans {
namespace {

constexpr double longer = 4;                 // reach after a failure, relative to the one before,
constexpr double longer_without_path = 16;   // or if some weight had nowhere to go
constexpr double fewest_moves = 8;           // along each arc, beyond as many as have to move
constexpr double much = 0.04;                // of all weight: if more is wrong, some points are placed alone first:
constexpr std::int64_t thinning = 8;         // one of this many,
constexpr std::int64_t fewest_thinned = 30;  // if that leaves this many for each cluster

template <class T>
class Placement {
 public:
  Placement(const PlacementProblem<T> &problem, const double *prices)
      : problem_(problem), c_(problem, prices), paths_(c_) {}

  // Returns whether the bounds are met.
  bool run(bool exact) {
    c_.choose();
    first_gaps_ = c_.gap;
    if (c_.wrong() > much * c_.total && problem_.n_points >= thinning * fewest_thinned * c_.k) place_some();
    improve_prices(c_, !exact);
    if (!exact) return !(c_.wrong() > c_.tolerance);
    double reach = first_reach();
    for (double spare = 1;;) {
      const double left = c_.reach_left();
      if (!(left > 0)) return false;
      const double needed = c_.wrong() / c_.mean_weight(), n_moves = spare * (needed + fewest_moves);
      const bool all =
          paths_.collect(std::min(reach, left), std::size_t(std::min(n_moves, double(c_.first.size()) + 1)));
      reach = all ? left : std::min(reach, left);
      const Outcome outcome = paths_.balance(reach);
      c_.normalize();
      if (outcome == Outcome::balanced) return true;
      if (outcome == Outcome::out_of_moves) {
        spare *= longer;
      } else {
        if (reach == left) return false;
        reach *= outcome == Outcome::no_path ? longer_without_path : longer;
      }
      c_.choose();
    }
  }

  const std::vector<double> &prices() const { return c_.price; }

  // The points whose first choice was no surer than prices have moved against each other.
  std::int64_t n_in_doubt() const {
    const double moved = spread(c_.price.data(), c_.given.data(), c_.k);
    return std::count_if(first_gaps_.begin(), first_gaps_.end(), [&](double gap) { return gap <= moved; });
  }

  void store(double *prices, std::int32_t *labels) {
    std::copy_n(c_.price.begin(), c_.k, prices);
    if (problem_.weights != nullptr) {  // points without weight have not taken part
      const std::vector<std::int32_t> chosen = c_.first;
      c_.choose();
      for (std::int64_t i = 0; i < problem_.n_points; ++i)
        if (c_.weight(i) > 0) c_.first[std::size_t(i)] = chosen[std::size_t(i)];
    }
    std::copy(c_.first.begin(), c_.first.end(), labels);
    const std::vector<Part> &parts = paths_.parts();
    for (std::size_t c = 0; c < paths_.candidates().size(); ++c)
      if (parts[c].next < 0) labels[paths_.candidates()[c]] = parts[c].cluster;
    if (problem_.weights != nullptr) place_cut(labels);
  }

 private:
  // Places some of the points alone, for prices that are nearly right for all.
  void place_some() {
    const std::int64_t k = c_.k, n = (problem_.n_points + thinning - 1) / thinning;
    std::vector<T> distances(std::size_t(n * k));
    std::vector<double> weights(problem_.weights == nullptr ? 0 : std::size_t(n));
    std::vector<std::int32_t> current(problem_.current == nullptr ? 0 : std::size_t(n));
    double share = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t row = i * thinning;
      std::copy_n(problem_.distances + row * k, k, distances.begin() + i * k);
      if (!weights.empty()) weights[std::size_t(i)] = c_.weight(row);
      if (!current.empty()) current[std::size_t(i)] = problem_.current[row];
      share += c_.weight(row) / c_.total;
    }
    if (!(share > 0)) return;
    const bool whole = weights.empty();  // points have no fractions
    std::vector<double> lowest(problem_.lowest, problem_.lowest + k), highest(problem_.highest, problem_.highest + k);
    for (double &each : lowest) each = whole ? std::floor(each * share) : each * share;
    for (double &each : highest) each = whole ? std::ceil(each * share) : each * share;
    Placement some({distances.data(), n, k, whole ? nullptr : weights.data(), lowest.data(), highest.data(),
                    current.empty() ? nullptr : current.data(), problem_.counts, problem_.reach},
                   c_.price.data());
    if (some.run(true) || problem_.reach < infinite_cost) take_if_better(some.prices());
  }

  void take_if_better(const std::vector<double> &prices) {
    const double before = c_.wrong();
    const std::vector<double> given = c_.price;
    c_.price = prices;
    c_.choose();
    if (c_.wrong() < before) return;
    c_.price = given;
    c_.choose();
  }

  // A reach that lets some times as many points take part as have to move.
  double first_reach() const {
    const double wanted = 16 * c_.wrong() / c_.mean_weight() + 2 * double(c_.k) + 32;
    std::vector<double> gaps = c_.gap;
    if (gaps.empty()) return infinite_cost;
    const auto rank = gaps.begin() + std::ptrdiff_t(std::min(wanted, double(gaps.size()) - 1));
    std::nth_element(gaps.begin(), rank, gaps.end());
    return *rank > 0 ? *rank : infinite_cost;
  }

  // Points cannot be cut: each that was is put where the bounds suffer least, the heaviest first.
  void place_cut(std::int32_t *labels) const {
    const std::vector<std::int64_t> &candidates = paths_.candidates();
    const std::vector<Part> &parts = paths_.parts();
    std::vector<std::int32_t> cut;
    for (std::size_t c = 0; c < candidates.size(); ++c)
      if (parts[c].next >= 0) cut.push_back(std::int32_t(c));
    std::vector<double> load(std::size_t(c_.k), 0.0);
    std::vector<bool> is_cut(std::size_t(problem_.n_points), false);
    for (const std::int32_t c : cut) is_cut[std::size_t(candidates[std::size_t(c)])] = true;
    for (std::int64_t i = 0; i < problem_.n_points; ++i)
      if (!is_cut[std::size_t(i)]) load[std::size_t(labels[i])] += c_.weight(i);
    std::stable_sort(cut.begin(), cut.end(), [&](std::int32_t a, std::int32_t b) {
      return c_.weight(candidates[std::size_t(a)]) > c_.weight(candidates[std::size_t(b)]);
    });
    for (const std::int32_t c : cut) {
      const std::int64_t i = candidates[std::size_t(c)];
      double least = infinite_cost, largest = 0;
      for (std::int32_t p = c; p >= 0; p = parts[std::size_t(p)].next) {
        const Part &part = parts[std::size_t(p)];
        if (!(part.weight > 0)) continue;
        const std::size_t j = std::size_t(part.cluster);
        const double harm = violation(j, load[j] + c_.weight(i)) - violation(j, load[j]);
        if (harm > least || (harm == least && part.weight <= largest)) continue;
        least = harm;
        largest = part.weight;
        labels[i] = part.cluster;
      }
      load[std::size_t(labels[i])] += c_.weight(i);
    }
  }

  double violation(std::size_t j, double load) const {
    return std::max(0.0, problem_.lowest[j] - load) + std::max(0.0, load - problem_.highest[j]);
  }

  const PlacementProblem<T> problem_;
  Choices<T> c_;
  Paths<T> paths_;
  std::vector<double> first_gaps_;  // (n_points,) at the prices that were given
};

template <class T>
PlacementResult place_points(const PlacementProblem<T> &problem, double *prices, std::int32_t *labels, bool exact) {
  Placement<T> placement(problem, prices);
  const bool is_met = placement.run(exact);
  placement.store(prices, labels);
  return {is_met, placement.n_in_doubt()};
}

}  // namespace

PlacementResult place(const PlacementProblem<float> &problem, double *prices, std::int32_t *labels, bool exact) {
  return place_points(problem, prices, labels, exact);
}

PlacementResult place(const PlacementProblem<double> &problem, double *prices, std::int32_t *labels, bool exact) {
  return place_points(problem, prices, labels, exact);
}

}  // namespace eulermeans
