#include "schedule/goal_binary.hpp"
#include "base/interruption.hpp"

#include <bit>
#include <cstring>

namespace isthmus::schedule {
namespace {

static_assert(std::endian::native == std::endian::little, "GOAL binary is little-endian");

constexpr std::uint64_t cookie = 8;         // offsets of the file count from behind it
constexpr std::uint64_t table = 4 + 1 + 1;  // the table of ranks, from there
constexpr std::uint64_t node_bytes = 39;
constexpr std::uint64_t spent_magic = 2342;  // LogGOPSim --save-mem consumes its file and leaves this

/// One node as it stands in the file.
struct Node {
  std::uint32_t needs;
  std::uint8_t kind;
  std::uint32_t peer;
  std::uint64_t amount;
  std::uint32_t tag;
  std::uint8_t cpu;
  std::uint8_t nic;
  std::uint32_t dependants;
  std::uint32_t first;
  std::uint32_t start_dependants;
  std::uint32_t start_first;
};

/// Calls visit(field) for the fields in the order of the file.
template <class N, class F>
void for_each_field(N& node, const F& visit) {
  visit(node.needs), visit(node.kind), visit(node.peer), visit(node.amount), visit(node.tag), visit(node.cpu);
  visit(node.nic), visit(node.dependants), visit(node.first), visit(node.start_dependants), visit(node.start_first);
}

/// Where the parts of a rank stand in the file, from its beginning.
struct Block {
  std::uint64_t begin;
  std::uint32_t nodes;
  std::uint32_t roots;
  std::uint64_t edges;

  [[nodiscard]] std::uint64_t root(std::uint64_t i) const { return begin + 8 + 4 * i; }
  [[nodiscard]] std::uint64_t node(std::uint64_t i) const { return root(roots) + node_bytes * i; }
  [[nodiscard]] std::uint64_t edge(std::uint64_t i) const { return node(nodes) + 4 * i; }
};

class Reader {
 public:
  Reader(std::span<const char> file, std::uint64_t unit) : file_(file), unit_(unit) {}

  Schedule read() {
    if (file_.size() < cookie + table) fail(file_.size(), "", "the file ends within its header of 14 bytes");
    const auto magic = load<std::uint64_t>(0);
    if (magic == spent_magic) {
      fail(0, "", "the file was consumed by LogGOPSim --save-mem; it must be made anew from its text");
    }
    if (magic != goal_magic) fail(0, "", message("a GOAL binary begins with the number ", goal_magic, ", not ", magic));
    out_.ranks = load<std::uint32_t>(cookie);
    if (out_.ranks == 0 || out_.ranks == any_rank) {
      fail(cookie, "", message("the number of ranks must be 1 to ", any_rank - 1, ", not ", out_.ranks));
    }
    const std::uint64_t header = cookie + table + 16 * std::uint64_t{out_.ranks};
    if (header > file_.size()) {
      fail(file_.size(), "",
           message("the file ends within the table of its ", out_.ranks, " ranks, which takes ", header, " bytes"));
    }
    // Sizes first: memory is taken once, and never for more than the file holds.
    std::uint64_t end = header;
    out_.op_first.resize(std::size_t{out_.ranks} + 1);
    out_.edge_first.resize(std::size_t{out_.ranks} + 1);
    for (Rank r = 0; r < out_.ranks; ++r) {
      const Block b = block(r, end);
      out_.op_first[r + 1] = out_.op_first[r] + b.nodes;
      out_.edge_first[r + 1] = out_.edge_first[r] + b.edges;
      end = b.edge(b.edges);
    }
    if (end != file_.size())
      fail(end, "", message("the last rank ends here, but the file has ", file_.size(), " bytes"));
    out_.ops.resize(out_.op_first.back(), {});
    out_.edges.resize(out_.edge_first.back());
    end = header;
    for (Rank r = 0; r < out_.ranks; ++r) {
      if ((r & 0xFF) == 0) interruption_point();
      const Block b = block(r, end);
      read_nodes(r, b);
      check_counts(r, b);
      end = b.edge(b.edges);
    }
    return std::move(out_);
  }

 private:
  template <class T>
  [[nodiscard]] T load(std::uint64_t offset) const {
    T value;
    std::memcpy(&value, file_.data() + offset, sizeof(T));
    return value;
  }
  template <class... Args>
  [[noreturn]] static void fail(std::uint64_t offset, const std::string& field, const Args&... what) {
    throw GoalError(0, field, message("byte ", offset, ": ", what...));
  }
  static std::string name(Rank rank) { return message("rank ", rank); }
  static std::string name(Rank rank, std::uint32_t node) { return message("rank ", rank, ", node ", node); }

  /// The parts of a rank, which lie between `begin` and what the table says.
  [[nodiscard]] Block block(Rank rank, std::uint64_t begin) const {
    const std::uint64_t entry = cookie + table + 16 * std::uint64_t{rank};
    const auto from = load<std::uint64_t>(entry), to = load<std::uint64_t>(entry + 8);
    if (from != begin - cookie) {
      fail(entry, name(rank), "its data must begin at ", begin - cookie, ", after the previous rank, not at ", from);
    }
    if (to < from || to > file_.size() - cookie) {
      fail(entry + 8, name(rank), "its data begin at ", from, " and the file ends at ", file_.size() - cookie,
           ": they cannot end at ", to);
    }
    const std::uint64_t size = to - from;
    if (size < 8) fail(entry, name(rank), "its data have ", size, " bytes: must have at least 8");
    Block b{begin, load<std::uint32_t>(begin), load<std::uint32_t>(begin + 4), 0};
    if (b.nodes > max_rank_ops) fail(begin, name(rank), b.nodes, " nodes: at most ", max_rank_ops, " are allowed");
    const std::uint64_t fixed = b.node(b.nodes) - begin;
    if (fixed > size) {
      fail(begin, name(rank), b.nodes, " nodes and ", b.roots, " roots take ", fixed, " bytes, but its data have ",
           size);
    }
    b.edges = (size - fixed) / 4;
    if ((size - fixed) % 4 != 0 || b.edges > 0xFFFFFFFF) {
      fail(b.node(b.nodes), name(rank), size - fixed, " bytes at the end are not a list of dependants");
    }
    return b;
  }

  [[nodiscard]] Node node(const Block& b, std::uint32_t index) const {
    Node n;
    std::uint64_t at = b.node(index);
    for_each_field(n, [&](auto& field) {
      std::memcpy(&field, file_.data() + at, sizeof(field));
      at += sizeof(field);
    });
    return n;
  }

  void read_nodes(Rank rank, const Block& b) {
    Operation* ops = out_.ops.data() + out_.op_first[rank];
    Edge* edges = out_.edges.data() + out_.edge_first[rank];
    std::uint64_t next = 0;
    for (std::uint32_t i = 0; i < b.nodes; ++i) {
      const Node n = node(b, i);
      write_operation(rank, i, b, n, ops[i]);
      ops[i].first_edge = static_cast<std::uint32_t>(next);
      read_edges(rank, i, b, {n.dependants, n.first, false}, next, edges, ops);
      read_edges(rank, i, b, {n.start_dependants, n.start_first, true}, next, edges, ops);
    }
    if (next != b.edges) {
      fail(b.edge(next), name(rank), "its nodes have ", next, " dependants, but there is room for ", b.edges);
    }
  }

  void write_operation(Rank rank, std::uint32_t index, const Block& b, const Node& n, Operation& op) const {
    const auto refuse = [&](const auto&... what) { fail(b.node(index), name(rank, index), what...); };
    if (n.kind < 1 || n.kind > 3) refuse("its type is ", n.kind, ": must be 1 (send), 2 (recv) or 3 (calc)");
    op.kind = static_cast<OpKind>(n.kind);
    op.cpu = n.cpu;
    op.nic = n.nic;
    op.amount = n.amount;
    if (op.kind == OpKind::calc) {
      if (n.amount > max_amount / unit_) refuse("its time is ", n.amount, ": must be at most ", max_amount / unit_);
      op.amount *= unit_;
      return;
    }
    if (n.amount > max_amount) refuse("it has ", n.amount, " bytes: at most ", max_amount, " are allowed");
    const bool recv = op.kind == OpKind::recv;
    if (n.peer >= out_.ranks && !(recv && n.peer == any_rank)) {
      refuse("its peer is ", n.peer, ": ranks are 0 to ", out_.ranks - 1);
    }
    if (n.tag == any_tag && !recv) refuse("only a recv may have any tag (", any_tag, ")");
    op.peer = n.peer;
    op.tag = n.tag;
  }

  /// Dependants of a node, of one sort.
  struct List {
    std::uint32_t count;
    std::uint32_t first;
    bool start;
  };
  void read_edges(Rank rank, std::uint32_t index, const Block& b, List list, std::uint64_t& next, Edge* edges,
                  Operation* ops) const {
    if (list.count == 0) return;
    if (list.first != next || list.count > b.edges - next) {
      fail(b.node(index), name(rank, index), "its ", list.count, " dependants stand at ", list.first, " of ", b.edges,
           " in the appendix: they must begin at ", next, " and end within it");
    }
    for (const std::uint64_t end = next + list.count; next < end; ++next) {
      const auto to = load<std::uint32_t>(b.edge(next));
      if (to >= b.nodes)
        fail(b.edge(next), name(rank, index), "its dependant ", to, " does not exist: there are ", b.nodes, " nodes");
      if (to == index) fail(b.edge(next), name(rank, index), "it depends on itself");
      edges[next] = Edge(to, list.start);
      ++ops[to].needs;
    }
  }

  /// What the file says twice must agree: what nodes wait for, and which wait for nothing.
  void check_counts(Rank rank, const Block& b) const {
    const Operation* ops = out_.ops.data() + out_.op_first[rank];
    std::uint32_t root = 0;
    for (std::uint32_t i = 0; i < b.nodes; ++i) {
      const auto needs = load<std::uint32_t>(b.node(i));
      if (needs != ops[i].needs) {
        fail(b.node(i), name(rank, i), "it says that it needs ", needs, " others, but is the dependant of ",
             ops[i].needs);
      }
      if (needs != 0) continue;
      if (root == b.roots)
        fail(b.begin + 4, name(rank), "node ", i, " needs nothing, but is missing in the list of roots");
      if (load<std::uint32_t>(b.root(root)) != i) {
        fail(b.root(root), name(rank), "root ", root, " is node ", load<std::uint32_t>(b.root(root)),
             ": it must be node ", i, ", the next that needs nothing");
      }
      ++root;
    }
    if (root != b.roots) fail(b.begin + 4, name(rank), "it has ", b.roots, " roots, but ", root, " nodes need nothing");
  }

  std::span<const char> file_;
  std::uint64_t unit_;
  Schedule out_;
};

/// Collects bytes and hands them on in large pieces.
class Pieces {
 public:
  explicit Pieces(const GoalSink& sink) : sink_(sink), buffer_(1 << 16) {}
  template <class T>
  void put(T value) {
    if (buffer_.size() - used_ < sizeof(T)) flush();
    std::memcpy(buffer_.data() + used_, &value, sizeof(T));
    used_ += sizeof(T);
  }
  void flush() {
    sink_({buffer_.data(), used_});
    used_ = 0;
  }

 private:
  const GoalSink& sink_;
  std::vector<char> buffer_;
  std::size_t used_ = 0;
};

std::uint32_t roots_of(std::span<const Operation> ops) {
  std::uint32_t roots = 0;
  for (const Operation& op : ops) roots += op.needs == 0;
  return roots;
}

void write_header(const Schedule& schedule, Pieces& out) {
  std::uint8_t cpu = 0, nic = 0;
  for (const Operation& op : schedule.ops) {
    cpu = std::max(cpu, op.cpu);
    nic = std::max(nic, op.nic);
  }
  out.put(goal_magic);
  out.put(schedule.ranks);
  out.put(cpu);
  out.put(nic);
  std::uint64_t begin = table + 16 * std::uint64_t{schedule.ranks};
  for (Rank r = 0; r < schedule.ranks; ++r) {
    const std::uint64_t edges = schedule.edge_first[r + 1] - schedule.edge_first[r];
    const Block b{begin, schedule.ops_in(r), roots_of(schedule.ops_of(r)), edges};
    out.put(begin);
    begin = b.edge(edges);
    out.put(begin);
  }
}

void write_rank(const Schedule& schedule, Rank rank, const GoalOperations& operations, Pieces& out) {
  const auto ops = schedule.ops_of(rank);
  const auto n = static_cast<std::uint32_t>(ops.size());
  out.put(n);
  out.put(roots_of(ops));
  for (std::uint32_t i = 0; i < n; ++i) {
    if (ops[i].needs == 0) out.put(i);
  }
  std::uint32_t next = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    const Operation op = operations.translate(ops[i]);
    std::uint32_t start = 0;
    const auto dependants = schedule.dependants(rank, i);
    for (const Edge edge : dependants) start += edge.on_start();
    const auto full = static_cast<std::uint32_t>(dependants.size()) - start;
    const Node node{
        op.needs,   static_cast<std::uint8_t>(op.kind), op.peer, op.amount, op.tag, op.cpu, op.nic, full, next, start,
        next + full};
    for_each_field(node, [&](const auto& field) { out.put(field); });
    next += full + start;
  }
  for (std::uint32_t i = 0; i < n; ++i) {
    for (const bool start : {false, true}) {
      for (const Edge edge : schedule.dependants(rank, i)) {
        if (edge.on_start() == start) out.put(edge.to());
      }
    }
  }
}

}  // namespace

Schedule parse_goal_binary(std::span<const char> file, std::uint64_t unit) {
  require(unit >= 1, "the unit of a GOAL file must be at least 1 ps");
  return Reader(file, unit).read();
}

void write_goal_binary(const Schedule& schedule, const GoalWriting& writing, const GoalSink& sink) {
  const GoalOperations operations(schedule, writing);
  Pieces out(sink);
  write_header(schedule, out);
  for (Rank r = 0; r < schedule.ranks; ++r) write_rank(schedule, r, operations, out);
  out.flush();
}

}  // namespace isthmus::schedule
