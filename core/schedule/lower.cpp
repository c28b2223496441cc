#include "schedule/lower.hpp"

#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "base/error.hpp"
#include "base/interruption.hpp"
#include "schedule/communicators.hpp"
#include "schedule/counts.hpp"
#include "schedule/names.hpp"
#include "schedule/point.hpp"
#include "schedule/requests.hpp"

namespace isthmus::schedule {
namespace {

void check_columns(const Program& p) {
  require(p.first.size() == std::size_t{p.ranks} + 1 && p.first.front() == 0, "first has ", p.first.size(),
          " numbers for ", p.ranks, " ranks: must have one more than ranks and start at 0");
  for (std::size_t r = 0; r < p.ranks; ++r) require(p.first[r] <= p.first[r + 1], "first falls at rank ", r);
  const std::uint64_t events = p.first.back();
  const auto column = [&](const char* name, std::size_t size) {
    require(size == events, "column ", name, " has ", size, " elements, the program ", events, " events");
  };
  column("kind", p.kind.size());
  column("what", p.what.size());
  column("peer", p.peer.size());
  column("tag", p.tag.size());
  column("comm", p.comm.size());
  column("amount", p.amount.size());
  column("request", p.request.size());
  column("detail", p.detail.size());
}

class Lowering {
 public:
  Lowering(const Program& program, const LowerOptions& options) : p_(program), options_(options), comms_(program) {}

  Schedule run() {
    reserve();
    for (rank_ = 0; rank_ < p_.ranks; ++rank_) {
      enter();
      for (; event_ < p_.first[rank_ + std::size_t{1}]; ++event_) event();
      builder_.append(out_);
    }
    return accesses_memory_ ? one_sided(builder_.build()) : builder_.build();
  }

 private:
  EventKind kind() const { return static_cast<EventKind>(p_.kind[event_]); }

  template <class... Args>
  void check(bool holds, const Args&... reason) const {
    if (!holds) [[unlikely]]
      fail(message(reason...));
  }
  [[noreturn]] void fail(const std::string& reason) const {
    throw InvalidInput(
        message("rank ", rank_, ", event ", event_ - p_.first[rank_], " (", name_of(kind()), "): ", reason));
  }

  void enter() {
    event_ = p_.first[rank_];
    comms_.enter(rank_);
    requests_.clear();
    point_.clear();
    accesses_.clear();
  }

  /// Room for the schedule, which would otherwise grow by copies of itself.
  void reserve() {
    std::uint64_t ops = 0;
    std::uint64_t edges = 0;
    for (rank_ = 0; rank_ < p_.ranks; ++rank_) {
      enter();
      for (; event_ < p_.first[rank_ + std::size_t{1}]; ++event_) {
        switch (kind()) {
          case EventKind::collective:
          case EventKind::fence:
          case EventKind::comm_create: edges += 2 + write(false); break;
          case EventKind::sendrecv: ops += 2, edges += 4; break;
          case EventKind::isend:
          case EventKind::irecv:
          case EventKind::put:
          case EventKind::get: ops += 1, edges += 2; break;
          case EventKind::compute:
          case EventKind::send:
          case EventKind::recv:
          case EventKind::lock: ops += 1, edges += 1; break;
          default: break;
        }
        // What a collective wrote was only to be counted.
        ops += out_.size();
        edges += out_.dependencies().size();
        out_.clear();
      }
      require(ops <= most_operations, "the first ", rank_ + std::size_t{1}, " of ", p_.ranks, " ranks have ", ops,
              " operations: a schedule has at most ", most_operations);
    }
    builder_.reserve(ops, edges);
  }

  void event() {
    if ((event_ & 0x3F) == 0) interruption_point();
    switch (kind()) {
      case EventKind::compute:
        if (p_.amount[event_] != 0) blocking(calc(p_.amount[event_]));
        break;
      case EventKind::send:
        if (peer() != program_null) blocking(send());
        break;
      case EventKind::recv:
        if (peer() != program_null) blocking(recv(peer(), p_.tag[event_], p_.amount[event_]));
        break;
      case EventKind::isend:
        if (peer() != program_null) nonblocking(send());
        else open({});
        break;
      case EventKind::irecv:
        if (peer() != program_null) nonblocking(recv(peer(), p_.tag[event_], p_.amount[event_]));
        else open({});
        break;
      case EventKind::sendrecv: sendrecv(); break;
      case EventKind::wait: wait(p_.request[event_]); break;
      case EventKind::waitall: waitall(); break;
      case EventKind::waitany: waitany(); break;
      case EventKind::test:
        if (p_.amount[event_] != 0) wait(p_.request[event_]);
        break;
      case EventKind::collective: collective(p_.request[event_] == 0); break;
      case EventKind::fence:
        finish([](const Access&) { return true; });
        collective(true);
        break;
      case EventKind::comm_create: collective(true); break;
      case EventKind::put: access(OpKind::put); break;
      case EventKind::get: access(OpKind::get); break;
      case EventKind::lock:
        if (peer() >= 0) blocking(remote(OpKind::get, 0));
        else named_or_all();
        break;
      case EventKind::flush:
      case EventKind::unlock:
        if (peer() >= 0) check_peer(peer());
        else named_or_all();
        finish([&](const Access& a) { return peer() == program_any || a.peer == peer(); });
        break;
      case EventKind::iteration: break;
      default: fail(message("event kind ", static_cast<int>(kind()), ": must be 1 to ", event_kinds - 1));
    }
  }

  // Operations.

  std::int32_t peer() const { return p_.peer[event_]; }
  std::uint32_t comm() const {
    const std::uint32_t comm = p_.comm[event_];
    check(comm < comms_.count(), "communicator ", comm, ", but there are ", comms_.count());
    check(comms_.member(comm), "the rank is not in communicator ", comm);
    return comm;
  }
  void check_peer(std::int32_t peer) const {
    const Rank size = comms_.size(comm());
    check(peer >= 0 && static_cast<Rank>(peer) < size, "peer ", peer, ", but communicator ", p_.comm[event_], " has ",
          size, " ranks");
  }
  void named_or_all() const {
    comm();
    check(peer() == program_any || peer() == program_null, "peer ", peer(), " is neither a rank nor -1 for all");
  }

  std::uint32_t calc(std::uint64_t picoseconds) {
    Operation op;
    op.amount = picoseconds;
    return out_.add(op);
  }

  std::uint32_t send() {
    check_peer(peer());
    check(p_.tag[event_] >= 0, "tag ", p_.tag[event_], " of a send: must be 0 or more");
    Operation op;
    op.kind = OpKind::send;
    op.amount = p_.amount[event_];
    op.peer = comms_.world_rank(comm(), static_cast<Rank>(peer()));
    op.tag = static_cast<std::uint32_t>(p_.tag[event_]);
    op.comm = 2 * comm();
    return out_.add(op);
  }

  std::uint32_t recv(std::int32_t source, std::int32_t tag, std::uint64_t bytes) {
    Operation op;
    op.kind = OpKind::recv;
    op.amount = bytes;
    op.comm = 2 * comm();
    op.peer = any_rank;
    if (source != program_any) {
      check_peer(source);
      op.peer = comms_.world_rank(comm(), static_cast<Rank>(source));
    }
    check(tag >= program_any, "tag ", tag, " of a receive: must be 0 or more, or -1 for any");
    op.tag = tag == program_any ? any_tag : static_cast<std::uint32_t>(tag);
    return out_.add(op);
  }

  std::uint32_t remote(OpKind kind, std::uint64_t bytes) {
    check_peer(peer());
    Operation op;
    op.kind = kind;
    op.amount = bytes;
    op.peer = comms_.world_rank(comm(), static_cast<Rank>(peer()));
    return out_.add(op);
  }

  void blocking(std::uint32_t op) {
    point_.attach(out_, {&op, 1});
    point_.after({&op, 1});
  }
  void nonblocking(std::uint32_t op) {
    point_.attach(out_, {&op, 1});
    point_.after_start({&op, 1});
    open({&op, 1});
  }

  void sendrecv() {
    const auto detail = this->detail();
    check(detail.size() == 3, "detail of ", detail.size(), " numbers: expected source, tag and bytes of the receive");
    check(detail[0] >= program_null && detail[0] <= 0x7FFFFFFF, "source ", detail[0], " is no rank");
    check(detail[1] >= program_any && detail[1] <= 0x7FFFFFFF, "tag ", detail[1],
          " of a receive: must be 0 or more, or -1 for any");
    check(detail[2] >= 0, "the receive has ", detail[2], " bytes");
    std::uint32_t ops[2];
    std::size_t count = 0;
    if (peer() != program_null) ops[count++] = send();
    if (detail[0] != program_null) {
      ops[count++] = recv(static_cast<std::int32_t>(detail[0]), static_cast<std::int32_t>(detail[1]),
                          static_cast<std::uint64_t>(detail[2]));
    }
    if (count == 0) return;
    point_.attach(out_, {ops, count});
    point_.after({ops, count});
  }

  // Requests.

  std::span<const std::int64_t> detail() const {
    const std::uint32_t at = p_.detail[event_];
    if (at == 0) return {};
    check(at < p_.details.size(), "detail ", at, ", but details has ", p_.details.size(), " numbers");
    const std::int64_t count = p_.details[at];
    check(count >= 0 && static_cast<std::uint64_t>(count) < p_.details.size() - at, "detail ", at, " of ", count,
          " numbers reaches past the end of details");
    return p_.details.subspan(at + std::size_t{1}, static_cast<std::size_t>(count));
  }

  void open(std::span<const std::uint32_t> ops) {
    const std::uint32_t request = p_.request[event_];
    if (request != 0) check(requests_.open(request, ops), "request ", request, " is open already");
  }

  void wait(std::int64_t request) {
    if (request == 0) return;
    const bool known = request > 0 && request <= 0xFFFFFFFF &&
                       requests_.close(static_cast<std::uint32_t>(request), [&](std::uint32_t op) { point_.add(op); });
    check(known, "request ", request, " is not open");
  }

  void waitall() {
    if (p_.detail[event_] == 0) {
      requests_.close_all([&](std::uint32_t op) { point_.add(op); });
      return;
    }
    for (const std::int64_t request : detail()) wait(request);
  }

  void waitany() {
    const auto requests = detail();
    if (requests.empty()) return;
    check(p_.amount[event_] < requests.size(), "request number ", p_.amount[event_], " completed, but there are ",
          requests.size());
    wait(requests[p_.amount[event_]]);
  }

  // One-sided accesses.

  struct Access {
    std::uint32_t op;
    std::uint32_t comm;
    std::int32_t peer;
  };

  void access(OpKind kind) {
    if (peer() == program_null) return;
    const std::uint32_t op = remote(kind, p_.amount[event_]);
    point_.attach(out_, {&op, 1});
    point_.after_start({&op, 1});
    accesses_.push_back({op, comm(), peer()});
  }

  /// The next operation waits for those open accesses on the event's communicator that are `named`.
  template <class Named>
  void finish(Named named) {
    const std::uint32_t on = comm();
    std::erase_if(accesses_, [&](const Access& a) {
      const bool done = a.comm == on && named(a);
      if (done) point_.add(a.op);
      return done;
    });
  }

  // Collectives.

  /// What the event calls, checked.
  CollectiveCall call() const {
    CollectiveCall call;
    const std::uint32_t on = comm();
    call.rank = comms_.place(on);
    call.ranks = comms_.size(on);
    if (kind() == EventKind::fence) return call;
    if (kind() == EventKind::comm_create) {
      call.kind = CollectiveKind::allgather;
      call.bytes = 8;
      return call;
    }
    const std::uint8_t what = p_.what[event_];
    check(what >= 1 && what < collective_kinds, "collective ", static_cast<int>(what), ": must be 1 to ",
          collective_kinds - 1);
    call.kind = static_cast<CollectiveKind>(what);
    if (has_root(call.kind)) {
      check_peer(peer());
      call.root = static_cast<Rank>(peer());
    }
    call.bytes = p_.amount[event_];
    call.counts = detail();
    return call;
  }

  static constexpr auto put_asked = static_cast<std::uint8_t>(Flavour::put_asked);

  /// Writes the event's collective; returns how many of its operations wait for nothing in it.
  std::uint64_t write(bool nonblocking) {
    CollectiveCall call = this->call();
    std::uint64_t deciding = call.bytes;
    if (const std::string wrong = counts_.check(call, deciding); !wrong.empty()) {
      fail(message(name_of(call.kind), ": ", wrong));
    }
    const std::uint32_t on = p_.comm[event_];
    const CollectiveRule& rule = this->rule(call.kind, call.ranks, deciding);
    const Algorithm& algorithm = rule.algorithm;
    call.world = comms_.world(on);
    plan(call, on, algorithm);
    const std::uint32_t first = out_.size();
    const std::size_t first_dependency = out_.dependencies().size();
    Emitter emitter(out_, comms_.world(on), 2 * on + 1, comms_.next_collective(on),
                    nonblocking ? options_.progress_stream : std::uint8_t{0});
    emitter.set_mode(static_cast<std::uint8_t>(rule.flavour));
    accesses_memory_ = accesses_memory_ || rule.flavour >= Flavour::put;
    algorithm.generate(call, emitter);
    entries_.clear();
    ends_.clear();
    waits_.assign(out_.size() - first, false);
    waited_.assign(out_.size() - first, false);
    for (const auto& d : out_.dependencies().subspan(first_dependency)) {
      check(d.on >= first && d.on < out_.size() && d.edge.to() >= first && d.edge.to() < out_.size(),
            name_of(call.kind), ": the algorithm makes operation ", d.edge.to(), " wait for ", d.on,
            ", which are not both its own");
      waits_[d.edge.to() - first] = true;
      if (!d.edge.on_start()) waited_[d.on - first] = true;
    }
    for (std::uint32_t op = first; op < out_.size(); ++op) {
      if (!waits_[op - first]) entries_.push_back(op);
      // Into a buffer that was in use before nobody puts unasked.
      else if (rule.flavour == Flavour::put && out_[op].kind == OpKind::recv) out_.set_mode(op, put_asked);
      if (!waited_[op - first]) ends_.push_back(op);
    }
    return entries_.size();
  }

  const CollectiveRule& rule(CollectiveKind kind, Rank ranks, std::uint64_t bytes) const {
    const auto number = static_cast<std::uint8_t>(kind);
    const bool ordered = p_.tag[event_] == 1 && !options_.in_order[number].empty();
    for (const CollectiveRule& rule : (ordered ? options_.in_order : options_.collectives)[number]) {
      if (ranks <= rule.most_ranks && bytes <= rule.most_bytes) return rule;
    }
    fail(message(name_of(kind), " of ", bytes, " bytes on ", ranks, " ranks: no algorithm is chosen for it"));
  }

  /// Gives the call its options and the plan that all ranks of such a call share.
  void plan(CollectiveCall& call, std::uint32_t on, const Algorithm& algorithm) {
    call.options = &algorithm.options;
    if (!algorithm.prepare) return;
    const auto [at, fresh] = plans_.try_emplace({&algorithm, on, call.root, call.bytes});
    if (fresh) at->second = algorithm.prepare(call);
    call.plan = at->second.get();
  }

  void collective(bool blocking) {
    write(!blocking);
    const bool handed_over = !blocking && options_.progress_stream != 0;
    if (!entries_.empty()) {
      point_.attach(out_, entries_);
      if (blocking) point_.after(ends_);
      else if (!handed_over) point_.after_start(entries_);
    }
    if (!blocking) open(ends_);
  }

  const Program& p_;
  const LowerOptions& options_;
  ScheduleBuilder builder_;
  RankBuilder out_;
  Communicators comms_;
  Counts counts_;
  OpenRequests requests_;
  Point point_;
  std::map<std::tuple<const Algorithm*, std::uint32_t, Rank, std::uint64_t>, std::shared_ptr<const Plan>> plans_;
  std::vector<Access> accesses_;  // open ones, in the order of the program
  // The last collective: operations that wait for none of its own, and those that none of its own waits for.
  std::vector<std::uint32_t> entries_;
  std::vector<std::uint32_t> ends_;
  std::vector<std::uint8_t> waits_;
  std::vector<std::uint8_t> waited_;
  bool accesses_memory_ = false;  // in place of some messages
  Rank rank_ = 0;
  std::uint64_t event_ = 0;
};

}  // namespace

Schedule lower(const Program& program, const LowerOptions& options) {
  check_columns(program);
  return Lowering(program, options).run();
}

}  // namespace isthmus::schedule
