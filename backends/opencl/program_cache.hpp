// SPDX-License-Identifier: Apache-2.0
/// The compiled programs and kernels of one device. A program is compiled at its first use, once for each
/// source and build options; that takes seconds on the calling thread. A failed compilation is remembered as
/// well.
#pragma once

#include <array>
#include <hocket/opencl.hpp>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "opencl/handle.hpp"
#include "opencl/kernel_arguments.hpp"

namespace hocket::opencl_backend {

struct Kernel {
  Owned<cl_kernel> handle;
  std::string name;
  KernelSignature signature;
  std::size_t largest_group = 1;                       ///< Most work items in a group on this device.
  std::array<std::size_t, 3> required_group{0, 0, 0};  ///< `reqd_work_group_size`; zeros where there is none.
};

/// For one thread at a time: setting the arguments of one kernel object is not thread-safe either.
class ProgramCache {
 public:
  /// `context` and `device` must outlive it; `device_name` is for messages.
  ProgramCache(cl_context context, cl_device_id device, std::string device_name)
      : context_(context), device_(device), device_name_(std::move(device_name)) {}

  /// Throws `DeviceError` with the build log where the program does not compile, and `InvalidArgument` with
  /// the names of its kernels where it has none of that name. The kernel stays valid as long as the cache.
  const Kernel& kernel(const OpenclVariant& variant);

 private:
  struct Program {
    Owned<cl_program> handle;
    std::string failure;  ///< Why it was not compiled; empty where it was.
    std::map<std::string, Kernel, std::less<>> kernels;
  };
  using Key = std::tuple<std::string, std::string>;  // source, options
  using KeyView = std::tuple<std::string_view, std::string_view>;
  struct KeyLess {
    using is_transparent = void;
    static KeyView view(const Key& key) { return {std::get<0>(key), std::get<1>(key)}; }
    static KeyView view(const KeyView& key) { return key; }
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return view(a) < view(b);
    }
  };

  Program& program(const OpenclVariant& variant);
  Program compile(const OpenclVariant& variant) const;
  Kernel create_kernel(const Program& program, const std::string& name) const;

  cl_context context_;
  cl_device_id device_;
  std::string device_name_;
  std::map<Key, Program, KeyLess> programs_;
};

}  // namespace hocket::opencl_backend
