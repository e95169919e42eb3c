// Does dropping whole heads help generalisation? A language model with little training text is
// trained with and without head dropout: training and held-out loss, and how much depends on the
// most important head. Each seed reads its own stories, so intervals are also over texts.
#include <tapestry/examples/school/experiments/experiment.h>
#include <tapestry/examples/school/experiments/head_worth.h>
#include <tapestry/examples/school/experiments/plot.h>
#include <tapestry/examples/school/experiments/story_model.h>

namespace tapestry::experiments::head_dropout_generalises {
namespace {

constexpr std::int64_t kLayers = 2, kHeads = 4;

struct Way {
    const char* name;
    double heads;    // probability of dropping a head
    double numbers;  // ordinary dropout probability
};
constexpr Way kWays[] = {{"nothing dropped", 0, 0},
                         {"heads, 0.1", 0.1, 0},
                         {"heads, 0.3", 0.3, 0},
                         {"numbers, 0.1", 0, 0.1}};

Tensor loss_of(const StoryReader& model, const Batch& batch) {
    return cross_entropy(model(batch.inputs), batch.targets);
}

double loss_on(const StoryReader& model, const StoryText& text, Split split) {
    const NoGradGuard no_grad;
    Generator generator(1);
    return loss_of(model, text.data.random_batch(split, 64, StoryReader::kContext, generator))
        .item();
}

// The largest increase in loss from removing a single head.
double dearest_head(const StoryReader& model, const StoryText& text, double whole) {
    double dearest = 0;
    for (std::int64_t layer = 0; layer < kLayers; ++layer) {
        for (std::int64_t head = 0; head < kHeads; ++head) {
            const WithoutHead away(model.encoder.layers[static_cast<std::size_t>(layer)]->attention,
                                   head);
            dearest = std::max(dearest, loss_on(model, text, Split::validation) - whole);
        }
    }
    return dearest;
}

// About 2,700 words of other stories for each seed.
StoryText little_text(const StoryText& all, std::uint64_t seed) {
    const std::string stories = examples::write_stories(1000 + seed, 15'000).text;
    return {all.table, TextData(ids_of(examples::stories_of(stories), all.table))};
}

// Trains on the seed's own stories; the held-out ones are those of `text`.
Measured learn(const StoryText& text, const Way& way, std::int64_t steps, double rate,
               std::uint64_t seed) {
    const StoryText read = little_text(text, seed);
    Generator generator(seed);
    StoryReader model(text,
                      {.dim = 64,
                       .heads = kHeads,
                       .dropout = way.numbers,
                       .head_dropout = way.heads,
                       .norm_first = true,
                       .causal = true},
                      kLayers, generator);
    Generator data(seed + 1);
    model.eval();
    const double new_loss = loss_on(model, text, Split::validation);
    const double new_dearest = dearest_head(model, text, new_loss);
    model.train();
    examples::fit(
        model, {.steps = steps, .batch = 8, .rate = rate, .print = false},
        [&] {
            return loss_of(model,
                           read.data.random_batch(Split::train, 8, StoryReader::kContext, data));
        },
        [] { return examples::Score{}; });
    model.eval();
    const double whole = loss_on(model, text, Split::validation);
    return {{{"read", loss_on(model, read, Split::train)},
             {"held out", whole},
             {"dearest head", dearest_head(model, text, whole)},
             {"untrained, held out", new_loss},
             {"untrained, dearest head", new_dearest}}};
}

std::vector<Trial> trials(const Setting& s) {
    const auto text = std::make_shared<const StoryText>(story_text(300'000));
    std::vector<Trial> all;
    for (const Way& way : kWays) {
        all.push_back(swept(
            s, way.name, {1.25e-3, 2.5e-3, 5e-3},
            [=, steps = s.pick(500, 100)](std::uint64_t seed, double rate) {
                return learn(*text, way, steps, rate, seed);
            },
            "held out"));
    }
    return all;
}

Design against(const char* way, const char* other = "nothing dropped") {
    return Design::compared(
        {.arms = {way, other}, .control = "the loss of guessing for both, a difference of 0"});
}

Report report(const Setting& s, const Outcomes& o) {
    Table table{fmt::format("Loss in nats per word, {} steps on 2,700 words", s.pick(500, 100)),
                {"dropped", "on what was read", "held out", "more without the dearest head"},
                {}};
    Plot plot{.title = "Loss with heads dropped, and with numbers",
              .x = {.label = ""},
              .y = {.label = "loss, nats per word"}};
    plot.series.push_back({.name = "held out", .mark = Mark::bars});
    plot.series.push_back({.name = "on what was read", .mark = Mark::bars});
    for (const auto& entry : o.entries()) {
        table.rows.push_back({entry.name, fixed(o.of(entry.name, "read"), 3),
                              fixed(o.of(entry.name, "held out"), 3),
                              fixed(o.of(entry.name, "dearest head"), 3)});
        for (std::size_t i = 0; i < 2; ++i) {
            add_point(plot.series[i], static_cast<double>(plot.x.names.size()),
                      o.of(entry.name, i == 0 ? "held out" : "read"));
        }
        plot.x.names.push_back(entry.name);
    }
    const std::string none = kWays[0].name;
    table.rows.push_back({"untrained", "-", fixed(o.of(none, "untrained, held out"), 3),
                          fixed(o.of(none, "untrained, dearest head"), 3)});
    const auto gained = [&](const char* way, const char* number) {
        return student(differences(o.values("nothing dropped", number), o.values(way, number)));
    };
    return {.tables = {table},
            .figures = {{"losses", "with whole heads dropped, and with numbers", svg(plot)}},
            .decided = {{"generalises", gained("heads, 0.3", "held out")},
                        {"mildly_generalises", gained("heads, 0.1", "held out")},
                        {"numbers_generalise", gained("numbers, 0.1", "held out")},
                        {"numbers_do_as_well",
                         student(differences(o.values("heads, 0.3", "held out"),
                                             o.values("numbers, 0.1", "held out")))}}};
}

}  // namespace

Experiment experiment() {
    return {
        "head_dropout_generalises",
        "Does dropping whole heads make a model generalise?",
        "If any head may be missing, none can be the only one to rely on: the work is spread, and "
        "a model that cannot learn by heart which head says what should do better on text that it "
        "has not read. It is the same argument as for ordinary dropout, which is the other thing "
        "to compare with. Each model reads its own 2,700 words and is asked about the same "
        "held-out stories. Whether a head rules is asked at equal loss in head_dropout.\n\n"
        "Sources: Zhou et al. 2020, \"Scheduled DropHead\"; Srivastava et al. 2014, \"Dropout\".",
        {{"generalises", "With heads dropped at 0.3 the held-out loss is lower.",
          "held-out loss, nothing dropped less heads dropped", above(0.01), against("heads, 0.3")},
         {"mildly_generalises", "With heads dropped at 0.1 the held-out loss is lower.",
          "held-out loss, nothing dropped less heads dropped", above(0.01), against("heads, 0.1")},
         {"numbers_generalise", "With numbers dropped at 0.1 the held-out loss is lower.",
          "held-out loss, nothing dropped less numbers dropped", above(0.01),
          against("numbers, 0.1")},
         {"numbers_do_as_well",
          "Ordinary dropout at 0.1 generalises better than dropped heads at 0.3.",
          "held-out loss, heads dropped less numbers dropped", above(0),
          against("heads, 0.3", "numbers, 0.1")}},
        trials,
        report};
}

}  // namespace tapestry::experiments::head_dropout_generalises
