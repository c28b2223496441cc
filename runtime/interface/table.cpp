#include "runtime/interface/table.hpp"

#include <unistd.h>

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

/// What all ranks know of the file of rank 0.
struct Shared {
  Head::What what = Head::standard;
  std::string name, text;
};

int share(isthmus_team& team, const char* path, bool may_be_absent, Shared& shared) {
  Head head;
  std::string content;  // the name, then the text or what is wrong
  if (team.rank == 0 && path != nullptr && *path != '\0') {
    head.what = Head::table;
    std::string text;
    try {
      if (!may_be_absent || ::access(path, F_OK) == 0) text = DecisionTable::text_of(path);
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
  shared = {static_cast<Head::What>(head.what), content.substr(0, head.name), content.substr(head.name)};
  if (shared.what == Head::error) throw TableError(shared.text);
  return ISTHMUS_DONE;
}

}  // namespace

int use_table(isthmus_team& team, const char* path) {
  Shared found;
  if (const int status = share(team, path, false, found); status < 0) return status;
  const Hold hold(team.progress);
  if (found.what == Head::standard) {
    team.use(nullptr, "");
  } else {
    const DecisionTable table = DecisionTable::parse(found.text, found.name);
    team.use(&table, found.name);
  }
  return ISTHMUS_DONE;
}

int use_online(isthmus_team& team, const char* path) {
  Shared found;
  if (const int status = share(team, path, true, found); status < 0) return status;
  if (found.what == Head::standard) return ISTHMUS_DONE;
  Online decisions;
  if (!found.text.empty()) {
    const DecisionTable table = DecisionTable::parse(found.text, found.name);
    if (table.is_of_another_library())
      throw TableError(found.name + " holds decisions of an MPI library: give another file for those of runs");
    decisions = Online(table);
  }
  team.start_online(decisions, found.name);
  return ISTHMUS_DONE;
}

}  // namespace isthmus::runtime
