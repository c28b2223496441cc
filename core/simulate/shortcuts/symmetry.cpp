#include "simulate/shortcuts/symmetry.hpp"
#include "base/interruption.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace isthmus::simulate {
namespace {

using Kinds = std::vector<std::uint32_t>;

/// Equal but for the ranks that operations name.
bool same_local_program(const Schedule& s, Rank a, Rank b) {
  const std::uint32_t n = s.ops_in(a);
  const std::uint64_t edges = s.edge_first[a + 1] - s.edge_first[a];
  if (n != s.ops_in(b) || edges != s.edge_first[b + 1] - s.edge_first[b]) return false;
  const Operation* p = s.ops.data() + s.op_first[a];
  const Operation* q = s.ops.data() + s.op_first[b];
  bool same = true;
  for (std::uint32_t i = 0; i < n && same; ++i)
    same = p[i].amount == q[i].amount && p[i].tag == q[i].tag && p[i].comm == q[i].comm &&
           p[i].first_edge == q[i].first_edge && p[i].needs == q[i].needs && p[i].kind == q[i].kind &&
           p[i].cpu == q[i].cpu && p[i].nic == q[i].nic;
  const Edge* e = s.edges.data() + s.edge_first[a];
  const Edge* f = s.edges.data() + s.edge_first[b];
  for (std::uint64_t i = 0; i < edges && same; ++i) same = e[i].to() == f[i].to() && e[i].on_start() == f[i].on_start();
  return same;
}

bool names_a_rank(const Operation& op) { return op.kind == OpKind::send || op.kind == OpKind::recv; }

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
  return hash ^ hash >> 32;
}

/// Finds each rank's place among the kinds seen so far: first by comparing with the kind of the rank before, then by
/// hashing.
class Classifier {
 public:
  explicit Classifier(std::uint32_t most) : most_(most) {}

  /// False when there are too many kinds.
  template <class Same, class Hash>
  bool place(Rank rank, std::uint32_t& kind, Same same, Hash hash) {
    if (!first_.empty() && same(first_[last_], rank)) {
      kind = last_;
      return true;
    }
    auto& candidates = by_hash_[hash(rank)];
    for (const std::uint32_t c : candidates)
      if (same(first_[c], rank)) {
        kind = last_ = c;
        return true;
      }
    if (first_.size() >= most_) return false;
    kind = last_ = static_cast<std::uint32_t>(first_.size());
    candidates.push_back(kind);
    first_.push_back(rank);
    return true;
  }
  [[nodiscard]] const std::vector<Rank>& representatives() const { return first_; }

 private:
  std::uint32_t most_;
  std::uint32_t last_ = 0;
  std::vector<Rank> first_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> by_hash_;
};

std::uint64_t hash_of_program(const Schedule& s, Rank r) {
  std::uint64_t h = s.ops_in(r);
  for (const Operation& op : s.ops_of(r)) {
    h = mix(h, op.amount);
    h = mix(h, std::uint64_t{op.tag} << 32 | op.comm);
    h = mix(h, std::uint64_t{op.first_edge} << 32 | op.needs);
    h = mix(h, std::uint64_t{static_cast<std::uint8_t>(op.kind)} << 16 | std::uint64_t{op.cpu} << 8 | op.nic);
  }
  for (std::uint64_t e = s.edge_first[r]; e < s.edge_first[r + 1]; ++e)
    h = mix(h, std::uint64_t{s.edges[e].to()} << 1 | (s.edges[e].on_start() ? 1 : 0));
  return h;
}

/// Divides kinds until the partners of a kind's ranks are of the same kinds. False: too many.
bool refine(const Schedule& s, Kinds& kind, std::vector<Rank>& representatives, std::uint32_t most) {
  // Kinds that many rounds do not settle are those of a schedule whose ranks are all different in the end, such as a
  // grid with boundaries.
  for (int round = 0; representatives.size() > 1; ++round) {
    if (round == 8) return false;
    Classifier classifier(most);
    Kinds finer(s.ranks);
    const auto same = [&](Rank a, Rank b) {
      if (kind[a] != kind[b]) return false;
      const auto p = s.ops_of(a), q = s.ops_of(b);
      for (std::size_t i = 0; i < p.size(); ++i)
        if (names_a_rank(p[i]) && kind[p[i].peer] != kind[q[i].peer]) return false;
      return true;
    };
    const auto hash = [&](Rank r) {
      if ((r & 0xFF) == 0) interruption_point();
      std::uint64_t h = kind[r];
      for (const Operation& op : s.ops_of(r)) h = mix(h, names_a_rank(op) ? kind[op.peer] : 0);
      return h;
    };
    for (Rank r = 0; r < s.ranks; ++r)
      if (!classifier.place(r, finer[r], same, hash)) return false;
    const bool stable = classifier.representatives().size() == representatives.size();
    kind.swap(finer);
    representatives = classifier.representatives();
    if (stable) return true;
  }
  return true;
}

/// For every send of `rank`, the number of the receive on its target that takes it if all are posted and sent in their
/// order; false where there is none.
bool partners_of(const Schedule& s, Rank rank, std::vector<std::uint32_t>& partner) {
  const auto ops = s.ops_of(rank);
  partner.assign(ops.size(), 0);
  std::map<std::pair<Rank, std::uint64_t>, std::uint32_t> next;  // where to look on for the next receive of this kind
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].kind != OpKind::send) continue;
    const auto theirs = s.ops_of(ops[i].peer);
    std::uint32_t& at = next[{ops[i].peer, std::uint64_t{ops[i].tag} << 32 | ops[i].comm}];
    while (at < theirs.size() && !(theirs[at].kind == OpKind::recv && theirs[at].peer == rank &&
                                   theirs[at].tag == ops[i].tag && theirs[at].comm == ops[i].comm))
      ++at;
    if (at == theirs.size()) return false;
    partner[i] = at++;
  }
  return true;
}

/// Do receives with the same tag and communicator have the same source on a rank where they have it on the
/// representative of its kind, and only there? Otherwise they could take each other's messages on some ranks of a kind
/// and not on others.
bool same_coincidences(const Schedule& s, const Kinds& kind, const std::vector<Rank>& representatives) {
  struct Receive {
    std::uint64_t channel;  // tag and communicator
    std::uint32_t op;
    std::uint32_t first;  // the first receive of this channel from the same source
  };
  std::vector<std::vector<Receive>> receives(representatives.size());  // by channel
  for (std::size_t k = 0; k < representatives.size(); ++k) {
    const auto ops = s.ops_of(representatives[k]);
    std::map<std::pair<std::uint64_t, Rank>, std::uint32_t> first;
    for (std::uint32_t i = 0; i < ops.size(); ++i) {
      if (ops[i].kind != OpKind::recv) continue;
      const std::uint64_t channel = std::uint64_t{ops[i].tag} << 32 | ops[i].comm;
      receives[k].push_back({channel, i, first.try_emplace({channel, ops[i].peer}, i).first->second});
    }
    std::stable_sort(receives[k].begin(), receives[k].end(),
                     [](const Receive& a, const Receive& b) { return a.channel < b.channel; });
  }
  // For every source: on which rank's channel it was last met, and at which receive.
  std::vector<std::uint64_t> met(s.ranks, 0);
  std::vector<std::uint32_t> at(s.ranks);
  std::uint64_t turn = 0;
  for (Rank r = 0; r < s.ranks; ++r) {
    if ((r & 0xFF) == 0) interruption_point();
    const auto ops = s.ops_of(r);
    const auto& mine = receives[kind[r]];
    for (std::size_t i = 0; i < mine.size(); ++i) {
      if (i == 0 || mine[i].channel != mine[i - 1].channel) ++turn;
      const Rank source = ops[mine[i].op].peer;
      if (met[source] != turn) {
        met[source] = turn;
        at[source] = mine[i].op;
      }
      if (at[source] != mine[i].first) return false;
    }
  }
  return true;
}

}  // namespace

std::optional<Quotient> quotient(const Schedule& s, std::uint32_t most) {
  Classifier classifier(most);
  Quotient out;
  out.kind.resize(s.ranks);
  const auto same = [&](Rank a, Rank b) { return same_local_program(s, a, b); };
  const auto hash = [&](Rank r) { return hash_of_program(s, r); };
  for (Rank r = 0; r < s.ranks; ++r)
    if (!classifier.place(r, out.kind[r], same, hash)) return std::nullopt;
  std::vector<Rank> representatives = classifier.representatives();
  // Operations that a quotient cannot stand for; tags are the same on all ranks of a kind, peers are looked at below.
  for (const Rank r : representatives)
    for (const Operation& op : s.ops_of(r))
      if (op.kind == OpKind::put || op.kind == OpKind::get || (op.kind == OpKind::recv && op.tag == any_tag))
        return std::nullopt;
  for (Rank r = 0; r < s.ranks; ++r)
    for (const Operation& op : s.ops_of(r))
      if (names_a_rank(op) && op.peer >= s.ranks) return std::nullopt;
  if (!refine(s, out.kind, representatives, most)) return std::nullopt;

  const std::size_t kinds = representatives.size();
  out.ranks.assign(kinds, 0);
  for (const std::uint32_t k : out.kind) ++out.ranks[k];

  // Partners must have the same number on all ranks of a kind, and every receive exactly one.
  std::vector<std::vector<std::uint32_t>> partner(kinds);
  std::vector<std::vector<std::uint8_t>> taken(kinds);
  for (std::size_t k = 0; k < kinds; ++k) taken[k].resize(s.ops_in(representatives[k]));
  for (std::size_t k = 0; k < kinds; ++k) {
    const Rank rank = representatives[k];
    if (!partners_of(s, rank, partner[k])) return std::nullopt;
    const auto ops = s.ops_of(rank);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (ops[i].kind != OpKind::send) continue;
      const std::uint32_t to = out.kind[ops[i].peer];
      if (out.ranks[to] != out.ranks[k] || taken[to][partner[k][i]]++ != 0) return std::nullopt;
    }
  }
  for (std::size_t k = 0; k < kinds; ++k) {
    const auto ops = s.ops_of(representatives[k]);
    for (std::size_t i = 0; i < ops.size(); ++i)
      if (ops[i].kind == OpKind::recv && taken[k][i] == 0) return std::nullopt;
  }
  for (Rank r = 0; r < s.ranks; ++r) {
    const auto& theirs = partner[out.kind[r]];
    const auto ops = s.ops_of(r);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (ops[i].kind != OpKind::send) continue;
      const Operation& recv = s.ops[s.op_first[ops[i].peer] + theirs[i]];
      if (recv.peer != r || recv.tag != ops[i].tag || recv.comm != ops[i].comm) return std::nullopt;
    }
  }
  if (!same_coincidences(s, out.kind, representatives)) return std::nullopt;

  // The quotient: kinds as ranks. Several ranks of a kind may send to a representative; who it really is goes into the
  // communicator, so that messages meet the receives that they would meet in the whole.
  Schedule& q = out.schedule;
  std::map<std::pair<std::uint32_t, Rank>, std::uint32_t> comms;
  const auto comm_of = [&](std::uint32_t comm, Rank source) {
    return comms.try_emplace({comm, source}, static_cast<std::uint32_t>(comms.size())).first->second;
  };
  for (std::size_t k = 0; k < kinds; ++k) {
    const Rank rank = representatives[k];
    for (const Operation& op : s.ops_of(rank)) {
      q.ops.push_back(op);
      if (!names_a_rank(op)) continue;
      Operation& mine = q.ops.back();
      const std::uint32_t other = out.kind[op.peer];
      if (op.kind == OpKind::recv) {
        mine.comm = comm_of(op.comm, op.peer);
      } else {
        const std::uint32_t at = partner[k][static_cast<std::size_t>(&op - s.ops_of(rank).data())];
        mine.comm = comm_of(op.comm, s.ops[s.op_first[representatives[other]] + at].peer);
      }
      mine.peer = other;
    }
    q.edges.insert(q.edges.end(), s.edges.begin() + static_cast<std::ptrdiff_t>(s.edge_first[rank]),
                   s.edges.begin() + static_cast<std::ptrdiff_t>(s.edge_first[rank + 1]));
    q.op_first.push_back(q.ops.size());
    q.edge_first.push_back(q.edges.size());
  }
  q.ranks = static_cast<Rank>(kinds);
  return out;
}

}  // namespace isthmus::simulate
