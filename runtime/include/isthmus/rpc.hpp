// Remote procedure calls with futures, on the active messages of a space; header only, C++20.
//
//     isthmus::pgas::remote_calls on(space);                                       // all ranks make it
//     isthmus::pgas::future<int> sum = on.rpc(1, [](int a, int b) { return a + b; }, 2, 3);
//     const int ten = sum.then([](int five) { return 2 * five; }).wait();
//     on.barrier();
//
// A call runs on the rank to which it goes, on its thread of the program, when that is in wait(), poll(), barrier() or
// finish() of its remote_calls; other calls of the library take messages in and keep them. So a call may do whatever
// the program may: put, get, lock, call on; it does not wait for a future, but returns it. Calls run one at a time,
// those of one rank in the order in which it sent them.
#ifndef ISTHMUS_RPC_HPP
#define ISTHMUS_RPC_HPP

#include <sched.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "arrivals.hpp"
#include "future.hpp"
#include "pgas.hpp"
#include "serial.hpp"

namespace isthmus::pgas {

/// What a call on another rank threw, in its words.
class remote_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The calls between the ranks of a space, of which each has one. It takes the last handler of the space.
class remote_calls final : public detail::engine {
 public:
  /// All ranks make it, from the same program, and destroy it before the space is left; the destructor waits until all
  /// calls have run.
  explicit remote_calls(isthmus_space* space)
      : space_(space), most_(isthmus_most_payload(space)), arrivals_(head().ranks) {
    check(isthmus_handle(space, handler, arrived, this));
    const std::int64_t program = detail::program_number();
    if (isthmus_barrier(space, &program) != ISTHMUS_DONE)
      throw std::runtime_error(std::string("remote_calls: ranks have to run the same program: ") +
                               isthmus_last_error());
  }
  remote_calls(const remote_calls&) = delete;
  remote_calls& operator=(const remote_calls&) = delete;
  ~remote_calls() {
    try {
      finish();
    } catch (...) {  // a rank died
      static_cast<void>(std::current_exception());
    }
    isthmus_handle(space_, handler, nullptr, nullptr);
  }

  [[nodiscard]] isthmus_space* space() const { return space_; }
  [[nodiscard]] std::uint32_t rank() const { return head().rank; }
  [[nodiscard]] std::uint32_t ranks() const { return head().ranks; }

  /// Calls f(arguments...) on a rank, or f(its remote_calls, arguments...); a future of what it returns, or of the
  /// value of the future that it returns. f is a function, or an object that is copied as bytes: what a lambda captures
  /// goes along, so no references. What f throws, the future throws as a remote_error.
  template <class F, class... A>
  auto rpc(std::uint32_t rank, F f, A&&... arguments) {
    using R = typename detail::unwrapped<result<F, A...>>::type;
    const detail::ref<detail::state<R>> state(new detail::state<R>(this));
    send_call(rank, expect(state), f, std::forward<A>(arguments)...);
    return future<R>(state);
  }
  /// The same where nobody waits: what f throws is thrown on the rank that runs it.
  template <class F, class... A>
  void rpc_ff(std::uint32_t rank, F f, A&&... arguments) {
    send_call(rank, 0, f, std::forward<A>(arguments)...);
  }

  /// Calls f(element, arguments...) where the element is, with a plain reference to it. As calls of a rank run one at a
  /// time, nothing else that they do comes between.
  template <class T, class F, class... A>
  auto apply(global_ptr<T> element, F f, A&&... arguments) {
    return rpc(element.rank(), applied<T, F>{}, element.offset(), f, std::forward<A>(arguments)...);
  }
  template <class T, class F, class... A>
  void apply_ff(global_ptr<T> element, F f, A&&... arguments) {
    rpc_ff(element.rank(), applied<T, F>{}, element.offset(), f, std::forward<A>(arguments)...);
  }

  // -- put, get and atomic operations with futures

  template <class T>
  future<T> get(global_ptr<T> from) {
    const detail::ref<fetched<T>> state(new fetched<T>(this));
    isthmus_event event = 0;
    check(isthmus_begin_get(space_, state->bytes.data(), from.rank(), from.offset(), sizeof(T), &event));
    follow(event, state);
    return future<T>(state);
  }
  template <class T>
  future<void> put(global_ptr<T> to, const T& value) {
    const detail::ref<given<T>> state(new given<T>(this, value));
    isthmus_event event = 0;
    check(isthmus_begin_put(space_, to.rank(), to.offset(), &state->own, sizeof(T), &event));
    follow(event, state);
    return future<void>(state);
  }
  /// Many elements; memory of this rank is left alone until it is done.
  template <class T>
  future<void> get(global_ptr<T> from, T* to, std::size_t count) {
    isthmus_event event = 0;
    check(isthmus_begin_get(space_, to, from.rank(), from.offset(), count * sizeof(T), &event));
    return followed(event);
  }
  template <class T>
  future<void> put(global_ptr<T> to, const T* from, std::size_t count) {
    isthmus_event event = 0;
    check(isthmus_begin_put(space_, to.rank(), to.offset(), from, count * sizeof(T), &event));
    return followed(event);
  }
  /// The same in two steps: when memory of this rank may be overwritten, and when all of it is there.
  struct two_steps {
    future<void> local, done;
  };
  template <class T>
  two_steps put_in_steps(global_ptr<T> to, const T* from, std::size_t count) {
    isthmus_event local = 0, done = 0;
    to.begin_put(from, count, completion().local_event(local).event(done));
    two_steps steps{followed(local), followed(done)};
    return steps;
  }
  /// What was there before; see isthmus_atomic().
  template <number T>
  future<T> atomic(global_ptr<T> at, isthmus_atomic_operator operation, std::type_identity_t<T> operand = {},
                   std::type_identity_t<T> expected = {}) {
    const detail::ref<detail::state<T>> state(new detail::state<T>(this));
    if (at.rank() >= ranks() || isthmus_cast(space_, at.rank(), at.offset()) != nullptr) {
      T before{};
      check(isthmus_atomic(space_, at.rank(), at.offset(), element_of<T>(), operation, &operand, &expected, &before));
      state->set(before);
    } else {
      const std::uint64_t how =
          static_cast<std::uint64_t>(element_of<T>()) << 32 | static_cast<std::uint64_t>(operation);
      const std::uint64_t words[] = {head_word(kind::change, expect(state)), at.offset(), how, bits(operand),
                                     bits(expected)};
      send(at.rank(), words, 5, nullptr, 0);
    }
    return future<T>(state);
  }

  // -- waiting

  /// Takes messages, and runs the calls that have come; whether there were any. Within a call it takes messages only.
  bool poll() {
    const bool any = go_on();
    rethrow();
    return any;
  }
  /// A barrier of all ranks, in which calls run: with `id` as isthmus_barrier(). Other ranks may still have sent calls
  /// that have not come.
  void barrier(const std::int64_t* id = nullptr) {
    meet(id);
    rethrow();
  }
  /// All ranks call it: it returns when all calls of all ranks have run, and those that they sent.
  void finish() {
    not_within("finish");
    // Sums of two waves that are the same: nothing was under way between them (Mattern, Algorithms for distributed
    // termination detection, 1987, four counters).
    counts before{};
    for (bool first = true; first || all_.begun != all_.ended || all_ != before; first = false) {
      go_on();
      before = all_;
      mine_ = counts_;
      isthmus_call sum{};
      sum.size = sizeof sum;
      sum.kind = ISTHMUS_ALLREDUCE;
      sum.element = ISTHMUS_U64;
      sum.count = 2;
      isthmus_operation* operation = nullptr;
      check(isthmus_begin(isthmus_space_team(space_), &sum, &mine_, &all_, &operation));
      int status = ISTHMUS_IN_PROGRESS;
      wait_until([&] { return status != ISTHMUS_IN_PROGRESS || (status = check(isthmus_test(operation))) == 0; });
    }
    rethrow();
  }
  void wait_for(const bool& done) override {
    not_within("wait");
    wait_until([&] { return done || thrown_ != nullptr; });
    rethrow();
  }

 private:
  template <class T>
  friend class per_rank;

  static constexpr std::uint32_t handler = ISTHMUS_MOST_HANDLERS - 1;

  // -- what goes between ranks

  // The first word of a message: what it is, and the number of who waits for the answer, 0 for nobody. The second of a
  // call: where its code is, and the third, where that is not in the program, in which library. A payload that is too
  // long for a message goes in several, one after the other: `bytes` of it in all is the last word.
  enum class kind : std::uint64_t { call, result, failure, change };
  static constexpr std::uint64_t in_library = 1U << 4, in_parts = 1U << 5;
  static std::uint64_t head_word(kind what, std::uint64_t number, std::uint64_t flags = 0) {
    return number << 8 | flags | static_cast<std::uint64_t>(what);
  }

  using run_call = void (*)(remote_calls&, std::uint32_t from, std::uint64_t number, reader&);
  using take_result = void (*)(detail::state_base&, reader&);

  struct counts {
    std::uint64_t begun, ended;
    bool operator==(const counts&) const = default;
  };
  struct awaited {
    detail::ref<detail::state_base> state;
    take_result take = nullptr;
  };

  [[nodiscard]] const isthmus_space_head& head() const { return *reinterpret_cast<const isthmus_space_head*>(space_); }

  void send(std::uint32_t rank, const std::uint64_t* words, std::uint32_t count, const void* payload,
            std::size_t bytes) {
    check(isthmus_request(space_, rank, handler, words, count, payload, bytes));
    ++counts_.begun;
  }
  void send_made(std::uint32_t rank, std::uint64_t first, const detail::code* code) {
    std::uint64_t words[4] = {first};
    std::uint32_t count = 1;
    if (code != nullptr) {
      words[count++] = code->offset;
      if (code->module != 0) words[0] |= in_library, words[count++] = code->module;
    }
    if (made_.size() <= most_) return send(rank, words, count, made_.data(), made_.size());
    words[0] |= in_parts;
    words[count++] = made_.size();
    for (std::size_t at = 0; at < made_.size(); at += most_)
      check(
          isthmus_request(space_, rank, handler, words, count, made_.data() + at, std::min(most_, made_.size() - at)));
    ++counts_.begun;
  }

  /// Takes a message in, wherever the library handles it: on a thread of its own, too.
  static void arrived(isthmus_token* token, const std::uint64_t* words, std::uint32_t count, void* payload,
                      std::size_t bytes, void* data) {
    static_cast<remote_calls*>(data)->take(*token, words, count, static_cast<const std::byte*>(payload), bytes);
  }
  void take(isthmus_token& token, const std::uint64_t* words, std::uint32_t count, const std::byte* payload,
            std::size_t bytes) {
    if (kind_of(words[0]) == kind::change) return change(token, words);
    detail::arrival one{words[0], 0, 0, nullptr, bytes, isthmus_token_rank(&token)};
    if (kind_of(words[0]) == kind::call) one.offset = words[1];
    if ((words[0] & in_library) != 0) one.module = words[2];
    if ((words[0] & in_parts) == 0) return arrivals_.take(one, payload);
    one.bytes = words[count - 1];
    arrivals_.take_part(one, payload, bytes);
  }
  /// An atomic operation is carried out at once, whatever the program does.
  void change(isthmus_token& token, const std::uint64_t* words) {
    std::uint64_t before = 0;
    const int status =
        isthmus_atomic(space_, rank(), words[1], static_cast<isthmus_element>(words[2] >> 32),
                       static_cast<isthmus_atomic_operator>(words[2] & 0xFFFFFFFF), &words[3], &words[4], &before);
    const char* const why = status < 0 ? isthmus_last_error() : "";
    const std::uint64_t back = head_word(status < 0 ? kind::failure : kind::result, words[0] >> 8);
    // Whoever asked has counted the beginning and counts the end.
    isthmus_reply(&token, handler, &back, 1, status < 0 ? static_cast<const void*>(why) : &before,
                  status < 0 ? std::strlen(why) : sizeof before);
  }
  static kind kind_of(std::uint64_t word) { return static_cast<kind>(word & 15); }

  // -- what runs here

  /// Takes messages and runs calls. What they throw, and nobody waits for, is kept until the caller has come to an end:
  /// the first of it.
  bool go_on() {
    check(isthmus_poll(space_));
    return runs_ ? false : run_what_came();
  }
  void meet(const std::int64_t* id) {
    not_within("barrier");
    check(isthmus_notify(space_, id));
    wait_until([&] { return check(isthmus_try_await(space_)) == ISTHMUS_DONE; });
  }
  void rethrow() {
    if (thrown_ != nullptr) std::rethrow_exception(std::exchange(thrown_, nullptr));
  }
  /// Until it is so; meanwhile calls run.
  template <class F>
  void wait_until(const F& is_so) {
    const std::uint32_t patience = std::min(500U, isthmus_looks(isthmus_space_team(space_)));
    std::uint32_t looks = 0;
    while (!is_so()) {
      if (go_on()) looks = 0;
      else if (++looks >= patience) ::sched_yield();
    }
  }
  void not_within(const char* what) const {
    if (runs_) throw std::logic_error(std::string(what) + ": not within a remote procedure call: return a future");
  }

  bool run_what_came() {
    struct within {
      explicit within(bool& flag) : runs(flag) { runs = true; }
      ~within() { runs = false; }
      bool& runs;
    } const now(runs_);
    bool any = test_events();
    arrivals_.turn();
    detail::arrival one{};
    const std::byte* bytes = nullptr;
    while (arrivals_.next(one, bytes)) {
      const std::unique_ptr<std::byte[]> own(one.own);
      ++counts_.ended;
      any = true;
      try {
        run(one, bytes);
      } catch (...) {
        if (thrown_ == nullptr) thrown_ = std::current_exception();
      }
    }
    return any;
  }
  void run(const detail::arrival& one, const std::byte* bytes) {
    reader in(*this, bytes, one.bytes);
    const std::uint64_t number = one.head >> 8;
    if (kind_of(one.head) == kind::call) {
      const auto call = reinterpret_cast<run_call>(detail::base_of(one.module) + one.offset);
      return call(*this, one.from, number, in);
    }
    const awaited waits = std::exchange(expected_[number - 1], {});
    spare_.push_back(number);
    if (kind_of(one.head) == kind::result) return waits.take(*waits.state.get(), in);
    const std::string words(reinterpret_cast<const char*>(bytes), one.bytes);
    waits.state->fail(std::make_exception_ptr(remote_error(words)));
  }

  /// The number of an answer that is going to come.
  template <class T>
  std::uint64_t expect(const detail::ref<detail::state<T>>& state) {
    if (spare_.empty()) {
      expected_.emplace_back();
      spare_.push_back(expected_.size());
    }
    const std::uint64_t number = spare_.back();
    spare_.pop_back();
    expected_[number - 1] = {state, [](detail::state_base& to, reader& in) {
                               auto& typed = static_cast<detail::state<T>&>(to);
                               if constexpr (std::is_void_v<T>) typed.set({});
                               else typed.set(serial<T>::read(in));
                             }};
    return number;
  }

  // -- calls

  template <class F, class... A>
  static constexpr bool takes_calls = std::is_invocable_v<F, remote_calls&, detail::received<detail::sent<A>>...>;

  template <class F, class... A>
  static decltype(auto) invoke(remote_calls& here, F& f, std::tuple<detail::received<detail::sent<A>>...>& values) {
    return std::apply(
        [&](auto&... each) -> decltype(auto) {
          if constexpr (takes_calls<F, A...>) return f(here, std::forward<detail::received<detail::sent<A>>>(each)...);
          else return f(std::forward<detail::received<detail::sent<A>>>(each)...);
        },
        values);
  }
  template <class F, class... A>
  using result =
      std::remove_cvref_t<decltype(invoke<F, A...>(std::declval<remote_calls&>(), std::declval<F&>(),
                                                   std::declval<std::tuple<detail::received<detail::sent<A>>...>&>()))>;

  template <class F, class... A>
  void send_call(std::uint32_t rank, std::uint64_t number, const F& f, A&&... arguments) {
    static const detail::code code =
        detail::place_of_code(reinterpret_cast<std::uintptr_t>(&run_one<F, std::decay_t<A>...>));
    made_.clear();
    serial<F>::write(made_, f);
    (serial<detail::sent<A>>::write(made_, arguments), ...);
    send_made(rank, head_word(kind::call, number), &code);
  }

  /// What a call runs on its rank.
  template <class F, class... A>
  static void run_one(remote_calls& here, std::uint32_t from, std::uint64_t number, reader& in) {
    using R = result<F, A...>;
    using value = typename detail::unwrapped<R>::type;
    const detail::ref<detail::state<value>> state(new detail::state<value>(&here));
    detail::set_by<value>(state, [&]() -> R {
      F f = serial<F>::read(in);
      std::tuple<detail::received<detail::sent<A>>...> values{serial<detail::sent<A>>::read(in)...};
      return invoke<F, A...>(here, f, values);
    });
    if (number == 0) {
      if (state->ready && state->failure) std::rethrow_exception(state->failure);
      return;
    }
    state->then([&here, from, number, state] { here.send_answer(from, number, *state.get()); });
  }
  template <class T>
  void send_answer(std::uint32_t to, std::uint64_t number, const detail::state<T>& state) {
    made_.clear();
    if (!state.failure) {
      if constexpr (!std::is_void_v<T>) serial<T>::write(made_, *state.value);
      return send_made(to, head_word(kind::result, number), nullptr);
    }
    std::string words = "a remote procedure call threw an exception without words";
    try {
      std::rethrow_exception(state.failure);
    } catch (const std::exception& error) {
      words = error.what();
    } catch (...) {
      words += ", on rank " + std::to_string(rank());
    }
    made_.bytes(words.data(), words.size());
    send_made(to, head_word(kind::failure, number), nullptr);
  }

  template <class T, class F>
  struct applied {
    template <class... A>
    decltype(auto) operator()(remote_calls& here, std::uint64_t offset, F f, A&&... arguments) const {
      return f(*static_cast<T*>(isthmus_cast(here.space(), here.rank(), offset)), std::forward<A>(arguments)...);
    }
  };

  // -- puts and gets that are under way

  template <class T>
  struct fetched final : detail::state<T> {
    using detail::state<T>::state;
    std::array<std::byte, sizeof(T)> bytes;
  };
  template <class T>
  struct given final : detail::state<void> {
    given(detail::engine* by, const T& it) : detail::state<void>(by), own(it) {}
    T own;
  };
  template <class T>
  static void settle(fetched<T>& state) {
    state.set(std::bit_cast<T>(state.bytes));
  }
  static void settle(detail::state<void>& state) { state.set({}); }

  template <class S>
  void follow(isthmus_event event, const detail::ref<S>& state) {
    if (event == 0) return settle(*state.get());
    ++counts_.begun;
    events_.push_back({event, state, [](detail::state_base& done) { settle(static_cast<S&>(done)); }});
  }
  future<void> followed(isthmus_event event) {
    const detail::ref<detail::state<void>> state(new detail::state<void>(this));
    follow(event, state);
    return future<void>(state);
  }
  struct event_of {
    isthmus_event event;
    detail::ref<detail::state_base> state;
    void (*settle)(detail::state_base&);
  };
  /// Some of them each time, in turns: others need not wait for one that is slow.
  bool test_events() {
    constexpr std::size_t most = 8;
    bool any = false;
    for (std::size_t looks = std::min(most, events_.size()); looks > 0 && !events_.empty(); --looks) {
      next_event_ = next_event_ < events_.size() ? next_event_ : 0;
      event_of& one = events_[next_event_];
      if (check(isthmus_test_event(space_, &one.event)) == ISTHMUS_IN_PROGRESS) {
        ++next_event_;
        continue;
      }
      const event_of done = std::exchange(one, events_.back());
      events_.pop_back();
      ++counts_.ended;
      any = true;
      done.settle(*done.state.get());
    }
    return any;
  }

  template <class T>
  static std::uint64_t bits(T value) {
    std::uint64_t all = 0;
    std::memcpy(&all, &value, sizeof value);
    return all;
  }

  isthmus_space* space_;
  std::size_t most_;
  writer made_;                    // what is being sent
  std::vector<awaited> expected_;  // by number - 1
  std::vector<std::uint64_t> spare_;
  std::vector<event_of> events_;
  std::size_t next_event_ = 0;
  counts counts_{}, mine_{}, all_{};
  std::vector<void*> objects_;  // of per_rank, by number
  bool runs_ = false;
  std::exception_ptr thrown_;
  detail::arrivals arrivals_;
};

/// An object of each rank: as argument of a call it is the object of the rank on which the call runs. All ranks make it
/// in the same order, and all destroy it; the destructor waits until all calls have run.
template <class T>
class per_rank {
 public:
  using of_this_rank = void;

  template <class... A>
  explicit per_rank(remote_calls& calls, A&&... arguments)
      : calls_(calls), number_(calls.objects_.size()), own_(std::forward<A>(arguments)...) {
    calls.objects_.push_back(this);
    const auto id = static_cast<std::int64_t>(number_);
    calls.meet(&id);
  }
  per_rank(const per_rank&) = delete;
  per_rank& operator=(const per_rank&) = delete;
  ~per_rank() {
    try {
      calls_.finish();
    } catch (...) {  // a rank died
      static_cast<void>(std::current_exception());
    }
    calls_.objects_[number_] = nullptr;
  }

  T& operator*() { return own_; }
  const T& operator*() const { return own_; }
  T* operator->() { return &own_; }
  const T* operator->() const { return &own_; }

 private:
  friend struct serial<per_rank>;
  static per_rank& of(remote_calls& here, std::uint64_t number) {
    if (number >= here.objects_.size() || here.objects_[number] == nullptr)
      throw std::logic_error("per_rank: a call came to an object that this rank has destroyed");
    return *static_cast<per_rank*>(here.objects_[number]);
  }

  remote_calls& calls_;
  std::uint64_t number_;
  T own_;
};

template <class T>
struct serial<per_rank<T>> {
  static void write(writer& out, const per_rank<T>& object) { serial<std::uint64_t>::write(out, object.number_); }
  static per_rank<T>& read(reader& in) { return per_rank<T>::of(in.here, serial<std::uint64_t>::read(in)); }
};

template <class T>
global_ptr<T> serial<global_ptr<T>>::read(reader& in) {
  const auto rank = serial<std::uint64_t>::read(in);
  const auto offset = serial<std::uint64_t>::read(in);
  return rank == 0 ? global_ptr<T>() : global_ptr<T>(in.here.space(), static_cast<std::uint32_t>(rank - 1), offset);
}

}  // namespace isthmus::pgas
#endif
