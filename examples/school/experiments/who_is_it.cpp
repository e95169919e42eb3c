// "The dog didn't cross the street because it was too tired", or "too wide": what is "it"? A small
// encoder learns the answer. Which head attends to it, how strongly, and what if that head is
// removed?
#include <tapestry/examples/school/experiments/arrivals.h>
#include <tapestry/examples/school/experiments/experiment.h>
#include <tapestry/examples/school/experiments/head_worth.h>
#include <tapestry/examples/school/experiments/plot.h>
#include <tapestry/examples/school/experiments/who_is_it.h>
#include <tapestry/examples/school/tasks/masked_words.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>

namespace tapestry::experiments::who_is_it {
namespace {

using examples::kPadding;
using examples::Words;
using examples::words_of;
using examples::WordTable;

constexpr std::int64_t kHeads = 2, kLayers = 2, kBatch = 32;

}  // namespace

double accuracy(const MaskedLanguageModel& model, const Questions& q) {
    const Tensor asked = to(ge(q.targets, 0), DType::f64);
    const Tensor right = to(eq(argmax(model(q.ids)), q.targets), DType::f64);
    return (sum(right * asked) / sum(asked)).item();
}

void teach(MaskedLanguageModel& model, const Questions& q, std::int64_t steps, double rate,
           std::uint64_t seed) {
    Generator generator(seed + 1000);
    examples::fit(
        model, {.steps = steps, .batch = kBatch, .rate = rate, .print = false},
        [&] {
            const Tensor rows = randint(0, q.ids.size(0), {kBatch}, generator);
            return model.loss(index_select(q.ids, 0, rows), index_select(q.targets, 0, rows));
        },
        [] { return examples::Score{}; });
}

MaskedLanguageModel encoder_of(const Corpus& corpus, std::int64_t layers, std::int64_t heads,
                               std::uint64_t seed) {
    Generator generator(seed);
    return MaskedLanguageModel({.vocab = corpus.table.size(),
                                .max_length = kLength,
                                .dim = 64,
                                .heads = heads,
                                .layers = layers,
                                .dropout = 0,
                                .padding_id = kPadding,
                                .deviation = 0.08},
                               generator);
}

namespace {

// Heads are numbered across layers: head h of layer l is l kHeads + h.
using Heads = std::vector<std::size_t>;

double accuracy_without(const MaskedLanguageModel& model, const Questions& q,
                        const Heads& removed) {
    std::vector<std::unique_ptr<WithoutHead>> away;
    for (const std::size_t head : removed) {
        away.push_back(std::make_unique<WithoutHead>(model.encoder.layers[head / kHeads]->attention,
                                                     static_cast<std::int64_t>(head % kHeads)));
    }
    return accuracy(model, q);
}

/// What one head does at the pronoun, and how the model does without it.
struct HeadFigures {
    double antecedent = 0, rival = 0;  // mean weights
    double preferred = 0;              // mean difference of the scores of the two
    double brought = 0;                // the antecedent's share of the head's output
    double accuracy_without = 0;
};

std::vector<std::int64_t> antecedents_of(const std::vector<Riddle>& riddles) {
    std::vector<std::int64_t> words;
    for (const Riddle& riddle : riddles) {
        words.push_back(static_cast<std::int64_t>(riddle.antecedent));
    }
    return words;
}

// A head's weight from the pronoun of riddle i to one of its words.
double weight_on(const std::size_t Riddle::*word, std::size_t i, const std::vector<Riddle>& riddles,
                 const std::vector<AttentionRecord>& records, std::size_t head) {
    return records[head / kHeads].weights.at(  // [N, H, T, T]
        {static_cast<std::int64_t>(i), static_cast<std::int64_t>(head % kHeads),
         static_cast<std::int64_t>(riddles[i].pronoun),
         static_cast<std::int64_t>(riddles[i].*word)});
}

// The mean weight from the pronoun to one of a riddle's words, for every head.
std::vector<double> weights_on(std::size_t Riddle::*word, const std::vector<Riddle>& riddles,
                               const std::vector<AttentionRecord>& records) {
    std::vector<double> weights(kLayers * kHeads, 0);
    for (std::size_t head = 0; head < weights.size(); ++head) {
        for (std::size_t i = 0; i < riddles.size(); ++i) {
            weights[head] +=
                weight_on(word, i, riddles, records, head) / static_cast<double>(riddles.size());
        }
    }
    return weights;
}

// By how much the pronoun's score with the antecedent exceeds that with the other noun, in every
// head: the logarithm of the ratio of their weights, since softmax divides both by the same sum.
std::vector<double> preferences(const std::vector<Riddle>& riddles,
                                const std::vector<AttentionRecord>& records) {
    constexpr double kSmallest = 1e-37;  // of f32, about
    std::vector<double> means(kLayers * kHeads, 0);
    for (std::size_t head = 0; head < means.size(); ++head) {
        for (const std::size_t Riddle::*word : {&Riddle::antecedent, &Riddle::rival}) {
            const double sign = word == &Riddle::antecedent ? 1 : -1;
            for (std::size_t i = 0; i < riddles.size(); ++i) {
                const double weight = weight_on(word, i, riddles, records, head);
                means[head] += sign * std::log(std::max(weight, kSmallest)) /
                               static_cast<double>(riddles.size());
            }
        }
    }
    return means;
}

std::vector<HeadFigures> look_at_heads(const MaskedLanguageModel& model,
                                       const std::vector<Riddle>& riddles, const Questions& q,
                                       const std::vector<AttentionRecord>& records,
                                       const Arrivals& arrivals) {
    std::vector<HeadFigures> heads(kLayers * kHeads);
    const std::vector<double> antecedent = weights_on(&Riddle::antecedent, riddles, records);
    const std::vector<double> rival = weights_on(&Riddle::rival, riddles, records);
    const std::vector<double> preferred = preferences(riddles, records);
    for (std::size_t head = 0; head < heads.size(); ++head) {
        heads[head].antecedent = antecedent[head];
        heads[head].rival = rival[head];
        heads[head].preferred = preferred[head];
        const auto h = static_cast<std::int64_t>(head % kHeads);
        heads[head].brought = mean_share(
            squeeze(slice(arrivals.heads[head / kHeads], 1, h, h + 1), 1), antecedents_of(riddles));
        heads[head].accuracy_without = accuracy_without(model, q, {head});
    }
    return heads;
}

// What a head attends to from "it" in the title's sentence, which the model was not trained on.
Words shown_words(const std::string& end) {
    return words_of("The dog didn't cross the street because it was too " + end + ".");
}

std::vector<double> shown_weights(const MaskedLanguageModel& model, const WordTable& table,
                                  const std::string& end, std::size_t head) {
    const Words words = shown_words(end);
    std::vector<AttentionRecord> records;
    model(pack({{words, 9, 1, 7}}, table).ids, {.records = &records});
    std::vector<double> row;
    for (std::size_t i = 0; i < words.size(); ++i) {
        row.push_back(records[head / kHeads].weights.at(
            {0, static_cast<std::int64_t>(head % kHeads), 9, static_cast<std::int64_t>(i)}));
    }
    return row;
}

std::string ranked(std::size_t rank, const char* what) { return fmt::format("{} {}", rank, what); }

// Heads by their weight on the antecedent, the largest first, in sentences other than those that
// judge them.
Heads rank_heads(const MaskedLanguageModel& model, const Corpus& corpus) {
    std::vector<AttentionRecord> records;
    model(pack(corpus.choosing, corpus.table).ids, {.records = &records});
    const std::vector<double> weights = weights_on(&Riddle::antecedent, corpus.choosing, records);
    Heads order(weights.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [&](std::size_t head) { return weights[head]; });
    return order;
}

// Measures what the heads do, and the accuracy without each one and without all ranked up to it.
Measured measure(const MaskedLanguageModel& model, const Corpus& corpus) {
    const std::vector<Riddle>& riddles = corpus.riddles.test;
    std::vector<AttentionRecord> records;
    model(corpus.test.ids, {.records = &records});
    std::vector<std::int64_t> pronouns;
    for (const Riddle& riddle : riddles) {
        pronouns.push_back(static_cast<std::int64_t>(riddle.pronoun));
    }
    const Arrivals arrivals = arrivals_of(model, corpus.test.ids, kPadding, pronouns, records);
    const std::vector<HeadFigures> heads =
        look_at_heads(model, riddles, corpus.test, records, arrivals);
    const Heads order = rank_heads(model, corpus);
    Heads removed;
    const Questions choosing = pack(corpus.choosing, corpus.table);
    Measured m{{{"right", accuracy(model, corpus.test)},
                {"loss", model.loss(choosing.ids, choosing.targets).item()},
                {"missed", 1}}};  // heads to remove until the answers are no better than guesses
    bool is_better = true;
    for (std::size_t rank = 0; rank < order.size(); ++rank) {
        const HeadFigures& head = heads[order[rank]];
        removed.push_back(order[rank]);
        const double left = accuracy_without(model, corpus.test, removed);
        m.numbers[ranked(rank, "antecedent")] = head.antecedent;
        m.numbers[ranked(rank, "rival")] = head.rival;
        m.numbers[ranked(rank, "brought")] = head.brought;
        m.numbers[ranked(rank, "layer")] = static_cast<double>(order[rank] / kHeads);
        m.numbers[ranked(rank, "without")] = head.accuracy_without;
        m.numbers[ranked(rank, "without all")] = left;
        is_better = is_better && left > corpus.first_noun;
        m.numbers["missed"] += is_better ? 1 : 0;
    }
    m.numbers["brought"] =
        mean_share(arrivals.together[order[0] / kHeads], antecedents_of(riddles));
    m.numbers["times chance"] = heads[order[0]].antecedent / corpus.chance;
    m.numbers["preferred"] = heads[order[0]].preferred;
    m.numbers["more than guessing"] = m.numbers["right"] - corpus.first_noun;
    m.numbers["lost without it"] = m.numbers["right"] - heads[order[0]].accuracy_without;
    for (const char* end : {"tired", "wide"}) {
        m.curves[end] = shown_weights(model, corpus.table, end, order[0]);
    }
    return m;
}

Measured trained(const Corpus& corpus, std::int64_t steps, double rate, std::uint64_t seed) {
    MaskedLanguageModel model = encoder_of(corpus, kLayers, kHeads, seed);
    const auto asked = [&] {
        const examples::Answering answering(model);
        return measure(model, corpus);
    };
    const Measured before = asked();
    teach(model, corpus.train, steps, rate, seed);
    Measured after = asked();
    for (const char* what : {"right", "times chance", "preferred", "brought"}) {
        after.numbers[std::string("untrained, ") + what] = before.numbers.at(what);
    }
    return after;
}

constexpr const char* kTrial = "encoder";

const Corpus& corpus() {
    static const Corpus all;
    return all;
}

std::vector<Trial> trials(const Setting& setting) {
    if (!setting.model.empty()) return {asked_trial(setting)};
    std::vector<Trial> all = cause_trials(setting, corpus());
    all.insert(all.begin(), swept(setting, kTrial, {1.5e-3, 3e-3, 6e-3},
                                  [&all = corpus(), steps = setting.pick(600, 300)](
                                      std::uint64_t seed, double rate) {
                                      return trained(all, steps, rate, seed);
                                  }));
    return all;
}

std::vector<Table> tables_of(const Outcomes& o) {
    Table sentences{"Sentences", {"", "number", "right"}, {}};
    sentences.rows = {
        {"learned from", corpus().riddles.train.size(), "-"},
        {"held out, whole model", corpus().riddles.test.size(), percent(o.of(kTrial, "right"))},
        {"held out, untrained", corpus().riddles.test.size(),
         percent(o.of(kTrial, "untrained, right"))},
        {"held out, always the first noun", corpus().riddles.test.size(),
         percent(corpus().first_noun)}};
    Table heads{
        fmt::format("Heads at the pronoun, most on the antecedent first, as ranked by other "
                    "sentences; chance is {:.3f}",
                    corpus().chance),
        {"rank", "layer", "on the antecedent", "on the other noun",
         "of what it brings, the antecedent's", "right without it",
         "right without it and those above"},
        {}};
    for (std::size_t rank = 0; rank < kLayers * kHeads; ++rank) {
        const auto of = [&](const char* what) { return o.of(kTrial, ranked(rank, what)); };
        heads.rows.push_back({std::to_string(rank + 1), fixed(of("layer"), 1),
                              fixed(of("antecedent"), 3), fixed(of("rival"), 3),
                              percent(of("brought")), percent(of("without")),
                              percent(of("without all"))});
    }
    const auto untrained = [&](const char* what) {
        return o.of(kTrial, std::string("untrained, ") + what);
    };
    const Table before{"The head of the first rank, before training and after",
                       {"", "weight, times chance", "score less the other noun's",
                        "the antecedent's share, all heads of its layer"},
                       {{"untrained", fixed(untrained("times chance"), 2),
                         fixed(untrained("preferred"), 2), percent(untrained("brought"))},
                        {"trained", fixed(o.of(kTrial, "times chance"), 2),
                         fixed(o.of(kTrial, "preferred"), 2), percent(o.of(kTrial, "brought"))}}};
    return {sentences, heads, before};
}

HeatMap sentence_map(const Outcomes& o) {
    HeatMap map{.title = "Where \"it\" looks: the head that looks at the noun most",
                .x_label = "word",
                .y_label = "too ...",
                .columns = shown_words("..."),
                .rows = {"tired", "wide"}};
    for (const std::string& end : map.rows) {
        map.values.push_back(o.curve(kTrial, end).mean);
        map.half_widths.push_back(o.curve(kTrial, end).half_width);
    }
    map.columns.resize(map.values[0].size());
    map.columns[12] = "...";  // the word that decides
    return map;
}

Report report(const Setting& setting, const Outcomes& o) {
    if (!setting.model.empty()) return asked_report(o);
    const auto of = [&](const char* what) { return o.of(kTrial, what); };
    Report report{
        .tables = tables_of(o),
        .figures = {{"sentence", "the head that looks at the antecedent most, from \"it\"",
                     svg(sentence_map(o))}},
        .decided = {{"it_is_named", of("more than guessing")},
                    {"a_head_looks", of("times chance")},
                    {"it_is_not_led_astray", of("preferred")},
                    {"almost_all_arrives", of("brought")},
                    {"most_arrives", of("brought")},
                    {"one_head_is_missed", of("lost without it")},
                    {"heads_until_guessing", of("missed")}}};
    add_causes(o, report);
    return report;
}

std::vector<Claim> claims() {
    const Design design = Design::trained(
        {.arms = {kTrial}, .control = "in the tables; weights are even, 1 times chance"});
    std::vector<Claim> all = designed(
        design,
        {{"it_is_named", "A small encoder learns who \"it\" is.",
          "right for new pairs of nouns, less that of always saying the first noun", above(0.2)},
         {"a_head_looks", "Some head looks from the pronoun at its antecedent.",
          "its weight there, times chance", above(3)},
         {"it_is_not_led_astray",
          "In the head that looks at the antecedent most its score is above the other noun's.",
          "score with the antecedent less that with the other noun, mean of the sentences",
          above(0.69)},
         {"almost_all_arrives", "Almost all that arrives at the pronoun is the antecedent's value.",
          "its share of |weight x value W_O|, all heads of the layer of the head that looks "
          "hardest",
          above(0.9)},
         {"most_arrives", "Most of it is.", "the same share", above(0.5)},
         {"one_head_is_missed",
          "Taking away the head that looks at the antecedent most costs "
          "answers.",
          "share of the answers lost", above(0.05)},
         {"heads_until_guessing",
          "It takes more than one head's removal to be worse than "
          "guessing.",
          "heads that must go", above(1.5)}});
    const std::vector<Claim> causes = cause_claims();
    all.insert(all.end(), causes.begin(), causes.end());
    return all;
}

}  // namespace

Experiment experiment() {
    return {
        "who_is_it",
        "Who is \"it\"?",
        "\"The dog didn't cross the street because it was too tired\": it is the dog. \"... too "
        "wide\": it is the street. A model that is to name the noun must carry it from its place "
        "to the pronoun's, and attention is the only way between places. So some head looks from "
        "the pronoun at its antecedent, several times more than chance and more than at the other "
        "noun; and without the heads that look the answers are guesses. Whether one head alone "
        "is missed is another question: of the heads of large models most could be removed, one "
        "at a time, at little cost. The sentence also says why: it is tired, so it didn't cross. "
        "Encoders "
        "with one head a layer and with two are asked both: who, at the pronoun, and which verb is "
        "explained, at the last word. With --model DIR a GPT in that directory is asked which noun "
        "makes the ending likelier in the pronoun's place.\n\n"
        "Sources: Levesque et al. 2012, \"The Winograd Schema Challenge\"; Vaswani et al. 2017, "
        "figure 4; Clark et al. 2019, \"What Does BERT Look At?\", section 4.3; Michel et al. "
        "2019, \"Are Sixteen Heads Really Better than One?\".",
        claims(),
        trials,
        report,
        true};
}

}  // namespace tapestry::experiments::who_is_it
