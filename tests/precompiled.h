// Precompiled headers that nearly every unit of tests includes: they save a quarter of g++'s time
// to compile one.
#pragma once

#include <doctest/doctest.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/cmake/standard.h>
#include <tapestry/core/tensor.h>

#include <nlohmann/json.hpp>
