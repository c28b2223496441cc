// The simulator for Python: parameters in, arrays out; the GIL is free in between.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "arrays.hpp"
#include "base/error.hpp"
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

/// L, o_send, o_recv, g (ps), G, O (ps per byte), S (bytes), per_hop (ps).
using LevelTuple =
    std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, double, double, std::uint64_t, std::int64_t>;

LevelCost level_from(const LevelTuple& t) {
  LevelCost c;
  std::tie(c.L, c.o_send, c.o_recv, c.g, c.G, c.O, c.S, c.per_hop) = t;
  return c;
}

Detail detail_from(const std::string& name) {
  if (name == "finish") return Detail::finish;
  if (name == "ranks") return Detail::ranks;
  require(name == "ops", "record = '", name, "': allowed are finish, ranks, ops");
  return Detail::ops;
}

NoiseSpec::Kind noise_from(const std::string& name) {
  if (name == "none") return NoiseSpec::Kind::none;
  if (name == "periodic") return NoiseSpec::Kind::periodic;
  if (name == "exponential") return NoiseSpec::Kind::exponential;
  require(name == "file", "noise '", name, "': allowed are none, periodic, exponential, file");
  return NoiseSpec::Kind::trace;
}

Model model_from(const std::string& name) {
  if (name == "loggops") return Model::loggops;
  if (name == "flow") return Model::flow;
  if (name == "reserve") return Model::reserve;
  require(name == "packet", "model '", name, "': allowed are loggops, flow, reserve, packet");
  return Model::packet;
}

Receive receive_from(const std::string& name) {
  if (name == "loggp") return Receive::loggp;
  require(name == "loggopsim", "receive '", name, "': allowed are loggp, loggopsim");
  return Receive::loggopsim;
}

Route route_from(const std::string& name) {
  if (name == "minimal") return Route::minimal;
  if (name == "random") return Route::random;
  if (name == "valiant") return Route::valiant;
  require(name == "adaptive", "routing '", name, "': allowed are minimal, random, valiant, adaptive");
  return Route::adaptive;
}

Parameter parameter_from(const std::string& name) {
  static constexpr const char* names[parameters] = {"L", "o", "g", "G", "O", "compute"};
  const auto* at = std::find(std::begin(names), std::end(names), name);
  require(at != std::end(names), "parameter '", name, "': allowed are L, o, g, G, O, compute");
  return static_cast<Parameter>(at - std::begin(names));
}

template <class T>
Output<T> column(std::size_t count) {
  auto [data, owner] = allocate<T>(count);
  return Output<T>(data, {count}, owner);
}

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

using Result = nb::typed<nb::dict, nb::str, nb::any>;

Result dict_of(Simulated&& result) {
  Result out;
  out["makespan"] = result.makespan;
  out["executed"] = result.executed;
  out["events"] = result.events;
  out["steps"] = result.steps;
  out["network_steps"] = result.network_steps;
  out["messages"] = result.messages;
  out["bytes"] = result.bytes;
  out["simulated_ranks"] = result.simulated_ranks;
  out["skipped"] = result.skipped;
  out["stopped"] = result.stopped;
  auto rank = column<std::uint32_t>(result.stuck.size());
  auto op = column<std::uint32_t>(result.stuck.size());
  auto started = column<std::uint8_t>(result.stuck.size());
  for (std::size_t i = 0; i < result.stuck.size(); ++i) {
    rank.data()[i] = result.stuck[i].rank;
    op.data()[i] = result.stuck[i].op;
    started.data()[i] = result.stuck[i].started ? 1 : 0;
  }
  out["stuck_rank"] = rank;
  out["stuck_op"] = op;
  out["stuck_started"] = started;
  auto to = column<std::uint32_t>(result.orphans.size());
  auto source = column<std::uint32_t>(result.orphans.size());
  auto send = column<std::uint32_t>(result.orphans.size());
  auto handled = column<std::int64_t>(result.orphans.size());
  for (std::size_t i = 0; i < result.orphans.size(); ++i) {
    to.data()[i] = result.orphans[i].rank;
    source.data()[i] = result.orphans[i].source;
    send.data()[i] = result.orphans[i].op;
    handled.data()[i] = result.orphans[i].handled;
  }
  out["orphan_rank"] = to;
  out["orphan_source"] = source;
  out["orphan_op"] = send;
  out["orphan_handled"] = handled;
  out["finish"] = array_from(std::move(result.finish));
  out["breakdown"] = array_from(std::move(result.breakdown));
  out["start"] = array_from(std::move(result.start));
  out["end"] = array_from(std::move(result.end));
  out["partner"] = array_from(std::move(result.partner));
  out["busy"] = array_from(std::move(result.busy));
  out["handled"] = array_from(std::move(result.handled));
  out["lost"] = array_from(std::move(result.lost));
  out["lost_in_all"] = result.lost_in_all;
  out["link_bytes"] = array_from(std::vector<double>(result.traffic.bytes()));
  out["link_slices"] = array_from(std::vector<float>(result.traffic.in_slice()));
  out["slice_width"] = result.traffic.width();
  out["route_messages"] = array_from(std::vector<std::uint64_t>(result.traffic.messages()));
  out["route_links"] = array_from(std::vector<std::uint32_t>(result.traffic.links()));
  out["route_ends"] = array_from(std::vector<std::uint64_t>(result.traffic.ends()));
  std::vector<std::uint64_t> log(result.log.size());
  for (std::size_t i = 0; i < log.size(); ++i)
    log[i] = result.log[i].op() << LogEntry::kind_bits | static_cast<std::uint8_t>(result.log[i].kind());
  out["log"] = array_from(std::move(log));
  out["log_noise"] = array_from(std::move(result.log_noise));
  out["log_time"] = array_from(std::move(result.log_time));
  return out;
}

}  // namespace

void bind_simulate(nb::module_& module) {
  nb::class_<SimulationOptions>(module, "SimulationOptions", "Parameters of a simulation; see isthmus.simulate.")
      .def(
          "__init__",
          [](SimulationOptions* self, const LevelTuple& socket, const LevelTuple& node, const LevelTuple& network,
             const std::string& detail, std::uint64_t seed, double copy_rate, double reduce_rate, bool symmetry,
             bool skip) {
            auto* o = new (self) SimulationOptions;
            o->cost[0] = level_from(socket);
            o->cost[1] = level_from(node);
            o->cost[2] = level_from(network);
            o->detail = detail_from(detail);
            o->seed = seed;
            o->copy_rate = copy_rate;
            o->reduce_rate = reduce_rate;
            o->symmetry = symmetry;
            o->skip = skip;
          },
          "socket"_a, "node"_a, "network"_a, "detail"_a, "seed"_a, "copy_rate"_a, "reduce_rate"_a, "symmetry"_a,
          "skip"_a)
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
          "topology"_a, "node"_a, "socket"_a, "nic"_a, "nics"_a, nb::keep_alive<1, 2>())
      .def(
          "receive", [](SimulationOptions& o, const std::string& rule) { o.receive = receive_from(rule); }, "rule"_a)
      .def(
          "network",
          [](SimulationOptions& o, const std::string& model, const std::string& routing, std::uint32_t slices,
             double resolution) {
            o.model = model_from(model);
            o.route = route_from(routing);
            o.slices = slices;
            o.resolution = resolution;
          },
          "model"_a, "routing"_a, "slices"_a, "resolution"_a)
      .def(
          "packets",
          [](SimulationOptions& o, std::uint32_t bytes, std::uint32_t flit, std::uint64_t buffer) {
            o.packet = {bytes, flit, buffer};
          },
          "bytes"_a, "flit"_a, "buffer"_a, "Of the packet model; buffer 0: as large as a message that is alone needs.")
      .def(
          "until", [](SimulationOptions& o, std::int64_t time) { o.until = std::clamp(time, std::int64_t{0}, latest); },
          "time"_a, "Stop when simulated time passes it (ps).")
      .def(
          "log_part",
          [](SimulationOptions& o, std::uint64_t from, std::uint64_t most) {
            o.log_from = from;
            o.log_most = most;
          },
          "from_"_a, "most"_a, "Log so many entries, from when so many operations are done.")
      .def(
          "noise",
          [](SimulationOptions& o, const std::string& kind, std::int64_t period, std::int64_t duration,
             const Input<std::int64_t>& starts, const Input<std::int64_t>& durations, std::int64_t length) {
            o.noise.kind = noise_from(kind);
            o.noise.period = period;
            o.noise.duration = duration;
            o.noise.starts = vector_of(starts);
            o.noise.durations = vector_of(durations);
            o.noise.length = length;
          },
          "kind"_a, "period"_a, "duration"_a, "starts"_a, "durations"_a, "length"_a)
      .def(
          "changed",
          [](const SimulationOptions& o, const std::string& parameter, double x) {
            SimulationOptions changed = o;
            changed.detail = Detail::finish;
            change(changed, parameter_from(parameter), x);
            return changed;
          },
          "parameter"_a, "x"_a, nb::keep_alive<0, 1>(),
          "The same with a parameter changed by x (ps, ps per byte, a factor of compute), for a simulation of the "
          "finish.");

  module.def(
      "simulate_loggops",
      [](const Schedule& schedule, const SimulationOptions& options, nb::object progress) -> Result {
        SimulationOptions run = options;
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
        return dict_of(std::move(result));
      },
      "schedule"_a, "options"_a, "progress"_a.none(),
      "Simulates; progress is called with the number of operations done.");
  module.def(
      "critical_path",
      [](const Schedule& schedule, const SimulationOptions& options, const Input<std::uint64_t>& log,
         const Input<std::int64_t>& noise, const Input<std::int64_t>& lost,
         const Input<std::int64_t>& times) -> Result {
        require(times.shape(0) == 0 || times.shape(0) == log.shape(0), "times has ", times.shape(0),
                " elements, the log ", log.shape(0));
        require(lost.shape(0) == 0 || lost.shape(0) == schedule.ops.size(), "lost has ", lost.shape(0),
                " elements, the schedule ", schedule.ops.size(), " operations");
        std::vector<Step> path;
        {
          const nb::gil_scoped_release release;
          path = critical_path(schedule, options, log_from(log, schedule.ops.size()), view(noise), view(lost),
                               view(times));
        }
        Result out;
        const auto put = [&]<class T>(const char* name, T, auto member) {
          auto values = column<T>(path.size());
          for (std::size_t i = 0; i < path.size(); ++i) values.data()[i] = static_cast<T>(path[i].*member);
          out[name] = values;
        };
        put("begin", std::int64_t{}, &Step::begin);
        put("end", std::int64_t{}, &Step::end);
        put("op", std::uint64_t{}, &Step::op);
        put("rank", std::uint32_t{}, &Step::rank);
        put("via", std::uint8_t{}, &Step::via);
        put("latency", std::int64_t{}, &Step::latency);
        put("noise", std::int64_t{}, &Step::noise);
        put("lost", std::int64_t{}, &Step::lost);
        return out;
      },
      "schedule"_a, "options"_a, "log"_a, "noise"_a, "lost"_a, "times"_a,
      "Steps from 0 to the makespan; see core/simulate/replay.hpp.");
  module.def(
      "sensitivity",
      [](const Schedule& schedule, const SimulationOptions& options, const Input<std::uint64_t>& log,
         const Input<std::int64_t>& noise, const std::string& parameter) {
        const Parameter which = parameter_from(parameter);
        const nb::gil_scoped_release release;
        const Sensitivity s = sensitivity(schedule, options, log_from(log, schedule.ops.size()), view(noise), which);
        return std::make_tuple(s.slope, s.slope_below, s.lower, s.upper);
      },
      "schedule"_a, "options"_a, "log"_a, "noise"_a, "parameter"_a,
      "Slope for a larger and for a smaller parameter, and the range of the change for which they hold (ps, ps per "
      "byte).");
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
      "core/simulate/work_bound.hpp.");
}

}  // namespace isthmus::bindings
