// SPDX-License-Identifier: Apache-2.0
//
// The roofline bound as a prior for tasks that have not been measured: Williams, Waterman and Patterson,
// "Roofline: an insightful visual performance model", CACM 52(4), 2009. Pure functions; any thread.
#pragma once

#include <hocket/types.hpp>

namespace hocket::cost {

// The shortest time in which a device that computes at most `flops_per_second` and moves at most
// `bytes_per_second` can do this work, computing and moving at the same time: max(flops / flops_per_second,
// bytes / bytes_per_second). Work of zero takes no time, whatever the speed. Throws `InvalidArgument` if the
// work is negative or not finite, or if there is work of a kind for which the speed is not above zero.
Seconds roofline_seconds(double flops, double bytes, double flops_per_second, double bytes_per_second);

}  // namespace hocket::cost
