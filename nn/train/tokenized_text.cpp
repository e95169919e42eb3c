#include <tapestry/nn/train/tokenized_text.h>

#include <utility>

namespace tapestry {
namespace {

TokenData load_for(const TrainingConfig& config, std::unique_ptr<Tokenizer> tokenizer) {
    TokenData data = load_data(config.data);
    if (tokenizer) {
        require(data.tokenizer->hash() == tokenizer->hash(),
                "{}: made with another tokenizer than {} has ({} {}s, hash {}; {} {}s, hash {})",
                config.data, config.start.empty() ? "the model" : config.start,
                data.tokenizer->vocab_size(), data.tokenizer->unit(), data.tokenizer->hash(),
                tokenizer->vocab_size(), tokenizer->unit(), tokenizer->hash());
    }
    return data;
}

}  // namespace

const std::string& data_name(const TrainingConfig& config) {
    return config.data.empty() ? config.text : config.data;
}

TokenizedText read_tokens(const TrainingConfig& config, std::unique_ptr<Tokenizer> tokenizer,
                          const TextCache* cache) {
    require(config.text.empty() != config.data.empty(), "training: {}; one of the two is needed",
            config.text.empty() ? "neither a text nor data" : "a text and data");
    TokenData read = config.data.empty() ? tokenize_text(config.text, std::move(tokenizer), cache)
                                         : load_for(config, std::move(tokenizer));
    TextData data(std::move(read.ids),
                  {.test_fraction = config.test_fraction, .name = data_name(config)});
    return {std::move(read.tokenizer), std::move(data), std::move(read.hash)};
}

}  // namespace tapestry
