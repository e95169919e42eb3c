// An axis of a drawing made of characters: which numbers stand beside it, and in which row or
// column a value lies. Internal to nn/terminal. Read next: text_plot.cpp.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tapestry::terminal {

struct Tick {
    double at;  ///< on the axis: a logarithm, if that is logarithmic
    std::string label;
};

struct Axis {
    double low = 0, high = 1;
    std::vector<Tick> ticks = {};

    /// The nearest of `places` places, of which 0 is `low` and the last `high`.
    std::size_t place(double at, std::size_t places) const;
};

/// From low to high, wider where these are one, with ticks at the multiples of 1, 2 or 5 times a
/// power of ten, at most `most` steps from the last below to the first above.
Axis linear_axis(double low, double high, int most);

/// The same for logarithms to base ten: ticks at 1, 2 and 5 times each power of ten, or at every
/// power, or every other, ...
Axis log_axis(double low, double high, int most);

/// The axis ends where its outermost ticks are.
Axis up_to_ticks(Axis axis);

}  // namespace tapestry::terminal
