// The kinds of model that a directory may hold. A new kind has its own files in nn/models, with the
// list of its configuration's fields, functions that save and load it (transformer_directory.h
// shows what they are made of), and a row here.
#pragma once

#include <array>

namespace tapestry {

enum class ModelKind { gpt, transformer };

struct ModelKindRow {
    ModelKind kind;
    const char* key;   ///< "model" in config.json
    const char* name;  ///< what errors call it
};

inline constexpr std::array<ModelKindRow, 2> kModelKinds{
    {{ModelKind::gpt, "gpt", "a GPT"},
     {ModelKind::transformer, "transformer", "an encoder-decoder"}}};

constexpr const ModelKindRow& row_of(ModelKind kind) {
    return kModelKinds[static_cast<std::size_t>(kind)];
}

}  // namespace tapestry
