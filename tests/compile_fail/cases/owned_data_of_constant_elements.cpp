// SPDX-License-Identifier: Apache-2.0
// expect: hocket: runtime-owned data that nothing can write is of no use
#include <hocket/hocket.hpp>

void use(hocket::Runtime& runtime) { auto data = runtime.data<const int>({4}); }
