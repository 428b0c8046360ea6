// SPDX-License-Identifier: Apache-2.0
/// All of the public API that a program needs. DPU programs for PIM devices are in <hocket/pim.hpp>, the bundled
/// kernels in <hocket/kernels.hpp>.
#pragma once

#include <hocket/codelet.hpp>
#include <hocket/data.hpp>
#include <hocket/error.hpp>
#include <hocket/graph.hpp>
#include <hocket/opencl.hpp>
#include <hocket/report.hpp>
#include <hocket/runtime.hpp>
#include <hocket/task.hpp>
#include <hocket/version.hpp>
#include <hocket/view.hpp>
