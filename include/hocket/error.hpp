// SPDX-License-Identifier: Apache-2.0
/// The exceptions of the library. Every message says what went wrong, where, and what to do about it.
#pragma once

#include <cstdint>
#include <exception>
#include <hocket/source_location.hpp>
#include <stdexcept>
#include <string>

namespace hocket {

/// Base of everything that the library throws.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A value that a caller passed cannot be used: a shape, a name, an option, a device specification.
class InvalidArgument : public Error {
 public:
  using Error::Error;
};

/// No device of this runtime can run the task; the message names the codelet, its variants and the devices.
class NoEligibleDevice : public Error {
 public:
  using Error::Error;
};

/// A memory node is too small for the operands of one task; the message gives the sizes and the limit.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

/// A device or its driver failed: a kernel that does not compile, a failed copy, a lost device.
class DeviceError : public Error {
 public:
  using Error::Error;
};

/// A task read data that nothing has written.
class UninitialisedRead : public Error {
 public:
  using Error::Error;
};

/// A kernel broke its declared access; found in checked mode (`RuntimeOptions::check`).
class AccessViolation : public Error {
 public:
  using Error::Error;
};

/// A file could not be read or written; the message names it.
class FileError : public Error {
 public:
  using Error::Error;
};

/// Why a task did not deliver its result.
enum class TaskFailure : std::uint8_t {
  Failed,     ///< Its kernel threw, or its device failed.
  Cancelled,  ///< It never ran: something that it needed failed, or `cancel()` was called.
};

/// Thrown by `Task::get()`, `Runtime::wait()` and host access when a task failed or was cancelled.
/// `what()` is complete in itself; the accessors give the parts. The cause is also nested
/// (`std::rethrow_if_nested`).
class TaskError : public Error, public std::nested_exception {
 public:
  TaskError(const std::string& message, TaskFailure failure, std::string task, std::string device,
            SourceLocation location, std::exception_ptr cause)
      : Error(message),
        failure_(failure),
        task_(std::move(task)),
        device_(std::move(device)),
        location_(location),
        cause_(std::move(cause)) {}

  TaskFailure failure() const noexcept { return failure_; }
  /// Name of the task whose failure this reports (its codelet's name where it has none of its own).
  const std::string& task() const noexcept { return task_; }
  /// Name of the device that it ran on; empty when it never ran.
  const std::string& device() const noexcept { return device_; }
  /// Where the task was submitted.
  SourceLocation location() const noexcept { return location_; }
  /// What the kernel threw; for a cancelled task, the error of the task that it depended on. May be null
  /// for a task that was cancelled by `cancel()`.
  std::exception_ptr cause() const noexcept { return cause_; }

 private:
  TaskFailure failure_;
  std::string task_;
  std::string device_;
  SourceLocation location_;
  std::exception_ptr cause_;
};

}  // namespace hocket
