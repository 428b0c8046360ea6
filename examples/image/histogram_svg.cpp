// SPDX-License-Identifier: Apache-2.0
#include "image/histogram_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hocket::jobs::image {
namespace {

constexpr double kLeft = 40;
constexpr double kWidth = 512;
constexpr double kHeight = 150;
constexpr double kPanel = 210;  // from one panel to the next
constexpr double kTop = 40;

/// The curve of one plane, filled. Heights are on a square-root scale, which keeps rare values visible beside
/// peaks.
std::string curve(const Histogram& histogram, double bottom, double most, const char* colour) {
  std::string path = fmt::format("M{} {}", kLeft, bottom);
  for (std::size_t b = 0; b < kBins; ++b) {
    const double x = kLeft + kWidth * static_cast<double>(b) / kBins;
    const double y = bottom - kHeight * std::sqrt(static_cast<double>(histogram[b]) / most);
    path += fmt::format("L{:.1f} {:.1f}H{:.1f}", x, y, x + kWidth / kBins);
  }
  return fmt::format(
      "<path d=\"{}V{}Z\" fill=\"{}\" fill-opacity=\"0.35\" stroke=\"{}\" stroke-width=\"0.8\"/>\n", path,
      bottom, colour, colour);
}

std::string panel(std::span<const Histogram> planes, const char* title, double top) {
  static constexpr const char* kColours[] = {"#c0392b", "#27804a", "#2861b8"};
  const double bottom = top + kHeight;
  std::uint64_t most = 1;
  for (const Histogram& plane : planes) most = std::max(most, *std::max_element(plane.begin(), plane.end()));
  std::string text =
      fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"14\">{}</text>\n", kLeft, top - 10, title);
  for (std::size_t p = 0; p < planes.size(); ++p)
    text +=
        curve(planes[p], bottom, static_cast<double>(most), planes.size() == 1 ? "#555" : kColours[p % 3]);
  text += fmt::format("<path d=\"M{} {}h{}\" stroke=\"#333\"/>\n", kLeft, bottom, kWidth);
  for (const double tick : {0.0, 0.25, 0.5, 0.75, 1.0})
    text += fmt::format(
        "<text x=\"{}\" y=\"{}\" font-size=\"11\" text-anchor=\"middle\" fill=\"#555\">{}</text>\n",
        kLeft + kWidth * tick, bottom + 16, tick);
  return text;
}

}  // namespace

std::string histogram_svg(std::span<const Histogram> before, std::span<const Histogram> after) {
  const double width = kLeft * 2 + kWidth;
  const double height = kTop + 2 * kPanel - 20;
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" width=\"{}\" height=\"{}\" "
             "font-family=\"sans-serif\" fill=\"#222\">\n"
             "<title>Values of the picture before and after sharpening</title>\n"
             "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
             width, height, width, height) +
         panel(before, "Picture (number of pixels by value, square-root scale)", kTop) +
         panel(after, "Sharpened", kTop + kPanel) + "</svg>\n";
}

}  // namespace hocket::jobs::image
