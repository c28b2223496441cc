// A collective that is carried out by accesses to the memory of others. Its words are to the executor messages without
// bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/executor/execution.hpp"
#include "runtime/pgas/board.hpp"
#include "runtime/transport/transport.hpp"

namespace isthmus::runtime {

class Direct final : private Transport {
 public:
  Direct(Board& board, Recipe& recipe);

  /// Takes its places: all ranks do so in the order in which they begin collectives.
  void reserve() { places_ = board_.words.take(recipe_.direct->words, recipe_.direct->scratch); }
  void start(const std::byte* input, std::byte* output);
  /// Whether it has ended.
  bool go_on();
  /// When it has ended.
  void give_back() { recipe_.idle.push_back(this); }

 private:
  struct Awaited {
    std::uint32_t word;
    Token token;
  };

  [[nodiscard]] Rank rank() const override { return board_.rank(); }
  [[nodiscard]] Rank ranks() const override { return board_.ranks(); }
  bool send(Rank to, const Key& key, const std::byte* bytes, std::size_t count, Token token) override;
  bool recv(Rank from, const Key& key, std::byte* bytes, std::size_t count, Token token) override;
  std::size_t poll(Token* ended, std::size_t most) override;
  void begin();

  Board& board_;
  Recipe& recipe_;
  Execution execution_;
  BoardWords::Places places_;
  std::vector<Awaited> awaited_;
  const std::byte* input_ = nullptr;
  std::byte* output_ = nullptr;
  bool begun_ = false;
};

}  // namespace isthmus::runtime
