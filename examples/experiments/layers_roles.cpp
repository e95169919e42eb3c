// Local, global, syntactic: which layer? A small language model of stories, asked of every head:
// how far it looks, at how many words, and whether a pronoun finds whom it means.
#include <tapestry/examples/experiments/experiment.h>
#include <tapestry/examples/experiments/plot.h>
#include <tapestry/examples/experiments/story_model.h>

#include <algorithm>

namespace tapestry::experiments {
namespace {

constexpr std::int64_t kLayers = 4, kHeads = 4;

/// A held-out beginning of a story, and its pronouns with the words they stand for.
struct Piece {
    std::vector<std::int64_t> ids;
    struct Link {
        std::int64_t pronoun, antecedent;
    };
    std::vector<Link> links;
};

// Stories of another seed, cut to the model's context. A link goes to the last word of a name.
std::vector<Piece> find_pieces(const StoryText& text, std::int64_t context, std::size_t bytes) {
    const examples::Stories stories = examples::write_stories(1001, bytes);
    std::vector<Piece> pieces;
    std::size_t begin = 0;
    auto reference = stories.references.begin();
    for (const std::string& story : examples::stories_of(stories.text)) {
        Piece piece{{examples::kStart}, {}};
        for (const std::string& word : examples::words_of(story)) {
            piece.ids.push_back(text.table.id(word));
        }
        const auto place = [&](std::size_t offset) {  // of the word that ends there
            const auto before = std::string_view(stories.text).substr(begin, offset - begin);
            return static_cast<std::int64_t>(examples::words_of(before).size());
        };
        for (; reference != stories.references.end() &&
               reference->pronoun_begin < begin + story.size();
             ++reference) {
            const std::int64_t pronoun = place(reference->pronoun_end);
            if (pronoun < context) {
                piece.links.push_back({pronoun, place(reference->antecedent_end)});
            }
        }
        begin += story.size() + 2;
        if (static_cast<std::int64_t>(piece.ids.size()) < context) continue;
        piece.ids.resize(static_cast<std::size_t>(context));
        pieces.push_back(piece);
    }
    return pieces;
}

struct HeadFigures {
    double distance = 0;    // mean, in words
    double entropy = 0;     // mean, in nats
    double antecedent = 0;  // mean weight from a pronoun on its antecedent ...
    double expected = 0;    // ... and what the head gives on average to words at these distances
    double times() const { return antecedent / expected; }
};

// What a head gives to the word d before, on average over queries that have one: [T].
std::vector<double> distance_profile(const Tensor& weights, std::int64_t head) {
    const std::int64_t batch = weights.size(0), length = weights.size(2);
    const Tensor sums = sum(index_select(weights, 1, tensor<std::int64_t>({head})), {0, 1});
    std::vector<double> profile(static_cast<std::size_t>(length), 0);
    for (std::int64_t d = 0; d < length; ++d) {
        for (std::int64_t i = d; i < length; ++i) {
            profile[static_cast<std::size_t>(d)] +=
                sums.at({i, i - d}) / static_cast<double>(batch * (length - d));
        }
    }
    return profile;
}

std::vector<std::vector<HeadFigures>> look(const GPT& model, const std::vector<Piece>& pieces) {
    std::vector<std::int64_t> ids;
    for (const Piece& piece : pieces) ids.insert(ids.end(), piece.ids.begin(), piece.ids.end());
    const auto batch = static_cast<std::int64_t>(pieces.size());
    std::vector<AttentionRecord> records;
    model(tensor(ids, {batch, model.config().context}), {.records = &records});
    std::vector<std::vector<HeadFigures>> layers;
    for (const AttentionRecord& record : records) {
        const Tensor distance = attention_distance(record.weights);
        const Tensor entropy = attention_entropy(record.weights);
        std::vector<HeadFigures> heads;
        for (std::int64_t h = 0; h < kHeads; ++h) {
            HeadFigures f{distance.at({h}), entropy.at({h})};
            const std::vector<double> profile = distance_profile(record.weights, h);
            double links = 0;
            for (std::int64_t b = 0; b < batch; ++b) {
                for (const Piece::Link& link : pieces[static_cast<std::size_t>(b)].links) {
                    f.antecedent += record.weights.at({b, h, link.pronoun, link.antecedent});
                    f.expected += profile[static_cast<std::size_t>(link.pronoun - link.antecedent)];
                    ++links;
                }
            }
            f.antecedent /= links;
            f.expected /= links;
            heads.push_back(f);
        }
        layers.push_back(heads);
    }
    return layers;
}

using Layers = std::vector<std::vector<HeadFigures>>;

double mean_of(const std::vector<HeadFigures>& heads, double HeadFigures::*what) {
    double sum = 0;
    for (const HeadFigures& head : heads) sum += head.*what / static_cast<double>(heads.size());
    return sum;
}

double strongest(const std::vector<HeadFigures>& heads) {
    double most = 0;
    for (const HeadFigures& head : heads) most = std::max(most, head.times());
    return most;
}

std::vector<Table> tables_of(const Layers& layers) {
    Table summary{"Layers: means over heads, and the head that favours antecedents most",
                  {"layer", "distance", "entropy", "antecedent, times expected", "claimed"},
                  {}};
    Table all{"Heads",
              {"head", "distance", "entropy", "weight on the antecedent",
               "expected at that distance", "times"},
              {}};
    const std::vector<std::string> claimed{"local", "-", "syntactic", "global"};
    for (std::size_t l = 0; l < layers.size(); ++l) {
        summary.rows.push_back({fmt::format("layer {}", l + 1),
                                fixed(mean_of(layers[l], &HeadFigures::distance), 2),
                                fixed(mean_of(layers[l], &HeadFigures::entropy), 2),
                                fixed(strongest(layers[l]), 2), claimed[l]});
        for (std::size_t h = 0; h < layers[l].size(); ++h) {
            const HeadFigures& f = layers[l][h];
            all.rows.push_back({fmt::format("layer {} head {}", l + 1, h + 1), fixed(f.distance, 2),
                                fixed(f.entropy, 2), fixed(f.antecedent, 3), fixed(f.expected, 3),
                                fixed(f.times(), 2)});
        }
    }
    return {summary, all};
}

HeatMap distance_map(const Layers& layers) {
    HeatMap map{
        .title = "Mean distance of attention, in words", .x_label = "head", .y_label = "layer"};
    for (std::int64_t h = 1; h <= kHeads; ++h) map.columns.push_back(std::to_string(h));
    for (std::size_t l = 0; l < layers.size(); ++l) {
        map.rows.push_back(std::to_string(l + 1));
        map.values.emplace_back();
        for (const HeadFigures& f : layers[l]) map.values.back().push_back(f.distance);
    }
    return map;
}

Report::Old judge(const Layers& layers) {
    std::vector<double> distances, favours;
    for (const auto& heads : layers) {
        distances.push_back(mean_of(heads, &HeadFigures::distance));
        favours.push_back(strongest(heads));
    }
    const auto nearest = std::min_element(distances.begin(), distances.end()) - distances.begin();
    const auto furthest = std::max_element(distances.begin(), distances.end()) - distances.begin();
    const auto syntactic = std::max_element(favours.begin(), favours.end()) - favours.begin();
    const bool local_first = nearest == 0, global_last = furthest >= kLayers / 2;
    const bool middle = syntactic > 0 && syntactic + 1 < kLayers;
    return {
        local_first && global_last && middle,
        fmt::format(
            "Layer {} looks nearest ({:.1f} words), layer {} furthest ({:.1f}): early layers {} "
            "the local ones, late ones {} the global ones. The head that favours antecedents "
            "most, {:.1f} times what their distance would give, is in layer {}: the middle {} "
            "where grammar is.",
            nearest + 1, distances[static_cast<std::size_t>(nearest)], furthest + 1,
            distances[static_cast<std::size_t>(furthest)], local_first ? "are" : "are not",
            global_last ? "are" : "are not", favours[static_cast<std::size_t>(syntactic)],
            syntactic + 1, middle ? "is" : "is not")};
}

Report run(const Setting& setting) {
    const StoryText text = story_text(setting.pick<std::size_t>(1'000'000, 200'000));
    Generator generator(setting.seed);
    GPTConfig config = story_config(text);
    config.context = 48;
    config.layers = kLayers;
    config.heads = kHeads;
    GPT model(config, generator);
    learn_stories(model, text, {.steps = setting.pick(700, 80), .seed = setting.seed});
    const double loss = held_out_loss(model, text);
    const examples::Answering answering(model);
    const Layers layers = look(model, find_pieces(text, config.context, 60'000));
    Report report{tables_of(layers),
                  {{"distance", "how far each head looks", svg(distance_map(layers))}},
                  judge(layers)};
    report.tables[0].title += fmt::format(" (a GPT at {:.2f} nats per word)", loss);
    return report;
}

}  // namespace

Experiment layers_roles() {
    return {
        "layers_roles",
        "Local, global, syntactic: which layer?",
        "It is often said that early layers attend to neighbours, middle layers to what grammar "
        "connects, late layers to the whole text. Measured are, for every head, the mean distance "
        "it looks back and the entropy of its weights; and, for grammar, the weight from a pronoun "
        "on whom it means, over what the same head gives on average to words at that distance: 1 "
        "for a head that only sees how far away a word is.\n\n"
        "Sources: Vig and Belinkov 2019, \"Analyzing the Structure of Attention in a Transformer "
        "Language Model\" (GPT-2: deeper layers look further, dependencies in the middle); Clark "
        "et "
        "al. 2019, \"What Does BERT Look At?\"; Jawahar et al. 2019, \"What Does BERT Learn about "
        "the Structure of Language?\".",
        {},
        nullptr,
        [](const Setting& s, const Outcomes&) { return run(s); }};
}

}  // namespace tapestry::experiments
