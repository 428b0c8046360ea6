// SPDX-License-Identifier: Apache-2.0
#include "opencl/program_cache.hpp"

#include <fmt/format.h>

#include "opencl/error.hpp"
#include "opencl/query.hpp"

namespace hocket::opencl_backend {

const Kernel& ProgramCache::kernel(const OpenclVariant& variant) {
  Program& owner = program(variant);
  if (!owner.failure.empty()) throw DeviceError(owner.failure);
  const auto found = owner.kernels.find(variant.kernel);
  if (found != owner.kernels.end()) return found->second;
  return owner.kernels.emplace(variant.kernel, create_kernel(owner, variant.kernel)).first->second;
}

ProgramCache::Program& ProgramCache::program(const OpenclVariant& variant) {
  const auto found = programs_.find(KeyView{variant.source, variant.build_options});
  if (found != programs_.end()) return found->second;
  return programs_.emplace(Key{variant.source, variant.build_options}, compile(variant)).first->second;
}

ProgramCache::Program ProgramCache::compile(const OpenclVariant& variant) const {
  const char* text = variant.source.c_str();
  const std::size_t length = variant.source.size();
  cl_int status = CL_SUCCESS;
  Program program;
  program.handle = Owned<cl_program>(clCreateProgramWithSource(context_, 1, &text, &length, &status));
  check_status(status, fmt::format("creating the program of kernel '{}'", variant.kernel), device_name_);

  const std::string options =
      variant.build_options.empty() ? "-cl-kernel-arg-info" : variant.build_options + " -cl-kernel-arg-info";
  status = clBuildProgram(program.handle.get(), 1, &device_, options.c_str(), nullptr, nullptr);
  if (status == CL_SUCCESS) return program;
  // What may pass is not remembered.
  if (is_out_of_memory(status))
    check_status(status, fmt::format("compiling the program of kernel '{}'", variant.kernel), device_name_);
  const std::string log = query_string([&](std::size_t size, void* out, std::size_t* needed) {
    return clGetProgramBuildInfo(program.handle.get(), device_, CL_PROGRAM_BUILD_LOG, size, out, needed);
  });
  program.failure =
      fmt::format("OpenCL device {}: the program of kernel '{}' does not compile with options \"{}\": {}\n{}",
                  device_name_, variant.kernel, options, status_name(status),
                  log.empty() ? "(the driver gave no build log)" : log);
  return program;
}

Kernel ProgramCache::create_kernel(const Program& program, const std::string& name) const {
  Kernel kernel;
  kernel.name = name;
  cl_int status = CL_SUCCESS;
  kernel.handle = Owned<cl_kernel>(clCreateKernel(program.handle.get(), name.c_str(), &status));
  if (status == CL_INVALID_KERNEL_NAME) {
    std::string names = query_string([&](std::size_t size, void* out, std::size_t* needed) {
      return clGetProgramInfo(program.handle.get(), CL_PROGRAM_KERNEL_NAMES, size, out, needed);
    });
    for (std::size_t at = 0; (at = names.find(';', at)) != std::string::npos; at += 2)
      names.replace(at, 1, ", ");
    throw InvalidArgument(fmt::format("The OpenCL program has no kernel '{}'; its kernels are: {}", name,
                                      names.empty() ? "none" : names));
  }
  check_status(status, fmt::format("creating kernel '{}'", name), device_name_);
  kernel.signature = read_signature(kernel.handle.get());
  status = clGetKernelWorkGroupInfo(kernel.handle.get(), device_, CL_KERNEL_WORK_GROUP_SIZE,
                                    sizeof kernel.largest_group, &kernel.largest_group, nullptr);
  check_status(status, fmt::format("asking for the group size of kernel '{}'", name), device_name_);
  clGetKernelWorkGroupInfo(kernel.handle.get(), device_, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
                           sizeof kernel.required_group, kernel.required_group.data(), nullptr);
  return kernel;
}

}  // namespace hocket::opencl_backend
