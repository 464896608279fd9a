// What the rows of a block add up to, and how blocks add up to the totals: in order, so that the result has the same
// bits whatever the number of threads.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <type_traits>
#include <vector>

#include "nearest.hpp"

namespace eulermeans {
namespace {

// What the rows of one block add up to, for those clusters only that have points among them.
// S is how points are stored. Bytes that weigh one each are added up as integers: a block of them fits 16 bits.
template <class S>
class BlockTotals {
 public:
  BlockTotals(std::int64_t n_clusters, std::int64_t n_features, bool unweighted)
      : n_features_(n_features),
        place_(n_clusters),
        narrow_(is_byte<S> && unweighted),
        sums_(narrow_ ? 0 : std::min(n_clusters, block_rows) * n_features),
        narrow_sums_(narrow_ ? std::min(n_clusters, block_rows) * n_features : 0) {
    for (std::int64_t j = 0; j < n_clusters; ++j) place_.data()[j] = -1;
  }

  template <class R>
  void add(const R *const *points, const double *weights, const Nearest *found, int n) {
    if (n_features_ < worth_sorting)
      add_one_by_one(points, weights, found, n);
    else
      add_by_cluster(points, weights, found, n);
  }

  void flush_into(const Totals &totals) {
    for (std::int32_t i = 0; i < n_met_; ++i) {
      const Met &met = met_[i];
      place_.data()[met.label] = -1;
      *totals.cost += met.error;
      totals.counts[met.label] += met.count;
      if (totals.errors != nullptr) totals.errors[met.label] += met.error;
      if (totals.utilities != nullptr) totals.utilities[met.label] += met.utility;
      double *total = totals.sums + met.label * n_features_;
      if (narrow_)
        add_up(narrow_sums_.data() + i * n_features_, total);
      else
        add_up(sums_.data() + i * n_features_, total);
    }
    n_met_ = 0;
  }

 private:
  static constexpr int together = 4;
  static constexpr std::int64_t worth_sorting = 64;  // with fewer features, a sum is read and written sooner than that
  using Narrow = std::conditional_t<std::is_signed_v<S>, std::int16_t, std::uint16_t>;
  static_assert(!is_byte<S> || block_rows * 255 <= std::numeric_limits<std::uint16_t>::max());
  static_assert(!is_byte<S> || block_rows * 128 <= std::numeric_limits<std::int16_t>::max());

  struct Met {
    std::int32_t label, first;
    bool empty;  // so far: its sum is not there yet
    double count, error, utility;

    void add(double weight, const Nearest &found) {
      count += weight;
      error += weight * found.nearest;
      utility += weight * (found.second - found.nearest);
    }
  };

  template <class R>
  void add_one_by_one(const R *const *points, const double *weights, const Nearest *found, int n) {
    for (int p = 0; p < n; ++p) {
      if (weights[p] == 0) continue;
      Met &met = meet(found[p].label);
      met.add(weights[p], found[p]);
      add_to_sum<1>(points + p, weights + p, met);
    }
  }

  // Points of one cluster go in together, a few at a time: the sum is read and written once for them all.
  template <class R>
  void add_by_cluster(const R *const *points, const double *weights, const Nearest *found, int n) {
    std::int32_t next[group_rows];  // the next point of the same cluster; -1 at the end
    for (int p = n - 1; p >= 0; --p) {
      next[p] = -1;
      if (weights[p] == 0) continue;
      Met &met = meet(found[p].label);
      next[p] = met.first;
      met.first = p;
    }
    for (std::int32_t i = 0; i < n_met_; ++i) {
      Met &met = met_[i];
      for (std::int32_t p = met.first; p >= 0;) {
        const R *of[together];
        double weight[together];
        int m = 0;
        for (; m < together && p >= 0; ++m, p = next[p]) {
          of[m] = points[p];
          weight[m] = weights[p];
          met.add(weights[p], found[p]);
        }
        if (m == together)
          add_long<together>(of, weight, met);
        else
          for (int q = 0; q < m; ++q) add_long<1>(of + q, weight + q, met);
      }
      met.first = -1;
    }
  }

  Met &meet(std::int32_t label) {
    std::int32_t &place = place_.data()[label];
    if (place < 0) {
      place = n_met_++;
      met_[place] = {label, -1, true, 0, 0, 0};
    }
    return met_[place];
  }

  // Not inlined, so that the compiler keeps all that the loop needs in registers.
  template <int M, class R>
  [[gnu::noinline]] void add_long(const R *const *points, const double *weights, Met &met) {
    add_to_sum<M>(points, weights, met);
  }

  template <int M, class R>
  void add_to_sum(const R *const *points, const double *weights, Met &met) {
    const std::int64_t at = (&met - met_) * n_features_;
    if constexpr (is_byte<R>) {
      if (narrow_) {
        met.empty ? add_narrow<M, true>(points, narrow_sums_.data() + at)
                  : add_narrow<M, false>(points, narrow_sums_.data() + at);
        met.empty = false;
        return;
      }
    }
    met.empty ? add_weighted<M, true>(points, weights, sums_.data() + at)
              : add_weighted<M, false>(points, weights, sums_.data() + at);
    met.empty = false;
  }

  template <int M, bool Empty, class R>
  void add_weighted(const R *const *points, const double *weights, double *sum) const {
    for (std::int64_t f = 0; f < n_features_; ++f) {
      double total = Empty ? 0 : sum[f];
      for (int m = 0; m < M; ++m) total += weights[m] * double(points[m][f]);
      sum[f] = total;
    }
  }

  template <int M, bool Empty, class R>
  void add_narrow(const R *const *points, Narrow *sum) const {
    for (std::int64_t f = 0; f < n_features_; ++f) {
      Narrow total = Empty ? Narrow(0) : sum[f];
      for (int m = 0; m < M; ++m) total = Narrow(total + points[m][f]);
      sum[f] = total;
    }
  }

  template <class A>
  [[gnu::noinline]] void add_up(const A *sum, double *total) const {
    for (std::int64_t f = 0; f < n_features_; ++f) total[f] += double(sum[f]);
  }

  const std::int64_t n_features_;
  Buffer<std::int32_t> place_;  // of each cluster among those met; -1 if not met
  const bool narrow_;
  Buffer<double> sums_;
  Buffer<Narrow> narrow_sums_;
  Met met_[block_rows];
  std::int32_t n_met_ = 0;
};

// Hands out runs of blocks to threads and adds what they made into the totals in the blocks' order. One thread at a
// time does that, whichever finds the next one ready, and no other waits for it. A thread waits only if every place for
// a run is taken, and then asleep: a neighbour that lost its core is not waited for by spinning.
// `sizes` is what a block is made with.
template <class Block>
class InOrder {
 public:
  template <class... Sizes>
  InOrder(std::int64_t n_blocks, std::int64_t run, int n_threads, const Sizes &...sizes)
      : n_blocks_(n_blocks), run_(n_threads == 1 ? 1 : run), places_(n_threads == 1 ? 1 : 2 * std::size_t(n_threads) + 1) {
    for (std::size_t i = 0; i < places_.size() * std::size_t(run_); ++i) blocks_.emplace_back(sizes...);
  }

  // Calls add(block, what it adds up to) for blocks as long as there are any. Every thread of a team calls this.
  template <class Add>
  void work(int thread, const Totals &totals, const Add &add) {
    while (Place *place = take(thread)) {
      for (std::int64_t block = place->first; block < place->end; ++block) add(block, block_of(*place, block));
      finish(*place, totals);
    }
  }

 private:
  enum class State { free, taken, ready };

  struct Place {
    State state = State::free;
    int thread = -1;               // that had it last: its sums are in that one's cache
    std::int64_t first = 0, end = 0;  // of the blocks of its run
  };

  // A place with the next blocks to add up; none when there are no more.
  Place *take(int thread) {
    std::unique_lock<std::mutex> lock(mutex_);
    Place *place = nullptr;
    room_.wait(lock, [&] { return taken_ >= n_blocks_ || (place = free_place(thread)) != nullptr; });
    if (taken_ >= n_blocks_) return nullptr;
    *place = {State::taken, thread, taken_, std::min(n_blocks_, taken_ + run_)};
    taken_ = place->end;
    return place;
  }

  // One that this thread had before if there is one: to write to what lies in another's cache takes long.
  Place *free_place(int thread) {
    Place *found = nullptr;
    for (Place &place : places_)
      if (place.state == State::free && (found == nullptr || place.thread == thread)) found = &place;
    return found;
  }

  Block &block_of(const Place &place, std::int64_t block) {
    return blocks_[std::size_t((&place - places_.data()) * run_ + block - place.first)];
  }

  void finish(Place &place, const Totals &totals) {
    std::unique_lock<std::mutex> lock(mutex_);
    place.state = State::ready;
    if (flushing_) return;
    flushing_ = true;
    while (Place *next = next_ready()) {
      lock.unlock();
      for (std::int64_t block = next->first; block < next->end; ++block) block_of(*next, block).flush_into(totals);
      lock.lock();
      flushed_ = next->end;
      next->state = State::free;
    }
    flushing_ = false;
    room_.notify_all();  // not before: whoever wakes may take this thread's core
  }

  Place *next_ready() {
    for (Place &place : places_)
      if (place.state == State::ready && place.first == flushed_) return &place;
    return nullptr;
  }

  const std::int64_t n_blocks_, run_;  // blocks in all, and in a run
  std::vector<Place> places_;
  std::deque<Block> blocks_;  // run_ for each place
  std::int64_t taken_ = 0, flushed_ = 0;  // blocks so far
  bool flushing_ = false;
  std::mutex mutex_;
  std::condition_variable room_;
};

inline void tell(const PerRow &per_row, std::int64_t i, const Nearest &found) {
  if (per_row.labels != nullptr) per_row.labels[i] = found.label;
  if (per_row.nearest != nullptr) per_row.nearest[i] = found.nearest;
  if (per_row.second != nullptr) per_row.second[i] = found.second;
}

}  // namespace
}  // namespace eulermeans
