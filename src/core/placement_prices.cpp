// Every cluster for itself changes its price by what would make its weight right if the others kept theirs: an overfull
// one raises it by what lets its surplus go to the second choices, one with too few points lowers it until enough
// points of all others would come. Steps are a little shorter than that, since neighbours change theirs too.
#include "placement_prices.hpp"

#include <algorithm>
#include <cmath>

namespace eulermeans {
namespace {

constexpr int most_steps = 12;
constexpr double damping = 0.8;
constexpr double smallest_damping = 0.2;
constexpr double worthwhile = 0.98;  // of what is wrong: a step that leaves more is the last, if no paths follow

template <class T>
class Improvement {
 public:
  explicit Improvement(Choices<T> &choices) : c_(choices), k_(std::size_t(choices.k)), gaps_(k_), wanted_(k_) {}

  void run(bool alone) {
    // Paths for this many points take about as long as a step.
    const double enough = (2 + 2 * double(c_.problem.n_points) / double(c_.k + 40)) * c_.mean_weight();
    double left = c_.wrong(), length = damping;
    for (int n = 0; n < most_steps && left > (alone ? c_.tolerance : enough); ++n) {
      const std::vector<double> before = c_.price;
      step(length);
      c_.choose();
      const double now = c_.wrong(), gained = left - now;
      if (gained <= 0) {
        c_.price = before;
        c_.choose();
        length /= 2;
        if (length < smallest_damping) break;
        continue;
      }
      left = now;
      if (alone ? now > worthwhile * (now + gained) : gained < enough) break;
    }
  }

 private:
  void step(double length) {
    collect_gaps();
    for (std::size_t j = 0; j < k_; ++j) {
      const bool over = c_.excess[j] > 0;
      // Where points have lists, those that are not in the heap would lose at least the reach.
      if (!over && c_.is_listed() && c_.excess[j] < -c_.tolerance && gaps_[j].size() <= wanted_[j])
        gaps_[j].assign(1, c_.problem.reach);
      if (gaps_[j].empty()) continue;
      if (over) {
        const std::size_t rank = std::min(wanted_[j], gaps_[j].size() - 1);
        std::nth_element(gaps_[j].begin(), gaps_[j].begin() + std::ptrdiff_t(rank), gaps_[j].end());
        gaps_[j].front() = gaps_[j][rank];
      }
      const double before = c_.price[j], after = before + (over ? length : -length) * gaps_[j].front();
      const double moved = before * after < 0 ? 0 : after;  // not past zero, where the bound is another one
      const double farthest = c_.problem.reach / 2;
      c_.price[j] = std::clamp(moved, c_.given[j] - farthest, c_.given[j] + farthest);
    }
  }

  // For overfull clusters, the gaps of their points. For those with too few, what the points of others would lose by
  // coming: a heap of as many as are wanted and one more, the largest first.
  void collect_gaps() {
    std::vector<std::size_t> hungry;
    std::vector<char> is_hungry(k_, 0);
    for (std::size_t j = 0; j < k_; ++j) {
      gaps_[j].clear();
      wanted_[j] = std::size_t(std::abs(c_.excess[j]) / c_.mean_weight());
      if (c_.excess[j] < -c_.tolerance) {
        hungry.push_back(j);
        is_hungry[j] = 1;
      }
    }
    for (std::size_t i = 0; i < c_.first.size(); ++i) {
      if (!(c_.gap[i] < infinite_cost)) continue;
      c_.pause.after(c_.is_listed() ? 8 : 2 * std::int64_t(hungry.size()));
      const std::size_t own = std::size_t(c_.first[i]);
      if (c_.excess[own] > c_.tolerance) gaps_[own].push_back(c_.gap[i]);
      const double least = c_.cost(std::int64_t(i), std::int64_t(own)) + c_.price[own];
      const auto offer = [&](std::size_t j) {
        const double loss = c_.cost(std::int64_t(i), std::int64_t(j)) + c_.price[j] - least;
        if (j != own && (gaps_[j].size() <= wanted_[j] || loss < gaps_[j].front())) keep(gaps_[j], wanted_[j], loss);
      };
      if (c_.is_listed())
        c_.for_each_near(std::int64_t(i), [&](std::int64_t j) {
          if (is_hungry[std::size_t(j)]) offer(std::size_t(j));
        });
      else
        for (const std::size_t j : hungry) offer(j);
    }
  }

  static void keep(std::vector<double> &heap, std::size_t wanted, double loss) {
    if (heap.size() > wanted) {
      std::pop_heap(heap.begin(), heap.end());
      heap.pop_back();
    }
    heap.push_back(loss);
    std::push_heap(heap.begin(), heap.end());
  }

  Choices<T> &c_;
  const std::size_t k_;
  std::vector<std::vector<double>> gaps_;  // (k,) of points that might leave or come
  std::vector<std::size_t> wanted_;        // (k,) points too many or too few
};

}  // namespace

template <class T>
void improve_prices(Choices<T> &choices, bool alone) {
  Improvement<T>(choices).run(alone);
}

template void improve_prices(Choices<float> &, bool);
template void improve_prices(Choices<double> &, bool);

}  // namespace eulermeans
