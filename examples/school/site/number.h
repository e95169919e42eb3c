// What a program of the course is given when it runs in a page: numbers that the reader has
// changed. Read next: programs.js, which puts calls of number() into the programs; exports.cpp.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace course {

/// What the reader has put in place of the program's numbers; NaN, or none: as it stands.
inline std::vector<double> changed;

/// Number k of the program that runs; `standard` is what the page shows.
template <class T>
T number(std::size_t k, T standard) {
    return k < changed.size() && !std::isnan(changed[k]) ? static_cast<T>(changed[k]) : standard;
}

extern int (*const programs[])();
extern const int program_count;

}  // namespace course
