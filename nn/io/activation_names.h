// Names of activations in config.json files of the transformers library. Internal to nn/io.
#pragma once

#include <tapestry/nn/io/config_file.h>
#include <tapestry/nn/layers/feed_forward.h>

namespace tapestry {

/// The activation that `setting` names (gelu_new, gelu_pytorch_tanh, gelu_fast, gelu, relu, relu2,
/// silu, swish); `usual` if it is missing. Throws IoError, listing the names, for another one.
Activation read_activation(const ConfigFile& file, const char* setting, const char* usual);

/// The name that is written; null if transformers has none, as for swiglu.
const char* name_of(Activation activation);

}  // namespace tapestry
