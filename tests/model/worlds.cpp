// Ranks as threads: who makes a ring first, and messages of all sizes through the whole transport.
#include <algorithm>

#include "parts.hpp"
#include "runtime/transport/threads/threads.hpp"

namespace isthmus::model {
namespace {

using runtime::Key;
using runtime::ThreadsOptions;
using runtime::ThreadsTransport;
using runtime::ThreadsWorld;
using runtime::Token;

constexpr std::size_t most = 2048;

struct Shared {
  ThreadsWorld* world;
  std::byte* bytes[2];  // of each rank
};
Shared shared;

void begin(const ThreadsOptions& options) {
  shared.world = new (allocate(sizeof(ThreadsWorld))) ThreadsWorld(2, options);
  for (std::byte*& bytes : shared.bytes) bytes = static_cast<std::byte*>(allocate(most));
}

std::byte byte_of(std::uint32_t message, std::size_t i) { return static_cast<std::byte>(message * 16 + i % 7 + 1); }

void finish(ThreadsTransport& own, bool at_once) {
  Token token;
  if (!at_once) await([&] { return own.poll(&token, 1) == 1; });
  check(own.failure().empty(), "the transport has failed");
}

void send(ThreadsTransport& own, std::uint32_t to, std::uint32_t message, std::size_t count) {
  std::byte* const from = shared.bytes[own.rank()];
  from[0] = byte_of(message, 0);
  from[count - 1] = byte_of(message, count - 1);
  finish(own, own.send(to, Key{0, 0, message}, from, count, {}));
}

void receive(ThreadsTransport& own, std::uint32_t from, std::uint32_t message, std::size_t count) {
  std::byte* const to = shared.bytes[own.rank()];
  finish(own, own.recv(from, Key{0, 0, message}, to, count, {}));
  check(to[0] == byte_of(message, 0) && to[count - 1] == byte_of(message, count - 1), "another message");
}

/// From rank 0 to rank 1, in so many bytes each.
Program messages(std::vector<std::size_t> counts, ThreadsOptions options) {
  Program program;
  program.begin = [=] { begin(options); };
  program.threads = {[=] {
                       ThreadsTransport own(*shared.world, 0);
                       for (std::uint32_t i = 0; i < counts.size(); ++i) send(own, 1, i, counts[i]);
                     },
                     [=] {
                       ThreadsTransport own(*shared.world, 1);
                       for (std::uint32_t i = 0; i < counts.size(); ++i) receive(own, 0, i, counts[i]);
                     }};
  return program;
}

}  // namespace

Part worlds() {
  const ThreadsOptions once{1024, true}, pieces{1024, false};
  return {"worlds",
          {messages({8, 300, 8}, once), messages({600, 8}, once), messages({600}, pieces)},
          {"runtime/transport/threads/threads.cpp"},
          {},
          {}};
}

}  // namespace isthmus::model
