// SPDX-License-Identifier: Apache-2.0
/// Codelets: one piece of work with a variant for each kind of device that can do it. The kernel's signature
/// is the contract: it states for each parameter whether it is data or a scalar, its element type, its rank
/// and how it is used, and every variant must agree with it.
///
/// A codelet is immutable once built, may be shared by any threads, runtimes and graphs, and may be destroyed
/// while tasks of it are still running (they keep what they need).
#pragma once

#include <array>
#include <functional>
#include <hocket/backend.hpp>
#include <hocket/view.hpp>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace hocket {

template <class Signature>
class Codelet;

namespace detail {

class Datum;

/// What the compiled core knows of a codelet.
struct CodeletCore {
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<std::shared_ptr<const Variant>> variants;  ///< At most one for each kind of device.
  std::function<Work(std::span<const Shape>)> work;      ///< May be empty.
  std::uint64_t key = 0;     ///< Identifies the codelet in cost models: a hash of its name.
  std::uint64_t serial = 0;  ///< Distinguishes the codelets of a process, dead ones included.
  bool one_off = false;      ///< Made for one task, with which its kernel goes.
};

/// Checks name and variants, and computes the key; throws `InvalidArgument`.
std::shared_ptr<const CodeletCore> make_codelet(CodeletCore core);

/// A box of a datum as it lies in the host's memory: what a task on a CPU core finds where nothing had to be moved.
struct HomeView {
  void* memory = nullptr;  ///< Its first element.
  Datum* datum = nullptr;
  Shape shape;
  Strides strides{};
};

/// How the arguments of a kernel are kept in a task, and how it is called on data at home.
struct TaskType {
  const Parameter* parameters = nullptr;
  const std::uint32_t* scalar_offsets = nullptr;  ///< By parameter, into the task's storage; unused for data.
  std::uint32_t parameter_count = 0;
  std::uint32_t operand_count = 0;  ///< Parameters that are data.
  std::uint32_t storage_bytes = 0;  ///< Of the captures (one-off kernels only) and the scalars.
  std::uint32_t storage_alignment = 1;
  /// Calls the kernel. `arguments`: for each parameter the `HomeView` or the scalar. Null where it must be launched
  /// through its variant.
  void (*run)(const void* kernel, const void* const* arguments) = nullptr;
  const void* kernel =
      nullptr;  ///< What `run` takes; null for one-off kernels, which lie in the task's storage.
  bool one_off = false;
  /// One-off kernels: constructs the kernel from its recipe (a `Cpu`), and destroys it; null where that does nothing.
  void (*construct)(void* to, const void* recipe) = nullptr;
  void (*destroy)(void* kernel) noexcept = nullptr;
};

// ---- what a parameter type means -------------------------------------------------------------------------

template <class P>
struct ParameterTraits {  // a scalar
  static constexpr bool is_data = false;
  static_assert(std::is_trivially_copyable_v<P>,
                "hocket: a scalar parameter of a kernel is copied as bytes and must be trivially copyable; "
                "capture other things in the lambda, or pass them as data");
  static_assert(!std::is_pointer_v<P>,
                "hocket: a kernel takes data as View<T>, View<const T> or Out<T>, not as a pointer");
  static constexpr Parameter parameter() noexcept {
    return {false, Access::Read, element_type<P>(), 0, static_cast<std::uint32_t>(alignof(P))};
  }
  static P unpack(const Argument& argument) noexcept { return *static_cast<const P*>(argument.scalar); }
  static P unpack_home(const void* scalar) noexcept { return *static_cast<const P*>(scalar); }
};

template <class ViewType, class T, std::size_t Rank, Access Mode>
struct ViewTraits {
  static constexpr bool is_data = true;
  using Element = std::remove_const_t<T>;
  static_assert(std::is_trivially_copyable_v<Element>,
                "hocket: elements of data are moved between devices as bytes and must be trivially copyable");
  static constexpr std::size_t rank = Rank;
  static constexpr Access access = Mode;
  static constexpr Parameter parameter() noexcept {
    return {true, Mode, element_type<Element>(), static_cast<std::uint8_t>(Rank), 1};
  }
  static ViewType unpack(const Argument& argument) noexcept {
    std::array<std::size_t, Rank> extents{};
    std::array<std::size_t, Rank> strides{};
    for (std::size_t d = 0; d < Rank; ++d) {
      extents[d] = argument.buffer.shape.extent[d];
      strides[d] = argument.buffer.strides[d];
    }
    return ViewType(static_cast<T*>(argument.buffer.memory), extents, strides);
  }
  static ViewType unpack_home(const void* argument) noexcept {
    const HomeView& home = *static_cast<const HomeView*>(argument);
    std::array<std::size_t, Rank> extents{};
    std::array<std::size_t, Rank> strides{};
    for (std::size_t d = 0; d < Rank; ++d) {
      extents[d] = home.shape.extent[d];
      strides[d] = home.strides[d];
    }
    return ViewType(static_cast<T*>(home.memory), extents, strides);
  }
};
template <class T, std::size_t Rank>
struct ParameterTraits<View<const T, Rank>> : ViewTraits<View<const T, Rank>, const T, Rank, Access::Read> {};
template <class T, std::size_t Rank>
struct ParameterTraits<View<T, Rank>> : ViewTraits<View<T, Rank>, T, Rank, Access::ReadWrite> {};
template <class T, std::size_t Rank>
struct ParameterTraits<Out<T, Rank>> : ViewTraits<Out<T, Rank>, T, Rank, Access::Write> {};

// ---- signatures ------------------------------------------------------------------------------------------

template <class... Ps>
struct ParameterList {
  static std::vector<Parameter> parameters() { return {ParameterTraits<Ps>::parameter()...}; }
};

template <class F>
struct CallTraits;  // Undefined for what has no single, non-generic call operator.
template <class R, class... Ps>
struct CallTraits<R (*)(Ps...)> {
  static_assert(std::is_void_v<R>, "hocket: a kernel returns nothing; write the result to data");
  using Signature = void(std::remove_cvref_t<Ps>...);
  using List = ParameterList<std::remove_cvref_t<Ps>...>;
};
template <class R, class... Ps>
struct CallTraits<R (*)(Ps...) noexcept> : CallTraits<R (*)(Ps...)> {};
template <class R, class C, class... Ps>
struct CallTraits<R (C::*)(Ps...) const> : CallTraits<R (*)(Ps...)> {};
template <class R, class C, class... Ps>
struct CallTraits<R (C::*)(Ps...) const noexcept> : CallTraits<R (*)(Ps...)> {};
template <class R, class C, class... Ps>
struct CallTraits<R (C::*)(Ps...)> : CallTraits<R (*)(Ps...)> {
  static_assert(!std::is_same_v<R, R>,
                "hocket: a kernel may run on several threads at once, so its lambda must not be mutable");
};

template <class F>
constexpr bool has_one_call_operator() noexcept {
  if constexpr (std::is_class_v<F>) {
    return requires { &F::operator(); };
  } else {
    return std::is_function_v<std::remove_pointer_t<F>>;
  }
}

template <class F>
struct KernelTraits {
  static_assert(has_one_call_operator<F>(),
                "hocket: a kernel must be a function or a lambda with fixed parameter types (no auto "
                "parameters), since its signature states how each argument is used");
  template <class G>
  static auto call_type() {
    if constexpr (std::is_class_v<G>) {
      return std::type_identity<decltype(&G::operator())>{};
    } else {
      return std::type_identity<G>{};
    }
  }
  using Traits = CallTraits<typename decltype(call_type<F>())::type>;
  using Signature = typename Traits::Signature;
  using List = typename Traits::List;
};

/// Whether a kernel that takes `Actual` can implement a codelet whose parameter is `Declared`. Element types
/// may differ where a conversion of formats exists; the variant must then state it with `wants`.
template <std::size_t Index, class Declared, class Actual>
constexpr bool check_variant_parameter() {
  using D = ParameterTraits<Declared>;
  using A = ParameterTraits<Actual>;
  static_assert(D::is_data == A::is_data,
                "hocket: this variant takes a scalar where the codelet takes data, or the reverse");
  if constexpr (D::is_data && A::is_data) {
    static_assert(D::rank == A::rank, "hocket: this variant's view has another rank than the codelet's");
    static_assert(
        D::access == A::access,
        "hocket: this variant uses a parameter otherwise than the codelet (read, write, read-write)");
  } else if constexpr (!D::is_data && !A::is_data) {
    static_assert(std::is_same_v<Declared, Actual>,
                  "hocket: this variant's scalar has another type than the codelet's");
  }
  return true;
}

template <class Declared, class Actual>
struct CheckVariant;
template <class... Ds, class... As>
struct CheckVariant<ParameterList<Ds...>, ParameterList<As...>> {
  static constexpr bool check() {
    static_assert(sizeof...(Ds) == sizeof...(As),
                  "hocket: this variant takes another number of arguments than the codelet");
    if constexpr (sizeof...(Ds) == sizeof...(As)) check_all(std::index_sequence_for<Ds...>{});
    return true;
  }
  template <std::size_t... Indices>
  static constexpr void check_all(std::index_sequence<Indices...>) {
    (check_variant_parameter<Indices, Ds, As>(), ...);
  }
};

/// A CPU kernel with its type erased.
class CpuVariant : public Variant {
 public:
  CpuVariant() : Variant("cpu") {}
  /// Runs the kernel on the calling thread; passes on what it throws.
  virtual void run(std::span<const Argument> arguments) const = 0;
  /// Says in `type` how to call the kernel on data at home, without this class.
  virtual void describe(TaskType& type) const noexcept = 0;
  /// Destroys the kernel with what it captures; it cannot run any more. For kernels that are used once.
  virtual void forget() const noexcept = 0;
  /// The parameters as the kernel itself has them.
  std::vector<Parameter> own_parameters;
  void check(std::string_view codelet, std::span<const Parameter> parameters) const override;
};

template <class F, class List>
class CpuVariantOf;
template <class F, class... Ps>
class CpuVariantOf<F, ParameterList<Ps...>> final : public CpuVariant {
 public:
  explicit CpuVariantOf(F function) : function_(std::move(function)) {
    own_parameters = ParameterList<Ps...>::parameters();
  }
  void run(std::span<const Argument> arguments) const override {
    call(arguments, std::index_sequence_for<Ps...>{});
  }
  void describe(TaskType& type) const noexcept override {
    type.kernel = &*function_;
    type.run = [](const void* kernel, const void* const* arguments) {
      call_home(*static_cast<const F*>(kernel), arguments, std::index_sequence_for<Ps...>{});
    };
  }
  void forget() const noexcept override { function_.reset(); }

  template <std::size_t... Indices>
  static void call_home(const F& function, [[maybe_unused]] const void* const* arguments,
                        std::index_sequence<Indices...>) {
    function(ParameterTraits<Ps>::unpack_home(arguments[Indices])...);
  }

 private:
  template <std::size_t... Indices>
  void call([[maybe_unused]] std::span<const Argument> arguments, std::index_sequence<Indices...>) const {
    std::as_const (*function_)(ParameterTraits<Ps>::unpack(arguments[Indices])...);
  }
  mutable std::optional<F> function_;
};

struct Want {
  std::size_t index;
  Format format;
};

}  // namespace detail

/// Base of the things that a codelet is built from (`cpu(...)`, `opencl{...}`, `pim(...)`, a user's own): lets
/// the format of single arguments be stated.
template <class Self>
class VariantRecipe {
 public:
  /// The variant takes argument `index` (counted from 0, scalars included) with elements of type `Element`;
  /// the runtime converts. A lossy conversion happens only to data that permit it (`DataOptions`).
  template <class Element>
  Self& wants(std::size_t index, Layout layout = Layout::RowMajor) {
    wants_.push_back({index, Format{element_type<Element>(), layout}});
    return static_cast<Self&>(*this);
  }

 protected:
  bool wants_nothing() const noexcept { return wants_.empty(); }
  void apply_wants(Variant& variant) const {
    for (const detail::Want& want : wants_) variant.want_format(want.index, want.format);
  }

 private:
  std::vector<detail::Want> wants_;
};

template <class F, class Signature>
class Cpu;

namespace detail {

/// The type of the tasks that a kernel is used once for.
template <class F, class List>
struct OneOff;
template <class F, class... Ps>
struct OneOff<F, ParameterList<Ps...>> {
  static constexpr std::size_t kCount = sizeof...(Ps);
  static constexpr std::array<Parameter, kCount> kParameters{ParameterTraits<Ps>::parameter()...};
  struct Layout {
    std::array<std::uint32_t, kCount> offsets{};
    std::uint32_t bytes = static_cast<std::uint32_t>(std::is_empty_v<F> ? 0 : sizeof(F));
    std::uint32_t alignment = static_cast<std::uint32_t>(alignof(F));
    std::uint32_t operands = 0;
  };
  static constexpr Layout layout() noexcept {
    Layout result;
    for (std::size_t i = 0; i < kCount; ++i) {
      if (kParameters[i].is_data) {
        ++result.operands;
        continue;
      }
      const std::uint32_t alignment = kParameters[i].alignment;
      if (alignment > result.alignment) result.alignment = alignment;
      result.bytes = (result.bytes + alignment - 1) / alignment * alignment;
      result.offsets[i] = result.bytes;
      result.bytes += kParameters[i].element.bytes;
    }
    return result;
  }
  static constexpr Layout kLayout = layout();
  static void run(const void* kernel, const void* const* arguments) {
    CpuVariantOf<F, ParameterList<Ps...>>::call_home(*static_cast<const F*>(kernel), arguments,
                                                     std::index_sequence_for<Ps...>{});
  }
  static void construct(void* to, const void* recipe) {
    ::new (to) F(static_cast<const Cpu<F, void(Ps...)>*>(recipe)->function());
  }
  static void destroy(void* kernel) noexcept { static_cast<F*>(kernel)->~F(); }
  static constexpr TaskType kType{kParameters.data(),
                                  kLayout.offsets.data(),
                                  static_cast<std::uint32_t>(kCount),
                                  kLayout.operands,
                                  kLayout.bytes,
                                  kLayout.alignment,
                                  &run,
                                  nullptr,
                                  true,
                                  std::is_empty_v<F> ? nullptr : &construct,
                                  std::is_trivially_destructible_v<F> ? nullptr : &destroy};
};

}  // namespace detail

/// The CPU variant of a codelet; made by `cpu(function)`.
template <class F, class... Ps>
class Cpu<F, void(Ps...)> : public VariantRecipe<Cpu<F, void(Ps...)>> {
 public:
  using List = detail::ParameterList<Ps...>;

  Cpu(F function, SourceLocation location) : function_(std::move(function)), location_(location) {}

  /// Where `cpu(...)` was called: the name of a one-off task.
  SourceLocation location() const noexcept { return location_; }
  const F& function() const noexcept { return function_; }

  /// Whether it takes all data as they lie in the host's memory.
  using VariantRecipe<Cpu>::wants_nothing;

  template <class DeclaredList>
  std::shared_ptr<const Variant> build() const {
    static_assert(detail::CheckVariant<DeclaredList, List>::check());
    auto variant = std::make_shared<detail::CpuVariantOf<F, List>>(function_);
    this->apply_wants(*variant);
    return variant;
  }

 private:
  F function_;
  SourceLocation location_;
};

/// A kernel for CPU cores: a function or lambda whose parameters are scalars and views. It may run on several
/// threads at once. What it throws fails its task.
template <class F>
auto cpu(F&& function, SourceLocation location = SourceLocation::current()) {
  using Function = std::decay_t<F>;
  return Cpu<Function, typename detail::KernelTraits<Function>::Signature>(std::forward<F>(function),
                                                                           location);
}

namespace detail {
template <class... Vs>
struct FirstCpu {
  static_assert(sizeof...(Vs) != 0 && sizeof...(Vs) != sizeof...(Vs),
                "hocket: a codelet without a CPU variant must state its signature, for example "
                "hocket::Codelet<void(float, hocket::View<float>)>{...}");
};
template <class V, class... Vs>
struct FirstCpu<V, Vs...> : FirstCpu<Vs...> {};
template <class F, class S, class... Vs>
struct FirstCpu<Cpu<F, S>, Vs...> {
  using Signature = S;
};
}  // namespace detail

/// A named piece of work with a variant for each kind of device. Cheap to copy.
template <class... Ps>
class Codelet<void(Ps...)> {
 public:
  using List = detail::ParameterList<Ps...>;

  /// `variants`: any of `cpu(...)`, `opencl{...}`, `pim(...)`, or objects of a user's backend with a member
  /// template `build<List>() -> std::shared_ptr<const Variant>`. Throws `InvalidArgument` for an empty name, no
  /// variant, two variants for one kind of device, or a variant that disagrees with the signature.
  template <class... Vs>
  explicit Codelet(std::string name, const Vs&... variants) {
    detail::CodeletCore core;
    core.name = std::move(name);
    core.parameters = List::parameters();
    (core.variants.push_back(variants.template build<List>()), ...);
    core_ = detail::make_codelet(std::move(core));
  }

  /// The same codelet with a statement of its work: called with the shape of each argument (of scalars:
  /// one element), from any thread, it returns flops and bytes for cost estimates and reports. It
  /// must not throw; where it does, the task counts as having stated no work.
  [[nodiscard]] Codelet with_work(std::function<Work(std::span<const Shape>)> work) const {
    Codelet copy = *this;
    detail::CodeletCore core = *core_;
    core.work = std::move(work);
    copy.core_ = detail::make_codelet(std::move(core));
    return copy;
  }

  const std::string& name() const noexcept { return core_->name; }
  const std::shared_ptr<const detail::CodeletCore>& core() const noexcept { return core_; }

 private:
  std::shared_ptr<const detail::CodeletCore> core_;
};

template <class... Vs>
Codelet(const char*, const Vs&...) -> Codelet<typename detail::FirstCpu<Vs...>::Signature>;
template <class... Vs>
Codelet(std::string, const Vs&...) -> Codelet<typename detail::FirstCpu<Vs...>::Signature>;

}  // namespace hocket
