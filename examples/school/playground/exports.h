// What functions that a page can call have in common: they hand exceptions over as texts.
#pragma once

#include <tapestry/core/error.h>

#include <charconv>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace tapestry::examples {

inline std::string answer;  ///< what was returned, until the next call
inline std::string error;   ///< why a call failed

template <class F>
bool succeeds(const F& f) {
    try {
        f();
        return true;
    } catch (const std::exception& thrown) {
        error = thrown.what();
        return false;
    }
}

template <class F>
const char* text_of(const F& f) {
    return succeeds([&] { answer = f(); }) ? answer.c_str() : nullptr;
}

/// "0,3,5"
inline std::vector<std::int64_t> numbers_in(std::string_view text) {
    std::vector<std::int64_t> all;
    for (const char *at = text.data(), *end = at + text.size(); at < end; ++at) {
        std::int64_t number = 0;
        const auto read = std::from_chars(at, end, number);
        require(read.ec == std::errc{}, "'{}' is no list of numbers", text);
        all.push_back(number);
        at = read.ptr;
    }
    return all;
}

}  // namespace tapestry::examples
