// How many of something, in words: "1 thread", "2 threads". Internal to Tapestry.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace tapestry {

inline std::string counted(std::int64_t count, std::string_view one) {
    return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

}  // namespace tapestry
