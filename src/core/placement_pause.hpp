// When a placement asks whether it should end: by Ctrl-C or a time limit.
#pragma once

#include <cstdint>
#include <exception>

#include "scheduler.hpp"

namespace eulermeans {

class Pause {
 public:
  // After so many operations, which take about a nanosecond each. Throws the reason to end, if there is one.
  void after(std::int64_t operations) {
    left_ -= operations;
    if (left_ > 0) return;
    left_ = between;
    if (const std::exception_ptr reason = reason_to_end(CallLimits::Clock::now())) std::rethrow_exception(reason);
  }

 private:
  static constexpr std::int64_t between = 1 << 20;

  std::int64_t left_ = 0;
};

}  // namespace eulermeans
