// SPDX-License-Identifier: Apache-2.0
#include "co2/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <hocket/error.hpp>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "co2/markup.hpp"

namespace hocket::jobs::co2 {
namespace {

constexpr double kWidth = 1200;
constexpr double kHeight = 650;
constexpr double kBandDeviations = 2;
constexpr double kDetailYearsBefore = 3;
constexpr double kDetailYearsAfter = 4;

// One palette for both panels; blue and orange stay apart for colour-blind readers, and in grey.
constexpr const char* kStyle = R"(
.co2-page{fill:#fcfcfa;stroke:#d8dadd}
.co2-text{font-family:system-ui,-apple-system,'Segoe UI','Helvetica Neue',Arial,'DejaVu Sans',sans-serif;fill:#30363d;font-size:14px}
.co2-title{font-size:23px;font-weight:600;fill:#16191d}
.co2-quiet{fill:#68717b}
.co2-panel{font-weight:600}
.co2-grid{stroke:#e6e8ea;fill:none}
.co2-axis{stroke:#8b949e;fill:none}
.co2-now{stroke:#8b949e;stroke-dasharray:4 4;fill:none}
.co2-dots{stroke:#4a545e;stroke-opacity:.7;stroke-linecap:round;fill:none}
.co2-fit{stroke:#1f6fd1;fill:none;stroke-linejoin:round}
.co2-forecast{stroke:#d4500b;fill:none;stroke-linejoin:round}
.co2-band{fill:#f0843f;fill-opacity:.3}
)";

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void include(double x) {
    if (!std::isfinite(x)) return;
    low = std::min(low, x);
    high = std::max(high, x);
  }
  // Never empty, and with air on both sides.
  Range widened(double share) const {
    const double size = high > low ? high - low : std::max(std::abs(low) * 1e-3, 1e-3);
    return {low - share * size, high + share * size};
  }
};

// The rectangle of the page where years and values are drawn.
struct Panel {
  std::string id;
  double left, top, width, height;
  Range years, values;
  double dot, line;  // stroke widths

  double x(double t) const { return left + width * (t - years.low) / (years.high - years.low); }
  double y(double v) const { return top + height * (values.high - v) / (values.high - values.low); }
  double right() const { return left + width; }
  double bottom() const { return top + height; }
  bool shows(double t) const { return t >= years.low && t <= years.high; }
};

class Drawing {
 public:
  explicit Drawing(const Picture& picture) : picture_(picture) {}

  std::string draw() {
    open();
    const double last = picture_.years.back();
    Panel whole = {"co2-whole", 66, 140, 640, 424, {}, {}, 2.2, 1.0};
    whole.years = all_years().widened(0.01);
    Panel detail = {"co2-detail", 792, 140, 376, 424, {}, {}, 3.6, 1.8};
    detail.years = {
        std::max(last - kDetailYearsBefore, picture_.years.front()),
        picture_.forecast.years.empty() ? last : std::min(last + kDetailYearsAfter, all_years().high)};
    detail.years = detail.years.widened(0.01);
    panel(whole, "The whole record");
    panel(detail, "Around the last observation");
    out_ += "</svg>\n";
    return std::move(out_);
  }

 private:
  template <class... Arguments>
  void put(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Arguments>(arguments)...);
  }

  Range all_years() const {
    Range range;
    for (const auto* times : {&picture_.years, &picture_.fit.years, &picture_.forecast.years}) {
      for (const double t : *times) range.include(t);
    }
    return range;
  }

  void open() {
    put("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
        "height=\"{1:.0f}\" role=\"img\" aria-labelledby=\"co2-name co2-about\">\n",
        kWidth, kHeight);
    const std::string title = escape_markup(picture_.title);
    put("<title id=\"co2-name\">{}</title>\n<desc id=\"co2-about\">Observations, fitted curve and forecast "
        "with a "
        "band of two standard deviations. {}</desc>\n<style>{}</style>\n",
        title, escape_markup(picture_.subtitle), kStyle);
    put("<rect class=\"co2-page\" x=\".5\" y=\".5\" width=\"{:.0f}\" height=\"{:.0f}\" rx=\"8\"/>\n",
        kWidth - 1, kHeight - 1);
    put("<text class=\"co2-text co2-title\" x=\"32\" y=\"44\">{}</text>\n", title);
    put("<text class=\"co2-text co2-quiet\" x=\"32\" y=\"70\">{}</text>\n", escape_markup(picture_.subtitle));
    legend();
  }

  void legend() {
    const double y = 622;
    double x = 66;
    const auto label = [&](const char* text, double advance) {
      put("<text class=\"co2-text\" x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n", x + 34, y + 5, text);
      x += advance;
    };
    const auto sample = [&](const char* kind, const char* text, double advance) {
      put("<path class=\"{}\" stroke-width=\"2.4\" d=\"M{:.0f} {:.0f}h26\"/>\n", kind, x, y);
      label(text, advance);
    };
    put("<path class=\"co2-dots\" stroke-width=\"4\" d=\"M{:.0f} {:.0f}h0m9 -4h0m9 3h0\"/>\n", x + 4, y);
    label("observation", 146);
    if (!picture_.fit.years.empty()) sample("co2-fit", "fit", 86);
    if (picture_.forecast.years.empty()) return;
    sample("co2-forecast", "forecast", 124);
    put("<rect class=\"co2-band\" x=\"{:.0f}\" y=\"{:.0f}\" width=\"26\" height=\"14\"/>\n", x, y - 7);
    label("two standard deviations either way (95 % of observations)", 0);
  }

  void panel(Panel p, const char* heading) {
    Range values;
    for (std::size_t i = 0; i < picture_.years.size(); ++i) {
      if (p.shows(picture_.years[i])) values.include(picture_.values[i]);
    }
    for (const auto* prediction : {&picture_.fit, &picture_.forecast}) {
      const double band = prediction == &picture_.forecast ? kBandDeviations : 0;
      for (std::size_t i = 0; i < prediction->years.size(); ++i) {
        if (!p.shows(prediction->years[i])) continue;
        values.include(prediction->mean[i] - band * prediction->deviation[i]);
        values.include(prediction->mean[i] + band * prediction->deviation[i]);
      }
    }
    p.values = values.widened(0.04);
    put("<clipPath id=\"{}\"><rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" "
        "height=\"{:.0f}\"/></clipPath>\n",
        p.id, p.left, p.top, p.width, p.height);
    put("<text class=\"co2-text co2-panel\" x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n", p.left, p.top - 32,
        heading);
    put("<text class=\"co2-text co2-quiet\" x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n", p.left, p.top - 12,
        escape_markup(picture_.value_label));
    axes(p);
    put("<g clip-path=\"url(#{})\">\n", p.id);
    band(p);
    dots(p);
    curve(p, picture_.fit, "co2-fit");
    curve(p, picture_.forecast, "co2-forecast");
    put("</g>\n");
  }

  void axes(const Panel& p) {
    const Ticks across = round_ticks(p.years.low, p.years.high, p.width > 500 ? 8 : 7);
    for (const double t : across.positions) {
      put("<path class=\"co2-grid\" d=\"M{0:.1f} {1:.1f}V{2:.1f}\"/><path class=\"co2-axis\" d=\"M{0:.1f} "
          "{2:.1f}v5\"/><text class=\"co2-text co2-quiet\" text-anchor=\"middle\" x=\"{0:.1f}\" "
          "y=\"{3:.1f}\">{4:.{5}f}</text>\n",
          p.x(t), p.top, p.bottom(), p.bottom() + 21, t, across.decimals);
    }
    const Ticks up = round_ticks(p.values.low, p.values.high, 7);
    for (const double v : up.positions) {
      put("<path class=\"co2-grid\" d=\"M{0:.1f} {1:.1f}H{2:.1f}\"/><text class=\"co2-text co2-quiet\" "
          "text-anchor=\"end\" x=\"{3:.1f}\" y=\"{4:.1f}\">{5:.{6}f}</text>\n",
          p.left, p.y(v), p.right(), p.left - 8, p.y(v) + 5, v, up.decimals);
    }
    put("<path class=\"co2-axis\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", p.left, p.bottom(), p.right());
    if (!picture_.forecast.years.empty()) {
      put("<path class=\"co2-now\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>\n", p.x(picture_.years.back()), p.top,
          p.bottom());
    }
  }

  void dots(const Panel& p) {
    std::set<std::pair<long, long>> drawn;
    out_ += fmt::format("<path class=\"co2-dots\" stroke-width=\"{}\" d=\"", p.dot);
    for (std::size_t i = 0; i < picture_.years.size(); ++i) {
      if (!p.shows(picture_.years[i]) || !std::isfinite(picture_.values[i])) continue;
      const double x = p.x(picture_.years[i]);
      const double y = p.y(picture_.values[i]);
      if (drawn.emplace(std::lround(2 * x), std::lround(2 * y)).second) put("M{:.1f} {:.1f}h0", x, y);
    }
    out_ += "\"/>\n";
  }

  void curve(const Panel& p, const Prediction& prediction, const char* kind) {
    char command = 'M';
    out_ += fmt::format("<path class=\"{}\" stroke-width=\"{}\" d=\"", kind, p.line);
    for (std::size_t i = 0; i < prediction.years.size(); ++i) {
      if (!p.shows(prediction.years[i]) || !std::isfinite(prediction.mean[i])) continue;
      put("{}{:.1f} {:.1f}", command, p.x(prediction.years[i]), p.y(prediction.mean[i]));
      command = 'L';
    }
    out_ += "\"/>\n";
  }

  void band(const Panel& p) {
    const Prediction& forecast = picture_.forecast;
    std::string upper;
    std::string lower;
    for (std::size_t i = 0; i < forecast.years.size(); ++i) {
      const double half = kBandDeviations * forecast.deviation[i];
      if (!p.shows(forecast.years[i]) || !std::isfinite(forecast.mean[i] + half)) continue;
      const double x = p.x(forecast.years[i]);
      upper += fmt::format("{}{:.1f} {:.1f}", upper.empty() ? 'M' : 'L', x, p.y(forecast.mean[i] + half));
      lower.insert(0, fmt::format("L{:.1f} {:.1f}", x, p.y(forecast.mean[i] - half)));
    }
    if (!upper.empty()) put("<path class=\"co2-band\" d=\"{}{}Z\"/>\n", upper, lower);
  }

  const Picture& picture_;
  std::string out_;
};

bool lengths_agree(const Prediction& p) {
  return p.years.size() == p.mean.size() && p.years.size() == p.deviation.size();
}

}  // namespace

std::string draw_svg(const Picture& picture) {
  if (picture.years.empty() || picture.years.size() != picture.values.size() || !lengths_agree(picture.fit) ||
      !lengths_agree(picture.forecast)) {
    throw InvalidArgument("a picture needs observations, and as many values (means, deviations) as times");
  }
  return Drawing(picture).draw();
}

}  // namespace hocket::jobs::co2
