// SPDX-License-Identifier: Apache-2.0
/// An environment variable for as long as an object lives.
#pragma once

#include <cstdlib>

namespace hocket::testing {

/// Sets an environment variable while it lives.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() { unsetenv(name_); }

 private:
  const char* name_;
};

}  // namespace hocket::testing
