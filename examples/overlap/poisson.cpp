// Poisson's equation on a cube by conjugate gradients. Faces are exchanged with neighbours while the points inside are
// computed. Plain conjugate gradients (--pipelined=0) wait for two sums over all ranks in each iteration; the pipelined
// method (Ghysels, Vanroose, "Hiding global synchronization latency in the preconditioned conjugate gradient
// algorithm", 2014) has one, which goes on during the product with the matrix.
//
// Check: the right side belongs to a field that is known.
#include <array>
#include <random>

#include "halo.hpp"

namespace {

using overlap::way;

class solver {
 public:
  solver(overlap::program& all, const way& of, const overlap::block& own, bool pipelined)
      : of_(of),
        own_(own),
        halo_(all, of, own),
        team_(all.team(of, own.comm)),
        pipelined_(pipelined),
        most_(all.number("iterations")) {
    for (std::vector<double>* one : {&known_, &b_, &x_, &r_, &w_, &q_, &z_, &s_, &p_}) one->assign(own.points(), 0);
    for_points([&](std::size_t i, std::size_t x, std::size_t y, std::size_t z) {
      known_[i] = overlap::made_up(own_.first[0] + x, own_.first[1] + y, own_.first[2] + z);
    });
    const way usual{"blocking", overlap::kind::blocking, 0};
    overlap::halo before(all, usual, own);
    before.start(known_.data());
    before.finish(known_.data());
    for_points([&](std::size_t i, auto, auto, auto) { b_[i] = at(known_, i); });
  }

  void run() {
    for (std::vector<double>* one : {&x_, &z_, &s_, &p_}) std::fill(one->begin(), one->end(), 0);
    r_ = b_;
    iterations_ = 0;
    if (pipelined_) run_pipelined();
    else run_plain();
  }

  [[nodiscard]] double error() const {
    double most = 0;
    for_points([&](std::size_t i, auto, auto, auto) { most = overlap::worse(most, std::abs(x_[i] - known_[i])); });
    return most;
  }
  [[nodiscard]] std::string says() const { return std::to_string(iterations_) + " iterations"; }

 private:
  inline static long needed = 1;
  static constexpr double small = 1e-24;  // square of the residual beside that of the right side

  template <class F>
  void for_points(const F& work) const {
    for (std::size_t x = 1; x <= own_.size[0]; ++x)
      for (std::size_t y = 1; y <= own_.size[1]; ++y)
        for (std::size_t z = 1; z <= own_.size[2]; ++z) work(own_.at(x, y, z), x, y, z);
  }
  /// A row of the matrix times a field.
  [[nodiscard]] double at(const std::vector<double>& of, std::size_t i) const {
    const std::size_t plane = (own_.size[1] + 2) * (own_.size[2] + 2), row = own_.size[2] + 2;
    return 6 * of[i] - of[i - plane] - of[i + plane] - of[i - row] - of[i + row] - of[i - 1] - of[i + 1];
  }
  [[nodiscard]] double dot(const std::vector<double>& left, const std::vector<double>& right) const {
    double sum = 0;
    for_points([&](std::size_t i, auto, auto, auto) { sum += left[i] * right[i]; });
    return sum;
  }
  /// out = A of; `beside` is tested meanwhile.
  void multiply(std::vector<double>& of, std::vector<double>& out, overlap::request* beside) {
    halo_.start(of.data());
    own_.inner_first(
        of_.tests,
        [&](std::size_t x, std::size_t y, std::size_t from, std::size_t to) {
          for (std::size_t i = own_.at(x, y, from); i <= own_.at(x, y, to); ++i) out[i] = at(of, i);
        },
        [&] {
          halo_.test();
          if (beside != nullptr) beside->test();
        },
        [&] { halo_.finish(of.data()); });
  }
  overlap::request sum(const std::array<double, 2>& own, std::array<double, 2>& all) {
    return overlap::allreduce(of_, own_.comm, team_, own.data(), all.data(), own.size());
  }

  /// Without exchanges nothing converges: so many iterations as the other ways needed.
  bool goes_on(double square, double first) {
    const bool on = of_.how == overlap::kind::none ? iterations_ < needed : square > small * first;
    if (!on && of_.how != overlap::kind::none) needed = iterations_;
    return on && iterations_ < most_;
  }

  void run_plain() {
    std::array<double, 2> own{dot(r_, r_), 0}, all{};
    sum(own, all).wait();
    double rr = all[0];
    const double first = rr;
    p_ = r_;
    while (goes_on(rr, first)) {
      multiply(p_, q_, nullptr);
      own[0] = dot(p_, q_);
      sum(own, all).wait();
      const double alpha = rr / all[0];
      for_points([&](std::size_t i, auto, auto, auto) {
        x_[i] += alpha * p_[i];
        r_[i] -= alpha * q_[i];
      });
      own[0] = dot(r_, r_);
      sum(own, all).wait();
      const double beta = all[0] / rr;
      rr = all[0];
      for_points([&](std::size_t i, auto, auto, auto) { p_[i] = r_[i] + beta * p_[i]; });
      ++iterations_;
    }
  }

  void run_pipelined() {
    std::array<double, 2> own{}, all{};
    double before = 0, alpha = 0, first = 0;
    multiply(r_, w_, nullptr);
    for (;;) {
      own = {dot(r_, r_), dot(w_, r_)};
      overlap::request under_way = sum(own, all);
      multiply(w_, q_, &under_way);
      under_way.wait();
      if (iterations_ == 0) first = all[0];
      if (!goes_on(all[0], first)) break;
      const double beta = iterations_ == 0 ? 0 : all[0] / before;
      alpha = iterations_ == 0 ? all[0] / all[1] : all[0] / (all[1] - beta * all[0] / alpha);
      before = all[0];
      for_points([&](std::size_t i, auto, auto, auto) {
        z_[i] = q_[i] + beta * z_[i];
        s_[i] = w_[i] + beta * s_[i];
        p_[i] = r_[i] + beta * p_[i];
        x_[i] += alpha * p_[i];
        r_[i] -= alpha * s_[i];
        w_[i] -= alpha * z_[i];
      });
      ++iterations_;
    }
  }

  way of_;
  const overlap::block& own_;
  overlap::halo halo_;
  isthmus_team* team_;
  bool pipelined_;
  long most_, iterations_ = 0;
  std::vector<double> known_, b_, x_, r_, w_, q_, z_, s_, p_;
};

}  // namespace

int main(int argc, char** argv) {
  overlap::program all(argc, argv, "poisson",
                       {{"points", 48, 2}, {"iterations", 500, 1}, {"extents", 3, 1}, {"pipelined", 1, 0}},
                       "none,blocking,mpi,ours,one-sided");
  const overlap::block own(all, static_cast<std::size_t>(all.number("points")),
                           static_cast<int>(std::min(3L, all.number("extents"))));
  return all.take_turns(
      [&](const way& of) {
        const auto here = std::make_shared<solver>(all, of, own, all.number("pipelined") != 0);
        return overlap::program::work{[here] { here->run(); }, [here] { return here->error(); },
                                      [here] { return here->says(); }};
      },
      1e-8);
}
