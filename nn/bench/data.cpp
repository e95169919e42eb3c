#include <tapestry/nn/bench/data.h>

#include <tapestry/nn/data/documents.h>
#include <tapestry/nn/data/text.h>
#include <tapestry/nn/io/tokenize.h>

#include <memory>

namespace tapestry::bench {
namespace {

void encode_all(const std::string& text, const Tokenizer& tokenizer) {
    DocumentReader reader({text});
    std::int64_t bytes = 0;
    encode_documents(
        reader, tokenizer, id_type_for(tokenizer.vocab_size()),
        [&](std::span<const std::byte> ids) { bytes += static_cast<std::int64_t>(ids.size()); });
    require(bytes > 0, "bench data: no ids");
}

CharTokenizer characters_in(const std::string& text) {
    DocumentReader reader({text});
    return characters_of(reader);
}

BytePairTokenizer learned_from(const DataOptions& o) {
    DocumentReader reader({o.text});
    return train_byte_pairs(words_of(reader, reader.bytes()), o.vocab);
}

TextData data_of(const DataOptions& o, const BytePairTokenizer& pairs) {
    return TextData(tokenize_text(o.text, std::make_unique<BytePairTokenizer>(pairs)).ids,
                    {.name = o.text});
}

}  // namespace

DataRow measure_data(const DataOptions& o) {
    DataRow row;
    row.bytes = static_cast<double>(InputFile(o.text).size());
    const BytePairTokenizer pairs = learned_from(o);
    const TextData data = data_of(o, pairs);
    Generator generator(1);
    data.random_batch(Split::train, 1, o.context, generator);  // throws if the text is too short
    row.vocab = pairs.vocab_size();
    row.characters = timed(o.seconds, [&] { encode_all(o.text, characters_in(o.text)); });
    row.learning = timed(o.seconds, [&] { learned_from(o); });
    row.byte_pairs = timed(o.seconds, [&] { encode_all(o.text, pairs); });
    row.batch =
        timed(o.seconds, [&] { data.random_batch(Split::train, o.batch, o.context, generator); });
    return row;
}

}  // namespace tapestry::bench
