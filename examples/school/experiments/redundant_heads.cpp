// Are heads redundant? How many dimensions the outputs of all heads span together, for new heads
// and their exact or noisy copies; what changes in the heads of a language model when it is
// trained, against the same model on the same text before; and what removing a head costs, with
// zeros or with its mean in its place.
#include <tapestry/core/views.h>
#include <tapestry/examples/school/experiments/experiment.h>
#include <tapestry/examples/school/experiments/head_worth.h>
#include <tapestry/examples/school/experiments/plot.h>
#include <tapestry/examples/school/experiments/spelled.h>
#include <tapestry/examples/stories/stories.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/tapestry.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace tapestry::experiments::redundant_heads {
namespace {

constexpr std::int64_t kDim = 64, kHeads = 8, kWidth = kDim / kHeads, kLayers = 2, kContext = 64;
constexpr const char* kTrained = "trained";
constexpr const char* kAsked = "asked";  // a model from a directory: no rate of it can be tuned

// What new heads output for 128 random vectors. With `copies`, every second head has the
// weights of the one before, up to `noise` relative to their size.
Measured new_heads(bool copies, double noise, std::uint64_t seed) {
    Generator generator(seed);
    MultiHeadAttention attention({.dim = kDim, .heads = kHeads, .bias = false}, generator);
    const Tensor weight = attention.qkv->weight.detach();  // [3 C, C]
    for (std::int64_t row = 0; copies && row < 3 * kDim; row += 2 * kWidth) {
        const Tensor original = views::slice(weight, 0, row, row + kWidth);
        const Tensor off = randn(original.shape(), generator) * sqrt(mean(square(original)));
        Tensor copy = views::slice(weight, 0, row + kWidth, row + 2 * kWidth);
        copy.copy_(original + off * noise);
    }
    AttentionRecord record;
    attention(randn({1, 128, kDim}, generator), {.record = &record});
    const Rank rank = rank_of(record.heads);
    return {{{"numerical", rank.numerical},
             {"effective", rank.effective},
             {"similarity", rank.similarity}},
            {{"spectrum", rank.spectrum}}};
}

constexpr const char* kBefore = "before training: ";

void add_removals(const std::string& when, const Removals& r, Measured& m) {
    m.numbers[when + "loss"] = r.loss;
    m.numbers[when + "to spare, zeroed"] = share_to_spare(r.zeroed);
    m.numbers[when + "to spare, averaged"] = share_to_spare(r.averaged);
    m.numbers[when + "dearest, zeroed"] = *std::max_element(r.zeroed.begin(), r.zeroed.end());
    m.numbers[when + "dearest, averaged"] = *std::max_element(r.averaged.begin(), r.averaged.end());
    double overstated = 0;
    for (std::size_t i = 0; i < r.zeroed.size(); ++i) {
        overstated += (r.zeroed[i] - r.averaged[i]) / static_cast<double>(r.zeroed.size());
    }
    m.numbers[when + "overstated"] = overstated;
}

// Of the layer with the lowest rank, and how much the heads read and write alike.
void add_ranks(const AskedModel& asked, const std::string& when, Measured& m) {
    const std::vector<Rank> ranks = asked.ranks();
    for (const char* what : {"numerical", "effective"}) m.numbers[when + what] = 1e30;
    for (const Rank& rank : ranks) {
        m.numbers[when + "numerical"] = std::min(m.numbers[when + "numerical"], rank.numerical);
        m.numbers[when + "effective"] = std::min(m.numbers[when + "effective"], rank.effective);
        m.numbers[when + "similarity"] = std::max(m.numbers[when + "similarity"], rank.similarity);
    }
    const Overlaps overlaps = overlaps_of(asked);
    m.numbers[when + "outputs"] = overlaps.outputs;
    m.numbers[when + "written"] = overlaps.written;
    m.numbers[when + "read"] = overlaps.read;
    m.numbers[when + "read, random"] = overlaps.random;
    m.curves[when + "spectrum"] = ranks.front().spectrum;
}

std::string moment(int quarters) { return fmt::format("{}/4 of the steps: ", quarters); }

// A GPT that learns stories character by character, examined before its first step and after 25%,
// 50% and 100% of them.
Measured trained(const TextData& data, std::int64_t vocab, const Setting& setting, double rate,
                 std::uint64_t seed) {
    Generator generator(seed);
    const auto steps = setting.pick<std::int64_t>(500, 120);
    GPT model({.vocab = vocab,
               .context = kContext,
               .layers = kLayers,
               .heads = kHeads,
               .dim = kDim,
               .deviation = 0.05},
              generator);
    const AskedModel asked = asked_gpt(model, data, kContext, setting.pick(4, 1));
    Measured m;
    add_ranks(asked, kBefore, m);
    add_removals(kBefore, remove_each(asked), m);
    AdamW optimizer(decay_groups(model, 0.1), {.lr = rate, .beta2 = 0.99});
    const auto loss = [&] {
        const Batch batch = data.random_batch(Split::train, 16, kContext, generator);
        return model.loss(batch.inputs, batch.targets);
    };
    const auto report = [&](const StepMetrics& step) {
        for (const int quarters : {1, 2, 4}) {
            if (step.step != steps * quarters / 4) continue;
            add_removals(moment(quarters), remove_each(asked), m);
        }
        return true;
    };
    train(optimizer,
          {.steps = steps,
           .schedule = warmup_cosine_schedule(
               {.rate = rate, .min_rate = rate / 10, .warmup = steps / 10, .steps = steps})},
          {.loss = loss, .evaluate = {}, .report = report});
    add_ranks(asked, "", m);
    m.numbers["loss"] = m.numbers[moment(4) + "loss"];
    return m;
}

// A pretrained model; seeds differ only in the stories that it is evaluated on.
Measured asked_elsewhere(const LoadedModel& loaded, const Tokenizer& tokenizer,
                         std::uint64_t seed) {
    const Spelled spelled =
        spelled_stories(tokenizer, examples::write_stories(1000 + seed, 100'000).text);
    const TextData data(tokenizer.encode(fmt::format("{}", fmt::join(spelled.stories, "\n\n"))));
    GPT& model = as<GPT>(*loaded.model);
    const std::int64_t context = std::min<std::int64_t>(model.config().context, kContext);
    const AskedModel asked = asked_gpt(model, data, context, 1);
    Measured m;
    m.numbers["spelled"] = spelled.share;
    add_removals(moment(4), remove_each(asked), m);
    add_ranks(asked, "", m);
    return m;
}

Trial trained_trial(const Setting& setting) {
    if (!setting.model.empty()) {
        const auto loaded = std::make_shared<const LoadedModel>(load_model(setting.model));
        const Tokenizer& tokenizer = require_tokenizer(*loaded, setting.model);
        // Removing heads modifies the one shared model, so seeds must not run in parallel.
        return {kAsked,
                [loaded, &tokenizer](std::uint64_t seed) {
                    return asked_elsewhere(*loaded, tokenizer, seed);
                },
                true};
    }
    const std::string text =
        examples::write_stories(1, setting.pick<std::size_t>(400000, 60000)).text;
    const CharTokenizer tokenizer = CharTokenizer::from_text(text);
    const auto data = std::make_shared<const TextData>(tokenizer.encode(text));
    return swept(setting, kTrained, {1e-2, 2e-2, 4e-2},
                 [=, vocab = tokenizer.vocab_size()](std::uint64_t seed, double rate) {
                     return trained(*data, vocab, setting, rate, seed);
                 });
}

std::vector<Trial> trials(const Setting& setting) {
    return {trained_trial(setting),
            {"distinct", [](std::uint64_t seed) { return new_heads(false, 0, seed); }},
            {"every second a copy", [](std::uint64_t seed) { return new_heads(true, 0, seed); }},
            {"copies, 0.1 % off", [](std::uint64_t seed) { return new_heads(true, 1e-3, seed); }},
            {"copies, 10 % off", [](std::uint64_t seed) { return new_heads(true, 0.1, seed); }}};
}

constexpr const char* kNewHeads[] = {"distinct", "every second a copy", "copies, 0.1 % off",
                                     "copies, 10 % off"};

Table rank_table(const Outcomes& o) {
    Table table{"Rank of the outputs of 8 new heads of width 8, side by side, for random vectors",
                {"heads", "numerical rank", "effective rank", "mean |cos| of two heads"},
                {}};
    for (const char* name : kNewHeads) {
        table.rows.push_back({name, fixed(o.of(name, "numerical"), 1),
                              fixed(o.of(name, "effective"), 1),
                              fixed(o.of(name, "similarity"), 3)});
    }
    return table;
}

// A model from a directory is only seen as it is.
bool is_from_elsewhere(const Setting& setting) { return !setting.model.empty(); }

const char* name_of_model(const Setting& setting) {
    return is_from_elsewhere(setting) ? kAsked : kTrained;
}

Table removal_table(const Setting& setting, const Outcomes& o) {
    Table table{"Heads that can be removed, one at a time, for less than 1 % more loss",
                {"after", "loss", "to spare, zeroed", "to spare, averaged", "the dearest, zeroed",
                 "the dearest, averaged"},
                {}};
    for (const auto& [when, name] : {std::pair{std::string(kBefore), "no step"},
                                     {moment(1), "a quarter of the steps"},
                                     {moment(2), "half of them"},
                                     {moment(4), "all"}}) {
        if (is_from_elsewhere(setting) && when != moment(4)) continue;
        const auto of = [&, before = when](const char* what) {
            return o.of(name_of_model(setting), before + what);
        };
        table.rows.push_back({name, fixed(of("loss"), 3), percent(of("to spare, zeroed"), 0),
                              percent(of("to spare, averaged"), 0), percent(of("dearest, zeroed")),
                              percent(of("dearest, averaged"))});
    }
    return table;
}

Plot spectrum_plot(const Setting& setting, const Outcomes& o) {
    Plot plot{.title = "Singular values of the heads' outputs",
              .x = {.label = "number of the singular value"},
              .y = {.label = "share of the largest", .log = true, .low = 1e-5}};
    const auto add = [&](const std::string& trial, const std::string& curve,
                         const std::string& name, bool dashed) {
        Series s = curve_of(o, trial, curve);
        for (double& value : s.y) value = std::max(value, 1e-12);
        s.name = name;
        s.dashed = dashed;
        plot.series.push_back(s);
    };
    add(name_of_model(setting), "spectrum", kTrained, false);
    if (!is_from_elsewhere(setting)) {
        add(kTrained, std::string(kBefore) + "spectrum", "before training", false);
    }
    for (const char* name : kNewHeads) add(name, "spectrum", name, true);
    return plot;
}

Plot removal_plot(const Setting& setting, const Outcomes& o) {
    Plot plot{.title = "Heads to spare while a model learns",
              .x = {.label = "share of the steps"},
              .y = {.label = "share of heads that cost less than 1 %", .low = 0, .high = 1}};
    for (const char* way : {"zeroed", "averaged"}) {
        Series s{.name = way, .mark = Mark::line_and_points};
        if (!is_from_elsewhere(setting)) {
            add_point(s, 0, o.of(kTrained, std::string(kBefore) + "to spare, " + way));
        }
        for (const int quarters : {1, 2, 4}) {
            if (is_from_elsewhere(setting) && quarters < 4) continue;
            add_point(s, 0.25 * quarters,
                      o.of(name_of_model(setting), moment(quarters) + "to spare, " + way));
        }
        plot.series.push_back(s);
    }
    return plot;
}

// What the heads of the same model have in common before and after it is trained.
Table overlap_table(const Setting& setting, const Outcomes& o) {
    Table table{
        "The same model on the same text; the subspaces that heads read are the row spaces "
        "of W_Q and W_K",
        {"", "numerical rank", "effective rank", "mean |cos| of two heads' outputs",
         "of what they write to a token", "overlap of what two heads read",
         "overlap of random subspaces"},
        {}};
    for (const auto& [name, when] : {std::pair{"before training", kBefore}, {"trained", ""}}) {
        if (is_from_elsewhere(setting) && when == kBefore) continue;
        const auto of = [&, before = std::string(when)](const char* what) {
            return o.of(name_of_model(setting), before + what);
        };
        table.rows.push_back({name, fixed(of("numerical"), 1), fixed(of("effective"), 1),
                              fixed(of("outputs"), 3), fixed(of("written"), 3),
                              fixed(of("read"), 3), fixed(of("read, random"), 3)});
    }
    return table;
}

const Design kNew = Design::drawn("new heads");
const Design kOne = Design::trained(
    {.arms = {kTrained}, .control = "what heads cost before the first step, in the table"});
const Design kBeforeAndAfter = Design::trained(
    {.arms = {kTrained},
     .control = "the same model on the same text before it is trained, in the table",
     .unit = "a model, before and after training"});

Report report(const Setting& setting, const Outcomes& o) {
    const std::string model = name_of_model(setting);
    // Trained against the same model before training.
    const auto against_before = [&](const char* what, auto compared) {
        return is_from_elsewhere(setting)
                   ? unmeasured()
                   : student(compared(o.values(kTrained, what),
                                      o.values(kTrained, std::string(kBefore) + what)));
    };
    const auto over_distinct = [&](const char* trial) {
        return student(ratios(o.values(trial, "effective"), o.values("distinct", "effective")));
    };
    return {
        .tables = {rank_table(o), removal_table(setting, o), overlap_table(setting, o)},
        .figures = {{"spectrum", "singular values of the heads' outputs",
                     svg(spectrum_plot(setting, o))},
                    {"removed", "heads to spare while a model learns",
                     svg(removal_plot(setting, o))}},
        .decided = {{"copies_lower_the_rank", o.of("every second a copy", "numerical")},
                    {"rank_sees_near_copies", o.of("copies, 10 % off", "numerical")},
                    {"effective_rank_sees_them", over_distinct("copies, 10 % off")},
                    {"trained_fill_less", against_before("effective", ratios)},
                    {"outputs_become_orthogonal", against_before("outputs", differences)},
                    {"outputs_near_orthogonal", o.of(model, "outputs")},
                    {"writing_near_orthogonal", o.of(model, "written")},
                    {"subspaces_near_orthogonal",
                     student(ratios(o.values(model, "read"), o.values(model, "read, random")))},
                    {"most_to_spare_zeroed", o.of(model, moment(4) + "to spare, zeroed")},
                    {"most_to_spare_averaged", o.of(model, moment(4) + "to spare, averaged")},
                    {"zeroing_overstates", o.of(model, moment(4) + "overstated")}},
        .remark =
            is_from_elsewhere(setting)
                ? "What this model was before it was trained cannot be asked." +
                      remark_on_spelling(o.of(kAsked, "spelled"), "stories")
                : "Outputs are compared number by number, and a head's numbers have no order: "
                  "another head may have the same content in other dimensions. What heads write to "
                  "a token is "
                  "compared in the model's own dimensions, so of the two it is the question that a "
                  "reader of the token would ask."};
}

std::vector<Claim> claims() {
    return {
        {"copies_lower_the_rank", "Copies of heads lower the numerical rank of all outputs.",
         "numerical rank, every second of 8 heads a copy", between(31.5, 32.5), kNew},
        {"rank_sees_near_copies", "The numerical rank sees copies whose weights are 10 % off.",
         "numerical rank, of 64", below(48), kNew},
        {"effective_rank_sees_them", "The effective rank sees copies whose weights are 10 % off.",
         "effective rank over that of distinct heads", below(0.9), kNew},
        {"trained_fill_less", "Trained heads fill fewer dimensions than new ones.",
         "effective rank over that of the same model before training", below(1), kBeforeAndAfter},
        {"outputs_become_orthogonal", "Training makes the outputs of heads more orthogonal.",
         "mean |cos| of two heads' outputs over a text, trained less before", below(0),
         kBeforeAndAfter},
        {"outputs_near_orthogonal", "The outputs of trained heads are nearly orthogonal.",
         "mean |cos| of two heads' outputs over a text", below(0.15), kBeforeAndAfter},
        {"writing_near_orthogonal",
         "What two trained heads write to the same token is nearly orthogonal.",
         "mean |cos| of the two vectors; random ones: 0.10", below(0.15), kBeforeAndAfter},
        {"subspaces_near_orthogonal",
         "The subspaces that trained heads read are as orthogonal as random ones.",
         "overlap of the row spaces of W_Q and of W_K, over that of random subspaces", below(1.1),
         kBeforeAndAfter},
        {"most_to_spare_zeroed",
         "Most trained heads can be zeroed, one at a time, for less than 1 % more loss.",
         "share of heads, a value for each model", above(0.5), kOne},
        {"most_to_spare_averaged",
         "Most trained heads can be replaced by their mean, one at a time, for less than 1 %.",
         "share of heads, a value for each model", above(0.5), kOne},
        {"zeroing_overstates", "Zeroing a head overstates what it is worth.",
         "growth of the loss, zeroed less averaged, mean over heads", above(0), kOne}};
}

}  // namespace

Experiment experiment() {
    return {
        "redundant_heads",
        "Are heads redundant?",
        "H heads of width D that find different things fill H D dimensions; copies add none, so "
        "that the numerical rank of all outputs side by side (singular values above 1e-4 of the "
        "largest) counts what is not copied. It counts near copies as well, however near: the "
        "effective rank, e^entropy of the singular values' shares, does not. Trained heads are "
        "said to be redundant in another sense: most of them can be removed, one at a time, at "
        "little cost. Zeros in the place of a head also take away what it finds on average, which "
        "a "
        "bias could give; its mean in its place takes only what it makes of each input. Are they "
        "orthogonal? What two heads write to the same token, and "
        "the subspaces that they read, are two questions. The control of a trained model is the "
        "same "
        "model on the same text before training; new heads on random vectors, where every row sees "
        "every other, differ from it in more than training. With "
        "--model DIR a GPT in that directory is asked instead.\n\n"
        "Sources: Michel, Levy and Neubig 2019, \"Are Sixteen Heads Really Better than One?\"; "
        "effective rank: Roy and Vetterli 2007.",
        claims(),
        trials,
        report,
        true};
}

}  // namespace tapestry::experiments::redundant_heads
