// The tables of kernels that were compiled.
#pragma once

#include <vector>

#include "kernels.hpp"

namespace eulermeans {

std::vector<const Kernels *> supported_kernels();  // by this machine, the best last

}  // namespace eulermeans
