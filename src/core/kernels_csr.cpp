// The kernels for sparse points, compiled once for each instruction set; see kernels_dense.cpp.
#include "csr_pass.hpp"
#include "csr_sweep.hpp"

namespace eulermeans::EULERMEANS_SET {

extern const CsrKernels csr_kernels;
const CsrKernels csr_kernels = {
    .csr_sweep = csr_sweep,
    .csr_pass = csr_pass,
    .csr_assign = csr_assign,
    .csr_distances = csr_distances,
};

}  // namespace eulermeans::EULERMEANS_SET
