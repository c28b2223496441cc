#include "runtime/pgas/segments.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <random>

#include "base/error.hpp"
#include "runtime/interface/joining.hpp"

namespace isthmus::runtime {
namespace {

std::uint64_t random_number() {
  std::random_device random;
  return (std::uint64_t{random()} << 32) | random();
}

/// Numbers of processes may be the same in two containers that share memory.
std::uint64_t this_process() {
  static const std::uint64_t number = random_number();
  return number;
}

std::string words_of(int error) { return std::string(std::strerror(error)) + (error == ENOSPC ? " (/dev/shm)" : ""); }

/// What a rank says of its memory to the others.
struct Card {
  std::uint64_t place;    // see shared_place()
  std::uint64_t process;  // see this_process()
  std::uint64_t address;  // there
  SegmentSizes sizes;
  char name[40];
  char refused[120];  // why it has none
};

/// Why some rank cannot go on, in the same words on all of them.
void agree(isthmus_team* team, const std::string& refused) {
  std::array<char, 120> mine{};
  refused.copy(mine.data(), mine.size() - 1);
  std::vector<std::array<char, 120>> all(isthmus_ranks(team));
  gather_all(team, mine.data(), all.data(), sizeof mine);
  for (Rank r = 0; r < all.size(); ++r)
    if (all[r][0] != '\0') throw TransportError("rank " + std::to_string(r) + ": " + all[r].data());
}

}  // namespace

std::uint64_t in_pages(std::uint64_t bytes) {
  constexpr std::uint64_t page = 4096;
  return (bytes + page - 1) / page * page;
}

Segments::Segments(isthmus_team* team, const SegmentSizes& sizes, const std::vector<bool>& near)
    : sizes_(sizes),
      rank_(isthmus_rank(team)),
      boards_at_(in_pages(sizeof(Control))),
      requests_at_(boards_at_ + in_pages(boards * sizeof(BoardPlaces))),
      memory_at_(requests_at_ + 2 * sizes.queue),
      size_(memory_at_ + sizes.symmetric + sizes.local),
      mapped_(isthmus_ranks(team)) {
  Card own{};
  try {
    make();
  } catch (const TransportError& error) {
    std::string(error.what()).copy(own.refused, sizeof own.refused - 1);
  }
  own.place = shared_place();
  own.process = this_process();
  own.address = reinterpret_cast<std::uintptr_t>(mapped_[rank_].at);
  own.sizes = sizes;
  name_.copy(own.name, sizeof own.name - 1);
  std::vector<Card> cards(mapped_.size());
  std::string refused;
  try {
    gather_all(team, &own, cards.data(), sizeof own);
    for (Rank r = 0; r < cards.size(); ++r) {
      const Card& card = cards[r];
      if (card.refused[0] != '\0') throw TransportError("rank " + std::to_string(r) + ": " + card.refused);
      if (near[r] && card.place != own.place)
        throw Unsupported("rank " + std::to_string(r) + " shares no memory with rank " + std::to_string(rank_) +
                          ": ranks of several nodes have to join by isthmus_join_mpi()");
      require(card.sizes == cards[0].sizes, "isthmus_space_options: those of rank ", r, " are not those of rank 0");
    }
    try {
      for (Rank r = 0; r < cards.size(); ++r)
        if (r != rank_ && near[r]) attach(r, cards[r].name, cards[r].process, cards[r].address);
    } catch (const TransportError& error) {
      refused = error.what();
    }
    agree(team, refused);
  } catch (...) {
    close();
    throw;
  }
  ::shm_unlink(name_.c_str());
  name_.clear();
}

Segments::~Segments() { close(); }

void Segments::close() {
  for (const Mapped& mapped : mapped_) {
    if (mapped.mine && mapped.at != nullptr) ::munmap(mapped.at, size_);
    if (mapped.file >= 0) ::close(mapped.file);
  }
  if (!name_.empty()) ::shm_unlink(name_.c_str());
}

void Segments::make() {
  do {
    name_ = "/isthmus-space-" + std::to_string(random_number());
    mapped_[rank_].file = ::shm_open(name_.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  } while (mapped_[rank_].file < 0 && errno == EEXIST);
  if (mapped_[rank_].file < 0) {
    name_.clear();
    throw TransportError("cannot make shared memory: " + words_of(errno));
  }
  if (::ftruncate(mapped_[rank_].file, static_cast<off_t>(size_)) != 0)
    throw TransportError("cannot make shared memory of " + std::to_string(size_) + " bytes: " + words_of(errno));
  if (const int error = take(rank_, 0, memory_at_); error != 0)
    throw TransportError("cannot make shared memory of " + std::to_string(memory_at_) + " bytes: " + words_of(error));
  void* const at = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, mapped_[rank_].file, 0);
  if (at == MAP_FAILED)
    throw TransportError("cannot map shared memory of " + std::to_string(size_) + " bytes: " + words_of(errno));
  mapped_[rank_].at = static_cast<std::byte*>(at);
  mapped_[rank_].mine = true;
}

void Segments::attach(Rank rank, const char* name, std::uint64_t process, std::uint64_t address) {
  Mapped& mapped = mapped_[rank];
  mapped.file = ::shm_open(name, O_RDWR | O_CLOEXEC, 0600);
  if (mapped.file < 0)
    throw TransportError("cannot open shared memory of rank " + std::to_string(rank) + ": " + words_of(errno));
  if (process == this_process()) {  // ranks are threads
    mapped.at = reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address));
    return;
  }
  void* const at = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, mapped.file, 0);
  if (at == MAP_FAILED)
    throw TransportError("cannot map shared memory of " + std::to_string(size_) + " bytes: " + words_of(errno));
  mapped.at = static_cast<std::byte*>(at);
  mapped.mine = true;
}

int Segments::take(Rank rank, std::uint64_t offset, std::uint64_t bytes) {
  // Pages of a sparse file that cannot be had are a signal when they are touched; here they are an error.
  int error = 0;
  do {
    error = ::posix_fallocate(mapped_[rank].file, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (error == EINTR);
  return error == EOPNOTSUPP ? 0 : error;
}

int Segments::take_pages(Rank rank, bool local, std::uint64_t bytes) {
  constexpr std::uint64_t least = 1 << 20;
  std::atomic<std::uint64_t>& taken = control(rank).taken[local ? 1 : 0];
  const std::uint64_t most = local ? sizes_.local : sizes_.symmetric;
  std::uint64_t before = taken.load(std::memory_order_acquire);
  if (bytes <= before) return 0;
  // Ever more at a time, as each call of the system takes some microseconds.
  const std::uint64_t wanted = std::min(most, in_pages(std::max({bytes, before + before / 4, least})));
  const std::uint64_t from = memory_at_ + (local ? sizes_.symmetric : 0) + before;
  if (const int error = take(rank, from, wanted - before); error != 0) return error;
  while (before < wanted && !taken.compare_exchange_weak(before, wanted)) {
  }
  return 0;
}

}  // namespace isthmus::runtime
