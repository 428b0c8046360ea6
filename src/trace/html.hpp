// SPDX-License-Identifier: Apache-2.0
/// A report as a web page.
#pragma once

#include <hocket/report.hpp>
#include <string>

namespace hocket::trace {

/// The page that `write_html` writes: totals, a table of devices, a table of links, the Gantt chart. It needs
/// nothing from outside and no scripts, and follows the reader's light or dark mode. Everything in it is
/// escaped.
std::string html_page(const Report& report, const std::string& title);

}  // namespace hocket::trace
