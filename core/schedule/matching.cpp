#include <algorithm>
#include <compare>

#include "base/error.hpp"
#include "base/interruption.hpp"
#include "schedule/validate.hpp"

namespace isthmus::schedule {
namespace {

/// A send where it arrives, or a receive where it is posted.
struct Message {
  std::uint32_t comm;
  Rank source;  ///< of a receive: or any_rank
  std::uint32_t tag;
  std::uint32_t op;  ///< of the source, or of the receiver

  auto operator<=>(const Message&) const = default;
};
using Messages = std::span<const Message>;

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}
std::uint64_t hash_of(Rank source, const Operation& op) {
  return mixed(mixed((std::uint64_t{source} << 32 | op.tag) + 0x9e3779b97f4a7c15ULL) + op.comm);
}
bool is_wild(const Operation& recv) { return recv.peer == any_rank || recv.tag == any_tag; }

std::string number(std::size_t count, const char* what) {
  if (count == 0) return message("no ", what);
  return message(count, " ", what, count == 1 ? "" : "s");
}

/// The messages to one rank on one communicator. Both lists are sorted, so that receives from any rank stand last, and
/// receives of any tag last among those of their source.
class Matching {
 public:
  Matching(const Schedule& schedule, Rank rank, Messages sends, Messages recvs)
      : schedule_(schedule), rank_(rank), sends_(sends), recvs_(recvs) {
    const auto named =
        std::partition_point(recvs.begin(), recvs.end(), [](const Message& m) { return m.source != any_rank; });
    const auto any = std::partition_point(named, recvs.end(), [](const Message& m) { return m.tag != any_tag; });
    from_one_ = {recvs.begin(), named};
    of_tag_ = {named, any};
    any_ = static_cast<std::size_t>(recvs.end() - any);
  }

  void check() const {
    std::size_t s = 0, r = 0;
    while (s < sends_.size() || r < from_one_.size()) {
      const Rank source = std::min(s < sends_.size() ? sends_[s].source : any_rank,
                                   r < from_one_.size() ? from_one_[r].source : any_rank);
      check_source(source_part(sends_, s, source), source_part(from_one_, r, source));
    }
    check_tags();
    if (recvs_.size() > sends_.size()) {
      refuse_recv(recvs_[sends_.size()], message("the rank is sent ", number(sends_.size(), "message"), ", but posts ",
                                                 number(recvs_.size(), "receive")));
    }
    if (sends_.size() > recvs_.size()) {
      refuse_send(sends_[recvs_.size()], message("rank ", rank_, " is sent ", number(sends_.size(), "message"),
                                                 ", but posts ", number(recvs_.size(), "receive")));
    }
  }

 private:
  /// The part of `all` from `at` on that has this source; moves `at` behind it.
  static Messages source_part(Messages all, std::size_t& at, Rank source) {
    const std::size_t first = at;
    while (at < all.size() && all[at].source == source) ++at;
    return all.subspan(first, at - first);
  }

  /// Sends from one source against the receives that name it.
  void check_source(Messages sends, Messages recvs) const {
    const auto tagged =
        std::partition_point(recvs.begin(), recvs.end(), [](const Message& m) { return m.tag != any_tag; });
    const Messages exact{recvs.begin(), tagged}, any{tagged, recvs.end()};
    std::size_t s = 0, r = 0;
    while (s < sends.size() || r < exact.size()) {
      const std::uint32_t tag =
          std::min(s < sends.size() ? sends[s].tag : any_tag, r < exact.size() ? exact[r].tag : any_tag);
      const std::size_t s0 = s, r0 = r;
      while (s < sends.size() && sends[s].tag == tag) ++s;
      while (r < exact.size() && exact[r].tag == tag) ++r;
      if (r - r0 > s - s0) {
        const Message& recv = exact[r0 + (s - s0)];
        refuse_recv(recv, message("rank ", recv.source, " sends ", number(s - s0, "such message"),
                                  ", but the rank posts ", number(r - r0, "such receive")));
      }
      const std::size_t takers = (r - r0) + any.size() + count_tag(of_tag_, tag) + any_;
      if (s - s0 > takers) {
        refuse_send(sends[s0 + takers], takers == 0
                                            ? message("rank ", rank_, " posts no receive for it")
                                            : message("rank ", rank_, " posts ", number(takers, "receive"),
                                                      " that could take it, but is sent ", s - s0, " such messages"));
      }
    }
    if (recvs.size() > sends.size()) {
      const Message& recv = recvs[sends.size()];
      refuse_recv(recv, message("rank ", recv.source, " sends ", number(sends.size(), "message"),
                                ", but the rank posts ", number(recvs.size(), "receive"), " from it"));
    }
  }

  /// Receives of a tag from any rank against the sends of that tag.
  void check_tags() const {
    if (of_tag_.empty()) return;
    std::vector<std::uint32_t> sent, exact;
    for (const Message& m : sends_) sent.push_back(m.tag);
    for (const Message& m : from_one_) exact.push_back(m.tag);
    std::sort(sent.begin(), sent.end());
    std::sort(exact.begin(), exact.end());
    const auto count = [](const std::vector<std::uint32_t>& tags, std::uint32_t tag) {
      const auto [first, last] = std::equal_range(tags.begin(), tags.end(), tag);
      return static_cast<std::size_t>(last - first);
    };
    for (std::size_t r = 0; r < of_tag_.size();) {
      const std::uint32_t tag = of_tag_[r].tag;
      const std::size_t takers = count_tag(of_tag_, tag), all = count(sent, tag), taken = count(exact, tag);
      if (taken + takers > all) {
        refuse_recv(of_tag_[r + (all - taken)],
                    message("the rank is sent ", number(all, "message"), " of this tag, but posts ",
                            number(taken + takers, "receive"), " of it"));
      }
      r += takers;
    }
  }

  static std::size_t count_tag(Messages sorted, std::uint32_t tag) {
    const auto below =
        std::partition_point(sorted.begin(), sorted.end(), [&](const Message& m) { return m.tag < tag; });
    const auto above = std::partition_point(below, sorted.end(), [&](const Message& m) { return m.tag == tag; });
    return static_cast<std::size_t>(above - below);
  }

  [[noreturn]] void refuse_send(const Message& m, const std::string& reason) const {
    refuse(m.source, m.op, message("to rank ", rank_), reason);
  }
  [[noreturn]] void refuse_recv(const Message& m, const std::string& reason) const {
    refuse(rank_, m.op, m.source == any_rank ? "from any rank" : message("from rank ", m.source), reason);
  }
  [[noreturn]] void refuse(Rank rank, std::uint32_t index, const std::string& way, const std::string& reason) const {
    const Operation& op = schedule_.ops_of(rank)[index];
    throw InvalidInput(message("rank ", rank, ", operation ", index, " (", name_of(op.kind), " ", op.amount, " B ", way,
                               op.tag == any_tag ? ", any tag" : message(", tag ", op.tag),
                               op.comm == 0 ? "" : message(", communicator ", op.comm), "): ", reason));
  }

  const Schedule& schedule_;
  Rank rank_;
  Messages sends_;
  Messages recvs_;
  Messages from_one_;    // receives that name a source
  Messages of_tag_;      // receives of one tag from any rank
  std::size_t any_ = 0;  // receives of whatever from whomever
};

/// Ranks whose receives differ from the sends to them, or may differ because some are wild.
std::vector<bool> suspicious_ranks(const Schedule& s) {
  std::vector<std::uint64_t> sums(s.ranks);
  std::vector<bool> suspicious(s.ranks);
  for (Rank r = 0; r < s.ranks; ++r) {
    for (const Operation& op : s.ops_of(r)) {
      if (op.kind == OpKind::send) sums[op.peer] += hash_of(r, op);
      else if (op.kind != OpKind::recv) continue;
      else if (is_wild(op)) suspicious[r] = true;
      else sums[r] -= hash_of(op.peer, op);
    }
  }
  for (Rank r = 0; r < s.ranks; ++r) suspicious[r] = suspicious[r] || sums[r] != 0;
  return suspicious;
}

Messages comm_part(const std::vector<Message>& all, std::size_t& at, std::uint32_t comm) {
  const std::size_t first = at;
  while (at < all.size() && all[at].comm == comm) ++at;
  return Messages(all).subspan(first, at - first);
}

}  // namespace

void check_matching(const Schedule& schedule) {
  const std::vector<bool> suspicious = suspicious_ranks(schedule);
  if (std::find(suspicious.begin(), suspicious.end(), true) == suspicious.end()) return;
  // Sends to such ranks, put together by receiver: counted, then placed.
  std::vector<std::uint64_t> first(std::size_t{schedule.ranks} + 1);
  for (const Operation& op : schedule.ops) {
    if (op.kind == OpKind::send && suspicious[op.peer]) ++first[std::size_t{op.peer} + 1];
  }
  for (Rank r = 0; r < schedule.ranks; ++r) first[r + 1] += first[r];
  std::vector<Message> arriving(first[schedule.ranks]);
  std::vector<std::uint64_t> next(first.begin(), first.end() - 1);
  for (Rank r = 0; r < schedule.ranks; ++r) {
    if ((r & 0xFF) == 0) interruption_point();
    const auto ops = schedule.ops_of(r);
    for (std::uint32_t i = 0; i < ops.size(); ++i) {
      if (ops[i].kind != OpKind::send || !suspicious[ops[i].peer]) continue;
      arriving[next[ops[i].peer]++] = {ops[i].comm, r, ops[i].tag, i};
    }
  }
  std::vector<Message> sends, recvs;
  for (Rank r = 0; r < schedule.ranks; ++r) {
    if ((r & 0xFF) == 0) interruption_point();
    if (!suspicious[r]) continue;
    const auto begin = arriving.begin();
    sends.assign(begin + static_cast<std::ptrdiff_t>(first[r]), begin + static_cast<std::ptrdiff_t>(first[r + 1]));
    recvs.clear();
    const auto ops = schedule.ops_of(r);
    for (std::uint32_t i = 0; i < ops.size(); ++i) {
      if (ops[i].kind == OpKind::recv) recvs.push_back({ops[i].comm, ops[i].peer, ops[i].tag, i});
    }
    std::sort(sends.begin(), sends.end());
    std::sort(recvs.begin(), recvs.end());
    for (std::size_t s = 0, p = 0; s < sends.size() || p < recvs.size();) {
      const std::uint32_t comm =
          std::min(s < sends.size() ? sends[s].comm : 0xFFFFFFFF, p < recvs.size() ? recvs[p].comm : 0xFFFFFFFF);
      const Messages sent = comm_part(sends, s, comm), posted = comm_part(recvs, p, comm);
      Matching(schedule, r, sent, posted).check();
    }
  }
}

}  // namespace isthmus::schedule
