// A three-dimensional Fourier transform of n x n x n complex numbers, and back, in slabs or in pencils: each rank has
// whole lines of one dimension, transforms them with FFTW, and exchanges them for whole lines of the next. Exchanges
// are pipelined by planes: while some are exchanged, the next ones are transformed, and so are those that have come.
//
// Ranks are a grid; slabs are a grid with rows of one rank, whose first exchange is none. Checks: a plane wave becomes
// one peak, and forth and back again is the identity.
#include <fftw3.h>

#include <complex>
#include <optional>
#include <random>

#include "overlap.hpp"

namespace {

using number = std::complex<double>;
using isthmus::pgas::check;
using overlap::kind;
using overlap::way;

std::size_t n;     // points of a side
std::size_t a, b;  // points of a pencil in x and in y, while its lines are along z
std::size_t c, d;  // in z and in y, while its lines are along x
MPI_Comm row, column;

/// Lines of n numbers one behind the other, in place.
class lines {
 public:
  explicit lines(int sign) : sign_(sign) {}
  lines(const lines&) = delete;
  lines& operator=(const lines&) = delete;
  ~lines() {
    for (const auto& [count, plan] : plans_) fftw_destroy_plan(plan);
  }
  void transform(number* data, std::size_t count) {
    auto* const at = reinterpret_cast<fftw_complex*>(data);
    fftw_plan& plan = plans_[count];
    const int length = static_cast<int>(n);
    if (plan == nullptr)
      plan = fftw_plan_many_dft(1, &length, static_cast<int>(count), at, nullptr, 1, length, at, nullptr, 1, length,
                                sign_, FFTW_ESTIMATE | FFTW_UNALIGNED);
    fftw_execute_dft(plan, at, at);
  }

 private:
  int sign_;
  std::map<std::size_t, fftw_plan> plans_;
};

/// One of the two exchanges of a transform: planes of which every rank of a row, or of a column, gets a block.
class exchange {
 public:
  exchange(overlap::program& all, const way& of, MPI_Comm comm, std::size_t planes, std::size_t plane)
      : of_(of), comm_(comm), planes_(planes), team_(all.team(of, comm)) {
    int ranks = 1;
    MPI_Comm_size(comm, &ranks);
    ranks_ = static_cast<std::size_t>(ranks);
    block_ = plane / ranks_;
    loop_.emplace(all.pipeline(of, planes, static_cast<double>((ranks_ - 1) * block_ * sizeof(number)),
                               std::max<std::size_t>(1, ranks_ - 1), comm));
    from_.resize(planes * plane);
    to_.resize(planes * plane);
    if (of.how != kind::one_sided || ranks_ == 1) return;
    // Every tile has a place of its own and, by its first plane, a signal.
    space_ = all.space(of, comm);
    check(isthmus_allocate_all(space_, planes * plane * sizeof(number), &memory_));
    check(isthmus_allocate_all(space_, planes * sizeof(std::uint64_t), &signals_));
    std::memset(here(signals_), 0, planes * sizeof(std::uint64_t));
    check(isthmus_barrier(space_, nullptr));
  }

  /// pack(plane, rank, to) fills what a rank gets of a plane, unpack(plane, rank, from) takes what has come from it;
  /// `before` and `after` transform planes.
  template <class Before, class Pack, class Unpack, class After>
  void run(const Before& before, const Pack& pack, const Unpack& unpack, const After& after) {
    if (ranks_ == 1) {
      for (std::size_t i = 0; i < planes_; ++i) {
        before(i, 1);
        pack(i, 0, from_.data());
        unpack(i, 0, from_.data());
      }
      return after(0, planes_);
    }
    // Nobody puts before all have taken what came last.
    if (space_ != nullptr) check(isthmus_barrier(space_, nullptr));
    loop_->run(
        [&](const isthmus::tile& t) {
          before(t.first, t.count);
          for_blocks(t, from_.data(), pack);
        },
        [&](const isthmus::tile& t) { return start(t); },
        [&](const isthmus::tile& t) {
          for_blocks(t, space_ == nullptr ? to_.data() : static_cast<number*>(here(memory_)), unpack);
          after(t.first, t.count);
        });
  }
  [[nodiscard]] std::string says() const { return ranks_ == 1 ? "no exchange" : overlap::tiling_of(*loop_); }

 private:
  template <class F>
  void for_blocks(const isthmus::tile& t, number* at, const F& work) const {
    at += t.tile_first * ranks_ * block_;
    for (std::size_t r = 0; r < ranks_; ++r)
      for (std::size_t i = t.first; i < t.first + t.count; ++i)
        work(i, r, at + (r * t.tile_count + i - t.tile_first) * block_);
  }

  overlap::request start(const isthmus::tile& t) {
    const std::size_t at = t.first * ranks_ * block_, count = t.count * block_, bytes = count * sizeof(number);
    if (space_ == nullptr)
      return overlap::alltoall(of_, comm_, team_, reinterpret_cast<const double*>(&from_[at]),
                               reinterpret_cast<double*>(&to_[at]), 2 * count);
    const std::uint32_t own = isthmus_rank(team_);
    const std::uint64_t signal = signals_ + t.first * sizeof(std::uint64_t);
    for (std::uint32_t k = 0; k < ranks_; ++k) {
      const std::uint32_t r = (own + k) % static_cast<std::uint32_t>(ranks_);
      check(isthmus_put_signal(space_, r, memory_ + at * sizeof(number) + own * bytes, &from_[at + r * count], bytes,
                               signal, 1));
    }
    return overlap::arrival(space_, signal, ranks_);
  }
  [[nodiscard]] void* here(std::uint64_t offset) const { return isthmus_cast(space_, isthmus_rank(team_), offset); }

  way of_;
  MPI_Comm comm_;
  std::size_t planes_, ranks_ = 1, block_ = 0;
  std::optional<isthmus::pipeline> loop_;
  isthmus_team* team_;
  isthmus_space* space_ = nullptr;
  std::uint64_t memory_ = 0, signals_ = 0;
  std::vector<number> from_, to_;
};

/// Along z as [x of a][y of b][z], along y as [z of c][x of a][y], along x as [z of c][y of d][x].
class transform {
 public:
  transform(overlap::program& all, const way& of)
      : forth_{{all, of, row, a, b * n}, {all, of, column, c, a * n}},
        back_{{all, of, column, c, d * n}, {all, of, row, a, c * n}},
        z(a * b * n),
        y(z.size()),
        x(z.size()) {}

  void forward() {
    forth_[0].run([&](auto i, auto k) { forward_.transform(&z[i * b * n], k * b); },
                  [&](auto i, auto r, number* to) {
                    for (std::size_t j = 0; j < b; ++j) std::copy_n(&z[(i * b + j) * n + r * c], c, to + j * c);
                  },
                  [&](auto i, auto r, const number* from) {
                    for (std::size_t k = 0; k < c; ++k)
                      for (std::size_t j = 0; j < b; ++j) y[(k * a + i) * n + r * b + j] = from[j * c + k];
                  },
                  [](auto, auto) {});
    forth_[1].run([&](auto k, auto count) { forward_.transform(&y[k * a * n], count * a); },
                  [&](auto k, auto r, number* to) {
                    for (std::size_t i = 0; i < a; ++i) std::copy_n(&y[(k * a + i) * n + r * d], d, to + i * d);
                  },
                  [&](auto k, auto r, const number* from) {
                    for (std::size_t j = 0; j < d; ++j)
                      for (std::size_t i = 0; i < a; ++i) x[(k * d + j) * n + r * a + i] = from[i * d + j];
                  },
                  [&](auto k, auto count) { forward_.transform(&x[k * d * n], count * d); });
  }

  void backward() {
    back_[0].run([&](auto k, auto count) { backward_.transform(&x[k * d * n], count * d); },
                 [&](auto k, auto r, number* to) {
                   for (std::size_t j = 0; j < d; ++j) std::copy_n(&x[(k * d + j) * n + r * a], a, to + j * a);
                 },
                 [&](auto k, auto r, const number* from) {
                   for (std::size_t i = 0; i < a; ++i)
                     for (std::size_t j = 0; j < d; ++j) y[(k * a + i) * n + r * d + j] = from[j * a + i];
                 },
                 [&](auto k, auto count) { backward_.transform(&y[k * a * n], count * a); });
    back_[1].run([](auto, auto) {},
                 [&](auto i, auto r, number* to) {
                   for (std::size_t k = 0; k < c; ++k) std::copy_n(&y[(k * a + i) * n + r * b], b, to + k * b);
                 },
                 [&](auto i, auto r, const number* from) {
                   for (std::size_t j = 0; j < b; ++j)
                     for (std::size_t k = 0; k < c; ++k) z[(i * b + j) * n + r * c + k] = from[k * b + j];
                 },
                 [&](auto i, auto count) { backward_.transform(&z[i * b * n], count * b); });
  }

  [[nodiscard]] std::string says() const {
    return "forth " + forth_[0].says() + " and " + forth_[1].says() + ", back " + back_[0].says() + " and " +
           back_[1].says();
  }

 private:
  exchange forth_[2], back_[2];
  lines forward_{FFTW_FORWARD}, backward_{FFTW_BACKWARD};

 public:
  std::vector<number> z, y, x;
};

}  // namespace

int main(int argc, char** argv) {
  overlap::program all(argc, argv, "fft3d", {{"points", 64, 2}, {"pencils", 0, 0}}, "none,blocking,mpi,ours,one-sided");
  n = static_cast<std::size_t>(all.number("points"));
  int dims[2] = {all.ranks(), 1}, wrap[2] = {0, 0}, keep_column[2] = {1, 0}, keep_row[2] = {0, 1}, place[2], rank = 0;
  if (all.number("pencils") != 0) {
    dims[0] = dims[1] = 0;
    MPI_Dims_create(all.ranks(), 2, dims);
  }
  const auto columns = static_cast<std::size_t>(dims[0]), rows = static_cast<std::size_t>(dims[1]);
  if (n % columns != 0 || n % rows != 0)
    overlap::refuse("fft3d: --points must be a multiple of both extents of the grid of ranks");
  MPI_Comm grid;
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, wrap, 0, &grid);
  MPI_Comm_rank(grid, &rank);
  MPI_Cart_coords(grid, rank, 2, place);
  MPI_Cart_sub(grid, keep_column, &column);
  MPI_Cart_sub(grid, keep_row, &row);
  a = d = n / columns;
  b = c = n / rows;
  const auto x0 = static_cast<std::size_t>(place[0]) * a, y0 = static_cast<std::size_t>(place[1]) * b;
  const auto d0 = static_cast<std::size_t>(place[0]) * d, c0 = static_cast<std::size_t>(place[1]) * c;

  const auto make = [&](const way& of) {
    const auto field = std::make_shared<transform>(all, of);
    const auto random = std::make_shared<std::vector<number>>(field->z.size());
    std::mt19937_64 generator(1 + static_cast<unsigned>(rank));
    std::uniform_real_distribution<double> some(-1, 1);
    for (number& value : *random) value = {some(generator), some(generator)};
    const auto turn = std::make_shared<int>(0);
    overlap::program::work out;
    out.run = [=] {
      // exp(2 pi i (x + 2 y + 3 z) / n) in the first run: one peak of n^3 at (1, 2, 3), modulo n.
      if (*turn == 0)
        for (std::size_t i = 0; i < a; ++i)
          for (std::size_t j = 0; j < b; ++j)
            for (std::size_t k = 0; k < n; ++k)
              field->z[(i * b + j) * n + k] = std::polar(
                  1.0, 2 * M_PI / static_cast<double>(n) * static_cast<double>((x0 + i + 2 * (y0 + j) + 3 * k) % n));
      else if (*turn == 1) field->z = *random;
      field->forward();
      if (*turn > 0) field->backward();
    };
    out.error = [=] {
      double error = 0;
      const double volume = static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
      if ((*turn)++ == 0) {
        for (std::size_t k = 0; k < c; ++k)
          for (std::size_t j = 0; j < d; ++j)
            for (std::size_t i = 0; i < n; ++i) {
              const bool peak = i == 1 % n && d0 + j == 2 % n && c0 + k == 3 % n;
              error = overlap::worse(error, std::abs(field->x[(k * d + j) * n + i] / volume - (peak ? 1.0 : 0.0)));
            }
        return error;
      }
      for (std::size_t i = 0; i < field->z.size(); ++i) {
        field->z[i] /= volume;
        error = overlap::worse(error, std::abs(field->z[i] - (*random)[i]));
        field->z[i] = (*random)[i];
      }
      return error;
    };
    out.says = [field] { return field->says(); };
    return out;
  };
  const int wrong = all.take_turns(make, 1e-12 * static_cast<double>(n));
  MPI_Comm_free(&row);
  MPI_Comm_free(&column);
  MPI_Comm_free(&grid);
  return wrong;
}
