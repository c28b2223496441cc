// The simulator for Python: results whose arrays are looked at in place; the GIL is free while it runs.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <functional>
#include <tuple>
#include <type_traits>
#include <vector>

#include "arrays.hpp"
#include "base/error.hpp"
#include "names.hpp"
#include "schedule/schedule.hpp"
#include "simulate/explain/replay.hpp"
#include "simulate/explain/work_bound.hpp"
#include "simulate/simulate.hpp"
#include "topology/topology.hpp"

using namespace nanobind::literals;

namespace isthmus::bindings {
using namespace topology;
using namespace schedule;
using namespace simulate;
namespace {

// Everything of a simulation that has a name in Python.
constexpr Name<Detail> details[] = {{"finish", Detail::finish}, {"ranks", Detail::ranks}, {"ops", Detail::ops}};
constexpr Name<NoiseSpec::Kind> noises[] = {{"none", NoiseSpec::Kind::none},
                                            {"periodic", NoiseSpec::Kind::periodic},
                                            {"exponential", NoiseSpec::Kind::exponential}};
constexpr Name<Model> models[] = {
    {"loggops", Model::loggops}, {"flow", Model::flow}, {"reserve", Model::reserve}, {"packet", Model::packet}};
constexpr Name<Receive> receives[] = {{"loggp", Receive::loggp}, {"loggopsim", Receive::loggopsim}};
constexpr Name<RoutingPolicy> routes[] = {{"minimal", RoutingPolicy::minimal},
                                          {"random", RoutingPolicy::random},
                                          {"valiant", RoutingPolicy::valiant},
                                          {"adaptive", RoutingPolicy::adaptive}};
constexpr Name<Parameter> changeable[] = {{"L", Parameter::L}, {"o", Parameter::o}, {"g", Parameter::g},
                                          {"G", Parameter::G}, {"O", Parameter::O}, {"compute", Parameter::compute}};

/// The values of `of` for each row, as a NumPy array.
template <class T, class Rows, class Of>
Output<T> column(const Rows& rows, Of of) {
  auto [data, owner] = allocate<T>(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) data[i] = static_cast<T>(std::invoke(of, rows[i]));
  return Output<T>(data, {rows.size()}, owner);
}

/// A member of a result, or what a function of it gives, as a read-only array over its memory.
template <class Owner, class Get>
auto seen(Get get) {
  return [get](nb::handle_t<Owner> self) {
    const auto& values = std::invoke(get, nb::cast<const Owner&>(self));
    return look(values.data(), values.size(), self);
  };
}

struct Path {
  std::vector<Step> steps;
};

std::vector<LogEntry> log_from(const Input<std::uint64_t>& log, std::size_t ops) {
  std::vector<LogEntry> out;
  out.reserve(log.shape(0));
  for (const std::uint64_t entry : view(log)) {
    const std::uint64_t op = entry >> LogEntry::kind_bits;
    require(op < ops, "a log entry names operation ", op, " of ", ops);
    out.emplace_back(static_cast<LogEntry::Kind>(entry & ((1U << LogEntry::kind_bits) - 1)), op);
  }
  return out;
}

void bind_options(nb::module_& module) {
  nb::class_<LevelCost>(module, "LevelCost", "LogGOPS parameters of a level: ps, ps per byte; S in bytes.")
      .def(
          "__init__",
          [](LevelCost* self, std::int64_t L, std::int64_t o_send, std::int64_t o_recv, std::int64_t g, double G,
             double O, std::uint64_t S, std::int64_t per_hop,
             std::optional<double> O_recv) { new (self) LevelCost{L, o_send, o_recv, g, G, O, S, per_hop, O_recv}; },
          nb::kw_only(), "L"_a, "o_send"_a, "o_recv"_a, "g"_a, "G"_a, "O"_a, "S"_a, "per_hop"_a,
          "O_recv"_a = nb::none())
      .def(
          "add_piece",
          [](LevelCost& self, std::uint64_t above, std::uint64_t after, std::int64_t L, std::int64_t o_send,
             std::int64_t o_recv, std::int64_t g, double G, double O,
             double O_recv) { self.pieces.push_back({L, o_send, o_recv, g, G, O, 0, 0, O_recv, after, above}); },
          nb::kw_only(), "above"_a, "after"_a, "L"_a, "o_send"_a, "o_recv"_a, "g"_a, "G"_a, "O"_a, "O_recv"_a,
          "What holds for messages of more than so many bytes; pieces are added in this order.");
  nb::class_<SimulationOptions>(module, "SimulationOptions", "Parameters of a simulation; see isthmus.simulate.")
      .def(
          "__init__",
          [](SimulationOptions* self, const LevelCost& socket, const LevelCost& node, const LevelCost& network,
             const std::string& record, const std::string& receive, std::uint64_t seed, double copy_rate,
             double reduce_rate, std::int64_t start, bool symmetry, bool skip) {
            auto* o = new (self) SimulationOptions;
            o->cost[static_cast<int>(Level::socket)] = socket;
            o->cost[static_cast<int>(Level::node)] = node;
            o->cost[static_cast<int>(Level::network)] = network;
            o->detail = named("record", record, details);
            o->receive = named("receive", receive, receives);
            o->seed = seed;
            o->copy_rate = copy_rate;
            o->reduce_rate = reduce_rate;
            o->start = start;
            o->symmetry = symmetry;
            o->skip = skip;
          },
          nb::kw_only(), "socket"_a, "node"_a, "network"_a, "record"_a, "receive"_a, "seed"_a, "copy_rate"_a,
          "reduce_rate"_a, "start"_a, "symmetry"_a, "skip"_a)
      .def_rw("windows", &SimulationOptions::windows,
              "Whether to go in windows of time where that is faster; the result is the same.")
      .def(
          "add_time",
          [](SimulationOptions& o, bool reduces, std::uint64_t bytes, double time) {
            (reduces ? o.reduce_times : o.copy_times).push_back({bytes, time});
          },
          nb::kw_only(), "reduces"_a, "bytes"_a, "time"_a,
          "The time in picoseconds of a copy or reduction of so many bytes; more and more bytes.")
      .def(
          "place",
          [](SimulationOptions& o, const Topology& topology, const Input<std::uint32_t>& node,
             const Input<std::uint32_t>& socket, const Input<std::uint32_t>& nic, std::uint32_t nics) {
            o.places.topology = &topology;
            o.places.node = vector_of(node);
            o.places.socket = vector_of(socket);
            o.places.nic = vector_of(nic);
            o.places.nics = nics;
          },
          nb::kw_only(), "topology"_a, "node"_a, "socket"_a, "nic"_a, "nics"_a, nb::keep_alive<1, 2>())
      .def(
          "network",
          [](SimulationOptions& o, const std::string& model, const std::string& routing, std::uint32_t slices,
             double resolution) {
            o.model = named("model", model, models);
            o.route = named("routing", routing, routes);
            o.slices = slices;
            o.resolution = resolution;
          },
          nb::kw_only(), "model"_a, "routing"_a, "slices"_a, "resolution"_a)
      .def(
          "packets",
          [](SimulationOptions& o, std::uint32_t bytes, std::uint32_t flit, std::uint64_t buffer) {
            o.packet = {bytes, flit, buffer};
          },
          nb::kw_only(), "bytes"_a, "flit"_a, "buffer"_a,
          "Options of the packet model; buffer 0: as large as a single message needs.")
      .def(
          "go_on", [](SimulationOptions& o, const Input<std::int64_t>& free) { o.free = vector_of(free); }, "free"_a,
          "Begin where another simulation ended: when its resources were free (ps).")
      .def(
          "log_part",
          [](SimulationOptions& o, std::uint64_t from, std::uint64_t most) {
            o.log_from = from;
            o.log_most = most;
          },
          nb::kw_only(), "from_"_a, "most"_a, "Log so many entries, from when so many operations are done.")
      .def(
          "noise",
          [](SimulationOptions& o, const std::string& kind, std::int64_t period, std::int64_t duration) {
            o.noise.kind = named("noise", kind, noises);
            o.noise.period = period;
            o.noise.duration = duration;
          },
          "kind"_a, nb::kw_only(), "period"_a, "duration"_a)
      .def(
          "noise_from_file",
          [](SimulationOptions& o, const Input<std::int64_t>& starts, const Input<std::int64_t>& durations,
             std::int64_t length) {
            o.noise.kind = NoiseSpec::Kind::trace;
            o.noise.starts = vector_of(starts);
            o.noise.durations = vector_of(durations);
            o.noise.length = length;
          },
          nb::kw_only(), "starts"_a, "durations"_a, "length"_a, "Interruptions that were measured; they repeat.")
      .def(
          "changed",
          [](const SimulationOptions& o, const std::string& parameter, double x) {
            SimulationOptions changed = o;
            changed.detail = Detail::finish;
            change(changed, named("parameter", parameter, changeable), x);
            return changed;
          },
          "parameter"_a, "x"_a, nb::keep_alive<0, 1>(),
          "The same with a parameter changed by x (ps, ps per byte, a factor of compute), for a simulation of the "
          "finish.");
}

void bind_results(nb::module_& module) {
  nb::class_<Simulated>(module, "Simulated", "What a simulation says; arrays are read-only. See isthmus.Timeline.")
      .def_ro("makespan", &Simulated::makespan)
      .def_ro("executed", &Simulated::executed)
      .def_ro("events", &Simulated::events)
      .def_ro("steps", &Simulated::steps)
      .def_ro("network_steps", &Simulated::network_steps)
      .def_ro("messages", &Simulated::messages)
      .def_ro("bytes", &Simulated::bytes)
      .def_ro("simulated_ranks", &Simulated::simulated_ranks)
      .def_ro("skipped", &Simulated::skipped)
      .def_ro("stopped", &Simulated::stopped)
      .def_ro("lost_in_all", &Simulated::lost_in_all)
      .def_prop_ro("finish", seen<Simulated>(&Simulated::finish))
      .def_prop_ro("free", seen<Simulated>(&Simulated::free), "When every resource is free at the end.")
      .def_prop_ro("breakdown", seen<Simulated>(&Simulated::breakdown), "Ranks x shares.")
      .def_prop_ro("start", seen<Simulated>(&Simulated::start))
      .def_prop_ro("end", seen<Simulated>(&Simulated::end))
      .def_prop_ro("partner", seen<Simulated>(&Simulated::partner))
      .def_prop_ro("busy", seen<Simulated>(&Simulated::busy))
      .def_prop_ro("handled", seen<Simulated>(&Simulated::handled))
      .def_prop_ro("lost", seen<Simulated>(&Simulated::lost))
      .def_prop_ro("parked", seen<Simulated>(&Simulated::parked))
      .def_prop_ro(
          "stuck",
          [](const Simulated& s) {
            return std::make_tuple(column<std::uint32_t>(s.stuck, &Stuck::rank),
                                   column<std::uint32_t>(s.stuck, &Stuck::op),
                                   column<std::uint8_t>(s.stuck, &Stuck::started));
          },
          nb::rv_policy::automatic, "Operations that are not done: rank, number, whether each has begun.")
      .def_prop_ro(
          "orphans",
          [](const Simulated& s) {
            return std::make_tuple(
                column<std::uint32_t>(s.orphans, &Orphan::rank), column<std::uint32_t>(s.orphans, &Orphan::source),
                column<std::uint32_t>(s.orphans, &Orphan::op), column<std::int64_t>(s.orphans, &Orphan::handled));
          },
          nb::rv_policy::automatic,
          "Messages that nobody received: rank, source, number of the send, when it was handled.")
      .def_prop_ro("link_bytes", seen<Simulated>([](const Simulated& s) -> auto& { return s.traffic.bytes(); }))
      .def_prop_ro("link_slices", seen<Simulated>([](const Simulated& s) -> auto& { return s.traffic.in_slice(); }))
      .def_prop_ro("slice_width", [](const Simulated& s) { return s.traffic.width(); })
      .def_prop_ro("route_messages", seen<Simulated>([](const Simulated& s) -> auto& { return s.traffic.messages(); }))
      .def_prop_ro("route_links", seen<Simulated>([](const Simulated& s) -> auto& { return s.traffic.links(); }))
      .def_prop_ro("route_ends", seen<Simulated>([](const Simulated& s) -> auto& { return s.traffic.ends(); }))
      .def_prop_ro(
          "log",
          [](nb::handle_t<Simulated> self) {
            static_assert(sizeof(LogEntry) == sizeof(std::uint64_t) && std::is_standard_layout_v<LogEntry>);
            const std::vector<LogEntry>& log = nb::cast<const Simulated&>(self).log;
            return look(reinterpret_cast<const std::uint64_t*>(log.data()), log.size(), self);
          },
          "What happened, for critical_path() and sensitivity().")
      .def_prop_ro("log_noise", seen<Simulated>(&Simulated::log_noise))
      .def_prop_ro("log_time", seen<Simulated>(&Simulated::log_time));

  const auto steps = [](auto member) {
    return [member](const Path& path) {
      using T = std::decay_t<decltype(std::invoke(member, path.steps[0]))>;
      return column<T>(path.steps, member);
    };
  };
  nb::class_<Path>(module, "PathSteps",
                   "Steps from 0 to the makespan, as arrays; see core/simulate/explain/replay.hpp.")
      .def_prop_ro("begin", steps(&Step::begin), nb::rv_policy::automatic)
      .def_prop_ro("end", steps(&Step::end), nb::rv_policy::automatic)
      .def_prop_ro("op", steps(&Step::op), nb::rv_policy::automatic)
      .def_prop_ro("rank", steps(&Step::rank), nb::rv_policy::automatic)
      .def_prop_ro(
          "via", [](const Path& path) { return column<std::uint8_t>(path.steps, &Step::via); },
          nb::rv_policy::automatic)
      .def_prop_ro("latency", steps(&Step::latency), nb::rv_policy::automatic)
      .def_prop_ro("noise", steps(&Step::noise), nb::rv_policy::automatic)
      .def_prop_ro("lost", steps(&Step::lost), nb::rv_policy::automatic);

  nb::class_<Sensitivity>(module, "Sensitivity", "How the makespan follows a parameter: ps, ps per byte.")
      .def_ro("slope", &Sensitivity::slope, "For a larger parameter.")
      .def_ro("slope_below", &Sensitivity::slope_below, "For a smaller one.")
      .def_ro("lower", &Sensitivity::lower, "The change from which the slopes hold.")
      .def_ro("upper", &Sensitivity::upper, "The change up to which they hold.");
}

}  // namespace

void bind_simulate(nb::module_& module) {
  bind_options(module);
  bind_results(module);

  module.def(
      "simulate",
      [](const Schedule& schedule, const SimulationOptions& options, nb::object progress,
         std::optional<std::int64_t> until) -> Simulated {
        SimulationOptions run = options;
        if (until) run.until = std::clamp(*until, std::int64_t{0}, latest);
        run.progress = [&](std::uint64_t done) {
          const nb::gil_scoped_acquire hold;
          progress(done);
          return true;
        };
        if (progress.is_none()) run.progress = nullptr;
        Simulated result;
        {
          const nb::gil_scoped_release release;
          result = simulate::simulate(schedule, run);
        }
        return result;
      },
      "schedule"_a, "options"_a, "progress"_a.none(), "until"_a.none() = nb::none(),
      "Simulates; progress is called with the number of operations done. Stops when simulated time passes `until` "
      "(ps).");
  module.def(
      "critical_path",
      [](const Schedule& schedule, const SimulationOptions& options, const Input<std::uint64_t>& log,
         const Input<std::int64_t>& noise, const Input<std::int64_t>& lost, const Input<std::int64_t>& times) -> Path {
        require(times.shape(0) == 0 || times.shape(0) == log.shape(0), "times has ", times.shape(0),
                " elements, the log ", log.shape(0));
        require(lost.shape(0) == 0 || lost.shape(0) == schedule.ops.size(), "lost has ", lost.shape(0),
                " elements, the schedule ", schedule.ops.size(), " operations");
        const nb::gil_scoped_release release;
        return {
            critical_path(schedule, options, log_from(log, schedule.ops.size()), view(noise), view(lost), view(times))};
      },
      "schedule"_a, "options"_a, "log"_a, "noise"_a, "lost"_a, "times"_a,
      "The chain of causes that ends with the last rank.");
  module.def(
      "sensitivity",
      [](const Schedule& schedule, const SimulationOptions& options, const Input<std::uint64_t>& log,
         const Input<std::int64_t>& noise, const std::string& parameter) {
        const Parameter which = named("parameter", parameter, changeable);
        const nb::gil_scoped_release release;
        return sensitivity(schedule, options, log_from(log, schedule.ops.size()), view(noise), which);
      },
      "schedule"_a, "options"_a, "log"_a, "noise"_a, "parameter"_a, "How the makespan changes with a parameter.");
  module.def(
      "work_bound",
      [](const Schedule& schedule, const SimulationOptions& options, std::uint64_t unit,
         const Input<std::uint64_t>& sizes) {
        std::vector<double> least;
        {
          const nb::gil_scoped_release release;
          least = work_bound(schedule, options, unit, view(sizes));
        }
        return array_from(std::move(least));
      },
      "schedule"_a, "options"_a, "unit"_a, "sizes"_a,
      "Picoseconds that no simulation is shorter than with amounts of the unit as large as each size; see "
      "core/simulate/explain/work_bound.hpp.");
}

}  // namespace isthmus::bindings
