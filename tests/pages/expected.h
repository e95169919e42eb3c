// What the predictions tab must show, computed without an Inspector, in doubles.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tapestry::test {

/// Of every row that counts (a target of at least 0) "LAYER PLACE LOSS PROBABILITY RANK" on a line:
/// the right class's, and of how many classes none is likelier. logits [rows, classes]; LAYER is
/// "model", or "0" for what the first layer reads.
std::string expected_predictions(const std::string& layer, const std::vector<double>& logits,
                                 const std::vector<std::int64_t>& targets);

}  // namespace tapestry::test
