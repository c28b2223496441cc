// Traffic of the links of a network over time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace isthmus::simulate {

using Picoseconds = std::int64_t;

/// Bytes over every link, and over each while in equal slices of time. As the end is not known before, slices start
/// short and are joined two by two whenever time goes beyond the last.
class Traffic {
 public:
  Traffic() = default;
  /// `slices`: even, or 0 for sums only.
  Traffic(std::size_t links, std::uint32_t slices) : bytes_(links), slices_(slices), in_slice_(links * slices) {}

  /// Bytes that pass the link at an even rate between two times.
  void add(std::uint32_t link, double bytes, Picoseconds begin, Picoseconds end) {
    bytes_[link] += bytes;
    if (slices_ == 0) return;
    while (end > width_ * slices_) join();
    float* slice = &in_slice_[std::size_t{link} * slices_];
    const Picoseconds first = begin / width_, last = end > begin ? (end - 1) / width_ : first;
    if (first == last || end <= begin) {
      slice[std::min<Picoseconds>(first, slices_ - 1)] += static_cast<float>(bytes);
      return;
    }
    const double rate = bytes / static_cast<double>(end - begin);
    for (Picoseconds i = first; i <= last; ++i) {
      const Picoseconds from = std::max(begin, i * width_), to = std::min(end, (i + 1) * width_);
      slice[i] += static_cast<float>(rate * static_cast<double>(to - from));
    }
  }

  /// Which links a message took.
  template <class Links>
  void log(std::uint64_t message, const Links& links) {
    messages_.push_back(message);
    links_.insert(links_.end(), links.begin(), links.end());
    ends_.push_back(links_.size());
  }

  [[nodiscard]] const std::vector<double>& bytes() const { return bytes_; }
  /// slices() numbers for every link.
  [[nodiscard]] const std::vector<float>& in_slice() const { return in_slice_; }
  /// Logged messages, the links of all of them one after another, and where those of each end.
  [[nodiscard]] const std::vector<std::uint64_t>& messages() const { return messages_; }
  [[nodiscard]] const std::vector<std::uint32_t>& links() const { return links_; }
  [[nodiscard]] const std::vector<std::uint64_t>& ends() const { return ends_; }
  [[nodiscard]] std::uint32_t slices() const { return slices_; }
  [[nodiscard]] Picoseconds width() const { return width_; }

 private:
  void join() {
    width_ *= 2;
    for (std::size_t link = 0; link < bytes_.size(); ++link) {
      float* slice = &in_slice_[link * slices_];
      for (std::uint32_t i = 0; i < slices_ / 2; ++i) slice[i] = slice[2 * i] + slice[2 * i + 1];
      std::fill(slice + slices_ / 2, slice + slices_, 0.0F);
    }
  }

  std::vector<double> bytes_;
  std::uint32_t slices_ = 0;
  std::vector<float> in_slice_;
  std::vector<std::uint64_t> messages_;
  std::vector<std::uint32_t> links_;
  std::vector<std::uint64_t> ends_;
  Picoseconds width_ = 1'000'000;  // a microsecond
};

}  // namespace isthmus::simulate
