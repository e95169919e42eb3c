// Ours against PyTorch's: what tests/fixtures/make_fixtures.py wrote down is computed again, in f64
// and f32, on every instruction set, with one thread and two.
//
// A file of fixtures holds cases. A case has inputs, weights, outputs, random cotangents, and the
// gradients of inputs and weights that follow from them; its tensors are named CASE/KIND.NAME (see
// tests/fixtures/torch_fixtures/recording.py). All were computed in f64; inputs, weights and
// cotangents are numbers that f32 holds too, so both types start from the same.
#pragma once

#include <doctest/doctest.h>
#include <tapestry/nn/module/module.h>
#include <tapestry/tests/torch/names.h>

#include <functional>
#include <map>
#include <string>

namespace tapestry::torch {

/// How far ours may lie from PyTorch's, relative to the largest number of the tensor.
constexpr double tolerance(DType dtype) { return dtype == DType::f64 ? 1e-9 : 2e-5; }

using Named = std::map<std::string, Tensor>;

/// tests/fixtures/`file`.safetensors, read once.
const Named& fixture(const std::string& file);

/// The tensor of that name, as it was kept. Throws ValueError if there is none.
const Tensor& look_up(const Named& tensors, const std::string& name);

/// Those whose names begin with `prefix`, under the rest of their names; floating ones as `dtype`.
Named part(const Named& tensors, const std::string& prefix, DType dtype);

/// x[i], one rank less.
Tensor at(const Tensor& x, std::int64_t i);

/// Calls f for both types, on every instruction set, with one thread and two.
void everywhere(const std::function<void(DType dtype)>& f);

/// A test fails unless `got` has the shape of `wanted` and its numbers, within the tolerance of
/// got's type.
void check_close(const std::string& what, const Tensor& got, const Tensor& wanted);

/// Computes the outputs of a case from its inputs.
using Function = std::function<Named(const Named& inputs)>;

/// Everywhere: loads the case's weights into `module`, which must have exactly these; compares the
/// outputs of f with and without a tape, and the gradients of all inputs and weights.
void check_against(const std::string& file, const std::string& name, Module& module, Names names,
                   const Function& f);

/// The same for functions, which have no weights.
void check_against(const std::string& file, const std::string& name, const Function& f);

/// Weights and gradients one by one, for tests that do more than the above.
void load_weights(Module& module, Names names, const Named& weights);
void check_gradients(const Module& module, Names names, const Named& wanted);

}  // namespace tapestry::torch
