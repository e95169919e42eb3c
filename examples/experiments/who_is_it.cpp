// "The dog didn't cross the street because it was too tired", or "too wide": who is "it"? A small
// encoder is taught to say it. Which head looks, how hard, and what if it is taken away?
#include <tapestry/examples/experiments/experiment.h>
#include <tapestry/examples/experiments/plot.h>
#include <tapestry/examples/experiments/without_head.h>
#include <tapestry/examples/tasks/masked_words.h>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <set>

namespace tapestry::experiments {
namespace {

using examples::kPadding;
using examples::Words;
using examples::words_of;
using examples::WordTable;

constexpr std::int64_t kLength = 18, kDim = 64, kHeads = 2, kLayers = 2, kBatch = 32;
constexpr const char* kShown = "dog street";  // this pair of nouns is always held out

/// One sentence with two nouns that the pronoun could stand for; the end decides.
struct Riddle {
    Words words;
    std::size_t pronoun, antecedent, rival;  // places of words
    std::string nouns() const {
        return words[std::min(antecedent, rival)] + " " + words[std::max(antecedent, rival)];
    }
};

// The riddle of a reference, if its sentence is of the shape "The x ... the y because it ...".
std::optional<Riddle> riddle_of(const std::string& text, const examples::Reference& r) {
    const std::size_t before = text.find_last_of(".!?\"\n", r.pronoun_begin);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    const std::size_t end = text.find('.', r.pronoun_end) + 1;
    if (r.antecedent_begin < begin) return {};
    const auto place = [&](std::size_t offset) {
        return words_of(std::string_view(text).substr(begin, offset - begin)).size();
    };
    Riddle riddle{words_of(std::string_view(text).substr(begin, end - begin)),
                  place(r.pronoun_begin), place(r.antecedent_begin), 0};
    const Words& w = riddle.words;
    const std::size_t it = riddle.pronoun;
    if (it < 6 || w.size() > kLength || w[0] != "the" || w[it - 1] != "because" ||
        w[it - 3] != "the" || (w[it] != "it" && w[it] != "they")) {
        return {};
    }
    riddle.rival = riddle.antecedent == 1 ? it - 2 : 1;
    return riddle;
}

struct Riddles {
    std::vector<Riddle> train, test;
};

// All different riddles in so much text. Some pairs of nouns are held out, whatever is said of
// them; not asked for are words that were never an answer in the other part.
Riddles find_riddles(std::size_t bytes) {
    const examples::Stories stories = examples::write_stories(1, bytes);
    std::set<Words> seen;
    std::set<std::string> answers;
    Riddles all;
    for (const examples::Reference& reference : stories.references) {
        const std::optional<Riddle> riddle = riddle_of(stories.text, reference);
        if (!riddle || !seen.insert(riddle->words).second) continue;
        const bool test = riddle->nouns() == kShown || examples::held_out(riddle->nouns(), 6);
        (test ? all.test : all.train).push_back(*riddle);
        if (!test) answers.insert(riddle->words[riddle->antecedent]);
    }
    std::erase_if(all.test,
                  [&](const Riddle& r) { return !answers.contains(r.words[r.antecedent]); });
    return all;
}

struct Questions {
    Tensor ids;      // i64 [N, T]
    Tensor targets;  // i64 [N, T]: at the pronoun the word it stands for, elsewhere -100
};

Questions pack(const std::vector<Riddle>& riddles, const WordTable& table) {
    const auto count = static_cast<std::int64_t>(riddles.size());
    Questions q{full({count, kLength}, kPadding, DType::i64),
                full({count, kLength}, -100, DType::i64)};
    auto* ids = q.ids.mutable_data<std::int64_t>();
    auto* targets = q.targets.mutable_data<std::int64_t>();
    for (const Riddle& riddle : riddles) {
        for (std::size_t i = 0; i < riddle.words.size(); ++i) ids[i] = table.id(riddle.words[i]);
        targets[riddle.pronoun] = ids[riddle.antecedent];
        ids += kLength;
        targets += kLength;
    }
    return q;
}

// The share of pronouns whose word the model names, out of all words there are.
double accuracy(const MaskedLanguageModel& model, const Questions& q) {
    const Tensor asked = to(ge(q.targets, 0), DType::f64);
    const Tensor right = to(eq(argmax(model(q.ids)), q.targets), DType::f64);
    return (sum(right * asked) / sum(asked)).item();
}

void teach(MaskedLanguageModel& model, const Questions& q, const Setting& setting) {
    Generator generator(setting.seed + 1);
    examples::fit(
        model, {.steps = setting.pick(1000, 500), .batch = kBatch, .rate = 3e-3, .print = false},
        [&] {
            const Tensor rows = randint(0, q.ids.size(0), {kBatch}, generator);
            return model.loss(index_select(q.ids, 0, rows), index_select(q.targets, 0, rows));
        },
        [] { return examples::Score{}; });
}

// Heads are counted through all layers: head h of layer l is number l kHeads + h.
using Heads = std::vector<std::size_t>;

std::string name_of(std::size_t head) {
    return fmt::format("layer {} head {}", head / kHeads + 1, head % kHeads + 1);
}

double accuracy_without(const MaskedLanguageModel& model, const Questions& q,
                        const Heads& removed) {
    std::vector<std::unique_ptr<WithoutHead>> away;
    for (const std::size_t head : removed) {
        away.push_back(std::make_unique<WithoutHead>(model.encoder.layers[head / kHeads]->attention,
                                                     static_cast<std::int64_t>(head % kHeads)));
    }
    return accuracy(model, q);
}

/// What one head does at the pronoun, and what becomes of the model without it.
struct HeadFigures {
    double antecedent = 0, rival = 0;  // mean weights
    double accuracy_without = 0;
};

std::vector<HeadFigures> look_at_heads(const MaskedLanguageModel& model,
                                       const std::vector<Riddle>& riddles, const Questions& q) {
    std::vector<AttentionRecord> records;
    model(q.ids, {.records = &records});
    std::vector<HeadFigures> heads(kLayers * kHeads);
    const double share = 1 / static_cast<double>(riddles.size());
    for (std::size_t head = 0; head < heads.size(); ++head) {
        const Tensor& weights = records[head / kHeads].weights;  // [N, H, T, T]
        for (std::size_t i = 0; i < riddles.size(); ++i) {
            const auto at = [&](std::size_t key) {
                return weights.at({static_cast<std::int64_t>(i),
                                   static_cast<std::int64_t>(head % kHeads),
                                   static_cast<std::int64_t>(riddles[i].pronoun),
                                   static_cast<std::int64_t>(key)});
            };
            heads[head].antecedent += share * at(riddles[i].antecedent);
            heads[head].rival += share * at(riddles[i].rival);
        }
        heads[head].accuracy_without = accuracy_without(model, q, {head});
    }
    return heads;
}

// What a head sees from "it" in the sentence of the title, which the model has not been trained on.
HeatMap sentence_map(const MaskedLanguageModel& model, const WordTable& table, std::size_t best) {
    HeatMap map{.title = "Where \"it\" looks: " + name_of(best),
                .x_label = "word",
                .y_label = "too ...",
                .rows = {"tired", "wide"}};
    for (const std::string& end : map.rows) {
        const Words words =
            words_of("The dog didn't cross the street because it was too " + end + ".");
        if (map.columns.empty()) map.columns = words;
        std::vector<AttentionRecord> records;
        model(pack({{words, 9, 1, 7}}, table).ids, {.records = &records});
        std::vector<double> row;
        for (std::size_t i = 0; i < words.size(); ++i) {
            row.push_back(records[best / kHeads].weights.at(
                {0, static_cast<std::int64_t>(best % kHeads), 9, static_cast<std::int64_t>(i)}));
        }
        map.values.push_back(row);
    }
    map.columns[12] = "...";  // the word that decides
    return map;
}

struct Outcome {
    double accuracy = 0;
    double first_noun = 0;  // of somebody who always says the first noun
    double chance = 0;      // the weight of one word if all had the same
    std::vector<HeadFigures> heads;
    Heads order;                   // most weight on the antecedent first
    std::vector<double> together;  // accuracy without the first one, two, ... of these
};

Outcome measure(const MaskedLanguageModel& model, const std::vector<Riddle>& riddles,
                const Questions& q) {
    Outcome o;
    o.accuracy = accuracy(model, q);
    o.heads = look_at_heads(model, riddles, q);
    const double share = 1 / static_cast<double>(riddles.size());
    for (const Riddle& riddle : riddles) {
        o.chance += share / static_cast<double>(riddle.words.size());
        o.first_noun += riddle.antecedent < riddle.rival ? share : 0;
    }
    o.order.resize(o.heads.size());
    std::iota(o.order.begin(), o.order.end(), std::size_t{0});
    std::sort(o.order.begin(), o.order.end(), [&](std::size_t a, std::size_t b) {
        return o.heads[a].antecedent > o.heads[b].antecedent;
    });
    Heads removed;
    for (const std::size_t head : o.order) {
        removed.push_back(head);
        o.together.push_back(accuracy_without(model, q, removed));
    }
    return o;
}

Report::Old judge(const Outcome& o) {
    const HeadFigures& best = o.heads[o.order[0]];
    const bool names = o.accuracy > o.first_noun + 0.2;
    const bool looks = best.antecedent > 3 * o.chance && best.antecedent > 2 * best.rival;
    std::size_t needed = 0;  // so many heads must go until guessing is as good
    while (needed < o.together.size() && o.together[needed] > o.first_noun) ++needed;
    const bool lost = needed < o.together.size();
    return {
        names && looks && lost,
        fmt::format(
            "Of sentences about pairs of nouns it has never seen together the model answers "
            "{:.1f} % right (always the first noun: {:.1f} %). From the pronoun {} puts {:.2f} of "
            "its weight on the antecedent, {:.1f} times chance, and {:.2f} on the other noun. "
            "Without this head {:.1f} % are right: {}. {} to make the model worse than guessing.",
            100 * o.accuracy, 100 * o.first_noun, name_of(o.order[0]), best.antecedent,
            best.antecedent / o.chance, best.rival, 100 * best.accuracy_without,
            o.accuracy - best.accuracy_without > 0.05
                ? "it is missed"
                : "others look there too, and it is hardly missed",
            lost ? fmt::format("It takes the removal of {} of {} heads", needed + 1, o.heads.size())
                 : "Not even the removal of all heads is enough")};
}

std::vector<Table> tables_of(const Outcome& o, const Riddles& riddles) {
    Table sentences{"Sentences", {"", "number", "right"}, {}};
    sentences.rows = {
        {"learned from", riddles.train.size(), "-"},
        {"held out, whole model", riddles.test.size(), percent(o.accuracy)},
        {"held out, always the first noun", riddles.test.size(), percent(o.first_noun)}};
    Table heads{fmt::format("Heads at the pronoun, most on the antecedent first; chance is {:.3f}",
                            o.chance),
                {"head", "on the antecedent", "times chance", "on the other noun",
                 "right without it", "right without it and those above"},
                {}};
    for (std::size_t i = 0; i < o.order.size(); ++i) {
        const HeadFigures& head = o.heads[o.order[i]];
        heads.rows.push_back({name_of(o.order[i]), fixed(head.antecedent, 3),
                              fixed(head.antecedent / o.chance, 1), fixed(head.rival, 3),
                              percent(head.accuracy_without), percent(o.together[i])});
    }
    return {sentences, heads};
}

Report run(const Setting& setting) {
    const Riddles riddles = find_riddles(2'000'000);
    std::vector<std::string> sentences;
    for (const Riddle& riddle : riddles.train) {
        sentences.push_back(fmt::format("{}", fmt::join(riddle.words, " ")));
    }
    const WordTable table(sentences);
    Generator generator(setting.seed);
    MaskedLanguageModel model({.vocab = table.size(),
                               .max_length = kLength,
                               .dim = kDim,
                               .heads = kHeads,
                               .layers = kLayers,
                               .dropout = 0,
                               .padding_id = kPadding,
                               .deviation = 0.08},
                              generator);
    teach(model, pack(riddles.train, table), setting);
    const examples::Answering answering(model);
    const Outcome o = measure(model, riddles.test, pack(riddles.test, table));

    return {tables_of(o, riddles),
            {{"sentence", "the head that looks at the antecedent most, from \"it\"",
              svg(sentence_map(model, table, o.order[0]))}},
            judge(o)};
}

}  // namespace

Experiment who_is_it() {
    return {
        "who_is_it",
        "Who is \"it\"?",
        "\"The dog didn't cross the street because it was too tired\": it is the dog. \"... too "
        "wide\": it is the street. A model that is to name the noun must carry it from its place "
        "to the pronoun's, and attention is the only way between places. So some head looks from "
        "the pronoun at its antecedent, several times more than chance and more than at the other "
        "noun; and without the heads that look the answers are guesses. Whether one head alone "
        "is missed is another question: of the heads of large models most could be removed, one "
        "at a time, at little cost.\n\n"
        "Sources: Levesque et al. 2012, \"The Winograd Schema Challenge\"; Vaswani et al. 2017, "
        "figure 4; Clark et al. 2019, \"What Does BERT Look At?\", section 4.3; Michel et al. "
        "2019, \"Are Sixteen Heads Really Better than One?\".",
        {},
        nullptr,
        [](const Setting& s, const Outcomes&) { return run(s); }};
}

}  // namespace tapestry::experiments
