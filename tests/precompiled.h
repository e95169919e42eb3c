// Precompiled headers that nearly every test includes: they save a quarter of the time to compile a
// test with g++. JSON is excluded for g++, because it spends time on reading even unused parts;
// clang reads only what it uses.
#pragma once

#include <doctest/doctest.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/cmake/standard.h>
#include <tapestry/core/tensor.h>

#ifdef __clang__
#include <nlohmann/json.hpp>
#endif
