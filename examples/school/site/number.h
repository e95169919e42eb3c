// The numbers that a course program gets when it runs in a page, where the reader can change them.
// Read next: programs.js, which inserts calls of number() into the programs; exports.cpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace course {

/// The reader's replacements for the program's numbers; NaN or missing: unchanged.
inline std::vector<double> changed;

/// Number k of the running program, an int or a double; `standard` is the one that the page shows.
/// One beyond int is the nearest int.
template <class T>
T number(std::size_t k, T standard) {
    if (k >= changed.size() || std::isnan(changed[k])) return standard;
    using Limits = std::numeric_limits<T>;
    return static_cast<T>(std::clamp(changed[k], static_cast<double>(Limits::lowest()),
                                     static_cast<double>(Limits::max())));
}

extern int (*const programs[])();
extern const int program_count;

}  // namespace course
