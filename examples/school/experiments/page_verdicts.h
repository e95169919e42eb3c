// The verdicts of docs/experiments.md, known to the program: a quick run says where its own differ.
#pragma once

#include <tapestry/examples/school/experiments/experiment.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry::experiments {

/// The verdict of docs/experiments.md on a claim, judged by itself; none if it is not on the page.
std::optional<Verdict> page_verdict(std::string_view experiment, std::string_view claim);

/// What the verdicts of quick runs are against those of the page: how many are the same, why others
/// may not be, and a table of these, reversed ones first. Empty if the page has none of the claims.
std::string against_page(const std::vector<Found>& quick);

}  // namespace tapestry::experiments
