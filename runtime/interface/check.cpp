#include "runtime/interface/check.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

#include "base/error.hpp"
#include "runtime/interface/team.hpp"
#include "schedule/names.hpp"

namespace isthmus::runtime {
namespace {

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}

std::string name_of(std::uint32_t kind) { return schedule::name_of(static_cast<schedule::CollectiveKind>(kind)); }

/// Whether ranks must agree on the type and the operator, not on bytes alone.
bool combines(std::uint32_t kind) { return reduces(static_cast<isthmus_kind>(kind)); }

bool has_root(std::uint32_t kind) {
  return kind == ISTHMUS_BCAST || kind == ISTHMUS_REDUCE || kind == ISTHMUS_GATHER || kind == ISTHMUS_SCATTER;
}

bool agree(const Signature& a, const Signature& b) {
  if (a.kind != b.kind || a.algorithm != b.algorithm || a.differ != b.differ || a.block != b.block) return false;
  if (a.enter != b.enter || a.leave != b.leave) return false;
  if (has_root(a.kind) && a.root != b.root) return false;
  return !combines(a.kind) || (a.element == b.element && a.element_bytes == b.element_bytes && a.by_user == b.by_user &&
                               (a.by_user != 0 || a.operation == b.operation));
}

Signature signature_of(const isthmus_operation& operation, const std::string& place) {
  const isthmus_call& call = operation.call;
  Signature out;
  out.kind = call.kind;
  out.element = call.element;
  out.element_bytes = static_cast<std::uint32_t>(operation.plan.element_bytes);
  out.operation = call.operation;
  out.root = call.root;
  out.by_user = call.combine == nullptr ? 0 : 1 + (call.commutes != 0);
  out.differ = call.kind == ISTHMUS_NEIGHBOR_ALLTOALL || call.counts_length > 0;
  out.block = out.differ != 0 || call.kind == ISTHMUS_BARRIER ? 0 : call.count * out.element_bytes;
  out.enter = call.enter;
  out.leave = call.leave;
  out.algorithm = operation.plan.algorithm.empty() ? 0 : hash_of(operation.plan.algorithm);
  place.copy(out.place.data(), out.place.size() - 1);
  return out;
}

constexpr const char* elements[] = {"i8",  "i16", "i32", "i64", "u8",  "u16",  "u32",
                                    "u64", "f32", "f64", "c32", "c64", "bytes"};
constexpr const char* operators[] = {"sum", "product", "min", "max", "land", "lor", "lxor", "band", "bor", "bxor"};

}  // namespace

Checked::Checked(isthmus_operation& operation, const void* input, void* output, std::uint64_t number,
                 const std::string& place)
    : operation_(operation),
      input_(input),
      output_(output),
      number_(number),
      mine_(signature_of(operation, place)),
      all_(operation.team.ranks) {
  // Taken now, as calls begin in the same order on all ranks, and do not end so.
  for (std::uint32_t& context : contexts_) context = operation.team.next_context();
  operation.looked_at = true;
  begin(Stage::signatures, ISTHMUS_ALLGATHER, sizeof(Signature), &mine_, all_.data());
}

void Checked::begin(Stage stage, isthmus_kind kind, std::size_t bytes, const void* input, void* output) {
  isthmus_call call{};
  call.size = sizeof call;
  call.kind = kind;
  call.element = ISTHMUS_BYTES;
  call.element_bytes = static_cast<std::uint32_t>(bytes);
  call.count = 1;
  stage_ = stage;
  own_ = &operation_.team.take(call);
  operation_.team.start_in(*own_, contexts_[static_cast<std::size_t>(stage)], input, output);
}

bool Checked::go_on() {
  while (!ended_) {
    const Status now = own_->execution.status();
    if (now == Status::in_progress) return false;
    operation_.team.give_back(*own_);
    if (now == Status::failed) begin_call();  // which fails in the same words
    else if (stage_ == Stage::signatures) compare_signatures();
    else if (stage_ == Stage::amounts) find_difference();
    else look_at_verdicts();
  }
  return true;
}

/// The contexts of what does not begin, up to before `end`.
void Checked::leave_out(std::size_t end) {
  for (std::size_t i = static_cast<std::size_t>(stage_) + 1; i < end; ++i) operation_.team.leave_out(contexts_[i]);
}

void Checked::begin_call() {
  ended_ = true;
  leave_out(3);
  operation_.looked_at = false;
  operation_.team.start_in(operation_, contexts_[3], input_, output_);
}

void Checked::refuse(const std::string& words) {
  ended_ = true;
  leave_out(contexts_.size());
  operation_.looked_at = false;
  operation_.refused = message("call ", number_, " of this team: ", words);
}

std::string Checked::place_of(std::size_t rank) const {
  return message(" (", std::string(all_[rank].place.data()), ")");
}

std::string Checked::words_of(const Signature& s) const {
  std::string out = name_of(s.kind);
  if (s.differ != 0) out += " with blocks that differ";
  else if (combines(s.kind)) out += message(" of ", s.block / s.element_bytes, " elements of ", elements[s.element]);
  else if (s.kind != ISTHMUS_BARRIER) out += message(" of ", s.block, " bytes");
  if (combines(s.kind)) {
    if (s.element == ISTHMUS_BYTES) out += message(" (", s.element_bytes, " each)");
    out += s.by_user == 0   ? message(" with ", operators[s.operation])
           : s.by_user == 1 ? " with an operator of its own that does not commute"
                            : " with an operator of its own that commutes";
  }
  if (has_root(s.kind)) out += message(" with root ", s.root);
  if (s.enter == ISTHMUS_SYNC_ALL) out += ", entered by all";
  if (s.leave == ISTHMUS_SYNC_ALL) out += ", left by all";
  if (s.algorithm != 0) out += ", algorithm given";
  return out;
}

void Checked::compare_signatures() {
  for (std::size_t r = 1; r < all_.size(); ++r)
    if (!agree(all_[0], all_[r]))
      return refuse(message("rank 0 calls ", words_of(all_[0]), place_of(0), ", rank ", r, " calls ", words_of(all_[r]),
                            place_of(r)));
  if (mine_.differ != 0) begin_amounts();
  else begin_call();
}

void Checked::begin_amounts() {
  const std::size_t ranks = all_.size();
  const std::vector<std::int64_t>& counts = operation_.plan.counts;
  sent_.assign(ranks, 0);
  expected_.assign(ranks, 0);
  told_.assign(ranks, 0);
  if (mine_.kind == ISTHMUS_NEIGHBOR_ALLTOALL) {
    for (std::size_t i = 0; i + 3 <= counts.size(); i += 3) {
      if (counts[i] == ISTHMUS_GAP) continue;
      sent_[static_cast<std::size_t>(counts[i])] += static_cast<std::uint64_t>(counts[i + 1]);
      expected_[static_cast<std::size_t>(counts[i])] += static_cast<std::uint64_t>(counts[i + 2]);
    }
  } else if (mine_.kind == ISTHMUS_ALLTOALL) {
    std::copy_n(counts.begin(), ranks, sent_.begin());
    std::copy_n(counts.begin() + static_cast<std::ptrdiff_t>(ranks), ranks, expected_.begin());
  } else {
    std::copy_n(counts.begin(), ranks, sent_.begin());
    std::fill(expected_.begin(), expected_.end(), sent_[operation_.team.rank]);
  }
  for (std::vector<std::uint64_t>* amounts : {&sent_, &expected_})
    for (std::uint64_t& amount : *amounts) amount *= mine_.element_bytes;
  begin(Stage::amounts, ISTHMUS_ALLTOALL, sizeof(std::uint64_t), sent_.data(), told_.data());
}

void Checked::find_difference() {
  const auto found = std::mismatch(told_.begin(), told_.end(), expected_.begin());
  if (found.first != told_.end())
    found_ = {static_cast<std::uint64_t>(found.first - told_.begin()), operation_.team.rank, *found.first,
              *found.second};
  verdicts_.resize(all_.size());
  begin(Stage::verdicts, ISTHMUS_ALLGATHER, sizeof(Difference), &found_, verdicts_.data());
}

void Checked::look_at_verdicts() {
  const auto wrong = std::find_if(verdicts_.begin(), verdicts_.end(),
                                  [](const Difference& d) { return d.sender != Difference::none; });
  if (wrong == verdicts_.end()) return begin_call();
  const bool sends = mine_.kind == ISTHMUS_NEIGHBOR_ALLTOALL || mine_.kind == ISTHMUS_ALLTOALL;
  refuse(message(name_of(mine_.kind), ": rank ", wrong->sender, sends ? " sends " : " counts ", wrong->sent, " bytes ",
                 sends ? "to" : "for", " rank ", wrong->receiver, place_of(wrong->sender), ", which ",
                 sends ? "expects " : "counts ", wrong->expected, place_of(wrong->receiver)));
}

void Checks::begin(isthmus_operation& operation, const void* input, void* output, std::uint64_t number,
                   const std::string& place) {
  operation.refused.clear();
  under_way_.push_back(std::make_unique<Checked>(operation, input, output, number, place));
}

void Checks::go_on() {
  std::erase_if(under_way_, [](const auto& checked) { return checked->go_on(); });
}

std::string place_of(const void* address) {
  Dl_info info;
  if (address == nullptr || ::dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "place unknown";
  const std::string_view file(info.dli_fname);
  char digits[20];
  // The call is before the place to which it returns.
  const auto at = static_cast<const char*>(address) - 1 - static_cast<const char*>(info.dli_fbase);
  const auto end = std::to_chars(digits, digits + sizeof digits, at, 16).ptr;
  std::string out(file.substr(file.rfind('/') + 1));
  out.append("+0x").append(digits, end);
  if (info.dli_sname != nullptr) out.append(" in ").append(info.dli_sname);
  return out;
}

}  // namespace isthmus::runtime
