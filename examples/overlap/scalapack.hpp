// ScaLAPACK beside the programs of this folder, where it is installed (HAVE_SCALAPACK): a grid of ranks, and matrices
// in blocks that are dealt out to it.
#pragma once

#include <array>

#include "overlap.hpp"

namespace overlap {

#ifdef HAVE_SCALAPACK
inline constexpr bool has_scalapack = true;
extern "C" {
int Csys2blacs_handle(MPI_Comm comm);
void Cfree_blacs_system_handle(int handle);
void Cblacs_gridinit(int* context, const char* order, int rows, int columns);
void Cblacs_gridexit(int context);
void descinit_(int* descriptor, const int* m, const int* n, const int* mb, const int* nb, const int* row,
               const int* column, const int* context, const int* leading, int* info);
void pdgemm_(const char*, const char*, const int* m, const int* n, const int* k, const double* alpha, const double* a,
             const int*, const int*, const int* of_a, const double* b, const int*, const int*, const int* of_b,
             const double* beta, double* c, const int*, const int*, const int* of_c);
void pdpotrf_(const char*, const int* n, double* a, const int*, const int*, const int* of_a, int* info);
}

/// Ranks of a communicator row by row.
class scalapack {
 public:
  using matrix = std::array<int, 9>;

  scalapack(MPI_Comm comm, std::size_t rows, std::size_t columns)
      : handle_(Csys2blacs_handle(comm)), context_(handle_) {
    Cblacs_gridinit(&context_, "Row", static_cast<int>(rows), static_cast<int>(columns));
  }
  scalapack(const scalapack&) = delete;
  scalapack& operator=(const scalapack&) = delete;
  ~scalapack() {
    Cblacs_gridexit(context_);
    Cfree_blacs_system_handle(handle_);
  }

  /// n x n numbers in blocks, of which a rank has columns of `leading` numbers.
  [[nodiscard]] matrix of(std::size_t n, std::size_t high, std::size_t wide, std::size_t leading) const {
    matrix out{};
    const int size = static_cast<int>(n), mb = static_cast<int>(high), nb = static_cast<int>(wide), zero = 0,
              between = static_cast<int>(leading);
    int info = 0;
    descinit_(out.data(), &size, &size, &mb, &nb, &zero, &zero, &context_, &between, &info);
    if (info != 0) refuse("descinit: " + std::to_string(info));
    return out;
  }

  /// c = a b.
  static void multiply(const double* a, const double* b, double* c, const matrix& all) {
    const int n = all[2], one = 1;
    const double whole = 1, nothing = 0;
    pdgemm_("N", "N", &n, &n, &n, &whole, a, &one, &one, all.data(), b, &one, &one, all.data(), &nothing, c, &one, &one,
            all.data());
  }
  /// The lower triangle of a becomes its factor.
  static void factor(double* a, const matrix& all) {
    const int n = all[2], one = 1;
    int info = 0;
    pdpotrf_("L", &n, a, &one, &one, all.data(), &info);
    if (info != 0) refuse("pdpotrf: " + std::to_string(info));
  }

 private:
  int handle_, context_;
};
#else
inline constexpr bool has_scalapack = false;
/// Not installed: the way is refused before one is made.
class scalapack {
 public:
  using matrix = int;
  scalapack(MPI_Comm, std::size_t, std::size_t) {}
  [[nodiscard]] static matrix of(std::size_t, std::size_t, std::size_t, std::size_t) { return 0; }
  static void multiply(const double*, const double*, double*, matrix) {}
  static void factor(double*, matrix) {}
};
#endif

}  // namespace overlap
