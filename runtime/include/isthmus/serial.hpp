// Values as bytes, on their way to another rank of the same program: what remote procedure calls take and give.
//
// Types that are copied as bytes, strings, vectors, pairs, tuples, functions, global pointers. For others a program
// specialises isthmus::pgas::serial. Pointers and references mean nothing on another rank; those to functions do, and
// go by their place in the program, since a program lies at another address in every process.
#ifndef ISTHMUS_SERIAL_HPP
#define ISTHMUS_SERIAL_HPP

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "pgas.hpp"

namespace isthmus::pgas {

class remote_calls;

/// Bytes that are written one after the other.
class writer {
 public:
  void bytes(const void* from, std::size_t count) {
    const std::size_t at = made_.size();
    made_.resize(at + count);
    if (count > 0) std::memcpy(made_.data() + at, from, count);
  }
  void clear() { made_.clear(); }
  [[nodiscard]] const std::byte* data() const { return made_.data(); }
  [[nodiscard]] std::size_t size() const { return made_.size(); }

 private:
  std::vector<std::byte> made_;
};

/// The same, read; `here` takes part on this rank.
class reader {
 public:
  reader(remote_calls& on, const std::byte* from, std::size_t count) : here(on), next_(from), left_(count) {}
  const std::byte* bytes(std::size_t count) {
    if (count > left_) throw std::length_error("a message of a remote procedure call is too short");
    left_ -= count;
    return std::exchange(next_, next_ + count);
  }
  [[nodiscard]] std::size_t left() const { return left_; }
  remote_calls& here;

 private:
  const std::byte* next_;
  std::size_t left_;
};

namespace detail {

template <class T>
concept function_pointer = std::is_pointer_v<T> && std::is_function_v<std::remove_pointer_t<T>>;

/// Where code is: the name of its module, 0 for the program itself, and how far from the beginning of that.
struct code {
  std::uint64_t module, offset;
};

struct module_at {
  std::uint64_t name;
  std::uintptr_t base;
};

inline std::uint64_t hashed(const void* bytes, std::size_t count, std::uint64_t hash = 14695981039346656037U) {
  for (std::size_t i = 0; i < count; ++i) hash = (hash ^ static_cast<const unsigned char*>(bytes)[i]) * 1099511628211U;
  return hash;
}

inline std::uint64_t name_of(const dl_phdr_info& module) {
  const std::string_view path = module.dlpi_name == nullptr ? "" : module.dlpi_name;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.empty() ? 0 : hashed(name.data(), name.size());
}

/// Calls f(module) for all modules of the process, the program itself first, until it is true.
template <class F>
void each_module(F f) {
  dl_iterate_phdr(
      [](dl_phdr_info* module, std::size_t, void* data) { return (*static_cast<F*>(data))(*module) ? 1 : 0; }, &f);
}

inline code place_of_code(std::uintptr_t address) {
  code found{};
  bool any = false;
  each_module([&](const dl_phdr_info& module) {
    for (int i = 0; i < module.dlpi_phnum && !any; ++i) {
      const auto& part = module.dlpi_phdr[i];
      if (part.p_type != PT_LOAD || address - module.dlpi_addr - part.p_vaddr >= part.p_memsz) continue;
      found = {name_of(module), address - module.dlpi_addr};
      any = true;
    }
    return any;
  });
  if (!any) throw std::invalid_argument("a function for another rank is not part of the program or of a library");
  return found;
}

/// Where a module is in this process. The program itself stays where it is.
inline std::uintptr_t base_of(std::uint64_t name) {
  const auto look = [](std::uint64_t wanted) {
    std::uintptr_t base = 0;
    bool any = false;
    each_module([&](const dl_phdr_info& module) {
      if (name_of(module) != wanted) return false;
      base = module.dlpi_addr;
      return any = true;
    });
    if (!any) throw std::invalid_argument("a remote procedure call is to a library that this rank has not loaded");
    return base;
  };
  static const std::uintptr_t program = look(0);
  return name == 0 ? program : look(name);
}

/// The same for processes of the same program: what it is made of, and the number that its linker gave it.
inline std::int64_t program_number() {
  std::uint64_t hash = 0;
  each_module([&](const dl_phdr_info& program) {
    for (int i = 0; i < program.dlpi_phnum; ++i) {
      const auto& part = program.dlpi_phdr[i];
      hash = hashed(&part.p_type, sizeof part.p_type, hash);
      hash = hashed(&part.p_memsz, sizeof part.p_memsz, hash);
      if (part.p_type == PT_NOTE)
        hash = hashed(reinterpret_cast<const void*>(program.dlpi_addr + part.p_vaddr), part.p_memsz, hash);
    }
    return true;
  });
  return static_cast<std::int64_t>(hash);
}

template <class T>
constexpr bool goes_as_bytes = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> &&
                               !std::is_member_pointer_v<T> && !std::is_same_v<T, std::nullptr_t> &&
                               !std::is_same_v<T, std::string_view> && !requires { typename T::of_this_rank; };

}  // namespace detail

/// How values of a type go: `static void write(writer&, const T&)` and `static T read(reader&)`.
template <class T>
struct serial {
  static_assert(detail::goes_as_bytes<T>,
                "values of this type mean nothing on another rank: give a value without pointers, a string or a "
                "vector, or specialise isthmus::pgas::serial");
  static void write(writer& out, const T& value) {
    if constexpr (!std::is_empty_v<T>) out.bytes(&value, sizeof value);
  }
  static T read(reader& in) {
    std::array<std::byte, sizeof(T)> bytes{};
    if constexpr (!std::is_empty_v<T>) std::memcpy(bytes.data(), in.bytes(sizeof(T)), sizeof(T));
    return std::bit_cast<T>(bytes);
  }
};

template <detail::function_pointer T>
struct serial<T> {
  static void write(writer& out, T function) {
    const detail::code place = detail::place_of_code(reinterpret_cast<std::uintptr_t>(function));
    out.bytes(&place, sizeof place);
  }
  static T read(reader& in) {
    const auto place = serial<detail::code>::read(in);
    return reinterpret_cast<T>(detail::base_of(place.module) + place.offset);
  }
};

template <class T>
struct serial<std::vector<T>> {
  static void write(writer& out, const std::vector<T>& values) {
    serial<std::uint64_t>::write(out, values.size());
    if constexpr (detail::goes_as_bytes<T> && !std::is_same_v<T, bool>)
      out.bytes(values.data(), values.size() * sizeof(T));
    else
      for (const T& value : values) serial<T>::write(out, value);
  }
  static std::vector<T> read(reader& in) {
    const auto count = serial<std::uint64_t>::read(in);
    std::vector<T> values;
    if constexpr (detail::goes_as_bytes<T> && std::is_default_constructible_v<T> && !std::is_same_v<T, bool>) {
      const std::byte* const from = in.bytes(count * sizeof(T));
      values.resize(count);
      if (count > 0) std::memcpy(values.data(), from, count * sizeof(T));
    } else {
      values.reserve(std::min<std::uint64_t>(count, in.left()));
      for (std::uint64_t i = 0; i < count; ++i) values.push_back(serial<T>::read(in));
    }
    return values;
  }
};

template <>
struct serial<std::string> {
  static void write(writer& out, std::string_view text) {
    serial<std::uint64_t>::write(out, text.size());
    out.bytes(text.data(), text.size());
  }
  static std::string read(reader& in) {
    const auto count = serial<std::uint64_t>::read(in);
    return {reinterpret_cast<const char*>(in.bytes(count)), count};
  }
};

template <class... T>
struct serial<std::tuple<T...>> {
  static void write(writer& out, const std::tuple<T...>& values) {
    std::apply([&](const T&... each) { (serial<T>::write(out, each), ...); }, values);
  }
  static std::tuple<T...> read(reader& in) { return std::tuple<T...>{serial<T>::read(in)...}; }  // in their order
};

template <class A, class B>
struct serial<std::pair<A, B>> {
  static void write(writer& out, const std::pair<A, B>& values) {
    serial<A>::write(out, values.first);
    serial<B>::write(out, values.second);
  }
  static std::pair<A, B> read(reader& in) { return std::pair<A, B>{serial<A>::read(in), serial<B>::read(in)}; }
};

/// The space is that of the rank that reads.
template <class T>
struct serial<global_ptr<T>> {
  static void write(writer& out, const global_ptr<T>& pointer) {
    serial<std::uint64_t>::write(out, pointer.space() == nullptr ? 0 : pointer.rank() + std::uint64_t{1});
    serial<std::uint64_t>::write(out, pointer.offset());
  }
  static global_ptr<T> read(reader& in);  // isthmus/rpc.hpp
};

namespace detail {

/// As what an argument goes: string literals as strings.
template <class T>
using sent = std::conditional_t<std::is_same_v<std::decay_t<T>, const char*> || std::is_same_v<std::decay_t<T>, char*>,
                                std::string, std::decay_t<T>>;

/// As what it comes: a per_rank is that of the rank.
template <class T>
using received = decltype(serial<T>::read(std::declval<reader&>()));

}  // namespace detail
}  // namespace isthmus::pgas
#endif
