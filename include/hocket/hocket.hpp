// SPDX-License-Identifier: Apache-2.0
/// All of the public API that a program needs. The bundled kernels are in <hocket/kernels.hpp>.
#pragma once

#include <hocket/codelet.hpp>
#include <hocket/data.hpp>
#include <hocket/error.hpp>
#include <hocket/graph.hpp>
#include <hocket/opencl.hpp>
#include <hocket/pim.hpp>
#include <hocket/policy.hpp>
#include <hocket/problem.hpp>
#include <hocket/report.hpp>
#include <hocket/runtime.hpp>
#include <hocket/task.hpp>
#include <hocket/version.hpp>
#include <hocket/view.hpp>
