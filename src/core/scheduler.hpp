// How a call is split among threads: how many take part, which blocks each one works on, and in which order the sums
// of blocks are added to the totals. That order is always the order of the rows, so the bits of the result do not
// depend on the number of threads. And how a call ends early: by Ctrl-C, a time limit or an exception of a thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "kernels.hpp"

namespace eulermeans {

// Calls work(context, 0) on this thread and work(context, i), i = 1 .. n_threads - 1, on the threads of a pool. Each
// call must do all the work that is left, however many others do the same: a thread that has not started when this
// one is done is not waited for. So a call on a busy machine takes no longer than on one thread. `work` must not throw.
void run_on_pool(int n_threads, void (*work)(void *context, int thread), void *context);

// The time limit of a call has passed.
struct OutOfTime : std::exception {
  const char *what() const noexcept override { return "the time limit was reached"; }
};

// What may end the calls of this thread early. A call asks now and then, on the thread that made it.
struct CallLimits {
  using Clock = std::chrono::steady_clock;

  Clock::time_point deadline = Clock::time_point::max();
  Clock::time_point next_check{};                 // when to ask `interrupted` again; zero when a call begins
  std::exception_ptr (*interrupted)() = nullptr;  // whether to end, and by which exception; null: never
};
CallLimits &call_limits();                               // of this thread
constexpr std::chrono::milliseconds check_interval{50};  // asking Python takes the GIL, so it is not asked often

// Why the call should end now; null if it should go on.
std::exception_ptr reason_to_end(CallLimits::Clock::time_point now);

namespace {

// Whether a call ends early, and by which exception. All its threads share one.
class Ending {
 public:
  bool requested() const { return requested_.load(std::memory_order_relaxed); }

  void request(std::exception_ptr reason) {
    if (claimed_.exchange(true)) return;  // the first reason counts
    reason_ = std::move(reason);
    requested_ = true;
  }

  // On the calling thread, when no other thread works any more.
  void rethrow() const {
    if (reason_) std::rethrow_exception(reason_);
  }

 private:
  std::atomic<bool> requested_{false}, claimed_{false};
  std::exception_ptr reason_;
};

// Tells one thread of a call between two pieces of work whether to stop. The calling thread asks the clock after as many
// pieces as take about a millisecond.
class Poll {
 public:
  Poll(Ending &ending, int thread) : ending_(ending), asks_(thread == 0) {}

  bool stop() {
    if (ending_.requested()) return true;
    return asks_ && --left_ <= 0 && ask();
  }

 private:
  __attribute__((noinline)) bool ask() {  // out of line: the loops around it are hot
    const auto now = CallLimits::Clock::now();
    const auto passed = now - last_;
    if (passed < std::chrono::milliseconds(1) && last_ != CallLimits::Clock::time_point{})
      every_ = std::min<std::int64_t>(2 * every_, 1 << 16);
    else if (passed > std::chrono::milliseconds(4))
      every_ = std::max<std::int64_t>(every_ / 4, 1);
    last_ = now;
    left_ = every_;
    if (std::exception_ptr reason = reason_to_end(now)) ending_.request(std::move(reason));
    return ending_.requested();
  }

  Ending &ending_;
  const bool asks_;
  std::int64_t every_ = 1, left_ = 1;  // pieces of work
  CallLimits::Clock::time_point last_{};
};

// Calls work(thread, poll) on up to n_threads threads. An exception of one of them ends the call. The calling thread asks
// the clock before the others start: they may finish before it has the core again, and a limit would go unnoticed.
template <class Work>
inline void on_threads(int n_threads, Work work) {
  Ending ending;
  Poll caller(ending, 0);
  if (n_threads <= 1) {
    work(0, caller);
  } else if (!caller.stop()) {
    struct Shared {
      Work &work;
      Ending &ending;
      Poll &caller;
    } shared{work, ending, caller};
    run_on_pool(n_threads, [](void *context, int thread) {
      const Shared &shared = *static_cast<Shared *>(context);
      Poll helper(shared.ending, thread);
      try {
        shared.work(thread, thread == 0 ? shared.caller : helper);
      } catch (...) {
        shared.ending.request(std::current_exception());
      }
    }, &shared);
  }
  ending.rethrow();
}

// Calls work(i, thread) once for each i from 0 to n - 1, in any order.
template <class Work>
inline void parallel_for(std::int64_t n, int n_threads, Work work) {
  if (n == 0) return;
  const std::int64_t step = std::max<std::int64_t>(1, n / (8 * std::int64_t(n_threads)));
  std::atomic<std::int64_t> next{0};
  on_threads(n_threads, [&](int thread, Poll &poll) {
    for (std::int64_t first = next.fetch_add(step); first < n; first = next.fetch_add(step))
      for (std::int64_t i = first; i < std::min(n, first + step); ++i) {
        if (poll.stop()) return;
        work(i, thread);
      }
  });
}

constexpr double row_overhead = 256;         // fixed cost of a row, in multiplications
constexpr double work_per_thread = 1 << 20;  // multiplications that justify another thread: some ten microseconds
constexpr double work_per_run = 1 << 20;     // multiplications that make handing out a run of blocks cheap

// Multiplications of a pass over dense points, approximately.
inline double work_of(std::int64_t n_rows, std::int64_t n_features, std::int64_t n_clusters) {
  return double(n_rows) * (double(n_features) * double(n_clusters) + row_overhead);
}

inline int useful_threads(int n_threads, std::int64_t n_blocks, double work) {
  const double useful = work / work_per_thread;
  if (useful < n_threads) n_threads = useful < 1 ? 1 : int(useful);
  return n_blocks < n_threads ? int(n_blocks) : n_threads;
}

// Splits rows into blocks of Block::n_rows, hands out runs of up to Block::most_per_run consecutive blocks to threads,
// and calls flush_into(totals) for finished blocks in order. Only one thread flushes at a time, whichever finds the
// next run ready; the others go on working. A thread waits only if all slots are taken, and sleeps instead of spinning.
template <class Block>
class BlockScheduler {
 public:
  // work: multiplications in all. n_rows must not be 0.
  template <class... Arguments>
  BlockScheduler(std::int64_t n_rows, int most_threads, double work, const Arguments &...block_arguments)
      : n_rows(n_rows),
        n_blocks((n_rows + Block::n_rows - 1) / Block::n_rows),
        n_threads(useful_threads(most_threads, n_blocks, work)),
        run_(n_threads == 1 ? 1 : blocks_per_run(work)),
        slots_(n_threads == 1 ? 1 : 2 * std::size_t(n_threads) + 1) {
    for (std::size_t i = 0; i < slots_.size() * std::size_t(run_); ++i) blocks_.emplace_back(block_arguments...);
  }

  // Calls add(thread, first row, end of rows, block) once for each block.
  template <class Add>
  void run(const Totals &totals, const Add &add) {
    on_threads(n_threads, [&](int thread, Poll &poll) {
      try {
        while (Slot *slot = take(thread)) {
          for (std::int64_t index = slot->first; index < slot->end; ++index) {
            if (poll.stop()) return abandon();
            const std::int64_t first_row = index * Block::n_rows;
            add(thread, first_row, std::min(n_rows, first_row + Block::n_rows), block_of(*slot, index));
          }
          finish(*slot, totals);
        }
      } catch (...) {
        abandon();
        throw;
      }
    });
  }

  const std::int64_t n_rows, n_blocks;
  const int n_threads;

 private:
  enum class State { free, taken, ready };

  // Room for the blocks of one run.
  struct Slot {
    State state = State::free;
    int thread = -1;                  // the last one to use it: its cache holds the sums
    std::int64_t first = 0, end = 0;  // blocks of the run
  };

  std::int64_t blocks_per_run(double work) const {
    const double enough = work_per_run * double(n_blocks) / work, fair = double(n_blocks) / (8.0 * n_threads);
    return std::max<std::int64_t>(1, std::int64_t(std::min({enough, fair, double(Block::most_per_run)})));
  }

  // A slot with the next run of blocks; null when there are none left.
  Slot *take(int thread) {
    std::unique_lock<std::mutex> lock(mutex_);
    Slot *slot = nullptr;
    slot_freed_.wait(lock, [&] { return abandoned_ || taken_ >= n_blocks || (slot = free_slot(thread)) != nullptr; });
    if (abandoned_ || taken_ >= n_blocks) return nullptr;
    *slot = {State::taken, thread, taken_, std::min(n_blocks, taken_ + run_)};
    taken_ = slot->end;
    return slot;
  }

  // Prefers a slot that this thread used before: writing to sums in another core's cache is slow.
  Slot *free_slot(int thread) {
    Slot *found = nullptr;
    for (Slot &slot : slots_)
      if (slot.state == State::free && (found == nullptr || slot.thread == thread)) found = &slot;
    return found;
  }

  Block &block_of(const Slot &slot, std::int64_t index) {
    return blocks_[std::size_t((&slot - slots_.data()) * run_ + index - slot.first)];
  }

  void finish(Slot &slot, const Totals &totals) {
    std::unique_lock<std::mutex> lock(mutex_);
    slot.state = State::ready;
    if (flushing_) return;
    flushing_ = true;
    while (Slot *next = next_ready()) {
      lock.unlock();
      for (std::int64_t index = next->first; index < next->end; ++index) block_of(*next, index).flush_into(totals);
      lock.lock();
      flushed_ = next->end;
      next->state = State::free;
    }
    flushing_ = false;
    slot_freed_.notify_all();  // only now: a thread that wakes may take this thread's core
  }

  // The call ends early: no thread takes another run, and none waits for one that will not be finished.
  void abandon() {
    const std::lock_guard<std::mutex> lock(mutex_);
    abandoned_ = true;
    slot_freed_.notify_all();
  }

  Slot *next_ready() {
    for (Slot &slot : slots_)
      if (slot.state == State::ready && slot.first == flushed_) return &slot;
    return nullptr;
  }

  const std::int64_t run_;  // number of blocks in a run
  std::vector<Slot> slots_;
  std::deque<Block> blocks_;              // run_ blocks for each slot
  std::int64_t taken_ = 0, flushed_ = 0;  // number of blocks so far
  bool flushing_ = false, abandoned_ = false;
  std::mutex mutex_;
  std::condition_variable slot_freed_;
};

}  // namespace
}  // namespace eulermeans
