#include "topology/slim_fly.hpp"

#include <algorithm>

namespace isthmus::topology {
namespace {

constexpr std::uint16_t none = 0xffff;

/// p if q = p^n for a prime p, else 0.
std::uint32_t prime_of(std::uint32_t q) {
  std::uint32_t p = 2;
  while (p * p <= q && q % p != 0) ++p;
  if (p * p > q) p = q;
  while (q % p == 0) q /= p;
  return q == 1 ? p : 0;
}

}  // namespace

SlimFly::SlimFly(const SlimFlyParameters& p) : RouterTopology("slimfly"), q_(p.q) {
  require(p.q >= 3 && p.q <= 512 && prime_of(p.q) != 0 && p.q % 4 != 2, kind_, ": q = ", p.q,
          "; must be a prime power from 3 to 512 of the form 4w - 1, 4w or 4w + 1");
  build_field();
  const std::uint32_t routers = 2 * q_ * q_;
  degree_ = static_cast<std::uint32_t>(generators_[0].size()) + q_;
  dimensions_ = {{"y", q_}, {"x", q_}, {"set", 2}};
  classes_ = {{"local"}, {"global"}};
  set_routers(routers, routers, p.nodes_per_router, static_cast<std::uint64_t>(routers) * degree_);
  spec_ = message("slimfly:q=", q_, ",p=", p.nodes_per_router);
}

void SlimFly::build_field() {
  const std::uint32_t p = prime_of(q_);
  std::uint32_t n = 0;
  for (std::uint32_t rest = q_; rest > 1; rest /= p) ++n;
  // Elements are polynomials over the integers mod p, their coefficients the digits of the element's number.
  const auto digits = [&](std::uint32_t a) {
    std::vector<std::uint32_t> out(n);
    for (auto& d : out) {
      d = a % p;
      a /= p;
    }
    return out;
  };
  const auto number = [&](const std::vector<std::uint32_t>& d) {
    std::uint32_t out = 0;
    for (std::size_t i = n; i-- > 0;) out = out * p + d[i];
    return static_cast<std::uint16_t>(out);
  };
  add_.resize(static_cast<std::size_t>(q_) * q_);
  negative_.resize(q_);
  for (std::uint32_t a = 0; a < q_; ++a) {
    const auto da = digits(a);
    for (std::uint32_t b = 0; b < q_; ++b) {
      auto sum = digits(b);
      for (std::uint32_t i = 0; i < n; ++i) sum[i] = (sum[i] + da[i]) % p;
      add_[a * q_ + b] = number(sum);
      if (add_[a * q_ + b] == 0) negative_[a] = static_cast<std::uint16_t>(b);
    }
  }
  // The modulus x^n = low(x): tried in order until some element generates every nonzero one, which makes it a field.
  multiply_.resize(add_.size());
  for (std::uint32_t low = 0; low < q_; ++low) {
    const auto dl = digits(low);
    // times_x[a] = a * x, from which every product follows by Horner's rule.
    std::vector<std::uint32_t> times_x(q_);
    for (std::uint32_t a = 0; a < q_; ++a) {
      const auto da = digits(a);
      std::vector<std::uint32_t> shifted(n);
      for (std::uint32_t i = n; i-- > 0;) shifted[i] = ((i ? da[i - 1] : 0) + da[n - 1] * dl[i]) % p;
      times_x[a] = number(shifted);
    }
    for (std::uint32_t a = 0; a < q_; ++a) {
      for (std::uint32_t b = 0; b < q_; ++b) {
        const auto db = digits(b);
        std::uint32_t product = 0;
        for (std::uint32_t i = n; i-- > 0;) {
          product = times_x[product];
          if (n == 1) product = 0;  // a prime field has no x: the only digit multiplies directly
          for (std::uint32_t t = 0; t < db[i]; ++t) product = add(product, a);
        }
        multiply_[a * q_ + b] = static_cast<std::uint16_t>(product);
      }
    }
    for (std::uint32_t root = 1; root < q_; ++root) {
      std::vector<std::uint16_t> power{1};
      while (power.size() < q_ && multiply(power.back(), root) != 1 && multiply(power.back(), root) != 0) {
        power.push_back(static_cast<std::uint16_t>(multiply(power.back(), root)));
      }
      if (power.size() != q_ - 1) continue;
      // Generator sets of Besta and Hoefler, section II-B, for q = 4w + delta.
      const std::uint32_t w = (q_ + 1) / 4;
      const auto take = [&](int set, std::uint32_t first, std::uint32_t last) {
        for (std::uint32_t i = first; i <= last; i += 2) generators_[set].push_back(power[i % (q_ - 1)]);
      };
      if (q_ % 4 == 3) {
        take(0, 0, 2 * w - 2);
        take(0, 2 * w - 1, 4 * w - 3);
        take(1, 1, 2 * w - 1);
        take(1, 2 * w, 4 * w - 2);
      } else {
        // delta = 1: even and odd powers; delta = 0: likewise, the last odd one wraps to the power 0.
        take(0, 0, q_ - 2);
        take(1, 1, q_ % 2 == 0 ? q_ - 1 : q_ - 2);
      }
      for (int set = 0; set < 2; ++set) {
        place_[set].assign(q_, none);
        for (std::size_t i = 0; i < generators_[set].size(); ++i) {
          place_[set][generators_[set][i]] = static_cast<std::uint16_t>(i);
        }
      }
      return;
    }
  }
}

SlimFly::Router SlimFly::neighbour(const Router& r, std::uint32_t port) const {
  const auto local = static_cast<std::uint32_t>(generators_[r.set].size());
  if (port < local) return {r.set, r.x, add(r.y, generators_[r.set][port])};
  const std::uint32_t other = port - local;
  // y = m x + c: from set 0 the port is m, from set 1 it is x.
  const std::uint32_t product = multiply(r.x, other);
  return {1 - r.set, other, r.set == 0 ? subtract(r.y, product) : add(r.y, product)};
}

bool SlimFly::adjacent(const Router& r, const Router& s) const {
  const std::uint32_t difference = subtract(s.y, r.y);
  if (r.set == s.set) return r.x == s.x && place_[r.set][difference] != none;
  const std::uint32_t product = multiply(r.x, s.x);
  return r.set == 0 ? negative_[difference] == product : difference == product;
}

std::uint32_t SlimFly::port_to(const Router& r, const Router& s) const {
  if (r.set == s.set) return place_[r.set][subtract(s.y, r.y)];
  return static_cast<std::uint32_t>(generators_[r.set].size()) + s.x;
}

LinkId* SlimFly::write_router_route(Vertex r, Vertex s, std::uint32_t salt, LinkId* out) const {
  if (r == s) return out;
  const Router from = router(r);
  const Router to = router(s);
  if (adjacent(from, to)) {
    *out++ = r * degree_ + port_to(from, to);
    return out;
  }
  for (std::uint32_t i = 0, port = salt % degree_; i < degree_; ++i, port = port + 1 == degree_ ? 0 : port + 1) {
    const Router via = neighbour(from, port);
    if (!adjacent(via, to)) continue;
    *out++ = r * degree_ + port;
    *out++ = vertex(via) * degree_ + port_to(via, to);
    break;
  }
  return out;
}

void SlimFly::router_out_links(Vertex r, std::vector<LinkId>& out) const {
  for (std::uint32_t port = 0; port < degree_; ++port) out.push_back(r * degree_ + port);
}

Estimate SlimFly::router_mean_distance() const {
  const double n = routers();
  return {(degree_ + 2 * (n - 1 - degree_)) / n, true};
}

template class RouterTopology<SlimFly>;

}  // namespace isthmus::topology
