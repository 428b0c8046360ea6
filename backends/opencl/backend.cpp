// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <hocket/backend.hpp>

#include "opencl/device.hpp"
#include "opencl/discovery.hpp"

namespace hocket {
namespace opencl_backend {
namespace {

class OpenclBackend final : public Backend {
 public:
  std::string_view kind() const override { return "opencl"; }
  std::vector<std::unique_ptr<Device>> open(std::string_view specification) override;
  std::string why_none() const override { return why_none_; }

 private:
  std::string why_none_ = "they have not been looked for yet";
};

std::vector<std::unique_ptr<Device>> OpenclBackend::open(std::string_view specification) {
  const Selection selection = parse_selection(specification);
  const Discovery discovery = discover();
  why_none_ = discovery.trouble;
  if (selection.number && !discovery.devices.empty() && *selection.number >= discovery.devices.size())
    throw InvalidArgument(fmt::format("There is no OpenCL device {}; there are: {}", *selection.number,
                                      list_of(discovery.devices)));

  std::vector<std::unique_ptr<Device>> devices;
  bool any_selected = false;
  for (const FoundDevice& found : discovery.devices) {
    if (!selects(selection, found)) continue;
    any_selected = true;
    if (!found.unusable.empty()) continue;  // `trouble` says why.
    try {
      devices.push_back(std::make_unique<OpenclDevice>(found));
    } catch (const Error& error) {
      // One driver that fails must not take the other devices away.
      why_none_ += fmt::format("{}{}", why_none_.empty() ? "" : "; ", error.what());
    }
  }
  if (!any_selected && !discovery.devices.empty())
    why_none_ = fmt::format("no OpenCL device is of type {}; there are: {}", specification,
                            list_of(discovery.devices));
  return devices;
}

}  // namespace
}  // namespace opencl_backend

std::unique_ptr<Backend> make_opencl_backend() { return std::make_unique<opencl_backend::OpenclBackend>(); }

}  // namespace hocket
