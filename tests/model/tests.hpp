// What the parts of the program share.
#pragma once

#include <string>

namespace isthmus::model {

/// A line of output.
void say(const std::string& words);
/// Programs of which more or less came out than is known.
int classics_wrong();

}  // namespace isthmus::model
