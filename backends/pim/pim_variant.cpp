// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <hocket/pim.hpp>
#include <optional>
#include <string>

#include "pim/bank_layout.hpp"

namespace hocket {

void PimVariant::check(std::string_view codelet, std::span<const Parameter> parameters) const {
  const auto fail = [&](std::size_t index, const std::string& problem) {
    throw InvalidArgument("codelet \"" + std::string(codelet) + "\": the pim variant's parameter " +
                          std::to_string(index) + " " + problem);
  };
  if (parameters.size() != own_parameters.size()) {
    fail(std::min(parameters.size(), own_parameters.size()),
         "is missing or one too many: the codelet has " + std::to_string(parameters.size()) +
             " parameters and the program " + std::to_string(own_parameters.size()) + " after its tasklet");
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& declared = parameters[i];
    const std::optional<Format> wanted = wanted_format(i);
    if (!declared.is_data) {
      if (wanted) fail(i, "is a scalar, which has no format; count the arguments from 0, scalars included");
      continue;
    }
    const ElementType delivered = wanted ? wanted->element : declared.element;
    if (own_parameters[i].element != delivered) {
      fail(i, "has elements " + to_string(own_parameters[i].element) + ", but will be given " +
                  to_string(delivered) + "; change the program or say wants<T>(" + std::to_string(i) +
                  ", layout)");
    }
    if (!wanted) continue;
    if (!dpu::is_bank_format(*wanted)) {
      fail(i, "wants the format " + to_string(*wanted) +
                  ", which banks cannot have; name a bank layout, and add up numbers only");
    }
    if (wanted->layout == Layout::BankReplicated && writes(declared.access)) {
      fail(i,
           "is written, but replicated data can only be read; use the layout bank-interleaved, or "
           "bank-partial-sum "
           "for results that every DPU contributes to");
    }
    if (wanted->layout == Layout::BankPartialSum && declared.access != Access::Write) {
      fail(i, "is read, but a partial sum can only be written; declare it as Out<T>");
    }
  }
}

}  // namespace hocket
