#include <tapestry/examples/school/tasks/bank.h>

#include <algorithm>

namespace tapestry::examples {
namespace {

constexpr std::int64_t kExamples = 400;  // of "bank", half for each meaning

// Nouns of each meaning; the last four never occur with "bank" in training.
constexpr std::size_t kKeptApart = 4;
constexpr std::string_view kNounsByMeaning[] = {
    "frog|fish|boat|raft|reed|willow|stone|wave|otter|heron|canoe|ferry",
    "coin|loan|cheque|clerk|wallet|salary|debt|robber|lawyer|safe|cashier|receipt"};
constexpr std::string_view kPlacesByMeaning[] = {"stream|lake|shore|river",
                                                 "office|shop|treasury|market"};

// Templates do not reveal the meaning.
constexpr std::string_view kTemplates[] = {"the 1 and the 2 were near the 3",
                                           "we saw a 1 by the 3 and also a 2",
                                           "a 1 was at the 3 with a 2",
                                           "at the 3 they talked about the 1 and the 2",
                                           "she looked for a 1 , found a 2 and left the 3",
                                           "the 3 was known for a 1 and a 2"};

Words draw(Meaning meaning, bool bank, bool apart, Generator& generator) {
    const auto which = static_cast<std::size_t>(meaning);
    Words nouns = choices(kNounsByMeaning[which]);
    if (apart) {
        nouns.erase(nouns.begin(), nouns.end() - kKeptApart);
    } else if (bank) {
        nouns.resize(nouns.size() - kKeptApart);
    }
    const std::size_t one = generator.below(nouns.size());
    const std::size_t step = 1 + generator.below(nouns.size() - 1);
    const Words places = choices(kPlacesByMeaning[which]);
    return fill(kTemplates[generator.below(std::size(kTemplates))],
                {nouns[one], nouns[(one + step) % nouns.size()],
                 bank ? "bank" : places[generator.below(places.size())]});
}

// The last layer's vectors of "bank", normalized to length 1: [N, C]; rivers in the first half.
Tensor vectors(const MaskedLanguageModel& model, const WordTable& table, bool held_out) {
    Generator generator(held_out ? 2 : 1);
    std::vector<Words> sentences;
    std::vector<std::int64_t> columns;
    for (std::int64_t i = 0; i < kExamples; ++i) {
        const auto meaning = i < kExamples / 2 ? Meaning::river : Meaning::money;
        const BankSentence drawn = draw_bank(meaning, held_out, generator);
        sentences.push_back(drawn.words);
        columns.push_back(static_cast<std::int64_t>(drawn.bank) + 1);
    }
    const std::int64_t length = model.config().max_length;
    const Tensor h = model.encode(pack(sentences, table, length));  // [N, T, C]
    const Tensor at = tensor(columns, {kExamples, 1, 1});
    const Tensor bank = squeeze(gather(h, 1, expand(at, {kExamples, 1, h.size(2)})), 1);
    return bank / sqrt(sum(bank * bank, {1}, true));
}

Separation separation(MaskedLanguageModel& model, const WordTable& table) {
    const Answering answering(model);
    const std::int64_t half = kExamples / 2;
    const Tensor seen = vectors(model, table, false), asked = vectors(model, table, true);
    const auto mean_of = [&](std::int64_t from) {
        return mean(slice(seen, 0, from, from + half), {0}, true);  // [1, C]
    };
    const Tensor river = mean_of(0), money = mean_of(half);
    const auto distance = [&](const Tensor& to) { return sum((asked - to) * (asked - to), {1}); };
    const auto nearer = lt(distance(river), distance(money)).to_vector<std::int64_t>();
    Separation result;
    for (std::int64_t i = 0; i < kExamples; ++i) {
        const bool says_river = nearer[static_cast<std::size_t>(i)] != 0;
        result.told += {says_river == (i < half) ? 1 : 0, 1};
    }
    const Tensor cosines = matmul(asked, transpose(asked, 0, 1));  // [N, N]
    const auto block = [&](std::int64_t row, std::int64_t column) {
        return sum(slice(slice(cosines, 0, row, row + half), 1, column, column + half)).item();
    };
    const auto n = static_cast<double>(half);
    result.same = (block(0, 0) + block(half, half) - 2 * n) / (2 * n * (n - 1));
    result.different = block(0, half) / (n * n);
    return result;
}

}  // namespace

BankSentence draw_bank(Meaning meaning, bool held_out, Generator& generator) {
    BankSentence drawn{draw(meaning, true, held_out, generator), 0, meaning};
    drawn.bank = static_cast<std::size_t>(
        std::find(drawn.words.begin(), drawn.words.end(), "bank") - drawn.words.begin());
    return drawn;
}

Words draw_sentence(Generator& generator) {
    const auto meaning = static_cast<Meaning>(generator.below(2));
    const bool bank = generator.below(2) == 0;
    return draw(meaning, bank, false, generator);
}

BankResult learn_bank(const TaskOptions& options) {
    Generator generator(options.seed);
    std::vector<Words> sentences;
    for (int i = 0; i < 5000; ++i) sentences.push_back(draw_sentence(generator));
    const WordTable table = WordTable::of(sentences);
    const std::int64_t length = columns_for(sentences);
    const Tensor rows = pack(sentences, table, length);
    MaskedLanguageModel model(sentence_model(table, length), generator);
    const MaskingOptions masking{.vocab = table.size(),
                                 .mask_id = kMask,
                                 .special_ids = {kPadding, kStart, kUnknown},
                                 .rate = 0.3};

    BankResult result{.untrained = separation(model, table), .trained = {}};
    fit(
        model, options,
        [&] {
            const Tensor batch =
                index_select(rows, 0, randint(0, rows.size(0), {options.batch}, generator));
            const MaskedTokens hidden = mask_tokens(batch, masking, generator);
            return model.loss(hidden.ids, hidden.targets);
        },
        [&] { return separation(model, table).told; });
    result.trained = separation(model, table);
    return result;
}

}  // namespace tapestry::examples
