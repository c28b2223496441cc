// Collectives on the memory of a space that are under way: schedules of the registry, as any team carries them out.
// What takes several of them, or combines elements between them, is a chain, which goes on in calls of the team.
#pragma once

#include <isthmus/isthmus_pgas.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct isthmus_operation;

namespace isthmus::runtime {

class Board;
class Direct;
struct Recipe;

/// Collectives of a team one after the other, with work of this rank between them.
class Chain {
 public:
  /// At most so many collectives, up to three. All ranks of the team make it at the same place among its collectives.
  Chain(isthmus_team& team, std::uint32_t most);
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;
  virtual ~Chain() = default;

  /// Goes on as far as can be; whether it has ended.
  bool go_on();
  /// Once it has ended.
  int status();
  [[nodiscard]] isthmus_team& team() const { return team_; }
  /// Ends where a rank has left that is to take part; to be called now and then by who waits.
  void look_who_left();
  [[nodiscard]] bool is_lost() const { return is_lost_; }
  [[nodiscard]] const std::string& words() const { return words_; }
  /// Whether none of its collectives is under way.
  [[nodiscard]] bool is_between() const { return own_ == nullptr; }

 protected:
  /// Does what comes next and begins a collective; false: that was all. Throws InvalidInput and
  /// Unsupported, the same on all ranks.
  virtual bool next() = 0;
  /// Whether next() may be called now.
  virtual bool is_ready() { return true; }
  void begin(const isthmus_call& call, const void* input, void* output);
  /// One by accesses, which begins later: all ranks reserve it at the same place among the collectives of the team.
  Direct& reserve(Board& board, Recipe& recipe);
  void begin(Direct& direct, const void* input, void* output);
  /// It is one of the collectives of a board; null: of none.
  void begin_on(Board* board);

 private:
  void end(int status, const std::string& words);
  /// Ends where a rank has died.
  bool has_failed();

  isthmus_team& team_;
  std::array<std::uint32_t, 3> contexts_{};  // taken in the order in which ranks make chains
  std::uint32_t used_ = 0, most_;
  isthmus_operation* own_ = nullptr;
  Direct* direct_ = nullptr;
  const Board* on_ = nullptr;
  std::uint64_t number_ = 0;  // which one it is there
  bool ended_ = false, is_lost_ = false;
  int status_ = ISTHMUS_DONE;
  std::string words_;
};

class Joint {
 public:
  [[nodiscard]] static bool is_joint(isthmus_event event) { return (event & mark) != 0; }

  /// A collective that has been started, the one of this number on a board if that is not null. `event` null: waits for
  /// it. As what may be called returns.
  int add(isthmus_operation& operation, const Board* on, std::uint64_t number, isthmus_event* event) {
    return add(Under{&operation, nullptr, on, number}, event);
  }
  int add(std::unique_ptr<Chain> chain, isthmus_event* event) {
    chain->go_on();
    return add(Under{nullptr, std::move(chain), nullptr}, event);
  }
  /// Until it has ended.
  int wait(Chain& chain);
  /// Both set an event that is done to 0.
  int test(isthmus_event& event);
  int wait(isthmus_event& event);
  /// Goes on with chains.
  void go_on();
  [[nodiscard]] bool has_chains() const { return !chains_.empty(); }
  /// Before its memory goes: where a rank left during a collective, the team does nothing any more.
  void leave(isthmus_team& team) const;

 private:
  static constexpr isthmus_event mark = isthmus_event{1} << 63;
  /// Looks in vain after which it is seen whether all ranks live and are there.
  static bool is_time_to_watch(std::uint32_t looks) { return looks != 0 && looks % 1024 == 0; }

  struct Under {
    isthmus_operation* operation = nullptr;
    std::unique_ptr<Chain> chain;
    const Board* on = nullptr;  ///< of an operation
    std::uint64_t number = 0;   ///< which one it is there
    std::uint32_t uses = 0;     ///< of its number, which events tell apart
    [[nodiscard]] isthmus_team& team() const;
    int look();
  };
  /// Throws Failed.
  void look_who_left(Under& under);
  void drop(std::unique_ptr<Chain> chain);

  int add(Under under, isthmus_event* event);
  int wait(Under& under);
  void idle(isthmus_team& team, std::uint32_t& looks);
  Under& of(isthmus_event event);
  int end(isthmus_event& event, int status);

  std::vector<std::unique_ptr<Under>> under_way_;
  std::vector<std::uint32_t> spare_;
  std::vector<Chain*> chains_;
  std::vector<std::unique_ptr<Chain>> lost_;  // in which a rank never takes part
  std::string lost_words_;
  std::uint32_t tested_ = 0;
};

}  // namespace isthmus::runtime
