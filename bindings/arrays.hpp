// NumPy arrays in and out of the core.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace isthmus::bindings {

namespace nb = nanobind;

template <class T>
using Input = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Tuple = nb::typed<nb::tuple, T, nb::ellipsis>;
template <class T>
using Output = nb::ndarray<nb::numpy, T>;

template <class T>
std::span<const T> view(const Input<T>& array) {
  return {array.data(), array.shape(0)};
}

template <class T>
std::vector<T> vector_of(const Input<T>& array) {
  return {array.data(), array.data() + array.shape(0)};
}

/// A NumPy array of uninitialised numbers that owns its memory.
template <class T>
std::pair<T*, nb::capsule> allocate(std::size_t count) {
  T* data = new T[count];
  return {data, nb::capsule(data, [](void* p) noexcept { delete[] static_cast<T*>(p); })};
}

template <class T>
Output<T> array_of(const std::vector<T>& values) {
  auto [data, owner] = allocate<T>(values.size());
  std::copy(values.begin(), values.end(), data);
  return Output<T>(data, {values.size()}, owner);
}

/// A NumPy array that takes the vector over without a copy.
template <class T>
Output<T> array_from(std::vector<T>&& values) {
  auto held = std::make_unique<std::vector<T>>(std::move(values));
  T* data = held->data();
  const std::size_t size = held->size();
  nb::capsule owner(held.release(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Output<T>(data, {size}, owner);
}

/// A read-only look at memory of `owner`, which lives as long as the array.
template <class T>
nb::ndarray<nb::numpy, const T> look(const T* data, std::size_t size, nb::handle owner) {
  return nb::ndarray<nb::numpy, const T>(data, {size}, owner);
}

}  // namespace isthmus::bindings
