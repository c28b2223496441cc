#include "runtime/transport/mpi/window.hpp"

#include <algorithm>

namespace isthmus::runtime {

std::unique_ptr<Window> Window::open(MpiTransport& far, const std::vector<Rank>& members, std::byte* memory,
                                     std::uint64_t bytes) {
  void* window = nullptr;
  const int status = far.wire().open_window(far.wire().data, members.data(), static_cast<std::uint32_t>(members.size()),
                                            memory, bytes, &window);
  if (status < 0) far.fail_for_wire();
  return window == nullptr ? nullptr : std::unique_ptr<Window>(new Window(far, window));
}

Window::~Window() { far_.wire().close_window(window_, far_.failure().empty() ? 0 : 1); }

void Window::put(Rank rank, std::uint64_t at, const void* from, std::uint64_t bytes) {
  const auto* const first = static_cast<const std::byte*>(from);
  for (std::uint64_t done = 0; done < bytes && far_.failure().empty(); done += far_.most())
    check(far_.wire().put(window_, rank, at + done, first + done, std::min(far_.most(), bytes - done)));
}

void Window::get(Rank rank, std::uint64_t at, void* to, std::uint64_t bytes) {
  auto* const first = static_cast<std::byte*>(to);
  for (std::uint64_t done = 0; done < bytes && far_.failure().empty(); done += far_.most())
    check(far_.wire().get(window_, rank, at + done, first + done, std::min(far_.most(), bytes - done)));
}

std::uint64_t Window::change(Rank rank, std::uint64_t at, std::uint32_t element, std::uint32_t operation,
                             std::uint64_t operand, std::uint64_t expected) {
  std::uint64_t before = 0;
  check(far_.wire().change(window_, rank, at, element, operation, operand, expected, &before));
  return before;
}

}  // namespace isthmus::runtime
