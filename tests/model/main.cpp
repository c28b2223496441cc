// Checks the parts of the runtime that use no locks, in all orders that C++ allows: model [PART...]. Says what it
// found, a line each; the last one of a part begins with its name. `larger`: with the larger programs of the parts that
// follow. `switches=N`: of threads that could go on at most so many.
#include <charconv>
#include <cstdio>
#include <fstream>
#include <string_view>

#include "parts.hpp"
#include "tests.hpp"

namespace isthmus::model {

void say(const std::string& words) {
  std::puts(words.c_str());
  std::fflush(stdout);
}

namespace {

const char* words_of(Weakening part) {
  return part == Weakening::acquire ? "acquire" : part == Weakening::release ? "release" : "consistent";
}

/// The line of a place, without what stands before it.
std::string source_of(const std::string& place) {
  const std::size_t colon = place.rfind(':');
  std::ifstream file(place.substr(0, colon));
  std::string line;
  for (int number = std::stoi(place.substr(colon + 1)); number > 0; --number) std::getline(file, line);
  return line.substr(std::min(line.find_first_not_of(' '), line.size()));
}

bool is_of(const Part& part, const Site& site) {
  for (const char* file : part.files)
    if (site.place.find(file) != std::string::npos) return true;
  return false;
}

/// Programs with an error, and orders that could be weakened without one though nobody says why.
int wrong_in(const Part& part, const Limits& limits, bool larger) {
  std::set<Site> sites;
  std::uint64_t states = 0, runs = 0;
  int wrong = 0, found = 0, needless = 0;
  bool whole = true;
  std::vector<Program> programs = part.programs;
  if (larger) programs.insert(programs.end(), part.larger.begin(), part.larger.end());
  for (const Program& program : programs) {
    const Found one = explore(program, limits);
    states += one.states;
    runs += one.runs;
    whole = whole && one.whole;
    if (!one.error.empty()) {
      ++wrong;
      say(std::string(part.name) + ": " + one.error);
    }
    for (const Site& site : one.sites)
      if (is_of(part, site)) sites.insert(site);
  }
  std::set<const Needless*> used;
  for (const Site& site : sites) {
    bool caught = false;
    for (const Program& program : part.programs) caught = caught || !explore(program, limits, site).error.empty();
    const std::string source = source_of(site.place);
    const Needless* reason = nullptr;
    for (const Needless& one : part.needless)
      if (one.part == site.part && source.find(one.source) != std::string::npos) reason = &one;
    if (reason != nullptr) used.insert(reason);
    const std::string words = std::string(words_of(site.part)) + " in: " + source;
    if (caught && reason == nullptr) ++found;
    else if (!caught && reason != nullptr) ++needless;
    else ++wrong, say(std::string(caught ? "needed after all: " : "not found without ") + words + " " + site.place);
  }
  for (const Needless& one : part.needless)
    if (!used.contains(&one)) ++wrong, say(std::string("not there any more: ") + one.source);
  say(std::string(part.name) + ": " + std::to_string(programs.size()) + " programs, " + std::to_string(states) +
      (whole ? " states, all, " : " states, not all, ") + std::to_string(runs) + " runs; " + std::to_string(found) +
      " weakened orders found, " + std::to_string(needless) + " not needed, " + std::to_string(wrong) + " wrong");
  return wrong;
}

}  // namespace
}  // namespace isthmus::model

int main(int argc, char** argv) {
  using namespace isthmus::model;
  Limits limits;
  bool larger = false;
  int wrong = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "larger") larger = true;
    else if (word == "classics") wrong += classics_wrong();
    else if (word.starts_with("switches="))
      std::from_chars(word.data() + 9, word.data() + word.size(), limits.switches);
    else
      for (const Part& part : {rings(), inboxes(), barriers(), meetings(), boards(), locks(), worlds(), accesses()})
        if (word == part.name) wrong += wrong_in(part, limits, larger);
  }
  return wrong == 0 ? 0 : 1;
}
