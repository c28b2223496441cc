// Cholesky's factorisation of a symmetric positive definite matrix in columns of tiles, dealt out to ranks in turn. Who
// has a column of tiles factors it and sends it to all, and all subtract its products from the columns that they have
// behind it. The next column is updated and factored first, and is on its way while the others are updated.
//
// One-sided, the panel is put into memory of all other ranks. Check: L (L' v) = A v.
#include <cblas.h>

#include "scalapack.hpp"

// Of LAPACK: OpenBLAS has it too, but not always a header for C.
extern "C" void dpotrf_(const char*, const int*, double*, const int*, int*);

namespace {

using isthmus::pgas::check;
using overlap::kind;
using overlap::way;

class factorisation {
 public:
  factorisation(overlap::program& all, const way& of, std::size_t n, std::size_t width)
      : of_(of),
        team_(all.team(of, MPI_COMM_WORLD)),
        n_(n),
        width_(width),
        columns_(n / width),
        rank_(static_cast<std::size_t>(all.rank())),
        ranks_(static_cast<std::size_t>(all.ranks())),
        mine_(n * width * ((columns_ + ranks_ - 1) / ranks_)),
        room_{std::vector<double>(n * width), std::vector<double>(n * width)} {
    if (of.how == kind::scalapack) {
      peer_ = std::make_unique<overlap::scalapack>(MPI_COMM_WORLD, 1, ranks_);
      whole_ = peer_->of(n, width, width, n);
    }
    if (of.how != kind::one_sided) return;
    // Every panel has a place and a signal of its own.
    space_ = all.space(of, MPI_COMM_WORLD);
    check(isthmus_allocate_all(space_, n * n * sizeof(double), &memory_));
    check(isthmus_allocate_all(space_, columns_ * sizeof(std::uint64_t), &signals_));
    std::memset(here(signals_), 0, columns_ * sizeof(std::uint64_t));
    check(isthmus_barrier(space_, nullptr));
  }

  void run() {
    for (std::size_t j = 0; j < n_; ++j)
      for (std::size_t i = j; i < n_ && owner(j / width_) == rank_; ++i) column(j)[i] = element(i, j);
    if (peer_ != nullptr) return overlap::scalapack::factor(mine_.data(), whole_);
    if (space_ != nullptr) check(isthmus_barrier(space_, nullptr));
    overlap::request under_way = send(0);
    for (std::size_t k = 0; k < columns_; ++k) {
      under_way.wait();
      const double* const panel = panel_of(k);
      // The next one first: it is on its way while the others are updated. Blocking, all wait for it at its turn.
      const bool ahead = of_.how != kind::blocking;
      if (k + 1 < columns_) {
        if (owner(k + 1) == rank_) update(k + 1, k, panel);
        if (ahead) under_way = send(k + 1);
      }
      const std::size_t left = columns_ - std::min(columns_, k + 2);
      for (std::size_t j = k + 2, done = 0, next = 1; j < columns_; ++j) {
        if (owner(j) == rank_) update(j, k, panel);
        if (of_.tests > 0 && ++done * (of_.tests + 1) >= next * left) {
          under_way.test();
          ++next;
        }
      }
      if (k + 1 < columns_ && !ahead) under_way = send(k + 1);
    }
  }

  /// L (L' v) beside A v.
  [[nodiscard]] double error() const {
    std::vector<double> right(n_, 0), middle(n_, 0), left(n_, 0);
    for (std::size_t j = 0; j < n_; ++j)
      for (std::size_t i = j; i < n_ && owner(j / width_) == rank_; ++i)
        middle[j] += column(j)[i] * overlap::made_up(i, 0, 3);
    MPI_Allreduce(MPI_IN_PLACE, middle.data(), static_cast<int>(n_), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (std::size_t j = 0; j < n_; ++j)
      for (std::size_t i = j; i < n_ && owner(j / width_) == rank_; ++i) left[i] += column(j)[i] * middle[j];
    MPI_Allreduce(MPI_IN_PLACE, left.data(), static_cast<int>(n_), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    double most = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = 0; j < n_; ++j)
        right[i] += element(std::max(i, j), std::min(i, j)) * overlap::made_up(j, 0, 3);
      most = overlap::worse(most, std::abs(left[i] - right[i]));
    }
    return most;
  }

 private:
  [[nodiscard]] std::size_t owner(std::size_t column) const { return column % ranks_; }
  /// Of the lower triangle of the matrix, whose diagonal is large enough.
  [[nodiscard]] double element(std::size_t i, std::size_t j) const {
    return overlap::made_up(i, j, 1) + (i == j ? static_cast<double>(n_) : 0);
  }
  [[nodiscard]] std::size_t rows(std::size_t k) const { return n_ - k * width_; }
  /// A column of this rank, which has its own one behind the other.
  [[nodiscard]] double* column(std::size_t j) { return &mine_[(j / width_ / ranks_ * width_ + j % width_) * n_]; }
  [[nodiscard]] const double* column(std::size_t j) const { return const_cast<factorisation*>(this)->column(j); }
  [[nodiscard]] double* own_panel(std::size_t k) { return column(k * width_) + k * width_; }

  /// Where a rank finds a panel that has come: rows(k) numbers in each of its columns.
  [[nodiscard]] double* panel_of(std::size_t k) {
    if (space_ != nullptr && owner(k) != rank_) return static_cast<double*>(here(memory_)) + k * width_ * n_;
    return room_[k % 2].data();
  }

  /// Column j of tiles less the products of panel k.
  void update(std::size_t j, std::size_t k, const double* panel) {
    const double* const from = panel + (j - k) * width_;
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, static_cast<int>(rows(j)), static_cast<int>(width_),
                static_cast<int>(width_), -1, from, static_cast<int>(rows(k)), from, static_cast<int>(rows(k)), 1,
                own_panel(j), static_cast<int>(n_));
  }

  /// Factors panel k where it is, and begins to send it.
  overlap::request send(std::size_t k) {
    const std::size_t count = rows(k) * width_;
    if (owner(k) == rank_) {
      const int w = static_cast<int>(width_), n = static_cast<int>(n_);
      double* const panel = own_panel(k);
      int info = 0;
      dpotrf_("L", &w, panel, &n, &info);
      if (info != 0 && of_.how != kind::none) std::fprintf(stderr, "cholesky: the matrix is not positive definite\n");
      if (rows(k) > width_)
        cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, static_cast<int>(rows(k)) - w, w,
                    1, panel, n, panel + width_, n);
      for (std::size_t j = 0; j < width_; ++j) std::copy_n(panel + j * n_, rows(k), &room_[k % 2][j * rows(k)]);
    }
    if (space_ == nullptr) return overlap::broadcast(of_, MPI_COMM_WORLD, team_, owner(k), room_[k % 2].data(), count);
    const std::uint64_t signal = signals_ + k * sizeof(std::uint64_t);
    if (owner(k) != rank_) return overlap::arrival(space_, signal, 1);
    for (std::size_t r = 0; r < ranks_; ++r)
      if (r != rank_)
        check(isthmus_put_signal(space_, static_cast<std::uint32_t>(r), memory_ + k * width_ * n_ * sizeof(double),
                                 room_[k % 2].data(), count * sizeof(double), signal, 1));
    return {};
  }
  [[nodiscard]] void* here(std::uint64_t offset) const { return isthmus_cast(space_, isthmus_rank(team_), offset); }

  way of_;
  isthmus_team* team_;
  std::size_t n_, width_, columns_, rank_, ranks_;
  std::vector<double> mine_, room_[2];
  isthmus_space* space_ = nullptr;
  std::uint64_t memory_ = 0, signals_ = 0;
  std::unique_ptr<overlap::scalapack> peer_;
  overlap::scalapack::matrix whole_{};
};

}  // namespace

int main(int argc, char** argv) {
  overlap::program all(argc, argv, "cholesky", {{"points", 384, 1}, {"panel", 32, 1}},
                       "none,blocking,mpi,ours,one-sided", overlap::has_scalapack);
  const auto n = static_cast<std::size_t>(all.number("points")), width = static_cast<std::size_t>(all.number("panel"));
  openblas_set_num_threads(1);
  if (n % width != 0) overlap::refuse("cholesky: --points must be a multiple of --panel");
  return all.take_turns(
      [&](const way& of) {
        const auto here = std::make_shared<factorisation>(all, of, n, width);
        return overlap::program::work{[here] { here->run(); }, [here] { return here->error(); }};
      },
      1e-9 * static_cast<double>(n));
}
