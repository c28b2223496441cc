#include "runtime/transport/ofi/rendezvous.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

namespace isthmus::runtime {
namespace {

using std::chrono::milliseconds;

/// What a rank says first.
struct Hello {
  char mark[8] = {'i', 's', 't', 'h', 'm', 'e', 'e', 't'};
  std::uint32_t version = 1;
  std::uint32_t rank = 0, ranks = 0, unused = 0;
  char job[128] = {};
};

std::string words_of(int error) { return std::strerror(error); }

struct FreeAddresses {
  void operator()(addrinfo* all) const { ::freeaddrinfo(all); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Addresses addresses_of(const std::string& host, const std::string& port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &hints, &found); error != 0)
    throw TransportError("ISTHMUS_RENDEZVOUS: " + host + ": " + ::gai_strerror(error));
  return Addresses(found);
}

std::string own_end(int socket) {
  sockaddr_storage at{};
  socklen_t size = sizeof at;
  std::array<char, NI_MAXHOST> name{};
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&at), &size) != 0 ||
      ::getnameinfo(reinterpret_cast<sockaddr*>(&at), size, name.data(), name.size(), nullptr, 0, NI_NUMERICHOST) != 0)
    return {};
  // An address of IPv4 as IPv6 writes it.
  const std::string found = name.data();
  return found.starts_with("::ffff:") ? found.substr(7) : found;
}

/// A host that is gone is found within half a minute, too.
void set_up(int socket) {
  const int yes = 1, idle = 10, between = 5, times = 4;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &between, sizeof between);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
  ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK);
}

}  // namespace

Rendezvous::Rendezvous(Options options)
    : options_(std::move(options)), deadline_(std::chrono::steady_clock::now() + options_.patience) {
  const std::size_t colon = options_.at.rfind(':');
  const std::string port = colon == std::string::npos ? "" : options_.at.substr(colon + 1);
  if (port.empty() || port.size() > 5 || port.find_first_not_of("0123456789") != std::string::npos ||
      std::stoul(port) > 65535)
    throw TransportError("ISTHMUS_RENDEZVOUS=" + options_.at + ": must be HOST:PORT, where rank 0 listens");
  host_ = options_.at.substr(0, colon);
  if (host_.size() > 2 && host_.front() == '[' && host_.back() == ']') host_ = host_.substr(1, host_.size() - 2);
  port_ = static_cast<std::uint16_t>(std::stoul(port));
  lines_.resize(options_.rank == 0 ? options_.ranks : 1);
  if (options_.rank == 0 && options_.ranks > 1) listen();
}

Rendezvous::~Rendezvous() {
  for (Line& line : lines_) close(line);
  if (listens_ >= 0) ::close(listens_);
}

void Rendezvous::close(Line& line) {
  if (line.socket >= 0) ::close(line.socket);
  line.socket = -1;
}

void Rendezvous::listen() {
  std::string why = "no address";
  const Addresses all = addresses_of(host_, std::to_string(port_), AI_PASSIVE);
  for (const addrinfo* at = all.get(); at != nullptr && listens_ < 0; at = at->ai_next) {
    const int made = ::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
    const int yes = 1;
    // Whoever chose the port may hold it for us.
    if (made >= 0) {
      ::setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
      ::setsockopt(made, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes);
    }
    if (made >= 0 && ::bind(made, at->ai_addr, at->ai_addrlen) == 0 && ::listen(made, 4096) == 0) {
      listens_ = made;
      continue;
    }
    why = words_of(errno);
    if (made >= 0) ::close(made);
  }
  if (listens_ < 0) throw TransportError("rank 0 cannot listen at " + options_.at + ": " + why);
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  ::getsockname(listens_, reinterpret_cast<sockaddr*>(&bound), &size);
  port_ = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                                            : reinterpret_cast<sockaddr_in&>(bound).sin_port);
}

int Rendezvous::connect() {
  const Addresses all = addresses_of(host_, std::to_string(port_), 0);
  std::string why = "no address";
  while (!is_late()) {
    for (const addrinfo* at = all.get(); at != nullptr; at = at->ai_next) {
      const int made = ::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
      if (made >= 0 && ::connect(made, at->ai_addr, at->ai_addrlen) == 0) return made;
      why = words_of(errno);
      if (made >= 0) ::close(made);
    }
    std::this_thread::sleep_for(milliseconds(20));  // rank 0 may not listen yet
  }
  throw TransportError("rank " + std::to_string(options_.rank) + " cannot reach rank 0 at " + options_.at + ": " + why);
}

std::string Rendezvous::missing() const {
  std::string list;
  std::size_t count = 0;
  for (Rank r = 1; r < lines_.size(); ++r)
    if (lines_[r].socket < 0 && ++count <= 8) list += (list.empty() ? "" : ", ") + std::to_string(r);
  return (count == 1 ? "rank " : "ranks ") + list + (count > 8 ? " and others" : "");
}

/// Waits until it can be read or written.
void Rendezvous::wait(int socket, bool reads, Rank who) {
  pollfd one{socket, static_cast<short>(reads ? POLLIN : POLLOUT), 0};
  while (::poll(&one, 1, 100) <= 0)
    if (is_late())
      throw TransportError("rank " + std::to_string(options_.rank) + " waited for rank " + std::to_string(who) +
                           " in vain while they joined");
}

void Rendezvous::write_all(Line& line, const void* bytes, std::size_t count) {
  const auto* at = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t now = ::send(line.socket, at, count, MSG_NOSIGNAL);
    if (now > 0) {
      at += now;
      count -= static_cast<std::size_t>(now);
    } else if (errno == EAGAIN || errno == EINTR) {
      wait(line.socket, false, options_.rank == 0 ? static_cast<Rank>(&line - lines_.data()) : 0);
    } else {
      throw TransportError("a rank left while they joined: " + words_of(errno));
    }
  }
}

void Rendezvous::read_all(Line& line, Rank who, void* bytes, std::size_t count) {
  auto* at = static_cast<char*>(bytes);
  while (count > 0) {
    const ssize_t now = ::recv(line.socket, at, count, 0);
    if (now > 0) {
      at += now;
      count -= static_cast<std::size_t>(now);
    } else if (now < 0 && (errno == EAGAIN || errno == EINTR)) {
      wait(line.socket, true, who);
    } else {
      throw TransportError("rank " + std::to_string(who) + " left while they joined");
    }
  }
}

/// A connection that says nothing sensible is somebody else's.
void Rendezvous::accept_one(int socket) {
  set_up(socket);
  Line line{socket, false, {}};
  Hello hello;
  const Hello right;
  try {
    read_all(line, nobody, &hello, sizeof hello);
  } catch (const TransportError&) {
    return close(line);
  }
  hello.job[sizeof hello.job - 1] = '\0';
  if (std::memcmp(hello.mark, right.mark, sizeof right.mark) != 0 || hello.version != right.version ||
      options_.job.substr(0, sizeof hello.job - 1) != hello.job)
    return close(line);
  if (hello.ranks != options_.ranks || hello.rank == 0 || hello.rank >= options_.ranks) {
    close(line);
    throw TransportError("rank " + std::to_string(hello.rank) + " says that there are " + std::to_string(hello.ranks) +
                         " ranks, rank 0 that there are " + std::to_string(options_.ranks));
  }
  if (lines_[hello.rank].socket >= 0) {
    close(line);
    throw TransportError("two processes say that they are rank " + std::to_string(hello.rank));
  }
  own_address_ = own_end(socket);
  lines_[hello.rank] = std::move(line);
}

void Rendezvous::meet() {
  if (options_.ranks == 1) return;
  if (options_.rank != 0) {
    Line& line = lines_.front();
    line.socket = connect();
    set_up(line.socket);
    own_address_ = own_end(line.socket);
    Hello hello;
    hello.rank = options_.rank;
    hello.ranks = options_.ranks;
    options_.job.copy(hello.job, sizeof hello.job - 1);
    return write_all(line, &hello, sizeof hello);
  }
  for (Rank come = 1; come < options_.ranks;) {
    pollfd one{listens_, POLLIN, 0};
    if (::poll(&one, 1, 100) > 0) {
      const int socket = ::accept4(listens_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket >= 0) accept_one(socket);
      come =
          static_cast<Rank>(std::count_if(lines_.begin(), lines_.end(), [](const Line& l) { return l.socket >= 0; })) +
          1;
    } else if (is_late()) {
      throw TransportError(missing() + " did not come to rank 0 at " + options_.at + " within " +
                           std::to_string(options_.patience / milliseconds(1)) + " ms");
    }
  }
  ::close(listens_);
  listens_ = -1;
}

std::vector<std::string> Rendezvous::exchange(const std::string& mine) {
  std::vector<std::string> all(options_.ranks, std::string(mine.size(), '\0'));
  all[options_.rank] = mine;
  if (options_.rank != 0) {
    write_all(lines_.front(), mine.data(), mine.size());
    for (std::string& one : all) read_all(lines_.front(), 0, one.data(), one.size());
    return all;
  }
  for (Rank r = 1; r < options_.ranks; ++r) read_all(lines_[r], r, all[r].data(), all[r].size());
  for (Rank r = 1; r < options_.ranks; ++r)
    for (const std::string& one : all) write_all(lines_[r], one.data(), one.size());
  return all;
}

// Words of five bytes; what does not fit into the kernel's memory is not sent: nobody reads there any more.
void Rendezvous::say(Line& line, Say what, Rank who) {
  std::array<char, 5> word{static_cast<char>(what)};
  std::memcpy(word.data() + 1, &who, 4);
  if (line.socket >= 0) ::send(line.socket, word.data(), word.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Rendezvous::gone(Rank who) {
  if (lost_ != nobody) return;
  lost_ = who;
  if (options_.rank == 0)
    for (Line& line : lines_) say(line, Say::died, who);
}

void Rendezvous::hear(Line& line, Rank who) {
  std::array<char, 64> bytes{};
  while (line.socket >= 0) {
    const ssize_t now = ::recv(line.socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (now < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (now <= 0) {
      close(line);
      if (!line.leaves) gone(who);
      return;
    }
    line.in.append(bytes.data(), static_cast<std::size_t>(now));
    for (; line.in.size() >= 5; line.in.erase(0, 5)) {
      Rank said = 0;
      std::memcpy(&said, line.in.data() + 1, 4);
      switch (static_cast<Say>(line.in[0])) {
        case Say::leaves: line.leaves = true; break;
        case Say::all_leave: all_leave_ = line.leaves = true; break;
        case Say::died: gone(said); break;
      }
    }
  }
}

void Rendezvous::hear() {
  if (options_.rank != 0) return hear(lines_.front(), 0);
  for (Rank r = 1; r < lines_.size(); ++r) hear(lines_[r], r);
}

Rank Rendezvous::lost() {
  if (lost_ == nobody && !all_leave_) hear();
  return lost_;
}

bool Rendezvous::leave() {
  if (!leaves_ && options_.rank != 0) say(lines_.front(), Say::leaves, options_.rank);
  leaves_ = true;
  hear();
  if (options_.rank == 0 && !all_leave_) {
    all_leave_ = std::all_of(lines_.begin() + 1, lines_.end(), [](const Line& line) { return line.leaves; });
    for (Line& line : lines_)
      if (all_leave_) say(line, Say::all_leave, 0);
  }
  return all_leave_ || lost_ != nobody;
}

}  // namespace isthmus::runtime
