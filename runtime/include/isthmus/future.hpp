// Values that are there later: what remote procedure calls, puts, gets and atomic operations of isthmus/rpc.hpp give.
//
// A future belongs to the thread that uses the space; nothing here is locked. Whoever continues it by then() runs when
// the value is there: in a call that waits or polls, or at once.
#ifndef ISTHMUS_FUTURE_HPP
#define ISTHMUS_FUTURE_HPP

#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace isthmus::pgas {

template <class T>
class future;
template <class T>
class promise;

namespace detail {

/// Who goes on with what a future waits for.
class engine {
 public:
  virtual void wait_for(const bool& done) = 0;

 protected:
  ~engine() = default;
};

/// A function that runs once, without a copy.
class step {
 public:
  step() = default;
  step(const step&) = delete;
  step& operator=(const step&) = delete;
  virtual ~step() = default;
  virtual void run() = 0;
  std::unique_ptr<step> next;
};

template <class F>
class step_of final : public step {
 public:
  explicit step_of(F f) : f_(std::move(f)) {}
  void run() override { f_(); }

 private:
  F f_;
};

/// A list of steps, first in, first out.
class steps {
 public:
  void add(std::unique_ptr<step> one) {
    step* const added = one.get();
    (last_ == nullptr ? first_ : last_->next) = std::move(one);
    last_ = added;
  }
  std::unique_ptr<step> take() {
    std::unique_ptr<step> one = std::move(first_);
    if (one != nullptr) first_ = std::move(one->next);
    if (first_ == nullptr) last_ = nullptr;
    return one;
  }

 private:
  std::unique_ptr<step> first_;
  step* last_ = nullptr;
};

/// Whether this thread runs steps.
inline bool& runs_steps() {
  thread_local bool runs = false;
  return runs;
}

/// Runs steps one after the other, those that they add included: chains of any length need no stack.
inline void run_steps(steps& added) {
  thread_local steps queue;
  bool& runs = runs_steps();
  while (std::unique_ptr<step> one = added.take()) queue.add(std::move(one));
  if (runs) return;
  struct end {
    ~end() { runs_steps() = false; }
  } const at_end;
  runs = true;
  while (const std::unique_ptr<step> one = queue.take()) one->run();
}

template <class T>
using stored = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

/// What futures and promises share; counted without a lock.
class state_base {
 public:
  explicit state_base(engine* its_engine) : goes_on(its_engine) {}
  state_base(const state_base&) = delete;
  state_base& operator=(const state_base&) = delete;
  virtual ~state_base() = default;

  void settle() {
    ready = true;
    run_steps(waiting);
  }
  void fail(std::exception_ptr why) {
    failure = std::move(why);
    settle();
  }
  /// Runs it when the value is there, or when there will be none.
  template <class F>
  void then(F f) {
    if (ready) f();
    else waiting.add(std::make_unique<step_of<F>>(std::move(f)));
  }

  engine* goes_on;
  std::size_t uses = 0;
  bool ready = false;
  std::exception_ptr failure;
  steps waiting;
};

template <class T>
class state : public state_base {
 public:
  using state_base::state_base;
  void set(stored<T> given) {
    value.emplace(std::move(given));
    settle();
  }
  std::optional<stored<T>> value;
};

/// Counts uses of a state.
template <class S>
class ref {
 public:
  ref() = default;
  explicit ref(S* of) : state_(of) {
    if (state_ != nullptr) ++state_->uses;
  }
  ref(const ref& other) : ref(other.state_) {}
  ref(ref&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  template <class Other>
  ref(const ref<Other>& other) : ref(other.get()) {}  // NOLINT(google-explicit-constructor)
  ref& operator=(ref other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~ref() {
    if (state_ != nullptr && --state_->uses == 0) delete state_;
  }
  [[nodiscard]] S* get() const { return state_; }
  S* operator->() const { return state_; }
  explicit operator bool() const { return state_ != nullptr; }

 private:
  S* state_ = nullptr;
};

template <class T>
struct unwrapped {
  using type = T;
  static constexpr bool is_future = false;
};
template <class T>
struct unwrapped<future<T>> {
  using type = T;
  static constexpr bool is_future = true;
};

/// Sets a state to what a function returns, or throws; or to what the future that it returns has in the end.
template <class T, class F>
void set_by(const ref<state<T>>& to, F&& f) {
  using R = std::invoke_result_t<F>;
  try {
    if constexpr (unwrapped<R>::is_future) {
      const R inner = f();
      inner.settled([to, inner] {
        if (inner.failure()) to->fail(inner.failure());
        else if constexpr (std::is_void_v<T>) to->set({});
        else to->set(inner.value());
      });
    } else if constexpr (std::is_void_v<R>) {
      f();
      to->set({});
    } else {
      to->set(f());
    }
  } catch (...) {
    if (to->ready) throw;  // thrown by who continues it
    to->fail(std::current_exception());
  }
}

template <class F, class T>
struct continued {
  using type = std::invoke_result_t<F, const T&>;
};
template <class F>
struct continued<F, void> {
  using type = std::invoke_result_t<F>;
};

}  // namespace detail

/// A value that is there later; T may be void. Copies stand for the same value.
template <class T>
class [[nodiscard]] future {
 public:
  using value_type = T;

  /// One whose value is there.
  template <class... V>
  static future made(V&&... value) {
    future f(detail::ref(new detail::state<T>(nullptr)));
    f.state_->set(detail::stored<T>(std::forward<V>(value)...));
    return f;
  }

  explicit future(detail::ref<detail::state<T>> of) : state_(std::move(of)) {}

  [[nodiscard]] bool ready() const { return state_->ready; }

  /// The value, when it is there; what was thrown in its place is thrown. Calls of other ranks run meanwhile. Not
  /// within a call or a continuation: continue by then(), and return the future.
  T wait() const {
    if (!state_->ready) {
      if (detail::runs_steps()) throw std::logic_error("future: a continuation may not wait: return a future");
      if (state_->goes_on == nullptr) throw std::logic_error("future: nobody is going to give it a value");
      state_->goes_on->wait_for(state_->ready);
    }
    if (state_->failure) std::rethrow_exception(state_->failure);
    if constexpr (!std::is_void_v<T>) return *state_->value;
  }

  /// A future of what f(value) returns; of a future's value, where it returns a future. Where there is no value, f does
  /// not run, and the failure goes on.
  template <class F>
  auto then(F f) const {
    using R = typename detail::unwrapped<typename detail::continued<F, T>::type>::type;
    const detail::ref<detail::state<R>> to(new detail::state<R>(state_->goes_on));
    state_->then([from = state_, to, f = std::move(f)]() mutable {
      if (from->failure) return to->fail(from->failure);
      detail::set_by<R>(to, [&] {
        if constexpr (std::is_void_v<T>) return f();
        else return f(static_cast<const T&>(*from->value));
      });
    });
    return future<R>(to);
  }

  // For whoever combines futures.
  template <class F>
  void settled(F f) const {
    state_->then(std::move(f));
  }
  [[nodiscard]] const std::exception_ptr& failure() const { return state_->failure; }
  [[nodiscard]] const detail::stored<T>& value() const { return *state_->value; }
  [[nodiscard]] detail::engine* goes_on() const { return state_->goes_on; }

 private:
  detail::ref<detail::state<T>> state_;
};

/// Gives a future its value, once. One that is destroyed before fails its future.
template <class T>
class promise {
 public:
  /// `by`: who goes on while its future is waited for, a remote_calls; without one it can be continued only.
  explicit promise(detail::engine* by = nullptr) : state_(new detail::state<T>(by)) {}
  promise(promise&&) noexcept = default;
  promise& operator=(promise&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~promise() {
    if (state_ && !state_->ready)
      state_->fail(std::make_exception_ptr(std::logic_error("promise: it was destroyed before it had a value")));
  }

  template <class... V>
  void set(V&&... value) const {
    once();
    state_->set(detail::stored<T>(std::forward<V>(value)...));
  }
  void fail(std::exception_ptr why) const {
    once();
    state_->fail(std::move(why));
  }
  future<T> get_future() const { return future<T>(state_); }

 private:
  void once() const {
    if (state_->ready) throw std::logic_error("promise: it has a value already");
  }
  detail::ref<detail::state<T>> state_;
};

/// A future of the values of all of them; std::monostate stands for void. If some fail, the failure of one.
template <class... T>
future<std::tuple<detail::stored<T>...>> when_all(const future<T>&... all) {
  using values = std::tuple<detail::stored<T>...>;
  detail::engine* by = nullptr;
  ((by = by == nullptr ? all.goes_on() : by), ...);
  const detail::ref<detail::state<values>> to(new detail::state<values>(by));
  if constexpr (sizeof...(T) == 0) {
    to->set({});
  } else {
    const auto left = std::make_shared<std::size_t>(sizeof...(T));
    const auto one = [to, left, all...] {
      if (--*left > 0) return;
      std::exception_ptr why;
      ((why = why ? why : all.failure()), ...);
      if (why) to->fail(why);
      else to->set(values(all.value()...));
    };
    (all.settled(one), ...);
  }
  return future<values>(to);
}

/// The same of any number: a future of a vector, or of nothing.
template <class T>
auto when_all(std::vector<future<T>> all) {
  using values = std::conditional_t<std::is_void_v<T>, void, std::vector<detail::stored<T>>>;
  detail::engine* by = nullptr;
  for (const future<T>& f : all)
    if (by == nullptr) by = f.goes_on();
  const detail::ref<detail::state<values>> to(new detail::state<values>(by));
  struct gathered {
    std::vector<future<T>> all;
    std::size_t left;
  };
  const auto kept = std::make_shared<gathered>(gathered{std::move(all), 0});
  kept->left = kept->all.size() + 1;
  const auto one = [to, kept] {
    if (--kept->left > 0) return;
    detail::stored<values> found{};
    for (const future<T>& f : kept->all) {
      if (f.failure()) return to->fail(f.failure());
      if constexpr (!std::is_void_v<T>) found.push_back(f.value());
    }
    to->set(std::move(found));
  };
  for (const future<T>& f : kept->all) f.settled(one);
  one();
  return future<values>(to);
}

}  // namespace isthmus::pgas
#endif
