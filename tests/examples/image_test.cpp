// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>

#include "cli/program.hpp"
#include "image/histogram_svg.hpp"
#include "image/picture.hpp"
#include "image/pipeline.hpp"

namespace hocket::jobs::image {
namespace {

void no_progress(std::size_t, std::size_t) {}

/// The blurred picture in double precision, pixel by pixel.
double blurred_pixel(const Picture& picture, std::size_t plane, std::size_t row, std::size_t column,
                     std::size_t radius) {
  const std::vector<float> stencil = gaussian_stencil(radius);
  const auto clamp = [](std::size_t at, std::size_t shift, std::size_t back, std::size_t extent) {
    const auto moved = static_cast<long>(at + shift) - static_cast<long>(back);
    return static_cast<std::size_t>(std::clamp(moved, 0L, static_cast<long>(extent) - 1));
  };
  double sum = 0.0;
  for (std::size_t u = 0; u <= 2 * radius; ++u)
    for (std::size_t v = 0; v <= 2 * radius; ++v)
      sum += static_cast<double>(stencil[u * (2 * radius + 1) + v]) *
             static_cast<double>(picture.planes[plane][clamp(row, u, radius, picture.height) * picture.width +
                                                       clamp(column, v, radius, picture.width)]);
  return sum;
}

Picture small_picture() {
  Picture picture = synthetic_picture(50);
  picture.height = 37;  // not square
  for (auto& plane : picture.planes) plane.resize(picture.width * picture.height);
  return picture;
}

void expect_right(const std::string& devices, const PipelineOptions& options) {
  const Picture picture = small_picture();
  Runtime runtime({.devices = devices});
  const PipelineResult result = run_pipeline(runtime, picture, options, no_progress);
  for (std::size_t p = 0; p < 3; ++p) {
    Histogram before{};
    Histogram after{};
    for (std::size_t i = 0; i < picture.height; ++i)
      for (std::size_t j = 0; j < picture.width; ++j) {
        const std::size_t at = i * picture.width + j;
        const double value = static_cast<double>(picture.planes[p][at]);
        const double soft = blurred_pixel(picture, p, i, j, options.radius);
        const double sharp =
            std::clamp(value + static_cast<double>(options.amount) * (value - soft), 0.0, 1.0);
        ASSERT_NEAR(static_cast<double>(result.blurred.planes[p][at]), soft, 1e-5)
            << devices << " " << i << " " << j;
        ASSERT_NEAR(static_cast<double>(result.sharpened.planes[p][at]), sharp, 1e-4) << devices;
        const auto bin = [](float v) {
          return std::min<std::size_t>(kBins - 1, static_cast<std::size_t>(v * kBins));
        };
        ++before[bin(picture.planes[p][at])];
        ++after[bin(result.sharpened.planes[p][at])];
      }
    EXPECT_EQ(result.before[p], before) << devices;
    EXPECT_EQ(result.after[p], after) << devices;
  }
}

TEST(ImagePipeline, EqualsAPlainComputationOnCpuCoresWhateverTheTiles) {
  for (const std::size_t tile : {1000, 37, 16, 5}) expect_right("cpu:3", {tile, 3, 1.0F});
  expect_right("cpu:2", {8, 20, 0.5F});  // a halo of several tiles
  expect_right("cpu:2", {20, 0, 2.0F});  // no blur at all
}

TEST(ImagePipeline, EqualsAPlainComputationOnPim) {
  if (HOCKET_HAS_PIM == 0) GTEST_SKIP() << "built without the PIM device";
  expect_right("pim:4", {16, 2, 1.0F});
  expect_right("cpu:1,pim:4", {16, 2, 1.0F});
}

TEST(ImagePipeline, EqualsAPlainComputationOnOpencl) {
  if (HOCKET_HAS_OPENCL == 0) GTEST_SKIP() << "built without OpenCL";
  try {
    const Runtime probe({.devices = "opencl"});
  } catch (const InvalidArgument& error) {
    GTEST_SKIP() << error.what();
  }
  expect_right("opencl", {16, 2, 1.0F});
  expect_right("cpu:1,opencl", {16, 2, 1.0F});
}

TEST(ImagePipeline, StencilAddsUpToOneAndIsSymmetric) {
  for (const std::size_t radius : {0, 1, 4}) {
    const std::vector<float> stencil = gaussian_stencil(radius);
    EXPECT_NEAR(std::accumulate(stencil.begin(), stencil.end(), 0.0), 1.0, 1e-6);
    EXPECT_EQ(stencil.front(), stencil.back());
    EXPECT_EQ(*std::max_element(stencil.begin(), stencil.end()), stencil[stencil.size() / 2]);
  }
}

void expect_error(const std::string& bytes, const std::string& part) {
  try {
    decode(bytes, "file");
    FAIL() << "no error that says " << part;
  } catch (const FileError& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    EXPECT_EQ(std::string(error.what()).rfind("file: ", 0), 0u);
  }
}

TEST(ImageFile, ReadsTextAndBinaryPnmOfEightAndSixteenBits) {
  const Picture text = decode("P3 # red, half grey\n2 1\n 255\n255 0 0  51 51 51\n", "file");
  ASSERT_EQ(text.planes.size(), 3u);
  EXPECT_EQ(text.width, 2u);
  EXPECT_EQ(text.planes[0], (std::vector<float>{1.0F, 0.2F}));
  EXPECT_EQ(text.planes[2], (std::vector<float>{0.0F, 0.2F}));
  const Picture grey = decode(std::string("P5\n1 2\n255\n\x00\xff", 13), "file");
  EXPECT_EQ(grey.planes, (std::vector<std::vector<float>>{{0.0F, 1.0F}}));
  const Picture deep = decode(std::string("P5\n1 1\n65535\n\xff\xff", 15), "file");
  EXPECT_EQ(deep.planes[0][0], 1.0F);
}

TEST(ImageFile, SaysWhatIsWrongWithABrokenPicture) {
  expect_error("hello", "PPM");
  expect_error("P6\n10 10\n255\nabc", "too early");
  expect_error("P3\n1 1\n255\n1 2", "too early");
  expect_error("P3\n1 1\n255\n1 2 300", "300");
  expect_error("P6\n0 10\n255\n", "no pixels");
  expect_error("P6\n9999999999 9999999999\n255\n", "at most");
  expect_error("P6\n1 1\n0\n", "largest value");
  expect_error("P6\nx", "not a number");
}

TEST(ImageFile, RefusesADamagedPng) {
  std::string bytes = encode(synthetic_picture(20));
  if (!knows_png()) GTEST_SKIP() << "built without libpng";
  expect_error(bytes.substr(0, bytes.size() / 2), "PNG cannot be read");
  expect_error(bytes.substr(0, 10), "PNG cannot be read");
}

TEST(ImageFile, WritesWhatItReadsUpToEightBits) {
  const Picture picture = small_picture();
  const Picture again = decode(encode(picture), "file");
  ASSERT_EQ(again.width, picture.width);
  ASSERT_EQ(again.height, picture.height);
  for (std::size_t p = 0; p < 3; ++p)
    for (std::size_t i = 0; i < picture.planes[p].size(); ++i)
      EXPECT_NEAR(again.planes[p][i], picture.planes[p][i], 0.5F / 255 + 1e-6F);
  const Picture grey = decode("P2 2 1 255 0 255", "file");
  EXPECT_EQ(decode(encode(grey), "file").planes, grey.planes);
}

TEST(ImageHistogram, DrawsOneCurveForEachPlaneInEachPanel) {
  const std::vector<Histogram> grey(1, Histogram{});
  const std::vector<Histogram> colour(3, Histogram{});
  const auto curves = [](const std::string& svg) {
    std::size_t count = 0;
    for (std::size_t at = svg.find("fill-opacity"); at != std::string::npos;
         at = svg.find("fill-opacity", at + 1))
      ++count;
    return count;
  };
  EXPECT_EQ(curves(histogram_svg(grey, grey)), 2u);
  EXPECT_EQ(curves(histogram_svg(colour, colour)), 6u);
  EXPECT_EQ(histogram_svg(grey, grey).find("nan"), std::string::npos);
}

#ifdef HOCKET_IMAGE
TEST(ImageProgram, WritesPicturesAndHistogramOfAPictureOfTheUsers) {
  const test::TemporaryFolder folder;
  std::ofstream(folder.file("mine.pgm"), std::ios::binary) << "P2\n3 2\n9\n0 1 2 3 4 5\n";
  const std::string out = folder.file("made/here");
  const auto result = test::run_program(
      HOCKET_IMAGE, {"--input", folder.file("mine.pgm"), "--out", out, "--devices", "cpu:1"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("3 x 2 pixels"), std::string::npos) << result.out;
  for (const char* name : {"blurred", "sharpened"}) {
    const Picture picture = read_picture(out + "/" + name + (knows_png() ? ".png" : ".pgm"));
    EXPECT_EQ(picture.width, 3u);
    EXPECT_EQ(picture.height, 2u);
  }
  EXPECT_TRUE(std::filesystem::exists(out + "/histogram.svg"));
}

TEST(ImageProgram, FailsWhenAPictureCannotBeWritten) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder.file("histogram.svg"));  // a folder in the way
  const auto result =
      test::run_program(HOCKET_IMAGE, {"--size", "20", "--out", folder.path(), "--devices", "cpu:1"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("histogram.svg"), std::string::npos) << result.err;
}
#endif

}  // namespace
}  // namespace hocket::jobs::image
