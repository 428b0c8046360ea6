// SPDX-License-Identifier: Apache-2.0
#include "trace/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <hocket/error.hpp>
#include <optional>
#include <system_error>
#include <utility>

namespace hocket::trace {
namespace {

constexpr std::size_t kBlock = std::size_t{64} * 1024;

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// What to do about an error of the operating system.
std::string advice(int error, const std::string& path) {
  switch (error) {
    case ENOENT:
      return fmt::format("create the folder \"{}\" first", folder_of(path));
    case ENOTDIR:
      return fmt::format("\"{}\" is not a folder; choose another path", folder_of(path));
    case EISDIR:
      return "it is a folder; name a file in it";
    case EACCES:
    case EPERM:
    case EROFS:
      return "choose a file in a folder that you may write to";
    case ENOSPC:
    case EDQUOT:
      return "free some space, or choose a path on another disk";
    case EFBIG:
      return "choose a path on a disk that holds larger files, or trace a shorter run";
    default:
      return "choose another path";
  }
}

// The descriptor that paths such as /dev/stdout and /dev/fd/3 stand for. Opening them anew would start at the
// beginning of the file behind them and overwrite what is there.
std::optional<int> named_descriptor(const std::string& path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (path.compare(0, folder.size(), folder) != 0) continue;
    int descriptor = -1;
    const char* end = path.data() + path.size();
    const auto parsed = std::from_chars(path.data() + folder.size(), end, descriptor);
    if (parsed.ec == std::errc{} && parsed.ptr == end && descriptor >= 0) return descriptor;
  }
  return std::nullopt;
}

// A name in the target's folder that nothing else uses: processes differ in their number, and files of one
// process in the count.
std::string temporary_name(const std::string& target) {
  static std::atomic<std::uint64_t> count{0};
  const std::string name =
      fmt::format(".hocket-{}-{}.part", ::getpid(), count.fetch_add(1, std::memory_order_relaxed));
  return (std::filesystem::path(target).parent_path() / name).string();
}

int open_retrying(const char* path, int flags) {
  for (;;) {
    const int descriptor = ::open(path, flags | O_CLOEXEC, 0666);
    if (descriptor >= 0 || errno != EINTR) return descriptor;
  }
}

}  // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)), target_(path_) {
  if (path_.empty()) throw FileError("cannot write a file whose name is empty; give a path");
  buffer_.reserve(kBlock);
  if (const auto descriptor = named_descriptor(path_)) {
    // What the program printed so far comes first.
    if (*descriptor == STDOUT_FILENO) std::fflush(stdout);
    descriptor_ = ::fcntl(*descriptor, F_DUPFD_CLOEXEC, 0);
    if (descriptor_ < 0) fail(errno);
    return;
  }

  struct stat status {};
  const bool exists = ::stat(path_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) fail(EISDIR);
  if (exists && !S_ISREG(status.st_mode)) {
    descriptor_ = open_retrying(path_.c_str(), O_WRONLY);
    if (descriptor_ < 0) fail(errno);
    return;
  }
  if (exists) {
    // Replacing a file takes no permission on the file itself, yet its owner's wish to keep it is to be
    // heeded.
    if (::access(path_.c_str(), W_OK) != 0) fail(errno);
    std::error_code ignored;
    const auto resolved = std::filesystem::canonical(path_, ignored);
    if (!resolved.empty()) target_ = resolved.string();
  }
  do {
    temporary_ = temporary_name(target_);
    descriptor_ = open_retrying(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL);
  } while (descriptor_ < 0 && errno == EEXIST);  // left behind by a killed process of the same number
  if (descriptor_ < 0) {
    const int error = errno;
    temporary_.clear();
    fail(error);
  }
  if (exists && ::fchmod(descriptor_, status.st_mode & 07777) != 0) fail(errno);
}

OutputFile::~OutputFile() { discard(); }

void OutputFile::write(std::string_view text) {
  while (!text.empty()) {
    const std::size_t part = std::min(text.size(), kBlock - buffer_.size());
    buffer_.append(text.substr(0, part));
    text.remove_prefix(part);
    if (buffer_.size() == kBlock) flush();
  }
}

void OutputFile::close() {
  flush();
  // Network file systems report a full disk only here. The descriptor is gone even when this fails.
  if (::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) fail(errno);
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
  temporary_.clear();
}

void OutputFile::flush() {
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(errno);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  buffer_.clear();
}

void OutputFile::discard() noexcept {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

void OutputFile::fail(int error) {
  discard();
  throw FileError(fmt::format("cannot write \"{}\": {}; {}", path_,
                              std::error_code(error, std::generic_category()).message(),
                              advice(error, path_)));
}

void write_file(const std::string& path, std::string_view text) {
  OutputFile file(path);
  file.write(text);
  file.close();
}

}  // namespace hocket::trace
