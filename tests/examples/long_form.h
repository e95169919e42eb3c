// What takes a model longest to learn is learned where TAPESTRY_EXAMPLES=long says so: .ci/long
// examples.
#pragma once

#include <cstdlib>
#include <string_view>

namespace tapestry::examples {

inline bool is_long() {
    const char* const form = std::getenv("TAPESTRY_EXAMPLES");
    return form != nullptr && std::string_view(form) == "long";
}

}  // namespace tapestry::examples
