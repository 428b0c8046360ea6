// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reports and files for the tests of the exporters.

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <hocket/report.hpp>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>

namespace hocket::trace::sample {

/// A report of two devices (two CPU workers and an emulated one), three tasks, of which one failed, and two
/// copies.
inline Report small_report() {
  Report report;
  report.end = Seconds{2.0};
  report.makespan = Seconds{0.004};
  report.tasks = 2;
  report.failed = 1;
  report.cancelled = 4;
  report.bytes_moved = Bytes{4096};
  report.flops = 8e6;
  report.policy = "eft";
  report.devices.resize(2);
  report.devices[0] = {DeviceId{0}, "cpu", "cpu:0", 2, 1, Seconds{0.004}, std::nullopt, 2e6};
  report.devices[1] = {DeviceId{1}, "pim", "pim:0", 1, 1, Seconds{0.002}, Seconds{0.25}, 6e6};
  report.links = {{"host", "pim:0", Bytes{4096}, 1, Seconds{0.001}},
                  {"host", "host", Bytes{512}, 1, Seconds{0.001}}};
  const auto task = [&](std::uint64_t id, const char* name, const char* codelet, std::uint32_t device,
                        std::uint32_t worker, double begin, double end) {
    TaskEvent event;
    event.id = TaskId{id};
    event.name = name;
    event.codelet = codelet;
    event.device = DeviceId{device};
    event.worker = worker;
    event.ready = Seconds{begin};
    event.begin = Seconds{begin};
    event.end = Seconds{end};
    report.task_events.push_back(event);
  };
  task(1, "first", "gemm", 0, 0, 1.000, 1.002);
  task(2, "second", "potrf", 0, 1, 1.001, 1.003);
  task(3, "third", "gemm", 1, 0, 1.002, 1.004);
  report.task_events[1].failed = true;
  report.task_events[2].modelled = Seconds{0.25};
  report.transfer_events = {
      {"matrix", "host", "pim:0", Bytes{4096}, TransferReason::Fetch, Seconds{1.001}, Seconds{1.002}},
      {"vector", "host", "host", Bytes{512}, TransferReason::Conversion, Seconds{1.0005}, Seconds{1.0015}}};
  return report;
}

/// What no name should be able to break: quotes, mark-up, separators, control characters, bytes that are not
/// UTF-8.
inline std::string nasty_name() {
  return "a\"b'c\\d<e>&f,g\r\nh\x01i\x7F\xFFj\xE2\x82\xAC]]></script><title>";
}

inline std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
    ++count;
  return count;
}

inline std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A folder of its own that goes away with the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "hocket-trace-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder");
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all, ignored);
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string file(const std::string& name) const { return (path_ / name).string(); }
  const std::filesystem::path& path() const { return path_; }
  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator{}));
  }

 private:
  std::filesystem::path path_;
};

}  // namespace hocket::trace::sample
