/// Reads .npy files of little-endian float64 in C order.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace allscan::test {

struct npy_array {
  std::vector<std::size_t> shape;
  std::vector<double> values;
};

/// @throws std::runtime_error if the file is missing, of another type or order, or shorter or longer than its shape says.
inline npy_array read_npy(const std::string& path) {
  static_assert(std::endian::native == std::endian::little);
  const auto fail = [&path](const std::string& what) { throw std::runtime_error(path + ": " + what); };
  std::ifstream file{path, std::ios::binary};
  if (!file) fail("cannot be opened");

  std::string start(10, '\0');  // magic, version, length of the header
  file.read(start.data(), 10);
  if (!file || start.compare(0, 8, std::string{"\x93NUMPY\x01\x00", 8}) != 0) fail("is no .npy file of version 1.0");
  std::string header(static_cast<unsigned char>(start[8]) + std::size_t{256} * static_cast<unsigned char>(start[9]), '\0');
  file.read(header.data(), static_cast<std::streamsize>(header.size()));
  if (!file || header.find("'descr': '<f8'") == std::string::npos ||
      header.find("'fortran_order': False") == std::string::npos) {
    fail("holds something else than float64 in C order");
  }

  npy_array array;
  std::size_t elements = 1;
  const std::size_t open = header.find("'shape': (");
  const std::size_t close = header.find(')', open);
  if (open == std::string::npos || close == std::string::npos) fail("has no shape");
  for (std::size_t at = header.find_first_of("0123456789", open); at < close;) {
    std::size_t digits = 0;
    array.shape.push_back(std::stoul(header.substr(at), &digits));
    elements *= array.shape.back();
    at = header.find_first_of("0123456789", at + digits);
  }
  array.values.resize(elements);
  const auto bytes = static_cast<std::streamsize>(elements * sizeof(double));
  file.read(reinterpret_cast<char*>(array.values.data()), bytes);
  if (file.gcount() != bytes || file.peek() != std::ifstream::traits_type::eof()) fail("does not hold what its shape says");
  return array;
}

}  // namespace allscan::test
