#include "team.hpp"

#include <pthread.h>
#include <signal.h>

#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

namespace eulermeans {
namespace {

struct Job {
  void (*work)(void *, int);
  void *context;
  int n_threads;
  int n_begun = 1;    // the caller among them
  int n_running = 0;  // without it
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
    std::unique_lock<std::mutex> lock(mutex_);
    remove(job);
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
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      work_to_do_.wait(lock, [&] { return jobs_ != nullptr; });
      Job &job = *jobs_;
      const int thread = job.n_begun++;
      ++job.n_running;
      if (job.n_begun == job.n_threads) remove(job);
      lock.unlock();
      job.work(job.context, thread);
      lock.lock();
      if (--job.n_running == 0) job_done_.notify_all();
    }
  }

  // From the list, if it is there still: nobody new begins it.
  void remove(Job &job) {
    for (Job **at = &jobs_; *at != nullptr; at = &(*at)->next) {
      if (*at != &job) continue;
      *at = job.next;
      return;
    }
  }

  std::mutex mutex_;
  std::condition_variable work_to_do_, job_done_;
  Job *jobs_ = nullptr;
  int n_helpers_ = 0;
};

}  // namespace

void share(int n_threads, void (*work)(void *, int), void *context) {
  static Pool *pool = new Pool;  // never deleted: its threads sleep in it until the process ends
  Job job{work, context, n_threads};
  pool->share(job);
}

}  // namespace eulermeans
