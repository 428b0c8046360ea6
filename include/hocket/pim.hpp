// SPDX-License-Identifier: Apache-2.0
/// The PIM variant of a codelet: `pim(program)`, where the program is what every tasklet of every DPU runs;
/// see <hocket/dpu.hpp> for what it can do.
///
///   void saxpy(dpu::Tasklet& tasklet, float a, dpu::Mram<const float> x, dpu::Mram<float> y);
///   const Codelet codelet{"saxpy", cpu(...), pim(saxpy)};
///
/// Scalars are passed on as they are. `View<const T, R>` becomes `dpu::Mram<const T, R>`; `View<T, R>` and
/// `Out<T, R>` become `dpu::Mram<T, R>`. Data are interleaved over the banks by rows unless the recipe says
/// otherwise: `pim(gemv).wants<float>(1, Layout::BankReplicated)`:
///  - BankInterleaved: DPU d holds the d-th block of ceil(rows / DPUs) rows;
///  - BankReplicated: every DPU holds the whole; for data that are read;
///  - BankPartialSum: every DPU writes a full-size partial result, zeroed before the launch, and the value is
///    the sum of them all, added in the order of the DPUs when it is fetched; for data that are written (`Out`);
///  - BankSingle: DPU 0 holds the whole, the others have no rows.
#pragma once

#include <array>
#include <cstddef>
#include <hocket/codelet.hpp>
#include <hocket/dpu.hpp>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace hocket {

/// What the PIM backend is given to launch.
class PimVariant : public Variant {
 public:
  PimVariant() : Variant("pim") {}

  /// Runs the program for one tasklet. In data arguments, `buffer.memory` points to the MRAM address.
  virtual void run(dpu::Tasklet& tasklet, std::span<const Argument> arguments) const = 0;
  /// Throws `InvalidArgument` for element types that differ from the codelet's and layouts that banks cannot
  /// have or that do not suit the access.
  void check(std::string_view codelet, std::span<const Parameter> parameters) const override;

  /// The parameters as the program has them.
  std::vector<Parameter> own_parameters;
};

namespace detail {

template <class P>
struct IsView : std::false_type {};
template <class T, std::size_t Rank>
struct IsView<View<T, Rank>> : std::true_type {};
template <class T, std::size_t Rank>
struct IsView<Out<T, Rank>> : std::true_type {};

/// How a program's parameter is filled from an argument.
template <class P>
struct ProgramParameter {  // a scalar
  static_assert(
      !IsView<P>::value,
      "hocket: a program for a PIM device takes data as dpu::Mram<T> or dpu::Mram<const T>, not as a View");
  static P unpack(const dpu::Tasklet&, const Argument& argument) noexcept {
    return ParameterTraits<P>::unpack(argument);
  }
};
template <class T, std::size_t Rank>
struct ProgramParameter<dpu::Mram<T, Rank>> {
  static dpu::Mram<T, Rank> unpack(const dpu::Tasklet& tasklet, const Argument& argument) noexcept {
    const Buffer& buffer = argument.buffer;
    std::array<std::size_t, Rank> extents{};
    for (std::size_t d = 0; d < Rank; ++d) extents[d] = buffer.shape.extent[d];
    const std::size_t total_rows = extents[0];
    const dpu::RowRange rows =
        dpu::rows_of_bank(buffer.format.layout, total_rows, tasklet.dpu(), tasklet.dpus());
    extents[0] = rows.count;
    const auto address = *static_cast<const dpu::MramAddress*>(buffer.memory);
    return dpu::Mram<T, Rank>(address, extents, rows.first, total_rows);
  }
};

/// The kernel parameter that a program's parameter stands for. `Mram<T>` serves for both View and Out, so
/// this depends on what the codelet declares.
template <class Declared, class P>
struct KernelParameter {
  using Type = P;
};
template <class Declared, class T, std::size_t Rank>
struct KernelParameter<Declared, dpu::Mram<T, Rank>> {
  using Type = View<T, Rank>;
};
template <class U, std::size_t DeclaredRank, class T, std::size_t Rank>
requires(!std::is_const_v<T>) struct KernelParameter<Out<U, DeclaredRank>, dpu::Mram<T, Rank>> {
  using Type = Out<T, Rank>;
};

template <class DeclaredList, class List>
struct KernelParameters;
template <class... Ds, class... Ps>
struct KernelParameters<ParameterList<Ds...>, ParameterList<Ps...>> {
  using List = ParameterList<typename KernelParameter<void, Ps>::Type...>;  // the counts differ: an error
};
template <class... Ds, class... Ps>
requires(sizeof...(Ds) == sizeof...(Ps)) struct KernelParameters<ParameterList<Ds...>, ParameterList<Ps...>> {
  using List = ParameterList<typename KernelParameter<Ds, Ps>::Type...>;
};

/// The parameters of a program after its tasklet.
template <class List>
struct AfterTasklet {
  static_assert(!std::is_same_v<List, List>,
                "hocket: the first parameter of a program for a PIM device is hocket::dpu::Tasklet&");
};
template <class... Ps>
struct AfterTasklet<ParameterList<dpu::Tasklet, Ps...>> {
  using List = ParameterList<Ps...>;
};

template <class F, class List>
class PimVariantOf;
template <class F, class... Ps>
class PimVariantOf<F, ParameterList<Ps...>> final : public PimVariant {
 public:
  explicit PimVariantOf(F program) : program_(std::move(program)) {}
  void run(dpu::Tasklet& tasklet, std::span<const Argument> arguments) const override {
    call(tasklet, arguments, std::index_sequence_for<Ps...>{});
  }

 private:
  template <std::size_t... Indices>
  void call(dpu::Tasklet& tasklet, [[maybe_unused]] std::span<const Argument> arguments,
            std::index_sequence<Indices...>) const {
    program_(tasklet, ProgramParameter<Ps>::unpack(tasklet, arguments[Indices])...);
  }
  F program_;
};

}  // namespace detail

/// The PIM variant of a codelet; made by `pim(program)`.
template <class F>
class Pim : public VariantRecipe<Pim<F>> {
 public:
  using List = typename detail::AfterTasklet<typename detail::KernelTraits<F>::List>::List;

  explicit Pim(F program) : program_(std::move(program)) {}

  template <class DeclaredList>
  std::shared_ptr<const Variant> build() const {
    using Kernel = typename detail::KernelParameters<DeclaredList, List>::List;
    static_assert(detail::CheckVariant<DeclaredList, Kernel>::check());
    auto variant = std::make_shared<detail::PimVariantOf<F, List>>(program_);
    variant->own_parameters = Kernel::parameters();
    this->apply_wants(*variant);
    return variant;
  }

 private:
  F program_;
};

/// A program for PIM devices: a function or lambda `void(dpu::Tasklet&, ...)` whose further parameters are
/// scalars and `dpu::Mram`s. What it throws fails its task.
template <class F>
Pim<std::decay_t<F>> pim(F&& program) {
  return Pim<std::decay_t<F>>(std::forward<F>(program));
}

}  // namespace hocket
