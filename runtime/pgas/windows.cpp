#include "runtime/pgas/windows.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "runtime/pgas/space.hpp"

namespace isthmus::runtime {
namespace {

using Clock = std::chrono::steady_clock;

enum class Wanted : std::uint8_t { never, automatic, always, unknown };

Wanted wanted() {
  const char* const given = std::getenv("ISTHMUS_WINDOWS");
  const std::string_view name = given == nullptr ? "auto" : given;
  if (name == "never") return Wanted::never;
  if (name == "always") return Wanted::always;
  return name == "auto" ? Wanted::automatic : Wanted::unknown;
}

/// Memory for a window that is tried, of which the first page is touched.
class Scratch {
 public:
  struct Words {
    std::atomic<std::uint64_t> state;  ///< of the rank that computes
    std::uint64_t counter;
    std::array<std::uint64_t, 32> puts;
  };
  static constexpr std::uint64_t computes = 1, has_computed = 2;

  Scratch() : at_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (at_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~Scratch() { ::munmap(at_, bytes); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] Words& words() const { return *static_cast<Words*>(at_); }
  [[nodiscard]] std::byte* memory() const { return static_cast<std::byte*>(at_); }
  /// Whether somebody has taken its pages.
  [[nodiscard]] bool is_taken() const {
    std::array<unsigned char, bytes / page> resident{};
    if (::mincore(at_, bytes, resident.data()) != 0) return true;
    return std::any_of(resident.begin() + 1, resident.end(), [](unsigned char one) { return (one & 1) != 0; });
  }
  static constexpr std::size_t bytes = 1 << 20;

 private:
  static constexpr std::size_t page = 4096;
  void* at_;
};

class Trial {
 public:
  Trial(isthmus_space& space, MpiTransport& far, std::vector<Rank> members)
      : space_(space), far_(far), members_(std::move(members)) {}

  /// What goes through windows. Collective, as all here.
  Windows::Use use() {
    Windows::Use found;
    const Scratch scratch;
    const std::unique_ptr<Window> window = open(scratch.memory(), Scratch::bytes);
    const bool any = window != nullptr && !scratch.is_taken();
    const std::vector<std::uint8_t> all = said<std::uint8_t>(any ? 1 : 0);
    if (std::find(all.begin(), all.end(), 0) != all.end()) return found;
    const Rank other = said(first_far())[0];
    constexpr int rounds = 3;  // another process may have the processor meanwhile
    for (int round = 0; round < rounds && !found.alone; ++round) {
      scratch.words().state = 0;
      said(round);
      {
        const Hold hold(space_.team.progress);
        if (space_.head.rank == other) compute(scratch.words());
        if (space_.head.rank == 0) found = alone(*window, scratch.words(), other);
      }
      found = said(found)[0];
    }
    {
      const Hold hold(space_.team.progress);
      Control& own = space_.segments.control(space_.head.rank);
      if (space_.head.rank == other) space_.wait_until([&] { return own.tried.exchange(0) != 0; });
      if (space_.head.rank == 0) found = faster(*window, scratch.words(), other, found);
    }
    return said(found)[0];
  }

  /// Refuses windows of so much memory of each rank where MPI takes it all and a node has less. Throws Unsupported.
  void has_room(std::uint64_t bytes, Rank near) {
    const Scratch scratch;
    const std::unique_ptr<Window> window = open(scratch.memory(), Scratch::bytes);
    struct statvfs memory{};
    const bool lacks = window != nullptr && scratch.is_taken() && ::statvfs("/dev/shm", &memory) == 0 &&
                       bytes > memory.f_bavail * memory.f_frsize / near;
    const std::vector<std::uint8_t> all = said<std::uint8_t>(lacks ? 1 : 0);
    const auto rank = std::find(all.begin(), all.end(), 1) - all.begin();
    if (static_cast<std::size_t>(rank) < all.size())
      throw Unsupported(
          message("ISTHMUS_WINDOWS=always: the MPI library takes all memory of a window when it is made, ", bytes,
                  " bytes of each rank, and /dev/shm of rank ", rank,
                  " has less: set ISTHMUS_SEGMENT to what the program needs"));
  }

  /// Null where not all have it.
  std::unique_ptr<Window> open(std::byte* memory, std::uint64_t bytes) {
    said(std::uint8_t{0});  // nobody waits for this rank while it waits in MPI
    std::unique_ptr<Window> window;
    {
      const Hold hold(space_.team.progress);
      window = Window::open(far_, members_, memory, bytes);
    }
    const std::vector<std::uint8_t> all = said<std::uint8_t>(window == nullptr ? 0 : 1);
    if (std::find(all.begin(), all.end(), 0) == all.end()) return window;
    static_cast<void>(window.release());  // to close it takes all
    return nullptr;
  }

  /// What all ranks say.
  template <class T>
  std::vector<T> said(const T& mine) {
    std::vector<T> all(space_.team.ranks);
    gather_all(&space_.team, &mine, all.data(), sizeof mine);
    return all;
  }

 private:
  [[nodiscard]] Rank first_far() const {
    Rank r = 0;
    while (r < space_.team.ranks && space_.segments.is_near(r)) ++r;
    return r;
  }

  static void compute(Scratch::Words& words) {
    using namespace std::chrono_literals;
    words.state = Scratch::computes;
    for (const auto begin = Clock::now(); Clock::now() - begin < 2ms;) ::sched_yield();
    words.state = Scratch::has_computed;
  }

  static std::uint64_t place(const Scratch::Words& own, const void* word) {
    return static_cast<std::uint64_t>(static_cast<const char*>(word) - reinterpret_cast<const char*>(&own));
  }

  /// What is done while the other rank computes.
  Windows::Use alone(Window& window, const Scratch::Words& own, Rank other) {
    const auto state = [&] {
      std::uint64_t found = 0;
      window.get(other, place(own, &own.state), &found, sizeof found);
      window.flush(other);
      return found;
    };
    Windows::Use found;
    std::uint64_t before = 0;
    while (before == 0 && far_.failure().empty()) before = state();
    if (before != Scratch::computes) return found;
    put(window, own, other, own.puts.size());
    found.alone = state() == Scratch::computes;
    if (!found.alone || !Window::can_change(far_)) return found;
    add(window, own, other);
    found.atomics = state() == Scratch::computes;
    return found;
  }

  /// What takes less time than messages, where the other rank waits for both.
  Windows::Use faster(Window& window, const Scratch::Words& own, Rank other, Windows::Use found) {
    const auto letters = [&](std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) space_.far->begin_set(other, 0, 0, 0, true);
      space_.wait_until([&] { return space_.far->is_implicit_done(); });
    };
    const std::size_t many = own.puts.size();
    const bool one_faster = is_faster([&] { put(window, own, other, 1); }, [&] { letters(1); });
    found.transfers = found.alone || one_faster;
    found.begun = found.alone && is_faster([&] { put(window, own, other, many); }, [&] { letters(many); });
    if (Window::can_change(far_) && !found.atomics)
      found.atomics = is_faster([&] { add(window, own, other); },
                                [&] { space_.far->atomic(other, 0, ISTHMUS_U64, ISTHMUS_ATOMIC_READ, 0, 0); });
    const Control& alike = space_.segments.control(space_.head.rank);
    space_.far->store(
        other,
        static_cast<std::uint64_t>(reinterpret_cast<const char*>(&alike.tried) - reinterpret_cast<const char*>(&alike)),
        1);
    return found;
  }

  /// In turns, as MPI libraries connect while they are used.
  template <class F, class G>
  static bool is_faster(const F& one, const G& other) {
    constexpr int times = 64;
    Clock::duration least = Clock::duration::max(), others = Clock::duration::max();
    const auto add_to = [](Clock::duration& found, const auto& work) {
      const auto begin = Clock::now();
      work();
      found = std::min<Clock::duration>(found, Clock::now() - begin);
    };
    for (int i = 0; i < times; ++i) {
      add_to(least, one);
      add_to(others, other);
    }
    return least < others;
  }

  static void put(Window& window, const Scratch::Words& own, Rank other, std::size_t count) {
    const std::uint64_t value = 0;
    for (std::size_t i = 0; i < count; ++i) window.put(other, place(own, &own.puts[i]), &value, sizeof value);
    window.flush(other);
  }
  static void add(Window& window, const Scratch::Words& own, Rank other) {
    window.change(other, place(own, &own.counter), ISTHMUS_U64, ISTHMUS_ATOMIC_ADD, 1, 0);
  }

  isthmus_space& space_;
  MpiTransport& far_;
  std::vector<Rank> members_;
};

}  // namespace

std::unique_ptr<Windows> Windows::of(isthmus_space& space, MpiTransport& far) {
  const Rank ranks = space.team.ranks;
  std::vector<Rank> members(ranks);
  Rank near = 0;
  for (Rank r = 0; r < ranks; ++r) {
    members[r] = space.team.member(r);
    if (space.segments.is_near(r)) ++near;
  }
  Trial trial(space, far, members);
  struct Said {
    Wanted wanted;
    bool is_alone;  ///< it shares memory with no other rank
  };
  const std::vector<Said> all = trial.said(Said{runtime::wanted(), near == 1});
  for (Rank r = 0; r < ranks; ++r) {
    require(all[r].wanted != Wanted::unknown, "ISTHMUS_WINDOWS of rank ", r, ": must be auto, always or never");
    require(all[r].wanted == all[0].wanted, "ISTHMUS_WINDOWS of rank ", r, " is not that of rank 0");
  }
  const Wanted how = all[0].wanted;
  if (how == Wanted::never || !Window::can_be(far)) return nullptr;
  // Over such a network everything takes longer than to wake the other rank.
  if (how == Wanted::automatic && far.is_network()) return nullptr;
  const std::uint64_t bytes = space.segments.sizes().symmetric + space.segments.sizes().local;
  if (how == Wanted::always) trial.has_room(bytes, near);
  Use use = how == Wanted::always ? Use{true, true, true, true} : trial.use();
  const bool all_alone = std::all_of(all.begin(), all.end(), [](const Said& said) { return said.is_alone; });
  use.atomics = use.atomics && all_alone && Window::can_change(far);
  if (!use.transfers) return nullptr;
  std::unique_ptr<Window> window = trial.open(space.segments.memory(space.team.rank), bytes);
  if (window == nullptr) return nullptr;
  return std::unique_ptr<Windows>(new Windows(far, std::move(window), use, ranks));
}

void Windows::check() const {
  if (!far_.failure().empty()) throw Failed(far_.failure());
}

void Windows::put(Rank rank, std::uint64_t at, const void* from, std::uint64_t bytes) {
  window_->put(rank, at, from, bytes);
  check();
}

void Windows::get(Rank rank, std::uint64_t at, void* to, std::uint64_t bytes) {
  window_->get(rank, at, to, bytes);
  check();
}

void Windows::flush(Rank rank) {
  window_->flush(rank);
  check();
}

void Windows::mark(Rank rank) {
  if (is_marked_[rank]) return;
  is_marked_[rank] = true;
  marked_.push_back(rank);
}

void Windows::settle() {
  while (!marked_.empty()) {
    const Rank rank = marked_.back();
    marked_.pop_back();
    is_marked_[rank] = false;
    flush(rank);
  }
}

void Windows::settle_here() {
  for (const Rank rank : marked_) window_->flush_local(rank);
  check();
}

std::uint64_t Windows::change(Rank rank, std::uint64_t at, std::uint32_t element, std::uint32_t operation,
                              std::uint64_t operand, std::uint64_t expected) {
  const std::uint64_t before = window_->change(rank, at, element, operation, operand, expected);
  check();
  return before;
}

}  // namespace isthmus::runtime
