// A number for each pair of clusters that has one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace eulermeans {

class PairTable {
 public:
  explicit PairTable(std::int64_t n) : n_(n), table_(n <= most_tabulated ? std::size_t(n * n) : 0, -1) {}

  // -1 if the pair has no number yet. INOUT.
  std::int32_t &operator()(std::int64_t from, std::int64_t to) {
    const std::int64_t pair = from * n_ + to;
    return table_.empty() ? hashed_.try_emplace(pair, -1).first->second : table_[std::size_t(pair)];
  }
  void clear() {
    std::fill(table_.begin(), table_.end(), -1);
    hashed_.clear();
  }

 private:
  static constexpr std::int64_t most_tabulated = 2048;  // with more clusters, pairs are hashed

  const std::int64_t n_;
  std::vector<std::int32_t> table_;
  std::unordered_map<std::int64_t, std::int32_t> hashed_;
};

}  // namespace eulermeans
