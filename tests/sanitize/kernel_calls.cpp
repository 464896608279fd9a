// Calls kernels without Python, for the sanitizers: four callers at once on the thread pool, calls that end early, and
// calls in which an allocation fails. Exits with 1 if a result is wrong; the sanitizers say the rest. See `make
// test-sanitize`.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "kernel_tables.hpp"
#include "placement.hpp"
#include "scheduler.hpp"

// The allocation that fails: counted down at each one; never at 0.
static std::atomic<long> fails_in{0};

static bool fails_now() { return fails_in > 0 && fails_in.fetch_sub(1) == 1; }

extern "C" void *__real_aligned_alloc(std::size_t alignment, std::size_t size);
extern "C" void *__wrap_aligned_alloc(std::size_t alignment, std::size_t size) {
  return fails_now() ? nullptr : __real_aligned_alloc(alignment, size);
}

void *operator new(std::size_t size) {
  void *found = fails_now() ? nullptr : std::malloc(size == 0 ? 1 : size);
  if (found == nullptr) throw std::bad_alloc();
  return found;
}
void *operator new(std::size_t size, const std::nothrow_t &) noexcept {  // of std::stable_sort
  return fails_now() ? nullptr : std::malloc(size == 0 ? 1 : size);
}
void operator delete(void *pointer) noexcept { std::free(pointer); }
void operator delete(void *pointer, std::size_t) noexcept { std::free(pointer); }

namespace {

using namespace eulermeans;

const Kernels &kernels = *supported_kernels().front();

constexpr std::int64_t n = 6000, d = 24, k = 60, m = 5, stored_per_row = 3, most_touched = 8;

// Random points and centers, and what all kernels need to know about them.
struct Problem {
  Problem() {
    std::mt19937 random(0);
    std::normal_distribution<float> normal;
    for (float &value : points) value = normal(random);
    for (std::int64_t i = 0; i < k * d; ++i) wide_centers[i] = centers[i] = points[i];
    for (std::int64_t i = 0; i < n; ++i) {
      labels[i] = std::int32_t(i % k);
      rows[i] = i;
      for (std::int64_t s = 0; s < stored_per_row; ++s) indices[i * stored_per_row + s] = std::int32_t((i + 7 * s) % d);
    }
    std::int64_t at = 0;
    for (std::int64_t j = 0; j < k; ++j) {
      cluster_starts[j] = at;
      for (std::int64_t i = j; i < n; i += k) members[at++] = i;
      chosen[j] = std::int32_t(j);
    }
    cluster_starts[k] = at;
    for (std::int64_t i = 0; i <= n; ++i) row_starts[i] = i * stored_per_row;
    kernels.neighbours(wide_centers.data(), k, d, m, near.data(), 1);
  }

  Points dense() const { return {points.data(), Storage::float32, n, d, nullptr, nullptr}; }
  CsrPoints csr() const {
    return {points.data(), false, indices.data(), false, row_starts.data(), n, n, d, nullptr, nullptr};
  }
  Centers<void> about() const { return {centers.data(), k, d}; }
  Clusters clusters() const { return {members.data(), cluster_starts.data(), near.data(), m}; }

  std::vector<float> points = std::vector<float>(n * d), centers = std::vector<float>(k * d);
  std::vector<double> wide_centers = std::vector<double>(k * d);
  std::vector<std::int32_t> labels = std::vector<std::int32_t>(n), near = std::vector<std::int32_t>(k * m),
                            indices = std::vector<std::int32_t>(n * stored_per_row),
                            chosen = std::vector<std::int32_t>(k);
  std::vector<std::int64_t> rows = std::vector<std::int64_t>(n), members = std::vector<std::int64_t>(n),
                            cluster_starts = std::vector<std::int64_t>(k + 1),
                            row_starts = std::vector<std::int64_t>(n + 1);
};

// What one caller writes to.
struct Outputs {
  Totals totals() { return {counts.data(), sums.data(), &cost, errors.data(), utilities.data(), &n_tied}; }
  PerRow per_row() { return {labels.data(), nearest.data(), second.data()}; }
  double checksum() const {
    double total = cost + n_tied;
    for (double value : counts) total += value;
    for (double value : sums) total += value;
    for (double value : nearest) total += value;
    for (std::int32_t label : labels) total += label;
    for (float value : distances) total += double(value);
    for (double value : centers) total += value;
    for (double value : gains) total += value;
    for (std::int64_t i = 0; i < k * most_touched; ++i)
      if (touched[std::size_t(i)] >= 0) total += positions[std::size_t(i * d)] + touched[std::size_t(i)];
    return total;
  }

  std::vector<double> counts = std::vector<double>(k), sums = std::vector<double>(k * d),
                      errors = std::vector<double>(k), utilities = std::vector<double>(k),
                      nearest = std::vector<double>(n), second = std::vector<double>(n), gains = std::vector<double>(k),
                      centers, positions = std::vector<double>(k * most_touched * d);
  std::vector<std::int32_t> labels = std::vector<std::int32_t>(n), lists = std::vector<std::int32_t>(n * m),
                            touched = std::vector<std::int32_t>(k * most_touched, -1);
  std::vector<float> distances = std::vector<float>(n * k), upper = std::vector<float>(n, 1e30f),
                     lower = std::vector<float>(n), zeros = std::vector<float>(k);
  double cost = 0, n_tied = 0;
};

constexpr int n_kinds = 21, n_polling = 17;  // the last ones do not ask the clock

void call(int kind, const Problem &p, Outputs &out, int threads) {
  const Chosen all{p.chosen.data(), k};
  switch (kind) {
    case 0: kernels.pass(p.dense(), p.about(), out.totals(), out.per_row(), threads); break;
    case 1: kernels.assign(p.dense(), p.about(), out.per_row(), threads); break;
    case 2: kernels.distances(p.dense(), p.about(), out.distances.data(), threads); break;
    case 3: kernels.csr_pass(p.csr(), p.about(), out.totals(), out.per_row(), threads); break;
    case 4: kernels.csr_assign(p.csr(), p.about(), out.per_row(), threads); break;
    case 5: kernels.csr_distances(p.csr(), p.about(), out.distances.data(), threads); break;
    case 6: {
      out.labels = p.labels;
      const Bounds bounds{out.labels.data(), out.upper.data(), out.lower.data(), 1,
                          out.zeros.data(),  out.zeros.data(), out.zeros.data()};
      kernels.refine(p.dense(), p.about(), bounds, out.totals(), threads);
      break;
    }
    case 7: {
      out.centers = p.wide_centers;
      Points batches = p.dense();
      batches.rows = p.rows.data();
      kernels.implicit_steps(batches, {5, 4, n / 20, 1.0, 0.9, 0.75, 2.0}, k, out.centers.data(), threads);
      break;
    }
    case 8: kernels.reassign(p.dense(), p.about(), p.clusters(), all, out.per_row(), threads); break;
    case 9: {
      kernels.shortlist(p.dense(), p.about(), m, out.lists.data(), threads);
      kernels.compare_listed(p.dense(), p.about(), {out.lists.data(), p.rows.data(), m}, out.per_row(), threads);
      break;
    }
    case 10: kernels.sum_clusters(p.dense(), p.clusters(), all, out.counts.data(), out.sums.data(), threads); break;
    case 11:
    case 12: {
      std::vector<std::int32_t> inside(k);
      std::vector<std::int64_t> added(k);
      for (std::int64_t j = 0; j < k; ++j) added[j] = inside[j] = std::int32_t((j + 1) % k);
      if (kind == 12) std::fill(out.errors.begin(), out.errors.end(), 0.0);  // nothing to gain: no move is tried
      const Moves moves{k,
                        p.chosen.data(),
                        inside.data(),
                        added.data(),
                        out.gains.data(),
                        out.touched.data(),
                        out.positions.data(),
                        most_touched};
      kernels.try_moves(p.dense(), {p.wide_centers.data(), k, d}, out.errors.data(), p.clusters(),
                        {3, 20, 4, 0.5, true, true, false}, moves, threads);
      break;
    }
    case 13:
    case 14: {  // without a temperature and with one
      Points in = p.dense();
      in.rows = p.rows.data();
      std::vector<float> means = p.centers;
      out.labels = p.labels;
      std::fill(out.counts.begin(), out.counts.end(), double(n / k));
      kernels.shortlist(p.dense(), p.about(), m, out.lists.data(), threads);
      const Sweep sweep{p.rows.data(),
                        out.lists.data(),
                        m,
                        out.labels.data(),
                        out.counts.data(),
                        means.data(),
                        out.nearest.data(),
                        out.second.data(),
                        kind == 13 ? 0.0 : 1.0,
                        7};
      kernels.sweep(in, sweep, threads);
      std::copy(means.begin(), means.end(), out.sums.begin());
      break;
    }
    case 15: {
      out.labels = p.labels;
      std::fill(out.counts.begin(), out.counts.end(), double(n / k));
      const CsrSweep sweep{p.rows.data(),   out.labels.data(), out.counts.data(),
                           out.sums.data(), out.errors.data(), out.second.data()};
      kernels.csr_sweep(p.csr(), sweep, k, 3, 0, threads);
      break;
    }
    case 16: {
      const std::vector<double> far(n, 1e9), numbers(30 * 4, 0.5);
      std::vector<std::int64_t> added(30);
      kernels.seed_greedily(p.dense(), p.about(), {p.labels.data(), far.data()}, {numbers.data(), 30, 4}, added.data(),
                            threads);
      std::copy(added.begin(), added.end(), out.counts.begin());
      break;
    }
    case 17: {
      out.labels = p.labels;
      out.centers = p.wide_centers;
      std::fill(out.counts.begin(), out.counts.end(), double(n / k));
      Points in = p.dense();
      in.rows = p.rows.data();
      const std::vector<double> weights(n, 1.0);
      kernels.transfer_nearby(in, weights.data(), out.labels.data(), p.clusters(), out.counts.data(), out.sums.data(),
                              out.centers.data());
      break;
    }
    case 18:
    case 19:
    case 20: {  // exactly, with weights, and prices only; few clusters, so that some points are placed alone first
      constexpr std::int64_t few = 20;
      kernels.distances(p.dense(), {p.centers.data(), few, d}, out.distances.data(), threads);
      std::vector<double> weights(n);
      for (std::int64_t i = 0; i < n; ++i) weights[i] = double(i % 3) + 0.5;
      const double share = (kind == 19 ? 1.5 : 1.0) * n / few;
      const std::vector<double> lowest(few, share - 2), highest(few, share + 2);
      place(PlacementProblem<float>{out.distances.data(), n, few, kind == 19 ? weights.data() : nullptr, lowest.data(),
                                    highest.data(), nullptr, nullptr},
            out.gains.data(), out.labels.data(), kind != 20);
      break;
    }
  }
}

double result_of(int kind, const Problem &problem, int threads) {
  Outputs out;
  for (double &error : out.errors) error = 1;
  call(kind, problem, out, threads);
  return out.checksum();
}

void require(bool condition, const std::string &message) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", message.c_str());
  std::exit(1);
}

// The same bits from four callers at once, each with four threads.
void four_callers(const Problem &problem, const std::vector<double> &expected) {
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&, c] {
      for (int round = 0; round < 3; ++round)
        for (int i = 0; i < n_kinds; ++i) {
          const int kind = (i + 3 * c) % n_kinds;
          require(result_of(kind, problem, 4) == expected[std::size_t(kind)],
                  "other bits: kind " + std::to_string(kind));
        }
    });
  for (std::thread &caller : callers) caller.join();
}

// A time limit that has passed ends every call; afterwards everything works.
void ended_early(const Problem &problem, const std::vector<double> &expected) {
  for (int kind = 0; kind < n_polling; ++kind) {
    for (int threads : {1, 4}) {
      call_limits().deadline = CallLimits::Clock::now();
      bool ended = false;
      try {
        result_of(kind, problem, threads);
      } catch (const OutOfTime &) {
        ended = true;
      }
      call_limits().deadline = CallLimits::Clock::time_point::max();
      require(ended, "a call did not end: kind " + std::to_string(kind));
      require(result_of(kind, problem, threads) == expected[std::size_t(kind)], "wrong after an end");
    }
  }
}

// Whichever allocation fails, the call ends with bad_alloc, and the next one works.
void failing_allocations(const Problem &problem, const std::vector<double> &expected) {
  for (int kind = 0; kind < n_kinds; ++kind) {
    for (int threads : {1, 3}) {
      long n_failed = 0;
      for (long nth = 1; nth < 2000; nth += nth < 60 ? 1 : 97) {
        Outputs out;
        for (double &error : out.errors) error = 1;
        if (kind == 6) out.labels.reserve(n);
        if (kind == 7) out.centers.reserve(k * d);
        fails_in = nth;
        try {
          call(kind, problem, out, threads);
          fails_in = 0;
          if (nth > 60) break;
        } catch (const std::bad_alloc &) {
          ++n_failed;
        }
        fails_in = 0;
      }
      require(n_failed > 0, "no allocation failed: kind " + std::to_string(kind));
      require(result_of(kind, problem, threads) == expected[std::size_t(kind)], "wrong after a failure");
    }
  }
}

}  // namespace

int main(int argc, char **argv) {
  const Problem problem;
  std::vector<double> expected;
  for (int kind = 0; kind < n_kinds; ++kind) expected.push_back(result_of(kind, problem, 1));
  four_callers(problem, expected);
  ended_early(problem, expected);
  if (argc > 1 && std::string(argv[1]) == "--fail") failing_allocations(problem, expected);
  std::puts("every call gave the same bits");
  return 0;
}
