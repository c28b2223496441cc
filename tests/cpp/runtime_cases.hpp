// Collectives that are carried out, and what MPI says that each rank then holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectives/registry.hpp"
#include "runtime/executor/program.hpp"
#include "runtime/transport/transport.hpp"
#include "runtime_values.hpp"
#include "schedule/one_sided.hpp"
#include "schedule/program.hpp"

namespace isthmus::test {

/// A collective, the same on all ranks.
struct Case {
  schedule::CollectiveKind kind = schedule::CollectiveKind::barrier;
  std::string algorithm;
  runtime::Rank ranks = 1;
  runtime::Rank root = 0;
  std::uint64_t count = 0;  ///< elements
  bool in_place = false;
  collectives::GivenOptions options = {};
  Values values = Values::i32_sum;
  /// Elements where ranks contribute differently: of each rank; of alltoall from i to j at [i * ranks + j]; of
  /// neighbor_alltoall sender, receiver and elements of each message.
  std::vector<std::int64_t> counts = {};
  /// Puts or gets in place of its messages.
  std::optional<schedule::Access> access = std::nullopt;
};

std::string describe(const Case& c);

/// The part of a rank. Throws InvalidInput where the algorithm refuses the call.
runtime::Program program_of(const Case& c, runtime::Rank rank);

/// May the algorithm run so? Those for powers of two refuse other numbers.
bool runs(const Case& c);

/// A rank's buffers.
class RankData {
 public:
  RankData(const Case& c, runtime::Rank rank, const runtime::Program& program);
  RankData(const RankData&) = delete;
  RankData& operator=(const RankData&) = delete;

  /// Does the output hold what it must?
  [[nodiscard]] bool right() const;

  std::byte* at[3] = {};

 private:
  Bytes input_, output_, scratch_, expected_;
  bool checked_ = false;
};

/// Carries out cases on a transport, begun in this order and all under way at once; what went wrong, or nothing.
/// `give_up`: asked now and then.
std::string carry_out(runtime::Transport& transport, const std::vector<Case>& cases, bool (*give_up)());

}  // namespace isthmus::test
