// A number with a fixed number of decimals, as tables and sentences show a loss.
#pragma once

#include <fmt/core.h>

#include <cmath>
#include <string>

namespace tapestry {

/// 2.3026; from a million on 6.1234e+17, as the pages' scripts do (fixed in nn/pages/web/dom.js).
inline std::string fixed_text(double x, int places = 4) {
    return std::abs(x) >= 1e6 ? fmt::format("{:.{}g}", x, places + 1)
                              : fmt::format("{:.{}f}", x, places);
}

}  // namespace tapestry
