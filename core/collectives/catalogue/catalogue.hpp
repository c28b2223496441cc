// The parts of the catalogue, one a kind of collective.
#pragma once

#include <vector>

#include "collectives/registry.hpp"

namespace isthmus::collectives {

std::vector<CatalogueEntry> allreduces();
std::vector<CatalogueEntry> allgathers();
std::vector<CatalogueEntry> alltoalls();
std::vector<CatalogueEntry> reduce_scatters();
std::vector<CatalogueEntry> scans();
std::vector<CatalogueEntry> exscans();
std::vector<CatalogueEntry> neighbor_alltoalls();

}  // namespace isthmus::collectives
