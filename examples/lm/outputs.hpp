/// Where results go.
#pragma once

#include "options.hpp"
#include "report.hpp"

#include <fstream>
#include <iostream>
#include <ostream>
#include <stdexcept>
#include <string>

namespace lm {

/// Files are opened before training, so that a bad path costs no time.
class outputs {
 public:
  /// @throws std::runtime_error that names the file.
  explicit outputs(const options& o) {
    open(o.csv, csv_);
    open(o.json, json_);
  }

  void write(const options& o, const results& r) {
    write_csv(o.csv.empty() ? std::cout : csv_, r);
    if (o.csv.empty()) std::cout << '\n';
    write_table(std::cout, o, r);
    if (!o.json.empty()) write_json(json_, o, r);
    if (!std::cout.flush() || !csv_.flush() || !json_.flush()) {
      throw std::runtime_error("the results could not be written: is the disk full?");
    }
  }

 private:
  static void open(const std::string& path, std::ofstream& file) {
    if (path.empty()) return;
    file.open(path);
    if (!file) throw std::runtime_error("cannot write " + path + ": pass another path");
  }

  std::ofstream csv_;
  std::ofstream json_;
};

}  // namespace lm
