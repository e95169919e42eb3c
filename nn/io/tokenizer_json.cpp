// The fields are those that GPT-2's own tokenizer.json has; in it a pair of merges is one string.
#include <tapestry/nn/io/tokenizer_json.h>

#include <tapestry/core/text/json_tree.h>
#include <tapestry/core/text/json_writer.h>

#include <string_view>
#include <vector>

namespace tapestry {
namespace {

void write_byte_level(JsonWriter& json, bool add_prefix_space, bool trim_offsets) {
    json.object([&] {
        json.member("type", "ByteLevel");
        json.member("add_prefix_space", add_prefix_space);
        json.member("trim_offsets", trim_offsets);
        json.member("use_regex", true);
    });
}

void write_added_token(JsonWriter& json, std::int64_t id, std::string_view content) {
    json.object([&] {
        json.member("id", id);
        json.member("content", content);
        json.member("single_word", false);
        json.member("lstrip", false);
        json.member("rstrip", false);
        json.member("normalized", false);
        json.member("special", true);
    });
}

void write_vocabulary(JsonWriter& json, const BytePairTokenizer& tokenizer) {
    const JsonTree tree(tokenizer.vocab_json());
    const auto entries = tree.root().members();
    std::vector<const std::string*> tokens(entries.size());  // by id
    for (const auto& [token, id] : entries) tokens.at(id.get<std::uint64_t>()) = &token;
    json.object([&] {
        for (std::size_t id = 0; id < tokens.size(); ++id) json.member(*tokens[id], id);
    });
}

// The lines of merges.txt after the first, which is its version.
void write_merges(JsonWriter& json, const BytePairTokenizer& tokenizer) {
    const std::string text = tokenizer.merges_text();
    json.array([&] {
        for (std::size_t at = text.find('\n') + 1; at < text.size();) {
            const std::size_t end = text.find('\n', at);
            json.value(std::string_view(text).substr(at, end - at));
            at = end + 1;
        }
    });
}

void write_model(JsonWriter& json, const BytePairTokenizer& tokenizer) {
    json.object([&] {
        json.member("type", "BPE");
        json.member("dropout", nullptr);
        json.member("unk_token", nullptr);
        json.member("continuing_subword_prefix", "");
        json.member("end_of_word_suffix", "");
        json.member("fuse_unk", false);
        json.member("vocab", [&] { write_vocabulary(json, tokenizer); });
        json.member("merges", [&] { write_merges(json, tokenizer); });
    });
}

}  // namespace

std::string tokenizer_json(const BytePairTokenizer& tokenizer) {
    const auto end = tokenizer.end_of_text();
    JsonWriter json(2);
    json.object([&] {
        json.member("version", "1.0");
        json.member("truncation", nullptr);
        json.member("padding", nullptr);
        json.member("added_tokens", [&] {
            json.array([&] {
                if (end) write_added_token(json, *end, BytePairTokenizer::kEndOfText);
            });
        });
        json.member("normalizer", nullptr);
        json.member("pre_tokenizer", [&] { write_byte_level(json, false, true); });
        json.member("post_processor", [&] { write_byte_level(json, true, false); });
        json.member("decoder", [&] { write_byte_level(json, true, true); });
        json.member("model", [&] { write_model(json, tokenizer); });
    });
    return json.text() + "\n";
}

}  // namespace tapestry
