// SPDX-License-Identifier: Apache-2.0
// expect: hocket: this data is read-only (Data<const T>)
#include <hocket/hocket.hpp>

void use(hocket::Runtime& runtime, const hocket::Data<const int>& x) { auto view = runtime.write(x); }
