// PyTorch's parameter names and ours: the only place that maps them.
#pragma once

#include <string>
#include <vector>

namespace tapestry::torch {

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

}  // namespace tapestry::torch
