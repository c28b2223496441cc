// The C interface of the places of a job.
#include "runtime/places/places.hpp"

#include <isthmus/isthmus.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "runtime/interface/status.hpp"
#include "runtime/reorder/reorder.hpp"

struct isthmus_places {
  isthmus_places(const std::string& text, const std::string& name) : all(text, name) {
    for (const isthmus::runtime::PlaceDimension& d : all.dimensions())
      dimensions.push_back({d.name.c_str(), d.extent, d.wraps ? 1U : 0U});
  }

  isthmus::runtime::Places all;
  std::vector<isthmus_dimension> dimensions;
};

namespace isthmus::runtime {
namespace {

std::string text_of(const char* file) {
  errno = 0;
  std::string text;
  std::ifstream in(file, std::ios::binary);
  char piece[4096];
  while (in) {
    in.read(piece, sizeof piece);
    text.append(piece, static_cast<std::size_t>(in.gcount()));
  }
  if (!in.eof()) throw TransportError(message(file, ": ", std::string(std::strerror(errno))));
  return text;
}

void require_rank(const isthmus_places* places, std::uint32_t rank) {
  require(places != nullptr, "places is NULL");
  require(rank < places->all.ranks(), "rank ", rank, " does not exist: there are ", places->all.ranks(), " ranks");
}

}  // namespace
}  // namespace isthmus::runtime

using namespace isthmus;
using namespace isthmus::runtime;

extern "C" {

int isthmus_places_read(const char* file, isthmus_places** places) {
  return guarded([&] {
    require(places != nullptr, "places is NULL");
    const char* const name = file != nullptr ? file : std::getenv("ISTHMUS_PLACES");
    require(name != nullptr,
            "ISTHMUS_PLACES is not set: the file of places, which `isthmus map --format places` writes");
    *places = new isthmus_places(text_of(name), name);
    return ISTHMUS_DONE;
  });
}

void isthmus_places_free(isthmus_places* places) { delete places; }

uint32_t isthmus_places_ranks(const isthmus_places* places) { return places->all.ranks(); }

size_t isthmus_dimensions(const isthmus_places* places, const isthmus_dimension** dimensions) {
  *dimensions = places->dimensions.data();
  return places->dimensions.size();
}

int isthmus_place_of(const isthmus_places* places, uint32_t rank, isthmus_place* place) {
  return guarded([&] {
    require_rank(places, rank);
    require(place != nullptr, "place is NULL");
    *place = {places->all.node(rank), places->all.core(rank), places->all.coordinates(rank).data()};
    return ISTHMUS_DONE;
  });
}

int isthmus_ranks_at(const isthmus_places* places, const uint32_t* coordinates, const uint32_t** ranks, size_t* count) {
  return guarded([&] {
    require(places != nullptr && ranks != nullptr && count != nullptr, "places, ranks or count is NULL");
    require(coordinates != nullptr || places->dimensions.empty(), "coordinates is NULL");
    const auto found = places->all.at({coordinates, places->dimensions.size()});
    *ranks = found.data();
    *count = found.size();
    return ISTHMUS_DONE;
  });
}

int isthmus_hops(const isthmus_places* places, uint32_t from, uint32_t to, uint32_t* hops) {
  return guarded([&] {
    require_rank(places, from);
    require_rank(places, to);
    require(hops != nullptr, "hops is NULL");
    *hops = places->all.hops(from, to);
    return ISTHMUS_DONE;
  });
}

int isthmus_reorder(const isthmus_places* places, const uint32_t* members, uint32_t size, uint32_t tasks,
                    const isthmus_exchange* exchanges, size_t count, double seconds, uint32_t* order,
                    double hop_bytes[2]) {
  return guarded([&] {
    require(places != nullptr && order != nullptr, "places or order is NULL");
    require(exchanges != nullptr || count == 0, "exchanges is NULL");
    std::vector<std::uint32_t> all;
    if (members == nullptr) {
      all.resize(size);
      std::iota(all.begin(), all.end(), 0U);
      members = all.data();
    }
    Exchanges what;
    what.ranks = tasks;
    for (size_t i = 0; i < count; ++i) {
      what.from.push_back(exchanges[i].from);
      what.to.push_back(exchanges[i].to);
      what.bytes.push_back(exchanges[i].bytes);
    }
    const Order found = reorder(places->all, {members, size}, what, seconds);
    std::copy(found.rank.begin(), found.rank.end(), order);
    if (hop_bytes != nullptr) {
      hop_bytes[0] = found.before;
      hop_bytes[1] = found.after;
    }
    return ISTHMUS_DONE;
  });
}

}  // extern "C"
