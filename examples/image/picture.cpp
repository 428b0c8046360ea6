// SPDX-License-Identifier: Apache-2.0
#include "image/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <hocket/error.hpp>
#include <iterator>

#if HOCKET_HAS_PNG
#include <png.h>
#endif

namespace hocket::jobs::image {
namespace {

/// More would not fit the memory of most machines several times over, and hints at a damaged header.
constexpr std::size_t kMostPixels = std::size_t{1} << 28U;

[[noreturn]] void bad(const std::string& name, std::string_view what) {
  throw FileError(fmt::format("{}: {}", name, what));
}

Picture empty_picture(std::size_t width, std::size_t height, std::size_t planes, const std::string& name) {
  if (width == 0 || height == 0) bad(name, "the picture has no pixels");
  if (width > kMostPixels / height)
    bad(name,
        fmt::format("the picture has {} x {} pixels; at most {} are taken", width, height, kMostPixels));
  return {width, height, std::vector<std::vector<float>>(planes, std::vector<float>(width * height))};
}

/// The tokens of a PNM header, and the values of a text PNM: whole numbers between blanks and comments.
class PnmText {
 public:
  PnmText(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  std::size_t number() {
    while (at_ < bytes_.size() && (blank(bytes_[at_]) || bytes_[at_] == '#')) {
      if (bytes_[at_] == '#')
        at_ = std::min(bytes_.find('\n', at_), bytes_.size());
      else
        ++at_;
    }
    std::size_t value = 0;
    const std::size_t first = at_;
    for (; at_ < bytes_.size() && bytes_[at_] >= '0' && bytes_[at_] <= '9' && at_ - first < 10; ++at_)
      value = value * 10 + static_cast<std::size_t>(bytes_[at_] - '0');
    if (at_ == first)
      bad(name_, at_ == bytes_.size() ? "the file ends too early" : "not a number where one is due");
    return value;
  }
  /// What follows the one blank after the header.
  std::string_view rest() const { return bytes_.substr(std::min(at_ + 1, bytes_.size())); }

 private:
  static bool blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

  std::string_view bytes_;
  const std::string& name_;
  std::size_t at_ = 2;  // after the magic number
};

Picture decode_pnm(std::string_view bytes, const std::string& name) {
  const char kind = bytes[1];
  const bool text = kind == '2' || kind == '3';
  const std::size_t planes = kind == '3' || kind == '6' ? 3 : 1;
  PnmText header(bytes, name);
  const std::size_t width = header.number();
  const std::size_t height = header.number();
  const std::size_t most = header.number();
  if (most == 0 || most > 65535)
    bad(name, fmt::format("the largest value is {}; it must be 1 to 65535", most));
  Picture picture = empty_picture(width, height, planes, name);
  const std::string_view values = header.rest();
  const std::size_t value_bytes = most > 255 ? 2 : 1;
  const std::size_t due = width * height * planes * value_bytes;
  if (!text && values.size() < due)
    bad(name, fmt::format("the file ends too early: {} bytes of {} are there", values.size(), due));
  std::size_t at = 0;
  for (std::size_t pixel = 0; pixel < width * height; ++pixel)
    for (auto& plane : picture.planes) {
      std::size_t value = 0;
      if (text)
        value = header.number();
      else
        for (std::size_t i = 0; i < value_bytes; ++i)
          value = value * 256 + static_cast<unsigned char>(values[at++]);
      if (value > most) bad(name, fmt::format("a value is {}, above the largest, {}", value, most));
      plane[pixel] = static_cast<float>(value) / static_cast<float>(most);
    }
  return picture;
}

std::uint8_t byte_of(float value) {
  return static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.0F, 1.0F) * 255.0F));
}

/// Values pixel by pixel.
std::vector<std::uint8_t> interleaved(const Picture& picture) {
  std::vector<std::uint8_t> bytes;
  bytes.reserve(picture.width * picture.height * picture.planes.size());
  for (std::size_t pixel = 0; pixel < picture.width * picture.height; ++pixel)
    for (const auto& plane : picture.planes) bytes.push_back(byte_of(plane[pixel]));
  return bytes;
}

#if HOCKET_HAS_PNG

/// Owner of what libpng keeps for a picture.
struct PngImage {
  PngImage() {
    std::memset(&control, 0, sizeof control);
    control.version = PNG_IMAGE_VERSION;
  }
  PngImage(const PngImage&) = delete;
  PngImage& operator=(const PngImage&) = delete;
  ~PngImage() { png_image_free(&control); }
  png_image control;
};

Picture decode_png(std::string_view bytes, const std::string& name) {
  PngImage png;
  if (png_image_begin_read_from_memory(&png.control, bytes.data(), bytes.size()) == 0)
    bad(name, fmt::format("this PNG cannot be read: {}", png.control.message));
  const bool colour = (png.control.format & PNG_FORMAT_FLAG_COLOR) != 0;
  png.control.format = colour ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  Picture picture = empty_picture(png.control.width, png.control.height, colour ? 3 : 1, name);
  std::vector<std::uint8_t> values(PNG_IMAGE_SIZE(png.control));
  const png_color white = {255, 255, 255};
  if (png_image_finish_read(&png.control, &white, values.data(), 0, nullptr) == 0)
    bad(name, fmt::format("this PNG cannot be read: {}", png.control.message));
  std::size_t at = 0;
  for (std::size_t pixel = 0; pixel < picture.width * picture.height; ++pixel)
    for (auto& plane : picture.planes) plane[pixel] = static_cast<float>(values[at++]) / 255.0F;
  return picture;
}

std::string encode_png(const Picture& picture) {
  PngImage png;
  png.control.width = static_cast<png_uint_32>(picture.width);
  png.control.height = static_cast<png_uint_32>(picture.height);
  png.control.format = picture.planes.size() == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  const std::vector<std::uint8_t> values = interleaved(picture);
  std::string bytes(PNG_IMAGE_PNG_SIZE_MAX(png.control), '\0');
  png_alloc_size_t size = bytes.size();
  if (png_image_write_to_memory(&png.control, bytes.data(), &size, 0, values.data(), 0, nullptr) == 0)
    throw FileError(fmt::format("this picture cannot be made a PNG: {}", png.control.message));
  bytes.resize(size);
  return bytes;
}

#endif

/// A number in [0, 1) for each index, the same on every machine.
float noise(std::uint32_t index) {
  std::uint32_t x = index * 0x9e3779b9U;
  x = (x ^ (x >> 16U)) * 0x85ebca6bU;
  x = (x ^ (x >> 13U)) * 0xc2b2ae35U;
  return static_cast<float>((x ^ (x >> 16U)) >> 8U) / 16777216.0F;
}

}  // namespace

bool knows_png() noexcept { return HOCKET_HAS_PNG != 0; }

Picture decode(std::string_view bytes, const std::string& name) {
  if (bytes.substr(0, 4) == "\x89PNG") {
#if HOCKET_HAS_PNG
    return decode_png(bytes, name);
#else
    bad(name, "this build reads no PNG files, since libpng was not found; convert it to PPM");
#endif
  }
  if (bytes.size() > 2 && bytes[0] == 'P' &&
      std::string_view("2356").find(bytes[1]) != std::string_view::npos)
    return decode_pnm(bytes, name);
  bad(name, knows_png() ? "neither a PNG nor a PPM or PGM picture" : "not a PPM or PGM picture");
}

Picture read_picture(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) bad(path, "is a folder, not a picture");
  std::ifstream file(path, std::ios::binary);
  if (!file) bad(path, fmt::format("cannot be opened: {}", std::strerror(errno)));
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (bytes.empty()) bad(path, "is empty, or no file");
  return decode(bytes, path);
}

std::string encode(const Picture& picture) {
#if HOCKET_HAS_PNG
  return encode_png(picture);
#else
  const std::vector<std::uint8_t> values = interleaved(picture);
  return fmt::format("P{}\n{} {}\n255\n", picture.planes.size() == 3 ? 6 : 5, picture.width, picture.height) +
         std::string(values.begin(), values.end());
#endif
}

std::string file_ending(const Picture& picture) {
  if (knows_png()) return ".png";
  return picture.planes.size() == 3 ? ".ppm" : ".pgm";
}

Picture synthetic_picture(std::size_t size) {
  Picture picture = empty_picture(size, size, 3, "synthetic picture");
  const float scale = 1.0F / static_cast<float>(size);
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j < size; ++j) {
      const float x = (static_cast<float>(j) + 0.5F) * scale;
      const float y = (static_cast<float>(i) + 0.5F) * scale;
      const float radius = std::hypot(x - 0.62F, y - 0.4F);
      float colour[3] = {0.25F + 0.5F * x, 0.3F + 0.4F * y, 0.75F - 0.4F * x};
      if (radius < 0.25F) {  // rings that grow finer outwards
        const float ring = 0.5F + 0.5F * std::cos(900.0F * radius * radius);
        colour[0] = 0.95F * ring;
        colour[1] = 0.75F * ring;
        colour[2] = 0.15F + 0.3F * ring;
      } else if (y > 0.72F && x > 0.08F && x < 0.92F) {  // bars, of which every second is dark
        const bool dark = static_cast<int>(x * x * 60.0F) % 2 == 0;
        for (float& c : colour) c = dark ? 0.08F : 0.9F;
      } else if (x < 0.3F && y > 0.15F && y < 0.55F) {  // a square with a sharp edge
        colour[0] = 0.12F;
        colour[1] = 0.45F;
        colour[2] = 0.4F;
      }
      for (std::size_t c = 0; c < 3; ++c) {
        const auto index = static_cast<std::uint32_t>((i * size + j) * 3 + c);
        picture.planes[c][i * size + j] = std::clamp(colour[c] + 0.06F * (noise(index) - 0.5F), 0.0F, 1.0F);
      }
    }
  return picture;
}

}  // namespace hocket::jobs::image
