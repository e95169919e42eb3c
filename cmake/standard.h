// What nearly every source includes, precompiled: of g++'s time to compile a small one a quarter.
// The standard library and fmt alone: what is precompiled is read whole, and our own headers cost
// as much to read so as they do anew. Sources include what they use all the same, which `cmake
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

// Clang takes from what is precompiled what a source names, and no more: half of its time to
// compile the library without optimisation is saved. But the change of one header compiles
// everything anew.
#ifdef TAPESTRY_PRECOMPILE_ALL
#include <tapestry/tapestry.h>
#endif
