/// The name of a type as the compiler writes it: to compare the types of two ranks of one program.
#pragma once

#include <string_view>

namespace allscan {

template <class T>
[[nodiscard]] constexpr std::string_view type_name() {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("T = ") + 4);
  return text.substr(0, text.find(';') != text.npos ? text.find(';') : text.size() - 1);
}

}  // namespace allscan
