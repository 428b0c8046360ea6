// SPDX-License-Identifier: Apache-2.0
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "accelerator/contender.hpp"

namespace hocket::bench::accelerator {
namespace {

void check(cl_int status, const char* what) {
  if (status != CL_SUCCESS)
    throw std::runtime_error(std::string(what) + " failed: " + std::to_string(status));
}

/// The first device of all platforms.
cl_device_id first_device() {
  std::array<cl_platform_id, 16> platforms{};
  cl_uint count = 0;
  check(clGetPlatformIDs(static_cast<cl_uint>(platforms.size()), platforms.data(), &count),
        "clGetPlatformIDs");
  for (cl_uint i = 0; i < count && i < platforms.size(); ++i) {
    cl_device_id device = nullptr;
    if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, nullptr) == CL_SUCCESS) return device;
  }
  throw std::runtime_error("no OpenCL device");
}

class OnPlainOpencl final : public Contender {
 public:
  OnPlainOpencl(Pattern pattern, std::size_t tasks) : tasks_(tasks) {
    cl_int status = CL_SUCCESS;
    cl_device_id device = first_device();
    context_ = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &status);
    check(status, "clCreateContext");
    queue_ = clCreateCommandQueue(context_, device, 0, &status);
    check(status, "clCreateCommandQueue");
    const char* source = kKernelSource;
    program_ = clCreateProgramWithSource(context_, 1, &source, nullptr, &status);
    check(status, "clCreateProgramWithSource");
    check(clBuildProgram(program_, 1, &device, "", nullptr, nullptr), "clBuildProgram");
    kernel_ = clCreateKernel(program_, kKernelName, &status);
    check(status, "clCreateKernel");
    std::array<int, kElements> zeros{};
    for (std::size_t i = 0; i < (pattern == Pattern::Chain ? 1 : tasks); ++i) {
      buffers_.push_back(clCreateBuffer(context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(zeros),
                                        zeros.data(), &status));
      check(status, "clCreateBuffer");
    }
    const cl_ulong elements = kElements;
    check(clSetKernelArg(kernel_, 0, sizeof(cl_mem), buffers_.data()), "clSetKernelArg");
    check(clSetKernelArg(kernel_, 1, sizeof(elements), &elements), "clSetKernelArg");
  }
  ~OnPlainOpencl() override {
    clFinish(queue_);
    for (cl_mem buffer : buffers_) clReleaseMemObject(buffer);
    clReleaseKernel(kernel_);
    clReleaseProgram(program_);
    clReleaseCommandQueue(queue_);
    clReleaseContext(context_);
  }

  void run() override {
    const std::size_t elements = kElements;
    for (std::size_t i = 0; i < tasks_; ++i) {
      if (buffers_.size() > 1)
        check(clSetKernelArg(kernel_, 0, sizeof(cl_mem), &buffers_[i]), "clSetKernelArg");
      check(clEnqueueNDRangeKernel(queue_, kernel_, 1, nullptr, &elements, nullptr, 0, nullptr, nullptr),
            "clEnqueueNDRangeKernel");
    }
    check(clFinish(queue_), "clFinish");
  }
  int value(std::size_t i) override {
    int element = 0;
    check(
        clEnqueueReadBuffer(queue_, buffers_[i], CL_TRUE, 0, sizeof(element), &element, 0, nullptr, nullptr),
        "clEnqueueReadBuffer");
    return element;
  }

 private:
  std::size_t tasks_;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  cl_program program_ = nullptr;
  cl_kernel kernel_ = nullptr;
  std::vector<cl_mem> buffers_;
};

}  // namespace

std::unique_ptr<Contender> make_plain_opencl(Pattern pattern, std::size_t tasks) {
  return std::make_unique<OnPlainOpencl>(pattern, tasks);
}

}  // namespace hocket::bench::accelerator
