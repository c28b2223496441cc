// A hash table whose words are dealt out to the ranks: whoever has a word counts it, by remote procedure calls.
#include <cstdio>
#include <functional>
#include <isthmus/rpc.hpp>
#include <string>
#include <unordered_map>

#include "example.hpp"

using table = isthmus::pgas::per_rank<std::unordered_map<std::string, std::uint64_t>>;

static std::uint32_t owner(const std::string& word, std::uint32_t ranks) {
  return static_cast<std::uint32_t>(std::hash<std::string>()(word) % ranks);
}

int main(int argc, char** argv) {
  isthmus::pgas::world world(example::joined());
  const std::uint32_t words = example::number(argc, argv, 1, 5000), different = 997;
  isthmus::pgas::remote_calls on(world);
  table counts(on);

  for (std::uint32_t i = 0; i < words; ++i) {
    const std::string word = "word " + std::to_string(i * 7919 % different);
    on.rpc_ff(owner(word, world.ranks()), [](table& mine, const std::string& key) { ++(*mine)[key]; }, counts, word);
  }
  on.finish();  // all have been counted

  // Every rank asks for all words, and for their sum when all are there.
  std::vector<isthmus::pgas::future<std::uint64_t>> found;
  for (std::uint32_t i = 0; i < different; ++i) {
    const std::string word = "word " + std::to_string(i);
    found.push_back(on.rpc(
        owner(word, world.ranks()), [](table& mine, const std::string& key) { return (*mine)[key]; }, counts, word));
  }
  const auto sum = isthmus::pgas::when_all(std::move(found)).then([](const std::vector<std::uint64_t>& all) {
    std::uint64_t total = 0;
    for (const std::uint64_t count : all) total += count;
    return total;
  });
  const bool right = sum.wait() == std::uint64_t{words} * world.ranks();
  on.barrier();
  if (world.rank() == 0)
    std::printf("%u words of each of %u ranks: %s\n", words, world.ranks(), right ? "all are counted" : "wrong");
  return right ? 0 : 1;
}
