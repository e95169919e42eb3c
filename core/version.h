// The version of Tapestry.
#pragma once

#include <string_view>

namespace tapestry {

/// "0.1.0", as in CMakeLists.txt.
std::string_view version();

/// The compiler that built the library: "g++ 12.2.0".
std::string_view compiler();

}  // namespace tapestry
