// What a training learns from, as its configuration names it: a text, or data that `tapestry
// tokenize` has made of texts. Read next: session.h, which draws batches from it;
// nn/io/tokenize_text.h, how a text becomes ids.
#pragma once

#include <tapestry/nn/data/text.h>
#include <tapestry/nn/data/tokenizer.h>
#include <tapestry/nn/io/tokenize_text.h>
#include <tapestry/nn/train/training_config.h>

#include <memory>
#include <string>

namespace tapestry {

/// A text to learn from, as a model's ids.
struct TokenizedText {
    std::unique_ptr<Tokenizer> tokenizer;
    TextData data;
    std::string checksum;  ///< of ids and tokenizer: which data it is, wherever it lies
};

/// config.text or config.data, cut as config.test_fraction says. `tokenizer` is that of the model
/// to begin with; null: the data's own, or one of the text's characters. Throws ValueError unless
/// one of text and data is given, and for data made with another tokenizer than `tokenizer`; as
/// load_data and tokenize_text do.
TokenizedText read_tokens(const TrainingConfig& config, std::unique_ptr<Tokenizer> tokenizer,
                          const TextCache* cache = nullptr);

/// What the configuration calls it.
const std::string& data_name(const TrainingConfig& config);

}  // namespace tapestry
