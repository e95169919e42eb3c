// Local, syntactic, global: which layer? For every layer of small language models of stories, or of
// a GPT in a directory: how far it looks, at how many words, and whether words find their subject,
// verb, modifier and antecedent.
#include <tapestry/examples/school/experiments/experiment.h>
#include <tapestry/examples/school/experiments/head_figures.h>
#include <tapestry/examples/school/experiments/plot.h>
#include <tapestry/examples/school/experiments/spelled.h>
#include <tapestry/examples/school/experiments/story_model.h>
#include <tapestry/nn/io/model_directory.h>

#include <algorithm>
#include <cmath>

namespace tapestry::experiments::layers_roles {
namespace {

constexpr std::size_t kAsked = 60'000;  // bytes of stories, about a hundred

using Layers = std::vector<std::vector<HeadFigures>>;

double mean_of(const std::vector<HeadFigures>& heads,
               const std::function<double(const HeadFigures&)>& what) {
    double sum = 0;
    for (const HeadFigures& head : heads) sum += what(head) / static_cast<double>(heads.size());
    return sum;
}

// How many times the expected weight a layer's best head puts on linked words. The best head is
// chosen on different stories than it is scored on; otherwise the best of many would look better
// than it is.
double times_of(const std::vector<HeadFigures>& chosen_by, const std::vector<HeadFigures>& heads,
                Link link) {
    const auto at = static_cast<std::size_t>(link);
    std::size_t best = 0;
    for (std::size_t h = 0; h < heads.size(); ++h) {
        if (chosen_by[h].links[at].times() > chosen_by[best].links[at].times()) best = h;
    }
    return heads[best].links[at].times();
}

std::size_t best_layer(const Layers& chosen_by, Link link) {
    std::size_t best = 0;
    double most = 0;
    for (std::size_t l = 0; l < chosen_by.size(); ++l) {
        const double times = times_of(chosen_by[l], chosen_by[l], link);
        if (times > most) best = l;
        most = std::max(most, times);
    }
    return best;
}

// By how much the mean of the logarithms of a per-layer figure is larger in the later half of the
// stack than in the earlier; a layer in the middle belongs to neither. 0 if layers are alike.
double later(const std::vector<double>& layers) {
    const std::size_t half = layers.size() / 2;
    double sum = 0;
    for (std::size_t i = 0; i < half; ++i) {
        sum += std::log(layers[layers.size() - 1 - i]) - std::log(layers[i]);
    }
    return sum / static_cast<double>(half);
}

// By how much the mean of the logarithms of a per-layer figure between the first and the last layer
// is larger than the larger of these two. Below 0 on average if layers are alike.
double in_the_middle(const std::vector<double>& layers) {
    double sum = 0;
    for (std::size_t l = 1; l + 1 < layers.size(); ++l) sum += std::log(layers[l]);
    return sum / static_cast<double>(layers.size() - 2) -
           std::log(std::max(layers.front(), layers.back()));
}

// Where in the stack, from 0 to 1, a per-layer figure is largest.
double peak(const std::vector<double>& layers) {
    const auto at = std::max_element(layers.begin(), layers.end()) - layers.begin();
    return static_cast<double>(at) / static_cast<double>(layers.size() - 1);
}

double mean_without(const std::vector<double>& values, std::size_t left_out) {
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) sum += i == left_out ? 0 : values[i];
    return sum / static_cast<double>(values.size() - 1);
}

double most_before_last(const std::vector<double>& layers) {
    return *std::max_element(layers.begin(), layers.end() - 1);
}

Measured figures_of(const GPT& model, const std::vector<Piece>& pieces) {
    const auto half = pieces.begin() + static_cast<std::ptrdiff_t>(pieces.size() / 2);
    const Layers choosing = look(model, {pieces.begin(), half});
    const Layers layers = look(model, {half, pieces.end()});
    Measured m;
    std::vector<double> distance, entropy, syntax, coreference;
    for (std::size_t l = 0; l < layers.size(); ++l) {
        const auto put = [&](const char* what, double value) {
            m.numbers[fmt::format("layer {} {}", l, what)] = value;
        };
        distance.push_back(mean_of(layers[l], [](const HeadFigures& h) { return h.distance; }));
        entropy.push_back(mean_of(layers[l], [](const HeadFigures& h) { return h.entropy; }));
        put("distance", distance.back());
        put("entropy", entropy.back());
        put("previous", mean_of(layers[l], [](const HeadFigures& h) { return h.previous; }));
        double logs = 0;
        for (int i = 0; i < kLinks; ++i) {
            const auto link = static_cast<Link>(i);
            const double times = times_of(choosing[l], layers[l], link);
            put(name_of(link), times);
            if (link == Link::coreference) {
                coreference.push_back(times);
            } else {
                logs += std::log(times) / 3;
            }
        }
        syntax.push_back(std::exp(logs));  // geometric mean of the three
        put("syntax", syntax.back());
    }
    const std::size_t last = layers.size() - 1;
    m.numbers["first nearest"] = distance[0] / mean_without(distance, 0);
    m.numbers["last furthest"] = distance[last] / most_before_last(distance);
    m.numbers["last spread"] = entropy[last] - most_before_last(entropy);
    m.numbers["syntax middle"] = in_the_middle(syntax);
    m.numbers["coreference late"] = later(coreference);
    m.numbers["coreference later"] = peak(coreference) - peak(syntax);
    m.numbers["coreference most"] = coreference[best_layer(choosing, Link::coreference)];
    m.numbers["layers"] = static_cast<double>(layers.size());
    return m;
}

constexpr const char* kUntrained = "untrained, ";

Measured trained(std::int64_t depth, const StoryText& text, std::int64_t steps, double rate,
                 std::uint64_t seed) {
    Generator generator(seed);
    GPTConfig config = story_config(text);
    config.context = 48;
    config.layers = depth;
    GPT model(config, generator);
    const auto encode = [&](std::string_view story) {
        std::vector<std::int64_t> ids{examples::kStart};
        for (const std::string& word : examples::words_of(story))
            ids.push_back(text.table.id(word));
        return ids;
    };
    const std::vector<Piece> pieces = story_pieces(1000 + seed, kAsked, encode, config.context);
    const Measured before = figures_of(model, pieces);
    learn_stories(model, text, {.steps = steps, .rate = rate, .seed = seed});
    Measured m = figures_of(model, pieces);
    for (const auto& [what, value] : before.numbers) m.numbers[kUntrained + what] = value;
    m.numbers["loss"] = held_out_loss(model, text);
    return m;
}

// A pretrained model; seeds differ only in the stories that it is evaluated on.
Trial asked(const std::string& directory) {
    auto loaded = std::make_shared<const LoadedModel>(load_model(directory));
    const Tokenizer& tokenizer = require_tokenizer(*loaded, directory);
    return {directory, [loaded, &tokenizer](std::uint64_t seed) {
                const auto encode = [&](std::string_view story) { return tokenizer.encode(story); };
                const GPT& model = as<GPT>(*loaded->model);
                const Spelled spelled =
                    spelled_stories(tokenizer, examples::write_stories(1000 + seed, kAsked).text);
                Measured m = figures_of(
                    model, story_pieces(1000 + seed, kAsked, encode, model.config().context,
                                        [&](std::string_view story) {
                                            return can_spell(tokenizer, story);
                                        }));
                m.numbers["spelled"] = spelled.share;
                return m;
            }};
}

std::string depth_name(std::int64_t depth) { return fmt::format("{} layers", depth); }

std::vector<std::int64_t> depths(const Setting& setting) {
    return setting.pick<std::vector<std::int64_t>>({4, 6}, {4});
}

std::vector<Trial> trials(const Setting& setting) {
    if (!setting.model.empty()) return {asked(setting.model)};
    const auto text =
        std::make_shared<const StoryText>(story_text(setting.pick<std::size_t>(500'000, 100'000)));
    const std::int64_t steps = setting.pick(500, 80);
    std::vector<Trial> all;
    for (const std::int64_t depth : depths(setting)) {
        all.push_back(swept(setting, depth_name(depth), {5e-3, 1e-2, 2e-2},
                            [=](std::uint64_t seed, double rate) {
                                return trained(depth, *text, steps, rate, seed);
                            }));
    }
    return all;
}

// The mean over seeds of a constant integer, rounded because it may be off by rounding errors.
long layers_of(const std::string& trial, const Outcomes& o) {
    return std::lround(o.of(trial, "layers").mean);
}

Table layers_table(const std::string& trial, const Outcomes& o) {
    Table table{trial +
                    ": distance, entropy, previous word: means over heads; links: the best head's "
                    "weight, over what is expected at that distance",
                {"layer", "distance", "entropy", "previous word", "verb: subject", "object: verb",
                 "noun: adjective", "pronoun: antecedent"},
                {}};
    for (long l = 0; l < layers_of(trial, o); ++l) {
        const auto of = [&](const char* what) {
            return o.of(trial, fmt::format("layer {} {}", l, what));
        };
        table.rows.push_back({fmt::format("layer {}", l), fixed(of("distance"), 2),
                              fixed(of("entropy"), 2), percent(of("previous")),
                              fixed(of("subject"), 2), fixed(of("object"), 2),
                              fixed(of("modifier"), 2), fixed(of("coreference"), 2)});
    }
    return table;
}

Plot links_plot(const std::string& trial, const Outcomes& o) {
    Plot plot{.title = "What layers look at: " + trial,
              .x = {.label = "layer"},
              .y = {.label = "weight, over what is expected at that distance", .low = 0}};
    for (const char* what : {"subject", "object", "modifier", "coreference"}) {
        Series s{.name = what, .mark = Mark::line_and_points};
        for (long l = 0; l < layers_of(trial, o); ++l) {
            add_point(s, static_cast<double>(l), o.of(trial, fmt::format("layer {} {}", l, what)));
        }
        plot.series.push_back(s);
    }
    return plot;
}

const Design kLayers =
    Design::compared({.arms = {depth_name(4), depth_name(6)},
                      .control = "in the table of numbers before training and after",
                      .unit = "the mean of a model of each depth"});

// The mean over the depths, a value for each seed.
Interval pooled(const Outcomes& o, const std::string& what) {
    std::vector<double> mean(o.entries().front().seeds.size(), 0);
    for (const Outcomes::Entry& trial : o.entries()) {
        const std::vector<double> values = o.values(trial.name, what);
        for (std::size_t i = 0; i < mean.size(); ++i) {
            mean[i] += values[i] / static_cast<double>(o.entries().size());
        }
    }
    return student(mean);
}

Table control_table(const Outcomes& o) {
    Table table{"The numbers of the claims, before training and after, means over the depths",
                {"", "first layer's distance", "last layer's distance", "last layer's entropy",
                 "syntax in the middle", "weight on the antecedent",
                 "coreference later than earlier", "coreference's place less syntax's"},
                {}};
    for (const auto& [name, when] : {std::pair{"untrained", kUntrained}, {"trained", ""}}) {
        const auto of = [&, before = std::string(when)](const char* what) {
            return fixed(pooled(o, before + what), 2);
        };
        table.rows.push_back({name, of("first nearest"), of("last furthest"), of("last spread"),
                              of("syntax middle"), of("coreference most"), of("coreference late"),
                              of("coreference later")});
    }
    return table;
}

Report report(const Setting& setting, const Outcomes& o) {
    Report report;
    for (const Outcomes::Entry& trial : o.entries()) {
        report.tables.push_back(layers_table(trial.name, o));
        if (trial.seeds.front().numbers.count("loss") == 0) continue;
        const Interval loss = o.of(trial.name, "loss");
        report.tables.back().title += fmt::format(" ({} nats per word)", fixed(loss, 2).text);
    }
    if (setting.model.empty()) {
        report.tables.push_back(control_table(o));
    } else {
        report.remark = "A head is chosen by one half of the stories and measured on the other." +
                        remark_on_spelling(o.of(setting.model, "spelled"), "stories");
    }
    const std::string deepest = o.entries().back().name;
    report.figures = {{"links", "what each layer looks at", svg(links_plot(deepest, o))}};
    report.decided = {{"first_is_local", pooled(o, "first nearest")},
                      {"last_looks_furthest", pooled(o, "last furthest")},
                      {"last_is_spread", pooled(o, "last spread")},
                      {"syntax_in_the_middle", pooled(o, "syntax middle")},
                      {"coreference_found", pooled(o, "coreference most")},
                      {"coreference_late", pooled(o, "coreference late")},
                      {"coreference_after_syntax", pooled(o, "coreference later")}};
    return report;
}

std::vector<Claim> claims() {
    return {{"first_is_local", "The first layer looks nearer than the others.",
             "mean distance, the first layer's over the others'", below(0.8), kLayers},
            {"last_looks_furthest", "The last layer looks furthest.",
             "mean distance, the last layer's over the furthest of the others", above(1), kLayers},
            {"last_is_spread", "The last layer's weights are the most spread.",
             "entropy in nats, the last layer's less the largest of the others", above(0), kLayers},
            {"syntax_in_the_middle",
             "Subjects, verbs and modifiers are found most in the middle layers.",
             "logarithm of the weight on them: mean of the layers between less the larger of the "
             "first and "
             "the last",
             above(0), kLayers},
            {"coreference_found", "Some head finds whom a pronoun means.",
             "weight on the antecedent over that on words as far away, the best head of all",
             above(1.2), kLayers},
            {"coreference_late", "Antecedents are found most in the late layers.",
             "logarithm of the weight on them: mean of the later half of the layers less that of "
             "the earlier",
             above(0), kLayers},
            {"coreference_after_syntax", "Coreference comes after syntax.",
             "layer where it is found most less that of syntax, 0 for the first and 1 for the last",
             above(0), kLayers}};
}

}  // namespace

Experiment experiment() {
    return {
        "layers_roles",
        "Local, syntactic, global: which layer?",
        "It is often said that early layers attend to neighbours, middle layers to what grammar "
        "connects (a verb to its subject, an object to its verb, a noun to its adjective), late "
        "layers to the whole text and to what it means, whom a pronoun stands for among it. "
        "Measured "
        "are, for every layer, the mean distance it looks back, the entropy of its weights, the "
        "weight on the word before; and, for the layer's best head, the weight on the word that "
        "belongs to the present one, "
        "over what the same head gives to words at that distance that do not: 1 for a head that "
        "sees only how far away a word is. The story generator says which words belong together. "
        "With --model DIR a GPT in that directory is asked instead, GPT-2's format included.\n\n"
        "Sources: Vig and Belinkov 2019, \"Analyzing the Structure of Attention in a Transformer "
        "Language Model\" (GPT-2: deeper layers look further, dependencies in the middle); Clark "
        "et al. 2019, \"What Does BERT Look At?\"; Jawahar et al. 2019, \"What Does BERT Learn "
        "about "
        "the Structure of Language?\"; Tenney et al. 2019, \"BERT Rediscovers the Classical NLP "
        "Pipeline\".",
        claims(),
        trials,
        report,
        true};
}

}  // namespace tapestry::experiments::layers_roles
