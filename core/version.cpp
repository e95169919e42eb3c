#include <tapestry/core/version.h>

namespace tapestry {

std::string_view version() { return TAPESTRY_VERSION; }

std::string_view compiler() {
#if defined(__clang__)
    return "clang++ " __clang_version__;
#else
    return "g++ " __VERSION__;
#endif
}

}  // namespace tapestry
