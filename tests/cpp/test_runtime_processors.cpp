// Whether ranks have to take turns: by what each of them may use.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <vector>

#include "runtime/transport/processors.hpp"

using isthmus::runtime::Processors;
using isthmus::runtime::quota_of;
using isthmus::runtime::take_turns;

namespace {

Processors on(std::initializer_list<int> numbers, std::uint32_t quota = 0) {
  Processors made{};
  CPU_ZERO(&made.set);
  for (const int number : numbers) CPU_SET(number, &made.set);
  made.quota = quota;
  return made;
}

void write(const std::filesystem::path& file, const char* words) { std::ofstream(file) << words << '\n'; }

}  // namespace

TEST_CASE("ranks take turns where some may only use processors that are fewer than they are") {
  CHECK_FALSE(take_turns({on({0})}));
  CHECK_FALSE(take_turns({on({0, 1}), on({0, 1})}));
  CHECK(take_turns({on({0, 1}), on({0, 1}), on({0, 1})}));
  CHECK_FALSE(take_turns({on({0}), on({1})}));
  CHECK(take_turns({on({3}), on({3})}));
  // Two are bound to one processor, although there are others.
  CHECK(take_turns({on({0}), on({0}), on({1}), on({2, 3})}));
  // Those of sets within another set fill that one.
  CHECK(take_turns({on({0}), on({1}), on({0, 1}), on({2, 3})}));
  CHECK_FALSE(take_turns({on({0}), on({1}), on({0, 1, 2}), on({2, 3})}));
  // The system did not say.
  CHECK_FALSE(take_turns({on({}), on({}), on({})}));
}

TEST_CASE("ranks take turns where control groups give time for fewer processors") {
  CHECK_FALSE(take_turns({on({0, 1}, 2), on({0, 1}, 2)}));
  CHECK(take_turns({on({0, 1, 2, 3}, 1), on({0, 1, 2, 3}, 1)}));
}

TEST_CASE("the quota is the least of a control group and those above it") {
  std::string name = (std::filesystem::temp_directory_path() / "isthmus-quota-XXXXXX").string();
  REQUIRE(::mkdtemp(name.data()) != nullptr);
  const std::filesystem::path root = name;
  std::filesystem::create_directories(root / "job" / "step");
  CHECK(quota_of(name, "/job/step") == 0);
  write(root / "job" / "step" / "cpu.max", "max 100000");
  CHECK(quota_of(name, "/job/step") == 0);
  write(root / "job" / "cpu.max", "350000 100000");
  CHECK(quota_of(name, "/job/step") == 3);
  write(root / "job" / "step" / "cpu.max", "20000 100000");
  CHECK(quota_of(name, "/job/step") == 1);
  CHECK(quota_of(name, "/job") == 3);
  CHECK(quota_of(name, "") == 0);
  // Files of the first version; what cannot be read sets no limit.
  std::filesystem::remove(root / "job" / "step" / "cpu.max");
  std::filesystem::remove(root / "job" / "cpu.max");
  write(root / "job" / "cpu.cfs_quota_us", "-1");
  write(root / "job" / "cpu.cfs_period_us", "100000");
  CHECK(quota_of(name, "/job/step") == 0);
  write(root / "job" / "cpu.cfs_quota_us", "250000");
  CHECK(quota_of(name, "/job/step") == 2);
  write(root / "job" / "cpu.cfs_period_us", "nonsense");
  CHECK(quota_of(name, "/job/step") == 0);
  std::filesystem::remove_all(root);
}
