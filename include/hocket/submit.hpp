// SPDX-License-Identifier: Apache-2.0
/// Submission: what `Runtime` (runs at once) and `Graph` (records) have in common. The templates only check the
/// arguments against the kernel's signature and pack them; the work is done by a compiled core.
#pragma once

#include <array>
#include <hocket/codelet.hpp>
#include <hocket/data.hpp>
#include <hocket/task.hpp>
#include <initializer_list>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace hocket {
namespace detail {

/// One argument of a submission on its way to the core; valid during the call.
struct PackedArgument {
  Region* region = nullptr;      ///< Data.
  const void* scalar = nullptr;  ///< Scalars.
};

/// Whether a scalar argument of type `U` is taken for a parameter of type `P`: as in a call of a function, but for
/// fractions and pointers, which do not silently become integers and truth values.
template <class U, class P>
inline constexpr bool kBecomes =
    std::is_convertible_v<U, P> &&
    !(std::is_integral_v<P> &&
      (std::is_floating_point_v<std::remove_cvref_t<U>> || std::is_pointer_v<std::decay_t<U>>));

/// What `submit` takes for a kernel's parameter `P`. Converting to it from the caller's argument also notes the
/// place of the call, which a parameter after the pack could not.
template <class P>
class ArgumentFor {  // a scalar
 public:
  template <class U>
  requires(kBecomes<U, P>)
      // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): an `ArgumentFor` converts to no scalar
      ArgumentFor(U&& value, SourceLocation location = SourceLocation::current())
      : value_(static_cast<P>(std::forward<U>(value))), location_(location) {}

  PackedArgument packed() const noexcept { return {nullptr, &value_}; }
  SourceLocation location() const noexcept { return location_; }

 private:
  P value_;
  SourceLocation location_;
};

/// `View<const T>` takes `Data<T>` and `Data<const T>`, other views only `Data<T>`.
template <class P>
requires(ParameterTraits<P>::is_data) class ArgumentFor<P> {
  using Traits = ParameterTraits<P>;
  using Element = typename Traits::Element;

 public:
  ArgumentFor(const Data<Element, Traits::rank>& data,  // NOLINT: implicit by design
              SourceLocation location = SourceLocation::current()) noexcept
      : region_(data.handle().region()), location_(location) {}
  ArgumentFor(const Data<const Element, Traits::rank>& data,  // NOLINT: implicit by design
              SourceLocation location = SourceLocation::current()) noexcept
      requires(Traits::access == Access::Read)
      : region_(data.handle().region()), location_(location) {}

  PackedArgument packed() const noexcept { return {region_, nullptr}; }
  SourceLocation location() const noexcept { return location_; }

 private:
  Region* region_;
  SourceLocation location_;
};

/// The same where it must not take part in template deduction.
template <class P>
using ArgumentForT = std::type_identity_t<ArgumentFor<P>>;

template <class List, class... Args>
struct ArgumentsMatch : std::false_type {};
template <class... Ps, class... Args>
requires(sizeof...(Ps) == sizeof...(Args)) struct ArgumentsMatch<ParameterList<Ps...>, Args...>
    : std::bool_constant<(std::is_convertible_v<Args, ArgumentFor<Ps>> && ...)> {
};

template <class D>
struct DataTraits {
  static constexpr bool is_data = false;
};
template <class T, std::size_t Rank>
struct DataTraits<Data<T, Rank>> {
  static constexpr bool is_data = true;
  using Element = T;
  static constexpr std::size_t rank = Rank;
};

/// Says in words what is wrong with argument `Index` (counted from 0) of a submission; the kernel's parameter is
/// `Parameter`, the argument `Argument`.
template <std::size_t Index, class Parameter, class Argument>
constexpr void check_argument() {
  using P = ParameterTraits<Parameter>;
  using A = DataTraits<std::remove_cvref_t<Argument>>;
  if constexpr (P::is_data && !A::is_data) {
    static_assert(A::is_data, "hocket: this argument must be a Data handle, since the kernel takes a view");
  } else if constexpr (!P::is_data && A::is_data) {
    static_assert(P::is_data, "hocket: this argument is a Data handle, but the kernel takes a scalar here");
  } else if constexpr (P::is_data && A::is_data) {
    static_assert(std::is_same_v<typename P::Element, std::remove_const_t<typename A::Element>>,
                  "hocket: the element type of this argument's data differs from that of the kernel's view");
    static_assert(P::rank == A::rank,
                  "hocket: the rank of this argument's data differs from that of the kernel's view");
    static_assert(P::access == Access::Read || !std::is_const_v<typename A::Element>,
                  "hocket: the kernel writes this argument, but its data is read-only (Data<const T>)");
  } else {
    static_assert(std::is_convertible_v<Argument, Parameter>,
                  "hocket: this scalar argument cannot be converted to the type that the kernel takes");
    static_assert(
        !std::is_convertible_v<Argument, Parameter> || kBecomes<Argument, Parameter>,
        "hocket: this scalar argument is a fraction or a pointer, but the kernel takes an integer or a bool "
        "here; convert it explicitly");
  }
}

template <class List>
struct Diagnose;
template <class... Ps>
struct Diagnose<ParameterList<Ps...>> {
  template <class... Args>
  static constexpr void arguments() {
    static_assert(sizeof...(Args) >= sizeof...(Ps),
                  "hocket: too few arguments for this codelet: give one for each parameter of its kernel");
    static_assert(sizeof...(Args) <= sizeof...(Ps),
                  "hocket: too many arguments for this codelet: give one for each parameter of its kernel");
    if constexpr (sizeof...(Args) == sizeof...(Ps)) each<Args...>(std::index_sequence_for<Ps...>{});
  }
  template <class... Args, std::size_t... Indices>
  static constexpr void each(std::index_sequence<Indices...>) {
    (check_argument<Indices, Ps, Args>(), ...);
  }
};

/// Whether something can be submitted: a codelet, or a kernel in `cpu(...)`.
template <class S>
std::true_type submittable(const Codelet<S>*);
template <class F, class S>
std::true_type submittable(const Cpu<F, S>*);
std::false_type submittable(...);
template <class F>
inline constexpr bool kSubmittable =
    decltype(submittable(static_cast<std::add_pointer_t<const F>>(nullptr)))::value;

/// The codelet of a one-off task, named after the place that submits it.
std::shared_ptr<const CodeletCore> make_one_off(std::shared_ptr<const Variant> variant,
                                                std::vector<Parameter> parameters, SourceLocation location);

/// A submission on its way to the core; what it points to is valid during the call.
struct Submission {
  /// What is submitted: a codelet, or a kernel that is used once.
  const std::shared_ptr<const CodeletCore>* codelet = nullptr;
  const TaskType* one_off = nullptr;
  const void* recipe = nullptr;  ///< The `Cpu` of a one-off kernel.
  /// Makes a codelet of the recipe, for what a one-off kernel cannot do by itself.
  std::shared_ptr<const CodeletCore> (*make_codelet)(const void* recipe) = nullptr;
  std::span<const PackedArgument> arguments;
  TaskOptions* options = nullptr;  ///< Null where none are given; may be moved from.
  SourceLocation location;         ///< Of the call.
};

}  // namespace detail

/// Base of `Runtime` and `Graph`: the forms of `submit`.
///
/// `submit([options,] codelet, arguments...)` submits one task; arguments are as the kernel's signature says: a
/// `Data` handle for each view, a value for each scalar. `submit([options,] cpu(lambda), arguments...)` does the
/// same for a kernel that is used once. Tasks that use the same data run as if in the order of submission.
///
/// Throws `InvalidArgument` (an empty handle, data of another runtime, a bad device specification, arguments that
/// overlap and write), `NoEligibleDevice`, `OutOfMemory` (no device could ever hold the operands),
/// `UninitialisedRead`. A submission that throws has no effect. Recording in a graph leaves the last three to
/// `Graph::validate` and `Runtime::run`.
/// Any number of threads may submit at once, tasks included.
class Submitter {
 public:
  template <class... Ps>
  Task submit(const Codelet<void(Ps...)>& codelet, detail::ArgumentForT<Ps>... arguments) {
    return submit_codelet(codelet.core(), nullptr, arguments...);
  }
  template <class... Ps>
  Task submit(TaskOptions options, const Codelet<void(Ps...)>& codelet,
              detail::ArgumentForT<Ps>... arguments) {
    return submit_codelet(codelet.core(), &options, arguments...);
  }
  template <class F, class... Ps>
  Task submit(const Cpu<F, void(Ps...)>& kernel, detail::ArgumentForT<Ps>... arguments) {
    return submit_one_off(kernel, nullptr, arguments...);
  }
  template <class F, class... Ps>
  Task submit(TaskOptions options, const Cpu<F, void(Ps...)>& kernel, detail::ArgumentForT<Ps>... arguments) {
    return submit_one_off(kernel, &options, arguments...);
  }

  // Chosen when the arguments do not fit: says why.
  template <class... Ps, class... Args>
  requires(!detail::ArgumentsMatch<detail::ParameterList<Ps...>, Args...>::value) Task
      submit(const Codelet<void(Ps...)>&, const Args&...) {
    detail::Diagnose<detail::ParameterList<Ps...>>::template arguments<Args...>();
    return {};
  }
  template <class... Ps, class... Args>
  requires(!detail::ArgumentsMatch<detail::ParameterList<Ps...>, Args...>::value) Task
      submit(const TaskOptions&, const Codelet<void(Ps...)>&, const Args&...) {
    detail::Diagnose<detail::ParameterList<Ps...>>::template arguments<Args...>();
    return {};
  }
  template <class F, class... Ps, class... Args>
  requires(!detail::ArgumentsMatch<detail::ParameterList<Ps...>, Args...>::value) Task
      submit(const Cpu<F, void(Ps...)>&, const Args&...) {
    detail::Diagnose<detail::ParameterList<Ps...>>::template arguments<Args...>();
    return {};
  }
  template <class F, class... Ps, class... Args>
  requires(!detail::ArgumentsMatch<detail::ParameterList<Ps...>, Args...>::value) Task
      submit(const TaskOptions&, const Cpu<F, void(Ps...)>&, const Args&...) {
    detail::Diagnose<detail::ParameterList<Ps...>>::template arguments<Args...>();
    return {};
  }

  // Chosen for what is neither a codelet nor a kernel in `cpu(...)`.
  template <class F, class... Args>
  requires(!detail::kSubmittable<F> && !std::is_base_of_v<TaskOptions, F>) Task
      submit(const F&, const Args&...) {
    static_assert(detail::kSubmittable<F>,
                  "hocket: submit takes a codelet, or a function in cpu(...): wrap the function, as in "
                  "rt.submit(hocket::cpu(function), arguments...)");
    return {};
  }
  template <class F, class... Args>
  requires(!detail::kSubmittable<F>) Task submit(const TaskOptions&, const F&, const Args&...) {
    static_assert(detail::kSubmittable<F>,
                  "hocket: submit takes a codelet, or a function in cpu(...): wrap the function, as in "
                  "rt.submit({.name = ...}, hocket::cpu(function), arguments...)");
    return {};
  }

  /// The untyped form that the others end in: `arguments` holds one entry for each parameter of the codelet, of
  /// the right kind, element type and rank. For bindings to other languages.
  virtual Task submit_packed(const std::shared_ptr<const detail::CodeletCore>& codelet, TaskOptions&& options,
                             std::span<const detail::PackedArgument> arguments) = 0;

 protected:
  virtual Task submit_one(const detail::Submission& submission) = 0;

  Submitter() = default;
  Submitter(const Submitter&) = default;
  Submitter& operator=(const Submitter&) = default;
  ~Submitter() = default;

 private:
  static SourceLocation place(std::initializer_list<SourceLocation> locations) noexcept {
    return locations.size() == 0 ? SourceLocation{} : *locations.begin();
  }
  template <class... Args>
  Task submit_codelet(const std::shared_ptr<const detail::CodeletCore>& codelet, TaskOptions* options,
                      const Args&... arguments) {
    const std::array<detail::PackedArgument, sizeof...(Args)> packed{arguments.packed()...};
    detail::Submission submission;
    submission.codelet = &codelet;
    submission.arguments = packed;
    submission.options = options;
    submission.location = place({arguments.location()...});
    return submit_one(submission);
  }
  template <class F, class... Ps, class... Args>
  Task submit_one_off(const Cpu<F, void(Ps...)>& kernel, TaskOptions* options, const Args&... arguments) {
    using List = detail::ParameterList<Ps...>;
    const std::array<detail::PackedArgument, sizeof...(Args)> packed{arguments.packed()...};
    detail::Submission submission;
    if (kernel.wants_nothing()) submission.one_off = &detail::OneOff<F, List>::kType;
    submission.recipe = &kernel;
    submission.make_codelet = [](const void* recipe) {
      const auto& self = *static_cast<const Cpu<F, void(Ps...)>*>(recipe);
      return detail::make_one_off(self.template build<List>(), List::parameters(), self.location());
    };
    submission.arguments = packed;
    submission.options = options;
    submission.location = sizeof...(Args) == 0 ? kernel.location() : place({arguments.location()...});
    return submit_one(submission);
  }
};

}  // namespace hocket
