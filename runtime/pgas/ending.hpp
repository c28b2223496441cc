// How a put or a get of a space ends, as the caller wants to know it.
#pragma once

#include <isthmus/isthmus_pgas.h>

#include <cstdint>

#include "runtime/pgas/packing.hpp"
#include "runtime/transport/transport.hpp"

namespace isthmus::runtime {

/// What the caller gives: it waits, or takes an event, as of isthmus_begin_put(), or says more.
struct Wanted {
  bool waits = true;
  isthmus_event* event = nullptr;
  const isthmus_completion* completion = nullptr;
  static Wanted with(const isthmus_completion* completion) { return {false, nullptr, completion}; }
};

class Ending {
 public:
  /// Throws InvalidInput: nothing is moved before it is made.
  Ending(const char* call, isthmus_space& space, Rank rank, const Wanted& wanted);

  /// Of bytes that are there. It throws as guarded_space() takes it; without a notice the lock is not needed.
  int now() const;
  /// Of a far rank, with the lock: before the parts go, and behind them.
  [[nodiscard]] Parts begin() const;
  int begun(const Parts& parts) const;
  [[nodiscard]] bool tells() const { return completion_.notice != ISTHMUS_NOTICE_NONE; }

 private:
  void check(const char* call) const;
  void send_message(const Parts& parts) const;

  isthmus_space& space_;
  Rank rank_;
  bool waits_;
  isthmus_completion completion_{};
};

}  // namespace isthmus::runtime
