// Contracts and proofs for Python.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "base/error.hpp"
#include "proof/prove.hpp"
#include "schedule/names.hpp"
#include "schedule/validate.hpp"

using namespace nanobind::literals;

namespace isthmus::bindings {
using namespace schedule;
using namespace proof;
namespace {

Contract contract_of_collective(const std::string& kind, Rank ranks, std::uint64_t bytes, Rank root,
                                const Input<std::int64_t>& counts, bool in_place, bool ordered,
                                const std::string& enter, const std::string& leave) {
  CollectiveCall call;
  call.kind = collective_kind(kind);
  call.ranks = ranks;
  call.bytes = bytes;
  call.root = root;
  call.counts = view(counts);
  call.in_place = in_place;
  Contract contract = contract_of(call, ordered);
  contract.enter = sync_of(enter);
  contract.leave = sync_of(leave);
  return contract;
}

/// Rows of rank, buffer, offset, bytes, first contributor, one after the last, origin.
Contract::Holdings holdings_of(const char* what, Rank ranks, std::size_t buffers, const Input<std::uint64_t>& rows,
                               bool single) {
  constexpr std::size_t columns = 7;
  require(rows.shape(0) % columns == 0, what, ": each row must have ", columns, " numbers");
  const auto of = std::make_shared<std::vector<std::vector<Holding>>>(ranks);
  for (std::size_t i = 0; i < rows.shape(0); i += columns) {
    const std::uint64_t* row = rows.data() + i;
    const std::string place = message(what, ", row ", i / columns, ": ");
    require(row[0] < ranks, place, "rank ", row[0], " does not exist: there are ", ranks, " ranks");
    require(row[1] < buffers, place, "buffer ", row[1], " does not exist: there are ", buffers, " buffers");
    require(row[4] < row[5] && row[5] <= ranks, place, "contributors ", row[4], " to ", row[5],
            " (exclusive): ranks are 0 to ", ranks - 1);
    require(!single || row[5] - row[4] == 1, place, "bytes at the start are of one rank");
    require(row[2] <= max_amount && row[3] <= max_amount && row[6] <= max_amount, place, "a number is too large");
    (*of)[row[0]].push_back({static_cast<std::uint32_t>(row[1]),
                             row[2],
                             row[3],
                             row[6],
                             {static_cast<Rank>(row[4]), static_cast<Rank>(row[5])}});
  }
  return [of](Rank rank, std::vector<Holding>& out) { out.insert(out.end(), (*of)[rank].begin(), (*of)[rank].end()); };
}

using DefectRow = std::tuple<std::string, Rank, std::int64_t, std::string>;

std::tuple<std::vector<DefectRow>, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, bool, bool>
prove_schedule(const Schedule& schedule, const Contract& contract, std::size_t most, bool symmetry) {
  Proof proof;
  {
    const nb::gil_scoped_release release;
    proof = prove(schedule, contract, most, symmetry);
  }
  std::vector<DefectRow> rows;
  for (Defect& d : proof.defects) {
    rows.emplace_back(name_of(d.kind), d.rank, d.op == Defect::no_operation ? -1 : std::int64_t{d.op},
                      std::move(d.text));
  }
  return {std::move(rows),     proof.count,       proof.operations, proof.messages,
          proof.bytes_checked, proof.needs_eager, proof.by_symmetry};
}

}  // namespace

void bind_proof(nb::module_& module) {
  nb::class_<Contract>(module, "Contract", "What a schedule has to do; see isthmus.Contract.")
      .def_static("of_collective", &contract_of_collective, "kind"_a, "ranks"_a, "bytes"_a, "root"_a, "counts"_a,
                  "in_place"_a, "ordered"_a, "enter"_a, "leave"_a, "What ranks ask of a collective.")
      .def_static(
          "of_rows",
          [](std::string name, Rank ranks, std::vector<std::string> buffers, const Input<std::uint64_t>& start,
             const Input<std::uint64_t>& end, std::vector<std::string> constant, bool ordered, bool synchronizes) {
            Contract c;
            c.name = std::move(name);
            c.ranks = ranks;
            c.buffers = std::move(buffers);
            c.start = holdings_of("start", ranks, c.buffers.size(), start, true);
            c.end = holdings_of("end", ranks, c.buffers.size(), end, false);
            c.constant = std::move(constant);
            c.ordered = ordered;
            c.synchronizes = synchronizes;
            return c;
          },
          "name"_a, "ranks"_a, "buffers"_a, "start"_a, "end"_a, "constant"_a, "ordered"_a, "synchronizes"_a,
          "From rows of rank, buffer, offset, bytes, first contributor, one after the last, origin.")
      .def_ro("name", &Contract::name)
      .def_ro("ranks", &Contract::ranks)
      .def_ro("ordered", &Contract::ordered);
  module.def(
      "prove", &prove_schedule, "schedule"_a, "contract"_a, "most"_a, "symmetry"_a = true,
      "Defects (kind, rank, operation or -1, sentence), how many there are, operations, messages, bytes checked, "
      "whether it ends only with eager sends, and whether rank 0 stood for all; see isthmus.prove.");
}

}  // namespace isthmus::bindings
