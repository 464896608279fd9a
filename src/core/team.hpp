// Threads that share the work of one call.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace eulermeans {

// Calls work(context, 0) here and work(context, i), i = 1 .. n_threads - 1, on threads that sleep between calls. Each
// must do what is left to do, however many others do so: a thread that has not woken by the time this one is done is
// not waited for, so that on a busy machine a call takes no longer than on one thread. `work` must not throw.
void share(int n_threads, void (*work)(void *context, int thread), void *context);

namespace {

template <class Work>
inline void on_threads(int n_threads, Work work) {
  if (n_threads <= 1) return work(0);
  share(n_threads, [](void *context, int thread) { (*static_cast<Work *>(context))(thread); }, &work);
}

// Calls work(i, thread) once for each i from 0 to n - 1.
template <class Work>
inline void for_each(std::int64_t n, int n_threads, Work work) {
  if (n == 0) return;
  const std::int64_t step = std::max<std::int64_t>(1, n / (8 * n_threads));
  std::atomic<std::int64_t> next{0};
  on_threads(n_threads, [&](int thread) {
    for (std::int64_t first = next.fetch_add(step); first < n; first = next.fetch_add(step))
      for (std::int64_t i = first; i < std::min(n, first + step); ++i) work(i, thread);
  });
}

}  // namespace
}  // namespace eulermeans
