// A partitioned global address space in C++20, header only: pointers into the memory of any rank, arrays that are dealt
// out to the ranks in blocks.
//
//     isthmus::pgas::shared_array<double> a(space, 1000000, 64);   // all ranks call it
//     for (auto [i, x] : a.mine()) x = f(i);                       // owner computes: plain memory
//     isthmus_barrier(space, nullptr);
//     double last = a[999999];                                     // from wherever it lies
//
// What the functions of isthmus_pgas.h return as a status below 0 is thrown here, as an error with its words.
#ifndef ISTHMUS_PGAS_HPP
#define ISTHMUS_PGAS_HPP

#include <array>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "isthmus_shared.h"

namespace isthmus::pgas {

/// What a function of the library refused, or could not do.
class error : public std::runtime_error {
 public:
  explicit error(int status) : std::runtime_error(isthmus_last_error()), status_(status) {}
  [[nodiscard]] int status() const noexcept { return status_; }

 private:
  int status_;
};

/// Throws an error unless it is done, or in progress.
inline int check(int status) {
  if (status < 0) throw error(status);
  return status;
}

/// Numbers that atomic operations and sums know.
template <class T>
concept number = (std::is_integral_v<T> || std::is_floating_point_v<T>) && (sizeof(T) == 4 || sizeof(T) == 8);

template <number T>
constexpr isthmus_element element_of() {
  if constexpr (std::is_floating_point_v<T>) return sizeof(T) == 4 ? ISTHMUS_F32 : ISTHMUS_F64;
  else if constexpr (std::is_signed_v<T>) return sizeof(T) == 4 ? ISTHMUS_I32 : ISTHMUS_I64;
  else return sizeof(T) == 4 ? ISTHMUS_U32 : ISTHMUS_U64;
}

/// The ranks of a job and their space; both are left when it is destroyed.
class world {
 public:
  /// Joins the ranks that the environment says (isthmus_join()).
  world() : world(joined()) {}
  /// Takes a team over.
  explicit world(isthmus_team* team) : team_(team) {
    const int status = isthmus_space_make(team, nullptr, &space_);
    if (status >= 0) return;
    const error why(status);
    isthmus_leave(team);
    throw why;
  }
  world(const world&) = delete;
  world& operator=(const world&) = delete;
  ~world() {
    isthmus_space_leave(space_);
    isthmus_leave(team_);
  }

  operator isthmus_space*() const { return space_; }  // NOLINT(google-explicit-constructor)
  [[nodiscard]] isthmus_team* team() const { return team_; }
  [[nodiscard]] std::uint32_t rank() const { return isthmus_rank(team_); }
  [[nodiscard]] std::uint32_t ranks() const { return isthmus_ranks(team_); }
  void barrier() const { check(isthmus_barrier(space_, nullptr)); }

  /// The values of all ranks in one, which all of them get.
  template <number T>
  [[nodiscard]] T reduce(T value, isthmus_operator operation = ISTHMUS_SUM) const {
    isthmus_call call{};
    call.size = sizeof call;
    call.kind = ISTHMUS_ALLREDUCE;
    call.element = element_of<T>();
    call.operation = operation;
    call.count = 1;
    T all{};
    check(isthmus_run(team_, &call, &value, &all));
    return all;
  }

 private:
  static isthmus_team* joined() {
    isthmus_team* team = nullptr;
    check(isthmus_join(nullptr, &team));
    return team;
  }

  isthmus_team* team_;
  isthmus_space* space_ = nullptr;
};

/// When a put is done here, and what the rank that it goes to hears of it: isthmus_completion, which functions of
/// isthmus_pgas.h take in its place. Events have to live until they are waited for.
class completion {
 public:
  completion() { given_.size = sizeof given_; }

  /// All of it.
  completion& event(isthmus_event& event) {
    given_.event = &event;
    return *this;
  }
  /// Memory of this rank may be overwritten when the call returns, or when the event says so.
  completion& local_now() {
    given_.local = ISTHMUS_LOCAL_NOW;
    return *this;
  }
  completion& local_event(isthmus_event& event) {
    given_.local = ISTHMUS_LOCAL_EVENT;
    given_.local_event = &event;
    return *this;
  }
  /// The other rank has a signal, or runs a handler with these arguments, when all bytes are there.
  completion& signal(std::uint64_t offset, std::uint64_t add = 1) {
    given_.notice = ISTHMUS_NOTICE_SIGNAL;
    given_.signal = offset;
    given_.add = add;
    return *this;
  }
  template <std::convertible_to<std::uint64_t>... A>
    requires(sizeof...(A) <= ISTHMUS_MOST_ARGUMENTS)
  completion& message(std::uint32_t handler, A... arguments) {
    given_.notice = ISTHMUS_NOTICE_MESSAGE;
    given_.handler = handler;
    given_.count = sizeof...(A);
    arguments_ = {static_cast<std::uint64_t>(arguments)...};
    return *this;
  }

  operator const isthmus_completion*() const {  // NOLINT(google-explicit-constructor)
    given_.arguments = arguments_.data();
    return &given_;
  }

 private:
  mutable isthmus_completion given_{};
  std::array<std::uint64_t, ISTHMUS_MOST_ARGUMENTS> arguments_{};
};

/// What may lie in shared memory: it is moved as bytes.
template <class T>
concept movable_as_bytes = std::is_trivially_copyable_v<T>;

/// What `*p` and `a[i]` are: reading it gets, assigning to it puts.
template <movable_as_bytes T, class P>
class reference {
 public:
  explicit reference(P place) : place_(place) {}
  reference(const reference&) = default;
  operator T() const { return place_.get(); }  // NOLINT(google-explicit-constructor)
  const reference& operator=(const T& value) const {
    place_.put(value);
    return *this;
  }
  const reference& operator=(const reference& other) const { return *this = static_cast<T>(other); }  // NOLINT
  P operator&() const { return place_; }  // NOLINT(google-runtime-operator)

 private:
  P place_;
};

/// An object in the memory of a rank; arithmetic stays in that memory.
template <movable_as_bytes T>
class global_ptr {
 public:
  using value_type = T;

  global_ptr() = default;
  global_ptr(isthmus_space* space, std::uint32_t rank, std::uint64_t offset)
      : space_(space), offset_(offset), rank_(rank) {}

  [[nodiscard]] isthmus_space* space() const { return space_; }
  [[nodiscard]] std::uint32_t rank() const { return rank_; }
  [[nodiscard]] std::uint64_t offset() const { return offset_; }

  [[nodiscard]] T get() const {
    T value;
    check(isthmus_get(space_, &value, rank_, offset_, sizeof value));
    return value;
  }
  void put(const T& value) const { check(isthmus_put(space_, rank_, offset_, &value, sizeof value)); }
  /// Many objects that lie one behind the other.
  void get(T* to, std::size_t count) const { check(isthmus_get(space_, to, rank_, offset_, count * sizeof(T))); }
  void put(const T* from, std::size_t count) const {
    check(isthmus_put(space_, rank_, offset_, from, count * sizeof(T)));
  }
  /// The same without waiting; the completion says when they are there. Without an event: isthmus_wait_all().
  void begin_put(const T* from, std::size_t count, const completion& how = {}) const {
    check(isthmus_begin_put_with(space_, rank_, offset_, from, count * sizeof(T), how));
  }
  /// A plain pointer, where the memory is shared with this rank; null where it is not.
  [[nodiscard]] T* local() const { return static_cast<T*>(isthmus_cast(space_, rank_, offset_)); }

  reference<T, global_ptr> operator*() const { return reference<T, global_ptr>(*this); }
  reference<T, global_ptr> operator[](std::ptrdiff_t i) const { return *(*this + i); }
  explicit operator bool() const { return space_ != nullptr; }

  global_ptr& operator+=(std::ptrdiff_t n) {
    offset_ += static_cast<std::uint64_t>(n) * sizeof(T);
    return *this;
  }
  global_ptr& operator-=(std::ptrdiff_t n) { return *this += -n; }
  global_ptr& operator++() { return *this += 1; }
  global_ptr& operator--() { return *this -= 1; }
  global_ptr operator++(int) { return std::exchange(*this, *this + 1); }
  global_ptr operator--(int) { return std::exchange(*this, *this - 1); }
  friend global_ptr operator+(global_ptr p, std::ptrdiff_t n) { return p += n; }
  friend global_ptr operator-(global_ptr p, std::ptrdiff_t n) { return p -= n; }
  friend std::ptrdiff_t operator-(const global_ptr& a, const global_ptr& b) {
    return static_cast<std::ptrdiff_t>(a.offset_ - b.offset_) / static_cast<std::ptrdiff_t>(sizeof(T));
  }
  friend bool operator==(const global_ptr&, const global_ptr&) = default;

 private:
  isthmus_space* space_ = nullptr;
  std::uint64_t offset_ = 0;
  std::uint32_t rank_ = 0;
};

/// Atomic operations that are known beforehand, on numbers of one type (isthmus_domain). All ranks make it, with the
/// same operations, and all destroy it.
template <number T>
class atomic_domain {
 public:
  template <std::same_as<isthmus_atomic_operator>... O>
  explicit atomic_domain(isthmus_space* space, O... operations) {
    check(isthmus_domain_make(space, element_of<T>(), (0U | ... | ISTHMUS_ATOMIC_SET(operations)), &domain_));
  }
  atomic_domain(const atomic_domain&) = delete;
  atomic_domain& operator=(const atomic_domain&) = delete;
  ~atomic_domain() { isthmus_domain_free(domain_); }

  /// What was there before. Throws an error where the domain was not made for the operation.
  T operator()(const global_ptr<T>& at, isthmus_atomic_operator operation, T operand = {}, T expected = {}) const {
    T before{};
    check(isthmus_domain_change(domain_, at.rank(), at.offset(), operation, &operand, &expected, &before));
    return before;
  }
  [[nodiscard]] isthmus_atomic_way way(std::uint32_t rank) const { return isthmus_domain_way(domain_, rank); }

 private:
  isthmus_domain* domain_ = nullptr;
};

/// An array whose blocks are dealt out to the ranks in turn (isthmus_shared.h). All ranks make it and all destroy it,
/// in the same order; the destructor waits for all of them.
template <movable_as_bytes T>
class shared_array {
 public:
  /// An element, as UPC's pointers to shared: arithmetic goes from rank to rank as the blocks do.
  class pointer {
   public:
    using of_this_rank = void;
    using value_type = T;
    using difference_type = std::ptrdiff_t;

    pointer() = default;
    pointer(const shared_array* array, isthmus_shared place) : array_(array), place_(place) {}

    [[nodiscard]] std::uint32_t rank() const { return place_.rank; }
    [[nodiscard]] std::uint32_t phase() const { return place_.phase; }
    [[nodiscard]] std::uint64_t offset() const { return place_.offset; }
    [[nodiscard]] global_ptr<T> global() const { return {array_->space_, place_.rank, place_.offset}; }
    [[nodiscard]] T get() const { return global().get(); }
    void put(const T& value) const { global().put(value); }
    [[nodiscard]] T* local() const { return global().local(); }

    reference<T, pointer> operator*() const { return reference<T, pointer>(*this); }
    reference<T, pointer> operator[](std::ptrdiff_t i) const { return *(*this + i); }
    pointer& operator+=(std::ptrdiff_t n) {
      place_ = isthmus_shared_add(place_, n, sizeof(T), array_->block_, array_->ranks_);
      return *this;
    }
    pointer& operator-=(std::ptrdiff_t n) { return *this += -n; }
    pointer& operator++() { return *this += 1; }
    pointer& operator--() { return *this -= 1; }
    pointer operator++(int) { return std::exchange(*this, *this + 1); }
    pointer operator--(int) { return std::exchange(*this, *this - 1); }
    friend pointer operator+(pointer p, std::ptrdiff_t n) { return p += n; }
    friend pointer operator+(std::ptrdiff_t n, pointer p) { return p += n; }
    friend pointer operator-(pointer p, std::ptrdiff_t n) { return p -= n; }
    std::ptrdiff_t operator-(const pointer& other) const {
      return isthmus_shared_difference(place_, other.place_, sizeof(T), array_->block_, array_->ranks_);
    }
    friend bool operator==(const pointer& a, const pointer& b) { return isthmus_shared_equal(a.place_, b.place_) != 0; }
    friend std::strong_ordering operator<=>(const pointer& a, const pointer& b) { return a - b <=> 0; }

   private:
    const shared_array* array_ = nullptr;
    isthmus_shared place_{};
  };

  /// `block` 0: the whole array is on rank 0. Throws an error where there is no memory.
  shared_array(isthmus_space* space, std::uint64_t size, std::uint32_t block = 1)
      : space_(space), size_(size), block_(block) {
    const auto* const head = reinterpret_cast<const isthmus_space_head*>(space);
    ranks_ = head->ranks;
    rank_ = head->rank;
    check(isthmus_allocate_all(space, isthmus_shared_bytes(size, sizeof(T), block, ranks_), &offset_));
  }
  shared_array(const shared_array&) = delete;
  shared_array& operator=(const shared_array&) = delete;
  ~shared_array() {
    // Whoever still reads comes here later.
    if (isthmus_barrier(space_, nullptr) == ISTHMUS_DONE && rank_ == 0) isthmus_release(space_, 0, offset_);
  }

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::uint32_t block() const { return block_; }
  [[nodiscard]] std::uint64_t offset() const { return offset_; }

  [[nodiscard]] pointer begin() const { return {this, isthmus_shared_first(offset_)}; }
  [[nodiscard]] pointer end() const { return begin() + static_cast<std::ptrdiff_t>(size_); }
  reference<T, pointer> operator[](std::uint64_t i) const { return begin()[static_cast<std::ptrdiff_t>(i)]; }
  /// The rank on which an element is.
  [[nodiscard]] std::uint32_t rank_of(std::uint64_t i) const {
    return (begin() + static_cast<std::ptrdiff_t>(i)).rank();
  }

  /// This rank's elements, one behind the other, and how many they are.
  [[nodiscard]] T* data() const { return static_cast<T*>(isthmus_cast(space_, rank_, offset_)); }
  [[nodiscard]] std::uint64_t local_size() const { return isthmus_shared_local(size_, block_, ranks_, rank_); }
  /// The same with their indices: pairs of an index and a plain reference.
  [[nodiscard]] auto mine() const {
    return std::views::iota(std::uint64_t{0}, local_size()) |
           std::views::transform([data = data(), block = block_, ranks = ranks_, rank = rank_](std::uint64_t k) {
             return std::pair<std::uint64_t, T&>(isthmus_shared_index(k, block, ranks, rank), data[k]);
           });
  }

 private:
  isthmus_space* space_;
  std::uint64_t size_, offset_ = 0;
  std::uint32_t block_, ranks_, rank_;
};

}  // namespace isthmus::pgas
#endif
