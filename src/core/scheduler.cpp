// The pool of threads behind run_on_pool, and the limits of each thread's calls.
#include "scheduler.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <chrono>
#include <system_error>
#include <thread>

namespace eulermeans {
namespace {

struct Job {
  void (*const work)(void *, int);
  void *const context;
  const int n_threads;
  const int core;                 // the core that the caller runs on
  int n_begun = 1;                // threads that have started, the caller included
  std::atomic<int> n_running{0};  // helpers at work, the caller not included
  Job *next = nullptr;
};

// Waking a sleeping thread can take a tenth of a millisecond or more on a virtual machine. So a thread polls before it
// sleeps, for longer than a solver needs between two passes. It yields while it polls, so other threads get its core.
constexpr std::chrono::microseconds polling_time{300};

template <class Condition>
void poll_until(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + polling_time;
  while (!condition() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
}

#if defined(__linux__)
int current_core() { return sched_getcpu(); }

// Moves this thread off the core. Where few cores share a cache, Linux may wake a thread on the core of the thread that
// woke it, although another core is free, and leave it there for milliseconds.
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
  void run(Job &job) {
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
    poll_until([&] { return job.n_running == 0; });
    std::unique_lock<std::mutex> lock(mutex_);
    job_done_.wait(lock, [&] { return job.n_running == 0; });
  }

 private:
  void add_helpers(int wanted) {
    if (n_helpers_ >= wanted) return;
    sigset_t all, before;  // helpers must not handle signals: those belong to the interpreter's threads
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      for (; n_helpers_ < wanted; ++n_helpers_) std::thread([this] { help(); }).detach();
    } catch (const std::system_error &) {  // no more threads to be had: go on with the existing ones
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void help() {
    for (;;) {
      poll_until([&] { return jobs_ != nullptr; });
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

  // Takes the job off the list, if it is still there, so that no other thread starts it.
  void remove(Job &job) {
    if (jobs_ == &job) jobs_ = job.next;
    for (Job *at = jobs_; at != nullptr; at = at->next)
      if (at->next == &job) at->next = job.next;
  }

  std::mutex mutex_;
  std::condition_variable work_to_do_, job_done_;
  std::atomic<Job *> jobs_{nullptr};  // written with the mutex locked
  int n_helpers_ = 0;
};

}  // namespace

CallLimits &call_limits() {
  static thread_local CallLimits limits;
  return limits;
}

std::exception_ptr reason_to_end(CallLimits::Clock::time_point now) {
  CallLimits &limits = call_limits();
  if (now >= limits.deadline) return std::make_exception_ptr(OutOfTime());
  if (limits.interrupted == nullptr || now < limits.next_check) return nullptr;
  const bool first = limits.next_check == CallLimits::Clock::time_point{};  // of this call: Python has just run
  limits.next_check = now + check_interval;
  return first ? nullptr : limits.interrupted();
}

void run_on_pool(int n_threads, void (*work)(void *, int), void *context) {
  static Pool *pool = new Pool;  // never deleted: its threads use it until the process ends
  Job job{work, context, n_threads, current_core()};
  pool->run(job);
}

}  // namespace eulermeans
