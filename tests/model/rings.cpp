// Rings from one sender to one receiver: of cells, and of bytes.
#include "runtime/transport/ring.hpp"

#include "parts.hpp"

namespace isthmus::model {
namespace {

using runtime::BulkRing;
using runtime::Cell;
using runtime::Elsewhere;
using runtime::Parcel;
using runtime::Ring;
using runtime::RingIn;
using runtime::RingOut;

/// The bytes of a message that tells itself apart from others.
std::size_t bytes_of(std::uint64_t message, std::uint64_t longer) {
  return message % longer == 0 ? Cell::room - message % 3 : message % (Cell::first + 1);
}

/// Of more cells than there are, so that the sender waits for the receiver; every so many messages a longer one, of
/// many cells.
Program cells(std::uint64_t messages, std::uint64_t longer) {
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
  program.threads = {[messages, longer] {
                       for (std::uint64_t i = 1; i <= messages; ++i) {
                         std::byte bytes[Cell::room];
                         const std::size_t count = bytes_of(i, longer);
                         for (std::size_t k = 0; k < count; ++k) bytes[k] = static_cast<std::byte>(i + k);
                         await([&] { return out->free(Cell::cells(count)) != nullptr; });
                         out->pass({0, 0, static_cast<std::uint32_t>(i)}, bytes, count);
                       }
                     },
                     [messages, longer] {
                       for (std::uint64_t i = 1; i <= messages; ++i) {
                         const Cell* cell = nullptr;
                         await([&] { return (cell = in->look()) != nullptr; });
                         const std::size_t count = bytes_of(i, longer);
                         check(cell->parcel() == Parcel::small && cell->key.tag == i, "another message");
                         check(cell->count() == count, "another count");
                         std::byte bytes[Cell::room], room[Cell::room];
                         in->read(bytes);
                         const std::byte* const same = in->bytes(room);
                         for (std::size_t k = 0; k < count; ++k) {
                           check(bytes[k] == static_cast<std::byte>(i + k) && same[k] == bytes[k], "other bytes");
                         }
                         in->give_back();
                       }
                     }};
  return program;
}

/// Places go by a cell, as in the runtime; more bytes than there is room for.
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
                         Cell* cell = nullptr;
                         await([&] { return (cell = out->free()) != nullptr; });
                         std::byte* room = nullptr;
                         std::uint64_t place = 0;
                         await([&] { return (room = bulk_out->room(nullptr, count, place)) != nullptr; });
                         room[0] = room[count - 1] = static_cast<std::byte>(i);
                         cell->elsewhere = Elsewhere::of(place, count, 0);
                         out->pass(Parcel::bulk);
                       }
                     },
                     [messages] {
                       for (std::uint64_t i = 1; i <= messages; ++i) {
                         const Cell* cell = nullptr;
                         await([&] { return (cell = in->look()) != nullptr; });
                         const std::byte* const found = bulk_in->at(cell->elsewhere.address);
                         check(found[0] == static_cast<std::byte>(i) && found[count - 1] == found[0], "other bytes");
                         bulk_in->give_back(cell->elsewhere.address, count);
                         in->give_back();
                       }
                     }};
  return program;
}

}  // namespace

Part rings() {
  return {"rings",
          {cells(40, 2), bytes(7)},
          {"runtime/transport/ring.hpp"},
          {},
          {cells(Ring::cells + 3, 200), cells(70, 3), bytes(12)}};
}

}  // namespace isthmus::model
