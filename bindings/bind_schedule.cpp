// Schedules for Python: arrays in, read-only looks at the same memory out.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <memory>
#include <tuple>
#include <type_traits>

#include "arrays.hpp"
#include "base/error.hpp"
#include "schedule/columns.hpp"
#include "schedule/compose.hpp"
#include "schedule/handshakes.hpp"
#include "schedule/one_sided.hpp"
#include "schedule/pattern.hpp"
#include "schedule/schedule.hpp"
#include "schedule/two_sided.hpp"
#include "schedule/validate.hpp"

using namespace nanobind::literals;

namespace isthmus::bindings {
using namespace schedule;
namespace {

template <class Vector>
Vector records(const Input<std::uint8_t>& bytes) {
  using T = typename Vector::value_type;
  static_assert(std::is_trivially_copyable_v<T>);
  require(bytes.shape(0) % sizeof(T) == 0, bytes.shape(0), " bytes are no whole number of records");
  Vector out(bytes.shape(0) / sizeof(T));
  if (!out.empty()) std::memcpy(static_cast<void*>(out.data()), bytes.data(), bytes.shape(0));
  return out;
}

template <class Vector>
auto bytes_of(const Vector& values, nb::handle owner) {
  const std::size_t bytes = values.size() * sizeof(typename Vector::value_type);
  return look(reinterpret_cast<const std::uint8_t*>(values.data()), bytes, owner);
}

template <class T>
Column<T> column(const Input<T>& values, std::uint64_t count) {
  require(values.shape(0) == 1 || values.shape(0) == count, "a column has ", values.shape(0), " elements instead of ",
          count, " or 1");
  return Column<T>(view(values));
}

/// first, peer, bytes, messages, load.
auto arrays_of(Pattern pattern, std::vector<double> load) {
  return std::make_tuple(array_from(std::move(pattern.first)), array_from(std::move(pattern.peer)),
                         array_from(std::move(pattern.bytes)), array_from(std::move(pattern.messages)),
                         array_from(std::move(load)));
}

}  // namespace

void bind_schedule(nb::module_& module) {
  nb::class_<Schedule>(module, "ScheduleArrays", "The arrays of a schedule; see isthmus.Schedule.")
      .def_static(
          "of",
          [](const Input<std::uint64_t>& op_first, const Input<std::uint8_t>& ops,
             const Input<std::uint64_t>& edge_first, const Input<std::uint32_t>& edges,
             std::vector<std::string> buffer_names, const Input<std::uint64_t>& buffer_bytes,
             const Input<std::uint8_t>& slices) {
            Schedule s;
            require(op_first.shape(0) >= 1 && op_first.shape(0) == edge_first.shape(0) && op_first.shape(0) <= any_rank,
                    "op_first and edge_first have one element more than there are ranks");
            s.ranks = static_cast<Rank>(op_first.shape(0) - 1);
            s.op_first = vector_of(op_first);
            s.edge_first = vector_of(edge_first);
            s.ops = records<UnsetVector<Operation>>(ops);
            s.edges.resize(edges.shape(0));
            if (edges.shape(0) != 0) std::memcpy(static_cast<void*>(s.edges.data()), edges.data(), edges.shape(0) * 4);
            s.buffers.names = std::move(buffer_names);
            s.buffers.bytes = vector_of(buffer_bytes);
            s.slices = records<UnsetVector<Slices>>(slices);
            return s;
          },
          "op_first"_a, "ops"_a, "edge_first"_a, "edges"_a, "buffer_names"_a, "buffer_bytes"_a, "slices"_a,
          "A schedule of copies of the arrays; unchecked, see validate.")
      .def_static(
          "of_columns",
          [](Rank ranks, std::uint64_t count, const Input<std::uint32_t>& rank, const Input<std::uint8_t>& kind,
             const Input<std::uint64_t>& amount, const Input<double>& seconds, const Input<std::uint32_t>& peer,
             const Input<std::uint32_t>& tag, const Input<std::uint32_t>& comm, const Input<std::uint8_t>& cpu,
             const Input<std::uint8_t>& nic, const Input<std::uint8_t>& mode, const Input<std::uint64_t>& op,
             const Input<std::uint64_t>& on, const Input<std::uint8_t>& start, std::vector<std::string> buffer_names,
             const Input<std::uint64_t>& buffer_bytes, const Input<std::uint8_t>& slices) {
            OperationColumns columns;
            columns.count = count;
            columns.rank = column(rank, count);
            columns.kind = column(kind, count);
            columns.amount = column(amount, count);
            require(seconds.shape(0) <= 1 || seconds.shape(0) == count, "got ", seconds.shape(0), " times for ", count,
                    " operations");
            columns.seconds = view(seconds);
            columns.peer = column(peer, count);
            columns.tag = column(tag, count);
            columns.comm = column(comm, count);
            columns.cpu = column(cpu, count);
            columns.nic = column(nic, count);
            columns.mode = column(mode, count);
            const auto held = records<UnsetVector<Slices>>(slices);
            columns.slices = held;
            return schedule_of(ranks, columns, {view(op), view(on), column(start, op.shape(0))},
                               {std::move(buffer_names), vector_of(buffer_bytes)});
          },
          "ranks"_a, "count"_a, "rank"_a, "kind"_a, "amount"_a, "seconds"_a, "peer"_a, "tag"_a, "comm"_a, "cpu"_a,
          "nic"_a, "mode"_a, "op"_a, "on"_a, "start"_a, "buffer_names"_a, "buffer_bytes"_a, "slices"_a,
          "A schedule of count operations; columns have as many elements or one. See isthmus.Schedule.of.")
      .def(
          "relabel",
          [](const Schedule& s, const Input<Rank>& to) {
            const nb::gil_scoped_release release;
            return relabel(s, view(to));
          },
          "to"_a, "The same schedule with rank r called to[r].")
      .def_static(
          "together",
          [](const std::vector<const Schedule*>& parts, std::uint32_t under_way) {
            const nb::gil_scoped_release release;
            return together(parts, under_way);
          },
          "parts"_a, "under_way"_a, "All of them on the same ranks, begun in their order; see isthmus.together.")
      .def(
          "with_handshakes",
          [](const Schedule& s, const Input<std::uint32_t>& node, std::uint64_t largest_eager, std::uint64_t queue) {
            const nb::gil_scoped_release release;
            return with_handshakes(s, view(node), largest_eager, queue);
          },
          "node"_a, "largest_eager"_a, "queue"_a, "Messages by rendezvous wait for a request and its answer.")
      .def(
          "with_protocol",
          [](const Schedule& s, std::uint8_t mode) {
            Schedule out = s;
            for (Operation& op : out.ops) op.mode = op.kind == OpKind::send ? mode : op.mode;
            return out;
          },
          "mode"_a, "The same with a mode of all sends.")
      .def(
          "one_sided",
          [](const Schedule& s, const std::string& access, bool ask, bool tell) {
            require(access == "put" || access == "get", "access '", access, "': must be put or get");
            const nb::gil_scoped_release release;
            return one_sided(s, access == "put" ? Access::put : Access::get, ask, tell);
          },
          "access"_a, "ask"_a, "tell"_a, "Puts or gets in place of messages.")
      .def(
          "two_sided",
          [](const Schedule& s) {
            TwoSided out;
            {
              const nb::gil_scoped_release release;
              out = two_sided(s);
            }
            return std::make_tuple(std::move(out.schedule), array_from(std::move(out.begins)),
                                   array_from(std::move(out.ends)));
          },
          "Messages in place of puts and gets, and of every operation what begins and what ends with it.")
      .def_ro("ranks", &Schedule::ranks)
      .def_prop_ro("op_first",
                   [](nb::handle_t<Schedule> self) {
                     const auto& s = nb::cast<const Schedule&>(self);
                     return look(s.op_first.data(), s.op_first.size(), self);
                   })
      .def_prop_ro("edge_first",
                   [](nb::handle_t<Schedule> self) {
                     const auto& s = nb::cast<const Schedule&>(self);
                     return look(s.edge_first.data(), s.edge_first.size(), self);
                   })
      .def_prop_ro(
          "ops", [](nb::handle_t<Schedule> self) { return bytes_of(nb::cast<const Schedule&>(self).ops, self); },
          "Operations as bytes, 32 each.")
      .def_prop_ro("edges",
                   [](nb::handle_t<Schedule> self) {
                     const auto& s = nb::cast<const Schedule&>(self);
                     return look(reinterpret_cast<const std::uint32_t*>(s.edges.data()), s.edges.size(), self);
                   })
      .def_prop_ro("buffer_names", [](const Schedule& s) { return s.buffers.names; })
      .def_prop_ro("buffer_bytes",
                   [](nb::handle_t<Schedule> self) {
                     const auto& s = nb::cast<const Schedule&>(self);
                     return look(s.buffers.bytes.data(), s.buffers.bytes.size(), self);
                   })
      .def_prop_ro(
          "slices", [](nb::handle_t<Schedule> self) { return bytes_of(nb::cast<const Schedule&>(self).slices, self); },
          "Slices as bytes, 40 each; empty where operations name no buffers.");
  module.def(
      "check_arrays", [](const Schedule& s) { check_arrays(s); }, "schedule"_a,
      nb::call_guard<nb::gil_scoped_release>(),
      "Whether arrays fit each other, so that whoever follows them stays inside; less than validate.");
  module.def(
      "pattern_of_schedule", [](const Schedule& s) { return arrays_of(pattern_of(s), load_of(s)); }, "schedule"_a,
      "First, peer, bytes, messages, and picoseconds of calc of each rank; see isthmus.Pattern.");
  module.def(
      "pattern_of_transfers",
      [](Rank ranks, const Input<Rank>& source, const Input<Rank>& target, const Input<std::uint64_t>& bytes,
         const Input<std::uint64_t>& messages) {
        const std::uint64_t count = source.shape(0);
        return arrays_of(pattern_of(ranks, view(source), view(target), column(bytes, count), column(messages, count)),
                         std::vector<double>(ranks));
      },
      "ranks"_a, "source"_a, "target"_a, "bytes"_a, "messages"_a,
      "The same of transfers given one by one, without load.");
  module.def(
      "order_by_rank",
      [](const Input<Rank>& rank, Rank ranks) {
        RankOrder sorted = order_by_rank(ranks, view(rank));
        return std::make_tuple(array_from(std::move(sorted.first)), array_from(std::move(sorted.order)));
      },
      "rank"_a, "ranks"_a, "First element of each rank, and the order of elements sorted by rank, stably.");
}

}  // namespace isthmus::bindings
