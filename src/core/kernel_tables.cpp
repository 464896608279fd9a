// The tables of kernels, one for each instruction set that was compiled. This file is compiled without the flags of any
// set, because its code runs on every processor.
#include "kernel_tables.hpp"

#include "processor.hpp"

namespace eulermeans {

// The parts of a table; kernels_dense.cpp and kernels_csr.cpp define them.
#define EULERMEANS_PARTS_OF(set)           \
  namespace set {                          \
  extern const DenseKernels dense_kernels; \
  extern const CsrKernels csr_kernels;     \
  }
EULERMEANS_PARTS_OF(baseline)
EULERMEANS_PARTS_OF(avx2)
EULERMEANS_PARTS_OF(avx512)

std::vector<const Kernels *> supported_kernels() {
  std::vector<const Kernels *> all;
#if defined(EULERMEANS_HAS_BASELINE)
  static const Kernels of_baseline = {baseline::dense_kernels, baseline::csr_kernels, "baseline"};
  all.push_back(&of_baseline);
#endif
#if defined(EULERMEANS_HAS_AVX2)
  static const Kernels of_avx2 = {avx2::dense_kernels, avx2::csr_kernels, "avx2"};
  if (has_avx2()) all.push_back(&of_avx2);
#endif
#if defined(EULERMEANS_HAS_AVX512)
  static const Kernels of_avx512 = {avx512::dense_kernels, avx512::csr_kernels, "avx512"};
  if (has_avx512()) all.push_back(&of_avx512);
#endif
  return all;
}

}  // namespace eulermeans
