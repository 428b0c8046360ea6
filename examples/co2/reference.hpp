// SPDX-License-Identifier: Apache-2.0
//
// The same regression by plain LAPACK, whole matrix, one thread of control: what the tiled computation is
// tested against. Only tests call it. It holds one n × n matrix of doubles; cost n³/3 + 2 n² m flops for m
// predictions.
#pragma once

#include <vector>

#include "co2/model.hpp"

namespace hocket::jobs::co2 {

// Log marginal likelihood of the values less their mean. Throws hocket::Error where the covariance matrix is
// not positive definite.
double reference_log_likelihood(const Hyperparameters& h, const Series& series);

// Predictions at `times`, by the textbook formulas with the inverse applied through the factor.
Prediction reference_prediction(const Hyperparameters& h, const Series& series,
                                const std::vector<double>& times);

}  // namespace hocket::jobs::co2
