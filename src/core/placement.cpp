// Exact placement by shortest paths in the graph of clusters.
//
// An arc a -> b stands for the point of a that costs least to move to b. Prices are the potentials of the graph: at
// the cheapest priced center, no move has a negative reduced cost. A cluster's weight flows on to the sink within the
// cluster's bounds, at no cost. Where the prices ask for other weights than the clusters have, weight is sent along
// shortest paths from clusters with too much to those with too little, and Dijkstra's distances update the prices: the
// successive shortest paths of minimum cost flow, with as many nodes as clusters.
//
// Prices far from the optimum would take many paths. So they are improved first, all at once: an overfull cluster raises
// its price by what lets its surplus go to the second choices, one with too few points lowers it likewise.
//
// Few points are ever moved. Only those take part whose second choice costs hardly more than the first, within a
// `reach`. If the prices move further than that, the search starts again from these prices with a longer reach.
#include "placement.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <unordered_map>
#include <vector>

namespace eulermeans {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t most_tabulated = 2048;  // clusters whose pairs are found by a table, not by hashing
constexpr int most_sweeps = 12;                // of all prices at once
constexpr double damping = 0.5;                // of a sweep: neighbours change their prices at the same time
constexpr double worthwhile = 0.8;             // a sweep that leaves more than this of what is wrong is the last
constexpr double longer = 4;                   // reach after a failure, relative to the one before
constexpr double small_weight = 1e-9;          // of all weight: less counts as none

// The cost of moving a part of a point from one cluster to another.
struct MoveCost {
  double cost;
  std::int32_t part;
  bool operator>(const MoveCost &other) const {
    return cost > other.cost || (cost == other.cost && part > other.part);
  }
};

// The moves out of one cluster, an arc for each cluster that they lead to. Moves of parts that have left are dropped
// when they come to the top of their heap.
struct Arcs {
  std::vector<std::int32_t> to;              // of each arc
  std::vector<MoveCost> top;                 // its cheapest move; the cost is infinite if there is none
  std::vector<std::vector<MoveCost>> heaps;  // all its moves, the cheapest first
};
constexpr MoveCost no_move{infinity, -1};

// What is in one cluster of a point. Points with unit weight have one part each.
struct Part {
  std::int32_t candidate;  // which point, among those that may move
  std::int32_t cluster;
  double weight;
  std::int32_t next;  // another part of the same point; -1: none
};

// Finds the arc of a pair of clusters.
class ArcTable {
 public:
  explicit ArcTable(std::int64_t n) : n_(n), table_(n <= most_tabulated ? std::size_t(n * n) : 0, -1) {}

  std::int32_t &operator()(std::int64_t from, std::int64_t to) {
    const std::int64_t pair = from * n_ + to;
    return table_.empty() ? hashed_.try_emplace(pair, -1).first->second : table_[std::size_t(pair)];
  }
  void clear() {
    std::fill(table_.begin(), table_.end(), -1);
    hashed_.clear();
  }

 private:
  const std::int64_t n_;
  std::vector<std::int32_t> table_;
  std::unordered_map<std::int64_t, std::int32_t> hashed_;
};

enum class Outcome { balanced, out_of_reach, no_path };

template <class T>
class Placement {
 public:
  Placement(const PlacementProblem<T> &problem, const double *prices)
      : problem_(problem),
        k_(problem.n_clusters),
        first_choice_(std::size_t(problem.n_points)),
        second_choice_(std::size_t(problem.n_points)),
        gap_(std::size_t(problem.n_points)),
        arc_of_(k_),
        arcs_(std::size_t(k_)),
        potential_(std::size_t(k_ + 1)),
        start_(std::size_t(k_ + 1)),
        excess_(std::size_t(k_ + 1)),
        size_(std::size_t(k_)),
        flow_(std::size_t(k_)),
        distance_(std::size_t(k_ + 1)),
        before_(std::size_t(k_ + 1)),
        moved_(std::size_t(k_ + 1)),
        priced_(static_cast<std::size_t>(k_)),
        is_settled_(std::size_t(k_ + 1)) {
    std::copy_n(prices, k_, potential_.begin());
    for (std::int64_t i = 0; i < problem.n_points; ++i) {
      total_ += weight(i);
      n_with_weight_ += weight(i) > 0;
    }
    tolerance_ = problem.weights == nullptr ? 0.5 : small_weight * total_;
  }

  bool run() {
    double reach = 0;
    improve_prices();
    for (bool first = true;; first = false) {
      choose_cheapest();
      reach = first ? first_reach() : reach * longer;
      if (collect_moves(reach)) reach = infinity;
      const Outcome outcome = balance(reach);
      for (double &potential : potential_) potential -= potential_[std::size_t(k_)];
      if (outcome == Outcome::balanced) return true;
      if (reach == infinity) return false;
    }
  }

  void store(double *prices, std::int32_t *labels) {
    std::copy_n(potential_.begin(), k_, prices);
    if (problem_.weights != nullptr) {  // points without weight have not taken part
      const std::vector<std::int32_t> chosen = first_choice_;
      choose_cheapest();
      for (std::int64_t i = 0; i < problem_.n_points; ++i)
        if (weight(i) > 0) first_choice_[std::size_t(i)] = chosen[std::size_t(i)];
    }
    std::copy(first_choice_.begin(), first_choice_.end(), labels);
    for (std::size_t c = 0; c < candidates_.size(); ++c)
      if (parts_[c].next < 0) labels[candidates_[c]] = parts_[c].cluster;
    if (problem_.weights != nullptr) place_cut(labels);
  }

 private:
  double weight(std::int64_t i) const { return problem_.weights == nullptr ? 1 : problem_.weights[i]; }

  // The squared distance; or what a transfer costs, counting that the mean follows.
  double cost(std::int64_t i, std::int64_t j) const {
    const double distance = problem_.distances[i * k_ + j], squared = distance * distance;
    if (problem_.current == nullptr) return squared;
    const double count = problem_.counts[j], w = weight(i);
    if (problem_.current[i] != j) return squared * (count / (count + w));
    return count > w ? squared * (count / (count - w)) : 0;
  }

  // Sets the costs of a point in all clusters, plus the prices.
  void set_priced(std::int64_t i) {
    double *priced = priced_.data();
    const double *potential = potential_.data();
    if (problem_.current != nullptr) {
      for (std::int64_t j = 0; j < k_; ++j) priced[j] = cost(i, j) + potential[j];
      return;
    }
    const T *distances = problem_.distances + i * k_;
    for (std::int64_t j = 0; j < k_; ++j) priced[j] = double(distances[j]) * double(distances[j]) + potential[j];
  }

  // Sets the cheapest cluster of each point at the present prices, how much more the next one costs, and the sizes.
  void choose_cheapest() {
    std::fill(size_.begin(), size_.end(), 0.0);
    for (std::int64_t i = 0; i < problem_.n_points; ++i) {
      double best = infinity, second = infinity;
      std::int32_t label = 0, next = 0;
      set_priced(i);
      for (std::int64_t j = 0; j < k_; ++j) {
        const double priced = priced_[std::size_t(j)];
        if (!(priced < second)) continue;  // nearly always: the branch is cheap
        if (priced < best) {
          second = best;
          next = label;
          best = priced;
          label = std::int32_t(j);
        } else {
          second = priced;
          next = std::int32_t(j);
        }
      }
      first_choice_[std::size_t(i)] = label;
      second_choice_[std::size_t(i)] = next;
      gap_[std::size_t(i)] = weight(i) > 0 ? second - best : infinity;
      size_[std::size_t(label)] += weight(i);
    }
    set_flow();
  }

  // A cluster with a positive price must be full, one with a negative price must be at its lowest weight.
  void set_flow() {
    double all = 0;
    for (std::size_t j = 0; j < std::size_t(k_); ++j) {
      const double low = problem_.lowest[j], high = problem_.highest[j], price = potential_[j];
      flow_[j] = price > 0 ? high : price < 0 ? low : std::min(std::max(size_[j], low), high);
      excess_[j] = size_[j] - flow_[j];
      all += flow_[j];
    }
    excess_[std::size_t(k_)] = all - total_;
  }

  // Half the weight that is not where the prices ask for it: what has to move.
  double wrong() const {
    double all = 0;
    for (const double excess : excess_) all += std::abs(excess) / 2;
    return all;
  }

  // Sweeps over all prices while that brings the weights nearer to the bounds.
  void improve_prices() {
    // Paths for this many points take about as long as a sweep.
    const double enough = (2 + 2 * double(problem_.n_points) / double(k_ + 40)) * mean_weight();
    std::vector<double> best = potential_;
    double least = infinity;
    for (int sweep = 0; sweep < most_sweeps; ++sweep) {
      choose_cheapest();
      const double left = wrong(), before = least;
      if (left < least) {
        least = left;
        best = potential_;
      }
      if (left <= enough || left > worthwhile * before) break;
      sweep_prices();
    }
    potential_ = best;
  }

  // Moves every price by the gap of the point that would make the weight right, but not past zero.
  void sweep_prices() {
    std::vector<std::vector<double>> gaps(static_cast<std::size_t>(k_));
    for (std::size_t i = 0; i < first_choice_.size(); ++i) {
      const std::size_t first = std::size_t(first_choice_[i]), second = std::size_t(second_choice_[i]);
      if (excess_[first] > tolerance_) gaps[first].push_back(gap_[i]);
      if (excess_[second] < -tolerance_) gaps[second].push_back(gap_[i]);
    }
    for (std::size_t j = 0; j < std::size_t(k_); ++j) {
      if (gaps[j].empty()) continue;
      const double wanted = std::abs(excess_[j]) / mean_weight();
      const auto rank = gaps[j].begin() + std::ptrdiff_t(std::min(wanted, double(gaps[j].size()) - 1));
      std::nth_element(gaps[j].begin(), rank, gaps[j].end());
      if (!(*rank < infinity)) continue;
      const double before = potential_[j], change = excess_[j] > 0 ? damping * *rank : -damping * *rank;
      potential_[j] = before * (before + change) < 0 ? 0 : before + change;
    }
  }

  double mean_weight() const { return n_with_weight_ == 0 ? 1 : total_ / double(n_with_weight_); }

  // A reach that lets some times as many points take part as have to move.
  double first_reach() {
    const double wanted = 16 * wrong() / mean_weight() + 2 * double(k_) + 32;
    std::vector<double> gaps = gap_;
    const auto rank = gaps.begin() + std::ptrdiff_t(std::min(wanted, double(gaps.size()) - 1));
    if (gaps.empty()) return infinity;
    std::nth_element(gaps.begin(), rank, gaps.end());
    return *rank > 0 ? *rank : infinity;
  }

  // Sets the points that may move, where they may go, and the arcs. Returns whether these are all moves that exist.
  bool collect_moves(double reach) {
    candidates_.clear();
    parts_.clear();
    targets_.clear();
    target_costs_.clear();
    first_target_.assign(1, 0);
    for (Arcs &arcs : arcs_) arcs = {};
    arc_of_.clear();
    for (std::int64_t i = 0; i < problem_.n_points; ++i) {
      if (!(gap_[std::size_t(i)] <= reach) || weight(i) == 0) continue;
      const std::int32_t own = first_choice_[std::size_t(i)], c = std::int32_t(candidates_.size());
      const double own_cost = cost(i, own), limit = own_cost + potential_[std::size_t(own)] + reach;
      for (std::int64_t j = 0; j < k_; ++j) {
        const double of_target = cost(i, j);
        if (of_target + potential_[std::size_t(j)] > limit && j != own) continue;
        targets_.push_back(std::int32_t(j));
        target_costs_.push_back(of_target);
        if (j != own) arcs_[std::size_t(own)].heaps[arc(own, std::int32_t(j))].push_back({of_target - own_cost, c});
      }
      candidates_.push_back(i);
      parts_.push_back({c, own, weight(i), -1});
      first_target_.push_back(std::int64_t(targets_.size()));
    }
    for (Arcs &arcs : arcs_) {
      for (std::size_t a = 0; a < arcs.to.size(); ++a) {
        std::make_heap(arcs.heaps[a].begin(), arcs.heaps[a].end(), std::greater<>());
        arcs.top[a] = arcs.heaps[a].front();
      }
    }
    return std::int64_t(targets_.size()) == n_with_weight_ * k_;
  }

  // The place of an arc among those of its cluster.
  std::size_t arc(std::int32_t from, std::int32_t to) {
    std::int32_t &place = arc_of_(from, to);
    if (place < 0) {
      Arcs &arcs = arcs_[std::size_t(from)];
      place = std::int32_t(arcs.to.size());
      arcs.to.push_back(to);
      arcs.top.push_back(no_move);
      arcs.heaps.emplace_back();
    }
    return std::size_t(place);
  }

  // Brings the cheapest moves that are left to the tops, after parts of a cluster have left it.
  void drop_moves(std::int32_t from) {
    Arcs &arcs = arcs_[std::size_t(from)];
    const auto is_left = [&](const MoveCost &move) {
      const Part &part = parts_[std::size_t(move.part)];
      return part.cluster == from && part.weight > 0;
    };
    for (std::size_t a = 0; a < arcs.to.size(); ++a) {
      if (arcs.top[a].part < 0 || is_left(arcs.top[a])) continue;
      std::vector<MoveCost> &heap = arcs.heaps[a];
      while (!heap.empty() && !is_left(heap.front())) {
        std::pop_heap(heap.begin(), heap.end(), std::greater<>());
        heap.pop_back();
      }
      arcs.top[a] = heap.empty() ? no_move : heap.front();
    }
  }

  // Sends weight along shortest paths until every cluster has what its price asks for.
  Outcome balance(double reach) {
    start_ = potential_;
    for (;;) {
      const std::int32_t end = shortest_path();
      if (end == none_left) return Outcome::balanced;
      if (end == unreachable) return Outcome::no_path;
      send(end);
      if (reach < infinity && spread() > reach) return Outcome::out_of_reach;
    }
  }

  // How far prices have moved against each other.
  double spread() const {
    double lowest = infinity, highest = -infinity;
    for (std::size_t j = 0; j < std::size_t(k_); ++j) {
      lowest = std::min(lowest, potential_[j] - start_[j]);
      highest = std::max(highest, potential_[j] - start_[j]);
    }
    return highest - lowest;
  }

  // Dijkstra's algorithm from all nodes with too much to the nearest one with too little, which is returned. Raises the
  // potentials of the nodes on the way, so that the path has no reduced cost.
  std::int32_t shortest_path() {
    std::fill(distance_.begin(), distance_.end(), infinity);
    std::fill(is_settled_.begin(), is_settled_.end(), 0);
    bool any = false;
    for (std::size_t v = 0; v <= std::size_t(k_); ++v) {
      if (!(excess_[v] > tolerance_)) continue;
      distance_[v] = 0;
      before_[v] = -1;
      any = true;
    }
    if (!any) return none_left;
    for (std::int32_t v = nearest_unsettled(); v >= 0; v = nearest_unsettled()) {
      const double distance = distance_[std::size_t(v)];
      if (excess_[std::size_t(v)] < -tolerance_) {
        for (std::size_t u = 0; u <= std::size_t(k_); ++u)
          if (is_settled_[u]) potential_[u] += distance - distance_[u];
        return v;
      }
      is_settled_[std::size_t(v)] = 1;
      see_neighbours(v, distance);
    }
    return unreachable;
  }

  // A linear scan: clusters are few, and most are one step away from each other.
  std::int32_t nearest_unsettled() const {
    std::int32_t nearest = -1;
    double least = infinity;
    for (std::size_t v = 0; v <= std::size_t(k_); ++v) {
      if (is_settled_[v] || !(distance_[v] < least)) continue;
      least = distance_[v];
      nearest = std::int32_t(v);
    }
    return nearest;
  }

  void see_neighbours(std::int32_t from, double base) {
    const double potential = potential_[std::size_t(from)];
    const auto see = [&](std::int32_t to, double cost, std::int32_t part) {
      const double reached = base + std::max(0.0, cost + potential_[std::size_t(to)] - potential);
      if (!(reached < distance_[std::size_t(to)])) return;
      distance_[std::size_t(to)] = reached;
      before_[std::size_t(to)] = from;
      moved_[std::size_t(to)] = part;
    };
    if (from == k_) {
      for (std::int32_t j = 0; j < k_; ++j)
        if (flow_[std::size_t(j)] > problem_.lowest[j]) see(j, 0, -1);
      return;
    }
    if (flow_[std::size_t(from)] < problem_.highest[from]) see(std::int32_t(k_), 0, -1);
    const Arcs &arcs = arcs_[std::size_t(from)];
    for (std::size_t a = 0; a < arcs.to.size(); ++a) see(arcs.to[a], arcs.top[a].cost, arcs.top[a].part);
  }

  // Sends as much as the path allows.
  void send(std::int32_t end) {
    double amount = -excess_[std::size_t(end)];
    std::int32_t begin = end;
    for (; before_[std::size_t(begin)] >= 0; begin = before_[std::size_t(begin)])
      amount = std::min(amount, room(before_[std::size_t(begin)], begin));
    amount = std::min(amount, excess_[std::size_t(begin)]);
    excess_[std::size_t(begin)] -= amount;
    excess_[std::size_t(end)] += amount;
    for (std::int32_t to = end; before_[std::size_t(to)] >= 0; to = before_[std::size_t(to)]) {
      const std::int32_t from = before_[std::size_t(to)];
      if (to == k_)
        flow_[std::size_t(from)] += amount;
      else if (from == k_)
        flow_[std::size_t(to)] -= amount;
      else
        move(moved_[std::size_t(to)], to, amount);
    }
    for (std::int32_t to = end; before_[std::size_t(to)] >= 0; to = before_[std::size_t(to)])
      if (to != k_ && before_[std::size_t(to)] != k_) drop_moves(before_[std::size_t(to)]);
  }

  double room(std::int32_t from, std::int32_t to) const {
    if (to == k_) return problem_.highest[from] - flow_[std::size_t(from)];
    if (from == k_) return flow_[std::size_t(to)] - problem_.lowest[to];
    return parts_[std::size_t(moved_[std::size_t(to)])].weight;
  }

  // Moves some of a part to another cluster: all of it, or a new part is cut off.
  void move(std::int32_t which, std::int32_t to, double amount) {
    const std::int32_t c = parts_[std::size_t(which)].candidate;
    std::int32_t there = c;
    while (there >= 0 && !(parts_[std::size_t(there)].cluster == to)) there = parts_[std::size_t(there)].next;
    Part &part = parts_[std::size_t(which)];
    const bool whole = part.weight - amount <= (problem_.weights == nullptr ? 0 : tolerance_);
    if (whole) amount = part.weight;
    if (there >= 0) {
      const bool was_empty = !(parts_[std::size_t(there)].weight > 0);
      parts_[std::size_t(there)].weight += amount;
      part.weight = whole ? 0 : part.weight - amount;
      if (!was_empty) return;
    } else if (whole) {
      part.cluster = to;
      there = which;
    } else {
      part.weight -= amount;
      there = std::int32_t(parts_.size());
      const Part cut{c, to, amount, parts_[std::size_t(c)].next};
      parts_[std::size_t(c)].next = there;
      parts_.push_back(cut);
    }
    offer(there);
  }

  // Adds the moves of a part that has arrived.
  void offer(std::int32_t which) {
    const Part part = parts_[std::size_t(which)];
    const std::int64_t first = first_target_[std::size_t(part.candidate)],
                       end = first_target_[std::size_t(part.candidate) + 1];
    double own = 0;
    for (std::int64_t t = first; t < end; ++t)
      if (targets_[std::size_t(t)] == part.cluster) own = target_costs_[std::size_t(t)];
    for (std::int64_t t = first; t < end; ++t) {
      if (targets_[std::size_t(t)] == part.cluster) continue;
      Arcs &arcs = arcs_[std::size_t(part.cluster)];
      const std::size_t a = arc(part.cluster, targets_[std::size_t(t)]);
      const MoveCost move{target_costs_[std::size_t(t)] - own, which};
      arcs.heaps[a].push_back(move);
      std::push_heap(arcs.heaps[a].begin(), arcs.heaps[a].end(), std::greater<>());
      if (arcs.top[a] > move) arcs.top[a] = move;
    }
  }

  // Points cannot be cut: each that was is put where the bounds suffer least, the heaviest first.
  void place_cut(std::int32_t *labels) const {
    std::vector<std::int32_t> cut;
    for (std::size_t c = 0; c < candidates_.size(); ++c)
      if (parts_[c].next >= 0) cut.push_back(std::int32_t(c));
    std::vector<double> load(std::size_t(k_), 0.0);
    std::vector<bool> is_cut(std::size_t(problem_.n_points), false);
    for (const std::int32_t c : cut) is_cut[std::size_t(candidates_[std::size_t(c)])] = true;
    for (std::int64_t i = 0; i < problem_.n_points; ++i)
      if (!is_cut[std::size_t(i)]) load[std::size_t(labels[i])] += weight(i);
    std::stable_sort(cut.begin(), cut.end(), [&](std::int32_t a, std::int32_t b) {
      return weight(candidates_[std::size_t(a)]) > weight(candidates_[std::size_t(b)]);
    });
    for (const std::int32_t c : cut) {
      const std::int64_t i = candidates_[std::size_t(c)];
      double least = infinity, largest = 0;
      for (std::int32_t p = c; p >= 0; p = parts_[std::size_t(p)].next) {
        const Part &part = parts_[std::size_t(p)];
        if (!(part.weight > 0)) continue;
        const std::size_t j = std::size_t(part.cluster);
        const double harm = violation(j, load[j] + weight(i)) - violation(j, load[j]);
        if (harm > least || (harm == least && part.weight <= largest)) continue;
        least = harm;
        largest = part.weight;
        labels[i] = part.cluster;
      }
      load[std::size_t(labels[i])] += weight(i);
    }
  }

  double violation(std::size_t j, double load) const {
    return std::max(0.0, problem_.lowest[j] - load) + std::max(0.0, load - problem_.highest[j]);
  }

  static constexpr std::int32_t none_left = -1, unreachable = -2;

  const PlacementProblem<T> problem_;
  const std::int64_t k_;
  double total_ = 0, tolerance_ = 0;
  std::int64_t n_with_weight_ = 0;
  std::vector<std::int32_t> first_choice_;  // (n_points,) the cheapest cluster at the prices that a search starts from
  std::vector<std::int32_t> second_choice_;
  std::vector<double> gap_;                 // (n_points,) how much more the next one costs
  ArcTable arc_of_;
  std::vector<Arcs> arcs_;  // of each cluster
  std::vector<std::int64_t> candidates_;    // the points that may move
  std::vector<Part> parts_;                 // part c is the first one of candidate c
  std::vector<std::int64_t> first_target_;  // (n_candidates + 1,) where the targets of each candidate begin
  std::vector<std::int32_t> targets_;       // clusters that a candidate may go to, its first choice among them
  std::vector<double> target_costs_;
  // Of the nodes: the clusters, and the sink behind them.
  std::vector<double> potential_, start_, excess_;
  std::vector<double> size_, flow_;     // of each cluster: its weight, what flows on to the sink
  std::vector<double> distance_;        // from the nearest node with too much
  std::vector<std::int32_t> before_;    // the node before on the path
  std::vector<std::int32_t> moved_;     // the part that moves here from there; -1 for the sink's arcs
  std::vector<double> priced_;  // (n_clusters,) scratch: the costs of one point with prices
  std::vector<char> is_settled_;
};

template <class T>
bool place_points(const PlacementProblem<T> &problem, double *prices, std::int32_t *labels) {
  Placement<T> placement(problem, prices);
  const bool placed = placement.run();
  placement.store(prices, labels);
  return placed;
}

}  // namespace

bool place(const PlacementProblem<float> &problem, double *prices, std::int32_t *labels) {
  return place_points(problem, prices, labels);
}

bool place(const PlacementProblem<double> &problem, double *prices, std::int32_t *labels) {
  return place_points(problem, prices, labels);
}

}  // namespace eulermeans
