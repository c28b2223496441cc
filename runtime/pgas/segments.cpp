#include "runtime/pgas/segments.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <functional>
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

/// Memory that is not there may be there later; addresses are not. No memory has been taken for them.
class NoAddresses : public TransportError {
 public:
  using TransportError::TransportError;
};

/// What a rank says of its memory to the others.
struct Card {
  std::uint64_t place;    // see shared_place()
  std::uint64_t process;  // see this_process()
  std::uint64_t address;  // there
  char name[40];
};

/// Why a rank cannot go on; of addresses something may be done.
struct Refusal {
  bool addresses = false;
  std::array<char, 120> words{};
};

Refusal refused_by(const std::function<void()>& work) {
  Refusal refusal;
  const auto note = [&](const char* words) { std::string(words).copy(refusal.words.data(), refusal.words.size() - 1); };
  try {
    work();
  } catch (const NoAddresses& error) {
    refusal.addresses = true;
    note(error.what());
  } catch (const TransportError& error) {
    note(error.what());
  }
  return refusal;
}

template <class T>
std::vector<T> gathered(isthmus_team* team, const T& mine) {
  std::vector<T> all(isthmus_ranks(team));
  gather_all(team, &mine, all.data(), sizeof mine);
  return all;
}

/// Why some rank has too few addresses, in the same words on all of them, or nothing. Throws TransportError.
std::string agree(isthmus_team* team, const Refusal& mine) {
  const std::vector<Refusal> all = gathered(team, mine);
  std::string found;
  for (Rank r = 0; r < all.size(); ++r) {
    if (all[r].words[0] == '\0') continue;
    const std::string words = "rank " + std::to_string(r) + ": " + all[r].words.data();
    if (!all[r].addresses) throw TransportError(words);
    if (found.empty()) found = words;
  }
  return found;
}

/// All the shared memory that this node may ever give.
std::uint64_t whole_memory() {
  struct statvfs found{};
  if (::statvfs("/dev/shm", &found) == 0 && found.f_blocks > 0)
    return std::uint64_t{found.f_blocks} * std::uint64_t{found.f_frsize};
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page) : 0;
}

/// What the system allows of a resource.
std::uint64_t limit_of(decltype(RLIMIT_AS) resource) {
  rlimit found{};
  if (::getrlimit(resource, &found) != 0 || found.rlim_cur == RLIM_INFINITY) return ~std::uint64_t{0};
  return found.rlim_cur;
}

/// The fewest addresses of either kind that a space sets aside by itself.
constexpr std::uint64_t fewest = std::uint64_t{64} << 20;

}  // namespace

std::string words_of(int error) { return std::string(std::strerror(error)) + (error == ENOSPC ? " (/dev/shm)" : ""); }

std::uint64_t in_pages(std::uint64_t bytes) {
  constexpr std::uint64_t page = 4096;
  return (bytes + page - 1) / page * page;
}

Segments::Segments(isthmus_team* team, const SegmentSizes& wished, const std::vector<bool>& near)
    : sizes_(agreed(team, wished, near)),
      rank_(isthmus_rank(team)),
      boards_at_(in_pages(sizeof(Control))),
      requests_at_(boards_at_ + in_pages(boards * sizeof(BoardPlaces))),
      memory_at_(requests_at_ + 2 * sizes_.queue) {
  // A limit of the system, or a tool that needs addresses for itself, may leave fewer than there is memory.
  for (;;) {
    std::string refused;
    try {
      refused = map(team, near);
    } catch (...) {
      close();
      throw;
    }
    if (refused.empty()) break;
    close();
    const SegmentSizes before = sizes_;
    if (wished.symmetric == 0) sizes_.symmetric = std::max(fewest, in_pages(sizes_.symmetric / 2));
    if (wished.local == 0) sizes_.local = std::max(fewest, in_pages(sizes_.local / 2));
    if (sizes_ == before) throw TransportError(refused);
  }
  ::shm_unlink(name_.c_str());
  name_.clear();
}

SegmentSizes Segments::agreed(isthmus_team* team, const SegmentSizes& wished, const std::vector<bool>& near) const {
  struct Wish {
    SegmentSizes sizes;
    std::uint64_t memory, near, allowed;
  };
  const auto of_node = static_cast<std::uint64_t>(std::count(near.begin(), near.end(), true));
  // The program needs most of the addresses that it may have; a file that is too long is a signal.
  const std::uint64_t allowed = std::min(limit_of(RLIMIT_AS) / (8 * of_node), limit_of(RLIMIT_FSIZE) / 4);
  const std::vector<Wish> all = gathered(team, Wish{wished, whole_memory(), of_node, allowed});
  // Of the 128 TiB of addresses of a process, other spaces and the program need some, too.
  constexpr std::uint64_t addresses = std::uint64_t{16} << 40, least = std::uint64_t{4} << 30;
  std::uint64_t memory = least, most = addresses, allowed_to_all = addresses;
  for (Rank r = 0; r < all.size(); ++r) {
    require(all[r].sizes == all[0].sizes, "isthmus_space_options: those of rank ", r, " are not those of rank 0");
    memory = std::max(memory, all[r].memory);
    most = std::min(most, addresses / (2 * all[r].near));
    allowed_to_all = std::min(allowed_to_all, all[r].allowed);
  }
  const std::uint64_t usual =
      in_pages(std::max(fewest, std::min(allowed_to_all, std::max(least, std::min(memory, most)))));
  SegmentSizes sizes = wished;
  if (sizes.symmetric == 0) sizes.symmetric = usual;
  if (sizes.local == 0) sizes.local = usual;
  return sizes;
}

std::string Segments::map(isthmus_team* team, const std::vector<bool>& near) {
  size_ = memory_at_ + sizes_.symmetric + sizes_.local;
  mapped_.assign(near.size(), Mapped{});
  if (std::string refused = agree(team, refused_by([&] { make(); })); !refused.empty()) return refused;
  Card own{shared_place(), this_process(), reinterpret_cast<std::uintptr_t>(mapped_[rank_].at), {}};
  name_.copy(own.name, sizeof own.name - 1);
  const std::vector<Card> cards = gathered(team, own);
  for (Rank r = 0; r < cards.size(); ++r)
    if (near[r] && cards[r].place != own.place)
      throw Unsupported("rank " + std::to_string(r) + " shares no memory with rank " + std::to_string(rank_) +
                        ": ranks of several nodes have to join by isthmus_join_mpi()");
  return agree(team, refused_by([&] {
                 for (Rank r = 0; r < cards.size(); ++r)
                   if (r != rank_ && near[r]) attach(r, cards[r].name, cards[r].process, cards[r].address);
               }));
}

Segments::~Segments() { close(); }

void Segments::close() {
  for (const Mapped& mapped : mapped_) {
    if (mapped.mine && mapped.at != nullptr) ::munmap(mapped.at, size_);
    if (mapped.file >= 0) ::close(mapped.file);
  }
  mapped_.clear();
  if (!name_.empty()) ::shm_unlink(name_.c_str());
  name_.clear();
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
    throw NoAddresses("cannot make shared memory of " + std::to_string(size_) + " bytes: " + words_of(errno));
  if (const int error = take(rank_, 0, memory_at_); error != 0)
    throw TransportError("cannot make shared memory of " + std::to_string(memory_at_) + " bytes: " + words_of(error));
  void* const at = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, mapped_[rank_].file, 0);
  if (at == MAP_FAILED)
    throw NoAddresses("cannot map shared memory of " + std::to_string(size_) + " bytes: " + words_of(errno));
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
    throw NoAddresses("cannot map shared memory of " + std::to_string(size_) + " bytes: " + words_of(errno));
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
  constexpr std::uint64_t least = 1 << 20, most_ahead = 256 << 20;
  std::atomic<std::uint64_t>& taken = control(rank).taken[local ? 1 : 0];
  const std::uint64_t most = local ? sizes_.local : sizes_.symmetric;
  std::uint64_t before = taken.load(std::memory_order_acquire);
  if (bytes <= before) return 0;
  // Ever more at a time, as each call of the system takes some microseconds.
  std::uint64_t wanted = std::min(most, in_pages(std::max({bytes, before + std::min(before / 4, most_ahead), least})));
  const std::uint64_t from = memory_at_ + (local ? sizes_.symmetric : 0) + before;
  int error = take(rank, from, wanted - before);
  if (error != 0 && wanted > in_pages(bytes)) {
    wanted = in_pages(bytes);
    error = take(rank, from, wanted - before);
  }
  if (error != 0) return error;
  while (before < wanted && !taken.compare_exchange_weak(before, wanted)) {
  }
  return 0;
}

}  // namespace isthmus::runtime
