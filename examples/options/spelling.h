// What was typed, in plain words: the name that was meant, values that are missing or too many, and
// numbers. Internal to examples/options.
#pragma once

#include <cstddef>
#include <string>

namespace tapestry::cli {

/// The number of letters to change, add, omit or swap with the next. Source: Damerau, "A technique
/// for computer detection and correction of spelling errors" (1964).
std::size_t mistakes_between(const std::string& a, const std::string& b);

/// CLI11's "--steps: At Most 1 required but received 2" and "--steps: 1 required INT missing" in
/// plain words; another message as it is.
std::string plain_mismatch(const std::string& message);

/// Without leading zeros: CLI11 would read "010" as octal 8, and refuse "08".
std::string plain_number(std::string text);

}  // namespace tapestry::cli
