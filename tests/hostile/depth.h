// JSON nested far deeper than any real file, in every place where JSON is read.
#pragma once

#include <string>

namespace tapestry::test {

inline constexpr int kDeep = 100000;

/// Repeats `open`, then `close`, `depth` times each.
inline std::string nested(const std::string& open, const std::string& close, int depth = kDeep) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += open;
    text += "1";
    for (int i = 0; i < depth; ++i) text += close;
    return text;
}

inline std::string nested_lists() { return nested("[", "]"); }
inline std::string nested_objects() { return nested("{\"a\":", "}"); }

}  // namespace tapestry::test
