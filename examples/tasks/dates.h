// Dates as people write them, and as machines do: "friday 20 november 2026", "20/11/26", "NOV 20TH,
// 2026" are all 2026-11-20. Read next: translate.h, which learns such pairs, and dates.cpp.
#pragma once

#include <tapestry/examples/tasks/translate.h>

#include <chrono>

namespace tapestry::examples {

using Date = std::chrono::sys_days;

std::string iso(Date date);

std::string write_date(Date date, std::string_view pattern, std::uint64_t letter_case);

/// A date of 1969 to 2068, so that two digits name a year, in a pattern and case of its own. One
/// date in ten is held out, in whatever way it is written.
Pair draw_date(bool for_test, Generator& generator);

inline const TaskOptions kDatesOptions{.steps = 1200, .batch = 64, .rate = 2e-3};

}  // namespace tapestry::examples
