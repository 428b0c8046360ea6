// SPDX-License-Identifier: Apache-2.0
/// Short ways to the runtimes, codelets and messages that tests of the public API use.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <hocket/hocket.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace hocket::testing {

/// The options of a runtime with these devices and this policy.
inline RuntimeOptions options_for(std::string devices, std::string policy = {}) {
  RuntimeOptions options;
  options.devices = std::move(devices);
  options.policy = std::move(policy);
  return options;
}

/// The message of the `Exception` that `function` throws; a failure of the test where it throws something
/// else or nothing.
template <class Exception, class Function>
std::string message_of(Function&& function) {
  try {
    std::forward<Function>(function)();
  } catch (const Exception& exception) {
    return exception.what();
  } catch (const std::exception& exception) {
    ADD_FAILURE() << "another exception than expected: " << exception.what();
    return {};
  } catch (...) {
    ADD_FAILURE() << "an exception that is no std::exception";
    return {};
  }
  ADD_FAILURE() << "no exception";
  return {};
}

/// Succeeds where `text` holds all the parts.
inline ::testing::AssertionResult holds(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    if (text.find(part) == std::string::npos)
      return ::testing::AssertionFailure() << "\"" << part << "\" is not in: " << text;
  return ::testing::AssertionSuccess();
}

/// x[i] = value.
inline Codelet<void(int, Out<int>)> set_to() {
  return Codelet{"set_to", cpu([](int value, Out<int> x) {
                   for (int& element : x) element = value;
                 })};
}
/// x[i] += value.
inline Codelet<void(int, View<int>)> add() {
  return Codelet{"add", cpu([](int value, View<int> x) {
                   for (int& element : x) element += value;
                 })};
}
/// to[i] = from[i].
inline Codelet<void(View<const int>, Out<int>)> copy() {
  return Codelet{"copy", cpu([](View<const int> from, Out<int> to) {
                   for (std::size_t i = 0; i < to.size(); ++i) to[i] = from[i];
                 })};
}
/// Throws std::runtime_error("broken kernel") from a kernel that updates its data.
inline Codelet<void(View<int>)> broken() {
  return Codelet{"broken", cpu([](View<int>) { throw std::runtime_error("broken kernel"); })};
}

}  // namespace hocket::testing
