// The C interface of pipelined loops.
#include <isthmus/isthmus_pipeline.h>

#include <cstring>
#include <isthmus/pipeline.hpp>
#include <memory>
#include <stdexcept>
#include <string>

#include "base/error.hpp"
#include "runtime/interface/status.hpp"

struct isthmus_pipeline {
  isthmus_loop loop;
  isthmus::pipeline runs;
};

namespace isthmus::runtime {
namespace {

pipeline_options options_of(const isthmus_loop& loop) {
  require(loop.items > 0, "isthmus_loop.items = 0: must be 1 or more");
  require(loop.bytes >= 0, "isthmus_loop.bytes = ", loop.bytes, ": must be 0 or more");
  require(loop.produce != nullptr && loop.start != nullptr && loop.finish != nullptr,
          "isthmus_loop: produce, start or finish is NULL");
  require((loop.tile == 0) == (loop.window == 0), "isthmus_loop: tile = ", loop.tile, " and window = ", loop.window,
          ": give both or none");
  pipeline_options out;
  out.items = loop.items;
  out.bytes = loop.bytes;
  if (loop.messages > 0) out.messages = loop.messages;
  if (loop.most_window > 0) out.most_window = loop.most_window;
  out.most_items = loop.most_items;
  out.tests = loop.tests;
  out.fixed = {loop.tile, loop.window};
  try {
    if (loop.costs != nullptr) out.costs = loggp::parse(loop.costs);
  } catch (const std::invalid_argument& error) {
    throw InvalidInput(std::string("isthmus_loop.costs: ") + error.what());
  }
  return out;
}

isthmus_tile in_c(const tile& t) { return {t.first, t.count, t.tile_first, t.tile_count, t.slot, t.items}; }

}  // namespace
}  // namespace isthmus::runtime

using namespace isthmus;
using namespace isthmus::runtime;

extern "C" {

int isthmus_pipeline_make(isthmus_team* team, const isthmus_loop* loop, isthmus_pipeline** out) {
  return guarded([&] {
    require(team != nullptr && out != nullptr, "team or pipeline is NULL");
    const isthmus_loop given = whole(loop, "isthmus_loop");
    const pipeline_options options = options_of(given);
    try {
      *out = new isthmus_pipeline{given, pipeline(options, team)};
    } catch (const pgas::error& error) {
      return failed(error.status(), error.what());
    }
    return int{ISTHMUS_DONE};
  });
}

int isthmus_pipeline_run(isthmus_pipeline* pipeline) {
  return guarded([&]() -> int {
    require(pipeline != nullptr, "pipeline is NULL");
    const isthmus_loop& loop = pipeline->loop;
    try {
      pipeline->runs.run(
          [&](const tile& t) {
            const isthmus_tile given = in_c(t);
            loop.produce(loop.data, &given);
          },
          [&](const tile& t) {
            const isthmus_tile given = in_c(t);
            isthmus_operation* begun = nullptr;
            pgas::check(loop.start(loop.data, &given, &begun));
            return operation(begun);
          },
          [&](const tile& t) {
            const isthmus_tile given = in_c(t);
            loop.finish(loop.data, &given);
          });
    } catch (const pgas::error& error) {
      return failed(error.status(), error.what());
    }
    return ISTHMUS_DONE;
  });
}

int isthmus_pipeline_look(const isthmus_pipeline* pipeline, isthmus_pipeline_state* state) {
  return guarded([&] {
    require(pipeline != nullptr, "pipeline is NULL");
    isthmus_pipeline_state out = whole(state, "isthmus_pipeline_state");
    const tiling next = pipeline->runs.next();
    const tiling_choice& choice = pipeline->runs.choice();
    out.tile = next.tile;
    out.window = next.window;
    out.settled = choice.settled() ? 1 : 0;
    out.seconds = choice.measured(next);
    out.blocking = choice.measured(choice.blocking());
    out.model = choice.model(next);
    std::memcpy(state, &out, std::min(state->size, sizeof out));
    return ISTHMUS_DONE;
  });
}

int isthmus_pipeline_free(isthmus_pipeline* pipeline) {
  delete pipeline;
  return ISTHMUS_DONE;
}

}  // extern "C"
