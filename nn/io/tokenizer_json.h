// Byte pairs as Hugging Face's tokenizers library reads them: tokenizer.json, written and never
// read. Internal to nn/io.
#pragma once

#include <tapestry/nn/data/bpe.h>

#include <string>

namespace tapestry {

/// The file's text. Its tokenizer gives every text the ids that ours gives, and <|endoftext|> is a
/// special token in it.
std::string tokenizer_json(const BytePairTokenizer& tokenizer);

}  // namespace tapestry
