// SPDX-License-Identifier: Apache-2.0
/// Pictures and the files that they come from and go to. Pure but for reading and writing; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::jobs::image {

/// Grey (one plane) or red, green, blue (three). Values are 0 (black) to 1; planes are dense and row-major.
struct Picture {
  std::size_t width = 0;
  std::size_t height = 0;
  std::vector<std::vector<float>> planes;
};

/// Whether this build reads and writes PNG; PPM and PGM it always does.
bool knows_png() noexcept;

/// Reads a picture from the bytes of a file: PNG (8 and 16 bits, palettes; transparency shows white), PPM or
/// PGM (text or binary, up to 16 bits). `name` is for messages. Throws `FileError` that says what is wrong
/// with it.
Picture decode(std::string_view bytes, const std::string& name);
/// Reads a file, whatever its name ends with. Throws `FileError`.
Picture read_picture(const std::string& path);

/// The bytes of a PNG file, or of a PPM or PGM file where the build has no PNG. 8 bits a value, rounded.
std::string encode(const Picture& picture);
/// What the name of such a file ends with: ".png", ".ppm", ".pgm".
std::string file_ending(const Picture& picture);

/// A picture to try things on: shades, edges, circles and fine stripes in colour, and a little noise.
Picture synthetic_picture(std::size_t size);

}  // namespace hocket::jobs::image
