// The encoder, as the paper and PyTorch name it: a stack of blocks in which every vector looks at
// all the others. The same stack with `causal` set is the body of a GPT, hence its own names
// (stack.h).
#pragma once

#include <tapestry/nn/transformer/stack.h>

namespace tapestry {

using EncoderLayer = TransformerBlock;
using EncoderLayerInputs = TransformerBlockInputs;
using Encoder = TransformerStack;
using EncoderConfig = TransformerStackConfig;
using EncoderInputs = TransformerStackInputs;

}  // namespace tapestry
