#include "runtime/pgas/pieces.hpp"

#include <isthmus/isthmus_pgas.h>

#include <cstring>

#include "base/error.hpp"
#include "runtime/interface/status.hpp"
#include "runtime/pgas/packing.hpp"
#include "runtime/pgas/space.hpp"

namespace isthmus::runtime {
namespace {

/// Elements at strides; of a number of bytes that the compiler knows, or of any.
template <std::size_t known>
void copy_row(char* to, std::int64_t to_stride, const char* from, std::int64_t from_stride, std::size_t count,
              std::size_t bytes) {
  for (; count > 0; --count, to += to_stride, from += from_stride) std::memcpy(to, from, known == 0 ? bytes : known);
}

using CopyRow = void (*)(char*, std::int64_t, const char*, std::int64_t, std::size_t, std::size_t);

CopyRow row_of(std::size_t bytes) {
  switch (bytes) {
    case 1: return copy_row<1>;
    case 2: return copy_row<2>;
    case 4: return copy_row<4>;
    case 8: return copy_row<8>;
    case 16: return copy_row<16>;
    case 32: return copy_row<32>;
    case 64: return copy_row<64>;
    default: return copy_row<0>;
  }
}

}  // namespace

Strided::Strided(const char* call, std::size_t bytes, const std::size_t* extents, const std::int64_t* space_strides,
                 const std::int64_t* own_strides, std::uint32_t dimensions)
    : bytes_(bytes), empty_(bytes == 0) {
  require(dimensions <= most_dimensions, call, ": ", dimensions, " dimensions: at most ", most_dimensions);
  require(dimensions == 0 || (extents != nullptr && space_strides != nullptr && own_strides != nullptr), call,
          ": extents or strides is NULL");
  std::uint64_t all = bytes, before = 0, behind = 0;
  for (std::uint32_t i = 0; i < dimensions; ++i) {
    empty_ |= extents[i] == 0;
    if (extents[i] < 2) continue;
    // Neither side may reach further than numbers do; what is below zero reaches before the first element.
    const std::uint64_t steps = extents[i] - 1;
    const auto length = [](std::int64_t stride) {
      return stride < 0 ? -static_cast<std::uint64_t>(stride) : static_cast<std::uint64_t>(stride);
    };
    std::uint64_t reach = 0, own = 0;
    const bool fits = !__builtin_mul_overflow(length(space_strides[i]), steps, &reach) &&
                      !__builtin_mul_overflow(length(own_strides[i]), steps, &own) && own >> 62 == 0 &&
                      !__builtin_add_overflow(space_strides[i] < 0 ? before : behind, reach,
                                              space_strides[i] < 0 ? &before : &behind) &&
                      before >> 62 == 0 && behind >> 62 == 0 && !__builtin_mul_overflow(all, extents[i], &all);
    require(fits, call, ": dimension ", i, " of ", extents[i], " elements at strides of ", space_strides[i], " and ",
            own_strides[i], " bytes is too large");
    // What goes on where the dimension before ends, on both sides, is one with it.
    std::size_t& length_before = dimensions_ == 0 ? bytes_ : extents_[dimensions_ - 1];
    const auto together = [&](std::int64_t stride, const Strides& strides) {
      return dimensions_ == 0 ? stride == static_cast<std::int64_t>(bytes_)
                              : stride == strides[dimensions_ - 1] * static_cast<std::int64_t>(length_before);
    };
    if (together(space_strides[i], space_strides_) && together(own_strides[i], own_strides_)) {
      length_before *= extents[i];
      continue;
    }
    extents_[dimensions_] = extents[i];
    space_strides_[dimensions_] = space_strides[i];
    own_strides_[dimensions_++] = own_strides[i];
  }
  before_ = before;
  behind_ = behind + bytes;
}

void Strided::copy(char* to, const Strides& to_strides, const char* from, const Strides& from_strides) const {
  if (dimensions_ == 0) {
    std::memcpy(to, from, bytes_);
    return;
  }
  const CopyRow row = row_of(bytes_);
  std::array<std::size_t, most_dimensions> at{};
  for (;;) {
    row(to, to_strides[0], from, from_strides[0], extents_[0], bytes_);
    std::uint32_t d = 1;
    for (; d < dimensions_; ++d) {
      to += to_strides[d];
      from += from_strides[d];
      if (++at[d] < extents_[d]) break;
      to -= static_cast<std::int64_t>(at[d]) * to_strides[d];
      from -= static_cast<std::int64_t>(at[d]) * from_strides[d];
      at[d] = 0;
    }
    if (d >= dimensions_) return;
  }
}

namespace {

/// Small pieces of usual sizes without a call.
void copy_piece(char* to, const char* from, std::size_t bytes) {
  switch (bytes) {
    case 4: std::memcpy(to, from, 4); return;
    case 8: std::memcpy(to, from, 8); return;
    case 16: std::memcpy(to, from, 16); return;
    case 32: std::memcpy(to, from, 32); return;
    case 64: std::memcpy(to, from, 64); return;
    default: std::memcpy(to, from, bytes);
  }
}

/// Where so many bytes are, if memory is shared with that rank and they are inside.
char* shared_with(const isthmus_space_head& head, std::uint32_t rank, std::uint64_t offset, std::uint64_t bytes) {
  if (rank >= head.ranks || bytes > head.extent || offset > head.extent - bytes || head.shared[rank] == nullptr)
    return nullptr;
  return head.shared[rank] + offset;
}

/// Whether a call waits, or what is to be waited for later, as of isthmus_begin_put().
struct Ending {
  bool waits = true;
  isthmus_event* event = nullptr;
  /// Of what is done at once.
  int now() const {
    if (event != nullptr) *event = 0;
    return ISTHMUS_DONE;
  }
};

/// Pieces to or from a far rank: `give` gives them all.
template <bool puts, class F>
int packed(const char* call, isthmus_space& space, std::uint32_t rank, const Ending& ending, const F& give) {
  space.outside(call);
  const bool implicit = !ending.waits && ending.event == nullptr;
  const std::uint32_t operation = space.far->begin_parts(implicit);
  Packing packing(*space.far, rank, puts, operation);
  give(packing);
  packing.end();
  const isthmus_event begun = space.far->event_of_parts(operation, implicit);
  if (ending.waits) space.far->wait(begun, rank);
  else if (ending.event != nullptr) *ending.event = begun;
  return ISTHMUS_DONE;
}

template <bool puts, class Own>
int strided(const char* call, isthmus_space* space, std::uint32_t rank, std::uint64_t offset,
            const std::int64_t* space_strides, Own* own, const std::int64_t* own_strides, std::size_t bytes,
            const std::size_t* extents, std::uint32_t dimensions, const Ending& ending = {}) {
  return guarded([&]() -> int {
    require(space != nullptr, "space is NULL");
    const Strided box(call, bytes, extents, space_strides, own_strides, dimensions);
    if (box.empty()) return ending.now();
    require(own != nullptr, call, ": the memory of this rank is NULL");
    require(offset >= box.before(), call, ": strides below 0 reach ", box.before(), " bytes before offset ", offset);
    char* const first = shared_with(space->head, rank, offset - box.before(), box.before() + box.behind());
    if (first != nullptr) {
      if constexpr (puts) box.put(first + box.before(), own);
      else box.get(first + box.before(), own);
      return ending.now();
    }
    return guarded_space(space, [&]() -> int {
      // Before anything goes: all of it is inside.
      static_cast<void>(space->near(call, rank, offset - box.before(), box.before() + box.behind()));
      return packed<puts>(call, *space, rank, ending, [&](Packing& packing) {
        char* const mine = const_cast<char*>(own);
        const bool rows = box.bytes() <= Packing::most_in_row;
        box.each_row([&](std::int64_t there, std::int64_t here, std::size_t count) {
          if (rows) packing.row(offset + there, box.space_stride(), mine + here, box.own_stride(), box.bytes(), count);
          else
            for (; count > 0; --count, there += box.space_stride(), here += box.own_stride())
              packing.piece(offset + there, mine + here, box.bytes());
        });
      });
    });
  });
}

/// Pieces of the space and of this rank, with the same bytes in all, are gone through together.
template <bool puts, class There, class Here>
int listed(const char* call, isthmus_space* space, std::uint32_t rank, const There& there, const Here& here,
           const Ending& ending) {
  return guarded([&]() -> int {
    require(space != nullptr, "space is NULL");
    // Nothing is moved before all is looked at.
    std::uint64_t in_space = 0, own = 0;
    const isthmus_space_head& head = space->head;
    require(rank < head.ranks, call, ": rank ", rank, " does not exist: there are ", head.ranks, " ranks");
    for (std::size_t i = 0; i < there.count; ++i) {
      const auto [offset, bytes] = there.at(i);
      if (bytes > head.extent || offset > head.extent - bytes)
        throw InvalidInput(message(call, ": piece ", i, " of ", bytes, " bytes at offset ", offset,
                                   " is outside the space: offsets are below ", head.extent));
      in_space += bytes;
    }
    for (std::size_t i = 0; i < here.count; ++i) {
      const auto [pointer, bytes] = here.at(i);
      if (pointer == nullptr && bytes > 0) throw InvalidInput(message(call, ": piece ", i, " of this rank is NULL"));
      own += bytes;
    }
    require(in_space == own, call, ": there are ", in_space, " bytes in the space and ", own, " of this rank");
    char* const memory = head.shared[rank];
    /// What lies together on both sides.
    const auto each = [&](const auto& what) {
      std::size_t i = 0, k = 0;
      std::uint64_t i_done = 0, k_done = 0;
      while (in_space > 0) {
        const auto [offset, room] = there.at(i);
        const auto [pointer, given] = here.at(k);
        const std::uint64_t bytes = room - i_done < given - k_done ? room - i_done : given - k_done;
        if (bytes > 0) what(offset + i_done, static_cast<char*>(pointer) + k_done, bytes);
        in_space -= bytes;
        if ((i_done += bytes) == room) ++i, i_done = 0;
        if ((k_done += bytes) == given) ++k, k_done = 0;
      }
    };
    if (memory == nullptr && in_space > 0)
      return guarded_space(space, [&] {
        return packed<puts>(call, *space, rank, ending, [&](Packing& packing) {
          each([&](std::uint64_t offset, char* mine, std::uint64_t bytes) { packing.piece(offset, mine, bytes); });
        });
      });
    each([&](std::uint64_t offset, char* mine, std::uint64_t bytes) {
      if constexpr (puts) copy_piece(memory + offset, mine, bytes);
      else copy_piece(mine, memory + offset, bytes);
    });
    return ending.now();
  });
}

/// Pieces of any size, or of one, wherever they are.
template <class Piece>
struct List {
  const Piece* pieces;
  std::size_t count;
  [[nodiscard]] Piece at(std::size_t i) const { return pieces[i]; }
};

template <class Piece, class Place>
struct Equal {
  const Place* places;
  std::size_t count, bytes;
  [[nodiscard]] Piece at(std::size_t i) const { return {places[i], bytes}; }
};

template <bool puts>
int vectors(const char* call, isthmus_space* space, std::uint32_t rank, const isthmus_piece* pieces, std::size_t count,
            const isthmus_block* own, std::size_t own_count, const Ending& ending = {}) {
  if ((pieces == nullptr && count > 0) || (own == nullptr && own_count > 0))
    return failed(ISTHMUS_INVALID, message(call, ": a list of pieces is NULL"));
  return listed<puts>(call, space, rank, List<isthmus_piece>{pieces, count}, List<isthmus_block>{own, own_count},
                      ending);
}

template <bool puts>
int indexed(const char* call, isthmus_space* space, std::uint32_t rank, const std::uint64_t* offsets, std::size_t count,
            std::size_t bytes, void* const* own, std::size_t own_count, std::size_t own_bytes,
            const Ending& ending = {}) {
  if ((offsets == nullptr && count > 0) || (own == nullptr && own_count > 0))
    return failed(ISTHMUS_INVALID, message(call, ": a list of places is NULL"));
  return listed<puts>(call, space, rank, Equal<isthmus_piece, std::uint64_t>{offsets, bytes > 0 ? count : 0, bytes},
                      Equal<isthmus_block, void*>{own, own_bytes > 0 ? own_count : 0, own_bytes}, ending);
}

}  // namespace
}  // namespace isthmus::runtime

using namespace isthmus::runtime;

extern "C" {

int isthmus_put_strided(isthmus_space* space, uint32_t rank, uint64_t offset, const int64_t* strides, const void* from,
                        const int64_t* from_strides, size_t bytes, const size_t* extents, uint32_t dimensions) {
  return strided<true>("isthmus_put_strided", space, rank, offset, strides, static_cast<const char*>(from),
                       from_strides, bytes, extents, dimensions);
}

int isthmus_get_strided(isthmus_space* space, void* to, const int64_t* to_strides, uint32_t rank, uint64_t offset,
                        const int64_t* strides, size_t bytes, const size_t* extents, uint32_t dimensions) {
  return strided<false>("isthmus_get_strided", space, rank, offset, strides, static_cast<char*>(to), to_strides, bytes,
                        extents, dimensions);
}

int isthmus_put_vector(isthmus_space* space, uint32_t rank, const isthmus_piece* to, size_t to_count,
                       const isthmus_block* from, size_t from_count) {
  return vectors<true>("isthmus_put_vector", space, rank, to, to_count, from, from_count);
}

int isthmus_get_vector(isthmus_space* space, const isthmus_block* to, size_t to_count, uint32_t rank,
                       const isthmus_piece* from, size_t from_count) {
  return vectors<false>("isthmus_get_vector", space, rank, from, from_count, to, to_count);
}

int isthmus_put_indexed(isthmus_space* space, uint32_t rank, const uint64_t* to, size_t to_count, size_t to_bytes,
                        void* const* from, size_t from_count, size_t from_bytes) {
  return indexed<true>("isthmus_put_indexed", space, rank, to, to_count, to_bytes, from, from_count, from_bytes);
}

int isthmus_get_indexed(isthmus_space* space, void* const* to, size_t to_count, size_t to_bytes, uint32_t rank,
                        const uint64_t* from, size_t from_count, size_t from_bytes) {
  return indexed<false>("isthmus_get_indexed", space, rank, from, from_count, from_bytes, to, to_count, to_bytes);
}

int isthmus_begin_put_strided(isthmus_space* space, uint32_t rank, uint64_t offset, const int64_t* strides,
                              const void* from, const int64_t* from_strides, size_t bytes, const size_t* extents,
                              uint32_t dimensions, isthmus_event* event) {
  return strided<true>("isthmus_begin_put_strided", space, rank, offset, strides, static_cast<const char*>(from),
                       from_strides, bytes, extents, dimensions, {false, event});
}

int isthmus_begin_get_strided(isthmus_space* space, void* to, const int64_t* to_strides, uint32_t rank, uint64_t offset,
                              const int64_t* strides, size_t bytes, const size_t* extents, uint32_t dimensions,
                              isthmus_event* event) {
  return strided<false>("isthmus_begin_get_strided", space, rank, offset, strides, static_cast<char*>(to), to_strides,
                        bytes, extents, dimensions, {false, event});
}

int isthmus_begin_put_vector(isthmus_space* space, uint32_t rank, const isthmus_piece* to, size_t to_count,
                             const isthmus_block* from, size_t from_count, isthmus_event* event) {
  return vectors<true>("isthmus_begin_put_vector", space, rank, to, to_count, from, from_count, {false, event});
}

int isthmus_begin_get_vector(isthmus_space* space, const isthmus_block* to, size_t to_count, uint32_t rank,
                             const isthmus_piece* from, size_t from_count, isthmus_event* event) {
  return vectors<false>("isthmus_begin_get_vector", space, rank, from, from_count, to, to_count, {false, event});
}

int isthmus_begin_put_indexed(isthmus_space* space, uint32_t rank, const uint64_t* to, size_t to_count, size_t to_bytes,
                              void* const* from, size_t from_count, size_t from_bytes, isthmus_event* event) {
  return indexed<true>("isthmus_begin_put_indexed", space, rank, to, to_count, to_bytes, from, from_count, from_bytes,
                       {false, event});
}

int isthmus_begin_get_indexed(isthmus_space* space, void* const* to, size_t to_count, size_t to_bytes, uint32_t rank,
                              const uint64_t* from, size_t from_count, size_t from_bytes, isthmus_event* event) {
  return indexed<false>("isthmus_begin_get_indexed", space, rank, from, from_count, from_bytes, to, to_count, to_bytes,
                        {false, event});
}

}  // extern "C"
