// What the kernels take and give, as raw pointers. Nothing here knows Python, and no kernel owns memory
// that outlives its call.
#pragma once

#include <cstdint>

namespace eulermeans {

// Rows are added up in blocks of this many, so calls over consecutive ranges of rows that each begin at a multiple
// of it give the same bits as one call over them all.
constexpr std::int64_t block_rows = 240;

// How a point's coordinates are stored. Arithmetic is in float, and in double where the storage is float64.
enum class Storage { float32, float64, float16, uint8, int8 };

struct Points {
  const void *data;     // (n, n_features) in row-major order, IN
  Storage storage;
  std::int64_t n_rows;  // how many rows this call reads
  std::int64_t n_features;
  const std::int64_t *rows;  // (n_rows,) which ones, IN; null means the first n_rows
  const double *weights;     // weight of each row of data, IN; null means one each
};

// Points of which only some values are stored, all others being zero. Each row's indices are below n_features, in
// order, and none is there twice.
struct CsrPoints {
  const void *values;         // (n_stored,) float or double, as the kernel's name says, IN
  const void *indices;        // (n_stored,) the feature of each, IN
  bool wide_indices;          // they are int64, not int32
  const std::int64_t *starts;  // (n_stored_rows + 1,) where each row begins among the values, IN
  std::int64_t n_stored_rows;
  std::int64_t n_rows;  // how many of them this call reads
  std::int64_t n_features;
  const std::int64_t *rows;  // (n_rows,) which ones, IN; null means the first n_rows
  const double *weights;     // (n_stored_rows,), IN; null means one each
};

template <class T>
struct Centers {
  const T *data;  // (n_clusters, n_features), IN
  std::int64_t n_clusters;
};

// What one pass over the points adds up. Every pointer but the first three may be null.
struct Totals {
  double *counts;     // (n_clusters,), INOUT: weight nearest to each center
  double *sums;       // (n_clusters, n_features), INOUT: weighted sum of those points
  double *cost;       // (1,), INOUT: weighted sum of squared distances
  double *errors;     // (n_clusters,), INOUT: the cost of each center's points
  double *utilities;  // (n_clusters,), INOUT: what the cost would grow by without the center
};

// What one pass says of each row. Every pointer may be null.
struct PerRow {
  std::int32_t *labels;  // (n_rows,), OUT
  double *nearest;            // (n_rows,), OUT: squared distance to the nearest center
  double *second;             // (n_rows,), OUT: squared distance to the second nearest; infinity if there is one center
};

// What is known of each row's distances, and how far centers have moved; bounds.hpp says how the two go together.
struct Bounds {
  std::int32_t *labels;        // (n_rows,), INOUT
  float *upper;                // (n_rows,), INOUT
  float *lower;                // (n_rows, n_groups), INOUT
  std::int64_t n_groups;       // 1, or groups of centers that together hold each once
  const float *moved;          // (n_clusters,) in all so far, IN
  const float *group_moved;    // (n_groups,) in all so far, the farthest of the group's each time, IN
  const float *half_gap;       // (n_clusters,) half the distance to the nearest other center, IN
  const std::int32_t *group_of;     // (n_clusters,), IN
  const std::int32_t *members;      // (n_clusters,) the centers, group after group, IN
  const std::int32_t *group_start;  // (n_groups + 1,) where each group begins among them, IN
};

// A run of stochastic backward Euler steps; limit caps step * count / batch_size for each center.
struct ImplicitSteps {
  std::int64_t n_outer, n_inner, batch_size;
  double step_size, decay, averaging, limit;
};

// Points near the border of their clusters, IN.
struct Contest {
  Points points;               // without weights
  const double *weights;       // (n_rows,)
  const std::int32_t *labels;  // (n_rows,)
  std::int64_t n_clusters;
};

// The kernels compiled for one instruction set.
struct Kernels {
  const char *name;
  void (*pass_f32)(const Points &, const Centers<float> &, const Totals &, const PerRow &, int n_threads);
  void (*pass_f64)(const Points &, const Centers<double> &, const Totals &, const PerRow &, int n_threads);
  std::int64_t (*refine_f32)(const Points &, const Centers<float> &, const Bounds &, const Totals &, int n_threads);
  std::int64_t (*refine_f64)(const Points &, const Centers<double> &, const Bounds &, const Totals &, int n_threads);
  void (*implicit_steps_f32)(const Points &, const ImplicitSteps &, std::int64_t n_clusters, double *centers,
                             int n_threads);
  void (*implicit_steps_f64)(const Points &, const ImplicitSteps &, std::int64_t n_clusters, double *centers,
                             int n_threads);
  std::int64_t (*transfer)(const Contest &, double *counts, double *sums, const double *centers);
  void (*distances_f32)(const Points &, const Centers<float> &, float *out, int n_threads);
  void (*distances_f64)(const Points &, const Centers<double> &, double *out, int n_threads);
  void (*csr_pass_f32)(const CsrPoints &, const Centers<float> &, const Totals &, const PerRow &, int n_threads);
  void (*csr_pass_f64)(const CsrPoints &, const Centers<double> &, const Totals &, const PerRow &, int n_threads);
  void (*csr_distances_f32)(const CsrPoints &, const Centers<float> &, float *out, int n_threads);
  void (*csr_distances_f64)(const CsrPoints &, const Centers<double> &, double *out, int n_threads);
};

}  // namespace eulermeans
