// SPDX-License-Identifier: Apache-2.0
/// The job image: a picture blurred, sharpened and counted.
#include "job.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "console.hpp"
#include "image/histogram_svg.hpp"
#include "image/picture.hpp"
#include "image/pipeline.hpp"

namespace hocket::jobs {
namespace {

using namespace image;

constexpr std::size_t kDefaultSize = 768;
constexpr std::size_t kMostRadius = 50;
constexpr float kMostAmount = 100.0F;

struct Statistics {
  double mean = 0.0;
  double deviation = 0.0;
};

/// Of all planes together, with every value at the middle of its bin.
Statistics statistics(const std::vector<Histogram>& planes) {
  double count = 0.0;
  double sum = 0.0;
  double squares = 0.0;
  for (const Histogram& plane : planes)
    for (std::size_t b = 0; b < kBins; ++b) {
      const double value = (static_cast<double>(b) + 0.5) / kBins;
      const auto times = static_cast<double>(plane[b]);
      count += times;
      sum += times * value;
      squares += times * value * value;
    }
  const double mean = sum / count;
  return {mean, std::sqrt(std::max(0.0, squares / count - mean * mean))};
}

class ImageJob final : public Job {
 public:
  std::string name() const override { return "image"; }
  std::string description() const override {
    return std::string("Blurs and sharpens a picture and counts its values; ") +
           (knows_png() ? "PNG or PPM" : "PPM only, since this build has no libpng");
  }

  void add_options(CLI::App& app) override {
    app.get_option("--size")->description(fmt::format(
        "Rows and columns of the synthetic picture, where there is no --input (default: {})", kDefaultSize));
    app.get_option("--tile")->description(
        fmt::format("Rows and columns of a tile (default: {})", options_.tile));
    app.add_option("--input", input_,
                   knows_png() ? "A PNG, PPM or PGM picture of your own" : "A PPM or PGM picture")
        ->type_name("FILE");
    app.add_option("--radius", options_.radius, fmt::format("Of the blur, in pixels, 0 to {}", kMostRadius))
        ->type_name("PIXELS")
        ->check(CLI::Range(std::size_t{0}, kMostRadius))
        ->capture_default_str();
    app.add_option("--amount", options_.amount,
                   "Of the sharpening: how much of what the blur takes away is added")
        ->type_name("X")
        ->capture_default_str();
  }

  JobResult run(Runtime& runtime, const CommonOptions& options, const Progress& progress) override {
    if (!input_.empty() && options.size != 0)
      throw InvalidArgument("--size is of the synthetic picture; leave it out with --input");
    if (!(std::abs(options_.amount) <= kMostAmount))  // nor a NaN
      throw InvalidArgument(fmt::format("--amount must lie between -{0} and {0}", kMostAmount));
    const std::size_t size = options.size == 0 ? kDefaultSize : options.size;
    const Picture picture = input_.empty() ? synthetic_picture(size) : read_picture(input_);
    PipelineOptions pipeline = options_;
    if (options.tile != 0) pipeline.tile = options.tile;
    const PipelineResult done = run_pipeline(
        runtime, picture, pipeline, [&](std::size_t count, std::size_t of) { progress("tiles", count, of); });

    JobResult result;
    result.single_precision = true;
    const Statistics before = statistics(done.before);
    const Statistics after = statistics(done.after);
    result.lines = {
        fmt::format("{}: {} x {} pixels, {} plane{}", input_.empty() ? "synthetic picture" : input_,
                    picture.width, picture.height, picture.planes.size(),
                    picture.planes.size() == 1 ? "" : "s"),
        fmt::format("values before: mean {:.4f}, deviation {:.4f}", before.mean, before.deviation),
        fmt::format("sharpened:     mean {:.4f}, deviation {:.4f}", after.mean, after.deviation)};
    if (options.out.empty()) result.lines.emplace_back("pictures are written with --out DIR");
    result.fields = std::make_unique<nlohmann::ordered_json>();
    *result.fields = {{"width", picture.width},
                      {"height", picture.height},
                      {"planes", picture.planes.size()},
                      {"mean_before", before.mean},
                      {"deviation_before", before.deviation},
                      {"mean_after", after.mean},
                      {"deviation_after", after.deviation}};
    if (!options.out.empty()) write_pictures(picture, done, options.out, result);
    return result;
  }

 private:
  void write_pictures(const Picture& picture, const PipelineResult& done, const std::string& folder,
                      JobResult& result) const {
    const auto write = [&](const char* what, const std::string& file, const std::string& content) {
      const std::string path = join_path(folder, file);
      write_file(path, content);
      result.files.emplace_back(what, path);
    };
    const std::string ending = file_ending(picture);
    if (input_.empty()) write("picture", "picture" + ending, encode(picture));
    write("blurred", "blurred" + ending, encode(done.blurred));
    write("sharpened", "sharpened" + ending, encode(done.sharpened));
    write("histogram", "histogram.svg", histogram_svg(done.before, done.after));
  }

  std::string input_;
  PipelineOptions options_;
};

}  // namespace

std::unique_ptr<Job> make_image_job() { return std::make_unique<ImageJob>(); }

}  // namespace hocket::jobs
