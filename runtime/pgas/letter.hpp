// A message of a space between ranks that share no memory: 64 bytes, then arguments and a payload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace isthmus::runtime {

struct Letter {
  enum class What : std::uint16_t {
    credit,     ///< nothing but what every letter says of credits
    done,       ///< an operation has been carried out: status, value
    data,       ///< the same of a get, with its bytes
    pieces,     ///< the same of many pieces
    barrier,    ///< a step of a barrier
    store,      ///< 64 bits into the head of the segment
    reply,      ///< an active message
    request,    ///< from here on what is asked for: it needs credit
    put,        ///< the bytes are the payload
    put_large,  ///< the bytes come by themselves
    get,
    get_large,
    put_pieces,  ///< see packing.hpp
    get_pieces,
    set,
    put_signal,
    signal,  ///< behind parts that came by themselves
    atomic,
    pages,
    allocate,
    release,
  };

  std::uint32_t space;     ///< its number at both
  std::uint32_t origin;    ///< the rank of the transport that sends it
  std::uint32_t sequence;  ///< of what that one sends to the same rank
  What what;
  std::uint16_t credits;  ///< so many of the receiver's have been carried out
  std::uint32_t from;     ///< the sender's rank in the space
  std::uint16_t handler;
  std::uint8_t count;  ///< arguments
  std::uint8_t flags;
  std::uint64_t number;  ///< of the operation, by whoever waits for it
  std::uint64_t offset;
  std::uint64_t bytes;
  std::uint64_t values[2];

  enum Flags : std::uint8_t {
    in_space = 1,   ///< the payload belongs into the space, at `offset`
    by_itself = 2,  ///< the payload comes by itself
    of_several = 4  ///< the number is that of puts that went together, see together.hpp
  };

  [[nodiscard]] bool asks() const { return what >= What::request; }
  [[nodiscard]] std::uint64_t* arguments() { return reinterpret_cast<std::uint64_t*>(this + 1); }
  static std::size_t payload_at(std::size_t count) { return (sizeof(Letter) + 8 * count + 15) / 16 * 16; }
  [[nodiscard]] std::byte* payload() { return reinterpret_cast<std::byte*>(this) + payload_at(count); }
};
static_assert(sizeof(Letter) == 64 && std::is_trivially_copyable_v<Letter>);

}  // namespace isthmus::runtime
