// The way ranks find each other without MPI, and learn who has died: a TCP connection of each rank to rank 0, who
// listens. Addresses are exchanged over it when ranks join; afterwards nothing passes but a last byte when a rank
// leaves. The kernel ends the connection of a process that dies, and rank 0 tells the others, who find rank 0 dead by
// theirs.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/transport/transport.hpp"

namespace isthmus::runtime {

class Rendezvous {
 public:
  struct Options {
    Rank rank = 0, ranks = 1;
    std::string at;   ///< HOST:PORT where rank 0 listens; port 0, of rank 0: any
    std::string job;  ///< ranks of other jobs are refused
    std::chrono::milliseconds patience{60'000};
  };

  /// Rank 0 listens; others may connect from now on. Throws TransportError.
  explicit Rendezvous(Options options);
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  /// Of rank 0: the port at which it listens.
  [[nodiscard]] std::uint16_t port() const { return port_; }
  /// Waits for all ranks. Throws TransportError, which names those that did not come.
  void meet();
  /// The address of this computer that the others reach; empty where there is one rank.
  [[nodiscard]] const std::string& own_address() const { return own_address_; }
  /// What every rank says, by rank, all of the same length. Throws TransportError.
  std::vector<std::string> exchange(const std::string& mine);

  static constexpr Rank nobody = ~Rank{0};
  /// A rank that has died since they met; does not wait.
  Rank lost();
  /// This rank leaves. True as soon as all do: called again and again until then.
  bool leave();

 private:
  enum class Say : unsigned char { leaves = 1, all_leave = 2, died = 3 };
  struct Line {
    int socket = -1;
    bool leaves = false;
    std::string in;  ///< what has come of a word
  };

  void listen();
  int connect();
  void accept_one(int socket);
  void write_all(Line& line, const void* bytes, std::size_t count);
  void read_all(Line& line, Rank who, void* bytes, std::size_t count);
  void wait(int socket, bool reads, Rank who);
  [[nodiscard]] bool is_late() const { return std::chrono::steady_clock::now() >= deadline_; }
  void say(Line& line, Say what, Rank who);
  void hear();
  void hear(Line& line, Rank who);
  void gone(Rank who);
  void close(Line& line);
  [[nodiscard]] std::string missing() const;

  Options options_;
  std::string host_;
  std::uint16_t port_ = 0;
  std::string own_address_;
  std::chrono::steady_clock::time_point deadline_;
  int listens_ = -1;
  std::vector<Line> lines_;  // of rank 0: by rank; of others: that to rank 0
  Rank lost_ = nobody;
  bool leaves_ = false, all_leave_ = false;
};

}  // namespace isthmus::runtime
