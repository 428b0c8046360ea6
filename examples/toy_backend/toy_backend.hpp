// SPDX-License-Identifier: Apache-2.0
/// A backend outside Hocket's tree: devices of kind "toy", with memory of their own and a thread for each
/// lane. Register it with `RuntimeOptions::backends`, name it in `RuntimeOptions::devices` ("toy", or "toy:3"
/// for three of them), and give codelets a variant for it with `toy::kernel(function)`.
#pragma once

#include <functional>
#include <hocket/hocket.hpp>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace toy {

namespace hk = hocket;

/// What a toy device is given to launch.
class Variant final : public hk::Variant {
 public:
  Variant() : hk::Variant("toy") {}
  void check(std::string_view codelet, std::span<const hk::Parameter> parameters) const override;

  std::function<void(std::span<const hk::Argument>)> run;  ///< Called on a thread of the device.
  std::vector<hk::Parameter> own_parameters;               ///< As the function itself has them.
};

/// The toy variant of a codelet, made by `kernel(function)`.
template <class F>
class Kernel : public hk::VariantRecipe<Kernel<F>> {
 public:
  explicit Kernel(F function) : function_(std::move(function)) {}

  /// `Codelet` calls it with the parameters of its signature.
  template <class DeclaredList>
  std::shared_ptr<const hk::Variant> build() const {
    using List = typename hk::detail::KernelTraits<F>::List;
    static_assert(hk::detail::CheckVariant<DeclaredList, List>::check());
    auto variant = std::make_shared<Variant>();
    variant->own_parameters = List::parameters();
    variant->run = caller(List{});
    this->apply_wants(*variant);
    return variant;
  }

 private:
  template <class... Ps>
  auto caller(hk::detail::ParameterList<Ps...>) const {
    return [function = function_](std::span<const hk::Argument> arguments) {
      auto next = arguments.begin();  // a braced list is evaluated from left to right
      std::apply(function, std::tuple<Ps...>{hk::detail::ParameterTraits<Ps>::unpack(*next++)...});
    };
  }
  F function_;
};

/// A kernel for toy devices: a function or lambda over scalars and views, as for `hk::cpu`. What it throws
/// fails its task.
template <class F>
Kernel<std::decay_t<F>> kernel(F&& function) {
  return Kernel<std::decay_t<F>>(std::forward<F>(function));
}

std::unique_ptr<hk::Backend> make_backend();

}  // namespace toy
