#include <allscan/core/endpoint.hpp>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace {

using allscan::endpoint;

/// Notes each advance under its name, then does what it was given to do.
class noted : public allscan::live_operation {
 public:
  noted(std::vector<char>& log, char name, std::function<void()> then = nullptr)
      : log_{log}, name_{name}, then_{std::move(then)} {}
  void advance() noexcept override {
    log_.push_back(name_);
    if (then_) then_();
  }

 private:
  std::vector<char>& log_;
  char name_;
  std::function<void()> then_;
};

using names = std::vector<char>;

TEST(endpoint, advances_live_operations_in_the_order_they_were_started) {
  endpoint end;
  names log;
  noted a{log, 'a'}, b{log, 'b'}, c{log, 'c'};
  end.progress();
  EXPECT_EQ(log, names{});
  for (noted* each : {&b, &a, &c}) end.add(*each);
  end.progress();
  end.progress();
  EXPECT_EQ(log, (names{'b', 'a', 'c', 'b', 'a', 'c'}));
}

TEST(endpoint, forgets_operations_wherever_they_stand) {
  endpoint end;
  names log;
  noted a{log, 'a'}, b{log, 'b'}, c{log, 'c'};
  for (noted* each : {&a, &b, &c}) end.add(*each);

  end.remove(b);
  end.progress();
  EXPECT_EQ(std::exchange(log, {}), (names{'a', 'c'}));
  end.remove(a);
  end.progress();
  EXPECT_EQ(std::exchange(log, {}), (names{'c'}));
  end.add(b);
  end.remove(c);
  end.progress();
  EXPECT_EQ(std::exchange(log, {}), (names{'b'}));
  end.remove(b);
  end.progress();
  EXPECT_EQ(log, names{});
  end.add(a);
  end.progress();
  EXPECT_EQ(log, (names{'a'}));
}

TEST(endpoint, lets_an_operation_remove_itself_while_all_are_driven) {
  endpoint end;
  names log;
  noted* self = nullptr;
  noted a{log, 'a'}, b{log, 'b', [&] { end.remove(*self); }}, c{log, 'c'};
  self = &b;
  for (noted* each : {&a, &b, &c}) end.add(*each);
  end.progress();
  EXPECT_EQ(std::exchange(log, {}), (names{'a', 'b', 'c'}));
  end.progress();
  EXPECT_EQ(log, (names{'a', 'c'}));
}

TEST(endpoint, lets_an_operation_remove_an_earlier_one) {
  endpoint end;
  names log;
  noted a{log, 'a'}, b{log, 'b', [&] { end.remove(a); }};
  end.add(a);
  end.add(b);
  end.progress();
  EXPECT_EQ(std::exchange(log, {}), (names{'a', 'b'}));
  end.remove(b);
  end.progress();
  EXPECT_EQ(log, names{});
}

TEST(endpoint, numbers_channels_from_the_control_channel_up) {
  endpoint first, second;
  for (const std::uint32_t expected : {1U, 2U, 3U}) EXPECT_EQ(first.open_channel(), endpoint::control_channel + expected);
  EXPECT_EQ(second.open_channel(), endpoint::control_channel + 1) << "every rank counts for itself";
}

TEST(endpoint, stays_poisoned) {
  endpoint end;
  EXPECT_FALSE(end.poisoned());
  end.poison();
  EXPECT_TRUE(end.poisoned());
}

TEST(keep_until_exit, keeps_the_memory) {
  const std::weak_ptr<int> watch = [] {
    auto memory = std::make_shared<int>(1);
    allscan::keep_until_exit(memory);
    return std::weak_ptr<int>{memory};
  }();
  EXPECT_FALSE(watch.expired());
}

}  // namespace
