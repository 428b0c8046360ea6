// SPDX-License-Identifier: Apache-2.0
/// Writing a report to a file so that either the whole of it appears under its name or nothing does.
#pragma once

#include <string>
#include <string_view>

namespace hocket::trace {

/// A file being written. The text goes to a temporary file in the same folder; `close()` gives it its name,
/// in one step, so that nobody sees half of it and an earlier file of that name survives a failure. Links are
/// followed. What is no regular file (/dev/full, a pipe) is written directly, and so is an open descriptor
/// that the path names (/dev/stdout, /dev/fd/3), at that descriptor's position.
///
/// Every failure throws `FileError` with the path, the reason and a way out; a disk that fills up is noticed
/// in `write` or `close`. One thread at a time. Writes are gathered into blocks of 64 KiB. The file is not
/// forced to the disk: it survives the end of the program, not a power failure just afterwards.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  /// Without `close()` before it: removes what was written.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view text);
  /// Completes the file. Nothing may be written afterwards.
  void close();

 private:
  void flush();
  void discard() noexcept;
  [[noreturn]] void fail(int error);

  std::string path_;       // as the caller gave it, for messages
  std::string target_;     // what the file will be called, links resolved
  std::string temporary_;  // empty where the target is written directly
  std::string buffer_;
  int descriptor_ = -1;
};

/// Writes a whole file at once, with the guarantees of `OutputFile`.
void write_file(const std::string& path, std::string_view text);

}  // namespace hocket::trace
