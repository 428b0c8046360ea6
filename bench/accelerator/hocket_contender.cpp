// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <vector>

#include "accelerator/kernels.hpp"

namespace hocket::bench::accelerator {
namespace {

class OnHocket final : public Contender {
 public:
  OnHocket(const std::string& kind, Pattern pattern, std::size_t tasks, bool replay)
      : runtime_(options(kind)), tasks_(tasks) {
    for (std::size_t i = 0; i < (pattern == Pattern::Chain ? 1 : tasks); ++i) {
      data_.push_back(runtime_.data<int>({kElements}));
      for (int& element : runtime_.overwrite(data_.back())) element = 0;
    }
    if (replay) graph_ = runtime_.record([this](Graph& graph) { submit(graph); });
  }

  void run() override {
    if (graph_) {
      runtime_.run(*graph_).get();
    } else {
      submit(runtime_);
      runtime_.wait();
    }
  }
  int value(std::size_t i) override { return runtime_.read(data_[i])[0]; }

 private:
  static RuntimeOptions options(const std::string& kind) {
    RuntimeOptions result;
    result.devices = kind + ":" + specification(kind);
    return result;
  }
  void submit(Submitter& to) {
    for (std::size_t i = 0; i < tasks_; ++i) to.submit(touch(), data_[i % data_.size()]);
  }

  Runtime runtime_;
  std::size_t tasks_;
  std::vector<Data<int>> data_;
  std::optional<Graph> graph_;
};

}  // namespace

std::unique_ptr<Contender> make_hocket(const std::string& kind, Pattern pattern, std::size_t tasks,
                                       bool replay) {
  return std::make_unique<OnHocket>(kind, pattern, tasks, replay);
}

}  // namespace hocket::bench::accelerator
