// SPDX-License-Identifier: Apache-2.0
// expect: hocket: data has 1 to 4 dimensions
#include <hocket/hocket.hpp>

void use(hocket::Runtime& runtime) { auto data = runtime.data<int>({1, 1, 1, 1, 1}); }
