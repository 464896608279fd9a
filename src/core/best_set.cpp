// A program that names the best instruction set of this machine. CMakeLists.txt runs it for EULERMEANS_SETS=native.
#include <cstdio>

#include "processor.hpp"

int main() { std::puts(eulermeans::has_avx512() ? "avx512" : eulermeans::has_avx2() ? "avx2" : "baseline"); }
