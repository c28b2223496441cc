// Parallel compression: every rank compresses blocks of its data with zstd, and those before are gathered on rank 0
// meanwhile. How long blocks become is not known before: all ranks tell each other sizes before the bytes are gathered.
// The two have communicators of their own, so that bytes can begin in a test, whenever that sees the sizes.
//
// One-sided, a rank takes room in the memory of rank 0 by an atomic addition and puts its bytes there. Check: rank 0
// decompresses everything and compares it with the data.
#include <zstd.h>

#include <optional>

#include "overlap.hpp"

namespace {

using isthmus::pgas::check;
using overlap::kind;
using overlap::way;

std::size_t block;
MPI_Comm bytes_comm;  // of the gathers

/// Words and numbers, as in a log: about a quarter of it is left.
std::vector<char> data_of(std::size_t rank, std::size_t number) {
  static const char* const words[] = {"temperature", "pressure", "velocity", "node", "step", "residual", "warning"};
  std::vector<char> out;
  out.reserve(block + 32);
  std::uint64_t state = 0x9e3779b97f4a7c15U * (1 + rank * 1000003 + number);
  while (out.size() < block) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const std::string text = std::string(words[state % 7]) + "=" + std::to_string((state >> 8) % 5000) + "\n";
    out.insert(out.end(), text.begin(), text.end());
  }
  out.resize(block);
  return out;
}

/// Begins a gather of bytes of different lengths on rank 0.
overlap::request gather(const way& of, isthmus_team* team, const std::vector<char>& from, std::vector<char>& to,
                        const std::vector<std::int64_t>& counts, std::vector<int>& lengths, std::vector<int>& places) {
  if (of.isthmus()) {
    isthmus_call call = overlap::call_of(ISTHMUS_GATHER, ISTHMUS_U8, 0);
    call.counts = counts.data();
    call.counts_length = counts.size();
    return isthmus::begin(team, call, from.data(), to.data());
  }
  lengths.assign(counts.begin(), counts.end());
  places.assign(counts.size(), 0);
  for (std::size_t r = 1; r < counts.size(); ++r) places[r] = places[r - 1] + lengths[r - 1];
  const int own = static_cast<int>(from.size());
  if (of.how == kind::mpi) {
    MPI_Request begun = MPI_REQUEST_NULL;
    MPI_Igatherv(from.data(), own, MPI_BYTE, to.data(), lengths.data(), places.data(), MPI_BYTE, 0, bytes_comm, &begun);
    return isthmus::mpi_requests(begun);
  }
  MPI_Gatherv(from.data(), own, MPI_BYTE, to.data(), lengths.data(), places.data(), MPI_BYTE, 0, bytes_comm);
  return {};
}

/// Begins an allgather of the bytes that all ranks have for an exchange.
overlap::request tell(const way& of, isthmus_team* team, const std::int64_t& own, std::vector<std::int64_t>& all) {
  if (of.isthmus()) return isthmus::begin(team, overlap::call_of(ISTHMUS_ALLGATHER, ISTHMUS_I64, 1), &own, all.data());
  if (of.how == kind::mpi) {
    MPI_Request begun = MPI_REQUEST_NULL;
    MPI_Iallgather(&own, 1, MPI_INT64_T, all.data(), 1, MPI_INT64_T, MPI_COMM_WORLD, &begun);
    return isthmus::mpi_requests(begun);
  }
  MPI_Allgather(&own, 1, MPI_INT64_T, all.data(), 1, MPI_INT64_T, MPI_COMM_WORLD);
  return {};
}

/// A tile on its way. Sizes go first; the bytes follow at a test that sees them, at the next exchange or at the wait,
/// whichever comes first, but never before those of the tile before: gathers are in the same order on all ranks.
struct shipment {
  way of;
  isthmus_team* team = nullptr;
  std::vector<char> from, to;
  std::int64_t own = 0;
  std::vector<std::int64_t> counts;
  std::vector<int> lengths, places;
  overlap::request sizes, bytes;
  const shipment* before = nullptr;
  bool follows = true;  ///< the bytes have yet to begin

  void follow() {
    if (!std::exchange(follows, false)) return;
    sizes.wait();
    std::int64_t sum = 0;
    for (const std::int64_t count : counts) sum += count;
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) to.resize(static_cast<std::size_t>(sum));
    bytes = gather(of, team, from, to, counts, lengths, places);
  }
  bool test() {
    if (follows && (before == nullptr || !before->follows) && sizes.test()) follow();
    return !follows && bytes.test();
  }
  void wait() {
    follow();
    bytes.wait();
  }
};

/// What the loop waits for: a shipment of the compressor.
struct on_its_way {
  shipment* which;
  bool test() const { return which->test(); }
  void wait() const { which->wait(); }
};

class compressor {
 public:
  compressor(overlap::program& all, const way& of)
      : of_(of),
        team_(all.team(of, MPI_COMM_WORLD)),
        bytes_team_(all.team(of, bytes_comm)),
        rank_(static_cast<std::size_t>(all.rank())),
        ranks_(static_cast<std::size_t>(all.ranks())),
        blocks_(static_cast<std::size_t>(all.number("blocks"))),
        level_(static_cast<int>(all.number("level"))),
        loop_(all.pipeline(of, blocks_, static_cast<double>(block) / 4, 1, MPI_COMM_WORLD)),
        context_(ZSTD_createCCtx()) {
    for (std::size_t i = 0; i < blocks_; ++i) data_.push_back(data_of(rank_, i));
    room_ = ZSTD_compressBound(block) + 2 * sizeof(std::uint64_t);
    if (of.how != kind::one_sided) return;
    space_ = all.space(of, MPI_COMM_WORLD);
    check(isthmus_allocate_all(space_, sizeof(std::uint64_t), &taken_));
    check(isthmus_allocate_all(space_, ranks_ * blocks_ * room_, &memory_));
  }
  compressor(const compressor&) = delete;
  compressor& operator=(const compressor&) = delete;
  ~compressor() { ZSTD_freeCCtx(context_); }

  void run() {
    archive_.clear();
    under_way_.clear();
    ended_ = 0;
    if (space_ != nullptr) {
      if (rank_ == 0) std::memset(here(taken_), 0, sizeof(std::uint64_t));
      check(isthmus_barrier(space_, nullptr));
    }
    loop_.run([&](const isthmus::tile& t) { compress(t); }, [&](const isthmus::tile&) { return start(); },
              [&](const isthmus::tile& t) {
                if (t.first + t.count == t.tile_first + t.tile_count) take();
              });
    if (space_ == nullptr) return;
    check(isthmus_wait_all(space_));
    check(isthmus_barrier(space_, nullptr));
    if (rank_ != 0) return;
    std::uint64_t sum = 0;
    std::memcpy(&sum, here(taken_), sizeof sum);
    archive_.assign(static_cast<const char*>(here(memory_)), static_cast<const char*>(here(memory_)) + sum);
  }

  /// The number of blocks that are not what they were, on rank 0.
  [[nodiscard]] double error() const {
    if (rank_ != 0) return 0;
    std::vector<int> seen(ranks_ * blocks_, 0);
    std::vector<char> plain(block);
    std::size_t wrong = 0;
    for (std::size_t at = 0; at < archive_.size();) {
      std::uint64_t head[2];
      if (archive_.size() - at < sizeof head) return 1e9;
      std::memcpy(head, &archive_[at], sizeof head);
      at += sizeof head;
      if (head[0] >= seen.size() || head[1] > archive_.size() - at) return 1e9;
      ++seen[head[0]];
      const std::size_t got = ZSTD_decompress(plain.data(), plain.size(), &archive_[at], head[1]);
      wrong += got != block || plain != data_of(head[0] / blocks_, head[0] % blocks_);
      at += head[1];
    }
    for (const int times : seen) wrong += times != 1;
    return static_cast<double>(wrong);
  }
  [[nodiscard]] std::string says() const {
    return overlap::tiling_of(loop_) + ", " + std::to_string(archive_.size()) + " bytes of " +
           std::to_string(ranks_ * blocks_ * block);
  }

 private:
  /// Appends blocks with their numbers and lengths to what the next exchange has.
  void compress(const isthmus::tile& t) {
    for (std::size_t i = t.first; i < t.first + t.count; ++i) {
      const std::size_t before = next_.size();
      std::uint64_t head[2] = {rank_ * blocks_ + i, 0};
      next_.resize(before + room_);
      head[1] = ZSTD_compressCCtx(context_, &next_[before + sizeof head], room_ - sizeof head, data_[i].data(), block,
                                  level_);
      std::memcpy(&next_[before], head, sizeof head);
      next_.resize(before + sizeof head + head[1]);
    }
  }

  on_its_way start() {
    const shipment* const last = under_way_.empty() ? nullptr : under_way_.back().get();
    if (last != nullptr && of_.how != kind::none) under_way_.back()->follow();
    shipment& now = *under_way_.emplace_back(std::make_unique<shipment>());
    now.before = last;
    now.of = of_;
    now.team = bytes_team_;
    now.from = std::exchange(next_, {});
    now.own = static_cast<std::int64_t>(now.from.size());
    now.counts.assign(ranks_, 0);
    if (of_.how == kind::none || space_ != nullptr) now.follows = false;
    else now.sizes = tell(of_, team_, now.own, now.counts);
    if (space_ == nullptr) return {&now};
    const std::uint64_t length = now.from.size();
    std::uint64_t before = 0;
    check(isthmus_atomic(space_, 0, taken_, ISTHMUS_U64, ISTHMUS_ATOMIC_ADD, &length, nullptr, &before));
    check(isthmus_begin_put(space_, 0, memory_ + before, now.from.data(), length, nullptr));
    return {&now};
  }

  void take() {
    shipment& oldest = *under_way_[ended_++];
    archive_.insert(archive_.end(), oldest.to.begin(), oldest.to.end());
  }
  [[nodiscard]] void* here(std::uint64_t offset) const { return isthmus_cast(space_, isthmus_rank(team_), offset); }

  way of_;
  isthmus_team *team_, *bytes_team_;
  std::size_t rank_, ranks_, blocks_;
  int level_;
  isthmus::pipeline loop_;
  ZSTD_CCtx* context_;
  std::vector<std::vector<char>> data_;
  std::vector<char> next_, archive_;
  std::vector<std::unique_ptr<shipment>> under_way_;
  std::size_t ended_ = 0, room_ = 0;
  isthmus_space* space_ = nullptr;
  std::uint64_t taken_ = 0, memory_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  overlap::program all(argc, argv, "compress", {{"blocks", 16, 1}, {"kilobytes", 256, 1}, {"level", 3, 1}},
                       "none,blocking,mpi,ours,one-sided");
  block = static_cast<std::size_t>(all.number("kilobytes")) << 10;
  MPI_Comm_dup(MPI_COMM_WORLD, &bytes_comm);
  const int wrong = all.take_turns(
      [&](const way& of) {
        const auto here = std::make_shared<compressor>(all, of);
        overlap::program::work out;
        out.run = [here] { here->run(); };
        out.error = [here] { return here->error(); };
        out.says = [here] { return here->says(); };
        return out;
      },
      0);
  MPI_Comm_free(&bytes_comm);
  return wrong;
}
