// A box of a grid in three dimensions, dealt out to ranks in blocks, and the exchange of its faces with neighbours.
#pragma once

#include <array>

#include "overlap.hpp"

namespace overlap {

/// The block of this rank, with a layer of ghosts around it. All ranks make it.
struct block {
  block(const program& all, std::size_t points, int extents) {
    std::array<int, 3> wrap{}, dims{0, 0, 0};
    for (int d = extents; d < 3; ++d) dims[static_cast<std::size_t>(d)] = 1;
    MPI_Dims_create(all.ranks(), 3, dims.data());
    MPI_Cart_create(MPI_COMM_WORLD, 3, dims.data(), wrap.data(), 0, &comm);
    std::array<int, 3> place{};
    MPI_Cart_coords(comm, all.rank(), 3, place.data());
    for (std::size_t d = 0; d < 3; ++d) {
      const auto of = static_cast<std::size_t>(dims[d]), at = static_cast<std::size_t>(place[d]);
      if (points < of) refuse("--points: must be at least the number of ranks along a side");
      first[d] = points * at / of;
      size[d] = points * (at + 1) / of - first[d];
      MPI_Cart_shift(comm, static_cast<int>(d), 1, &neighbour[2 * d], &neighbour[2 * d + 1]);
    }
  }
  block(const block&) = delete;
  block& operator=(const block&) = delete;
  ~block() { MPI_Comm_free(&comm); }

  /// Points are numbered from 1; 0 and size + 1 are ghosts.
  [[nodiscard]] std::size_t at(std::size_t x, std::size_t y, std::size_t z) const {
    return (x * (size[1] + 2) + y) * (size[2] + 2) + z;
  }
  [[nodiscard]] std::size_t points() const { return (size[0] + 2) * (size[1] + 2) * (size[2] + 2); }
  /// Points of a face of a side: 2 d before, 2 d + 1 behind in dimension d.
  [[nodiscard]] std::size_t face(std::size_t side) const { return size[0] * size[1] * size[2] / size[side / 2]; }

  /// Calls work(index) for the points of a side: its outermost layer, or the ghosts beyond.
  template <class F>
  void for_face(std::size_t side, bool ghosts, const F& work) const {
    std::array<std::size_t, 3> from{1, 1, 1}, to = size;
    const std::size_t d = side / 2;
    from[d] = to[d] = side % 2 == 0 ? (ghosts ? 0 : 1) : size[d] + (ghosts ? 1 : 0);
    for (std::size_t x = from[0]; x <= to[0]; ++x)
      for (std::size_t y = from[1]; y <= to[1]; ++y)
        for (std::size_t z = from[2]; z <= to[2]; ++z) work(at(x, y, z));
  }

  /// Calls work(x, y, first z, last z) for every row of points that need no ghosts of neighbours, `test` now and then;
  /// then `wait`, then the rows that do.
  template <class F, class Test, class Wait>
  void inner_first(std::size_t tests, const F& work, const Test& test, const Wait& wait) const {
    std::array<std::size_t, 3> from{1, 1, 1}, to = size;
    for (std::size_t d = 0; d < 3; ++d) {
      if (neighbour[2 * d] != MPI_PROC_NULL) ++from[d];
      if (neighbour[2 * d + 1] != MPI_PROC_NULL) --to[d];
    }
    // What is left after `from` to `to` of one dimension is whole in those behind it.
    const bool any = from[0] <= to[0] && from[1] <= to[1] && from[2] <= to[2];
    const std::size_t planes = any ? to[0] - from[0] + 1 : 0;
    for (std::size_t x = 0, next = 1; x < planes; ++x) {
      for (std::size_t y = from[1]; y <= to[1]; ++y) work(from[0] + x, y, from[2], to[2]);
      if (tests > 0 && (x + 1) * (tests + 1) >= next * planes) {
        test();
        ++next;
      }
    }
    wait();
    for (std::size_t x = 1; x <= size[0]; ++x)
      for (std::size_t y = 1; y <= size[1]; ++y) {
        if (!any || x < from[0] || x > to[0] || y < from[1] || y > to[1]) {
          work(x, y, 1, size[2]);
          continue;
        }
        if (from[2] > 1) work(x, y, 1, from[2] - 1);
        if (to[2] < size[2]) work(x, y, to[2] + 1, size[2]);
      }
  }

  MPI_Comm comm = MPI_COMM_NULL;
  std::array<std::size_t, 3> first{}, size{};
  std::array<int, 6> neighbour{};
};

/// Exchanges the faces of a block with those of its neighbours, again and again: by a persistent neighbourhood
/// collective of libisthmus, or of MPI where that has them.
class halo {
 public:
  halo(program& all, const way& of, const block& own) : of_(of), own_(own), team_(all.team(of, own.comm)) {
    std::array<std::uint64_t, 6> faces{};
    for (std::size_t side = 0; side < 6; ++side) {
      if (own.neighbour[side] == MPI_PROC_NULL) continue;
      counts_[side] = static_cast<int>(own.face(side));
      places_[side] = static_cast<int>(from_.size());
      from_.resize(from_.size() + own.face(side));
      triples_.insert(triples_.end(), {own.neighbour[side], counts_[side], counts_[side]});
      faces[side] = own.face(side);
    }
    to_.resize(from_.size());
    if (of.how == kind::ours || of.how == kind::timer) {
      isthmus_call call = call_of(ISTHMUS_NEIGHBOR_ALLTOALL, ISTHMUS_F64, 0);
      call.counts = triples_.data();
      call.counts_length = triples_.size();
      isthmus::pgas::check(isthmus_make(team_, &call, &persistent_));
    }
#if MPI_VERSION >= 4
    if (of.how == kind::mpi)
      MPI_Neighbor_alltoallv_init(from_.data(), counts_.data(), places_.data(), MPI_DOUBLE, to_.data(), counts_.data(),
                                  places_.data(), MPI_DOUBLE, own.comm, MPI_INFO_NULL, &begun_);
#endif
    if (of.how != kind::one_sided) return;
    // Room for two exchanges: a neighbour may be one ahead. Offsets are the same on all ranks.
    space_ = all.space(of, own.comm);
    MPI_Allreduce(MPI_IN_PLACE, faces.data(), 6, MPI_UINT64_T, MPI_MAX, own.comm);
    for (std::size_t i = 0; i < 12; ++i)
      isthmus::pgas::check(isthmus_allocate_all(space_, std::max<std::uint64_t>(8, 8 * faces[i % 6]), &rooms_[i]));
    isthmus::pgas::check(isthmus_allocate_all(space_, 16, &signals_));
    std::memset(here(signals_), 0, 16);
    isthmus::pgas::check(isthmus_barrier(space_, nullptr));
  }
  halo(const halo&) = delete;
  halo& operator=(const halo&) = delete;
  ~halo() {
    if (persistent_ != nullptr) isthmus_free(persistent_);
#if MPI_VERSION >= 4
    if (begun_ != MPI_REQUEST_NULL) MPI_Request_free(&begun_);
#endif
  }

  /// Begins to send the faces of a field.
  void start(const double* field) {
    double* at = from_.data();
    for (std::size_t side = 0; side < 6; ++side)
      if (counts_[side] > 0) own_.for_face(side, false, [&](std::size_t i) { *at++ = field[i]; });
    parity_ = 1 - parity_;
    under_way_ = begin();
  }
  bool test() { return under_way_.test(); }
  /// Waits, and fills the ghosts of a field.
  void finish(double* field) {
    under_way_.wait();
    if (of_.how == kind::none) return;
    const double* at = to_.data();
    for (std::size_t side = 0; side < 6; ++side) {
      if (counts_[side] == 0) continue;
      if (space_ != nullptr) at = static_cast<const double*>(here(rooms_[6 * parity_ + side]));
      own_.for_face(side, true, [&](std::size_t i) { field[i] = *at++; });
    }
  }

 private:
  request begin() {
    switch (of_.how) {
      case kind::none: return {};
      case kind::blocking:
        MPI_Neighbor_alltoallv(from_.data(), counts_.data(), places_.data(), MPI_DOUBLE, to_.data(), counts_.data(),
                               places_.data(), MPI_DOUBLE, own_.comm);
        return {};
      case kind::mpi: {
#if MPI_VERSION >= 4
        MPI_Start(&begun_);
        return isthmus::mpi_requests(begun_);
#else
        MPI_Request begun = MPI_REQUEST_NULL;
        MPI_Ineighbor_alltoallv(from_.data(), counts_.data(), places_.data(), MPI_DOUBLE, to_.data(), counts_.data(),
                                places_.data(), MPI_DOUBLE, own_.comm, &begun);
        return isthmus::mpi_requests(begun);
#endif
      }
      case kind::one_sided: {
        std::uint64_t neighbours = 0;
        for (std::size_t side = 0; side < 6; ++side) {
          if (counts_[side] == 0) continue;
          ++neighbours;
          isthmus::pgas::check(
              isthmus_put_signal(space_, static_cast<std::uint32_t>(own_.neighbour[side]),
                                 rooms_[6 * parity_ + (side ^ 1)], &from_[static_cast<std::size_t>(places_[side])],
                                 8 * static_cast<std::size_t>(counts_[side]), signals_ + 8 * parity_, 1));
        }
        return arrival(space_, signals_ + 8 * parity_, neighbours);
      }
      default:
        isthmus::pgas::check(isthmus_start(persistent_, from_.data(), to_.data()));
        return isthmus::operation(persistent_);
    }
  }
  [[nodiscard]] void* here(std::uint64_t offset) const { return isthmus_cast(space_, isthmus_rank(team_), offset); }

  way of_;
  const block& own_;
  isthmus_team* team_;
  std::array<int, 6> counts_{}, places_{};
  std::vector<std::int64_t> triples_;
  std::vector<double> from_, to_;
  isthmus_operation* persistent_ = nullptr;
  MPI_Request begun_ = MPI_REQUEST_NULL;
  isthmus_space* space_ = nullptr;
  std::array<std::uint64_t, 12> rooms_{};
  std::uint64_t signals_ = 0;
  std::size_t parity_ = 0;
  request under_way_;
};

}  // namespace overlap
