// SPDX-License-Identifier: Apache-2.0
#include "engine/failures.hpp"

#include <fmt/format.h>

namespace hocket::engine {

using detail::TaskNode;

std::string message_of(const std::exception_ptr& error) {
  if (!error) return "no error";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    const std::string message = exception.what();
    return message.empty() ? "an exception without a message" : message;
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

namespace {

/// Whether an error is that of something that failed, not of a task that was cancelled.
bool failed(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const TaskError& of_task) {
    return of_task.failure() == TaskFailure::Failed;
  } catch (...) {
    return true;
  }
}

}  // namespace

std::exception_ptr make_task_error(const TaskNode& task, TaskFailure failure, const std::string& device,
                                   const std::exception_ptr& cause) {
  std::string message = fmt::format("task '{}'", task.display_name());
  const SourceLocation place = task.place();
  if (place.line != 0) message += fmt::format(" (submitted at {}:{})", place.file, place.line);
  if (failure == TaskFailure::Failed) {
    message += device.empty() ? fmt::format(" failed: {}", message_of(cause))
                              : fmt::format(" failed on {}: {}", device, message_of(cause));
  } else if (cause) {
    message += fmt::format(" was cancelled, since something that it needs {}: {}",
                           failed(cause) ? "failed" : "was cancelled", message_of(cause));
  } else {
    message += " was cancelled before it ran";
  }
  // Thrown while the cause is being handled, so that it becomes the nested exception.
  const auto raise = [&] { throw TaskError(message, failure, task.display_name(), device, place, cause); };
  try {
    if (cause) {
      try {
        std::rethrow_exception(cause);
      } catch (...) {
        raise();
      }
    } else {
      raise();
    }
  } catch (const TaskError&) {
    return std::current_exception();
  }
  return nullptr;  // not reached
}

std::exception_ptr error_of(const TaskNode& task) {
  switch (task.state.load(std::memory_order_acquire)) {
    case TaskState::Failed:
      return task.extra_or_null()->error;
    case TaskState::Cancelled: {
      const TaskNode* const culprit = task.failed_by();
      std::exception_ptr cause;
      if (culprit != nullptr && culprit->extra_or_null() != nullptr) cause = culprit->extra_or_null()->error;
      if (culprit != nullptr && !cause)
        cause = make_task_error(*culprit, TaskFailure::Cancelled, {}, nullptr);
      if (task.kind != detail::TaskKind::Kernel && cause)
        return cause;  // a read, or a graph's run: the culprit's
      return make_task_error(task, TaskFailure::Cancelled, {}, cause);
    }
    default:
      return nullptr;
  }
}

}  // namespace hocket::engine
