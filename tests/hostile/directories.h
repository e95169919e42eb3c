// Valid directories of each kind, made once by the command and copied for each attack.
//
// Read next: attack.h.
#pragma once

#include <filesystem>

namespace tapestry::test {

/// The contents of a directory.
enum class Kind {
    run,           ///< model, metrics, checkpoints, rewind states and best/
    trap,          ///< a run that diverged, with the step in trap/
    hugging_face,  ///< GPT-2 with byte pairs, as `tapestry export` writes it
    data,          ///< byte pairs and ids, from `tapestry tokenize`
    transformer    ///< an encoder-decoder
};

/// The directory to copy. Ends the test case if it cannot be created.
std::filesystem::path valid_directory(Kind kind);

/// A model that was trained on the data of Kind::data.
std::filesystem::path model_of_pairs();

/// Copies a directory, keeping links as links.
void copy_directory(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace tapestry::test
