#include "runtime/places/places.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>

#include "base/error.hpp"

namespace isthmus::runtime {
namespace {

constexpr std::string_view head = "isthmus places 1";
/// Characters of a table of hops, by their number.
constexpr std::string_view digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// The words of a line, one after the other.
class Line {
 public:
  Line(const std::string& file, std::size_t number, std::string_view text)
      : file_(file), number_(number), rest_(text) {}

  template <class... Words>
  void check(bool good, const Words&... words) const {
    require(good, file_, ":", number_, ": ", words...);
  }
  [[nodiscard]] bool empty() const { return rest_.empty(); }
  std::string_view word(const char* what) {
    check(!rest_.empty(), what, " is missing");
    const std::size_t end = std::min(rest_.find(' '), rest_.size());
    const std::string_view found = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return found;
  }
  std::uint32_t number(const char* what) {
    const std::string_view text = word(what);
    std::uint32_t value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    check(read.ec == std::errc{} && read.ptr == text.data() + text.size(), what, " ", std::string(text),
          ": must be a whole number from 0");
    return value;
  }
  void expect(std::string_view text) {
    const std::string_view found = word("a word");
    check(found == text, "'", std::string(found), "' where '", std::string(text), "' is expected");
  }
  void end() const { check(rest_.empty(), "'", std::string(rest_), "' is too much"); }

 private:
  const std::string& file_;
  std::size_t number_;
  std::string_view rest_;
};

}  // namespace

Places::Places(std::string_view text, const std::string& name) {
  std::size_t number = 0;
  std::map<std::uint32_t, std::uint32_t> row_of;  // of a node in the table
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    Line line(name, ++number, text.substr(0, length));
    const std::string_view whole = text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
    if (number == 1) {
      line.check(whole == head, "the first line must be '", std::string(head), "'");
      continue;
    }
    if (line.empty()) continue;
    const std::string_view kind = line.word("a word");
    if (kind == "dimension") {
      line.check(node_.empty(), "dimensions come before ranks");
      PlaceDimension& made = dimensions_.emplace_back();
      made.name = line.word("the name of the dimension");
      made.extent = line.number("its extent");
      line.check(made.extent > 0, "extent 0: must be at least 1");
      if (!line.empty()) {
        line.expect("ring");
        made.ring = line.number("the length of the ring");
        line.check(made.ring >= made.extent, "a ring of ", made.ring, ": shorter than the extent ", made.extent);
        made.wraps = made.ring == made.extent;
      }
    } else if (kind == "rank") {
      const std::uint32_t rank = line.number("the rank");
      line.check(rank == ranks(), "rank ", rank, ": must be ", ranks(), ", ranks come in their order");
      line.expect("node");
      node_.push_back(line.number("the node"));
      line.word("the name of the node");
      line.expect("core");
      core_.push_back(line.number("the core"));
      line.expect("at");
      for (const PlaceDimension& d : dimensions_) {
        const std::uint32_t c = line.number("a coordinate");
        line.check(c < d.extent, "coordinate ", c, " of ", d.name, ": must be 0 to ", d.extent - 1);
        coordinates_.push_back(c);
      }
    } else if (kind == "hops") {
      const std::string_view how = line.word("'grid' or a node");
      line.check(!node_.empty(), "hops come after ranks");
      if (how == "grid") {
        grid_ = true;
      } else {
        Line again(name, number, how);
        const std::uint32_t node = again.number("the node");
        const std::string_view row = line.word("hops to all nodes");
        line.check(table_.empty() || row.size() * rows_ == table_.size(), "hops to ", row.size(), " nodes, before to ",
                   rows_ > 0 ? table_.size() / rows_ : 0);
        for (const char c : row) {
          const std::size_t hops = digits.find(c);
          if (hops == digits.npos) line.check(false, "hops '", std::string(1, c), "': must be 0-9, a-z or A-Z");
          table_ += static_cast<char>(hops);
        }
        line.check(row_of.emplace(node, rows_).second, "hops of node ", node, " come twice");
        ++rows_;
      }
    } else {
      line.check(kind == "machine", "'", std::string(kind), "': must be machine, dimension, rank or hops");
      continue;  // for people
    }
    line.end();
  }
  require(number > 0, name, ": is empty; the first line must be '", std::string(head), "'");
  require(ranks() > 0, name, ": has no ranks");
  require(static_cast<std::uint64_t>(rows_) * rows_ == table_.size(), name, ": hops of ", rows_,
          " nodes: must be a row for each column");
  if (rows_ > 0)
    for (const std::uint32_t node : node_) {
      const auto found = row_of.find(node);
      require(found != row_of.end(), name, ": no hops of node ", node);
      row_.push_back(found->second);
    }
  index();
}

void Places::index() {
  by_node_.resize(node_.size());
  std::iota(by_node_.begin(), by_node_.end(), 0U);
  std::stable_sort(by_node_.begin(), by_node_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::ranges::lexicographical_compare(coordinates(a), coordinates(b));
  });
}

std::span<const std::uint32_t> Places::at(std::span<const std::uint32_t> wanted) const {
  const auto first = std::lower_bound(by_node_.begin(), by_node_.end(), wanted, [&](std::uint32_t rank, const auto& c) {
    return std::ranges::lexicographical_compare(coordinates(rank), c);
  });
  const auto last = std::upper_bound(first, by_node_.end(), wanted, [&](const auto& c, std::uint32_t rank) {
    return std::ranges::lexicographical_compare(c, coordinates(rank));
  });
  return {first, last};
}

std::uint32_t Places::hops(std::uint32_t from, std::uint32_t to) const {
  if (rows_ > 0) return static_cast<std::uint32_t>(table_[static_cast<std::size_t>(row_[from]) * rows_ + row_[to]]);
  if (!grid_) throw Unsupported("the file of places does not say hops: `isthmus machine distance` does");
  std::uint32_t sum = 0;
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    const std::uint32_t a = coordinates(from)[d], b = coordinates(to)[d];
    const std::uint32_t ahead = a > b ? a - b : b - a;
    const std::uint32_t ring = dimensions_[d].ring;
    sum += ring > 0 ? std::min(ahead, ring - ahead) : ahead;
  }
  return sum;
}

}  // namespace isthmus::runtime
