#include <allscan/core/environment.hpp>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace {

namespace environment = allscan::environment;

/// Sets one variable for the length of a scope.
class scoped_variable {
 public:
  scoped_variable(const environment::variable& variable, const char* value) : name_{variable.name} {
    EXPECT_EQ(setenv(name_.c_str(), value, 1), 0);
  }
  scoped_variable(const scoped_variable&) = delete;
  scoped_variable& operator=(const scoped_variable&) = delete;
  ~scoped_variable() { unsetenv(name_.c_str()); }

 private:
  std::string name_;
};

TEST(environment, falls_back_where_unset_or_empty) {
  unsetenv("ALLSCAN_TIMEOUT");
  EXPECT_EQ(environment::get(environment::timeout), "120");
  EXPECT_EQ(environment::get_seconds(environment::timeout), 120);
  const scoped_variable empty{environment::timeout, ""};
  EXPECT_EQ(environment::get_seconds(environment::timeout), 120);
}

TEST(environment, reads_seconds) {
  const struct {
    const char* text;
    double value;
  } cases[] = {{"0", 0}, {"30", 30}, {"0.25", 0.25}, {"1e3", 1000}};
  for (const auto& each : cases) {
    const scoped_variable set{environment::timeout, each.text};
    EXPECT_EQ(environment::get_seconds(environment::timeout), each.value) << each.text;
  }
}

TEST(environment, refuses_what_is_no_number_of_seconds) {
  for (const char* text : {"soon", "10s", "-1", "nan", "inf", "1e999", " ", "1 2"}) {
    const scoped_variable set{environment::timeout, text};
    try {
      (void)environment::get_seconds(environment::timeout);
      FAIL() << '"' << text << "\" was accepted";
    } catch (const allscan::invalid_argument& e) {
      const std::string message = e.what();
      EXPECT_NE(message.find("ALLSCAN_TIMEOUT"), std::string::npos) << message;
      EXPECT_NE(message.find(text), std::string::npos) << message;
    }
  }
}

TEST(environment, table_names_each_variable_once) {
  std::set<std::string> names;
  for (const environment::variable& each : environment::table) {
    EXPECT_TRUE(each.name.starts_with("ALLSCAN_")) << each.name;
    EXPECT_FALSE(each.fallback.empty()) << each.name;
    EXPECT_FALSE(each.meaning.empty()) << each.name;
    EXPECT_TRUE(names.insert(std::string{each.name}).second) << each.name << " is there twice";
  }
}

TEST(environment, documentation_names_each_variable_and_its_default) {
  std::ifstream file{ALLSCAN_SOURCE_DIR "/docs/conventions.md"};
  ASSERT_TRUE(file) << "docs/conventions.md cannot be read";
  std::string line;
  std::ostringstream text;
  text << file.rdbuf();
  for (const environment::variable& each : environment::table) {
    std::istringstream lines{text.str()};
    bool documented = false;
    while (std::getline(lines, line)) {
      documented |= line.find(each.name) != std::string::npos && line.find(each.fallback) != std::string::npos;
    }
    EXPECT_TRUE(documented) << "docs/conventions.md has no line with " << each.name << " and its default " << each.fallback;
  }
}

}  // namespace
