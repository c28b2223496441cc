// Teams, and collectives on the memory of a space, against loops.
#include <array>
#include <chrono>
#include <cstring>
#include <numeric>

#include "pgas_ranks.hpp"

namespace isthmus::test {
namespace {

constexpr std::uint64_t room = 1 << 16;  // of a buffer

/// The same random numbers on all ranks of a team.
struct Dice {
  std::mt19937_64 random;
  std::uint64_t below(std::uint64_t limit) { return random() % limit; }
};

std::uint8_t byte_of(std::uint64_t seed, std::uint64_t rank, std::uint64_t i) {
  return static_cast<std::uint8_t>(seed * 131 + rank * 17 + i * 7 + (i >> 8));
}

/// Makes 2 x 2 matrices of remainders: an operator that does not commute.
struct Matrix {
  std::uint32_t a[4];
};
void multiply(const void* left, const void* right, void* out, std::size_t count, void*) {
  const auto* x = static_cast<const Matrix*>(left);
  const auto* y = static_cast<const Matrix*>(right);
  for (std::size_t i = 0; i < count; ++i) {
    Matrix z{};
    for (int r = 0; r < 2; ++r)
      for (int c = 0; c < 2; ++c)
        z.a[2 * r + c] = static_cast<std::uint32_t>(
            (std::uint64_t{x[i].a[2 * r]} * y[i].a[c] + std::uint64_t{x[i].a[2 * r + 1]} * y[i].a[2 + c]) % 65521);
    static_cast<Matrix*>(out)[i] = z;
  }
}

struct Case {
  isthmus_manner manner{};
  isthmus_team* team = nullptr;
  std::uint32_t ranks = 0, me = 0;
  std::uint64_t seed = 0;
};

/// A collective that is under way, and what there must be afterwards on this rank.
struct Under {
  isthmus_event event = 0;
  char* at = nullptr;
  std::vector<std::uint8_t> expected;
  std::string words;
};

void fill(char* at, std::uint64_t seed, std::uint64_t rank, std::uint64_t bytes) {
  for (std::uint64_t i = 0; i < bytes; ++i) at[i] = static_cast<char>(byte_of(seed, rank, i));
}

template <class Of>
std::vector<std::uint8_t> bytes_of(std::uint64_t bytes, const Of& of) {
  std::vector<std::uint8_t> out(bytes);
  for (std::uint64_t i = 0; i < bytes; ++i) out[i] = of(i);
  return out;
}

/// What a loose collective asks for: a barrier before it, or after it.
void meet(Rank& own, const Case& c) {
  isthmus_manner manner{};
  manner.size = sizeof manner;
  manner.team = c.manner.team;
  own.done(isthmus_barrier_of(own.space, &manner), "barrier of the team");
}

/// One that carries out a collective on any number of ranks, in one of the ways to move blocks; or none.
std::string some_algorithm(Dice& dice, std::uint64_t kind) {
  const std::vector<std::vector<std::string>> names = {
      {"binomial", "linear", "ring", "knomial,radix=3", "chain,segment=100", "scatter_allgather", "double_tree"},
      {"binomial", "linear", "knomial,radix=4"},
      {"binomial", "linear", "knomial,radix=3"},
      {"ring", "dissemination", "linear", "bruck"},
      {"pairwise", "linear", "bruck"}};
  constexpr std::array<const char*, 4> accesses = {"", ",access=message", ",access=put", ",access=get"};
  constexpr std::array<const char*, 4> modes = {"", "", ",sync=all-my", ",sync=none"};
  if (kind >= names.size() || dice.below(4) == 0) return "";
  return names[kind][dice.below(names[kind].size())] + accesses[dice.below(4)] + modes[dice.below(4)];
}

/// Begins a random collective on two buffers of its own.
Under begin(Rank& own, Dice& dice, Case& c, std::uint64_t to, std::uint64_t from) {
  const std::uint64_t n = c.ranks, me = c.me;
  const std::uint64_t most = room / n;
  const std::uint64_t bytes = dice.below(4) == 0 ? dice.below(most) : dice.below(std::min<std::uint64_t>(most, 64));
  const auto root = static_cast<std::uint32_t>(dice.below(n));
  isthmus_space* const s = own.space;
  const isthmus_manner* const how = &c.manner;
  Under out;
  const std::uint64_t kind = dice.below(9), seed = c.seed;
  const std::string algorithm = some_algorithm(dice, kind);
  c.manner.algorithm = algorithm.empty() ? nullptr : algorithm.c_str();
  char* const in = static_cast<char*>(isthmus_cast(s, own.rank, from));
  out.at = static_cast<char*>(isthmus_cast(s, own.rank, to));
  out.words = "collective " + std::to_string(kind) + " of " + std::to_string(bytes) + " bytes on " + std::to_string(n);
  const auto say = [&](int status) { own.done(status, out.words); };
  fill(in, seed, me, room);
  const auto enter_loosely = [&] {
    if (c.manner.enter == ISTHMUS_SYNC_NONE) meet(own, c);
  };
  if (kind < 7) enter_loosely();
  switch (kind) {
    case 0:
      say(isthmus_broadcast(s, how, to, root, from, bytes));
      out.expected = bytes_of(bytes, [&](std::uint64_t i) { return byte_of(seed, root, i); });
      break;
    case 1:
      say(isthmus_scatter(s, how, to, root, from, bytes));
      out.expected = bytes_of(bytes, [&](std::uint64_t i) { return byte_of(seed, root, me * bytes + i); });
      break;
    case 2:
      say(isthmus_gather(s, how, root, to, from, bytes));
      if (me == root)
        out.expected = bytes_of(n * bytes, [&](std::uint64_t i) { return byte_of(seed, i / bytes, i % bytes); });
      break;
    case 3:
      say(isthmus_gather_all(s, how, to, from, bytes));
      out.expected = bytes_of(n * bytes, [&](std::uint64_t i) { return byte_of(seed, i / bytes, i % bytes); });
      break;
    case 4:
      say(isthmus_exchange_all(s, how, to, from, bytes));
      out.expected =
          bytes_of(n * bytes, [&](std::uint64_t i) { return byte_of(seed, i / bytes, me * bytes + i % bytes); });
      break;
    case 5: {
      std::vector<std::uint32_t> next(n);
      std::iota(next.begin(), next.end(), 0);
      for (std::uint64_t i = n; i > 1; --i) std::swap(next[i - 1], next[dice.below(i)]);
      say(isthmus_permute(s, how, to, from, bytes, next[me]));
      const auto source = static_cast<std::uint64_t>(std::find(next.begin(), next.end(), me) - next.begin());
      out.expected = bytes_of(bytes, [&](std::uint64_t i) { return byte_of(seed, source, i); });
      break;
    }
    case 6: say(isthmus_barrier_of(s, how)); break;
    default: {
      isthmus_reduction with{};
      with.size = sizeof with;
      with.count = 1 + dice.below(dice.below(2) == 0 ? 3 * n : 200);
      with.block = dice.below(3) == 0 ? (with.count + n - 1) / n : dice.below(5);
      const std::uint64_t block = with.block == 0 ? with.count : with.block;
      const bool by_user = dice.below(3) == 0;
      const std::uint64_t size = by_user ? sizeof(Matrix) : sizeof(std::uint64_t);
      with.element = by_user ? ISTHMUS_BYTES : ISTHMUS_U64;
      with.element_bytes = by_user ? sizeof(Matrix) : 0;
      with.combine = by_user ? multiply : nullptr;
      with.operation = dice.below(2) == 0 ? ISTHMUS_SUM : ISTHMUS_BXOR;
      // Element i as its bytes.
      const auto element = [&](std::uint64_t i) {
        std::vector<std::uint8_t> bytes_in(size);
        if (by_user) {
          Matrix m{};
          for (std::uint32_t k = 0; k < 4; ++k) m.a[k] = byte_of(seed, i, k) + 1;
          std::memcpy(bytes_in.data(), &m, size);
        } else {
          const std::uint64_t value = seed * 1000003 + i * i;
          std::memcpy(bytes_in.data(), &value, size);
        }
        return bytes_in;
      };
      const auto offset = [&](std::uint64_t i) { return (i / block / n * block + i % block) * size; };
      std::vector<std::uint8_t> sum = element(0);
      const bool prefix = kind == 8;
      std::vector<std::uint8_t> wanted(room);
      for (std::uint64_t i = 0; i < with.count; ++i) {
        const std::vector<std::uint8_t> next = element(i);
        if (i / block % n == me) std::memcpy(in + offset(i), next.data(), size);
        if (i > 0 && by_user) {
          multiply(sum.data(), next.data(), sum.data(), 1, nullptr);
        } else if (i > 0) {
          std::uint64_t left = 0, right = 0;
          std::memcpy(&left, sum.data(), size);
          std::memcpy(&right, next.data(), size);
          left = with.operation == ISTHMUS_SUM ? left + right : left ^ right;
          std::memcpy(sum.data(), &left, size);
        }
        if (prefix && i / block % n == me) {
          std::memcpy(wanted.data() + offset(i), sum.data(), size);
          if (out.expected.size() < offset(i) + size) out.expected.resize(offset(i) + size);
        }
      }
      if (prefix) std::copy_n(wanted.begin(), out.expected.size(), out.expected.begin());
      else if (me == root) out.expected = sum;
      out.words += ", " + std::to_string(with.count) + " elements in blocks of " + std::to_string(with.block);
      c.manner.algorithm = nullptr;
      enter_loosely();
      say(prefix ? isthmus_prefix_reduce(s, how, to, from, &with) : isthmus_reduce(s, how, root, to, from, &with));
    }
  }
  c.manner.algorithm = nullptr;
  return out;
}

void look(Rank& own, Under& under) {
  own.expect(std::equal(under.expected.begin(), under.expected.end(), reinterpret_cast<const std::uint8_t*>(under.at)),
             under.words);
}

/// The space's own team and groups of it that this rank is in.
struct Teams {
  explicit Teams(Rank& of) : own(of) {
    isthmus_team* const all = isthmus_space_team(own.space);
    isthmus_team* part = nullptr;
    own.done(isthmus_split(all, own.rank % 2, -static_cast<std::int64_t>(own.rank), &part), "split");
    made.push_back(part);
    std::vector<std::uint32_t> upper;
    for (std::uint32_t r = own.ranks; r-- > own.ranks / 3;) upper.push_back(r);
    if (own.rank >= own.ranks / 3) {
      own.done(isthmus_group(all, upper.data(), static_cast<std::uint32_t>(upper.size()), 0, &part), "group");
      made.push_back(part);
    }
  }
  ~Teams() {
    for (isthmus_team* team : made) isthmus_leave(team);
  }
  Rank& own;
  std::vector<isthmus_team*> made;
};

constexpr std::array<isthmus_sync, 4> syncs = {ISTHMUS_SYNC_DEFAULT, ISTHMUS_SYNC_NONE, ISTHMUS_SYNC_MY,
                                               ISTHMUS_SYNC_ALL};

void work(Rank& own, int times) {
  constexpr std::uint32_t most = 6;
  Teams teams(own);
  std::array<std::uint64_t, most> to{}, from{};
  for (std::uint32_t k = 0; k < most; ++k) {
    own.done(isthmus_allocate_all(own.space, room, &to[k]), "allocate");
    own.done(isthmus_allocate_all(own.space, room, &from[k]), "allocate");
  }
  std::vector<isthmus_team*> all{nullptr};
  all.insert(all.end(), teams.made.begin(), teams.made.end());
  for (int turn = 0; turn < times && own.wrong.empty(); ++turn) {
    for (isthmus_team* const team : all) {
      Case c;
      c.team = team == nullptr ? isthmus_space_team(own.space) : team;
      c.ranks = isthmus_ranks(c.team);
      c.me = isthmus_rank(c.team);
      Dice dice{std::mt19937_64(1000 * static_cast<std::uint64_t>(turn) + (team == all[0]   ? 0
                                                                           : team == all[1] ? 1
                                                                                            : 2))};
      std::vector<Under> under;
      const std::uint64_t count = 1 + dice.below(most);
      for (std::uint64_t k = 0; k < count && own.wrong.empty(); ++k) {
        c.seed = dice.below(1 << 30);
        c.manner.size = sizeof c.manner;
        c.manner.team = team;
        c.manner.enter = syncs[dice.below(4)];
        c.manner.leave = syncs[dice.below(4)];
        const bool waits = dice.below(3) == 0;
        isthmus_event event = 0;
        c.manner.event = waits ? nullptr : &event;
        under.push_back(begin(own, dice, c, to[k], from[k]));
        under.back().event = event;
        if (own.below(8) == 0) std::this_thread::sleep_for(std::chrono::microseconds(own.below(300)));
        if (!waits) continue;
        own.done(isthmus_wait_event(own.space, &under.back().event), "wait");
        if (c.manner.leave == ISTHMUS_SYNC_NONE) meet(own, c);
        look(own, under.back());
      }
      for (Under& one : under)
        if (own.below(2) == 0) own.done(isthmus_wait_event(own.space, &one.event), "wait");
        else
          while (isthmus_test_event(own.space, &one.event) == ISTHMUS_IN_PROGRESS) std::this_thread::yield();
      meet(own, c);
      for (Under& one : under) look(own, one);
    }
  }
  own.barrier();
}

TEST_CASE("collectives on a space move what loops move, with any number under way") {
  std::vector<Shape> all = shapes();
  all.insert(all.end(), {{16}, {16, 5}});
  for (const Shape& shape : all) {
    CAPTURE(shape.ranks);
    CAPTURE(shape.per_node);
    on_ranks(shape, [](Rank& own) { work(own, own.ranks > 8 ? 1 : own.ranks > 4 ? 2 : 8); });
  }
}

TEST_CASE("teams are split by colour and key, and their ranks are translated") {
  for (const Shape& shape : shapes()) {
    on_ranks(shape, [](Rank& own) {
      isthmus_team* const all = isthmus_space_team(own.space);
      isthmus_team *part = nullptr, *none = all, *again = nullptr;
      own.done(isthmus_split(all, own.rank % 3, own.ranks - own.rank, &part), "split");
      own.done(isthmus_split(all, own.rank == 0 ? 7 : -1, 0, &none), "split");
      own.expect((none == nullptr) == (own.rank != 0), "a colour below 0 is no team");
      std::vector<std::uint32_t> members;
      for (std::uint32_t r = own.ranks; r-- > 0;)
        if (r % 3 == own.rank % 3) members.push_back(r);
      own.expect(isthmus_ranks(part) == members.size(), "ranks");
      for (std::uint32_t i = 0; i < members.size(); ++i) {
        std::uint32_t found = 0;
        own.done(isthmus_translate(part, i, all, &found), "translate");
        own.expect(found == members[i], "a rank of the part in the whole");
        own.done(isthmus_translate(all, members[i], part, &found), "translate");
        own.expect(found == i, "a rank of the whole in the part");
      }
      for (std::uint32_t r = 0; r < own.ranks; ++r) {
        std::uint32_t found = 0;
        own.done(isthmus_translate(all, r, part, &found), "translate");
        if (r % 3 != own.rank % 3) own.expect(found == ISTHMUS_NO_RANK, "a rank that is not in the part");
      }
      std::uint32_t found = 0;
      own.expect(isthmus_translate(all, own.ranks, part, &found) == ISTHMUS_INVALID, "a rank that there is not");
      // A part of a part; where keys are equal, in order.
      own.done(isthmus_split(part, isthmus_rank(part) / 2, 5, &again), "split");
      own.expect(isthmus_rank(again) == isthmus_rank(part) % 2, "rank in a part of a part");
      for (isthmus_team* team : {again, none, part}) isthmus_leave(team);
    });
  }
}

/// Pairs of ranks make groups in orders of their own: numbers never meet.
TEST_CASE("groups that agree on numbers are made while others are") {
  for (const Shape& shape : {Shape(4), Shape(5, 2)}) {
    on_ranks(shape, [](Rank& own) {
      isthmus_team* const all = isthmus_space_team(own.space);
      std::vector<isthmus_team*> made;
      // Every pair, in an order in which the pairs of a rank are in its order of others.
      for (std::uint32_t sum = 1; sum < 2 * own.ranks; ++sum)
        for (std::uint32_t low = 0; 2 * low < sum; ++low) {
          const std::uint32_t high = sum - low;
          if (high >= own.ranks || (own.rank != low && own.rank != high)) continue;
          const std::array<std::uint32_t, 2> pair{high, low};
          made.push_back(nullptr);
          own.done(isthmus_group(all, pair.data(), 2, 0, &made.back()), "group");
        }
      for (int turn = 0; turn < 3; ++turn)
        for (isthmus_team* team : made) {
          isthmus_call sum{};
          sum.size = sizeof sum;
          sum.kind = ISTHMUS_ALLREDUCE;
          sum.element = ISTHMUS_U64;
          sum.count = 1;
          sum.enter = turn == 0 ? ISTHMUS_SYNC_ALL : ISTHMUS_SYNC_DEFAULT;
          std::uint64_t mine = own.rank + 1, found = 0, wanted = 0;
          for (std::uint32_t r = 0; r < 2; ++r) {
            std::uint32_t of_all = 0;
            own.done(isthmus_translate(team, r, all, &of_all), "translate");
            wanted += of_all + 1;
          }
          own.done(isthmus_run(team, &sum, &mine, &found), "sum");
          own.expect(found == wanted, "the sum of a pair");
        }
      for (isthmus_team* team : made) isthmus_leave(team);
    });
  }
}

/// Whoever enters late is waited for where all enter, and whoever leaves does so after all are done.
TEST_CASE("strict collectives are barriers, loose ones are none") {
  on_ranks(4, [](Rank& own) {
    std::uint64_t flag = 0, to = 0, from = 0;
    own.done(isthmus_allocate_all(own.space, 64, &flag), "allocate");
    own.done(isthmus_allocate_all(own.space, 64, &to), "allocate");
    own.done(isthmus_allocate_all(own.space, 64, &from), "allocate");
    isthmus_manner manner{};
    manner.size = sizeof manner;
    for (const isthmus_sync enter : syncs)
      for (const isthmus_sync leave : syncs) {
        const bool strict = enter == ISTHMUS_SYNC_DEFAULT || enter == ISTHMUS_SYNC_ALL ||
                            leave == ISTHMUS_SYNC_DEFAULT || leave == ISTHMUS_SYNC_ALL;
        const std::uint64_t zero = 0;
        own.done(isthmus_put(own.space, own.rank, flag, &zero, 8), "put");
        own.barrier();
        manner.enter = enter;
        manner.leave = leave;
        // Rank 3 comes last: before that nobody is through a strict one, and rank 0 is through a loose one.
        if (own.rank == 3 && strict) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          for (std::uint32_t r = 0; r < own.ranks; ++r)
            own.done(isthmus_put_signal(own.space, r, flag, nullptr, 0, flag, 1), "signal");
        } else if (own.rank == 3) {
          own.done(isthmus_wait_signal(own.space, flag, 1), "rank 0 is through");
        }
        own.done(isthmus_broadcast(own.space, &manner, to, 0, from, 8), "broadcast");
        std::uint64_t seen = 0;
        own.done(isthmus_atomic(own.space, own.rank, flag, ISTHMUS_U64, ISTHMUS_ATOMIC_READ, nullptr, nullptr, &seen),
                 "atomic");
        if (strict) own.expect(seen == 1, "a rank left a strict broadcast before the last one had come");
        if (!strict && own.rank == 0) own.done(isthmus_put_signal(own.space, 3, flag, nullptr, 0, flag, 1), "signal");
        own.barrier();
      }
  });
}

/// What leaves without waiting has been put where it belongs, whether the others have come or not.
TEST_CASE("loose collectives by put or get wait for nobody") {
  on_ranks(4, [](Rank& own) {
    Teams teams(own);
    std::uint64_t flag = 0, to = 0, from = 0;
    own.done(isthmus_allocate_all(own.space, 64, &flag), "allocate");
    own.done(isthmus_allocate_all(own.space, room, &to), "allocate");
    own.done(isthmus_allocate_all(own.space, room, &from), "allocate");
    const auto* const at = static_cast<const std::uint64_t*>(isthmus_cast(own.space, own.rank, to));
    std::uint64_t round = 0;
    const auto begin = [&](isthmus_team* team, bool gets, const char* algorithm) {
      ++round;
      auto* const own_from = static_cast<std::uint64_t*>(isthmus_cast(own.space, own.rank, from));
      for (std::uint64_t i = 0; i < 64; ++i) own_from[i] = 1000 * round + i;
      isthmus_manner manner{};
      manner.size = sizeof manner;
      manner.team = team;
      manner.enter = manner.leave = ISTHMUS_SYNC_NONE;
      manner.algorithm = algorithm;
      own.barrier();
      const std::uint32_t me = isthmus_rank(team), first = 0, last = isthmus_ranks(team) - 1;
      std::uint32_t of_all = 0;
      // By put the root is through first, and the last rank finds its block before it enters; by get the other way.
      const std::uint32_t early = gets ? last : first;
      if (me == early) own.done(isthmus_scatter(own.space, &manner, to, first, from, 8), "scatter");
      for (std::uint32_t r = 0; me == early && r <= last; ++r) {
        own.done(isthmus_translate(team, r, isthmus_space_team(own.space), &of_all), "translate");
        if (r != early) own.done(isthmus_put_signal(own.space, of_all, flag, nullptr, 0, flag, round), "signal");
      }
      if (me != early) own.done(isthmus_wait_signal(own.space, flag, round), "wait");
      if (me == last) own.expect(*at == 1000 * round + last, "the block of the last rank");
      if (me != early) own.done(isthmus_scatter(own.space, &manner, to, first, from, 8), "scatter");
      own.barrier();
      own.expect(*at == 1000 * round + me, "a block");
      own.barrier();
      const std::uint64_t zero = 0;
      own.done(isthmus_put(own.space, own.rank, flag, &zero, 8), "put");
      own.barrier();
    };
    for (isthmus_team* team : {isthmus_space_team(own.space), teams.made[0]}) {
      begin(team, false, nullptr);
      begin(team, false, "linear,access=put");
      begin(team, true, "linear,access=get");
    }
  });
}

TEST_CASE("loose collectives follow the table of their team") {
  on_ranks(2, [](Rank& own) {
    isthmus_team* const all = isthmus_space_team(own.space);
    std::uint64_t flag = 0, place = 0;
    own.done(isthmus_allocate_all(own.space, 64, &flag), "allocate");
    own.done(isthmus_allocate_all(own.space, 64, &place), "allocate");
    const auto* const at = static_cast<const std::uint64_t*>(isthmus_cast(own.space, own.rank, place));
    isthmus_manner manner{};
    manner.size = sizeof manner;
    manner.enter = manner.leave = ISTHMUS_SYNC_NONE;
    std::uint64_t number = 0;
    // Whether the other rank has the bytes before it enters.
    const auto early = [&] {
      const std::uint64_t value = own.rank == 0 ? ++number : (++number, 0), zero = 0;
      own.done(isthmus_put(own.space, own.rank, place, &value, 8), "put");
      own.done(isthmus_put(own.space, own.rank, flag, &zero, 8), "put");
      own.barrier();
      bool there = false;
      if (own.rank == 0) {
        own.done(isthmus_broadcast(own.space, &manner, place, 0, place, 8), "broadcast");
        own.done(isthmus_put_signal(own.space, 1, flag, nullptr, 0, flag, 1), "signal");
      } else {
        own.done(isthmus_wait_signal(own.space, flag, 1), "wait");
        there = *at == number;
        own.done(isthmus_broadcast(own.space, &manner, place, 0, place, 8), "broadcast");
      }
      own.barrier();
      own.expect(*at == number, "the bytes of the root");
      own.barrier();
      return own.rank == 0 || there;
    };
    const auto follow = [&](const std::string& algorithm) {
      runtime::DecisionTable table =
          runtime::DecisionTable::parse("isthmus decisions 1\nfor bcast 2 from\nrule 0 " + algorithm + "\n", "table");
      all->use(&table, "table");
    };
    own.expect(early(), "put, as is usual");
    follow("binomial,access=message");
    own.expect(own.rank == 0 || !early(), "by messages");
    if (own.rank == 0) early();
    follow("binomial,access=put,sync=none");
    own.expect(early(), "put by the table");
    all->use(nullptr, "");
    own.expect(early(), "put again");
  });
}

/// Places of words and scratch are used again and again, by ranks that are ahead and ranks that lag behind.
TEST_CASE("thousands of collectives by put and get, many under way") {
  for (const std::uint32_t ranks : {2U, 3U, 5U}) {
    on_ranks(ranks, [](Rank& own) {
      constexpr std::uint32_t flight = 40;
      std::uint64_t to = 0, from = 0;
      own.done(isthmus_allocate_all(own.space, 8 * 16 * flight, &to), "allocate");
      own.done(isthmus_allocate_all(own.space, 8 * 16 * flight, &from), "allocate");
      auto* const in = static_cast<std::uint64_t*>(isthmus_cast(own.space, own.rank, from));
      const auto* const out = static_cast<const std::uint64_t*>(isthmus_cast(own.space, own.rank, to));
      const std::array<const char*, 4> algorithms = {"linear,access=put", "binomial,access=put", "binomial,access=get",
                                                     "ring,access=put"};
      for (std::uint64_t turn = 0; turn < 60 && own.wrong.empty(); ++turn) {
        std::array<isthmus_event, flight> events{};
        for (std::uint64_t k = 0; k < flight; ++k) {
          in[k] = 1000000 * own.rank + 1000 * turn + k;
          isthmus_manner manner{};
          manner.size = sizeof manner;
          manner.enter = manner.leave = ISTHMUS_SYNC_MY;
          manner.event = &events[k];
          if (k % 3 == 2) {
            isthmus_reduction sum{};
            sum.size = sizeof sum;
            sum.element = ISTHMUS_U64;
            sum.operation = ISTHMUS_SUM;
            sum.count = own.ranks;
            sum.block = 1;
            own.done(isthmus_reduce(own.space, &manner, static_cast<std::uint32_t>(k % own.ranks), to + 8 * k,
                                    from + 8 * k, &sum),
                     "reduce");
          } else {
            manner.algorithm = algorithms[k % 4];
            own.done(isthmus_broadcast(own.space, &manner, to + 8 * k, static_cast<std::uint32_t>(k % own.ranks),
                                       from + 8 * k, 8),
                     "broadcast");
          }
          if (own.below(200) == 0) std::this_thread::sleep_for(std::chrono::microseconds(own.below(300)));
        }
        for (isthmus_event& event : events) own.done(isthmus_wait_event(own.space, &event), "wait");
        for (std::uint64_t k = 0; k < flight; ++k) {
          const std::uint64_t root = k % own.ranks, one = 1000 * turn + k;
          std::uint64_t wanted = 1000000 * root + one;
          if (k % 3 == 2) wanted = 1000000 * (own.ranks * (own.ranks - 1) / 2) + own.ranks * one;
          if (k % 3 != 2 || root == own.rank) own.expect(out[k] == wanted, "collective " + std::to_string(k));
        }
      }
      own.barrier();
    });
  }
}

TEST_CASE("a space is left with a collective that was begun and never waited for") {
  on_ranks(3, [](Rank& own) {
    std::uint64_t place = 0;
    own.done(isthmus_allocate_all(own.space, 64, &place), "allocate");
    isthmus_event event = 0;
    isthmus_manner manner{};
    manner.size = sizeof manner;
    manner.enter = manner.leave = ISTHMUS_SYNC_NONE;
    manner.algorithm = "linear,access=put";
    manner.event = &event;
    own.barrier();
    own.done(isthmus_broadcast(own.space, &manner, place, 0, place, 8), "broadcast");
  });
}

TEST_CASE("wrong collectives on a space are refused in words") {
  on_ranks(3, [](Rank& own) {
    const auto says = [&](int status, const char* words) {
      own.expect(status == ISTHMUS_INVALID && std::string(isthmus_last_error()).find(words) != std::string::npos,
                 words);
    };
    isthmus_space* const s = own.space;
    says(isthmus_broadcast(s, nullptr, 0, 3, 64, 8), "root 3 does not exist: there are 3 ranks");
    says(isthmus_scatter(s, nullptr, 24, 0, 16, 8), "bytes [16, 40) are read");
    says(isthmus_gather_all(s, nullptr, 0, 8, 8), "which overlap");
    says(isthmus_exchange_all(s, nullptr, 0, UINT64_MAX - 8, 8), "are outside the space");
    says(isthmus_exchange_all(s, nullptr, 0, 1024, UINT64_MAX / 2), "are outside the space");
    says(isthmus_permute(s, nullptr, 0, 64, 8, own.rank / 2), "isthmus_permute: ranks 0 and 1 send to rank 0");
    says(isthmus_permute(s, nullptr, 0, 64, 8, own.rank + 1), "rank 2 sends to rank 3");
    isthmus_reduction with{};
    with.size = sizeof with;
    says(isthmus_reduce(s, nullptr, 0, 0, 64, &with), "count = 0: must be at least 1");
    with.count = 5;
    says(isthmus_reduce(s, nullptr, 0, 64, 64, &with), "which overlap");
    isthmus_event event = UINT64_C(1) << 63;
    says(isthmus_wait_event(s, &event), "it was waited for before, or not begun in this space");
    isthmus_call call{};
    call.size = sizeof call;
    call.kind = ISTHMUS_BARRIER;
    call.apart = 1;
    says(isthmus_run(isthmus_space_team(s), &call, nullptr, nullptr), "apart: of bcast only");
    const std::uint32_t all[] = {0, 1, 2};
    isthmus_team* group = nullptr;
    says(isthmus_group(isthmus_space_team(s), all, 3, 0x80000000, &group), "number = 2147483648: must be below");
    own.barrier();
  });
}

}  // namespace
}  // namespace isthmus::test
