// Precompiled headers that nearly every source includes: a quarter of g++'s time to compile a small
// source. Only the standard library and fmt, because g++ loads a precompiled header whole and ours
// load no faster than they parse. Sources still include what they use, which `cmake
// -DTAPESTRY_PRECOMPILE=OFF` proves (.ci/long includes).
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Clang loads only the declarations that a source names, which halves its time to compile the
// library without optimisation. But changing one header recompiles everything.
#ifdef TAPESTRY_PRECOMPILE_ALL
#include <tapestry/tapestry.h>
#endif
