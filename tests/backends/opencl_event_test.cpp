// SPDX-License-Identifier: Apache-2.0
// Events and wakers of the OpenCL backend, driven by OpenCL user events so that completion and failure come
// when the test says. No command depends on these events.
#if HOCKET_HAS_OPENCL

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "opencl/discovery.hpp"
#include "opencl/event.hpp"
#include "opencl/waker.hpp"

namespace hocket::opencl_backend {
namespace {

class OpenclEventTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Discovery discovery = discover();
    if (discovery.devices.empty()) GTEST_SKIP() << discovery.trouble;
    cl_device_id id = discovery.devices.front().id;
    context_ = Owned<cl_context>(clCreateContext(nullptr, 1, &id, nullptr, nullptr, nullptr));
    ASSERT_TRUE(context_);
    for (cl_event& command : commands_) {
      command = clCreateUserEvent(context_.get(), nullptr);
      ASSERT_NE(command, nullptr);
      event_->add(command);  // The event owns the reference.
    }
  }

  /// The message of the failure; empty where there is none.
  std::string failure() {
    const std::exception_ptr failure = event_->failure();
    if (failure == nullptr) return {};
    try {
      std::rethrow_exception(failure);
    } catch (const DeviceError& error) {
      return error.what();
    }
  }

  Owned<cl_context> context_;
  std::array<cl_event, 2> commands_{};
  std::shared_ptr<OpenclEvent> event_ =
      std::make_shared<OpenclEvent>("kernel 'k'", std::make_shared<const std::string>("D"), false);
};

TEST_F(OpenclEventTest, IsDoneWhenAllItsCommandsAre) {
  EXPECT_FALSE(event_->done());
  clSetUserEventStatus(commands_[1], CL_COMPLETE);
  EXPECT_FALSE(event_->done());
  clSetUserEventStatus(commands_[0], CL_COMPLETE);
  EXPECT_TRUE(event_->done());
  EXPECT_EQ(failure(), "");
  EXPECT_FALSE(event_->busy().has_value());
}

TEST_F(OpenclEventTest, FailsWithTheNameOfTheErrorWhereAnyCommandFails) {
  clSetUserEventStatus(commands_[0], CL_OUT_OF_RESOURCES);
  EXPECT_FALSE(event_->done()) << "the second command still runs";
  EXPECT_EQ(event_->failure(), nullptr);
  clSetUserEventStatus(commands_[1], CL_COMPLETE);
  EXPECT_TRUE(event_->done());
  EXPECT_EQ(failure(), "OpenCL device D: kernel 'k' failed while it ran: CL_OUT_OF_RESOURCES (-5)");
}

TEST_F(OpenclEventTest, WakesOnceItsLastCommandIsOver) {
  std::atomic<int> calls{0};
  Waker waker;
  waker.watch(commands_[0]);
  waker.set([&calls] { ++calls; });
  EXPECT_EQ(calls, 0);
  clSetUserEventStatus(commands_[0], CL_COMPLETE);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (calls == 0 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  EXPECT_EQ(calls, 1);
}

TEST_F(OpenclEventTest, WakesNobodyForADestroyedDevice) {
  std::atomic<int> calls{0};
  auto gone = std::make_unique<Waker>();
  gone->set([&calls] { ++calls; });
  gone->watch(commands_[0]);
  gone.reset();
  std::atomic<int> later_calls{0};
  Waker later;
  later.set([&later_calls] { ++later_calls; });
  later.watch(commands_[1]);
  clSetUserEventStatus(commands_[0], CL_COMPLETE);
  clSetUserEventStatus(commands_[1], CL_COMPLETE);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (later_calls == 0 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(later_calls, 1);
}

TEST_F(OpenclEventTest, SurvivesAWakerThatThrows) {
  Waker waker;
  std::atomic<int> calls{0};
  waker.set([&calls] {
    ++calls;
    throw std::runtime_error("from a waker");
  });
  waker.watch(commands_[0]);
  waker.watch(commands_[1]);
  for (cl_event command : commands_) clSetUserEventStatus(command, CL_COMPLETE);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (calls < 2 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace hocket::opencl_backend

#endif  // HOCKET_HAS_OPENCL
