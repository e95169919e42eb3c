#include <tapestry/examples/school/tasks/answers.h>

#include <algorithm>

namespace tapestry::examples {
namespace {

constexpr std::size_t kFacts = 3;
constexpr std::int64_t kDim = 64;
constexpr std::string_view kNames = "mia|tom|anna|ben|lily|max|rosa|sam";
constexpr std::string_view kColours = "red|blue|green|white";
constexpr std::string_view kThings = "ball|book|hat|cup|key|doll";
constexpr std::string_view kPlaces =
    "the box|the old wooden box|the kitchen|the small room|the garden behind the house|the drawer|"
    "the car|the big bag";

/// Who put which thing where.
struct Fact {
    std::string who, what, where;
};

std::string draw_thing(bool held_out, Generator& generator) {
    for (;;) {
        const Words colours = choices(kColours), things = choices(kThings);
        const std::string thing = fmt::format("{} {}", colours[generator.below(colours.size())],
                                              things[generator.below(things.size())]);
        if (examples::held_out(thing, 6) == held_out) return thing;
    }
}

// Facts with nothing in common, so a question has only one answer.
std::vector<Fact> draw_facts(bool held_out, Generator& generator) {
    const auto different = [&](std::string_view list) {
        Words all = choices(list);
        for (std::size_t i = 0; i < kFacts; ++i) {
            std::swap(all[i], all[i + generator.below(all.size() - i)]);
        }
        return all;
    };
    const Words names = different(kNames), places = different(kPlaces);
    std::vector<Fact> facts;
    while (facts.size() < kFacts) {
        const std::string thing = draw_thing(held_out, generator);
        const bool said = std::any_of(facts.begin(), facts.end(), [&](const Fact& fact) {
            return fact.what == "the " + thing;
        });
        if (!said) facts.push_back({names[facts.size()], "the " + thing, places[facts.size()]});
    }
    return facts;
}

void append(Words& words, std::string_view text) {
    for (const std::string& word : words_of(text)) words.push_back(word);
}

struct ExerciseRows {
    Tensor ids, types;         // [N, T]: text 0, question 1
    Tensor begin, last, text;  // [N], [N], [N, T]; text: 0 where an answer may be, else -inf
};

ExerciseRows pack_exercises(const std::vector<Exercise>& exercises, const WordTable& table,
                            std::int64_t length) {
    std::vector<Words> sentences;
    for (const Exercise& e : exercises) sentences.push_back(e.words);
    const auto count = static_cast<std::int64_t>(exercises.size());
    ExerciseRows rows{pack(sentences, table, length), zeros({count, length}, DType::i64),
                      zeros({count}, DType::i64), zeros({count}, DType::i64),
                      full({count, length}, -std::numeric_limits<double>::infinity())};
    for (std::size_t i = 0; i < exercises.size(); ++i) {
        const Exercise& e = exercises[i];
        auto* types =
            rows.types.mutable_data<std::int64_t>() + static_cast<std::int64_t>(i) * length;
        auto* text = rows.text.mutable_data<float>() + static_cast<std::int64_t>(i) * length;
        std::fill(types + e.question + 1, types + e.words.size() + 1, 1);
        std::fill(text + 1, text + e.question + 1, 0.0F);
        rows.begin.mutable_data<std::int64_t>()[i] = static_cast<std::int64_t>(e.begin) + 1;
        rows.last.mutable_data<std::int64_t>()[i] = static_cast<std::int64_t>(e.last) + 1;
    }
    return rows;
}

/// Two scores for every word: that the answer begins there, and that it ends there. Positions are
/// rotary: related words are at the same distance anywhere in the text.
class Reader : public Module {
public:
    Embedding words, types;
    Encoder encoder;
    Linear ends;  // [2, C]

    Reader(std::int64_t vocab, Generator& generator)
        : Module("Reader"),
          words(vocab, kDim, generator),
          types(2, kDim, generator),
          encoder({.layers = 3,
                   .layer = {.dim = kDim,
                             .heads = 4,
                             .norm_first = true,
                             .positions = Positions::rotary},
                   .final_norm = true},
                  generator),
          ends(kDim, 2, true, generator) {
        register_module("words", words);
        register_module("types", types);
        register_module("encoder", encoder);
        register_module("ends", ends);
    }
    /// [B, 2, T], -inf outside the text.
    Tensor operator()(const ExerciseRows& rows) const {
        const Tensor x = words(rows.ids) + types(rows.types);  // [B, T, C]
        const Tensor h = encoder(x, {.mask = padding_mask(rows.ids, kPadding)});
        return transpose(ends(h), 1, 2) + unsqueeze(rows.text, 1);
    }
    Tensor loss(const ExerciseRows& rows) const {
        const Tensor scores = (*this)(rows);
        return cross_entropy(select(scores, 1, 0), rows.begin) +
               cross_entropy(select(scores, 1, 1), rows.last);
    }
};

ExerciseRows some_of(const ExerciseRows& rows, const Tensor& which) {
    const auto take = [&](const Tensor& x) { return index_select(x, 0, which); };
    return {take(rows.ids), take(rows.types), take(rows.begin), take(rows.last), take(rows.text)};
}

AnswerScores score_answers(const Reader& model, const ExerciseRows& rows) {
    const Tensor said = argmax(model(rows));  // [N, 2]
    const Tensor begin = to(eq(select(said, 1, 0), rows.begin), DType::f64);
    const Tensor last = to(eq(select(said, 1, 1), rows.last), DType::f64);
    const std::int64_t count = rows.ids.size(0);
    return {{static_cast<std::int64_t>(sum(begin * last).item()), count},
            {static_cast<std::int64_t>(sum(begin).item()), count},
            {count / static_cast<std::int64_t>(kFacts), count}};
}

}  // namespace

Exercise draw_exercise(bool held_out, Generator& generator) {
    const std::vector<Fact> facts = draw_facts(held_out, generator);
    const std::size_t asked = generator.below(kFacts), kind = generator.below(3);
    Exercise e;
    for (std::size_t i = 0; i < kFacts; ++i) {
        const Fact& fact = facts[i];
        const std::string pieces[] = {fact.who, "put", fact.what, "into", fact.where, "."};
        const std::size_t answer[] = {4, 0, 2};  // of the three kinds of question
        for (std::size_t p = 0; p < std::size(pieces); ++p) {
            if (i == asked && p == answer[kind]) e.begin = e.words.size();
            append(e.words, pieces[p]);
            if (i == asked && p == answer[kind]) e.last = e.words.size() - 1;
        }
    }
    e.question = e.words.size();
    const Fact& fact = facts[asked];
    switch (kind) {
        case 0: append(e.words, fmt::format("where is {} ?", fact.what)); break;
        case 1: append(e.words, fmt::format("who had {} ?", fact.what)); break;
        default: append(e.words, fmt::format("what is in {} ?", fact.where));
    }
    return e;
}

std::string draw_question_line(bool held_out, Generator& generator) {
    const Exercise e = draw_exercise(held_out, generator);
    const auto joined = [&e](std::size_t begin, std::size_t end) {
        std::string text;
        for (std::size_t i = begin; i < end; ++i) text += (i == begin ? "" : " ") + e.words[i];
        return text;
    };
    const std::size_t before = joined(0, e.begin).size();
    return fmt::format("{}\t{}\t{}\t{}", joined(0, e.question), joined(e.question, e.words.size()),
                       joined(e.begin, e.last + 1), before + (e.begin > 0 ? 1 : 0));
}

AnswerScores learn_answers(const TaskOptions& options) {
    Generator generator(options.seed), for_test(1);
    std::vector<Exercise> learnt, asked;
    for (int i = 0; i < 8000; ++i) learnt.push_back(draw_exercise(false, generator));
    for (int i = 0; i < 500; ++i) asked.push_back(draw_exercise(true, for_test));
    std::vector<Words> sentences;
    for (const Exercise& e : learnt) sentences.push_back(e.words);
    for (const Exercise& e : asked) sentences.push_back(e.words);  // for the longest; adds no words
    const WordTable table = WordTable::of(sentences);
    const std::int64_t length = columns_for(sentences);
    const ExerciseRows rows = pack_exercises(learnt, table, length),
                       test = pack_exercises(asked, table, length);
    Reader model(table.size(), generator);
    fit(
        model, options,
        [&] {
            return model.loss(
                some_of(rows, randint(0, rows.ids.size(0), {options.batch}, generator)));
        },
        [&] { return score_answers(model, test).exact; });
    const Answering answering(model);
    const AnswerScores scores = score_answers(model, test);
    if (options.print) {
        const Exercise& e = asked.front();
        const Tensor said = argmax(model(pack_exercises({e}, table, length)));
        const auto begin = said.at<std::int64_t>({0, 0}), last = said.at<std::int64_t>({0, 1});
        const auto first = e.words.begin() - 1;  // column 0 is [CLS]
        fmt::print("\n{}\n    {}\n", fmt::join(e.words, " "),
                   fmt::join(first + begin, first + std::max(begin, last) + 1, " "));
    }
    return scores;
}

}  // namespace tapestry::examples
