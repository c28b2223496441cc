// Messages from many senders to one receiver.
#include "runtime/pgas/inbox.hpp"

#include "parts.hpp"

namespace isthmus::model {
namespace {

using runtime::ActiveMessage;
using runtime::Inbox;
using runtime::InboxPlaces;

struct Shared {
  InboxPlaces* places;
  std::byte* ring;
  Inbox* ends[4];
};
Shared shared;

void send(Inbox& inbox, std::uint32_t from, std::uint64_t number, std::uint64_t lines) {
  ActiveMessage* message = nullptr;
  await([&] { return (message = inbox.room(lines)) != nullptr; });
  message->handler = 1;
  message->count = 1;
  message->from = from;
  message->arguments[0] = number;
  // A payload lies where first lines of other messages were, and will be.
  if (lines > 1)
    *reinterpret_cast<volatile std::uint64_t*>(reinterpret_cast<std::byte*>(message) + 64) = number << 8 | 0xFF;
  Inbox::pass(*message, lines);
}

/// So many senders with so many messages of so many lines each, in a ring of `room` lines.
Program messages(std::uint32_t senders, std::uint64_t each, std::uint64_t room, std::uint64_t lines) {
  Program program;
  program.begin = [=] {
    shared.places = &make_shared<InboxPlaces>();
    shared.ring = static_cast<std::byte*>(allocate(64 * room));
    for (std::uint32_t i = 0; i <= senders; ++i) {
      shared.ends[i] = &make_shared<Inbox>();
      shared.ends[i]->open(*shared.places, shared.ring, room);
    }
  };
  for (std::uint32_t s = 0; s < senders; ++s)
    program.threads.emplace_back([=] {
      for (std::uint64_t i = 1; i <= each; ++i) send(*shared.ends[s], s, i, lines);
    });
  program.threads.emplace_back([=] {
    std::uint64_t last[3] = {};
    for (std::uint64_t i = 0; i < senders * each; ++i) {
      ActiveMessage* message = nullptr;
      await([&] { return (message = shared.ends[senders]->look()) != nullptr; });
      check(message->handler == 1 && message->from < senders, "another message");
      check(message->arguments[0] == ++last[message->from], "a message is missing");
      if (lines > 1)
        check(*reinterpret_cast<const std::uint64_t*>(reinterpret_cast<std::byte*>(message) + 64) ==
                  (message->arguments[0] << 8 | 0xFF),
              "another payload");
      shared.ends[senders]->give_back(*message);
    }
  });
  return program;
}

}  // namespace

Part inboxes() {
  return {
      "inboxes",
      {messages(1, 5, 4, 1), messages(1, 4, 4, 2), messages(1, 3, 8, 3), messages(2, 2, 2, 1), messages(2, 2, 4, 2)},
      {"runtime/pgas/inbox.hpp"},
      {},
      {messages(1, 12, 8, 2)}};
}

}  // namespace isthmus::model
