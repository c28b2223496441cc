#include "runtime/transport/shm/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <random>
#include <thread>

namespace isthmus::runtime {
namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t mark = 0x33304853'4D485349;  // of this layout

std::uint64_t in_pages(std::uint64_t bytes) { return (bytes + page - 1) / page * page; }

/// Large ones, as two copies through the caches are faster than one through the kernel up to a quarter of them; but
/// many ranks get small ones, as each of them may have one for each other.
std::size_t bulk_of(const ShmOptions& options) {
  if (options.bulk != 0) return options.bulk;
  const std::size_t kibibytes = options.ranks <= 4 ? 256 : options.ranks <= 8 ? 128 : options.ranks <= 32 ? 32 : 16;
  return kibibytes << 10;
}

[[noreturn]] void fail(const std::string& what, int error) {
  const char* full = error == ENOSPC ? ": /dev/shm is full" : error == EACCES ? ": /dev/shm cannot be written to" : "";
  throw TransportError(what + ": " + std::strerror(error) + full);
}

/// Counts the time that was waited: of what passes between two looks at most 100 ms, as a process that was stopped (by
/// a debugger, by a container that was) has not waited.
class Patience {
 public:
  explicit Patience(std::chrono::milliseconds most) : left_(most) {}

  bool is_over() {
    const auto now = std::chrono::steady_clock::now();
    left_ -= std::min<std::chrono::steady_clock::duration>(now - last_, std::chrono::milliseconds(100));
    last_ = now;
    return left_ < std::chrono::steady_clock::duration::zero();
  }

 private:
  std::chrono::steady_clock::duration left_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace

struct alignas(64) ShmSegment::Head {
  std::uint64_t mark_value;
  std::uint32_t ranks;
  std::atomic<std::uint32_t> ready;
  std::uint64_t bulk;
  std::atomic<std::uint32_t> attached;
  std::atomic<std::uint32_t> complete;
  std::atomic<std::uint32_t> dead;  // its number plus 1

  ShmRank* ranks_at() { return reinterpret_cast<ShmRank*>(this + 1); }
};

ShmSegment::ShmSegment(const ShmOptions& options)
    : rank_(options.rank),
      ranks_(options.ranks),
      bulk_(bulk_of(options)),
      head_bytes_(in_pages(sizeof(Head) + std::size_t{options.ranks} * sizeof(ShmRank))),
      ring_bytes_(in_pages(sizeof(Ring))),
      bulk_bytes_(in_pages(BulkRing::head + bulk_)),
      name_("/isthmus-" + options.job) {
  size_ = head_bytes_ + std::size_t{ranks_} * ranks_ * (ring_bytes_ + bulk_bytes_);
  if (options.job.empty() || options.job.size() > 200 ||
      options.job.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") !=
          std::string::npos)
    throw TransportError("job '" + options.job + "': must be up to 200 letters, digits, '-', '_' and '.'");
  if (rank_ >= ranks_)
    throw TransportError("rank " + std::to_string(rank_) + " does not exist: there are " + std::to_string(ranks_) +
                         " ranks");
  try {
    open(options);
    attach(options);
    wait_for_others(options);
  } catch (...) {
    close();
    throw;
  }
}

ShmSegment::~ShmSegment() {
  if (head_ != nullptr) head_->ranks_at()[rank_].state.store(ShmRank::left, std::memory_order_release);
  close();
}

void ShmSegment::close() {
  if (memory_ != nullptr) ::munmap(memory_, size_);
  if (file_ >= 0) ::close(file_);
  memory_ = nullptr;
  head_ = nullptr;
  file_ = -1;
}

void ShmSegment::open(const ShmOptions& options) {
  Patience patience(options.patience);
  while (!try_open(options)) {
    if (patience.is_over())
      throw TransportError("shared memory " + name_ + " was begun by another rank and not finished");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// False: somebody is just making it, or it has just been removed.
bool ShmSegment::try_open(const ShmOptions& options) {
  constexpr std::size_t most_at_once = std::size_t{256} << 20;
  const std::size_t reserved = options.reserve ? std::max(head_bytes_, std::min(size_, most_at_once)) : head_bytes_;
  file_ = ::shm_open(name_.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  const bool mine = file_ >= 0;
  if (!mine && errno != EEXIST) fail("cannot make shared memory " + name_, errno);
  if (!mine) {
    file_ = ::shm_open(name_.c_str(), O_RDWR | O_CLOEXEC, 0600);
    if (file_ < 0 && errno != ENOENT) fail("cannot open shared memory " + name_, errno);
    if (file_ < 0) return false;
    struct stat facts = {};
    if (::fstat(file_, &facts) != 0 || facts.st_size == 0) {
      close();
      return false;
    }
    if (static_cast<std::uint64_t>(facts.st_size) != size_)
      throw TransportError("job '" + options.job + "' was started with another number of ranks or other options");
  } else if (const int error = ::ftruncate(file_, static_cast<off_t>(size_)) != 0
                                   ? errno
                                   : ::posix_fallocate(file_, 0, static_cast<off_t>(reserved));
             error != 0) {
    ::shm_unlink(name_.c_str());
    fail("cannot make shared memory of " + std::to_string(size_) + " bytes", error);
  }
  void* const at = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
  if (at == MAP_FAILED) {
    const int error = errno;
    if (mine) ::shm_unlink(name_.c_str());
    fail("cannot map shared memory of " + std::to_string(size_) + " bytes", error);
  }
  memory_ = static_cast<std::byte*>(at);
  head_ = reinterpret_cast<Head*>(memory_);
  if (mine) {
    head_->mark_value = mark;
    head_->ranks = ranks_;
    head_->bulk = bulk_;
    head_->ready.store(1, std::memory_order_release);
    return true;
  }
  if (head_->ready.load(std::memory_order_acquire) == 0) {
    close();
    return false;
  }
  if (head_->mark_value == mark && head_->ranks == ranks_ && head_->bulk == bulk_) return true;
  throw TransportError("job '" + options.job + "' was started by another version or with other options");
}

void ShmSegment::attach(const ShmOptions& options) {
  lock(rank_);
  ShmRank& own = head_->ranks_at()[rank_];
  std::uint32_t before = ShmRank::absent;
  if (!own.state.compare_exchange_strong(before, ShmRank::present)) {
    head_ = nullptr;  // not ours to mark as left
    throw TransportError("rank " + std::to_string(rank_) + " of job '" + options.job + "' was started twice");
  }
  std::random_device random;
  probe_ = (std::uint64_t{random()} << 32) | random();
  own.process = static_cast<std::int32_t>(::getpid());
  own.probe = reinterpret_cast<std::uintptr_t>(&probe_);
  own.probe_value = probe_;
  own.processors = own_processors();
  if (head_->attached.fetch_add(1, std::memory_order_acq_rel) + 1 < ranks_) return;
  ::shm_unlink(name_.c_str());
  head_->complete.store(1, std::memory_order_release);
}

void ShmSegment::wait_for_others(const ShmOptions& options) {
  Patience patience(options.patience);
  auto look = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  while (head_->complete.load(std::memory_order_acquire) == 0) {
    const auto now = std::chrono::steady_clock::now();
    const auto give_up = [&](const std::string& words) {
      ::shm_unlink(name_.c_str());
      throw TransportError(words);
    };
    if (now > look) {
      look = now + std::chrono::milliseconds(200);
      for (Rank r = 0; r < ranks_; ++r) {
        const std::uint32_t state = of(r).state.load(std::memory_order_acquire);
        if (r != rank_ && state != ShmRank::absent && (state == ShmRank::left || !is_alive(r)))
          give_up("rank " + std::to_string(r) + " of job '" + options.job + "' ended while the others were starting");
      }
    }
    if (patience.is_over()) {
      std::string missing;
      for (Rank r = 0; r < ranks_; ++r)
        if (of(r).state.load() == ShmRank::absent) missing += (missing.empty() ? "" : ", ") + std::to_string(r);
      give_up("job '" + options.job + "': these of " + std::to_string(ranks_) + " ranks did not start: " + missing);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

const ShmRank& ShmSegment::of(Rank rank) const { return head_->ranks_at()[rank]; }

bool ShmSegment::take_turns() const {
  std::vector<Processors> all(ranks_);
  for (Rank r = 0; r < ranks_; ++r) all[r] = of(r).processors;
  return runtime::take_turns(all);
}

namespace {

struct flock byte_of(Rank rank, short kind) {
  struct flock region = {};
  region.l_type = kind;
  region.l_whence = SEEK_SET;
  region.l_start = static_cast<off_t>(rank);
  region.l_len = 1;
  return region;
}

}  // namespace

void ShmSegment::lock(Rank rank) {
  struct flock region = byte_of(rank, F_WRLCK);
  if (::fcntl(file_, F_SETLK, &region) == 0) return;
  const int error = errno;
  if (error == EAGAIN || error == EACCES) {
    head_ = nullptr;
    throw TransportError("rank " + std::to_string(rank) + " of job '" + name_.substr(9) + "' was started twice");
  }
  fail("cannot lock shared memory " + name_, error);
}

bool ShmSegment::is_alive(Rank rank) const {
  if (rank == rank_) return true;
  struct flock region = byte_of(rank, F_WRLCK);
  return ::fcntl(file_, F_GETLK, &region) != 0 || region.l_type != F_UNLCK;
}

Rank ShmSegment::dead() const {
  const std::uint32_t found = head_->dead.load(std::memory_order_acquire);
  return found == 0 ? ranks_ : found - 1;
}

Rank ShmSegment::report_dead(Rank rank) {
  std::uint32_t before = 0;
  return head_->dead.compare_exchange_strong(before, rank + 1) ? rank : before - 1;
}

std::byte* ShmSegment::part(std::size_t offset, std::size_t bytes) {
  // Pages of a sparse file that cannot be had are a signal when they are touched; here they are an error.
  const int error = ::posix_fallocate(file_, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  if (error != 0 && error != EOPNOTSUPP) {
    errno = error;
    return nullptr;
  }
  return memory_ + offset;
}

Ring* ShmSegment::ring(Rank from, Rank to) {
  const std::size_t number = std::size_t{from} * ranks_ + to;
  return reinterpret_cast<Ring*>(part(head_bytes_ + number * ring_bytes_, ring_bytes_));
}

std::byte* ShmSegment::bulk_ring(Rank from, Rank to) {
  const std::size_t number = std::size_t{from} * ranks_ + to;
  const std::size_t first = head_bytes_ + std::size_t{ranks_} * ranks_ * ring_bytes_;
  return part(first + number * bulk_bytes_, bulk_bytes_);
}

}  // namespace isthmus::runtime
