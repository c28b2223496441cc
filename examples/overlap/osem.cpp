// Image reconstruction by ordered subsets expectation maximisation (Hudson, Larkin, 1994): lines through a cube, whose
// integrals are known, are dealt out to ranks and to subsets. For each subset a rank projects the image forward along
// its lines and the ratios backward (Siddon's exact lengths, 1985); the sum of what all ranks projected back changes
// the image.
//
// The image is cut into slabs of planes. While the sum of a slab is under way, the next slabs are projected back; when
// it has come, the slab is changed, and projected forward already for the next subset.
// Checks: the image comes closer to the phantom, and the ways agree with each other.
#include <array>
#include <random>

#include "overlap.hpp"

namespace {

using overlap::way;

std::size_t n, subsets;  // voxels of a side

struct line {
  std::array<double, 3> from, along;  // from + t * along is inside the cube [0, n]^3 for some t in [0, 1]
  double integral = 0;
};

/// Calls work(voxel, length) for the voxels of some planes of z that a line meets.
template <class F>
void along(const line& of, std::size_t plane, std::size_t planes, const F& work) {
  const std::array<double, 3> low{0, 0, static_cast<double>(plane)},
      high{static_cast<double>(n), static_cast<double>(n), static_cast<double>(plane + planes)};
  double begin = 0, end = 1;
  for (std::size_t d = 0; d < 3; ++d) {
    const double one = (low[d] - of.from[d]) / of.along[d], other = (high[d] - of.from[d]) / of.along[d];
    begin = std::max(begin, std::min(one, other));
    end = std::min(end, std::max(one, other));
  }
  if (!(begin < end)) return;
  std::array<long, 3> voxel{}, step{};
  std::array<double, 3> next{}, period{};
  const double length = std::hypot(of.along[0], of.along[1], of.along[2]), inside = begin + 1e-12 * (end - begin);
  for (std::size_t d = 0; d < 3; ++d) {
    const double at = of.from[d] + inside * of.along[d];
    voxel[d] = std::clamp(static_cast<long>(std::floor(at)), static_cast<long>(low[d]), static_cast<long>(high[d]) - 1);
    step[d] = of.along[d] > 0 ? 1 : -1;
    period[d] = 1 / std::abs(of.along[d]);
    next[d] = (static_cast<double>(voxel[d] + (step[d] > 0 ? 1 : 0)) - of.from[d]) / of.along[d];
  }
  const auto side = static_cast<long>(n);
  for (double at = begin; at < end;) {
    const std::size_t d = next[0] < next[1] ? (next[0] < next[2] ? 0 : 2) : (next[1] < next[2] ? 1 : 2);
    const double until = std::min(next[d], end);
    if (until > at)
      work(static_cast<std::size_t>((voxel[2] * side + voxel[1]) * side + voxel[0]), (until - at) * length);
    at = std::max(at, until);
    next[d] += period[d];
    voxel[d] += step[d];
    if (voxel[d] < static_cast<long>(low[d]) || voxel[d] >= static_cast<long>(high[d])) break;
  }
}

/// Spheres of different density in a larger one.
std::vector<double> phantom() {
  std::vector<double> image(n * n * n, 0.1);
  const std::array<std::array<double, 5>, 4> spheres{
      {{0.5, 0.5, 0.5, 0.42, 1}, {0.35, 0.5, 0.45, 0.12, 3}, {0.65, 0.55, 0.5, 0.1, 0.3}, {0.5, 0.3, 0.6, 0.08, 4}}};
  const auto side = static_cast<double>(n);
  for (std::size_t z = 0; z < n; ++z)
    for (std::size_t y = 0; y < n; ++y)
      for (std::size_t x = 0; x < n; ++x)
        for (const auto& [cx, cy, cz, radius, density] : spheres) {
          const auto off = [side](std::size_t i, double c) { return (static_cast<double>(i) + 0.5) / side - c; };
          if (std::hypot(off(x, cx), off(y, cy), off(z, cz)) < radius) image[(z * n + y) * n + x] = density;
        }
  return image;
}

double distance(const std::vector<double>& image, const std::vector<double>& other) {
  double sum = 0, of = 0;
  for (std::size_t i = 0; i < image.size(); ++i) {
    sum += (image[i] - other[i]) * (image[i] - other[i]);
    of += other[i] * other[i];
  }
  return std::sqrt(sum / of);
}

/// What all ways share: lines, sensitivities, the phantom, and the image of the first way that has one.
struct scanner {
  explicit scanner(const overlap::program& all) : right(phantom()) {
    // Lines do not depend on the number of ranks; a rank has every ranks-th of a subset.
    std::mt19937_64 generator(7);
    std::uniform_real_distribution<double> some(0, static_cast<double>(n));
    const auto ranks = static_cast<std::size_t>(all.ranks()), rank = static_cast<std::size_t>(all.rank());
    const auto total = static_cast<std::size_t>(all.number("lines"));
    own.resize(subsets);
    sensitivity.assign(subsets, std::vector<double>(right.size(), 0));
    for (std::size_t i = 0; i < total; ++i) {
      line one{};
      for (std::size_t d = 0; d < 3; ++d) one.from[d] = some(generator);
      for (std::size_t d = 0; d < 3; ++d) one.along[d] = some(generator) - one.from[d] + 1e-9;
      // Both points are inside; the line goes on beyond them, through the whole cube.
      for (std::size_t d = 0; d < 3; ++d) {
        one.along[d] *= 64;
        one.from[d] -= one.along[d] / 2;
      }
      if (i / subsets % ranks != rank) continue;
      along(one, 0, n, [&](std::size_t voxel, double length) {
        one.integral += length * right[voxel];
        sensitivity[i % subsets][voxel] += length;
      });
      own[i % subsets].push_back(one);
    }
    for (std::vector<double>& one : sensitivity)
      MPI_Allreduce(MPI_IN_PLACE, one.data(), static_cast<int>(one.size()), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  std::vector<double> right;
  std::vector<std::vector<line>> own;
  std::vector<std::vector<double>> sensitivity;
  std::vector<double> first_image;
};

class reconstruction {
 public:
  reconstruction(overlap::program& all, const way& of, scanner& with)
      : of_(of),
        with_(with),
        team_(all.team(of, MPI_COMM_WORLD)),
        loop_(all.pipeline(of, n, static_cast<double>(n * n * sizeof(double)), 1, MPI_COMM_WORLD)),
        back_(n * n * n),
        sum_(n * n * n),
        passes_(all.number("passes")) {}

  void run() {
    image_.assign(n * n * n, 1);
    forward_.assign(2, {});
    project_forward(0, 0, n);
    for (long pass = 0; pass < passes_; ++pass)
      for (std::size_t subset = 0; subset < subsets; ++subset) {
        // The forward projections of this subset are whole now; those of the next one begin.
        std::swap(forward_[0], forward_[1]);
        const std::size_t next = (subset + 1) % subsets;
        forward_[0].assign(with_.own[next].size(), 0);
        std::fill(back_.begin(), back_.end(), 0);
        loop_.run([&](const isthmus::tile& t) { project_back(subset, t.first, t.count); },
                  [&](const isthmus::tile& t) {
                    return overlap::allreduce(of_, MPI_COMM_WORLD, team_, &back_[t.first * n * n],
                                              &sum_[t.first * n * n], t.count * n * n);
                  },
                  [&](const isthmus::tile& t) {
                    for (std::size_t i = t.first * n * n; i < (t.first + t.count) * n * n; ++i)
                      if (with_.sensitivity[subset][i] > 0) image_[i] *= sum_[i] / with_.sensitivity[subset][i];
                    project_forward(next, t.first, t.count);
                  });
      }
  }

  /// How far the image is from the first one that was made, and from the phantom if that is too far.
  [[nodiscard]] double error() const {
    const double away = distance(image_, with_.right),
                 before = distance(std::vector<double>(image_.size(), 1), with_.right);
    if (of_.how == overlap::kind::none) return with_.first_image.empty() ? 1 : distance(image_, with_.first_image);
    if (with_.first_image.empty()) with_.first_image = image_;
    return away < 0.7 * before ? distance(image_, with_.first_image) : away;
  }
  [[nodiscard]] std::string says() const {
    return overlap::tiling_of(loop_) + ", distance from the phantom " + std::to_string(distance(image_, with_.right));
  }

 private:
  void project_forward(std::size_t subset, std::size_t plane, std::size_t planes) {
    std::vector<double>& to = forward_[0];
    to.resize(with_.own[subset].size(), 0);
    for (std::size_t i = 0; i < to.size(); ++i)
      along(with_.own[subset][i], plane, planes,
            [&](std::size_t voxel, double length) { to[i] += length * image_[voxel]; });
  }
  void project_back(std::size_t subset, std::size_t plane, std::size_t planes) {
    for (std::size_t i = 0; i < with_.own[subset].size(); ++i) {
      const double ratio = forward_[1][i] > 0 ? with_.own[subset][i].integral / forward_[1][i] : 0;
      along(with_.own[subset][i], plane, planes,
            [&](std::size_t voxel, double length) { back_[voxel] += length * ratio; });
    }
  }

  way of_;
  scanner& with_;
  isthmus_team* team_;
  isthmus::pipeline loop_;
  std::vector<double> image_, back_, sum_;
  std::vector<std::vector<double>> forward_;  // of the next subset, and of this one
  long passes_;
};

}  // namespace

int main(int argc, char** argv) {
  overlap::program all(argc, argv, "osem",
                       {{"points", 32, 4}, {"lines", 20000, 1}, {"subsets", 4, 1}, {"passes", 1, 1}},
                       "none,blocking,mpi,ours");
  n = static_cast<std::size_t>(all.number("points"));
  subsets = static_cast<std::size_t>(all.number("subsets"));
  scanner with(all);
  return all.take_turns(
      [&](const way& of) {
        const auto here = std::make_shared<reconstruction>(all, of, with);
        return overlap::program::work{[here] { here->run(); }, [here] { return here->error(); },
                                      [here] { return here->says(); }};
      },
      1e-9);
}
