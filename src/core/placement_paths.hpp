// Sends points from clusters with too much weight to those with too little, along shortest paths.
//
// An arc a -> b stands for the point of a that costs least to move to b. Prices are the potentials of the graph: at
// the cheapest priced center, no move has a negative reduced cost. A cluster's weight flows on to the sink within the
// cluster's bounds, at no cost. Dijkstra's distances update the prices: the successive shortest paths of minimum cost
// flow, with as many nodes as clusters.
//
// Few points are ever moved. Only those take part whose second choice costs hardly more than the first, within a
// `reach`, which has to hold for as far as the prices move; and of these, for each arc only some of the cheapest.
#pragma once

#include "placement_choices.hpp"
#include "placement_pairs.hpp"

namespace eulermeans {

enum class Outcome { balanced, out_of_reach, no_path, out_of_moves };

// The cost of moving a part of a point from one cluster to another.
struct MoveCost {
  double cost;
  std::int32_t part;
  bool operator>(const MoveCost &other) const { return cost > other.cost || (cost == other.cost && part > other.part); }
};

// The cheapest moves from one cluster to another. They are put in order when the first of them has left: most arcs are
// never used. Moves of parts that have left are dropped when they come to the top of the heap.
struct Heap {
  std::vector<MoveCost> moves;
  bool is_ordered = false;
  double limit = infinite_cost;  // moves that cost more were left out
};

// The moves out of one cluster, an arc for each cluster that they lead to.
struct Arcs {
  std::vector<std::int32_t> to;  // of each arc
  std::vector<MoveCost> top;     // its cheapest move; the cost is infinite if there is none
  std::vector<Heap> heaps;       // all its moves; memory of earlier arcs is kept behind them
};

// What is in one cluster of a point. Points with unit weight have one part each.
struct Part {
  std::int32_t candidate;  // which point, among those that may move
  std::int32_t cluster;
  double weight;
  std::int32_t next;  // another part of the same point; -1: none
};

template <class T>
class Paths {
 public:
  explicit Paths(Choices<T> &choices);

  // Sets the arcs and the points that may move: at most `n_moves` along each arc. Returns whether the reach leaves out
  // no move that exists.
  bool collect(double reach, std::size_t n_moves);

  // Sends weight until every cluster has what its price asks for, or prices have moved by `reach` against each other, or
  // an arc has lost all its moves. Changes prices, not choices.
  Outcome balance(double reach);

  const std::vector<std::int64_t> &candidates() const { return candidates_; }  // the points that may move
  const std::vector<Part> &parts() const { return parts_; }                    // part c is the first of candidate c

 private:
  std::size_t arc(std::int32_t from, std::int32_t to);
  bool keep(Arcs &arcs, std::int32_t from, std::int32_t to, MoveCost move);
  void drop_moves(std::int32_t from);
  std::int32_t shortest_path(double longest);
  std::int32_t nearest_unsettled() const;
  void see_neighbours(std::int32_t from, double base);
  void raise_settled(double distance);
  void send(std::int32_t end);
  double room(std::int32_t from, std::int32_t to) const;
  void move(std::int32_t which, std::int32_t to, double amount);
  void offer(std::int32_t which);

  static constexpr std::int32_t none_left = -1, unreachable = -2, too_far = -3;

  Choices<T> &c_;
  const std::int64_t k_;
  PairTable arc_of_;
  std::vector<Arcs> arcs_;  // of each cluster
  std::vector<std::int64_t> candidates_;
  std::vector<Part> parts_;
  std::size_t most_ = 0;       // moves along each arc
  double reach_ = 0;           // of `balance`
  bool is_exhausted_ = false;  // whether an arc that left out moves has lost all others
  // Of the nodes: the clusters, and the sink behind them.
  std::vector<double> start_;         // the prices before
  std::vector<double> distance_;      // from the nearest node with too much
  std::vector<std::int32_t> before_;  // the node before on the path
  std::vector<std::int32_t> moved_;   // the part that moves here from there; -1 for the sink's arcs
  std::vector<char> is_settled_;
};

}  // namespace eulermeans
