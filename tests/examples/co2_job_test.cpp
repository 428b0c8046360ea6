// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <hocket/hocket.hpp>
#include <iterator>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "co2/co2.hpp"
#include "co2/data.hpp"
#include "co2/reference.hpp"
#include "co2/run_summary.hpp"
#include "job.hpp"

namespace hocket::jobs::co2 {
namespace {

Series record() { return parse_series(co2_weekly_csv(), "record"); }

// Every 8th week: small enough for every device, and the tiles of 64 do not divide it.
Series every_eighth_week() {
  const Series all = record();
  Series some;
  some.source = "every 8th week";
  for (std::size_t i = 0; i < all.size(); i += 8) {
    some.years.push_back(all.years[i]);
    some.values.push_back(all.values[i]);
  }
  return some;
}

// Without noise, so smooth a process has a covariance matrix that is singular in double precision.
Hyperparameters indefinite(const Series& series) {
  Hyperparameters h = starting_point(series);
  h.noise = 0;
  h.medium = 0;
  h.season = 0;
  return h;
}

RuntimeOptions on(const std::string& devices) {
  RuntimeOptions options;
  options.devices = devices;
  return options;
}

class EveryMixOfDevices : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string devices = GetParam();
    if (HOCKET_HAS_OPENCL == 0 && devices.find("opencl") != devices.npos)
      GTEST_SKIP() << "built without OpenCL";
    if (HOCKET_HAS_PIM == 0 && devices.find("pim") != devices.npos) GTEST_SKIP() << "built without PIM";
  }
};

TEST_P(EveryMixOfDevices, GivesTheLogLikelihoodOfPlainLapack) {
  const Series series = every_eighth_week();
  Runtime runtime(on(GetParam()));
  Regression regression(runtime, series, {.tile = 64, .in_flight = 2});
  const auto sets = design(starting_point(series), 3, 2.0);
  const std::vector<double> found = regression.log_likelihoods(sets);
  ASSERT_EQ(found.size(), sets.size());
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const double expected = reference_log_likelihood(sets[i], series);
    EXPECT_NEAR(found[i], expected, 1e-9 * std::abs(expected));
  }
}

TEST_P(EveryMixOfDevices, PredictsWhatPlainLapackPredicts) {
  const Series series = every_eighth_week();
  const Hyperparameters h = starting_point(series);
  const std::vector<double> times =
      forecast_times(series.years.back(), 10, 7);  // 70: not a multiple of the tile
  Runtime runtime(on(GetParam()));
  Regression regression(runtime, series, {.tile = 64});
  const Prediction found = regression.predict(h, times);
  const Prediction expected = reference_prediction(h, series, times);
  ASSERT_EQ(found.years, expected.years);
  for (std::size_t i = 0; i < times.size(); ++i) {
    EXPECT_NEAR(found.mean[i], expected.mean[i], 1e-9 * expected.mean[i]);
    EXPECT_NEAR(found.deviation[i], expected.deviation[i], 1e-6 * expected.deviation[i]);
  }
}

TEST_P(EveryMixOfDevices, GivesMinusInfinityWhereTheMatrixIsNotPositiveDefiniteAndGoesOn) {
  const Series series = every_eighth_week();
  Runtime runtime(on(GetParam()));
  Regression regression(runtime, series, {.tile = 64, .in_flight = 2});
  const Hyperparameters good = starting_point(series);
  const std::vector<Hyperparameters> sets = {good, indefinite(series), good};
  const std::vector<double> found = regression.log_likelihoods(sets);
  EXPECT_EQ(found[1], -std::numeric_limits<double>::infinity());
  const double expected = reference_log_likelihood(good, series);
  EXPECT_NEAR(found[0], expected, 1e-9 * std::abs(expected));
  EXPECT_NEAR(found[2], expected, 1e-9 * std::abs(expected));
  runtime.wait();  // the failure has been dealt with: it is not reported again
}

INSTANTIATE_TEST_SUITE_P(Co2, EveryMixOfDevices,
                         testing::Values("cpu:2", "opencl", "pim:16", "cpu:2,opencl", "cpu:2,pim:16",
                                         "opencl,pim:16", "cpu:2,opencl,pim:16"),
                         [](const testing::TestParamInfo<const char*>& parameter) {
                           std::string name;
                           for (const char* c = parameter.param; *c != 0; ++c) {
                             if (std::isalnum(static_cast<unsigned char>(*c)) != 0) name += *c;
                           }
                           return name;
                         });

TEST(Co2Regression, AgreesWithPlainLapackOnTheWholeRecord) {
  const Series series = record();
  Runtime runtime(on("cpu:2"));
  Regression regression(runtime, series, {});
  const std::vector<Hyperparameters> sets = {starting_point(series)};
  const double expected = reference_log_likelihood(sets[0], series);
  EXPECT_NEAR(regression.log_likelihoods(sets)[0], expected, 1e-9 * std::abs(expected));
}

TEST(Co2Regression, TakesATileThatIsLargerThanTheMatrix) {
  const Series series = every_eighth_week();
  Runtime runtime(on("cpu:1"));
  Regression regression(runtime, series, {.tile = 100000});
  const std::vector<Hyperparameters> sets = {starting_point(series)};
  const double expected = reference_log_likelihood(sets[0], series);
  EXPECT_NEAR(regression.log_likelihoods(sets)[0], expected, 1e-9 * std::abs(expected));
}

TEST(Co2Regression, ReportsEachEvaluationInOrder) {
  const Series series = every_eighth_week();
  Runtime runtime(on("cpu:2"));
  Regression regression(runtime, series, {.tile = 64, .in_flight = 3});
  std::vector<std::size_t> places;
  std::vector<double> values;
  const auto found = regression.log_likelihoods(design(starting_point(series), 5, 2.0),
                                                [&](std::size_t place, double value) {
                                                  places.push_back(place);
                                                  values.push_back(value);
                                                });
  EXPECT_EQ(places, (std::vector<std::size_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(values, found);
}

TEST(Co2Regression, MayBeLeftByAnExceptionWhileGraphsAreInFlight) {
  const Series series = every_eighth_week();
  Runtime runtime(on("cpu:2"));
  Regression regression(runtime, series, {.tile = 64, .in_flight = 4});
  struct Stop {};
  EXPECT_THROW(regression.log_likelihoods(design(starting_point(series), 8, 2.0),
                                          [](std::size_t, double) { throw Stop(); }),
               Stop);
  runtime.wait();
}

TEST(Co2Regression, KeepsFewerInFlightWhereMemoryIsShort) {
  const Series series = every_eighth_week();
  Runtime runtime(on("cpu:1"));
  const Bytes one = Regression(runtime, series, {.tile = 64}).matrix_bytes();
  // The lower half, and the part of the tiles on the diagonal that lies above it.
  EXPECT_GT(one.count, 4 * series.size() * series.size());
  EXPECT_LT(one.count, 4 * series.size() * (series.size() + 64));
  EXPECT_EQ(Regression(runtime, series, {.tile = 64, .in_flight = 5, .memory = one * 2}).in_flight(), 2U);
  EXPECT_EQ(Regression(runtime, series, {.tile = 64, .in_flight = 5, .memory = one * 9}).in_flight(), 5U);
  EXPECT_THROW(Regression(runtime, series, {.tile = 64, .memory = Bytes{one.count - 1}}), InvalidArgument);
}

TEST(Co2Regression, RefusesOptionsThatMakeNoSense) {
  const Series series = record();
  Runtime runtime(on("cpu:1"));
  EXPECT_THROW(Regression(runtime, series, {.tile = 0}), InvalidArgument);
  EXPECT_THROW(Regression(runtime, series, {.in_flight = 0}), InvalidArgument);
  EXPECT_THROW(Regression(runtime, series, {.tile = 8}), InvalidArgument);
  Regression regression(runtime, series, {});
  EXPECT_THROW(search(regression, starting_point(series), {.evaluations = 1, .rounds = 2}), InvalidArgument);
  EXPECT_THROW(search(regression, starting_point(series), {.evaluations = 4, .rounds = 0}), InvalidArgument);
}

TEST(Co2Search, SpendsItsEvaluationsAndNeverReturnsWorseThanItsStart) {
  const Series series = every_eighth_week();
  Runtime runtime(on("cpu:2"));
  Regression regression(runtime, series, {.tile = 64});
  const Hyperparameters start = starting_point(series);
  std::vector<std::size_t> done;
  const SearchResult found =
      search(regression, start, {.evaluations = 11, .rounds = 3}, [&](std::size_t n) { done.push_back(n); });
  EXPECT_EQ(found.evaluations, 11U);
  EXPECT_EQ(done.size(), 11U);
  EXPECT_EQ(done.back(), 11U);
  EXPECT_GT(found.log_likelihood, reference_log_likelihood(start, series));
  const double expected = reference_log_likelihood(found.best, series);
  EXPECT_NEAR(found.log_likelihood, expected, 1e-9 * std::abs(expected));
}

TEST(Co2Search, SaysSoWhereNoMatrixIsPositiveDefinite) {
  const Series series = every_eighth_week();
  Runtime runtime(on("cpu:2"));
  Regression regression(runtime, series, {.tile = 64});
  try {
    search(regression, indefinite(series), {.evaluations = 2, .rounds = 1});
    FAIL() << "found something";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("positive definite"), std::string::npos) << error.what();
  }
}

// ---- the job -------------------------------------------------------------------------------------------

class Co2Job : public testing::Test {
 protected:
  Co2Job() : folder_(std::filesystem::temp_directory_path() / ("hocket_co2_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~Co2Job() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }
  static std::string content(const std::string& path) {
    std::ifstream stream(path);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  JobResult run(std::vector<std::string> arguments, const CommonOptions& options = {},
                const Progress& progress = {}) {
    const auto job = make_co2_job();
    CLI::App app;
    job->add_options(app);
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    app.parse(arguments);
    RuntimeOptions runtime_options = on("cpu:2");
    runtime_options.trace = true;
    Runtime runtime(runtime_options);
    JobResult result = job->run(runtime, options, progress);
    runtime.wait();
    report_ = runtime.report();
    job->finish(report_, options, result);
    return result;
  }

  std::filesystem::path folder_;
  Report report_;
};

CommonOptions small() {
  CommonOptions options;
  options.size = 200;
  options.tile = 64;
  return options;
}

TEST_F(Co2Job, ForecastsTenYearsOfTheRecordWithAGrowingBand) {
  const JobResult result = run({"--evaluations", "4"}, small());
  const auto& fields = *result.fields;
  ASSERT_EQ(fields["forecast"].size(), 10U);
  EXPECT_EQ(fields["forecast"][0]["date"], "2002-12-29");
  EXPECT_EQ(fields["forecast"][9]["date"], "2011-12-29");
  // What was measured at Mauna Loa at the end of December 2011 is about 392 ppm.
  EXPECT_NEAR(fields["forecast"][9]["mean_ppm"].get<double>(), 390, 10);
  EXPECT_GT(fields["forecast"][9]["deviation_ppm"], fields["forecast"][0]["deviation_ppm"]);
  EXPECT_LT(fields["log_likelihood"], 0.0);
  EXPECT_EQ(fields["hyperparameters"]["period_years"], 1.0);
  EXPECT_EQ(fields["rows"], 2284);
  EXPECT_EQ(fields["gaps"], 59);
  EXPECT_EQ(fields["observations"], 200);
  EXPECT_EQ(fields["evaluations"], 4);
  EXPECT_TRUE(result.files.empty());
}

TEST_F(Co2Job, SaysSoWhereMoreObservationsAreAskedForThanThereAre) {
  std::ofstream(path("short.csv")) << [] {
    std::string text = "year,value\n";
    for (int i = 0; i < 40; ++i) text += std::to_string(1990 + i) + "," + std::to_string(300 + i % 7) + "\n";
    return text;
  }();
  const auto run_with = [&](std::size_t size) {
    CommonOptions options = small();
    options.size = size;
    return run({"--evaluations", "2", "--csv", path("short.csv")}, options);
  };
  const JobResult clamped = run_with(41);
  EXPECT_EQ(clamped.lines.front(), "--size 41: the series has but 40 observations, and all are used");
  EXPECT_EQ((*clamped.fields)["observations"], 40);
  EXPECT_EQ(run_with(40).lines.front().find("--size"), std::string::npos);
}

TEST_F(Co2Job, WritesThePictureAndThePageIntoTheOutputFolder) {
  CommonOptions options = small();
  options.out = folder_.string();
  const JobResult result = run({"--evaluations", "2"}, options);
  ASSERT_EQ(result.files.size(), 2U);
  EXPECT_EQ(result.files[0].second, path("co2.svg"));
  EXPECT_EQ(result.files[1].second, path("co2.html"));
  EXPECT_EQ(content(path("co2.svg")).rfind("<svg", 0), 0U);
  const std::string page = content(path("co2.html"));
  EXPECT_NE(page.find("timeline-data"), std::string::npos);
  EXPECT_NE(page.find("gemm_f64"), std::string::npos);
  EXPECT_NE(page.find("Share of work"), std::string::npos);
  EXPECT_NE(page.find("2011-12-29"), std::string::npos);
}

TEST_F(Co2Job, WritesToTheFilesThatAreNamed) {
  const JobResult result =
      run({"--evaluations", "2", "--svg", path("a.svg"), "--html", path("b.html")}, small());
  EXPECT_EQ(result.files.size(), 2U);
  EXPECT_FALSE(content(path("a.svg")).empty());
  EXPECT_FALSE(content(path("b.html")).empty());
}

TEST_F(Co2Job, ShowsItsProgress) {
  std::size_t last = 0;
  bool forecast = false;
  run({"--evaluations", "6"}, small(), [&](const std::string& what, std::size_t done, std::size_t of) {
    if (what == "likelihoods") {
      EXPECT_EQ(of, 6U);
      EXPECT_GE(done, last);
      last = done;
    }
    forecast = forecast || what == "forecast";
  });
  EXPECT_EQ(last, 6U);
  EXPECT_TRUE(forecast);
}

TEST_F(Co2Job, ForecastsTheUsersOwnMonthlySeries) {
  std::string csv = "month,value\n";
  for (int i = 0; i < 240; ++i) {
    const double t = 1990 + i / 12.0;
    csv += std::to_string(t) + "," + std::to_string(10 + 0.5 * (t - 1990) + std::sin(6.283185307 * t)) + "\n";
  }
  const JobResult result =
      run({"--csv", file("own.csv", csv), "--years", "3", "--evaluations", "8"}, CommonOptions{});
  const auto& forecast = (*result.fields)["forecast"];
  ASSERT_EQ(forecast.size(), 3U);
  for (int year = 1; year <= 3; ++year) {
    const double t = 1990 + 239 / 12.0 + year;
    EXPECT_NEAR(forecast[static_cast<std::size_t>(year - 1)]["mean_ppm"].get<double>(),
                10 + 0.5 * (t - 1990) + std::sin(6.283185307 * t), 0.3);
  }
}

TEST_F(Co2Job, ForecastsAYearlySeriesYearByYear) {
  std::string csv;
  for (int year = 1900; year < 2000; ++year)
    csv += std::to_string(year) + "," +
           std::to_string(5 + 0.01 * (year - 1900) + 0.1 * std::sin(0.3 * year)) + "\n";
  const JobResult result = run({"--csv", file("yearly.csv", csv), "--years", "5", "--evaluations", "8"});
  const auto& forecast = (*result.fields)["forecast"];
  ASSERT_EQ(forecast.size(), 5U);
  EXPECT_EQ(forecast[0]["date"], "2000-01-01");
  for (const auto& year : forecast) EXPECT_NEAR(year["mean_ppm"].get<double>(), 6.0, 0.5);
}

TEST_F(Co2Job, NamesTheBadLinesOfACsv) {
  std::string csv;
  for (int i = 0; i < 20; ++i) csv += std::to_string(1990 + i) + ",1.5\n";
  try {
    run({"--csv", file("bad.csv", csv + "hello,world\n")});
    FAIL() << "accepted text";
  } catch (const FileError& error) {
    EXPECT_NE(std::string(error.what()).find("21"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("hello"), std::string::npos) << error.what();
  }
}

TEST_F(Co2Job, RefusesSillyOptions) {
  EXPECT_THROW(run({"--years", "0"}, small()), InvalidArgument);
  EXPECT_THROW(run({"--years", "100000"}, small()), InvalidArgument);
  EXPECT_THROW(run({"--evaluations", "0"}, small()), InvalidArgument);
  EXPECT_THROW(run({"--in-flight", "0"}, small()), InvalidArgument);
  EXPECT_THROW(run({"--matrix-memory", "0"}, small()), InvalidArgument);
  CommonOptions options = small();
  options.size = 3;
  EXPECT_THROW(run({}, options), InvalidArgument);
}

TEST_F(Co2Job, SaysWhichFileCannotBeWritten) {
  try {
    run({"--evaluations", "2", "--svg", path("no/such/folder.svg")}, small());
    FAIL() << "wrote it";
  } catch (const FileError& error) {
    EXPECT_NE(std::string(error.what()).find("no/such/folder.svg"), std::string::npos);
  }
}

TEST_F(Co2Job, StatesTheWorkOfEveryTask) {
  run({"--evaluations", "2", "--rounds", "1"}, small());
  const double n = 200;
  // Two factorisations for the search and one for the forecast are the least.
  EXPECT_GT(report_.flops, 3 * n * n * n / 3);
  EXPECT_EQ(report_.failed, 0U);
  EXPECT_EQ(report_.bytes_moved.count, 0U);
}

// ---- what the page says of the run -----------------------------------------------------------------------

Report traced() {
  Report report;
  DeviceReport processor;
  processor.kind = "cpu";
  processor.name = "cpu:0 (a processor)";
  processor.workers = 2;
  processor.flops = 3e9;
  DeviceReport emulator;
  emulator.id = DeviceId{1};
  emulator.kind = "pim";
  emulator.name = "pim:0";
  emulator.modelled = Seconds{0.5};
  emulator.flops = 1e9;
  report.devices = {processor, emulator};
  report.links = {{.from = "host", .to = "pim:0", .bytes = kMiB, .copies = 2, .busy = Seconds{0.001}},
                  {.from = "pim:0", .to = "host"}};
  report.flops = 4e9;
  report.makespan = Seconds{1};
  for (int i = 0; i < 1000; ++i) {
    TaskEvent event;
    event.name = fmt::format("t{}", i);
    event.codelet = i % 500 == 499 ? "rare" : "common";
    event.device = DeviceId{i % 2 == 0 ? 0U : 1U};
    event.begin = Seconds{i * 1e-3};
    event.end = Seconds{(i + 2) * 1e-3};
    report.task_events.push_back(event);
  }
  report.transfer_events = {
      {.data = "x", .from = "host", .to = "pim:0", .bytes = kMiB, .end = Seconds{0.01}}};
  return report;
}

TEST(Co2RunSummary, GivesEachDeviceItsShareOfTheWork) {
  const Table table = device_table(traced());
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[0][0], "cpu:0");
  EXPECT_NE(table.note.find("a processor"), std::string::npos);
  EXPECT_EQ(table.rows[0][2], "75.0 %");
  EXPECT_EQ(table.rows[1][2], "25.0 %");
  EXPECT_EQ(table.columns.back(), "Modelled");
  EXPECT_EQ(table.rows[1].back(), "500 ms");
}

TEST(Co2RunSummary, ListsOnlyLinksThatWereUsed) {
  const Table table = link_table(traced());
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(table.rows[0][0], "host → pim:0");
  EXPECT_EQ(table.rows[0][2], "1.00 MiB");
}

TEST(Co2RunSummary, RanksKernelsByTheirTime) {
  const Table table = codelet_table(traced());
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[0][0], "common");
  EXPECT_EQ(table.rows[1][1], "2");
}

TEST(Co2RunSummary, DrawsEveryEventWhereTheyAreFew) {
  const auto bars = timeline(traced(), 5000);
  EXPECT_EQ(bars.size(), 1001U);
  EXPECT_EQ(bars.front().lane, "cpu:0, worker 0");
  EXPECT_EQ(bars.back().lane, "host → pim:0");
  EXPECT_EQ(bars.back().kind, "copy");
}

TEST(Co2RunSummary, MergesShortNeighboursOfAKindWhereEventsAreMany) {
  const auto bars = timeline(traced(), 100);
  EXPECT_LE(bars.size(), 100U);
  double covered = 0;
  bool has_rare = false;
  for (const auto& bar : bars) {
    if (bar.lane == "cpu:0, worker 0") covered += bar.end_seconds - bar.begin_seconds;
    has_rare = has_rare || bar.kind == "rare";
  }
  EXPECT_NEAR(covered, 1.0, 0.02);
  EXPECT_TRUE(has_rare);
}

TEST(Co2RunSummary, DrawsNothingWithoutTracing) { EXPECT_TRUE(timeline(Report{}, 100).empty()); }

}  // namespace
}  // namespace hocket::jobs::co2
