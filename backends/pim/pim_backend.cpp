// SPDX-License-Identifier: Apache-2.0
/// The backend of kind "pim": one emulated device of as many DPUs as are asked for.
#include <charconv>
#include <hocket/backend.hpp>
#include <memory>
#include <string>
#include <system_error>

#include "pim/pim_device.hpp"

namespace hocket {
namespace {

class PimBackend final : public Backend {
 public:
  std::string_view kind() const override { return "pim"; }
  bool on_request_only() const override { return true; }

  std::vector<std::unique_ptr<Device>> open(std::string_view specification) override {
    dpu::Configuration configuration;
    if (!specification.empty()) {
      const char* end = specification.data() + specification.size();
      const auto [rest, error] = std::from_chars(specification.data(), end, configuration.dpus);
      if (error != std::errc{} || rest != end || configuration.dpus == 0 ||
          configuration.dpus > dpu::kMaximumDpus) {
        throw InvalidArgument("device specification \"pim:" + std::string(specification) +
                              "\": what follows the colon is the number of DPUs, 1 to " +
                              std::to_string(dpu::kMaximumDpus) + ", for example \"pim:64\"");
      }
    }
    std::vector<std::unique_ptr<Device>> devices;
    devices.push_back(std::make_unique<dpu::PimDevice>(configuration));
    return devices;
  }
};

}  // namespace

std::unique_ptr<Backend> make_pim_backend() { return std::make_unique<PimBackend>(); }

}  // namespace hocket
