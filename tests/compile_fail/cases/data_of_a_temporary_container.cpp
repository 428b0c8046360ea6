// SPDX-License-Identifier: Apache-2.0
// expect: hocket: the elements of a temporary would be gone at the end of the statement; keep the container in a variable, or let the runtime own the data
#include <hocket/hocket.hpp>
#include <vector>

hocket::Data<int> use(hocket::Runtime& runtime) { return runtime.data(std::vector<int>(3)); }
