// SPDX-License-Identifier: Apache-2.0
//
// Draws a regression as one SVG picture: on the left the whole record with fit, forecast and band, on the
// right the last years of the record and the first of the forecast, large enough to tell single observations.
//
// The picture stands alone: own background (it reads the same on a light and on a dark page), no scripts, no
// external fonts or files. It may be written to a file as it is, or be put into an HTML page. Its size is
// bounded: of points that fall on the same half pixel one is drawn. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "co2/model.hpp"

namespace hocket::jobs::co2 {

struct Picture {
  std::string title;
  std::string subtitle;
  std::string value_label;    // of the vertical axis, with its unit
  std::vector<double> years;  // the observations
  std::vector<double> values;
  Prediction fit;       // at times within the record; may be empty
  Prediction forecast;  // at times after it; may be empty; its band is mean ± 2 deviations
};

// Throws InvalidArgument where there are no observations or lengths disagree.
std::string draw_svg(const Picture& picture);

}  // namespace hocket::jobs::co2
