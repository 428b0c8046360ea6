// SPDX-License-Identifier: Apache-2.0
#include "trace/gantt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

#include "trace/bars.hpp"
#include "trace/escape.hpp"
#include "trace/lanes.hpp"
#include "trace/quantity.hpp"

namespace hocket {
namespace trace {
namespace {

// Ten hues of the OKLCH colour space, all of relative luminance 0.165: white text on them has a contrast
// of 4.9:1, and they stand out 3:1 or better from both backgrounds.
constexpr std::array<const char*, 10> kColours = {"#2971c7", "#ba5217", "#1f8057", "#9c55ac", "#8a6e08",
                                                  "#087e83", "#7661c5", "#547c1d", "#b54b83", "#be4959"};
constexpr const char* kOtherColour = "#717171";

constexpr double kWidth = 1200.0;
constexpr double kMargin = 23.0;
constexpr double kRight = 36.0;     // room for half of the last tick's label
constexpr double kCharacter = 7.4;  // width of a character at 12 px in a wide sans-serif font, on average
constexpr double kAxis = 46.0;
constexpr std::uint32_t kMostRows = 4;
constexpr std::size_t kLongestLabel = 30;

// No CSS variables: some viewers of SVG (librsvg) do not know them. All classes begin with hk-gantt, since
// the rules apply to the whole page that the chart is put into.
constexpr const char* kStyle =
    ".hk-gantt{max-width:100%;height:auto;font:12px system-ui,-apple-system,'Segoe UI','Helvetica "
    "Neue',Arial,'DejaVu Sans',sans-serif}"
    ".hk-gantt-page{fill:#fff}.hk-gantt-lane{fill:#eff1f3}.hk-gantt-lane:hover{fill:#e3e6ea}"
    ".hk-gantt-grid{stroke:#1b2026;stroke-opacity:.13}.hk-gantt-rule{stroke:#c3c8ce}"
    ".hk-gantt-ink{fill:#1b2026}.hk-gantt-quiet{fill:#5c656f}.hk-gantt-name{fill:#fff;pointer-events:none}"
    ".hk-gantt-copy{stroke:#717b86;stroke-width:1}.hk-gantt-hatch{stroke:#66707b;stroke-width:1.6}"
    ".hk-gantt-ground{fill:#dde1e5}.hk-gantt-failed{stroke:#e00020;stroke-width:2}"
    ".hk-gantt-bar:hover{filter:brightness(1.2)}"
    "@media(prefers-color-scheme:dark){"
    ".hk-gantt-page{fill:#1d2126}.hk-gantt-lane{fill:#272c32}.hk-gantt-lane:hover{fill:#31373e}"
    ".hk-gantt-grid{stroke:#e6e9ec}.hk-gantt-rule{stroke:#474e57}"
    ".hk-gantt-ink{fill:#e6e9ec}.hk-gantt-quiet{fill:#9aa4af}"
    ".hk-gantt-copy{stroke:#8b96a2}.hk-gantt-hatch{stroke:#98a3af}.hk-gantt-ground{fill:#3b424a}"
    ".hk-gantt-failed{stroke:#ff6b7c}}";

constexpr const char* kPatterns =
    "<defs>"
    "<pattern id=\"hk-gantt-copy\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
    "patternTransform=\"rotate(45)\"><rect class=\"hk-gantt-ground\" width=\"6\" height=\"6\"/>"
    "<path class=\"hk-gantt-hatch\" d=\"M0 0V6\"/></pattern>"
    "<pattern id=\"hk-gantt-conversion\" width=\"4\" height=\"4\" patternUnits=\"userSpaceOnUse\" "
    "patternTransform=\"rotate(-45)\"><rect class=\"hk-gantt-ground\" width=\"4\" height=\"4\"/>"
    "<path class=\"hk-gantt-hatch\" d=\"M0 0V4M0 0H4\"/></pattern>"
    "</defs>";

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;  // not a continuation byte of UTF-8
  }));
}

// The text, or its beginning and an ellipsis.
std::string shortened(const std::string& text, std::size_t most) {
  if (characters(text) <= most) return text;
  std::string result;
  std::size_t count = 0;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xC0) != 0x80 && ++count == most) break;
    result += c;
  }
  return result + "…";
}

// The unit of the time axis.
struct Unit {
  const char* name;
  double seconds;
};
Unit axis_unit(double span) {
  if (span >= 1.0) return {"seconds", 1.0};
  if (span >= 1e-3) return {"milliseconds", 1e-3};
  if (span >= 1e-6) return {"microseconds", 1e-6};
  return {"nanoseconds", 1e-9};
}

// A distance of 1, 2 or 5 times a power of ten, the one that comes nearest to `count` ticks.
double tick_step(double span, double count) {
  const double raw = span / count;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  const double factor = raw / power;
  return power * (factor < 1.4 ? 1.0 : factor < 3.2 ? 2.0 : factor < 7.1 ? 5.0 : 10.0);
}

std::string plural(std::size_t count, const char* noun) {
  return fmt::format("{} {}{}", format_count(count), noun, count == 1 ? "" : "s");
}

class Painter {
 public:
  Painter(const Report& report, std::size_t most_bars)
      : report_(report), chart_(make_chart(report, most_bars, kWidth, kMostRows)) {}

  std::string paint() {
    if (chart_.events == 0) return paint_nothing();
    lay_out();
    legend();
    const double top = y_;
    y_ += 6.0;
    for (std::size_t i = 0; i < chart_.lanes.size(); ++i) lane(i);
    axis(top);
    notes();
    return page();
  }

 private:
  template <class... Arguments>
  void draw(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(body_), format, std::forward<Arguments>(arguments)...);
  }

  std::string page() const {
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"hk-gantt\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
        "width=\"{0:.0f}\" height=\"{1:.0f}\" role=\"img\" aria-label=\"Gantt chart of devices and links\">"
        "<style>{2}</style>{3}<rect class=\"hk-gantt-page\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "rx=\"8\"/>\n{4}"
        "</svg>",
        kWidth, std::ceil(y_), kStyle, kPatterns, body_);
  }

  std::string paint_nothing() {
    const bool ran = report_.tasks + report_.failed > 0;
    draw(
        "<text class=\"hk-gantt-ink\" x=\"{}\" y=\"34\">{}</text>"
        "<text class=\"hk-gantt-quiet\" x=\"{}\" y=\"54\">{}</text>\n",
        kMargin, ran ? "No single tasks were recorded." : "Nothing has run.", kMargin,
        "Set RuntimeOptions::trace, or HOCKET_TRACE=1, to record each task and copy.");
    y_ = 74.0;
    return page();
  }

  void lay_out() {
    std::size_t longest = 0;
    bool numbered = false;
    std::uint32_t rows = 0;
    for (std::size_t i = 0; i < chart_.lanes.size(); ++i) {
      longest = std::max(longest, std::min(characters(chart_.lanes[i].owner), kLongestLabel));
      numbered = numbered || !chart_.lanes[i].only_of_owner;
      rows += chart_.bars[i].row_count;
    }
    row_height_ = std::clamp(std::floor(720.0 / rows), 5.0, 24.0);
    left_ = kMargin + static_cast<double>(longest) * kCharacter + (numbered ? 42.0 : 20.0);
    scale_ = (kWidth - kRight - left_) / std::max((chart_.end - chart_.begin).count, 1e-12);
  }

  double x(Seconds time) const { return left_ + (time - chart_.begin).count * scale_; }

  const char* colour(std::size_t codelet) const {
    const bool shared = chart_.codelets.size() > kColours.size() && codelet + 1 >= kColours.size();
    return shared ? kOtherColour : kColours[codelet];
  }

  void legend() {
    double at = kMargin;
    y_ = 18.0;
    const auto item = [&](const std::string& fill, const char* extra, const std::string& name,
                          const std::string& more) {
      const double width =
          20.0 + static_cast<double>(characters(name) + characters(more)) * kCharacter + 22.0;
      if (at > kMargin && at + width > kWidth - kMargin) {
        at = kMargin;
        y_ += 22.0;
      }
      draw(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"12\" height=\"12\" rx=\"3\" fill=\"{}\"{}/>"
          "<text class=\"hk-gantt-ink\" x=\"{:.1f}\" y=\"{:.1f}\">{} <tspan class=\"hk-gantt-quiet\" "
          "dx=\"3\">{}</tspan></text>\n",
          at, y_, fill, extra, at + 18.0, y_ + 10.5, escape_markup(name), more);
      at += width;
    };
    const std::size_t all = chart_.codelets.size();
    const std::size_t own = all > kColours.size() ? kColours.size() - 1 : all;
    for (std::size_t i = 0; i < own; ++i) {
      const CodeletTime& codelet = chart_.codelets[i];
      item(kColours[i], "", shortened(codelet.name.empty() ? "task" : codelet.name, kLongestLabel),
           format_seconds(codelet.busy));
    }
    if (own < all) {
      Seconds rest{};
      for (std::size_t i = own; i < all; ++i) rest += chart_.codelets[i].busy;
      item(kOtherColour, "", plural(all - own, "other codelet"), format_seconds(rest));
    }
    Seconds copies{};
    Seconds conversions{};
    bool has_failed = false;
    for (const TransferEvent& event : report_.transfer_events)
      (event.reason == TransferReason::Conversion ? conversions : copies) += event.end - event.begin;
    for (const TaskEvent& event : report_.task_events) has_failed = has_failed || event.failed;
    if (copies > Seconds{})
      item("url(#hk-gantt-copy)", " class=\"hk-gantt-copy\"", "copy", format_seconds(copies));
    if (conversions > Seconds{})
      item("url(#hk-gantt-conversion)", " class=\"hk-gantt-copy\"", "conversion",
           format_seconds(conversions));
    if (has_failed) item("none", " class=\"hk-gantt-failed\"", "failed", "");
    y_ += 24.0;
  }

  void lane(std::size_t number) {
    const Lane& lane = chart_.lanes[number];
    const LaneBars& bars = chart_.bars[number];
    const bool starts_links =
        lane.kind == LaneKind::Link && (number == 0 || chart_.lanes[number - 1].kind == LaneKind::Worker);
    if (number > 0 && lane.first_of_owner)
      y_ += starts_links ? 16.0 : lane.kind == LaneKind::Link ? 2.0 : 8.0;
    const double height = row_height_ * bars.row_count;
    const double gap = row_height_ >= 10.0 ? 2.0 : 1.0;
    const double baseline = y_ + std::min(height, 24.0) / 2.0 + 4.0 - gap / 2.0;

    // A label where the one above leaves room for it; the lane's own tip has it in any case.
    if (lane.first_of_owner && y_ >= next_label_) {
      draw("<text class=\"hk-gantt-ink\" x=\"{}\" y=\"{:.1f}\" font-weight=\"600\">{}</text>", kMargin,
           baseline, escape_markup(shortened(lane.owner, kLongestLabel)));
      next_label_ = y_ + 14.0;
    }
    if (!lane.only_of_owner && (lane.first_of_owner || y_ >= next_number_)) {
      draw("<text class=\"hk-gantt-quiet\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>",
           left_ - 8.0, baseline, lane.worker);
      next_number_ = y_ + 14.0;
    }
    draw(
        "<rect class=\"hk-gantt-lane\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
        "height=\"{:.1f}\"><title>{}{}"
        "</title></rect>\n",
        left_, y_, kWidth - kRight - left_, height - gap, escape_markup(lane.owner),
        lane.only_of_owner ? "" : fmt::format(", worker {}", lane.worker));
    for (const Bar& bar : bars.bars) this->bar(lane, bar, gap);
    y_ += height;
  }

  void bar(const Lane& lane, const Bar& bar, double gap) {
    const bool is_task = lane.kind == LaneKind::Worker;
    const double from = x(bar.begin);
    // Nothing that happened is invisible, however short.
    const double width = std::max(x(bar.end) - from, 0.8);
    const double top = y_ + bar.row * row_height_;
    const double inset = bar.failed > 0 ? 1.0 : 0.0;  // keeps the outline inside the lane
    const char* fill = is_task          ? colour(bar.codelet)
                       : bar.conversion ? "url(#hk-gantt-conversion)"
                                        : "url(#hk-gantt-copy)";
    draw(
        "<rect class=\"hk-gantt-bar{}\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\"{} "
        "fill=\"{}\"",
        bar.failed > 0 ? " hk-gantt-failed" : "", from, top + inset, width, row_height_ - gap - 2.0 * inset,
        width > 5.0 && bar.count == 1 ? " rx=\"2\"" : "", fill);
    // A merged bar is as dense as its time is filled.
    const double filled = bar.end > bar.begin ? bar.busy / (bar.end - bar.begin) : 1.0;
    if (bar.count > 1 && filled < 0.99) draw(" fill-opacity=\"{:.2f}\"", std::clamp(filled, 0.25, 1.0));
    draw("><title>{}</title></rect>", is_task ? task_tip(lane, bar) : transfer_tip(lane, bar));
    if (is_task && bar.count == 1) bar_name(report_.task_events[bar.event], from, top, width, gap);
    body_ += '\n';
  }

  void bar_name(const TaskEvent& event, double from, double top, double width, double gap) {
    if (row_height_ < 15.0) return;
    for (const std::string* name : {&event.name, &event.codelet}) {
      if (name->empty() || static_cast<double>(characters(*name)) * kCharacter + 14.0 > width) continue;
      draw("<text class=\"hk-gantt-name\" x=\"{:.2f}\" y=\"{:.1f}\">{}</text>", from + 5.0,
           top + (row_height_ - gap) / 2.0 + 4.2, escape_markup(*name));
      return;
    }
  }

  std::string when(const Bar& bar) const {
    return fmt::format("begin: {}\nduration: {}", format_seconds(bar.begin - chart_.begin),
                       format_seconds(bar.end - bar.begin));
  }

  std::string task_tip(const Lane& lane, const Bar& bar) const {
    const std::string where =
        escape_markup(lane.owner) + (lane.only_of_owner ? "" : fmt::format(", worker {}", lane.worker));
    const std::string codelet = escape_markup(chart_.codelets[bar.codelet].name);
    if (bar.count > 1) {
      std::string tip = fmt::format("{}, mostly {}\non {}\n{}\nbusy: {}", plural(bar.count, "task"), codelet,
                                    where, when(bar), format_seconds(bar.busy));
      if (bar.failed > 0) tip += fmt::format("\n{} failed", format_count(bar.failed));
      return tip;
    }
    const TaskEvent& event = report_.task_events[bar.event];
    std::string tip = event.name.empty() ? codelet : escape_markup(event.name);
    if (!event.name.empty() && event.name != event.codelet) tip += fmt::format(" ({})", codelet);
    if (event.failed) tip += "\nfailed";
    tip += fmt::format("\non {}\n{}", where, when(bar));
    if (event.modelled) tip += fmt::format("\nmodelled: {}", format_seconds(*event.modelled));
    return tip;
  }

  std::string transfer_tip(const Lane& lane, const Bar& bar) const {
    if (bar.count > 1)
      return fmt::format(
          "{}\n{}\n{}\nbytes: {}",
          fmt::format("{} {}", format_count(bar.count), bar.conversion ? "conversions" : "copies"),
          escape_markup(lane.owner), when(bar), format_bytes(Bytes{bar.bytes}));
    const TransferEvent& event = report_.transfer_events[bar.event];
    const char* reason = event.reason == TransferReason::WriteBack  ? " (write-back)"
                         : event.reason == TransferReason::Eviction ? " (eviction)"
                                                                    : "";
    return fmt::format(
        "{}{}\n{}\n{}\nbytes: {}",
        event.data.empty() ? std::string(bar.conversion ? "conversion" : "copy") : escape_markup(event.data),
        reason, escape_markup(lane.owner), when(bar), format_bytes(event.bytes));
  }

  void axis(double top) {
    const double span = std::max((chart_.end - chart_.begin).count, 1e-12);
    const Unit unit = axis_unit(span);
    const double step = tick_step(span, (kWidth - kRight - left_) / 110.0);
    const int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(step / unit.seconds) + 1e-9)));
    y_ += 6.0;
    draw("<path class=\"hk-gantt-rule\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", left_, y_, kWidth - kRight);
    for (int i = 0; i * step <= span * (1.0 + 1e-9); ++i) {
      const double at = left_ + i * step * scale_;
      draw(
          "<path class=\"hk-gantt-grid\" pointer-events=\"none\" d=\"M{0:.1f} {1:.1f}V{2:.1f}\"/>"
          "<text class=\"hk-gantt-quiet\" x=\"{0:.1f}\" y=\"{3:.1f}\" "
          "text-anchor=\"middle\">{4:.{5}f}</text>\n",
          at, top, y_ + 4.0, y_ + 18.0, i * step / unit.seconds, decimals);
    }
    draw(
        "<text class=\"hk-gantt-quiet\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{} since the first "
        "task or "
        "copy</text>\n",
        kWidth - kRight, y_ + 36.0, unit.name);
    y_ += kAxis;
  }

  void notes() {
    if (chart_.drawn == chart_.events) return;
    draw(
        "<text class=\"hk-gantt-quiet\" x=\"{}\" y=\"{:.1f}\">{} are drawn as {}: those shorter than {} are "
        "merged "
        "with their neighbours and have the colour of the codelet that takes most of the time.</text>\n",
        kMargin, y_ + 10.0, plural(chart_.events, "event"), plural(chart_.drawn, "bar"),
        format_seconds(chart_.grain));
    y_ += 26.0;
  }

  const Report& report_;
  const Chart chart_;
  std::string body_;
  double y_ = 0.0;      // where the next thing goes
  double left_ = 0.0;   // of the lanes
  double scale_ = 1.0;  // pixels per second
  double row_height_ = 24.0;
  double next_label_ = 0.0;  // the first y at which a label does not touch the one above
  double next_number_ = 0.0;
};

}  // namespace

std::string gantt_chart(const Report& report, std::size_t most_bars) {
  return Painter(report, most_bars).paint();
}

}  // namespace trace

std::string gantt_svg(const Report& report) { return trace::gantt_chart(report, trace::kMostBars); }

}  // namespace hocket
