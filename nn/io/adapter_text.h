// The texts' side of an adapter's directory: the chat template and the ends that an adapter was
// trained with, next to it. PEFT also saves the tokenizer. Read next: peft.h, the updates.
#pragma once

#include <tapestry/nn/io/commit.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/io/text_conventions.h>

#include <filesystem>
#include <string>

namespace tapestry {

/// Replaces the model's chat template by the one in an adapter's directory (chat_template.jinja, or
/// in tokenizer_config.json), and the ids that end texts by those of generation_config.json;
/// without it, an eos_token of tokenizer_config.json becomes the first of them. Returns a line that
/// says what changed; empty if nothing did.
///
/// Throws IoError for a tokenizer there (tokenizer.json, vocab.json and merges.txt, or the added
/// tokens of added_tokens.json or tokenizer_config.json) that does not give texts the ids of the
/// model's, and says how they differ; and for invalid files.
std::string take_adapter_template(const std::filesystem::path& directory, LoadedModel& loaded);

/// Writes what it reads, chat_template.jinja and generation_config.json, into a folder of a commit.
void write_adapter_text(Commit& commit, const std::string& folder,
                        const TextConventions& conventions);

}  // namespace tapestry
