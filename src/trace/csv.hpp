// SPDX-License-Identifier: Apache-2.0
/// Task events as comma-separated values (RFC 4180).
#pragma once

#include <functional>
#include <hocket/report.hpp>
#include <string_view>

namespace hocket::trace {

/// Gives the text, piece by piece, to `sink`: a header, then a record for each task event in the report's
/// order, each ended by CR LF. Times are in seconds with all their digits; `modelled_seconds` is empty where
/// the device is not emulated; `failed` is 0 or 1.
void csv_text(const Report& report, const std::function<void(std::string_view)>& sink);

}  // namespace hocket::trace
