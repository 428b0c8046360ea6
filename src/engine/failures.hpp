// SPDX-License-Identifier: Apache-2.0
/// The errors of tasks, as users see them.
#pragma once

#include <exception>
#include <hocket/error.hpp>
#include <string>

#include "graph/task_node.hpp"

namespace hocket::engine {

/// A `TaskError` for a task, with `cause` nested in it.
std::exception_ptr make_task_error(const detail::TaskNode& task, TaskFailure failure,
                                   const std::string& device, const std::exception_ptr& cause);

/// The error with which a wait for a task that is over ends: its own, or for a cancelled one an error that names it
/// and the failure that it fell to. Null where it succeeded.
std::exception_ptr error_of(const detail::TaskNode& task);

/// `what()` of an exception, or a word for one that has none.
std::string message_of(const std::exception_ptr& error);

}  // namespace hocket::engine
