// Rings from one sender to one receiver: of slots, and of bytes.
#include "runtime/transport/ring.hpp"

#include "parts.hpp"

namespace isthmus::model {
namespace {

using runtime::BulkRing;
using runtime::Parcel;
using runtime::Ring;
using runtime::RingIn;
using runtime::RingOut;
using runtime::Slot;

/// More messages than there are slots, so that the sender waits for the receiver.
Program slots(std::uint64_t messages) {
  static RingOut* out;
  static RingIn* in;
  Program program;
  program.begin = [] {
    auto& ring = make_shared<Ring>();
    out = &make_shared<RingOut>();
    in = &make_shared<RingIn>();
    out->open(ring);
    in->open(ring);
  };
  program.threads = {[messages] {
                       for (std::uint64_t i = 1; i <= messages; ++i) {
                         Slot* slot = nullptr;
                         await([&] { return (slot = out->free()) != nullptr; });
                         slot->number = i;
                         slot->bytes[0] = static_cast<std::byte>(i);
                         out->pass(*slot, Parcel::eager);
                       }
                     },
                     [messages] {
                       for (std::uint64_t i = 1; i <= messages; ++i) {
                         const Slot* slot = nullptr;
                         await([&] { return (slot = in->look()) != nullptr; });
                         check(slot->parcel() == Parcel::eager, "another parcel");
                         check(slot->number == i && slot->bytes[0] == static_cast<std::byte>(i), "another message");
                         in->give_back();
                       }
                     }};
  return program;
}

/// Places go by a slot, as in the runtime; more bytes than there is room for.
Program bytes(std::uint64_t messages) {
  constexpr std::size_t size = 256, count = 64;
  static RingOut* out;
  static RingIn* in;
  static BulkRing *bulk_out, *bulk_in;
  Program program;
  program.begin = [] {
    auto& ring = make_shared<Ring>();
    out = &make_shared<RingOut>();
    in = &make_shared<RingIn>();
    bulk_out = &make_shared<BulkRing>();
    bulk_in = &make_shared<BulkRing>();
    out->open(ring);
    in->open(ring);
    auto* const memory = static_cast<std::byte*>(allocate(BulkRing::head + size));
    bulk_out->open(memory, size);
    bulk_in->open(memory, size);
  };
  program.threads = {[messages] {
                       for (std::uint64_t i = 1; i <= messages; ++i) {
                         Slot* slot = nullptr;
                         await([&] { return (slot = out->free()) != nullptr; });
                         std::byte* room = nullptr;
                         std::uint64_t place = 0;
                         await([&] { return (room = bulk_out->room(nullptr, count, place)) != nullptr; });
                         room[0] = room[count - 1] = static_cast<std::byte>(i);
                         slot->address = place;
                         out->pass(*slot, Parcel::bulk);
                       }
                     },
                     [messages] {
                       for (std::uint64_t i = 1; i <= messages; ++i) {
                         const Slot* slot = nullptr;
                         await([&] { return (slot = in->look()) != nullptr; });
                         const std::byte* const found = bulk_in->at(slot->address);
                         check(found[0] == static_cast<std::byte>(i) && found[count - 1] == found[0], "other bytes");
                         bulk_in->give_back(slot->address, count);
                         in->give_back();
                       }
                     }};
  return program;
}

}  // namespace

Part rings() {
  return {"rings",
          {slots(Ring::slots + 3), bytes(7)},
          {"runtime/transport/ring.hpp"},
          {},
          {slots(2 * Ring::slots + 3), bytes(12)}};
}

}  // namespace isthmus::model
