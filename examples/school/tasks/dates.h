// Dates as people and as machines write them: "friday 20 november 2026", "20/11/26", "NOV 20TH,
// 2026" are all 2026-11-20. Read next: translate.h, which learns such pairs, and dates.cpp.
#pragma once

#include <tapestry/examples/school/tasks/translate.h>

#include <chrono>

namespace tapestry::examples {

using Date = std::chrono::sys_days;

std::string iso(Date date);

/// 1st, 2nd, 3rd, 4th, ... 11th, ... 21st
std::string ordinal(unsigned n);

/// Letters in a pattern that stand for parts of the date; all others are literal:
///     W friday  w fri    D 05  d 5  o 5th    N november  n nov  M 02  m 2    Y 2026  y 26
constexpr std::string_view kDatePatterns[] = {
    "W d N Y", "W, N d, Y", "w d n Y", "w, D n Y", "d/m/y",   "D/M/Y",   "d.m.Y",   "D.M.y",
    "D-n-Y",   "n o, Y",    "N o, Y",  "N d Y",    "o N Y",   "d n y",   "d N y",   "Y/M/D",
    "Y-M-D",   "o of N Y",  "N o y",   "w o N, Y", "W n o Y", "W D.M.Y", "w d/m/y", "Y, d N"};

std::string write_date(Date date, std::string_view pattern, std::uint64_t letter_case);

/// A date from 1969 to 2068, so two digits identify a year, in a random pattern and case. One date
/// in ten is held out, in every format.
Pair draw_date(bool for_test, Generator& generator);

inline const TaskOptions kDatesOptions{.steps = 1200, .batch = 64, .rate = 2e-3};

}  // namespace tapestry::examples
