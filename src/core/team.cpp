#include "team.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

namespace eulermeans {
namespace {

struct Job {
  void (*const work)(void *, int);
  void *const context;
  const int n_threads;
  const int core;                 // that the caller runs on
  int n_begun = 1;                // the caller among them
  std::atomic<int> n_running{0};  // without it
  Job *next = nullptr;
};

// Signals are for the interpreter's own threads.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

// A thread that sleeps takes long to wake, on a virtual machine a tenth of a millisecond and more. So it watches first,
// longer than a solver takes from one pass to the next, and lets go of its core whenever another thread wants that.
constexpr std::chrono::microseconds watching{300};

template <class Condition>
void watch_for(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + watching;
  while (!condition() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
}

#if defined(__linux__)
int current_core() { return sched_getcpu(); }

// Where few cores share a cache, Linux may wake a thread on the core of the one that woke it, though another is free,
// and leave it there for milliseconds.
void leave(int core) {
  cpu_set_t allowed, others;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  others = allowed;
  CPU_CLR(core, &others);
  if (CPU_COUNT(&others) == 0) return;
  sched_setaffinity(0, sizeof others, &others);
  sched_setaffinity(0, sizeof allowed, &allowed);
}
#else
int current_core() { return -1; }
void leave(int) {}
#endif

class Pool {
 public:
  void share(Job &job) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      add_helpers(job.n_threads - 1);
      job.next = jobs_;
      jobs_ = &job;
    }
    for (int i = 1; i < job.n_threads; ++i) work_to_do_.notify_one();
    job.work(job.context, 0);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      remove(job);
    }
    watch_for([&] { return job.n_running == 0; });
    std::unique_lock<std::mutex> lock(mutex_);
    job_done_.wait(lock, [&] { return job.n_running == 0; });
  }

 private:
  void add_helpers(int wanted) {
    if (n_helpers_ >= wanted) return;
    const NoSignals no_signals;
    try {
      for (; n_helpers_ < wanted; ++n_helpers_) std::thread([this] { help(); }).detach();
    } catch (const std::system_error &) {  // the system has no more: those that there are will do
    }
  }

  void help() {
    for (;;) {
      watch_for([&] { return jobs_ != nullptr; });
      std::unique_lock<std::mutex> lock(mutex_);
      work_to_do_.wait(lock, [&] { return jobs_ != nullptr; });
      Job &job = *jobs_;
      const int thread = job.n_begun++;
      ++job.n_running;
      if (job.n_begun == job.n_threads) remove(job);
      lock.unlock();
      if (current_core() == job.core) leave(job.core);
      job.work(job.context, thread);
      lock.lock();
      if (--job.n_running == 0) job_done_.notify_all();
    }
  }

  // From the list, if it is there still: nobody new begins it.
  void remove(Job &job) {
    if (jobs_ == &job) jobs_ = job.next;
    for (Job *at = jobs_; at != nullptr; at = at->next)
      if (at->next == &job) at->next = job.next;
  }

  std::mutex mutex_;
  std::condition_variable work_to_do_, job_done_;
  std::atomic<Job *> jobs_{nullptr};  // changed by whoever has the mutex
  int n_helpers_ = 0;
};

}  // namespace

void share(int n_threads, void (*work)(void *, int), void *context) {
  static Pool *pool = new Pool;  // never deleted: its threads sleep in it until the process ends
  Job job{work, context, n_threads, current_core()};
  pool->share(job);
}

}  // namespace eulermeans
