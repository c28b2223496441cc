#include "runtime/choice/chooser.hpp"

#include <utility>

#include "base/error.hpp"
#include "schedule/names.hpp"

namespace isthmus::runtime {

using schedule::CollectiveKind;
using schedule::name_of;

void Chooser::use(DecisionTable table, std::string name) {
  name_ = std::move(name);
  if (table.is_of_another_library()) {
    say(message(name_, " holds decisions of ", table.about["library"], ": the default algorithms are taken"));
    table_.reset();
  } else {
    table_ = std::make_shared<const DecisionTable>(std::move(table));
  }
}

bool Chooser::is_by_mode(const Question& question) const {
  return table_ && question.mode && !table_->rows(question.kind, question.mode).empty();
}

const std::vector<DecisionRow>& Chooser::rows(const Question& question) const {
  return table_->rows(question.kind, is_by_mode(question) ? question.mode : std::nullopt);
}

/// The user's decision, whether or not it can be followed.
const Decision* Chooser::decided(const Question& question) const {
  if (!table_) return nullptr;
  const DecisionRow* const row =
      table_->row(question.kind, ranks_, is_by_mode(question) ? question.mode : std::nullopt);
  if (row == nullptr || ranks_ < row->ranks) return nullptr;
  // Tuned numbers of ranks say nothing of what lies beyond the largest of them.
  if (row->tuned && row == &rows(question).back() && ranks_ > row->ranks) return nullptr;
  return &DecisionTable::lookup(*row, question.bytes);
}

bool Chooser::is_left_open(const Question& question) const {
  if (const DecisionPoint* const learned = online_.find(question.kind, ranks_, question.bytes);
      learned != nullptr && !is_by_mode(question))
    return learned->algorithm == left_open;
  const Decision* const found = decided(question);
  return found != nullptr && found->algorithm == left_open;
}

std::string Chooser::of_mode(const Question& question) const {
  return is_by_mode(question) ? " with sync=" + words_of(*question.mode) : "";
}

std::vector<Candidate> Chooser::candidates(const Question& question) {
  std::vector<Candidate> out;
  const auto fits = [&](const std::string& text) {
    return !question.in_order || keeps_order(question.kind, read_choice(text));
  };
  const DecisionPoint* const learned = online_.find(question.kind, ranks_, question.bytes);
  if (learned != nullptr && !is_by_mode(question)) {
    // Where the other library is faster, ours is what came next.
    const std::string& text = learned->algorithm == left_open ? learned->runner_up : learned->algorithm;
    if (!text.empty() && fits(text)) out.push_back({text, false});
  }
  const Decision* const found = decided(question);
  if (found != nullptr && found->algorithm != left_open) {
    if (fits(found->algorithm)) out.push_back({found->algorithm, true});
    else
      say(message(name_, ": ", name_of(question.kind), " by ", found->algorithm, " changes the order of operands, ",
                  "which an operator that does not commute forbids: the default is taken"));
  } else if (found == nullptr && ranks_ > 1 && table_ && !rows(question).empty()) {
    const auto& known = rows(question);
    say(message(name_, ": ", name_of(question.kind), of_mode(question), " was tuned for ", known.front().ranks,
                known.size() > 1 ? message(" to ", known.back().ranks) : "", " ranks, not for ", ranks_,
                ": the default is taken"));
  }
  // Between two nodes one exchange of all takes the link as long as two of halves do, and then nobody has to go on
  // between them. The table is of ranks that share memory, where the sums take longer than the messages.
  const bool exchange = question.apart && ranks_ == 2 && question.kind == CollectiveKind::allreduce;
  if (exchange && fits("recursive_doubling")) out.push_back({"recursive_doubling", false});
  const DecisionRow* const row = standard_table().row(question.kind, ranks_);
  if (row != nullptr) {
    const std::string& text = DecisionTable::lookup(*row, question.bytes).algorithm;
    if (fits(text)) out.push_back({text, false});
  }
  for (const std::string& name : collectives::algorithms(question.kind)) {
    if (!fits(name)) continue;
    out.push_back({name, false});
    return out;
  }
  throw Unsupported(message(name_of(question.kind), " has no algorithm for operators that do not commute"));
}

std::string usual_choice(CollectiveKind kind, std::uint64_t ranks, std::uint64_t bytes) {
  const DecisionRow* const row = standard_table().row(kind, ranks);
  return row != nullptr ? DecisionTable::lookup(*row, bytes).algorithm : collectives::algorithms(kind).front();
}

void Chooser::refused(const Question& question, const Candidate& candidate, const std::string& why) {
  say(message(name_, ": ", name_of(question.kind), of_mode(question), " by ", candidate.text,
              " cannot be carried out on ", ranks_, " ranks (", why, "): the default is taken"));
}

void Chooser::say(const std::string& sentence) {
  if (said_->insert(sentence).second && say_) say_(sentence);
}

}  // namespace isthmus::runtime
