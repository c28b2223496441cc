// Where calls stand in the source, by what the compiler wrote for debuggers.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "machine.hpp"

namespace isthmus::model {

std::map<std::uintptr_t, std::string> places_of(const std::map<std::uintptr_t, int>& calls) {
  static std::map<std::uintptr_t, std::string> known;
  std::string command = "addr2line -a -i -e /proc/" + std::to_string(::getpid()) + "/exe";
  bool any = false;
  for (const auto& [address, parts] : calls) {
    if (known.contains(address)) continue;
    char words[32];
    std::snprintf(words, sizeof words, " %#lx", static_cast<unsigned long>(address - 1));
    command += words;
    any = true;
  }
  if (!any) return known;
  FILE* const said = ::popen(command.c_str(), "r");
  if (said == nullptr) throw std::runtime_error("addr2line cannot be started");
  char line[4096];
  std::uintptr_t address = 0;
  while (std::fgets(line, sizeof line, said) != nullptr) {
    std::string text(line);
    text.erase(text.find_last_not_of('\n') + 1);
    if (text.starts_with("0x")) {
      address = std::stoull(text, nullptr, 16) + 1;
    } else if (!known.contains(address) && text.find("/include/c++/") == std::string::npos) {
      text.erase(std::min(text.find(" ("), text.size()));
      known[address] = text;
    }
  }
  ::pclose(said);
  return known;
}

}  // namespace isthmus::model
