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

// The kernels compiled for one instruction set.
struct Kernels {
  const char *name;
  void (*pass_f32)(const Points &, const Centers<float> &, const Totals &, const PerRow &, int n_threads);
  void (*pass_f64)(const Points &, const Centers<double> &, const Totals &, const PerRow &, int n_threads);
  void (*distances_f32)(const Points &, const Centers<float> &, float *out, int n_threads);
  void (*distances_f64)(const Points &, const Centers<double> &, double *out, int n_threads);
};

}  // namespace eulermeans
