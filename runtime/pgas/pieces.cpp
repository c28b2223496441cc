#include "runtime/pgas/pieces.hpp"

#include <isthmus/isthmus_pgas.h>

#include <cstring>

#include "base/error.hpp"
#include "runtime/interface/status.hpp"
#include "runtime/pgas/ending.hpp"
#include "runtime/pgas/packing.hpp"
#include "runtime/pgas/sizes.hpp"
#include "runtime/pgas/space.hpp"

namespace isthmus::runtime {
namespace {

template <std::size_t known>
void copy_row(char* to, std::int64_t to_stride, const char* from, std::int64_t from_stride, std::size_t count,
              std::size_t bytes) {
  for (; count > 0; --count, to += to_stride, from += from_stride) copy_known<known>(to, from, bytes);
}

ISTHMUS_WIDE_COPY void copy_wide_row(char* to, std::int64_t to_stride, const char* from, std::int64_t from_stride,
                                     std::size_t count, std::size_t bytes) {
  for (; count > 0; --count, to += to_stride, from += from_stride) copy_wide(to, from, bytes);
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
  const auto row = copies_wide(bytes_) ? &copy_wide_row
                                       : of_size(bytes_, [](auto known) { return &copy_row<decltype(known)::value>; });
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

/// Where so many bytes are, if memory is shared with that rank and they are inside.
char* shared_with(const isthmus_space_head& head, std::uint32_t rank, std::uint64_t offset, std::uint64_t bytes) {
  if (rank >= head.ranks || bytes > head.extent || offset > head.extent - bytes || head.shared[rank] == nullptr)
    return nullptr;
  return head.shared[rank] + offset;
}

/// Pieces to or from a far rank: `give` gives them all.
template <bool puts, class F>
int packed(const char* call, isthmus_space& space, std::uint32_t rank, const Ending& ending, const F& give) {
  space.outside(call);
  const Parts parts = ending.begin();
  Packing packing(*space.far, rank, puts, parts);
  give(packing);
  packing.end();
  return ending.begun(parts);
}

/// All of it is there.
int end_now(const char* call, isthmus_space* space, const Ending& ending) {
  return ending.tells() ? guarded_space(space, [&] { return ending.now(); }, call) : ending.now();
}

/// Where nothing is moved.
int nothing(const char* call, isthmus_space* space, std::uint32_t rank, const Ending& ending) {
  if (!ending.tells() || space->head.shared[rank] != nullptr) return end_now(call, space, ending);
  return guarded_space(space, [&] { return ending.begun(ending.begin()); }, call);
}

template <bool puts, class Own>
int strided(const char* call, isthmus_space* space, std::uint32_t rank, std::uint64_t offset,
            const std::int64_t* space_strides, Own* own, const std::int64_t* own_strides, std::size_t bytes,
            const std::size_t* extents, std::uint32_t dimensions, const Wanted& wanted = {}) {
  return guarded([&]() -> int {
    require(space != nullptr, "space is NULL");
    const Strided box(call, bytes, extents, space_strides, own_strides, dimensions);
    const Ending ending(call, *space, rank, wanted);
    if (box.empty()) return nothing(call, space, rank, ending);
    require(own != nullptr, call, ": the memory of this rank is NULL");
    require(offset >= box.before(), call, ": strides below 0 reach ", box.before(), " bytes before offset ", offset);
    char* const first = shared_with(space->head, rank, offset - box.before(), box.before() + box.behind());
    if (first != nullptr) {
      if constexpr (puts) box.put(first + box.before(), own);
      else box.get(first + box.before(), own);
      return end_now(call, space, ending);
    }
    return guarded_space(
        space,
        [&]() -> int {
          // Before anything goes: all of it is inside.
          static_cast<void>(space->near(call, rank, offset - box.before(), box.before() + box.behind()));
          return packed<puts>(call, *space, rank, ending, [&](Packing& packing) {
            char* const mine = const_cast<char*>(own);
            const bool rows = packing.takes_many(box.bytes());
            box.each_row([&](std::int64_t there, std::int64_t here, std::size_t count) {
              if (rows)
                packing.row(offset + there, box.space_stride(), mine + here, box.own_stride(), box.bytes(), count);
              else
                for (; count > 0; --count, there += box.space_stride(), here += box.own_stride())
                  packing.piece(offset + there, mine + here, box.bytes());
            });
          });
        },
        call);
  });
}

/// Pieces of any size, or of one, wherever they are.
template <class Piece>
struct List {
  static constexpr bool equal = false;
  const Piece* pieces;
  std::size_t count;
  [[nodiscard]] Piece at(std::size_t i) const { return pieces[i]; }
};

template <class Piece, class Place>
struct Equal {
  static constexpr bool equal = true;
  const Place* places;
  std::size_t count, bytes;
  [[nodiscard]] Piece at(std::size_t i) const { return {places[i], bytes}; }
};

/// Calls what(first, count, bytes) for pieces of one size after each other; `alike`: all have one.
template <class There, class F>
void runs_of_size(const There& there, bool alike, const F& what) {
  for (std::size_t first = 0; first < there.count;) {
    const std::size_t bytes = there.at(first).bytes;
    std::size_t count = 1;
    if (There::equal || alike) count = there.count;
    else
      while (first + count < there.count && there.at(first + count).bytes == bytes) ++count;
    if (bytes > 0) what(first, count, bytes);
    first += count;
  }
}

/// So many pieces of one size from the first on. The list is a copy of its own, which bytes that are written cannot be:
/// it stays in registers.
template <bool puts, class There>
ISTHMUS_WIDE_COPY void copy_wide_list(char* memory, const There there, std::size_t first, std::size_t count,
                                      std::size_t bytes, char* mine) {
  for (std::size_t i = first; i < first + count; ++i, mine += bytes) {
    char* const at = memory + there.at(i).offset;
    if constexpr (puts) copy_wide(at, mine, bytes);
    else copy_wide(mine, at, bytes);
  }
}
template <bool puts, std::size_t known, class There>
void copy_known_list(char* memory, const There there, std::size_t first, std::size_t count, std::size_t bytes,
                     char* mine) {
  const std::size_t each = known == 0 ? bytes : known;
  for (std::size_t i = first; i < first + count; ++i, mine += each) {
    char* const at = memory + there.at(i).offset;
    if constexpr (puts) copy_known<known>(at, mine, each);
    else copy_known<known>(mine, at, each);
  }
}

/// Pieces of the memory of a rank, and bytes that lie together.
template <bool puts, class There>
void copy_list(char* memory, const There& there, bool alike, char* mine) {
  runs_of_size(there, alike, [&](std::size_t first, std::size_t count, std::size_t bytes) {
    if (copies_wide(bytes)) copy_wide_list<puts>(memory, there, first, count, bytes, mine);
    else
      of_size(bytes, [&](auto known) {
        copy_known_list<puts, decltype(known)::value>(memory, there, first, count, bytes, mine);
      });
    mine += count * bytes;
  });
}

/// The same to or from a far rank.
template <class There>
void pack_list(Packing& packing, const There& there, bool alike, char* mine) {
  runs_of_size(there, alike, [&](std::size_t first, std::size_t count, std::size_t bytes) {
    if (packing.takes_many(bytes)) {
      packing.list([&](std::size_t i) { return there.at(first + i).offset; }, count, mine, bytes);
      mine += count * bytes;
      return;
    }
    for (std::size_t i = first; i < first + count; ++i, mine += bytes) packing.piece(there.at(i).offset, mine, bytes);
  });
}

/// Pieces of the space and of this rank, with the same bytes in all, are gone through together.
template <bool puts, class There, class Here>
int listed(const char* call, isthmus_space* space, std::uint32_t rank, const There& there, const Here& here,
           const Wanted& wanted) {
  return guarded([&]() -> int {
    require(space != nullptr, "space is NULL");
    const Ending ending(call, *space, rank, wanted);
    // Nothing is moved before all is looked at.
    std::uint64_t in_space = 0, own = 0;
    const isthmus_space_head& head = space->head;
    require(rank < head.ranks, call, ": rank ", rank, " does not exist: there are ", head.ranks, " ranks");
    const std::uint64_t extent = head.extent;
    // All bits of all numbers: as long as these are inside, each of them is, and the compiler does many at a time.
    std::uint64_t offsets = 0, sizes = 0, common = ~std::uint64_t{0};
    if constexpr (There::equal) {
      for (std::size_t i = 0; i < there.count; ++i) offsets |= there.places[i];
      sizes = there.bytes;
      in_space = there.count * there.bytes;
    } else {
      for (std::size_t i = 0; i < there.count; ++i) {
        offsets |= there.pieces[i].offset;
        sizes |= there.pieces[i].bytes;
        common &= there.pieces[i].bytes;
        in_space += there.pieces[i].bytes;
      }
    }
    const bool alike = There::equal || sizes == common;
    const bool may_be_outside = sizes > extent || offsets > extent - sizes;
    for (std::size_t i = 0; may_be_outside && i < there.count; ++i) {
      const auto [offset, bytes] = there.at(i);
      require(bytes <= extent && offset <= extent - bytes, call, ": piece ", i, " of ", bytes, " bytes at offset ",
              offset, " is outside the space: offsets are below ", extent);
    }
    for (std::size_t i = 0; i < here.count; ++i) {
      const auto [pointer, bytes] = here.at(i);
      if (pointer == nullptr && bytes > 0) throw InvalidInput(message(call, ": piece ", i, " of this rank is NULL"));
      own += bytes;
    }
    require(in_space == own, call, ": there are ", in_space, " bytes in the space and ", own, " of this rank");
    char* const memory = head.shared[rank];
    if (here.count == 1 && own > 0) {
      auto* const mine = static_cast<char*>(here.at(0).pointer);
      if (memory != nullptr) {
        copy_list<puts>(memory, there, alike, mine);
        return end_now(call, space, ending);
      }
      return guarded_space(
          space,
          [&] {
            return packed<puts>(call, *space, rank, ending,
                                [&](Packing& packing) { pack_list(packing, there, alike, mine); });
          },
          call);
    }
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
    if (in_space == 0) return nothing(call, space, rank, ending);
    if (memory == nullptr)
      return guarded_space(
          space,
          [&] {
            return packed<puts>(call, *space, rank, ending, [&](Packing& packing) {
              each([&](std::uint64_t offset, char* mine, std::uint64_t bytes) { packing.piece(offset, mine, bytes); });
            });
          },
          call);
    each([&](std::uint64_t offset, char* mine, std::uint64_t bytes) {
      if constexpr (puts) copy_piece(memory + offset, mine, bytes);
      else copy_piece(mine, memory + offset, bytes);
    });
    return end_now(call, space, ending);
  });
}

template <bool puts>
int vectors(const char* call, isthmus_space* space, std::uint32_t rank, const isthmus_piece* pieces, std::size_t count,
            const isthmus_block* own, std::size_t own_count, const Wanted& wanted = {}) {
  if ((pieces == nullptr && count > 0) || (own == nullptr && own_count > 0))
    return failed(ISTHMUS_INVALID, message(call, ": a list of pieces is NULL"));
  return listed<puts>(call, space, rank, List<isthmus_piece>{pieces, count}, List<isthmus_block>{own, own_count},
                      wanted);
}

template <bool puts>
int indexed(const char* call, isthmus_space* space, std::uint32_t rank, const std::uint64_t* offsets, std::size_t count,
            std::size_t bytes, void* const* own, std::size_t own_count, std::size_t own_bytes,
            const Wanted& wanted = {}) {
  if ((offsets == nullptr && count > 0) || (own == nullptr && own_count > 0))
    return failed(ISTHMUS_INVALID, message(call, ": a list of places is NULL"));
  return listed<puts>(call, space, rank, Equal<isthmus_piece, std::uint64_t>{offsets, bytes > 0 ? count : 0, bytes},
                      Equal<isthmus_block, void*>{own, own_bytes > 0 ? own_count : 0, own_bytes}, wanted);
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

int isthmus_begin_put_strided_with(isthmus_space* space, uint32_t rank, uint64_t offset, const int64_t* strides,
                                   const void* from, const int64_t* from_strides, size_t bytes, const size_t* extents,
                                   uint32_t dimensions, const isthmus_completion* completion) {
  return strided<true>("isthmus_begin_put_strided_with", space, rank, offset, strides, static_cast<const char*>(from),
                       from_strides, bytes, extents, dimensions, Wanted::with(completion));
}

int isthmus_begin_put_vector_with(isthmus_space* space, uint32_t rank, const isthmus_piece* to, size_t to_count,
                                  const isthmus_block* from, size_t from_count, const isthmus_completion* completion) {
  return vectors<true>("isthmus_begin_put_vector_with", space, rank, to, to_count, from, from_count,
                       Wanted::with(completion));
}

int isthmus_begin_put_indexed_with(isthmus_space* space, uint32_t rank, const uint64_t* to, size_t to_count,
                                   size_t to_bytes, void* const* from, size_t from_count, size_t from_bytes,
                                   const isthmus_completion* completion) {
  return indexed<true>("isthmus_begin_put_indexed_with", space, rank, to, to_count, to_bytes, from, from_count,
                       from_bytes, Wanted::with(completion));
}

}  // extern "C"
