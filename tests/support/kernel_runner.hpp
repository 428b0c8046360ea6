// SPDX-License-Identifier: Apache-2.0
/// Runs single codelets on devices of one kind, on arrays of the host, and brings the results back.
#pragma once

#include <hocket/hocket.hpp>
#include <string>
#include <type_traits>

#include "support/host_array.hpp"

namespace hocket::testing {

/// A runtime with the devices of one specification, such as "pim:7".
class KernelRunner {
 public:
  explicit KernelRunner(const std::string& devices)
      : kind_(devices.substr(0, devices.find(':'))), runtime_([&] {
          RuntimeOptions options;
          options.devices = devices;
          return options;
        }()) {}

  /// Runs one task on `arguments`: scalars, and arrays for data. Throws what the task throws.
  template <class... Ps, class... Args>
  void run(const Codelet<void(Ps...)>& codelet, Args&&... arguments) {
    runtime_.submit({.on = kind_}, codelet, argument(arguments)...).get();
  }

  Runtime& runtime() { return runtime_; }

 private:
  template <class S>
  requires(std::is_arithmetic_v<S> || std::is_enum_v<S> || std::is_aggregate_v<S>) static S
      argument(const S& scalar) {
    return scalar;
  }
  template <class T>
  Data<T> argument(HostVector<T>& array) {
    const Data<T> whole = runtime_.data(array.whole_data(), {array.whole_extents()[0]});
    return array.is_part() ? whole.block(array.offset(), array.extents()) : whole;
  }
  template <class T>
  Data<T, 2> argument(HostMatrix<T>& array) {
    const Data<T, 2> whole =
        runtime_.data(array.whole_data(), {array.whole_extents()[0], array.whole_extents()[1]});
    return array.is_part() ? whole.block(array.offset(), array.extents()) : whole;
  }

  std::string kind_;
  Runtime runtime_;
};

}  // namespace hocket::testing
