// What nearly every test includes, precompiled: a quarter of the time to compile one with g++. For
// g++ JSON stays out, for what a test does not use costs time to read as well; clang reads what it
// uses.
#pragma once

#include <doctest/doctest.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/cmake/standard.h>
#include <tapestry/core/tensor.h>

#ifdef __clang__
#include <nlohmann/json.hpp>
#endif
