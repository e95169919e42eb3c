// What nearly every source includes, precompiled for the tests, and for the library in .ci/run's
// builds by clang (TAPESTRY_PRECOMPILE): two fifths of the time it takes to compile a small one.
// The library's sources include what they use all the same, which the build by g++ proves.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/tensor.h>
