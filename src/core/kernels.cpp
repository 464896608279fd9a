// The table of kernels for one instruction set. CMakeLists.txt compiles this file once for each set, with its flags and
// macros. Everything included here has internal linkage, so the copies do not mix.
#include "bounds.hpp"
#include "csr_pass.hpp"
#include "csr_sweep.hpp"
#include "neighbourhood.hpp"
#include "pass.hpp"
#include "solver_steps.hpp"
#include "sweep.hpp"

namespace eulermeans {

extern const Kernels EULERMEANS_TABLE;
const Kernels EULERMEANS_TABLE = {
    .name = EULERMEANS_ISA,
    .pass = pass,
    .assign = assign,
    .distances = distances,
    .refine = refine,
    .implicit_steps = implicit_steps,
    .neighbours = neighbours,
    .reassign = reassign,
    .shortlist = shortlist,
    .compare_listed = compare_listed,
    .sum_clusters = sum_clusters,
    .transfer_nearby = transfer_nearby,
    .sweep = sweep,
    .try_moves = try_moves,
    .csr_sweep = csr_sweep,
    .csr_pass = csr_pass,
    .csr_assign = csr_assign,
    .csr_distances = csr_distances,
};

}  // namespace eulermeans
