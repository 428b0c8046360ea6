// SPDX-License-Identifier: Apache-2.0
/// Identifiers and units that the whole library shares. Each is a distinct type, so that a device cannot be
/// passed for a memory node nor seconds for bytes.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace hocket {

/// Index of a device in `Runtime::devices()`, which are in the order of the device specification; without one the
/// CPU's cores come first.
enum class DeviceId : std::uint32_t {};
/// Index of a memory node (an address space that tasks compute in). Node 0 is always the host's memory.
enum class MemoryNodeId : std::uint32_t {};
/// Number of a submission, unique within its `Runtime`, growing in the order in which one thread submits, never 0. A
/// run of a graph is one submission, whose number all its tasks share; the tasks as recorded are numbered from 0 within
/// their graph.
enum class TaskId : std::uint64_t {};

inline constexpr MemoryNodeId kHostNode{0};

/// The plain number in an identifier, for indexing.
template <class Id>
requires(sizeof(Id) <= sizeof(std::uint64_t) && !std::is_arithmetic_v<Id>) constexpr std::size_t
    index(Id id) noexcept {
  return static_cast<std::size_t>(id);
}

/// A span of time in seconds.
struct Seconds {
  double count = 0.0;

  friend constexpr Seconds operator+(Seconds a, Seconds b) noexcept { return {a.count + b.count}; }
  friend constexpr Seconds operator-(Seconds a, Seconds b) noexcept { return {a.count - b.count}; }
  friend constexpr Seconds operator*(Seconds a, double factor) noexcept { return {a.count * factor}; }
  friend constexpr Seconds operator*(double factor, Seconds a) noexcept { return {a.count * factor}; }
  friend constexpr Seconds operator/(Seconds a, double divisor) noexcept { return {a.count / divisor}; }
  friend constexpr double operator/(Seconds a, Seconds b) noexcept { return a.count / b.count; }
  constexpr Seconds& operator+=(Seconds other) noexcept {
    count += other.count;
    return *this;
  }
  constexpr Seconds& operator-=(Seconds other) noexcept {
    count -= other.count;
    return *this;
  }
  friend constexpr auto operator<=>(Seconds, Seconds) noexcept = default;
};

/// A size in bytes.
struct Bytes {
  std::uint64_t count = 0;

  friend constexpr Bytes operator+(Bytes a, Bytes b) noexcept { return {a.count + b.count}; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) noexcept { return {a.count - b.count}; }
  friend constexpr Bytes operator*(Bytes a, std::uint64_t factor) noexcept { return {a.count * factor}; }
  constexpr Bytes& operator+=(Bytes other) noexcept {
    count += other.count;
    return *this;
  }
  constexpr Bytes& operator-=(Bytes other) noexcept {
    count -= other.count;
    return *this;
  }
  friend constexpr auto operator<=>(Bytes, Bytes) noexcept = default;
};

inline constexpr Bytes kKiB{1024};
inline constexpr Bytes kMiB{1024 * 1024};
inline constexpr Bytes kGiB{std::uint64_t{1024} * 1024 * 1024};

/// What a task will do, as far as its author knows: the input of a cost estimate before any measurement.
/// Zero means not stated.
struct Work {
  double flops = 0.0;  ///< Floating-point (or, for integer kernels, arithmetic) operations.
  double bytes = 0.0;  ///< Bytes read and written in the device's memory; 0 = the size of the operands.
};

}  // namespace hocket
