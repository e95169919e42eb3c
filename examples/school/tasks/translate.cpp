#include <tapestry/examples/school/tasks/translate.h>

#include <algorithm>

namespace tapestry::examples {
namespace {

// The vocabulary saved with a model.
MarkedVocabulary ascii_characters() {
    std::string all;
    for (char c = ' '; c <= '~'; ++c) all += c;
    MarkedVocabulary vocabulary = CharTokenizer::from_text(all);
    vocabulary.begin = kBegin;
    vocabulary.end = kEnd;
    vocabulary.first = kFirstCharacter;
    return vocabulary;
}

std::vector<std::string> translate(const Transformer& model, const PairBatch& b) {
    TransformerDecoding decoding(model, b.source);
    std::vector<std::string> texts;
    for (const auto& ids :
         greedy(decoding, b.source.size(0),
                {.begin_id = kBegin, .end_id = kEnd, .max_length = b.target.size(1)})) {
        texts.push_back(text_of(ids));
    }
    return texts;
}

std::vector<std::string> translate(const Seq2Seq& model, const PairBatch& b) {
    const Tensor written = model.greedy(b.source, b.lengths, kBegin, kEnd, b.next.size(1));
    std::vector<std::string> texts;
    for (const Tensor& row : split(written, 1, 0))
        texts.push_back(text_of(row.to_vector<std::int64_t>()));
    return texts;
}

}  // namespace

Tensor pack(const std::vector<std::string>& texts, std::int64_t before, std::int64_t after) {
    std::size_t longest = 0;
    for (const std::string& text : texts) longest = std::max(longest, text.size());
    const std::size_t length = longest + (before != kPad) + (after != kPad);
    std::vector<std::int64_t> ids(texts.size() * length, kPad);
    for (std::size_t row = 0; row < texts.size(); ++row) {
        auto to = ids.begin() + static_cast<std::ptrdiff_t>(row * length);
        if (before != kPad) *to++ = before;
        for (const char c : texts[row]) *to++ = c - ' ' + kFirstCharacter;
        if (after != kPad) *to++ = after;
    }
    return tensor(ids,
                  {static_cast<std::int64_t>(texts.size()), static_cast<std::int64_t>(length)});
}

PairBatch pack(const std::vector<Pair>& pairs) {
    std::vector<std::string> sources, targets;
    std::vector<std::int64_t> lengths;
    for (const Pair& pair : pairs) {
        sources.push_back(pair.source);
        targets.push_back(pair.target);
        lengths.push_back(static_cast<std::int64_t>(pair.source.size()));
    }
    return {pack(sources, kPad, kPad), tensor(lengths, {static_cast<std::int64_t>(pairs.size())}),
            pack(targets, kBegin, kPad), pack(targets, kPad, kEnd)};
}

std::string text_of(const std::vector<std::int64_t>& ids) {
    std::string text;
    for (const std::int64_t id : ids) {
        if (id == kEnd || id == kPad) break;
        text += id < kFirstCharacter ? '?' : static_cast<char>(id - kFirstCharacter + ' ');
    }
    return text;
}

Tensor loss_of(const Transformer& model, const PairBatch& b) {
    return model.loss(b.source, b.target, b.next);
}

Tensor loss_of(const Seq2Seq& model, const PairBatch& b) {
    return model.loss(b.source, b.lengths, b.target, b.next);
}

Tensor attention_map(const Transformer& model, const PairBatch& b) {
    std::vector<DecoderRecord> records;
    model.decode(b.target, model.encode(b.source), b.source, {.records = &records});
    return squeeze(mean(records.back().memory.weights, {1}), 0);
}

Tensor attention_map(const Seq2Seq& model, const PairBatch& b) {
    Tensor weights;
    model(b.source, b.lengths, b.target, &weights);
    return squeeze(weights, 0);
}

template <class Model>
Score examine(const Model& model, const DrawPair& draw, std::int64_t count) {
    Generator generator(1);
    Score score{0, count};
    for (std::int64_t done = 0; done < count; done += 100) {
        std::vector<Pair> pairs(
            static_cast<std::size_t>(std::min<std::int64_t>(100, count - done)));
        for (Pair& pair : pairs) pair = draw(true, generator);
        const std::vector<std::string> written = translate(model, pack(pairs));
        for (std::size_t i = 0; i < pairs.size(); ++i) {
            if (written[i] == pairs[i].target) ++score.right;
        }
    }
    return score;
}

template <class Model>
std::string picture(const Model& model, const Pair& pair) {
    std::vector<std::string> written = characters_of(pair.target);
    written.emplace_back("[end]");
    return text_map(attention_map(model, pack({pair})), written, characters_of(pair.source));
}

template Score examine(const Transformer&, const DrawPair&, std::int64_t);
template Score examine(const Seq2Seq&, const DrawPair&, std::int64_t);
template std::string picture(const Transformer&, const Pair&);
template std::string picture(const Seq2Seq&, const Pair&);

namespace {

// Trains the model; the score is on 1000 held-out pairs. Prints the attention map of `example`.
template <class Model>
Score learn_pairs(Model& model, const DrawPair& draw, const TaskOptions& options,
                  const Pair* example, Generator& generator) {
    fit(
        model, options,
        [&] {
            std::vector<Pair> pairs(static_cast<std::size_t>(options.batch));
            for (Pair& pair : pairs) pair = draw(false, generator);
            return loss_of(model, pack(pairs));
        },
        [&] { return examine(model, draw, 200); });
    Generator held_out_ones(1);
    const Pair asked = draw(true, held_out_ones);
    std::vector<std::string> written = characters_of(asked.target);
    written.insert(written.begin(), "[begin]");
    write_page(options, model,
               {.what = fmt::format("'{}' to '{}'", asked.source, asked.target),
                .texts = texts_of_both(characters_of(asked.source), written),
                .name_of = [](std::int64_t id) { return ascii_characters().name_of(id); },
                .loss = [&] { return loss_of(model, pack({asked})); }});
    const Answering answering(model);
    if (example != nullptr) {
        fmt::print("\nwhere it looks as it writes:\n\n{}\n", picture(model, *example));
    }
    return examine(model, draw, 1000);
}

}  // namespace

Score learn_with(const std::string& name, const DrawPair& draw, const TaskOptions& options,
                 const Pair* example) {
    Generator generator(options.seed);
    if (name == "transformer") {
        Transformer model({.source_vocab = kCharacters,
                           .target_vocab = kCharacters,
                           .dim = 64,
                           .heads = 4,
                           .layers = 2,
                           .dropout = 0,
                           .norm_first = true,
                           .share_embeddings = true,
                           .padding_id = kPad,
                           .label_smoothing = 0},
                          generator);
        if (!options.out.empty()) check_can_save(options.out, model, ascii_characters());
        const Score score = learn_pairs(model, draw, options, example, generator);
        if (!options.out.empty()) save_model(options.out, model, ascii_characters());
        return score;
    }
    require(options.out.empty(), "{} is not saved as a directory; the transformer is", name);
    const bool attends = name == "lstm-attention";
    Seq2Seq model({.source_vocab = kCharacters,
                   .target_vocab = kCharacters,
                   .dim = 32,
                   .hidden = 128,
                   .alignment = attends ? Alignment::bahdanau : Alignment::none,
                   .padding_id = kPad},
                  generator);
    return learn_pairs(model, draw, options, attends ? example : nullptr, generator);
}

}  // namespace tapestry::examples
