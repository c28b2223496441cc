#include "recording/raw_trace.hpp"

#include <algorithm>

namespace isthmus::recording {
namespace {

using Words = std::span<const std::uint64_t>;

enum Kind : std::uint8_t { Call = 1, Polls = 2, Counted = 9 };
enum Form : std::uint8_t { Message = 1, Done = 2, Collective = 3, Rma = 4, Start = 5, Created = 6 };
constexpr std::uint16_t created_only = 8;
enum RmaKind : std::uint16_t { Post = 6, WinStart = 7, Complete = 8, WinWait = 9, WinTest = 19 };

constexpr std::size_t call_words = 6, message_words = 6, done_words = 3;

std::uint32_t low(std::uint64_t word) { return static_cast<std::uint32_t>(word); }
std::uint32_t high(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); }

/// Calls `opens(request)` and `closes(request)` for the requests of a call, and `epoch(+1 or -1)`.
template <class Opens, class Closes, class Epoch>
void look(Words record, const Opens& opens, const Closes& closes, const Epoch& epoch) {
  if (record.size() <= call_words) return;
  const auto form = static_cast<std::uint16_t>(record[1] >> 16);
  const std::size_t n = low(record[5]);
  const Words items = record.subspan(call_words);
  switch (form) {
    case Message:
    case Start:
      for (std::size_t i = 0; i < n && (i + 1) * message_words <= items.size(); ++i)
        opens(low(items[i * message_words]));
      break;
    case Done:
      for (std::size_t i = 0; i < n && (i + 1) * done_words <= items.size(); ++i) closes(low(items[i * done_words]));
      break;
    case Collective:
      if (!(static_cast<std::uint16_t>(items[0] >> 48) & created_only)) opens(low(items[0]));
      break;
    case Rma: {
      opens(low(items[0]));
      const auto kind = static_cast<std::uint16_t>(items[0] >> 32);
      if (kind == Post || kind == WinStart) epoch(1);
      if (kind == Complete || kind == WinWait || kind == WinTest) epoch(-1);
      break;
    }
    case Created:
      if (items.size() > 3) opens(low(items[3]));
      break;
    default: break;
  }
}

template <class Visit>
void each_record(Words words, const Visit& visit) {
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t length = high(words[at]);
    if (length == 0 || length > words.size() - at) return;
    visit(at, words.subspan(at, length));
    at += length;
  }
}

std::uint16_t kind_of(Words record) { return static_cast<std::uint16_t>(record[0]); }

}  // namespace

RawRecords raw_records(Words words) {
  RawRecords found;
  std::size_t at = 0;
  while (at < words.size()) {
    const std::size_t length = high(words[at]);
    if (length == 0) {
      found.without_length = static_cast<std::int64_t>(at);
      break;
    }
    if (length > words.size() - at) break;
    found.at.push_back(static_cast<std::int64_t>(at));
    at += length;
  }
  found.end = static_cast<std::int64_t>(at);
  return found;
}

RawPieces raw_pieces(Words words, std::int64_t records) {
  RawPieces found;
  // For each request: how many completions are to come, and whether it is open. Numbers may be given again.
  std::vector<std::uint32_t> completes;
  std::vector<bool> open;
  each_record(words, [&](std::size_t, Words record) {
    if (kind_of(record) != Call) return;
    look(
        record, [&](std::uint32_t request) { found.last_request = std::max(found.last_request, request); },
        [&](std::uint32_t request) {
          // What is not numbered as it came (a damaged file) must not take all memory.
          if (request > words.size()) return;
          if (request >= completes.size()) completes.resize(std::max<std::size_t>(2 * completes.size(), request + 1));
          ++completes[request];
        },
        [](int) {});
  });
  open.resize(completes.size());
  found.begins = {0};
  std::int64_t under_way = 0, epochs = 0, since = 0;
  std::uint16_t before = 0;
  each_record(words, [&](std::size_t at, Words record) {
    const std::uint16_t kind = kind_of(record);
    if (since >= records && under_way == 0 && epochs == 0 && before == Call && (kind == Call || kind == Counted)) {
      found.begins.push_back(static_cast<std::int64_t>(at));
      since = 0;
    }
    ++since;
    before = kind;
    if (kind != Call) return;
    look(
        record,
        [&](std::uint32_t request) {
          if (request == 0 || request >= completes.size() || completes[request] == 0 || open[request]) return;
          open[request] = true;
          ++under_way;
        },
        [&](std::uint32_t request) {
          if (request >= completes.size() || completes[request] == 0) return;
          --completes[request];
          if (!open[request]) return;
          open[request] = false;
          --under_way;
        },
        [&](int step) { epochs = std::max<std::int64_t>(epochs + step, 0); });
  });
  return found;
}

void raw_gather(Words words, std::span<const std::int64_t> at, std::size_t size, std::uint64_t* out) {
  for (const std::int64_t place : at) out = std::copy_n(words.data() + place, size, out);
}

}  // namespace isthmus::recording
