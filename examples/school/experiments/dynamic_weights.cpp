// One word, two sentences, different weights: attention computes its weights from every sentence,
// while a dense layer's weights are learned once. Two training runs show the difference.
#include <tapestry/examples/school/experiments/experiment.h>
#include <tapestry/examples/school/experiments/plot.h>
#include <tapestry/examples/school/experiments/recall.h>
#include <tapestry/examples/school/tasks/pronouns.h>

#include <algorithm>
#include <cmath>

namespace tapestry::experiments::dynamic_weights {
namespace {

using examples::QuestionRows;
using examples::Riddle;

// ---- one word, two sentences --------------------------------------------------------------------

// Pairs of riddles (i, j) with the same sentence up to the pronoun and different answers.
std::vector<std::pair<std::size_t, std::size_t>> twins(const std::vector<Riddle>& riddles) {
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    for (std::size_t i = 0; i < riddles.size(); ++i) {
        for (std::size_t j = i + 1; j < riddles.size(); ++j) {
            const auto &a = riddles[i].question, &b = riddles[j].question;
            const auto end = a.words.begin() + static_cast<std::ptrdiff_t>(a.place) + 1;
            if (a.place == b.place && a.answer != b.answer &&
                std::equal(a.words.begin(), end, b.words.begin())) {
                pairs.emplace_back(i, j);
            }
        }
    }
    return pairs;
}

// How much less the pronoun attends to a noun if the sentence's ending makes it refer to another
// one: of each head, the mean over pairs of sentences.
std::vector<double> weights_that_move(const MaskedLanguageModel& model,
                                      const std::vector<Riddle>& riddles, const Tensor& ids) {
    const auto pairs = twins(riddles);
    std::vector<AttentionRecord> records;
    model(ids, {.records = &records});
    std::vector<double> moved;
    for (const AttentionRecord& record : records) {
        for (std::int64_t head = 0; head < record.weights.size(1); ++head) {
            const auto weight = [&](std::size_t sentence, std::size_t key) {
                return record.weights.at(
                    {static_cast<std::int64_t>(sentence), head,
                     static_cast<std::int64_t>(riddles[sentence].question.place) + 1,
                     static_cast<std::int64_t>(key) + 1});
            };
            moved.push_back(0);
            for (const auto& [i, j] : pairs) {
                const std::size_t noun = riddles[i].antecedent;
                moved.back() +=
                    (weight(i, noun) - weight(j, noun)) / static_cast<double>(pairs.size());
            }
        }
    }
    return moved;
}

/// Riddles as rows for a model.
struct Asked {
    std::vector<Riddle> riddles;
    QuestionRows rows;
};

// On `judging`, the head that moves most on `choosing`: the largest of several heads on the
// sentences that choose it would be large by chance.
double weight_that_moves(const MaskedLanguageModel& model, const Asked& choosing,
                         const Asked& judging) {
    const std::vector<double> seen = weights_that_move(model, choosing.riddles, choosing.rows.ids);
    const auto head = std::ranges::max_element(seen) - seen.begin();
    return weights_that_move(model, judging.riddles,
                             judging.rows.ids)[static_cast<std::size_t>(head)];
}

Measured read_riddles(std::uint64_t seed, std::int64_t steps, double rate) {
    Asked learn{examples::riddles(examples::Language::chinese, false), {}};
    Asked asked{examples::riddles(examples::Language::chinese, true), {}};
    const auto questions_of = [](const Asked& all) {
        std::vector<examples::Question> questions;
        for (const Riddle& riddle : all.riddles) questions.push_back(riddle.question);
        return questions;
    };
    const auto sentences = examples::sentences_of(questions_of(learn));
    const auto table = examples::WordTable::of(sentences);
    const std::int64_t length = examples::columns_for(sentences);
    for (Asked* all : {&learn, &asked}) all->rows = pack(questions_of(*all), table, length);
    Generator generator(seed);
    MaskedLanguageModel model(examples::sentence_model(table, length), generator);
    Measured m;
    {
        const examples::Answering answering(model);
        m.numbers["moved, untrained"] = weight_that_moves(model, learn, asked);
        m.numbers["right, untrained"] = examine(model, asked.rows).share();
    }
    learn_questions(model, {.steps = steps, .batch = 32, .rate = rate, .print = false}, learn.rows,
                    asked.rows, generator);
    const examples::Answering answering(model);
    m.numbers["moved"] = weight_that_moves(model, learn, asked);
    m.numbers["right"] = examine(model, asked.rows).share();
    m.numbers["loss"] = model.loss(asked.rows.ids, asked.rows.targets).item();
    return m;
}

// ---- weights that are learned once --------------------------------------------------------------

/// softmax(scores) v, where the scores are parameters, the same for every sentence.
class LearntOnce : public AttentionForm {
public:
    Tensor scores;  // [1, 1, 1, S]

    explicit LearntOnce(std::int64_t keys) : AttentionForm("LearntOnce") {
        register_parameter("scores", scores = zeros({1, 1, 1, keys}));
    }
    Tensor operator()(const Tensor& q, const Tensor& k, const Tensor& v,
                      const AttentionOptions&) const override {
        const Shape shape{q.size(0), q.size(1), q.size(2), k.size(2)};
        return matmul(expand(softmax(scores, -1), shape), v);
    }
};

Measured recall(std::uint64_t seed, std::int64_t steps, double rate, bool once) {
    RecallConfig config;
    if (once) config.form = [n = config.records] { return std::make_unique<LearntOnce>(n); };
    Generator generator(seed), other(1000 + seed);
    RecallModel model(config, generator);
    const RecallBatch unseen = recall_batch(config, 1000, other);
    Measured m;
    {
        const NoGradGuard no_grad;
        m.numbers["right, untrained"] = model.accuracy(unseen)[0];
    }
    m.curves["losses"] = train_recall(model, steps, rate, generator);
    const NoGradGuard no_grad;
    m.numbers["right"] = model.accuracy(unseen)[0];
    m.numbers["loss"] = model.loss(unseen).item();
    return m;
}

std::vector<Trial> trials(const Setting& s) {
    const auto finding = [&](const char* name, bool once) {
        return swept(s, name, {2.5e-3, 5e-3, 1e-2},
                     [once, n = s.pick(600, 300)](std::uint64_t seed, double rate) {
                         return recall(seed, n, rate, once);
                     });
    };
    return {swept(s, "riddles", {3e-3, 6e-3, 1.2e-2},
                  [n = s.pick(500, 250)](std::uint64_t seed, double rate) {
                      return read_riddles(seed, n, rate);
                  }),
            finding("made anew", false), finding("learnt once", true)};
}

Design one(const char* trial, const char* untrained) {
    return Design::trained({.arms = {trial}, .control = untrained});
}
const Design kRiddles = one("riddles", "next to no weight moves, in the table");
constexpr const char* kGuessing = "6 % found, as by guessing, in the table";
const Design kNew = Design::drawn("a new model");

Report report(const Setting&, const Outcomes& o) {
    const Table moved{
        "What a noun loses, seen from the pronoun, when the end of the sentence changes",
        {"model", "weight", "held-out riddles right"},
        {{"untrained", fixed(o.of("riddles", "moved, untrained"), 3),
          percent(o.of("riddles", "right, untrained"))},
         {"trained", fixed(o.of("riddles", "moved"), 3), percent(o.of("riddles", "right"))}}};
    const auto row = [&](const char* name) {
        return std::vector<Cell>{name, percent(o.of(name, "right, untrained")),
                                 percent(o.of(name, "right")), fixed(o.of(name, "loss"), 3)};
    };
    const Table forms{"Finding one of eight records by its sign",
                      {"weights", "untrained", "right", "loss, held out"},
                      {row("made anew"),
                       row("learnt once"),
                       {"(guessing)", "-", percent(1.0 / 16), fixed(std::log(16.0), 3)}}};
    Plot plot{.title = "Finding one of eight records",
              .x = {.label = "step"},
              .y = {.label = "loss, nats", .low = 0}};
    for (const char* name : {"made anew", "learnt once"}) {
        plot.series.push_back(curve_of(o, name, "losses"));
    }
    return {.tables = {moved, forms},
            .figures = {{"losses", "two runs whose weights come from different places", svg(plot)}},
            .decided = {{"weights_follow_the_sentence", o.of("riddles", "moved")},
                        {"it_is_learnt", o.of("riddles", "moved, untrained")},
                        {"made_anew_finds", o.of("made anew", "right")},
                        {"learnt_once_would_do", o.of("learnt once", "right")}}};
}

}  // namespace

Experiment experiment() {
    return {
        "dynamic_weights",
        "One word, two sentences: the same weights?",
        "A dense layer or a convolution weighs its inputs with numbers fixed by training. "
        "Attention weighs with softmax(q K^T): what training has fixed is how weights are made, "
        "and every sentence makes its own. So 它 looks elsewhere in 猫追老鼠，因为它饿了 (the cat "
        "chases the mouse because it is hungry) than in 猫追老鼠，因为它看起来很好吃 (because it "
        "looks tasty), with the same parameters and the same words before it. Everything that "
        "depends on "
        "the input in such a way "
        "is out of reach for weights that are learnt once and are the same for all inputs. The "
        "head is the one that moves most on the sentences of the training, judged on others.\n\n"
        "Sources: Vaswani et al. 2017; Bahdanau et al. 2014.",
        {{"weights_follow_the_sentence", "Where the pronoun looks is decided by the sentence.",
          "weight that moves off a noun when the end of the sentence changes, trained", above(0.3),
          kRiddles},
         {"it_is_learnt", "A model that has learnt nothing looks the same way both times.",
          "the same, untrained", below(0.05), kNew},
         {"made_anew_finds", "Weights made anew find the record that is asked for.",
          "share of records found", above(0.95), one("made anew", kGuessing)},
         {"learnt_once_would_do", "Weights learnt once would find it as well.",
          "share of records found", above(0.95), one("learnt once", kGuessing)}},
        trials,
        report};
}

}  // namespace tapestry::experiments::dynamic_weights
