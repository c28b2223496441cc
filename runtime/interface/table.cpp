#include "runtime/interface/table.hpp"

#include <string>

#include "runtime/choice/decisions.hpp"
#include "runtime/interface/team.hpp"

namespace isthmus::runtime {
namespace {

/// What goes before the text.
struct Head {
  enum What : std::uint64_t { standard, table, error };

  std::uint64_t what = standard;
  std::uint64_t name = 0;  ///< letters
  std::uint64_t text = 0;  ///< bytes
};

int broadcast(isthmus_team& team, void* bytes, std::size_t count) {
  isthmus_call call{};
  call.size = sizeof call;
  call.kind = ISTHMUS_BCAST;
  call.element = ISTHMUS_BYTES;
  call.element_bytes = 1;
  call.count = count;
  call.algorithm = "binomial";
  return isthmus_run(&team, &call, nullptr, bytes);
}

}  // namespace

int use_table(isthmus_team& team, const char* path) {
  Head head;
  std::string content;  // the name, then the text or what is wrong
  if (team.rank == 0 && path != nullptr && *path != '\0') {
    head.what = Head::table;
    std::string text;
    try {
      text = DecisionTable::text_of(path);
    } catch (const TableError& error) {
      head.what = Head::error;
      text = error.what();
    }
    content = path + text;
    head.text = text.size();
    head.name = content.size() - text.size();
  }
  if (team.ranks > 1) {
    if (const int status = broadcast(team, &head, sizeof head); status < 0) return status;
    content.resize(head.name + head.text);
    if (const int status = content.empty() ? 0 : broadcast(team, content.data(), content.size()); status < 0)
      return status;
  }
  const std::string name = content.substr(0, head.name), text = content.substr(head.name);
  if (head.what == Head::error) throw TableError(text);
  if (head.what == Head::standard) {
    team.use(nullptr, "");
  } else {
    const DecisionTable table = DecisionTable::parse(text, name);
    team.use(&table, name);
  }
  return ISTHMUS_DONE;
}

}  // namespace isthmus::runtime
