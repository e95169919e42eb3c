// The numbers that a course program gets when it runs in a page, where the reader can change them.
// Read next: programs.js, which inserts calls of number() into the programs; exports.cpp.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace course {

/// The reader's replacements for the program's numbers; NaN or missing: unchanged.
inline std::vector<double> changed;

/// Number k of the running program; `standard` is the one that the page shows.
template <class T>
T number(std::size_t k, T standard) {
    return k < changed.size() && !std::isnan(changed[k]) ? static_cast<T>(changed[k]) : standard;
}

extern int (*const programs[])();
extern const int program_count;

}  // namespace course
