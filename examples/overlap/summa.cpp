// Matrix multiplication by SUMMA (van de Geijn, Watts, 1997): ranks are a grid, each has a block of A, B and C. For
// every panel, a column of A's blocks goes along the rows of the grid and a row of B's along its columns, and their
// product is added to C. While a panel is multiplied, the next ones are under way.
//
// One-sided, each rank gets the panels that it needs from whoever has them, ahead of time. Check: A (B v) = C v.
#include <cblas.h>

#include "scalapack.hpp"

namespace {

using isthmus::pgas::check;
using overlap::kind;
using overlap::way;

struct grid {
  explicit grid(const overlap::program& all) {
    int dims[2] = {0, 0}, wrap[2] = {0, 0}, place[2], keep_column[2] = {1, 0}, keep_row[2] = {0, 1};
    MPI_Dims_create(all.ranks(), 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, wrap, 0, &comm);
    MPI_Cart_coords(comm, all.rank(), 2, place);
    MPI_Cart_sub(comm, keep_column, &column);
    MPI_Cart_sub(comm, keep_row, &row);
    rows = static_cast<std::size_t>(dims[0]);
    columns = static_cast<std::size_t>(dims[1]);
    y = static_cast<std::size_t>(place[0]);
    x = static_cast<std::size_t>(place[1]);
  }
  MPI_Comm comm, row, column;
  std::size_t rows, columns, y, x;
};

/// C = A B with n x n numbers; panels of `width` columns of A and rows of B, each of which one rank of a row has.
class product {
 public:
  product(overlap::program& all, const way& of, const grid& on, std::size_t n, std::size_t width)
      : of_(of),
        on_(on),
        width_(width),
        high_(n / on.rows),
        wide_(n / on.columns),
        panels_(n / width),
        loop_(all.pipeline(of, panels_, static_cast<double>(width * (high_ + wide_) * sizeof(double)), 2, on.comm)),
        row_team_(of.how == kind::one_sided ? nullptr : all.team(of, on.row)),
        column_team_(of.how == kind::one_sided ? nullptr : all.team(of, on.column)),
        c_(high_ * wide_),
        left_(panels_ * width * high_),
        right_(panels_ * width * wide_) {
    // A by columns and B by rows, so that panels lie in one piece; C by columns.
    a_.resize(high_ * wide_);
    b_.resize(high_ * wide_);
    v_.resize(n);
    for (std::size_t j = 0; j < wide_; ++j)
      for (std::size_t i = 0; i < high_; ++i) {
        a_[j * high_ + i] = overlap::made_up(on.y * high_ + i, on.x * wide_ + j, 1);
        b_[i * wide_ + j] = overlap::made_up(on.y * high_ + i, on.x * wide_ + j, 2);
      }
    for (std::size_t i = 0; i < n; ++i) v_[i] = overlap::made_up(i, 0, 3);
    if (of.how == kind::scalapack) {
      // A block of each rank, all of them by columns.
      peer_ = std::make_unique<overlap::scalapack>(on.comm, on.rows, on.columns);
      whole_ = peer_->of(n, high_, wide_, high_);
      for (std::size_t j = 0; j < wide_; ++j)
        for (std::size_t i = 0; i < high_; ++i) left_[j * high_ + i] = b_[i * wide_ + j];
    }
    if (of.how != kind::one_sided) return;
    space_ = all.space(of, on.comm);
    check(isthmus_allocate_all(space_, 2 * high_ * wide_ * sizeof(double), &memory_));
    auto* const own = static_cast<double*>(isthmus_cast(space_, isthmus_rank(isthmus_space_team(space_)), memory_));
    std::copy(a_.begin(), a_.end(), own);
    std::copy(b_.begin(), b_.end(), own + a_.size());
    check(isthmus_barrier(space_, nullptr));
  }

  void run() {
    if (peer_ != nullptr) return overlap::scalapack::multiply(a_.data(), left_.data(), c_.data(), whole_);
    std::fill(c_.begin(), c_.end(), 0);
    loop_.run([](const isthmus::tile&) {}, [&](const isthmus::tile& t) { return start(t); },
              [&](const isthmus::tile& t) {
                const int m = static_cast<int>(high_), w = static_cast<int>(wide_),
                          k = static_cast<int>(t.count * width_);
                // Both panels of a tile lie as its columns and rows do.
                cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, m, w, k, 1, &left_[t.first * width_ * high_], m,
                            &right_[t.first * width_ * wide_], w, 1, c_.data(), m);
              });
  }

  /// C v beside A (B v).
  [[nodiscard]] double error() const {
    const std::vector<double> bv = times(b_, false, v_), abv = times(a_, true, bv), cv = times(c_, true, v_);
    double most = 0;
    for (std::size_t i = 0; i < cv.size(); ++i) most = overlap::worse(most, std::abs(cv[i] - abv[i]));
    return most;
  }
  [[nodiscard]] std::string says() const { return peer_ == nullptr ? overlap::tiling_of(loop_) : ""; }

 private:
  /// Begins to bring the panels of a tile to their places.
  overlap::request start(const isthmus::tile& t) {
    overlap::request out;
    if (space_ != nullptr) check(isthmus_open_region(space_));
    for (std::size_t i = t.first; i < t.first + t.count; ++i) {
      const std::size_t k = i * width_, x = k / wide_, y = k / high_;  // of those who have it
      const std::size_t from = k % wide_ * high_, other = k % high_ * wide_;
      double *const left = &left_[k * high_], *const right = &right_[k * wide_];
      if (space_ != nullptr) {
        get(on_.y * on_.columns + x, from, left, width_ * high_);
        get(y * on_.columns + on_.x, high_ * wide_ + other, right, width_ * wide_);
        continue;
      }
      if (x == on_.x) std::copy_n(&a_[from], width_ * high_, left);
      if (y == on_.y) std::copy_n(&b_[other], width_ * wide_, right);
      out.add(overlap::broadcast(of_, on_.row, row_team_, x, left, width_ * high_));
      out.add(overlap::broadcast(of_, on_.column, column_team_, y, right, width_ * wide_));
    }
    if (space_ == nullptr) return out;
    isthmus_event event = 0;
    check(isthmus_close_region(space_, &event));
    return overlap::transfer(space_, event);
  }
  void get(std::size_t rank, std::size_t at, double* to, std::size_t count) {
    check(isthmus_begin_get(space_, to, static_cast<std::uint32_t>(rank), memory_ + at * sizeof(double),
                            count * sizeof(double), nullptr));
  }

  /// A block of every rank, by columns or by rows, times a vector that all have.
  [[nodiscard]] std::vector<double> times(const std::vector<double>& block, bool by_columns,
                                          const std::vector<double>& vector) const {
    std::vector<double> out(vector.size(), 0);
    for (std::size_t i = 0; i < high_; ++i)
      for (std::size_t j = 0; j < wide_; ++j)
        out[on_.y * high_ + i] += block[by_columns ? j * high_ + i : i * wide_ + j] * vector[on_.x * wide_ + j];
    MPI_Allreduce(MPI_IN_PLACE, out.data(), static_cast<int>(out.size()), MPI_DOUBLE, MPI_SUM, on_.comm);
    return out;
  }

  way of_;
  const grid& on_;
  std::size_t width_, high_, wide_, panels_;
  isthmus::pipeline loop_;
  isthmus_team *row_team_, *column_team_;
  isthmus_space* space_ = nullptr;
  std::uint64_t memory_ = 0;
  std::vector<double> a_, b_, c_, v_, left_, right_;
  std::unique_ptr<overlap::scalapack> peer_;
  overlap::scalapack::matrix whole_{};
};

}  // namespace

int main(int argc, char** argv) {
  overlap::program all(argc, argv, "summa", {{"points", 384, 1}, {"panel", 16, 1}}, "none,blocking,mpi,ours,one-sided",
                       overlap::has_scalapack);
  const auto n = static_cast<std::size_t>(all.number("points")), width = static_cast<std::size_t>(all.number("panel"));
  openblas_set_num_threads(1);
  const grid on(all);
  if (n % (on.rows * width) != 0 || n % (on.columns * width) != 0)
    overlap::refuse("summa: --points must be a multiple of --panel times both extents of the grid of ranks");
  return all.take_turns(
      [&](const way& of) {
        const auto here = std::make_shared<product>(all, of, on, n, width);
        return overlap::program::work{[here] { here->run(); }, [here] { return here->error(); },
                                      [here] { return here->says(); }};
      },
      1e-9);
}
