// Ours against PyTorch's: recomputes what tests/fixtures/make_fixtures.py recorded, in f64 and f32,
// on every instruction set, with one thread and two.
//
// A file of fixtures holds cases. A case has inputs, weights, outputs, random cotangents, and the
// resulting gradients of inputs and weights; its tensors are named CASE/KIND.NAME (see
// tests/fixtures/torch_fixtures/recording.py). All were computed in f64; inputs, weights and
// cotangents are exact in f32, so both dtypes start from the same numbers.
#pragma once

#include <doctest/doctest.h>
#include <tapestry/nn/module/module.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tapestry::torch {

// ---- PyTorch's parameter names and ours: the only place that maps them (names.cpp) --------------

/// The naming scheme of a module's parameters.
enum class Names {
    same,             // linear, norms, embedding, feed-forward
    attention,        // nn.MultiheadAttention
    attention_sizes,  // with a different kdim or vdim: three matrices in both
    encoder,          // nn.TransformerEncoder and its layer
    decoder,          // nn.TransformerDecoder and its layer
    transformer,      // nn.Transformer
    gpt2,             // Hugging Face's and OpenAI's files
};

/// Our counterpart of a PyTorch parameter.
struct Place {
    std::vector<std::string> names;  ///< several: stacked along axis 0
    bool transposed = false;         ///< GPT-2 stores linear layers as [in, out]
};

Place place_of(Names names, const std::string& theirs);

// ---- comparing ---------------------------------------------------------------------------------

/// The allowed difference from PyTorch, relative to the largest number of the tensor.
constexpr double tolerance(DType dtype) { return dtype == DType::f64 ? 1e-9 : 2e-5; }

using Named = std::map<std::string, Tensor>;

/// tests/fixtures/`file`.safetensors, read once.
const Named& fixture(const std::string& file);

/// The recorded tensor of that name. Throws ValueError if there is none.
const Tensor& look_up(const Named& tensors, const std::string& name);

/// Tensors whose names begin with `prefix`, without it; floating ones as `dtype`.
Named part(const Named& tensors, const std::string& prefix, DType dtype);

/// x[i], one rank less.
Tensor at(const Tensor& x, std::int64_t i);

/// Calls f for both dtypes, on every instruction set, with one thread and two.
void everywhere(const std::function<void(DType dtype)>& f);

/// Fails the test unless `got` has the shape and numbers of `wanted`, within the tolerance of its
/// dtype.
void check_close(const std::string& what, const Tensor& got, const Tensor& wanted);

/// Computes the outputs of a case from its inputs.
using Function = std::function<Named(const Named& inputs)>;

/// For each dtype, instruction set and thread count: loads the case's weights into `module`, which
/// must have exactly these; compares the outputs of f with and without a tape, and the gradients of
/// all inputs and weights.
void check_against(const std::string& file, const std::string& name, Module& module, Names names,
                   const Function& f);

/// The same for functions without weights.
void check_against(const std::string& file, const std::string& name, const Function& f);

/// Separate steps, for tests that do more than the above.
void load_weights(Module& module, Names names, const Named& weights);
void check_gradients(const Module& module, Names names, const Named& wanted);

}  // namespace tapestry::torch
