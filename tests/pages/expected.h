// The expected contents of the predictions tab, computed without an Inspector, in doubles.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tapestry::test {

/// For every row that counts (with a target of at least 0) a line "LAYER PLACE LOSS PROBABILITY
/// RANK" on the right class; the rank is the number of classes that are at least as likely. logits
/// [rows, classes]; LAYER is "model", or "0" for the input of the first layer.
std::string expected_predictions(const std::string& layer, const std::vector<double>& logits,
                                 const std::vector<std::int64_t>& targets);

}  // namespace tapestry::test
