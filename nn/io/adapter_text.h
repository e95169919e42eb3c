// The texts' side of an adapter's directory: PEFT saves the tokenizer and the chat template that an
// adapter was trained with next to it. Read next: peft.h, the updates.
#pragma once

#include <tapestry/nn/io/model_directory.h>

#include <filesystem>
#include <string>

namespace tapestry {

/// Replaces the model's chat template by the one in an adapter's directory (chat_template.jinja, or
/// in tokenizer_config.json), if there is one. Returns a line that says so; empty if nothing
/// changed.
///
/// Throws IoError for a tokenizer there (tokenizer.json, vocab.json and merges.txt, or the added
/// tokens of added_tokens.json or tokenizer_config.json) that does not give texts the ids of the
/// model's, and says how they differ; and for invalid files.
std::string take_adapter_template(const std::filesystem::path& directory, LoadedModel& loaded);

}  // namespace tapestry
