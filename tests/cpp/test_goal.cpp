// GOAL files: round trips of random schedules, every malformed form, and mutations of valid files. Byte equality with
// LogGOPSim's own files is a matter of tests/py.
#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "schedule/builder.hpp"
#include "schedule/goal_binary.hpp"
#include "schedule/goal_text.hpp"
#include "schedule/validate.hpp"

using namespace isthmus;
using namespace isthmus::schedule;

namespace {

std::string text_of(const Schedule& s, const GoalWriting& writing = {}) {
  std::string out;
  write_goal_text(s, writing, [&](std::span<const char> piece) { out.append(piece.data(), piece.size()); });
  return out;
}

std::string binary_of(const Schedule& s, const GoalWriting& writing = {}) {
  std::string out;
  write_goal_binary(s, writing, [&](std::span<const char> piece) { out.append(piece.data(), piece.size()); });
  return out;
}

bool same(const Operation& a, const Operation& b) {
  return a.amount == b.amount && a.peer == b.peer && a.tag == b.tag && a.comm == b.comm &&
         a.first_edge == b.first_edge && a.needs == b.needs && a.kind == b.kind && a.cpu == b.cpu && a.nic == b.nic;
}

void check_same(const Schedule& a, const Schedule& b) {
  CHECK(a.ranks == b.ranks);
  CHECK(a.op_first == b.op_first);
  CHECK(a.edge_first == b.edge_first);
  REQUIRE(a.ops.size() == b.ops.size());
  REQUIRE(a.edges.size() == b.edges.size());
  for (std::size_t i = 0; i < a.ops.size(); ++i) CHECK(same(a.ops[i], b.ops[i]));
  for (std::size_t i = 0; i < a.edges.size(); ++i) {
    CHECK(a.edges[i].to() == b.edges[i].to());
    CHECK(a.edges[i].on_start() == b.edges[i].on_start());
  }
}

/// Everything that GOAL has, on few ranks. Dependants on the start of an operation stand behind the others, as in the
/// binary form.
Schedule random_schedule(Rng& rng) {
  ScheduleBuilder out;
  const Rank ranks = 1 + rng.below(5);
  for (Rank r = 0; r < ranks; ++r) {
    RankBuilder rank;
    const std::uint32_t n = rng.below(12);
    for (std::uint32_t i = 0; i < n; ++i) {
      Operation op;
      op.kind = static_cast<OpKind>(1 + rng.below(3));
      op.cpu = static_cast<std::uint8_t>(rng.below(3) * 127);
      if (op.kind == OpKind::calc) {
        op.amount = nanosecond * rng.below(1000000000);
      } else {
        op.amount = rng.next() >> (1 + rng.below(63));
        op.peer = rng.below(ranks);
        op.tag = rng.below(4) == 0 ? rng.below(any_tag) : rng.below(3);
        op.nic = static_cast<std::uint8_t>(rng.below(2) * 255);
        if (op.kind == OpKind::recv && rng.below(4) == 0) op.peer = any_rank;
        if (op.kind == OpKind::recv && rng.below(4) == 0) op.tag = any_tag;
      }
      rank.add(op);
    }
    for (const bool start : {false, true}) {
      for (std::uint32_t i = 0; n > 1 && i < n; ++i) {
        const std::uint32_t on = rng.below(n), op = rng.below(n);
        if (on == op) continue;
        if (start) rank.require_start(op, on);
        else rank.require(op, on);
      }
    }
    out.append(rank);
  }
  return out.build();
}

struct Defect {
  std::string text;
  std::uint64_t line;
  std::vector<std::string> parts;  ///< of field and message
};

template <class Parse>
void check_defect(const Parse& parse, const std::string& file, std::uint64_t line,
                  const std::vector<std::string>& parts) {
  std::string said = "(accepted)";
  std::uint64_t where = 0;
  try {
    parse(file);
  } catch (const GoalError& error) {
    said = error.field() + ": " + error.what();
    where = error.line();
  }
  INFO("said: ", said);
  CHECK(where == line);
  for (const std::string& part : parts) {
    INFO("expected in it: ", part);
    CHECK(said.find(part) != std::string::npos);
  }
}

/// A file with one to four bytes changed, cut out, doubled or exchanged with those of another place.
std::string mutated(const std::string& file, Rng& rng) {
  std::string out = file;
  const std::uint32_t changes = 1 + rng.below(4);
  for (std::uint32_t c = 0; c < changes && !out.empty(); ++c) {
    const std::size_t at = rng.below(static_cast<std::uint32_t>(out.size()));
    const std::size_t from = rng.below(static_cast<std::uint32_t>(out.size()));
    const std::size_t length = 1 + rng.below(8);
    switch (rng.below(6)) {
      case 0: out[at] = static_cast<char>(rng.next()); break;
      case 1: out[at] = static_cast<char>(out[at] ^ (1 << rng.below(8))); break;
      case 2: out.erase(at, length); break;
      case 3: out.insert(at, out.substr(from, length)); break;
      case 4: out.resize(at); break;
      default: out.replace(at, std::min(length, out.size() - at), out.substr(from, length));
    }
  }
  return out;
}

/// Whatever the bytes are, the parser returns consistent arrays or throws GoalError; sanitizers see the rest.
template <class Parse, class Write>
void fuzz(std::uint64_t seed, const Parse& parse, const Write& write) {
  Rng rng(seed);
  int accepted = 0, rejected = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string file = mutated(write(random_schedule(rng)), rng);
    // A copy of exactly this size, so that reading beyond it is seen.
    const std::vector<char> bytes(file.begin(), file.end());
    try {
      const Schedule s = parse(std::span<const char>(bytes));
      check_arrays(s);
      CHECK(s.ops.capacity() <= 8 * bytes.size() + 64);
      ++accepted;
    } catch (const GoalError& error) {
      CHECK(std::strlen(error.what()) < 300);
      ++rejected;
    }
  }
  CHECK(accepted > 100);
  CHECK(rejected > 1000);
}

Schedule parse_text(std::span<const char> text) { return parse_goal_text(text); }
Schedule parse_binary(std::span<const char> file) { return parse_goal_binary(file); }

template <class T>
std::string with(std::string file, std::size_t at, T value) {
  std::memcpy(file.data() + at, &value, sizeof(T));
  return file;
}

std::string refusal(const Schedule& s, const GoalWriting& writing) {
  try {
    text_of(s, writing);
  } catch (const Unsupported& error) {
    return error.what();
  }
  return "(accepted)";
}

Schedule one_operation(const Operation& op) {
  RankBuilder rank;
  rank.add(op);
  ScheduleBuilder out;
  out.append(rank);
  return out.build();
}

}  // namespace

TEST_CASE("GOAL text: operations, options, comments, labels in whatever order") {
  const Schedule s = parse_text(std::string(
      "// a comment\nnum_ranks 3 /* another\nof two lines */\n"
      "rank 0 {\r\n  l1: calc 7 cpu 2\n\tsend 5 b to 2tag 9 cpu 1 nic 3 // why not\n"
      "last requires l1\nlast irequires l12345\nlast: send 0b to 0 nic 1 cpu 4 tag 4294967294\nl12345: calc 1\n}\n"
      "rank 1 { } rank 2\n{\nrecv 6b from -1 tag -1\nl1: recv 6b from 1\n}"));
  REQUIRE(s.ranks == 3);
  CHECK(s.op_first == std::vector<std::uint64_t>{0, 4, 4, 6});
  const auto is = [&](std::size_t at, OpKind kind, std::uint64_t amount, Rank peer, std::uint32_t tag, int cpu,
                      int nic) {
    const Operation& op = s.ops[at];
    INFO("operation ", at);
    CHECK(op.kind == kind);
    CHECK(op.amount == amount);
    CHECK(op.peer == peer);
    CHECK(op.tag == tag);
    CHECK(op.cpu == cpu);
    CHECK(op.nic == nic);
  };
  is(0, OpKind::calc, 7000, 0, 0, 2, 0);
  is(1, OpKind::send, 5, 2, 9, 1, 3);
  is(2, OpKind::send, 0, 0, 4294967294, 4, 1);
  is(3, OpKind::calc, 1000, 0, 0, 0, 0);
  is(4, OpKind::recv, 6, any_rank, any_tag, 0, 0);
  is(5, OpKind::recv, 6, 1, 0, 0, 0);
  CHECK(s.ops[2].needs == 2);
  REQUIRE(s.dependants(0, 0).size() == 1);
  CHECK(s.dependants(0, 0)[0].to() == 2);
  CHECK_FALSE(s.dependants(0, 0)[0].on_start());
  REQUIRE(s.dependants(0, 3).size() == 1);
  CHECK(s.dependants(0, 3)[0].to() == 2);
  CHECK(s.dependants(0, 3)[0].on_start());
}

TEST_CASE("GOAL: random schedules survive text and binary") {
  Rng rng(1);
  for (int i = 0; i < 300; ++i) {
    const Schedule s = random_schedule(rng);
    check_same(s, parse_text(text_of(s)));
    check_same(s, parse_binary(binary_of(s)));
  }
}

TEST_CASE("GOAL text: labels of all sorts are told apart") {
  // Numbers with leading zeros, too large, too long, and names; far more than any table begins with.
  std::string text = "num_ranks 2\n";
  for (int r = 0; r < 2; ++r) {
    text += message("rank ", r, " {\n");
    for (int i = 0; i < 500; ++i) {
      for (const char* form : {"l", "l0", "l00000000", "l99999", "x", "L", "l_"})
        text += message(form, i, ": calc 1\n");
    }
    text += "l499 requires l0499\nL499 requires l99999499\nl00000000499 requires x0\n}\n";
  }
  const Schedule s = parse_text(text);
  CHECK(s.ops.size() == 7000);
  for (Rank r = 0; r < 2; ++r) {
    const std::uint32_t last = 499 * 7;
    REQUIRE(s.dependants(r, last + 1).size() == 1);
    CHECK(s.dependants(r, last + 1)[0].to() == last);
    REQUIRE(s.dependants(r, last + 3).size() == 1);
    CHECK(s.dependants(r, last + 3)[0].to() == last + 5);
    REQUIRE(s.dependants(r, 4).size() == 1);
    CHECK(s.dependants(r, 4)[0].to() == last + 2);
  }
}

TEST_CASE("GOAL text: malformed files are rejected with line and reason") {
  const std::vector<Defect> defects = {
      {"", 1, {"expected 'num_ranks'", "the end of the file"}},
      {"\n// x\n", 3, {"expected 'num_ranks'"}},
      {"rank 0 {\n}\n", 1, {"expected 'num_ranks'", "'rank'"}},
      {"num_ranks x\n", 1, {"num_ranks: expected the number of ranks, not 'x'"}},
      {"num_ranks 0\n", 1, {"at least 1 rank, not 0"}},
      {"num_ranks 4294967295\n", 1, {"must be 0 to 4294967294, not '4294967295'"}},
      {"num_ranks 18446744073709551617\nrank 0 {\n}\n", 1, {"not '18446744073709551617'"}},
      {"num_ranks 2\nrank 0 {\n}\n", 4, {"there are 2 ranks", "ends after 1"}},
      {"num_ranks 2\nrank 1 {\n}\n", 2, {"rank 1: rank 0 must stand here"}},
      {"num_ranks 2\nrank 0 {\n}\nrank 0 {\n}\n", 4, {"rank 0: rank 1 must stand here"}},
      {"num_ranks 1\nrank 0 {\n}\nrank 0 {\n}\n", 4, {"rank 0: ranks are in order, each once"}},
      {"num_ranks 1\nrank 0 {\n}\nrank 1 {\n}\n", 4, {"rank 1", "num_ranks is 1", "0 to 0"}},
      {"num_ranks 1\nrank 0 {\n}\nmore\n", 4, {"expected the end of the file after the last rank, not 'more'"}},
      {"num_ranks 1\nrank 0 {\n}\n}\n", 4, {"not '}'"}},
      {"num_ranks 1\nrank 0 {\ncalc 1\n", 2, {"rank 0: it has no closing '}'"}},
      {"num_ranks 2\nrank 0 {\ncalc 1\nrank 1 {\n}\n", 4, {"rank 0: another rank begins"}},
      {"num_ranks 1\nrank 0\ncalc 1\n}\n", 3, {"expected '{', not 'calc'"}},
      {"num_ranks 1\n/* rank 0 {\n}\n", 2, {"the comment has no end '*/'"}},
      {"num_ranks 1\nrank 0 {\n7: calc 1\n}\n", 3, {"rank 0: expected an operation, a label or '}', not '7:'"}},
      {"num_ranks 1\nrank 0 {\n\xC3\xA4\n}\n", 3, {"not '\\xC3\\xA4'"}},
      {"num_ranks 1\nrank 0 {\nl1 calc 1\n}\n", 3, {"l1: expected ':', 'requires' or 'irequires', not 'calc'"}},
      {"num_ranks 1\nrank 0 {\nl1: move 1b to 0\n}\n",
       3,
       {"l1: expected 'send', 'recv', 'calc', 'copy', 'reduce', 'put' or 'get', not 'move'"}},
      {"num_ranks 1\nrank 0 {\nsend 5 to 0\n}\n", 3, {"send: expected 'b' after the number of bytes, not 'to'"}},
      {"num_ranks 1\nrank 0 {\nsend b to 0\n}\n", 3, {"send: expected the number of bytes, not 'b'"}},
      {"num_ranks 1\nrank 0 {\nsend -5b to 0\n}\n", 3, {"expected the number of bytes, not '-5b'"}},
      {"num_ranks 1\nrank 0 {\nsend 5b from 0\n}\n", 3, {"send: expected 'to', not 'from'"}},
      {"num_ranks 1\nrank 0 {\nrecv 5b to 0\n}\n", 3, {"recv: expected 'from', not 'to'"}},
      {"num_ranks 1\nrank 0 {\nsend 5b to 1\n}\n", 3, {"to: the rank must be 0 to 0, not '1'"}},
      {"num_ranks 1\nrank 0 {\nsend 5b to -1\n}\n", 3, {"to: expected the rank, not '-1'"}},
      {"num_ranks 1\nrank 0 {\nrecv 5b from -2\n}\n", 3, {"from: expected the rank (or -1), not '-2'"}},
      {"num_ranks 1\nrank 0 {\nsend 5b to 0 tag -1\n}\n", 3, {"tag: expected the tag, not '-1'"}},
      {"num_ranks 1\nrank 0 {\nsend 5b to 0 tag\n}\n", 3, {"tag: expected the tag, not the end of the line"}},
      {"num_ranks 1\nrank 0 {\nrecv 5b from 0 tag 4294967295\n}\n", 3, {"0 to 4294967294, not '4294967295'"}},
      {"num_ranks 1\nrank 0 {\nsend 5b to 0 cpu 256\n}\n", 3, {"cpu: the number of the CPU must be 0 to 255"}},
      {"num_ranks 1\nrank 0 {\nsend 5b to 0 nic 256\n}\n", 3, {"nic:", "must be 0 to 255"}},
      {"num_ranks 1\nrank 0 {\nsend 5b to 0 tag 1 cpu 1 tag 1\n}\n", 3, {"send: 'tag' is given twice"}},
      {"num_ranks 1\nrank 0 {\nsend 5b to 0 via 1\n}\n",
       3,
       {"expected 'tag', 'cpu', 'nic' or the end of the line, not 'via'"}},
      {"num_ranks 1\nrank 0 {\ncalc 5 tag 1\n}\n", 3, {"calc: expected 'cpu' or the end of the line, not 'tag'"}},
      {"num_ranks 1\nrank 0 {\ncalc 5 nic 1\n}\n", 3, {"not 'nic'"}},
      {"num_ranks 1\nrank 0 {\ncalc 5 }\n", 3, {"calc: expected the end of the line, not '}'"}},
      {"num_ranks 1\nrank 0 {\ncalc 1.5\n}\n", 3, {"expected the end of the line, not '.5'"}},
      {"num_ranks 1\nrank 0 {\nsend 9223372036854775808b to 0\n}\n", 3, {"must be 0 to 9223372036854775807"}},
      {"num_ranks 1\nrank 0 {\nsend 99999999999999999999999b to 0\n}\n", 3, {"must be 0 to 9223372036854775807"}},
      {"num_ranks 1\nrank 0 {\ncalc 9223372036854776\n}\n", 3, {"calc: the time must be 0 to 9223372036854775, not"}},
      {"num_ranks 1\nrank 0 {\nl1: calc 1\nl1: calc 1\n}\n", 4, {"l1: the rank has this label already"}},
      {"num_ranks 1\nrank 0 {\na: calc 1\na: calc 1\n}\n", 4, {"a: the rank has this label already"}},
      {"num_ranks 1\nrank 0 {\nl1: calc 1\nl1 requires l2\n}\n", 4, {"l2: no operation of rank 0 has this label"}},
      {"num_ranks 1\nrank 0 {\nl1: calc 1\nx irequires l1\n}\n", 4, {"x: no operation of rank 0 has this label"}},
      {"num_ranks 2\nrank 0 {\nl1: calc 1\n}\nrank 1 {\nl2: calc 1\nl2 requires l1\n}\n",
       7,
       {"l1: no operation of rank 1"}},
      {"num_ranks 1\nrank 0 {\nl1: calc 1\nl1 requires l1\n}\n", 4, {"l1: an operation cannot require itself"}},
      {"num_ranks 1\nrank 0 {\nl1 requires l1\nl1: calc 1\n}\n", 3, {"l1: an operation cannot require itself"}},
      {"num_ranks 1\nrank 0 {\nl1: calc 1\nl1 requires\n}\n",
       4,
       {"l1: expected the label that it requires, not the end of the line"}},
      {"num_ranks 1\nrank 0 {\nl1: calc 1\nl2: calc 1\nl1 requires l2 l2\n}\n",
       5,
       {"expected the end of the line, not 'l2'"}},
  };
  for (const Defect& defect : defects) {
    INFO(defect.text);
    check_defect([](const std::string& text) { parse_text(text); }, defect.text, defect.line, defect.parts);
  }
}

TEST_CASE("GOAL binary: malformed files are rejected with byte and reason") {
  // Two ranks, header 14 + 2 * 16 bytes. Rank 0 at 46: 3 nodes, 1 root at 54, nodes at 58, 97, 136, appendix at 175.
  const std::string file = binary_of(
      parse_text(std::string("num_ranks 2\nrank 0 {\nl1: send 8b to 1\nl2: calc 5\nl3: recv 8b from 1\nl2 requires l1\n"
                             "l3 irequires l1\n}\nrank 1 {\nrecv 8b from 0\nsend 8b to 0\n}\n")));
  REQUIRE(file.size() == 183 + 8 + 8 + 78);
  using u32 = std::uint32_t;
  using u64 = std::uint64_t;
  const std::uint8_t type = 4;
  struct Row {
    std::string file;
    std::vector<std::string> parts;
  };
  const std::vector<Row> rows = {
      {with(file, 0, u64{4224}), {"byte 0: a GOAL binary begins with the number 4223, not 4224"}},
      {with(file, 0, u64{2342}), {"byte 0", "--save-mem"}},
      {with(file, 8, u32{0}), {"byte 8", "number of ranks must be 1 to 4294967294, not 0"}},
      {with(file, 8, u32{0xFFFFFFFF}), {"byte 8", "not 4294967295"}},
      {with(file, 8, u32{0xFFFFFFFE}), {"the file ends within the table of its 4294967294 ranks"}},
      {with(file, 8, u32{1}), {"rank 0: byte 14", "must begin at 22", "not at 38"}},
      {with(file, 14, u64{0}), {"rank 0: byte 14", "must begin at 38", "not at 0"}},
      {with(file, 14, ~u64{0}), {"rank 0: byte 14"}},
      {with(file, 22, u64{37}), {"rank 0: byte 22", "cannot end at 37"}},
      {with(file, 22, ~u64{0}), {"rank 0: byte 22", "the file ends at 269", "cannot end at 18446744073709551615"}},
      {with(file, 22, u64{42}), {"rank 0: byte 14", "have 4 bytes: must have at least 8"}},
      {with(file, 22, u64{174}), {"rank 0: byte 175: 7 bytes at the end are not a list of dependants"}},
      {with(file, 22, u64{171}), {"rank 1: byte 30", "must begin at 171", "not at 175"}},
      {with(file, 30, u64{38}), {"rank 1: byte 30", "must begin at 175", "not at 38"}},
      {file + "x", {"the last rank ends here, but the file has 278 bytes"}},
      {with(file, 46, u32{4}), {"rank 0: byte 46: 4 nodes and 1 roots take 168 bytes, but its data have 137"}},
      {with(file, 46, u32{0xFFFFFFFF}), {"rank 0", "4294967295 nodes: at most 2147483647"}},
      {with(file, 50, u32{0xFFFFFFFF}), {"rank 0", "4294967295 roots"}},
      {with(file, 54, u32{1}), {"rank 0: byte 54: root 0 is node 1: it must be node 0"}},
      {with(file, 58 + type, std::uint8_t{0}),
       {"rank 0, node 0: byte 58: its type is 0: must be 1 (send), 2 (recv) or 3"}},
      {with(file, 58 + type, std::uint8_t{4}), {"its type is 4"}},
      {with(file, 58 + 5, u32{2}), {"node 0", "its peer is 2: ranks are 0 to 1"}},
      {with(file, 58 + 5, u32{any_rank}), {"node 0", "its peer is 4294967295"}},
      {with(file, 58 + 9, u64{1} << 63), {"node 0", "9223372036854775808 bytes: at most"}},
      {with(file, 97 + 9, u64{1} << 60),
       {"node 1", "its time is 1152921504606846976: must be at most 9223372036854775"}},
      {with(file, 58 + 17, u32{any_tag}), {"node 0", "only a recv may have any tag"}},
      {with(file, 58 + 23, u32{3}), {"node 0", "its 3 dependants stand at 0 of 2", "end within it"}},
      {with(file, 58 + 23, u32{0xFFFFFFFF}), {"node 0", "its 4294967295 dependants"}},
      {with(file, 58 + 27, u32{1}), {"node 0", "stand at 1 of 2", "must begin at 0"}},
      {with(file, 58 + 35, u32{7}), {"node 0", "stand at 7 of 2", "must begin at 1"}},
      {with(file, 58 + 31, u32{0}), {"rank 0: byte 179", "its nodes have 1 dependants, but there is room for 2"}},
      {with(file, 175, u32{3}), {"node 0", "byte 175: its dependant 3 does not exist: there are 3 nodes"}},
      {with(file, 175, u32{0}), {"node 0", "byte 175: it depends on itself"}},
      {with(file, 97, u32{2}), {"node 1: byte 97: it says that it needs 2 others, but is the dependant of 1"}},
      {with(file, 58, u32{1}), {"node 0: byte 58: it says that it needs 1 others, but is the dependant of 0"}},
  };
  for (const Row& row : rows)
    check_defect([](const std::string& bytes) { parse_binary(bytes); }, row.file, 0, row.parts);
  // Cut off anywhere.
  for (std::size_t size = 0; size < file.size(); ++size) {
    INFO("cut to ", size, " bytes");
    CHECK_THROWS_AS(parse_binary(std::vector<char>(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size))),
                    GoalError);
  }
}

TEST_CASE("GOAL binary: the list of roots is complete and in order") {
  const std::string file = binary_of(parse_text(std::string("num_ranks 1\nrank 0 {\ncalc 1\ncalc 1\n}\n")));
  const auto reject = [](const std::string& bytes, std::vector<std::string> parts) {
    check_defect([](const std::string& b) { parse_binary(b); }, bytes, 0, parts);
  };
  reject(with(with(file, 38, std::uint32_t{1}), 42, std::uint32_t{0}), {"root 0 is node 1: it must be node 0"});
  // One root less: four bytes less between the counts and the nodes, and less to the end of the file.
  std::string less = with(with(file, 34, std::uint32_t{1}), 22, std::uint64_t{file.size() - 8 - 4});
  less.erase(42, 4);
  reject(less, {"rank 0: byte 34: node 1 needs nothing, but is missing in the list of roots"});
  std::string more = with(with(file, 34, std::uint32_t{3}), 22, std::uint64_t{file.size() - 8 + 4});
  more.insert(46, std::string(4, '\0'));
  reject(more, {"rank 0: byte 34: it has 3 roots, but 2 nodes need nothing"});
}

TEST_CASE("GOAL: mutated files are read or rejected, never worse") {
  fuzz(2, parse_text, [](const Schedule& s) { return text_of(s); });
  fuzz(3, parse_binary, [](const Schedule& s) { return binary_of(s); });
}

TEST_CASE("GOAL: times are rounded to the unit") {
  const auto amount = [](std::uint64_t picoseconds, std::uint64_t unit) {
    Operation op;
    op.amount = picoseconds;
    const std::string text = text_of(one_operation(op), {unit, {}});
    return parse_goal_text(text, 1).ops[0].amount;
  };
  CHECK(amount(1499, 1000) == 1);
  CHECK(amount(1500, 1000) == 2);
  CHECK(amount(1501, 1000) == 2);
  CHECK(amount(max_amount, 1) == max_amount);
  CHECK(amount(4, 3) == 1);
  CHECK(amount(5, 3) == 2);
  CHECK(parse_goal_text(std::string("num_ranks 1\nrank 0 {\ncalc 3\n}"), 1000000).ops[0].amount == 3000000);
}

TEST_CASE("GOAL: what it cannot say is refused by name") {
  Operation op;
  op.kind = OpKind::put;
  CHECK(refusal(one_operation(op), {}).find("rank 0, operation 0 (put): GOAL has no one-sided") == 0);
  op.kind = OpKind::get;
  CHECK(refusal(one_operation(op), {}).find("rank 0, operation 0 (get)") == 0);
  op.kind = OpKind::reduce;
  op.amount = 1000;
  CHECK(refusal(one_operation(op), {}).find("rank 0, operation 0 (reduce): GOAL has send, recv and calc only") == 0);
  CHECK(text_of(one_operation(op), {nanosecond, 2.4}).find("l1: calc 2\n") != std::string::npos);
  op.kind = OpKind::copy;
  CHECK(text_of(one_operation(op), {nanosecond, 2.6}).find("l1: calc 3\n") != std::string::npos);
  op.amount = max_amount;
  CHECK(refusal(one_operation(op), {nanosecond, 2.6}).find("it would take more than") != std::string::npos);
  CHECK_THROWS_AS(text_of(one_operation(op), {nanosecond, -1.0}), InvalidInput);

  RankBuilder rank;
  op = Operation{};
  rank.add(op);
  op.kind = OpKind::send;
  rank.add(op, {{0, 0, 0}, {}});
  ScheduleBuilder out;
  out.set_buffers({{"halo"}, {8}});
  out.append(rank);
  const Schedule halo = out.build();
  CHECK(refusal(halo, {}) == "(accepted)");
  CHECK(parse_goal_text(text_of(halo)).slices.size() == 2);
  CHECK(parse_goal_text(text_of(halo, {nanosecond, 1.0})).slices.empty());
  const std::string_view blocks =
      "num_ranks 1\n\nrank 0 {\nbuffer a 100\nl1: copy 28b blocks 8b at a+48 every -2 into a every 3\n}\n";
  CHECK(text_of(parse_text(blocks)) == blocks);
  const Slices packed = parse_text(blocks).slices[0];
  CHECK((packed.block == 8 && packed.from.stride == -2 && packed.to.stride == 3 && packed.from.offset == 48));
  const auto wrong = [&](std::string_view what, std::string_view by) {
    std::string spoilt(blocks);
    spoilt.replace(spoilt.find(what), what.size(), by);
    return spoilt;
  };
  CHECK_THROWS_WITH_AS(parse_text(wrong(" blocks 8b", "")), doctest::Contains("expected 'blocks'"), GoalError);
  CHECK_THROWS_WITH_AS(parse_text(wrong("every 3", "every x")), doctest::Contains("the number of blocks"), GoalError);
  CHECK_THROWS_WITH_AS(parse_text(wrong("every 3", "every 2147483648")), doctest::Contains("2147483647"), GoalError);
  CHECK_THROWS_WITH_AS(parse_text(wrong("blocks 8b", "blocks 8")), doctest::Contains("'b' after"), GoalError);
  CHECK_THROWS_AS(parse_text(wrong("copy", "reduce")), GoalError);
  CHECK_THROWS_WITH_AS(binary_of(halo), doctest::Contains("binary GOAL has no buffers, but this names 'halo'"),
                       Unsupported);
  CHECK(refusal(Schedule{}, {}).find("at least one rank") != std::string::npos);
}

TEST_CASE("GOAL: communicators become tags") {
  const auto schedule = [](std::uint32_t recv_tag) {
    RankBuilder rank;
    Operation op;
    op.kind = OpKind::send;
    for (const auto& [comm, tag] : {std::pair{7U, 1U}, {0U, 5U}, {7U, 0U}, {0U, 5U}, {2U, 4000000000U}}) {
      op.comm = comm;
      op.tag = tag;
      rank.add(op);
    }
    op.kind = OpKind::recv;
    op.tag = recv_tag;
    op.peer = any_rank;
    rank.add(op);
    ScheduleBuilder out;
    out.append(rank);
    return out.build();
  };
  const Schedule back = parse_text(text_of(schedule(4000000000U)));
  std::vector<std::uint32_t> tags;
  for (const Operation& op : back.ops) tags.push_back(op.tag);
  CHECK(tags == std::vector<std::uint32_t>{3, 0, 2, 0, 1, 1});
  CHECK(back.ops[5].peer == any_rank);
  CHECK(refusal(schedule(any_tag), {}).find("rank 0, operation 5 (recv): GOAL has no communicators") == 0);
}
