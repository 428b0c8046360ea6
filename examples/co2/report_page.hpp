// SPDX-License-Identifier: Apache-2.0
//
// Writes the report of a run as one HTML page: key figures, the picture, tables, and a timeline (Gantt chart)
// of devices and links that can be zoomed. The page stands alone: styles and script are in it, nothing is
// fetched, and it follows the reader's light or dark setting. Every text given is escaped. Pure; any thread.
#pragma once

#include <string>
#include <vector>

namespace hocket::jobs::co2 {

// One figure of the row at the top.
struct Fact {
  std::string label;
  std::string value;
};

// A table whose first column is text and whose others are numbers already formatted.
struct Table {
  std::string heading;
  std::string note;  // one sentence below the heading; may be empty
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

// One stretch of time on a device or a link.
struct TimelineBar {
  std::string lane;  // the device or link; lanes appear in order of first mention
  std::string name;  // what ran or moved
  double begin_seconds = 0;
  double end_seconds = 0;
  std::string kind;  // gives the colour: the codelet, "copy", ...
};

struct ReportPage {
  std::string title;
  std::string subtitle;
  std::vector<Fact> facts;
  std::string svg;  // trusted mark-up, as draw_svg() returns it
  std::vector<Table> tables;
  std::vector<TimelineBar> timeline;
};

// Throws InvalidArgument where a table row has another number of cells than the table has columns.
std::string draw_report_page(const ReportPage& page);

}  // namespace hocket::jobs::co2
