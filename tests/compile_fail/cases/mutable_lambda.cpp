// SPDX-License-Identifier: Apache-2.0
// expect: hocket: a kernel may run on several threads at once, so its lambda must not be mutable
#include <hocket/hocket.hpp>

const auto codelet =
    hocket::Codelet{"count", hocket::cpu([n = 0](hocket::View<int> x) mutable { x[0] = ++n; })};
