// SPDX-License-Identifier: Apache-2.0
/// The main job: options, the run from the record to the forecast, and what is printed and written of it.
#include "job.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "co2/co2.hpp"
#include "co2/data.hpp"
#include "co2/markup.hpp"
#include "co2/model.hpp"
#include "co2/picture.hpp"
#include "co2/report_page.hpp"
#include "co2/run_summary.hpp"
#include "co2/series.hpp"

namespace hocket::jobs {
namespace {

using namespace co2;

/// Points of a curve in a year: monthly over the record, three times as many where the picture's detail shows
/// them.
constexpr std::size_t kPointsPerYear = 12;
constexpr std::size_t kDensePointsPerYear = 36;
constexpr double kDenseYears = 4;
/// From this spacing on (in years) a series has no seasons to show, and is forecast year by year.
constexpr double kYearlySpacing = 0.5;
constexpr std::size_t kMostYears = 1000;
constexpr std::size_t kMostBars = 40000;
constexpr std::size_t kDefaultTile = 256;

/// At most `count` observations, evenly picked over the whole of the series.
void thin(Series& series, std::size_t count) {
  if (count == 0 || count >= series.size()) return;
  if (count < kMinimumPoints) {
    throw InvalidArgument(fmt::format("a size of {} observations is too small: a fit needs at least {}",
                                      count, kMinimumPoints));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t from = i * (series.size() - 1) / (count - 1);
    series.years[i] = series.years[from];
    series.values[i] = series.values[from];
  }
  series.years.resize(count);
  series.values.resize(count);
}

double median_spacing(const Series& series) {
  std::vector<double> gaps;
  for (std::size_t i = 1; i < series.size(); ++i) gaps.push_back(series.years[i] - series.years[i - 1]);
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
  std::nth_element(gaps.begin(), middle, gaps.end());
  return *middle;
}

/// Adds times from `begin` up to `end`, which is left out, about `per_year` a year within reason.
void add_times(std::vector<double>& times, double begin, double end, std::size_t per_year) {
  const double length = end - begin;
  if (!(length > 0)) return;
  const auto count =
      static_cast<std::size_t>(std::clamp(length * static_cast<double>(per_year), 120.0, 1200.0));
  for (std::size_t i = 0; i < count; ++i)
    times.push_back(begin + length * static_cast<double>(i) / static_cast<double>(count));
}

/// Times at which the fit is drawn: dense enough to show the seasons.
std::vector<double> fit_times(const Series& series) {
  const double first = series.years.front();
  const double last = series.years.back();
  const double middle = std::max(first, last - kDenseYears);
  std::vector<double> times;
  add_times(times, first, middle, kPointsPerYear);
  add_times(times, middle, last, kDensePointsPerYear);
  times.push_back(last);
  return times;
}

std::string join(const std::string& folder, const char* file) {
  return folder.empty() || folder.back() == '/' ? folder + file : folder + "/" + file;
}

struct NamedParameter {
  const char* name;
  double Hyperparameters::*member;
  const char* meaning;
  bool in_values;  ///< In the unit of the values; otherwise years, or without unit.
};

constexpr NamedParameter kParameters[] = {
    {"trend", &Hyperparameters::trend, "amplitude of the slow rise", true},
    {"trend_years", &Hyperparameters::trend_years, "its length scale in years", false},
    {"season", &Hyperparameters::season, "amplitude of the season", true},
    {"season_smoothness", &Hyperparameters::season_smoothness, "smoothness of its shape", false},
    {"season_decay_years", &Hyperparameters::season_decay_years, "years until its shape changes", false},
    {"period_years", &Hyperparameters::period_years, "its period in years (kept)", false},
    {"medium", &Hyperparameters::medium, "amplitude of the medium term", true},
    {"medium_years", &Hyperparameters::medium_years, "its length scale in years", false},
    {"noise", &Hyperparameters::noise, "noise of an observation", true},
};

class Co2Job final : public Job {
 public:
  std::string name() const override { return "co2"; }
  std::string description() const override {
    return "Gaussian-process regression and forecast of the Mauna Loa CO2 record, or of a series of your own";
  }

  std::string meaning_of_size() const override {
    return fmt::format(
        "Observations that are used, evenly picked over the series; at least {} (default: all)",
        kMinimumPoints);
  }
  std::string meaning_of_tile() const override {
    return fmt::format("Size of a tile of the covariance matrix along a dimension (default: {})",
                       kDefaultTile);
  }

  void add_options(CLI::App& app) override {
    app.add_option(
           "--csv", csv_,
           "A series of your own: two columns, time (decimal year, ISO date or YYYYMMDD) and value; fields "
           "of the JSON output keep their names, in the unit of your values")
        ->type_name("FILE");
    app.add_option("--years", years_, "Years to forecast")->capture_default_str();
    app.add_option("--evaluations", search_.evaluations, "Sets of hyperparameters to try, over all rounds")
        ->capture_default_str();
    app.add_option("--rounds", search_.rounds, "Rounds of the search, each nearer around the best so far")
        ->capture_default_str();
    app.add_option("--in-flight", in_flight_, "Sets that are evaluated at once")->capture_default_str();
    app.add_option("--matrix-memory", memory_mib_, "Limit on the matrices in flight together, in MiB")
        ->capture_default_str();
    app.add_option("--svg", svg_path_,
                   "Write the picture to this file (default: co2.svg in the output folder)")
        ->type_name("FILE");
    app.add_option("--html", html_path_,
                   "Write the page to this file (default: co2.html in the output folder)")
        ->type_name("FILE");
  }

  JobResult run(Runtime& runtime, const CommonOptions& options, const Progress& progress) override {
    if (years_ == 0 || years_ > kMostYears) {
      throw InvalidArgument(fmt::format("--years {}: a forecast is of 1 to {} years", years_, kMostYears));
    }
    series_ = csv_.empty() ? parse_series(co2_weekly_csv(), "the weekly CO2 record of Mauna Loa")
                           : read_series(csv_);
    const std::size_t given = series_.size();
    thin(series_, options.size);

    RegressionOptions settings;
    settings.tile = options.tile == 0 ? kDefaultTile : options.tile;
    settings.in_flight = in_flight_;
    settings.memory = kMiB * memory_mib_;
    Regression regression(runtime, series_, settings);
    const auto report_progress = [&](const char* what, std::size_t done, std::size_t of) {
      if (progress) progress(what, done, of);
    };
    report_progress("likelihoods", 0, search_.evaluations);
    found_ = search(regression, starting_point(series_), search_,
                    [&](std::size_t done) { report_progress("likelihoods", done, search_.evaluations); });
    report_progress("forecast", 0, 1);
    predict(regression);
    report_progress("forecast", 1, 1);

    JobResult result;
    if (options.size > given)
      result.lines.push_back(fmt::format("--size {}: the series has but {} observations, and all are used",
                                         options.size, given));
    add_lines(result);
    add_fields(result, regression);
    svg_ = draw_svg(picture());
    return result;
  }

  bool needs_events(const CommonOptions& options) const override {
    return !options.out.empty() || !html_path_.empty();
  }

  /// Both files are written here, when the result cannot be lost any more for want of room.
  void finish(const Report& report, const CommonOptions& options, JobResult& result) override {
    const auto write = [&](const char* what, const std::string& path, const char* name, const auto& draw) {
      const std::string to = !path.empty() ? path : options.out.empty() ? "" : join(options.out, name);
      if (to.empty()) return;
      write_text_file(to, draw());
      result.files.emplace_back(what, to);
    };
    write("picture", svg_path_, "co2.svg", [&] { return svg_; });
    write("page", html_path_, "co2.html", [&] { return draw_report_page(page(report)); });
  }

 private:
  bool is_record() const { return csv_.empty(); }
  std::string unit() const { return is_record() ? " ppm" : ""; }
  std::size_t points_per_year() const {
    return median_spacing(series_) < kYearlySpacing ? kDensePointsPerYear : 1;
  }

  /// One solve for both: the times of the fit, then those of the forecast.
  void predict(Regression& regression) {
    std::vector<double> times = fit_times(series_);
    const std::size_t fitted = times.size();
    const std::vector<double> ahead = forecast_times(series_.years.back(), years_, points_per_year());
    times.insert(times.end(), ahead.begin(), ahead.end());
    const Prediction all = regression.predict(found_.best, times);
    fit_ = forecast_ = {};
    for (std::size_t i = 0; i < times.size(); ++i) {
      Prediction& part = i < fitted ? fit_ : forecast_;
      part.years.push_back(all.years[i]);
      part.mean.push_back(all.mean[i]);
      part.deviation.push_back(all.deviation[i]);
    }
  }

  /// Places in the forecast that are whole years after the last observation.
  std::vector<std::size_t> yearly() const {
    std::vector<std::size_t> places;
    for (std::size_t i = points_per_year() - 1; i < forecast_.years.size(); i += points_per_year())
      places.push_back(i);
    return places;
  }

  std::string record_line() const {
    std::string line = fmt::format("{}: {} rows, {} gaps", series_.source, series_.rows, series_.gaps);
    if (series_.duplicates > 0) line += fmt::format(", {} rows of a time given before", series_.duplicates);
    if (!series_.was_sorted) line += ", sorted by time";
    return line + fmt::format("; {} observations from {} to {}", series_.size(),
                              iso_date(series_.years.front()), iso_date(series_.years.back()));
  }

  std::string search_line() const {
    std::string line = fmt::format("log-likelihood {:.6f}, the best of {} sets of hyperparameters",
                                   found_.log_likelihood, found_.evaluations);
    if (found_.indefinite > 0) {
      line += fmt::format(" ({} of them without a positive definite covariance matrix)", found_.indefinite);
    }
    return line;
  }

  void add_lines(JobResult& result) const {
    result.lines.push_back(record_line());
    result.lines.push_back(search_line());
    for (const NamedParameter& parameter : kParameters) {
      result.lines.push_back(fmt::format("  {:<19} {:>10}{:<4}  {}", parameter.name,
                                         significant(found_.best.*parameter.member, 5),
                                         parameter.in_values ? unit() : "", parameter.meaning));
    }
    result.lines.emplace_back("");
    result.lines.push_back(fmt::format("{:<12} {:>10} {:>10}   95 % band", "forecast", "mean", "deviation"));
    for (const std::size_t i : yearly()) {
      const double mean = forecast_.mean[i];
      const double deviation = forecast_.deviation[i];
      result.lines.push_back(fmt::format("{:<12} {:>10} {:>10}   {} to {}{}", iso_date(forecast_.years[i]),
                                         show_value(mean), significant(deviation, 3),
                                         show_value(mean - 2 * deviation), show_value(mean + 2 * deviation),
                                         unit()));
    }
    result.lines.emplace_back("");
  }

  /// As many decimals as the first year's deviation calls for, the same for every value.
  std::string show_value(double value) const {
    const double smallest = forecast_.deviation.front();
    const int decimals =
        smallest > 0 ? std::clamp(1 - static_cast<int>(std::floor(std::log10(smallest))), 0, 12) : 6;
    return fmt::format("{:.{}f}", value, decimals);
  }

  void add_fields(JobResult& result, const Regression& regression) const {
    result.fields = std::make_unique<nlohmann::ordered_json>();
    auto& fields = *result.fields;
    fields["log_likelihood"] = found_.log_likelihood;
    auto& hyperparameters = fields["hyperparameters"] = nlohmann::ordered_json::object();
    for (const NamedParameter& parameter : kParameters)
      hyperparameters[parameter.name] = found_.best.*parameter.member;
    auto& forecast = fields["forecast"] = nlohmann::ordered_json::array();
    for (const std::size_t i : yearly()) {
      forecast.push_back({{"date", iso_date(forecast_.years[i])},
                          {"mean_ppm", forecast_.mean[i]},
                          {"deviation_ppm", forecast_.deviation[i]}});
    }
    fields["rows"] = series_.rows;
    fields["gaps"] = series_.gaps;
    fields["observations"] = series_.size();
    fields["evaluations"] = found_.evaluations;
    fields["in_flight"] = regression.in_flight();
  }

  Picture picture() const {
    Picture picture;
    picture.title = is_record() ? "Atmospheric CO₂ at Mauna Loa" : series_.source;
    picture.subtitle = fmt::format("{} observations, {} to {}; forecast to {} by Gaussian-process regression",
                                   series_.size(), iso_date(series_.years.front()),
                                   iso_date(series_.years.back()), iso_date(forecast_.years.back()));
    picture.value_label = is_record() ? "CO₂ (ppm)" : "value";
    picture.years = series_.years;
    picture.values = series_.values;
    picture.fit = fit_;
    picture.forecast = forecast_;
    return picture;
  }

  ReportPage page(const Report& report) const {
    ReportPage page;
    page.title = is_record() ? "Forecast of the CO₂ record of Mauna Loa" : "Forecast of " + series_.source;
    page.subtitle = record_line();
    const double mean = forecast_.mean.back();
    page.facts = {
        {"Log-likelihood", fmt::format("{:.2f}", found_.log_likelihood)},
        {"Forecast " + iso_date(forecast_.years.back()),
         fmt::format("{} ± {}{}", show_value(mean), significant(2 * forecast_.deviation.back(), 2), unit())},
        {"Time, policy " + report.policy, show_seconds(report.makespan)},
        {"Rate", show_rate(report.flops, report.makespan)},
        {"Tasks", fmt::format("{}", report.tasks)},
        {"Moved between memories", show_bytes(report.bytes_moved)}};
    page.svg = svg_;
    page.tables = {device_table(report), link_table(report), forecast_table(), parameter_table()};
    if (!report.task_events.empty()) page.tables.insert(page.tables.begin() + 2, codelet_table(report));
    page.timeline = timeline(report, kMostBars);
    return page;
  }

  Table forecast_table() const {
    Table table{"Forecast",
                "Whole years after the last observation; the band is the mean ± 2 deviations.",
                {"Date", "Mean" + (is_record() ? std::string(" (ppm)") : ""), "Deviation", "From", "To"},
                {}};
    for (const std::size_t i : yearly()) {
      const double mean = forecast_.mean[i];
      const double deviation = forecast_.deviation[i];
      table.rows.push_back({iso_date(forecast_.years[i]), show_value(mean), significant(deviation, 3),
                            show_value(mean - 2 * deviation), show_value(mean + 2 * deviation)});
    }
    return table;
  }

  Table parameter_table() const {
    Table table{"Hyperparameters", search_line() + ".", {"Parameter", "Value"}, {}};
    for (const NamedParameter& parameter : kParameters) {
      table.rows.push_back(
          {fmt::format("{}: {}", parameter.name, parameter.meaning),
           significant(found_.best.*parameter.member, 5) + (parameter.in_values ? unit() : "")});
    }
    return table;
  }

  std::string csv_;
  std::size_t years_ = 10;
  SearchOptions search_;
  std::size_t in_flight_ = RegressionOptions{}.in_flight;
  std::uint64_t memory_mib_ = RegressionOptions{}.memory.count / kMiB.count;
  std::string svg_path_;
  std::string html_path_;

  Series series_;
  SearchResult found_;
  Prediction fit_;
  Prediction forecast_;
  std::string svg_;
};

}  // namespace

std::unique_ptr<Job> make_co2_job() { return std::make_unique<Co2Job>(); }

}  // namespace hocket::jobs
