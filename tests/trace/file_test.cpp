// SPDX-License-Identifier: Apache-2.0
// Files appear whole or not at all, and failures say what to do.
#include "trace/file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <hocket/error.hpp>
#include <initializer_list>
#include <string>

#include "trace/sample.hpp"

namespace hocket::trace {
namespace {

using sample::contents;
using sample::TemporaryFolder;

std::string failure_of(const std::string& path, const std::string& text = "text") {
  try {
    write_file(path, text);
  } catch (const FileError& error) {
    return error.what();
  }
  return "no failure";
}

void expect_parts(const std::string& message, std::initializer_list<std::string> parts) {
  for (const std::string& part : parts) EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(OutputFile, HoldsWhatWasWrittenInPieces) {
  const TemporaryFolder folder;
  std::string expected;
  OutputFile file(folder.file("pieces"));
  for (int i = 0; i < 50000; ++i) {
    const std::string piece = std::to_string(i) + " ";
    file.write(piece);
    expected += piece;
  }
  file.close();
  EXPECT_EQ(contents(folder.file("pieces")), expected);
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(OutputFile, HasNoNameBeforeItIsComplete) {
  const TemporaryFolder folder;
  OutputFile file(folder.file("report"));
  file.write(std::string(1 << 20, 'x'));
  EXPECT_FALSE(std::filesystem::exists(folder.file("report")));
  file.close();
  EXPECT_EQ(std::filesystem::file_size(folder.file("report")), std::size_t{1} << 20);
}

TEST(OutputFile, LeavesNothingBehindWhenAbandoned) {
  const TemporaryFolder folder;
  write_file(folder.file("report"), "earlier");
  {
    OutputFile file(folder.file("report"));
    file.write(std::string(1 << 20, 'x'));
  }
  EXPECT_EQ(contents(folder.file("report")), "earlier");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(OutputFile, KeepsThePermissionsOfTheFileItReplaces) {
  const TemporaryFolder folder;
  write_file(folder.file("report"), "earlier");
  ASSERT_EQ(::chmod(folder.file("report").c_str(), 0640), 0);
  write_file(folder.file("report"), "later");
  struct stat status {};
  ASSERT_EQ(::stat(folder.file("report").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640u);
  EXPECT_EQ(contents(folder.file("report")), "later");
}

TEST(OutputFile, FollowsALinkAndKeepsIt) {
  const TemporaryFolder folder;
  write_file(folder.file("real"), "earlier");
  std::filesystem::create_symlink(folder.file("real"), folder.file("link"));
  write_file(folder.file("link"), "later");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("link")));
  EXPECT_EQ(contents(folder.file("real")), "later");
}

TEST(OutputFile, ReportsAFullDiskOfAFewBytesAndOfManyBlocks) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full on this machine";
  for (const std::size_t size : {std::size_t{1}, std::size_t{1} << 20})
    expect_parts(failure_of("/dev/full", std::string(size, 'x')),
                 {"\"/dev/full\"", "No space left", "free some space"});
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST(OutputFile, NamesTheFolderThatIsMissing) {
  const TemporaryFolder folder;
  expect_parts(failure_of(folder.file("none/report")),
               {"No such file or directory", "create the folder \"" + folder.file("none") + "\""});
}

TEST(OutputFile, RefusesAFolderAnEmptyNameAndAFileTakenForAFolder) {
  const TemporaryFolder folder;
  expect_parts(failure_of(folder.path().string()), {"name a file in it"});
  expect_parts(failure_of(""), {"empty"});
  write_file(folder.file("plain"), "");
  expect_parts(failure_of(folder.file("plain/report")), {"is not a folder"});
}

// Runs `body` in a child process that is not root, since root may write everywhere; 0 where it returned true.
template <class Body>
int as_nobody(const TemporaryFolder& folder, Body body) {
  if (::geteuid() == 0) {
    EXPECT_EQ(::chown(folder.path().c_str(), 65534, 65534), 0);
  }
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) ::_exit(2);
    ::_exit(body() ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(OutputFile, SaysWhereToWriteWhenTheFolderMayNotBeWritten) {
  const TemporaryFolder folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0555), 0);
  EXPECT_EQ(as_nobody(folder,
                      [&] {
                        const std::string message = failure_of(folder.file("report"));
                        return message.find("Permission denied") != std::string::npos &&
                               message.find("a folder that you may write to") != std::string::npos;
                      }),
            0);
}

TEST(OutputFile, DoesNotReplaceAFileThatItsOwnerProtected) {
  const TemporaryFolder folder;
  write_file(folder.file("report"), "earlier");
  ASSERT_EQ(::chmod(folder.file("report").c_str(), 0444), 0);
  EXPECT_EQ(
      as_nobody(folder,
                [&] { return failure_of(folder.file("report")).find("Permission") != std::string::npos; }),
      0);
  EXPECT_EQ(contents(folder.file("report")), "earlier");
}

TEST(OutputFile, WritesToAnOpenDescriptorAtItsPosition) {
  const TemporaryFolder folder;
  const int descriptor = ::open(folder.file("log").c_str(), O_CREAT | O_RDWR, 0600);
  ASSERT_GE(descriptor, 0);
  ASSERT_EQ(::write(descriptor, "before ", 7), 7);
  write_file("/dev/fd/" + std::to_string(descriptor), "report");
  ASSERT_EQ(::write(descriptor, " after", 6), 6);
  ::close(descriptor);
  EXPECT_EQ(contents(folder.file("log")), "before report after");
}

TEST(OutputFile, WritesToAPipe) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  write_file("/proc/self/fd/" + std::to_string(ends[1]), "report");
  char text[16] = {};
  EXPECT_EQ(::read(ends[0], text, sizeof text), 6);
  EXPECT_STREQ(text, "report");
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace hocket::trace
