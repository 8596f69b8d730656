/// A non-owning tensor argument: a raw pointer (its length is taken on trust) or a contiguous range (its length is checked).
#pragma once

#include <allscan/core/error.hpp>

#include <concepts>
#include <cstddef>
#include <iterator>
#include <ranges>
#include <string>
#include <type_traits>

namespace allscan {

/// Keeps nothing alive: a temporary range is gone at the end of the full expression, too early for a started scan.
/// T is const for an operand that is read. A default-constructed view is "not given".
template <class T>
class tensor_view {
 public:
  static constexpr std::size_t unknown = static_cast<std::size_t>(-1);

  constexpr tensor_view() = default;
  constexpr tensor_view(std::nullptr_t) {}
  template <class U>
    requires std::convertible_to<U (*)[], T (*)[]>
  constexpr tensor_view(U* data) : data_{data} {}
  template <std::ranges::contiguous_range Range>
    requires std::ranges::sized_range<Range> && (!std::same_as<std::remove_cvref_t<Range>, tensor_view>) &&
                 std::convertible_to<std::remove_pointer_t<decltype(std::ranges::data(std::declval<Range&>()))> (*)[], T (*)[]>
  constexpr tensor_view(Range&& range) : data_{std::ranges::data(range)}, size_{std::ranges::size(range)}, given_{true} {}

  [[nodiscard]] constexpr T* data() const { return data_; }
  /// An empty range was given, even if its data() is null; a null pointer was not.
  [[nodiscard]] constexpr bool given() const { return given_ || data_ != nullptr; }

  /// The pointer, after checking that it was given and, where its length is known, that it has exactly `elements`.
  /// @throws invalid_argument that names the operand.
  [[nodiscard]] T* require(std::size_t elements, const char* name) const {
    if (elements != 0 && data_ == nullptr) {
      throw invalid_argument(std::string{name} + " is missing: " + std::to_string(elements) + " elements are needed");
    }
    return check(elements, name);
  }

  /// As require(), but null where the operand was not given.
  [[nodiscard]] T* optional(std::size_t elements, const char* name) const { return given() ? check(elements, name) : nullptr; }

 private:
  [[nodiscard]] T* check(std::size_t elements, const char* name) const {
    if (size_ != unknown && size_ != elements) {
      throw invalid_argument(std::string{name} + " has " + std::to_string(size_) + " elements where " +
                             std::to_string(elements) + " are needed");
    }
    return data_;
  }

  T* data_ = nullptr;
  std::size_t size_ = unknown;
  bool given_ = false;
};

}  // namespace allscan
