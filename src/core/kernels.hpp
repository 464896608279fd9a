// The interface between the bindings and the kernels: plain structs of pointers and sizes. Nothing here knows Python,
// and no kernel keeps memory after its call.
#pragma once

#include <cstdint>

namespace eulermeans {

// Rows are summed in blocks of this many. Calls over consecutive ranges of rows that start at multiples of it give
// the same bits as one call over all rows.
constexpr std::int64_t block_rows = 240;

// How coordinates are stored. Arithmetic is in double for float64 and in float for all others.
enum class Storage { float32, float64, float16, uint8, int8 };

struct Points {
  const void *data;  // (n, n_features) in row-major order, IN
  Storage storage;
  std::int64_t n_rows;  // number of rows this call reads
  std::int64_t n_features;
  const std::int64_t *rows;  // (n_rows,) indices of the rows to read, IN; null: the first n_rows
  const double *weights;     // (n,) weight of each row of data, IN; null: all 1
};

// Sparse points in CSR format. The indices of each row are below n_features, increasing and distinct.
struct CsrPoints {
  const void *values;          // (n_stored,) float or double, IN
  bool wide_values;            // values are double
  const void *indices;         // (n_stored,) feature of each value, IN
  bool wide_indices;           // indices are int64, otherwise int32
  const std::int64_t *starts;  // (n_stored_rows + 1,) position of each row's first value, IN
  std::int64_t n_stored_rows;
  std::int64_t n_rows;  // number of rows this call reads
  std::int64_t n_features;
  const std::int64_t *rows;  // (n_rows,) indices of the rows to read, IN; null: the first n_rows
  const double *weights;     // (n_stored_rows,), IN; null: all 1
};

// Centers<void> are float or double, whichever the arithmetic on the points needs. With prices, a pass gives every point
// to the center with the least squared distance plus price, and such sums take the place of squared distances.
template <class T>
struct Centers {
  const T *operator[](std::int64_t j) const { return data + j * n_features; }
  double price(std::int64_t j) const { return prices == nullptr ? 0 : prices[j]; }

  template <class U>
  Centers<U> as() const {
    return {static_cast<const U *>(data), n_clusters, n_features, prices};
  }

  const T *data;  // (n_clusters, n_features), IN
  std::int64_t n_clusters, n_features;
  const double *prices = nullptr;  // (n_clusters,) finite, IN; null: all 0
};

// Sums over all points of a pass. errors, utilities and n_tied may be null.
struct Totals {
  double *counts;     // (n_clusters,), INOUT: total weight of each cluster
  double *sums;       // (n_clusters, n_features), INOUT: weighted sum of each cluster's points
  double *cost;       // (1,), INOUT: weighted sum of squared distances
  double *errors;     // (n_clusters,), INOUT: each cluster's part of the cost
  double *utilities;  // (n_clusters,), INOUT: how much the cost would grow without the center
  double *n_tied;     // (1,), INOUT: how many rows have several nearest centers
};

// Results of a pass for each row. Every pointer may be null.
struct PerRow {
  std::int32_t *labels;  // (n_rows,), OUT
  double *nearest;       // (n_rows,), OUT: squared distance to the nearest center
  double *second;        // (n_rows,), OUT: squared distance to the second nearest; infinity with one center
};

// Bounds on each row's distances, and how far the centers have moved; see bounds.hpp.
struct Bounds {
  std::int32_t *labels;      // (n_rows,), INOUT
  float *upper;              // (n_rows,), INOUT
  float *lower;              // (n_rows, n_lower), INOUT
  std::int64_t n_lower;      // 1: one bound for all other centers; n_clusters: one for each center
  const float *moved;        // (n_clusters,) how far each center has moved in all, IN
  const float *lower_moved;  // (n_lower,) the same for the centers behind each lower bound, IN
  const float *half_gap;     // (n_clusters,) half the distance to the nearest other center, IN
};

// A run of stochastic backward Euler steps. limit caps step * count / batch_size for each center.
struct ImplicitSteps {
  std::int64_t n_outer, n_inner, batch_size;
  double step_size, decay, averaging, limit;
};

// Which rows belong to each cluster, and which centers are near its center.
struct Clusters {
  const std::int64_t *members;     // (n_rows,) the rows, cluster after cluster, IN
  const std::int64_t *starts;      // (n_clusters + 1,) where each cluster's rows begin, IN
  const std::int32_t *neighbours;  // (n_clusters, n_neighbours) the nearest other centers, the nearest first, IN
  std::int64_t n_neighbours;
};
constexpr std::int64_t most_neighbours = 255;

// The centers near each point.
struct Lists {
  const std::int32_t *ids;    // (n, length), IN
  const std::int64_t *order;  // (n_rows,) which list belongs to each of the rows read, IN
  std::int64_t length;
};

// A sweep over points and their lists. Points are indexed by their position, which is also that of their list.
struct Sweep {
  const std::int64_t *order;  // (n_rows,) the position of each of the rows read, in the order of the sweep, IN
  const std::int32_t *lists;  // (n_positions, length) the centers near each point, IN
  std::int64_t length;
  std::int32_t *labels;  // (n_positions,), INOUT
  double *counts;        // (n_clusters,), INOUT
  void *means;           // (n_clusters, n_features) float or double, whichever the arithmetic needs, INOUT
  double *nearest;       // (n_positions,) squared distance to the mean of the point's cluster when it was compared, OUT
  double *second;        // (n_positions,) the least cost of joining another cluster of the list, OUT
  double temperature;    // 0: every point goes where it costs least
  std::uint64_t seed;    // of the random numbers that a temperature needs
};

// Sweeps over sparse points, among all clusters.
struct CsrSweep {
  const std::int64_t *order;  // (n_rows,) the rows in the order of the sweep, IN
  std::int32_t *labels;       // (n_rows,), INOUT
  double *counts;             // (n_clusters,), INOUT
  double *sums;               // (n_clusters, n_features), INOUT
  double *errors;             // (n_clusters,) cost of each cluster, OUT
  double *extra;              // (n_rows,) how much dearer another cluster is than the own, when compared, OUT
};

// The clusters that a call works on.
struct Chosen {
  const std::int32_t *ids;  // (n,), IN
  std::int64_t n;
};

// A center is removed, or one is added at a row, or both. -1 stands for none.
struct Move {
  std::int32_t removed, inside;  // inside: the cluster of the row
  std::int64_t added;
};

// How moves are tried: how many centers adapt around each end of one, how many points they may have, and by how many
// steps of Lloyd's algorithm; which part of the way from the center of its cluster to its row a new center starts at;
// whether a trial may end early if it will hardly gain; whether single points are transferred at the end; whether
// centers are unit vectors.
struct MoveOptions {
  std::int64_t n_adapting, largest_adapting, n_steps;
  double part_of_way;
  bool may_give_up, transfers, sphere;
};

// Moves to try. touched and positions may be null.
struct Moves {
  std::int64_t n;
  const std::int32_t *removed, *inside;  // (n,), IN
  const std::int64_t *added;             // (n,), IN
  double *gains;                         // (n,) how much lower the cost of the points nearby becomes, OUT
  std::int32_t *touched;                 // (n, most_touched) the centers that moved, then -1, OUT
  double *positions;                     // (n, most_touched, n_features) where to, OUT
  std::int64_t most_touched;             // at least 2 n_adapting + 2
};

// The nearest center of each row, and its squared distance.
struct Assigned {
  const std::int32_t *labels;  // (n_rows,), IN
  const double *nearest;       // (n_rows,), IN
};

// The random numbers that draw candidates for new centers.
struct Draws {
  const double *numbers;  // (n_new, n_candidates) from 0 up to 1, IN
  std::int64_t n_new, n_candidates;
};

// The kernels for dense points, compiled for one instruction set (kernels_dense.cpp).
struct DenseKernels {
  // The passes and `assign` return the largest squared distance of a row to its nearest center: infinity if a
  // coordinate of a row is NaN or infinite.
  double (*pass)(const Points &, const Centers<void> &, const Totals &, const PerRow &, int n_threads);
  double (*assign)(const Points &, const Centers<void> &, const PerRow &, int n_threads);
  void (*distances)(const Points &, const Centers<void> &, void *out, int n_threads);
  std::int64_t (*refine)(const Points &, const Centers<void> &, const Bounds &, const Totals &, int n_threads);
  void (*implicit_steps)(const Points &, const ImplicitSteps &, std::int64_t n_clusters, double *centers,
                         int n_threads);
  void (*neighbours)(const double *centers, std::int64_t k, std::int64_t d, std::int64_t m, std::int32_t *out,
                     int n_threads);
  void (*reassign)(const Points &, const Centers<void> &, const Clusters &, const Chosen &, const PerRow &,
                   int n_threads);
  void (*shortlist)(const Points &, const Centers<void> &, std::int64_t m, std::int32_t *lists, int n_threads);
  void (*compare_listed)(const Points &, const Centers<void> &, const Lists &, const PerRow &, int n_threads);
  void (*sum_clusters)(const Points &, const Clusters &, const Chosen &, double *counts, double *sums, int n_threads);
  void (*transfer_nearby)(const Points &, const double *weights, std::int32_t *labels, const Clusters &, double *counts,
                          double *sums, double *means);
  std::int64_t (*sweep)(const Points &, const Sweep &, int n_threads);
  std::int64_t (*try_moves)(const Points &, const Centers<double> &, const double *errors, const Clusters &,
                            const MoveOptions &, const Moves &, int n_threads);
  void (*seed_greedily)(const Points &, const Centers<void> &, const Assigned &, const Draws &, std::int64_t *chosen,
                        int n_threads);
};

// The kernels for sparse points, compiled for one instruction set (kernels_csr.cpp).
struct CsrKernels {
  std::int64_t (*csr_sweep)(const CsrPoints &, const CsrSweep &, std::int64_t n_clusters, std::int64_t n_sweeps,
                            std::int64_t few, int n_threads);
  double (*csr_pass)(const CsrPoints &, const Centers<void> &, const Totals &, const PerRow &, int n_threads);
  double (*csr_assign)(const CsrPoints &, const Centers<void> &, const PerRow &, int n_threads);
  void (*csr_distances)(const CsrPoints &, const Centers<void> &, void *out, int n_threads);
};

// All kernels of one instruction set (kernel_tables.cpp).
struct Kernels : DenseKernels, CsrKernels {
  const char *name;
};

}  // namespace eulermeans
