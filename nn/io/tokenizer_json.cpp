// The fields are those that GPT-2's own tokenizer.json has; in it a pair of merges is one string.
#include <tapestry/nn/io/tokenizer_json.h>

#include <nlohmann/json.hpp>

#include <string_view>

namespace tapestry {
namespace {

using Json = nlohmann::ordered_json;

Json byte_level(bool add_prefix_space, bool trim_offsets) {
    return {{"type", "ByteLevel"},
            {"add_prefix_space", add_prefix_space},
            {"trim_offsets", trim_offsets},
            {"use_regex", true}};
}

Json added_tokens(const BytePairTokenizer& tokenizer) {
    Json tokens = Json::array();
    if (const auto end = tokenizer.end_of_text()) {
        tokens.push_back({{"id", *end},
                          {"content", BytePairTokenizer::kEndOfText},
                          {"single_word", false},
                          {"lstrip", false},
                          {"rstrip", false},
                          {"normalized", false},
                          {"special", true}});
    }
    return tokens;
}

// The lines of merges.txt after the first, which is its version.
Json merges_of(const BytePairTokenizer& tokenizer) {
    const std::string text = tokenizer.merges_text();
    Json merges = Json::array();
    for (std::size_t at = text.find('\n') + 1; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        merges.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return merges;
}

}  // namespace

std::string tokenizer_json(const BytePairTokenizer& tokenizer) {
    const Json model{{"type", "BPE"},
                     {"dropout", nullptr},
                     {"unk_token", nullptr},
                     {"continuing_subword_prefix", ""},
                     {"end_of_word_suffix", ""},
                     {"fuse_unk", false},
                     {"vocab", Json::parse(tokenizer.vocab_json())},
                     {"merges", merges_of(tokenizer)}};
    const Json file{{"version", "1.0"},
                    {"truncation", nullptr},
                    {"padding", nullptr},
                    {"added_tokens", added_tokens(tokenizer)},
                    {"normalizer", nullptr},
                    {"pre_tokenizer", byte_level(false, true)},
                    {"post_processor", byte_level(true, false)},
                    {"decoder", byte_level(true, true)},
                    {"model", model}};
    return file.dump(2) + "\n";
}

}  // namespace tapestry
