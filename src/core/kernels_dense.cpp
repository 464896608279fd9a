// The kernels for dense points. CMakeLists.txt compiles this file once for each instruction set, with its flags and
// macros. Everything included here has internal linkage, so the copies do not mix.
#include "bounds.hpp"
#include "greedy_seeding.hpp"
#include "neighbourhood.hpp"
#include "pass.hpp"
#include "solver_steps.hpp"
#include "sweep.hpp"

namespace eulermeans::EULERMEANS_SET {

extern const DenseKernels dense_kernels;
const DenseKernels dense_kernels = {
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
    .seed_greedily = seed_greedily,
};

}  // namespace eulermeans::EULERMEANS_SET
