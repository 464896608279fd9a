#include "placement_paths.hpp"

#include <algorithm>
#include <functional>

namespace eulermeans {
namespace {

constexpr MoveCost no_move{infinite_cost, -1};

}  // namespace

template <class T>
Paths<T>::Paths(Choices<T> &choices)
    : c_(choices),
      k_(choices.k),
      arc_of_(k_),
      arcs_(std::size_t(k_)),
      start_(std::size_t(k_ + 1)),
      distance_(std::size_t(k_ + 1)),
      before_(std::size_t(k_ + 1)),
      moved_(std::size_t(k_ + 1)),
      is_settled_(std::size_t(k_ + 1)) {}

template <class T>
bool Paths<T>::collect(double reach, std::size_t n_moves) {
  most_ = n_moves;
  is_exhausted_ = false;
  candidates_.clear();
  parts_.clear();
  for (Arcs &arcs : arcs_) {
    for (std::size_t a = 0; a < arcs.to.size(); ++a) arcs.heaps[a].moves.clear();
    arcs.to.clear();
    arcs.top.clear();
  }
  arc_of_.clear();
  const double *prices = c_.price.data();
  std::int64_t n_within = 0;
  for (std::int64_t i = 0; i < c_.problem.n_points; ++i) {
    if (!(c_.gap[std::size_t(i)] <= reach) || c_.weight(i) == 0) continue;
    c_.pause.after(8 * k_);
    const std::int32_t own = c_.first[std::size_t(i)], c = std::int32_t(candidates_.size());
    const double own_cost = c_.cost(i, own), limit = own_cost + prices[own] + reach;
    Arcs &arcs = arcs_[std::size_t(own)];
    bool kept = false;
    c_.for_each_near(i, [&](std::int64_t j) {
      const double of_target = c_.cost(i, j);
      if (of_target + prices[j] > limit) return;
      ++n_within;
      if (j != own) kept |= keep(arcs, own, std::int32_t(j), {of_target - own_cost, c});
    });
    if (!kept) continue;
    candidates_.push_back(i);
    parts_.push_back({c, own, c_.weight(i), -1});
  }
  return n_within == c_.n_with_weight * k_;
}

// Adds a move to an arc, unless the arc has enough that cost less. While moves are collected, those of a full arc are a
// heap with the dearest one first.
template <class T>
bool Paths<T>::keep(Arcs &arcs, std::int32_t from, std::int32_t to, MoveCost move) {
  const std::size_t a = arc(from, to);
  Heap &heap = arcs.heaps[a];
  const auto dearer = [](const MoveCost &one, const MoveCost &other) { return other > one; };
  if (heap.moves.size() >= most_) {
    if (!(heap.moves.front() > move)) {
      heap.limit = heap.moves.front().cost;
      return false;
    }
    std::pop_heap(heap.moves.begin(), heap.moves.end(), dearer);
    heap.moves.back() = move;
    std::push_heap(heap.moves.begin(), heap.moves.end(), dearer);
    heap.limit = heap.moves.front().cost;
  } else {
    heap.moves.push_back(move);
    if (heap.moves.size() == most_) std::make_heap(heap.moves.begin(), heap.moves.end(), dearer);
  }
  if (arcs.top[a] > move) arcs.top[a] = move;
  return true;
}

// The place of an arc among those of its cluster.
template <class T>
std::size_t Paths<T>::arc(std::int32_t from, std::int32_t to) {
  std::int32_t &place = arc_of_(from, to);
  if (place < 0) {
    Arcs &arcs = arcs_[std::size_t(from)];
    place = std::int32_t(arcs.to.size());
    arcs.to.push_back(to);
    arcs.top.push_back(no_move);
    if (arcs.heaps.size() < arcs.to.size()) arcs.heaps.emplace_back();
    arcs.heaps[std::size_t(place)].is_ordered = false;
    arcs.heaps[std::size_t(place)].limit = infinite_cost;
  }
  return std::size_t(place);
}

// Brings the cheapest moves that are left to the tops, after parts of a cluster have left it.
template <class T>
void Paths<T>::drop_moves(std::int32_t from) {
  Arcs &arcs = arcs_[std::size_t(from)];
  const auto is_left = [&](const MoveCost &move) {
    const Part &part = parts_[std::size_t(move.part)];
    return part.cluster == from && part.weight > 0;
  };
  for (std::size_t a = 0; a < arcs.to.size(); ++a) {
    if (arcs.top[a].part < 0 || is_left(arcs.top[a])) continue;
    std::vector<MoveCost> &moves = arcs.heaps[a].moves;
    if (!arcs.heaps[a].is_ordered) std::make_heap(moves.begin(), moves.end(), std::greater<>());
    arcs.heaps[a].is_ordered = true;
    while (!moves.empty() && !is_left(moves.front())) {
      std::pop_heap(moves.begin(), moves.end(), std::greater<>());
      moves.pop_back();
    }
    arcs.top[a] = moves.empty() ? no_move : moves.front();
    is_exhausted_ |= moves.empty() && arcs.heaps[a].limit < infinite_cost;
  }
}

template <class T>
Outcome Paths<T>::balance(double reach) {
  start_ = c_.price;
  reach_ = reach;
  for (;;) {
    c_.pause.after(2 * k_ * k_);
    const double left = reach < infinite_cost ? reach - spread(c_.price.data(), start_.data(), k_) : reach;
    const std::int32_t end = shortest_path(left);
    if (end == none_left) return Outcome::balanced;
    if (end == unreachable) return Outcome::no_path;
    if (end == too_far) return Outcome::out_of_reach;
    send(end);
    if (is_exhausted_) return Outcome::out_of_moves;
  }
}

// Dijkstra's algorithm from all nodes with too much to the nearest one with too little, which is returned. Raises the
// potentials of the nodes on the way, so that the path has no reduced cost. If none is as near as `longest`, raises
// them by that much.
template <class T>
std::int32_t Paths<T>::shortest_path(double longest) {
  std::fill(distance_.begin(), distance_.end(), infinite_cost);
  std::fill(is_settled_.begin(), is_settled_.end(), 0);
  bool any = false;
  for (std::size_t v = 0; v <= std::size_t(k_); ++v) {
    if (!(c_.excess[v] > c_.tolerance)) continue;
    distance_[v] = 0;
    before_[v] = -1;
    any = true;
  }
  if (!any) return none_left;
  std::int32_t v = nearest_unsettled();
  for (; v >= 0 && distance_[std::size_t(v)] <= longest; v = nearest_unsettled()) {
    if (c_.excess[std::size_t(v)] < -c_.tolerance) {
      raise_settled(distance_[std::size_t(v)]);
      return v;
    }
    is_settled_[std::size_t(v)] = 1;
    see_neighbours(v, distance_[std::size_t(v)]);
  }
  if (longest < infinite_cost) raise_settled(longest);
  return v < 0 ? unreachable : too_far;
}

template <class T>
void Paths<T>::raise_settled(double distance) {
  for (std::size_t u = 0; u <= std::size_t(k_); ++u)
    if (is_settled_[u]) c_.price[u] += distance - distance_[u];
}

// A linear scan: clusters are few, and most are one step away from each other.
template <class T>
std::int32_t Paths<T>::nearest_unsettled() const {
  std::int32_t nearest = -1;
  double least = infinite_cost;
  for (std::size_t v = 0; v <= std::size_t(k_); ++v) {
    if (is_settled_[v] || !(distance_[v] < least)) continue;
    least = distance_[v];
    nearest = std::int32_t(v);
  }
  return nearest;
}

template <class T>
void Paths<T>::see_neighbours(std::int32_t from, double base) {
  const double potential = c_.price[std::size_t(from)];
  const auto see = [&](std::int32_t to, double cost, std::int32_t part) {
    const double reached = base + std::max(0.0, cost + c_.price[std::size_t(to)] - potential);
    if (!(reached < distance_[std::size_t(to)])) return;
    distance_[std::size_t(to)] = reached;
    before_[std::size_t(to)] = from;
    moved_[std::size_t(to)] = part;
  };
  if (from == k_) {
    for (std::int32_t j = 0; j < k_; ++j)
      if (c_.flow[std::size_t(j)] > c_.problem.lowest[j]) see(j, 0, -1);
    return;
  }
  if (c_.flow[std::size_t(from)] < c_.problem.highest[from]) see(std::int32_t(k_), 0, -1);
  const Arcs &arcs = arcs_[std::size_t(from)];
  for (std::size_t a = 0; a < arcs.to.size(); ++a) see(arcs.to[a], arcs.top[a].cost, arcs.top[a].part);
}

// Sends as much as the path allows.
template <class T>
void Paths<T>::send(std::int32_t end) {
  double amount = -c_.excess[std::size_t(end)];
  std::int32_t begin = end;
  for (; before_[std::size_t(begin)] >= 0; begin = before_[std::size_t(begin)])
    amount = std::min(amount, room(before_[std::size_t(begin)], begin));
  amount = std::min(amount, c_.excess[std::size_t(begin)]);
  c_.excess[std::size_t(begin)] -= amount;
  c_.excess[std::size_t(end)] += amount;
  for (std::int32_t to = end; before_[std::size_t(to)] >= 0; to = before_[std::size_t(to)]) {
    const std::int32_t from = before_[std::size_t(to)];
    if (to == k_)
      c_.flow[std::size_t(from)] += amount;
    else if (from == k_)
      c_.flow[std::size_t(to)] -= amount;
    else
      move(moved_[std::size_t(to)], to, amount);
  }
  for (std::int32_t to = end; before_[std::size_t(to)] >= 0; to = before_[std::size_t(to)])
    if (to != k_ && before_[std::size_t(to)] != k_) drop_moves(before_[std::size_t(to)]);
}

template <class T>
double Paths<T>::room(std::int32_t from, std::int32_t to) const {
  if (to == k_) return c_.problem.highest[from] - c_.flow[std::size_t(from)];
  if (from == k_) return c_.flow[std::size_t(to)] - c_.problem.lowest[to];
  return parts_[std::size_t(moved_[std::size_t(to)])].weight;
}

// Moves some of a part to another cluster: all of it, or a new part is cut off.
template <class T>
void Paths<T>::move(std::int32_t which, std::int32_t to, double amount) {
  const std::int32_t c = parts_[std::size_t(which)].candidate;
  std::int32_t there = c;
  while (there >= 0 && !(parts_[std::size_t(there)].cluster == to)) there = parts_[std::size_t(there)].next;
  Part &part = parts_[std::size_t(which)];
  const bool whole = part.weight - amount <= (c_.problem.weights == nullptr ? 0 : c_.tolerance);
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

// Adds the moves of a part that has arrived, as far as they are within reach.
template <class T>
void Paths<T>::offer(std::int32_t which) {
  const std::int32_t from = parts_[std::size_t(which)].cluster;
  const std::int64_t i = candidates_[std::size_t(parts_[std::size_t(which)].candidate)];
  const double *prices = c_.price.data();
  const double own = c_.cost(i, from), farthest = own + prices[from] + reach_;
  Arcs &arcs = arcs_[std::size_t(from)];
  for (std::int32_t to = 0; to < k_; ++to) {
    const double there = c_.cost(i, to);
    if (to == from || there + prices[to] > farthest) continue;
    const std::size_t a = arc(from, to);
    Heap &heap = arcs.heaps[a];
    const MoveCost move{there - own, which};
    if (move.cost > heap.limit) continue;
    heap.moves.push_back(move);
    if (heap.is_ordered) std::push_heap(heap.moves.begin(), heap.moves.end(), std::greater<>());
    if (arcs.top[a] > move) arcs.top[a] = move;
  }
}

template class Paths<float>;
template class Paths<double>;

}  // namespace eulermeans
