// The decision tables of a team: rank 0 reads them, so that all ranks decide alike whatever their files and variables
// say.
#pragma once

#include <isthmus/isthmus.h>

namespace isthmus::runtime {

/// All ranks call it; only the path of rank 0 counts: null and empty stand for the table of the library. Returns a
/// status, whose words are set where it is below 0 and comes from a call; throws TableError on all ranks.
int use_table(isthmus_team& team, const char* path);

/// The same for decisions of runs: null and empty stand for none, and a file that is not there yet is one without
/// decisions.
int use_online(isthmus_team& team, const char* path);

}  // namespace isthmus::runtime
