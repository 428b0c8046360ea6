// SPDX-License-Identifier: Apache-2.0
// Codelets: their names, variants and formats.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "support/runtimes.hpp"
#include "support/watchdog.hpp"

namespace hocket {
namespace {

using testing::holds;
using testing::message_of;
using testing::options_for;
using Codelets = testing::WatchedTest;

void twice(View<const float> x, Out<float> y) {
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = 2.0f * x[i];
}

TEST_F(Codelets, CanBeMadeOfAFunctionAPointerAndALambdaThatCaptures) {
  Runtime runtime(options_for("cpu:1"));
  std::vector<float> memory{1.0f, 2.0f};
  auto x = runtime.data(std::span(memory));
  auto y = runtime.data<float>({2});
  const Codelet function{"function", cpu(twice)};
  const Codelet pointer{"pointer", cpu(&twice)};
  const auto factor = std::make_shared<float>(10.0f);
  const Codelet lambda{"lambda", cpu([factor](View<float> v) {
                         for (float& element : v) element *= *factor;
                       })};
  runtime.submit(function, x, y);
  EXPECT_EQ(runtime.read(y)[1], 4.0f);
  runtime.submit(pointer, x, y);
  runtime.submit(lambda, y);
  EXPECT_EQ(runtime.read(y)[1], 40.0f);
}

TEST_F(Codelets, RefuseAnEmptyName) {
  EXPECT_TRUE(holds(message_of<InvalidArgument>([] { Codelet("", cpu(twice)); }), {"needs a name"}));
}

TEST_F(Codelets, RefuseToHaveNoVariant) {
  using Empty = Codelet<void(View<float>)>;
  EXPECT_TRUE(holds(message_of<InvalidArgument>([] { Empty("hollow"); }), {"hollow", "no variant"}));
}

TEST_F(Codelets, RefuseTwoVariantsForOneKindOfDevice) {
  EXPECT_TRUE(holds(message_of<InvalidArgument>([] { Codelet("double", cpu(twice), cpu(twice)); }),
                    {"double", "two variants", "cpu"}));
}

TEST_F(Codelets, MayShareANameWithoutSharingAnythingElse) {
  Runtime runtime(options_for("cpu:1"));
  auto x = runtime.data<int>({2});
  const Codelet one{"same", cpu([](Out<int> v) { v[0] = v[1] = 1; })};
  const Codelet two{"same", cpu([](Out<int> v) { v[0] = v[1] = 2; })};
  runtime.submit(one, x);
  EXPECT_EQ(runtime.read(x)[0], 1);
  runtime.submit(two, x);
  EXPECT_EQ(runtime.read(x)[0], 2);
}

TEST_F(Codelets, MayBeGoneWhileTheirTasksStillRun) {
  Runtime runtime(options_for("cpu:1"));
  auto x = runtime.data<int>({1});
  {
    const auto value = std::make_shared<int>(5);
    const Codelet temporary{"temporary", cpu([value](Out<int> v) { v[0] = *value; })};
    for (int i = 0; i < 50; ++i) runtime.submit(temporary, x);
  }
  EXPECT_EQ(runtime.read(x)[0], 5);
}

TEST_F(Codelets, GiveTheirNameToTheirTasks) {
  Runtime runtime(options_for("cpu:1"));
  auto x = runtime.data<int>({1});
  EXPECT_EQ(runtime.submit(testing::set_to(), 1, x).name(), "set_to");
  EXPECT_EQ(runtime.submit({.name = "mine"}, testing::set_to(), 1, x).name(), "mine");
}

TEST_F(Codelets, PassScalarsOfAnyTriviallyCopyableType) {
  struct Point {
    double x;
    char tag;
    std::int16_t y;
  };
  enum class Colour : std::uint8_t { Red, Green };
  Runtime runtime(options_for("cpu:1"));
  double sum = 0.0;
  const Codelet mixed{"mixed",
                      cpu([&sum](bool flag, Point point, char letter, Colour colour, long double wide) {
                        sum = (flag ? 1.0 : 0.0) + point.x + point.y + letter +
                              (colour == Colour::Green ? 0.5 : 0.0) + static_cast<double>(wide);
                      })};
  runtime.submit(mixed, true, Point{10.0, 'x', 100}, 'a', Colour::Green, 1000.0L).get();
  EXPECT_EQ(sum, 1.0 + 10.0 + 100.0 + 97.0 + 0.5 + 1000.0);
}

TEST_F(Codelets, ConvertScalarsToTheTypeOfTheKernel) {
  Runtime runtime(options_for("cpu:1"));
  double seen = 0.0;
  const Codelet take{"take", cpu([&seen](double value) { seen = value; })};
  runtime.submit(take, 3).get();
  EXPECT_EQ(seen, 3.0);
}

TEST_F(Codelets, AreToldTheShapesWhenAskedForTheirWork) {
  Runtime runtime(options_for("cpu:1"));
  const auto counted = testing::add().with_work([](std::span<const Shape> shapes) {
    return Work{static_cast<double>(shapes[0].elements() * 1000 + shapes[1].elements()), 0.0};
  });
  auto x = runtime.data<int>({7});
  runtime.submit(testing::set_to(), 0, x).get();
  runtime.submit(counted, 1, x).get();
  runtime.wait();
  EXPECT_EQ(runtime.report().flops, 1007.0);
}

// ---- formats
// ----------------------------------------------------------------------------------------------------

/// A kernel that sees its input in bf16 and counts what it sees.
auto sum_in_bf16() {
  return Codelet<void(View<const float>, Out<float>)>{"sum_in_bf16",
                                                      cpu([](View<const bf16> x, Out<float> result) {
                                                        result[0] = 0.0f;
                                                        for (const bf16 element : x)
                                                          result[0] += static_cast<float>(element);
                                                      }).wants<bf16>(0)};
}

TEST_F(Codelets, GetTheFormatThatTheyWantWhereTheDataPermitsTheLoss) {
  Runtime runtime(options_for("cpu:2"));
  const float fine = 1.00390625f;  // 1 + 2^-8: halfway to the next bf16, rounded to even, which is 1
  std::vector<float> memory(8, fine);
  auto x = runtime.data(std::span(memory), {.name = "rough", .permit_lossy = true});
  auto result = runtime.data<float>({1});
  runtime.submit(sum_in_bf16(), x, result);
  EXPECT_EQ(runtime.read(result)[0], 8.0f);
  EXPECT_EQ(runtime.read(x)[0], fine) << "the exact copy is still what everybody else sees";
}

TEST_F(Codelets, AreNotEligibleForDataThatDoesNotPermitTheLoss) {
  Runtime runtime(options_for("cpu:1"));
  auto x = runtime.data<float>({8}, {.name = "precise"});
  auto result = runtime.data<float>({1});
  runtime.submit(cpu([](Out<float> v) { v[0] = 1.0f; }), x);
  const std::string message = message_of<NoEligibleDevice>([&] { runtime.submit(sum_in_bf16(), x, result); });
  EXPECT_TRUE(holds(message, {"sum_in_bf16", "precise", "permit_lossy", "cpu:0"}));
}

TEST_F(Codelets, WidenWithoutAskingSinceThatLosesNothing) {
  Runtime runtime(options_for("cpu:1"));
  std::vector<bf16> memory(4, bf16(2.5f));
  auto x = runtime.data(std::span(memory));
  auto result = runtime.data<float>({1});
  const Codelet<void(View<const bf16>, Out<float>)> widen{"widen",
                                                          cpu([](View<const float> v, Out<float> sum) {
                                                            sum[0] = 0.0f;
                                                            for (const float element : v) sum[0] += element;
                                                          }).wants<float>(0)};
  runtime.submit(widen, x, result);
  EXPECT_EQ(runtime.read(result)[0], 10.0f);
}

TEST_F(Codelets, SeeTheNewestValueInTheFormatThatTheyWant) {
  Runtime runtime(options_for("cpu:2"));
  std::vector<float> memory(64, 1.0f);
  auto x = runtime.data(std::span(memory), {.permit_lossy = true});
  auto result = runtime.data<float>({1});
  for (int round = 2; round < 12; ++round) {
    runtime.submit(cpu([round](Out<float> v) {
                     for (float& element : v) element = static_cast<float>(round);
                   }),
                   x);
    runtime.submit(sum_in_bf16(), x, result);
    EXPECT_EQ(runtime.read(result)[0], 64.0f * static_cast<float>(round));
  }
}

TEST_F(Codelets, MayWriteInAnotherFormat) {
  Runtime runtime(options_for("cpu:1"));
  auto x = runtime.data<float>({3}, {.permit_lossy = true});
  const Codelet<void(Out<float>)> narrow{"narrow", cpu([](Out<bf16> v) {
                                                     for (bf16& element : v) element = bf16(0.5f);
                                                   }).wants<bf16>(0)};
  runtime.submit(narrow, x);
  EXPECT_EQ(runtime.read(x)[2], 0.5f);
}

TEST_F(Codelets, RefuseAKernelOfAnotherElementTypeThatDoesNotSayWants) {
  using Floats = Codelet<void(View<const float>)>;
  EXPECT_TRUE(holds(message_of<InvalidArgument>([] { Floats("silent", cpu([](View<const bf16>) {})); }),
                    {"silent", "bf16", "f32", "wants"}));
}

TEST_F(Codelets, RefuseWantsForAScalarOrAnArgumentThatThereIsNot) {
  EXPECT_TRUE(holds(
      message_of<InvalidArgument>([] { Codelet("scalar", cpu([](float, View<float>) {}).wants<bf16>(0)); }),
      {"scalar", "argument 0", "scalar"}));
  for (const std::size_t index : {2u, 7u})
    EXPECT_TRUE(holds(message_of<InvalidArgument>(
                          [&] { Codelet("beyond", cpu([](float, View<float>) {}).wants<bf16>(index)); }),
                      {"beyond", "not"}));
}

}  // namespace
}  // namespace hocket
