// Heat in a cube by an explicit scheme: every step, each rank exchanges the faces of its block with its neighbours by a
// persistent neighbourhood collective while it computes the points that need none of them.
//
// Check: a product of sines loses the same part in every step, which is known.
#include "halo.hpp"

namespace {

using overlap::way;

class heat {
 public:
  heat(overlap::program& all, const way& of, const overlap::block& own, std::size_t points, long steps)
      : of_(of), own_(own), halo_(all, of, own), points_(points), steps_(steps), now_(own.points()), next_(now_) {}

  void run() {
    for_all([&](std::size_t i, double mode) { now_[i] = mode; });
    for (long step = 0; step < steps_; ++step) {
      halo_.start(now_.data());
      own_.inner_first(
          of_.tests,
          [&](std::size_t x, std::size_t y, std::size_t from, std::size_t to) {
            const std::size_t plane = (own_.size[1] + 2) * (own_.size[2] + 2), row = own_.size[2] + 2;
            for (std::size_t i = own_.at(x, y, from); i <= own_.at(x, y, to); ++i)
              next_[i] = now_[i] + part * (now_[i - plane] + now_[i + plane] + now_[i - row] + now_[i + row] +
                                           now_[i - 1] + now_[i + 1] - 6 * now_[i]);
          },
          [&] { halo_.test(); }, [&] { halo_.finish(now_.data()); });
      std::swap(now_, next_);
    }
  }

  /// The largest difference from the mode, which has become smaller.
  [[nodiscard]] double error() const {
    const double left = 1 - part * 6 * 2 * (1 - std::cos(M_PI / static_cast<double>(points_ + 1))) / 2;
    const double all = std::pow(left, static_cast<double>(steps_));
    double most = 0;
    for_all([&](std::size_t i, double mode) { most = overlap::worse(most, std::abs(now_[i] - all * mode)); });
    return most;
  }

 private:
  static constexpr double part = 0.1;  // of the differences, in a step; up to 1/6 is stable

  template <class F>
  void for_all(const F& work) const {
    const double turn = M_PI / static_cast<double>(points_ + 1);
    const auto wave = [&](std::size_t d, std::size_t i) {
      return std::sin(turn * static_cast<double>(own_.first[d] + i));
    };
    for (std::size_t x = 1; x <= own_.size[0]; ++x)
      for (std::size_t y = 1; y <= own_.size[1]; ++y)
        for (std::size_t z = 1; z <= own_.size[2]; ++z) work(own_.at(x, y, z), wave(0, x) * wave(1, y) * wave(2, z));
  }

  way of_;
  const overlap::block& own_;
  overlap::halo halo_;
  std::size_t points_;
  long steps_;
  std::vector<double> now_, next_;
};

}  // namespace

int main(int argc, char** argv) {
  overlap::program all(argc, argv, "stencil", {{"points", 64, 2}, {"steps", 20, 1}, {"extents", 3, 1}},
                       "none,blocking,mpi,ours,one-sided");
  const auto points = static_cast<std::size_t>(all.number("points"));
  const overlap::block own(all, points, static_cast<int>(std::min(3L, all.number("extents"))));
  return all.take_turns(
      [&](const way& of) {
        const auto here = std::make_shared<heat>(all, of, own, points, all.number("steps"));
        return overlap::program::work{[here] { here->run(); }, [here] { return here->error(); }};
      },
      1e-12);
}
