/// How a kernel cuts the tokens of one head into chunks, and the rows of one chunk.
#pragma once

#include <allscan/core/error.hpp>
#include <allscan/kernel/tokens.hpp>

#include <algorithm>
#include <cstddef>

namespace allscan::cpu {

/// Chunk `index` holds tokens [begin(index), begin(index) + size(index)); the last one may be shorter.
class chunk_list {
 public:
  /// @throws invalid_argument if chunk is 0.
  chunk_list(std::size_t tokens, std::size_t chunk) : tokens_{tokens}, chunk_{std::min(chunk, tokens)} {
    if (chunk == 0)
      throw invalid_argument("a chunk of 0 tokens: pass the number of tokens a kernel processes together, such as 64");
  }

  [[nodiscard]] std::size_t count() const { return tokens_ == 0 ? 0 : (tokens_ - 1) / chunk_ + 1; }
  [[nodiscard]] std::size_t largest() const { return chunk_; }
  [[nodiscard]] std::size_t begin(std::size_t index) const { return index * chunk_; }
  [[nodiscard]] std::size_t size(std::size_t index) const { return std::min(chunk_, tokens_ - index * chunk_); }

 private:
  std::size_t tokens_;
  std::size_t chunk_;
};

template <class T>
struct chunk_inputs {
  kernel::rows<const T> q;
  kernel::rows<const T> k;
  kernel::rows<const T> v;
  kernel::rows<const T> d_o;
};

template <class T>
struct chunk_outputs {
  kernel::rows<T> dq;
  kernel::rows<T> dk;
  kernel::rows<T> dv;
  kernel::rows<T> dlog_decay;
};

}  // namespace allscan::cpu
