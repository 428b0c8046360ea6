// SPDX-License-Identifier: Apache-2.0
// Runs a program as a user would, with a watchdog, and keeps what it printed.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace hocket::test {

struct ProgramResult {
  int exit_code = -1;  // -1: it did not exit by itself
  bool hung = false;   // the watchdog ended it
  std::string out;
  std::string err;
};

struct ProgramOptions {
  std::vector<std::pair<std::string, std::string>> environment{};  // added to that of the test
  std::string standard_output{};  // a file to open instead of keeping what is printed, such as /dev/full
  bool closed_output = false;     // standard output is a pipe that nobody reads
};

inline ProgramResult run_program(const std::string& program, const std::vector<std::string>& arguments,
                                 const ProgramOptions& options = {}) {
  std::array<int, 2> out{};
  std::array<int, 2> err{};
  if (pipe2(out.data(), O_CLOEXEC) != 0 || pipe2(err.data(), O_CLOEXEC) != 0)
    throw std::runtime_error("no pipe");
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  if (options.closed_output) close(out[0]);

  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no process");
  if (child == 0) {
    signal(SIGPIPE, SIG_DFL);
    for (const char* name : {"HOCKET_DEVICES", "HOCKET_POLICY", "HOCKET_TRACE"}) unsetenv(name);
    for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
    int to = out[1];
    if (!options.standard_output.empty()) to = open(options.standard_output.c_str(), O_WRONLY);
    dup2(to, STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    execv(program.c_str(), argv.data());
    _exit(127);
  }
  close(out[1]);
  close(err[1]);

  ProgramResult result;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(90);
  std::array<pollfd, 2> streams{{{options.closed_output ? -1 : out[0], POLLIN, 0}, {err[0], POLLIN, 0}}};
  const std::array<std::string*, 2> texts{&result.out, &result.err};
  while (streams[0].fd >= 0 || streams[1].fd >= 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      result.hung = true;
      kill(child, SIGKILL);
      break;
    }
    poll(streams.data(), streams.size(), 100);
    for (std::size_t i = 0; i < streams.size(); ++i) {
      if (streams[i].fd < 0 || streams[i].revents == 0) continue;
      std::array<char, 4096> block{};
      const ssize_t count = read(streams[i].fd, block.data(), block.size());
      if (count > 0)
        texts[i]->append(block.data(), static_cast<std::size_t>(count));
      else
        streams[i].fd = -1;
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (!options.closed_output) close(out[0]);
  close(err[0]);
  return result;
}

// A folder of its own for each test, removed afterwards.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "hocket-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace hocket::test
