// SPDX-License-Identifier: Apache-2.0
/// Codelets with a variant for every kind of device, the runtimes to run them on, and what they compute in
/// plain C++. All results are exact, so that tests compare bits.
#pragma once

#include <array>
#include <cstdint>
#include <hocket/hocket.hpp>
#include <string>
#include <vector>

namespace hocket::testing {

using Word = std::uint32_t;
using Words = std::vector<Word>;

/// y[i] = 3 * y[i] + x[i] + step, modulo 2^32. Two of them do not commute.
const Codelet<void(Word, View<const Word>, View<Word>)>& advance();
/// y[i] += factor * x[i], modulo 2^32. These commute.
const Codelet<void(Word, View<const Word>, View<Word>)>& accumulate();
/// a(i, j) = factor * a(i, j) + 31 * i + j, modulo 2^32; rows of at most 64 elements.
const Codelet<void(Word, View<Word, 2>)>& stir();
/// y[i] = factor * x[i].
const Codelet<void(float, View<const float>, Out<float>)>& scale();
/// y[i] = 2 * x[i], on every device in bf16.
const Codelet<void(View<const float>, Out<float>)>& twice_in_bf16();
/// Fails on every device. Of x it makes nothing.
const Codelet<void(View<Word>)>& fail();

void advance_plainly(Word step, const Words& x, Words& y);
void accumulate_plainly(Word factor, const Words& x, Words& y);
/// The box of `extents` at `offset` of a row-major matrix with rows of `columns`.
void stir_plainly(Word factor, Words& matrix, std::size_t columns, const std::array<std::size_t, 2>& offset,
                  const std::array<std::size_t, 2>& extents);

/// `count` words that depend on `seed` alone.
Words numbers(std::size_t count, Word seed);

/// Options for a runtime with these devices; the toy backend is registered.
RuntimeOptions options_for(const std::string& devices);
/// Whether this build and machine have a device of that kind.
bool has_device(const std::string& kind);

}  // namespace hocket::testing
