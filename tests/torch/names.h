// PyTorch's names of parameters, and what they are called here: the one place where this stands.
#pragma once

#include <string>
#include <vector>

namespace tapestry::torch {

/// Which names a module's parameters have.
enum class Names {
    same,             // linear, norms, embedding, feed-forward
    attention,        // nn.MultiheadAttention
    attention_sizes,  // the same with a kdim or vdim of its own: three matrices here and there
    encoder,          // nn.TransformerEncoder and its layer
    decoder,          // nn.TransformerDecoder and its layer
    transformer,      // nn.Transformer
    gpt2,             // Hugging Face's and OpenAI's files
};

/// Where one of PyTorch's parameters is found here.
struct Place {
    std::vector<std::string> names;  ///< several: stacked along axis 0
    bool transposed = false;         ///< GPT-2 keeps linear layers as [in, out]
};

Place place_of(Names names, const std::string& theirs);

}  // namespace tapestry::torch
