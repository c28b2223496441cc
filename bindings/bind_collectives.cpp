// Collectives and lowering for Python. Algorithms written in Python are called back with the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "base/error.hpp"
#include "collectives/collective_schedule.hpp"
#include "collectives/registry.hpp"
#include "schedule/lower.hpp"
#include "schedule/names.hpp"

using namespace nanobind::literals;

namespace isthmus::bindings {
using namespace schedule;
using namespace collectives;
namespace {

/// The argument of an algorithm in Python: a copy, which it may keep.
struct Call {
  CollectiveKind kind;
  Rank rank, ranks, root;
  std::uint64_t bytes;
  std::vector<std::int64_t> counts;
  bool in_place;
};

/// A buffer and an offset in bytes.
using Place = std::optional<std::pair<std::string, std::uint64_t>>;
constexpr const char* buffer_names[] = {"input", "output", "scratch"};

/// Where an algorithm in Python writes to, until it returns. Operations are numbered from 0.
class Out {
 public:
  Out(Emitter& emitter, Rank ranks) : emitter_(&emitter), ranks_(ranks) {}
  void close() { emitter_ = nullptr; }

  std::uint32_t send(Rank to, std::uint64_t bytes, const Place& source) {
    return add(emitter().send(peer(to), bytes, slice(source)));
  }
  std::uint32_t recv(Rank from, std::uint64_t bytes, const Place& into) {
    return add(emitter().recv(peer(from), bytes, slice(into)));
  }
  std::uint32_t copy(std::uint64_t bytes, const Place& source, const Place& into) {
    return add(emitter().copy(bytes, slice(source), slice(into)));
  }
  std::uint32_t reduce(std::uint64_t bytes, const Place& source, const Place& into, bool first) {
    const ReduceOrder order = first ? ReduceOrder::before : ReduceOrder::after;
    return add(emitter().reduce(bytes, slice(source), slice(into), order));
  }
  void require(std::uint32_t op, std::uint32_t on) {
    check(op, on);
    emitter().require(first_ + op, first_ + on);
  }
  void require_start(std::uint32_t op, std::uint32_t on) {
    check(op, on);
    emitter().require_start(first_ + op, first_ + on);
  }

 private:
  Emitter& emitter() const {
    isthmus::require(emitter_ != nullptr, "the operations of a collective are written before its algorithm returns");
    return *emitter_;
  }
  static Slice slice(const Place& place) {
    if (!place) return {};
    for (std::uint32_t i = 0; i < 3; ++i) {
      if (place->first == buffer_names[i]) return {i, 0, place->second};
    }
    throw InvalidInput(message("buffer '", place->first, "': must be input, output or scratch"));
  }
  Rank peer(Rank rank) const {
    isthmus::require(rank < ranks_, "rank ", rank, " does not exist: the collective has ", ranks_, " ranks");
    return rank;
  }
  std::uint32_t add(std::uint32_t op) {
    if (count_ == 0) first_ = op;
    return count_++;
  }
  void check(std::uint32_t op, std::uint32_t on) const {
    isthmus::require(op < count_ && on < count_ && op != on, "operation ", op, " cannot wait for ", on,
                     ": the collective has ", count_, " operations so far");
  }

  Emitter* emitter_;
  Rank ranks_;
  std::uint32_t first_ = 0;
  std::uint32_t count_ = 0;
};

/// An algorithm of isthmus.collectives, which owns it: the core must not hold Python objects when Python ends.
Generator python_generator(std::string kind, std::string name) {
  return [kind = std::move(kind), name = std::move(name)](const CollectiveCall& call, Emitter& emitter) {
    const nb::gil_scoped_acquire gil;
    const nb::object functions = nb::module_::import_("isthmus.collectives").attr("_functions");
    const nb::object function = functions[nb::make_tuple(kind, name)];
    const nb::object out = nb::cast(Out(emitter, call.ranks));
    const auto close = [](Out* opened) { opened->close(); };
    const std::unique_ptr<Out, decltype(close)> closing(nb::inst_ptr<Out>(out), close);
    function(Call{call.kind,
                  call.rank,
                  call.ranks,
                  call.root,
                  call.bytes,
                  {call.counts.begin(), call.counts.end()},
                  call.in_place},
             out);
  };
}

Schedule schedule_of_collective(const std::string& kind, const std::string& algorithm, Rank ranks, std::uint64_t bytes,
                                Rank root, const Input<std::int64_t>& counts, const GivenOptions& options,
                                bool in_place, bool buffers) {
  CollectiveCall call;
  call.kind = collective_kind(kind);
  call.ranks = ranks;
  call.bytes = bytes;
  call.root = root;
  call.counts = view(counts);
  call.in_place = in_place;
  const Algorithm found = find_algorithm(call.kind, algorithm, options);
  const nb::gil_scoped_release release;
  return collective_schedule(call, found, buffers);
}

/// Collective, most ranks, most bytes, algorithm, options, number of the flavour.
using Rule =
    std::tuple<std::string, std::optional<Rank>, std::optional<std::uint64_t>, std::string, GivenOptions, std::uint8_t>;

std::vector<CollectiveChoice> choices_of(const std::vector<Rule>& rules) {
  std::vector<CollectiveChoice> choices;
  for (const auto& [collective, most_ranks, most_bytes, algorithm, options, flavour] : rules) {
    require(flavour < flavours, "flavour ", int{flavour}, ": must be less than ", int{flavours});
    choices.push_back({collective_kind(collective), most_bytes.value_or(~std::uint64_t{0}), algorithm, options,
                       most_ranks.value_or(~Rank{0}), static_cast<Flavour>(flavour)});
  }
  return choices;
}

Schedule lower_program(Rank ranks, const Input<std::uint64_t>& first, const Input<std::uint8_t>& kind,
                       const Input<std::uint8_t>& what, const Input<std::int32_t>& peer, const Input<std::int32_t>& tag,
                       const Input<std::uint32_t>& comm, const Input<std::uint64_t>& amount,
                       const Input<std::uint32_t>& request, const Input<std::uint32_t>& detail,
                       const Input<std::int64_t>& details, const Input<std::uint64_t>& comm_first,
                       const Input<std::uint32_t>& comm_ranks, const std::vector<Rule>& rules,
                       const std::vector<Rule>& in_order, std::uint8_t progress_stream) {
  Program p;
  p.ranks = ranks;
  p.first = view(first);
  p.kind = view(kind);
  p.what = view(what);
  p.peer = view(peer);
  p.tag = view(tag);
  p.comm = view(comm);
  p.amount = view(amount);
  p.request = view(request);
  p.detail = view(detail);
  p.details = view(details);
  p.comm_first = view(comm_first);
  p.comm_ranks = view(comm_ranks);
  LowerOptions options{collective_rules(choices_of(rules)), progress_stream};
  // Without rules of their own such calls follow the others.
  if (!in_order.empty()) options.in_order = collective_rules(choices_of(in_order));
  const nb::gil_scoped_release release;
  return lower(p, options);
}

}  // namespace

void bind_collectives(nb::module_& module) {
  nb::class_<Call>(module, "CollectiveCall", "One rank's view of one collective; see isthmus.collectives.register.")
      .def_prop_ro("kind", [](const Call& c) { return name_of(c.kind); })
      .def_ro("rank", &Call::rank, "Within the communicator.")
      .def_ro("ranks", &Call::ranks, "Number of ranks of the communicator.")
      .def_ro("root", &Call::root)
      .def_ro("bytes", &Call::bytes, "Bytes of the vector, or of one rank's block.")
      .def_ro("in_place", &Call::in_place)
      .def_prop_ro(
          "counts", [](const Call& c) { return array_of(c.counts); }, nb::rv_policy::move, "Empty: bytes everywhere.");

  nb::class_<Out>(module, "CollectiveOut",
                  "Where an algorithm writes a rank's operations; see isthmus.collectives.register.")
      .def("send", &Out::send, "to"_a, "bytes"_a, "at"_a = nb::none(), "Appends a send; returns its number.")
      .def("recv", &Out::recv, "source"_a, "bytes"_a, "into"_a = nb::none(), "Appends a receive; returns its number.")
      .def("copy", &Out::copy, "bytes"_a, "at"_a = nb::none(), "into"_a = nb::none(),
           "Appends a copy; returns its number.")
      .def("reduce", &Out::reduce, "bytes"_a, "at"_a = nb::none(), "into"_a = nb::none(), "first"_a = false,
           "Appends a reduction of two vectors; returns its number.")
      .def("require", &Out::require, "op"_a, "on"_a, "`op` starts after `on` is done.")
      .def("require_start", &Out::require_start, "op"_a, "on"_a, "`op` starts after `on` has started.");

  module.def(
      "collective_algorithms", [](const std::string& kind) { return algorithms(collective_kind(kind)); }, "kind"_a,
      "Names of a collective's algorithms, its default first.");
  nb::class_<OptionInfo>(module, "OptionInfo", "An option of an algorithm.")
      .def_ro("name", &OptionInfo::name)
      .def_prop_ro(
          "standard",
          [](const OptionInfo& o) { return o.list ? std::nullopt : std::optional<std::uint64_t>(o.standard); },
          "What it is where it is not given; times in picoseconds; None: a list, which may be left out.")
      .def_ro("least", &OptionInfo::least, "The smallest number allowed.")
      .def_ro("words", &OptionInfo::words, "What it does.");
  nb::class_<AlgorithmInfo>(module, "AlgorithmInfo", "What the catalogue says of an algorithm.")
      .def_ro("name", &AlgorithmInfo::name)
      .def_ro("words", &AlgorithmInfo::words, "What it does.")
      .def_ro("reference", &AlgorithmInfo::reference, "Where it is published.")
      .def_ro("options", &AlgorithmInfo::options)
      .def_prop_ro(
          "order",
          [](const AlgorithmInfo& info) {
            static constexpr const char* names[] = {"", "ranks", "from root", "in groups", "any"};
            return names[static_cast<int>(info.order)];
          },
          "In which order operands are combined: that of ranks; from the root on; of ranks where groups are "
          "consecutive; "
          "any other; empty where nothing is.");
  module.def(
      "collective_algorithm_info",
      [](const std::string& kind, const std::string& name) { return algorithm_info(collective_kind(kind), name); },
      "kind"_a, "name"_a, "What the catalogue says of an algorithm.");
  module.def(
      "register_collective",
      [](const std::string& kind, const std::string& name) {
        register_algorithm(collective_kind(kind), name, python_generator(kind, name));
      },
      "kind"_a, "name"_a, "Lets the algorithm of isthmus.collectives be found by its name.");
  module.def("collective_schedule", &schedule_of_collective, "kind"_a, "algorithm"_a, "ranks"_a, "bytes"_a, "root"_a,
             "counts"_a, "options"_a, "in_place"_a, "buffers"_a,
             "What all ranks do when they call a collective once; see isthmus.collective.");
  module.def("lower", &lower_program, "ranks"_a, "first"_a, "kind"_a, "what"_a, "peer"_a, "tag"_a, "comm"_a, "amount"_a,
             "request"_a, "detail"_a, "details"_a, "comm_first"_a, "comm_ranks"_a, "rules"_a, "in_order"_a,
             "progress_stream"_a, "The schedule of a program's columns; see isthmus.lower.");
}

}  // namespace isthmus::bindings
