// "dog bites man" or "man bites dog"? Attention sees a set; only positions make it a sequence.
#include <tapestry/examples/school/experiments/experiment.h>
#include <tapestry/examples/school/experiments/plot.h>
#include <tapestry/nn/layers/embedding.h>
#include <tapestry/nn/transformer/blocks.h>
#include <tapestry/tapestry.h>

#include <cmath>

namespace tapestry::experiments::word_order {
namespace {

constexpr std::int64_t kDim = 32;
const std::vector<std::string> kWords{"dog", "bites", "man"};

// The words of "man bites dog" in reverse order are those of "dog bites man".
Tensor turned_round(const Tensor& x) { return index_select(x, 1, tensor<std::int64_t>({2, 1, 0})); }

// An encoder with one of the position encodings, or none; in f64, so any remaining difference is
// rounding.
class Reader : public Module {
public:
    Embedding words;
    std::optional<PositionalEncoding> positions;
    Encoder encoder;

    Reader(std::optional<Positions> how, Generator& generator)
        : Module("Reader"),
          words(3, kDim, generator),
          encoder({.layers = 2,
                   .layer = {.dim = kDim, .heads = 4, .positions = how.value_or(Positions::none)}},
                  generator) {
        register_module("words", words);
        if (how && *how != Positions::rotary) {
            register_module("positions", positions.emplace(*how, 8, kDim, generator));
        }
        register_module("encoder", encoder);
        to(DType::f64);
        eval();
    }

    Tensor operator()(const Tensor& ids) const {
        const Tensor x = words(ids);  // [1, 3, C]
        return encoder(positions ? (*positions)(x) : x);
    }
};

// The distance between each word's vectors in the two sentences, as a fraction of the vector's
// length: [3].
std::vector<double> distances(std::optional<Positions> how, std::uint64_t seed) {
    Generator generator(seed);
    const Reader reader(how, generator);
    const Tensor ids = tensor<std::int64_t>({0, 1, 2});
    const Tensor there = reader(reshape(ids, {1, 3}));
    const Tensor back = turned_round(reader(turned_round(reshape(ids, {1, 3}))));
    const auto length = [](const Tensor& x) { return sqrt(sum(x * x, {0, 2})); };
    return (length(there - back) / length(there)).to_vector<double>();
}

// M_k of P(pos + k) = M_k P(pos): pairs (sin a, cos a) rotated by b = k / 10000^(2 i / dim), since
// sin(a + b) = cos b sin a + sin b cos a and cos(a + b) = -sin b sin a + cos b cos a.
Tensor shift_matrix(std::int64_t k, std::int64_t dim) {
    Tensor result = zeros({dim, dim}, DType::f64);
    double* m = result.mutable_data<double>();
    for (std::int64_t i = 0; i < dim; i += 2) {
        const double angle = static_cast<double>(k) *
                             std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(dim));
        m[i * dim + i] = m[(i + 1) * dim + i + 1] = std::cos(angle);
        m[i * dim + i + 1] = std::sin(angle);
        m[(i + 1) * dim + i] = -std::sin(angle);
    }
    return result;
}

// max |M_k P(pos) - P(pos + k)| over positions 0 .. 511.
double shift_error(std::int64_t k) {
    const Tensor here = sinusoidal_positions(512, kDim, 0, DType::f64);
    const Tensor there = sinusoidal_positions(512, kDim, k, DType::f64);
    return max(abs(matmul(here, transpose(shift_matrix(k, kDim), 0, 1)) - there)).item();
}

struct Way {
    const char* name;
    std::optional<Positions> how;
};

const std::vector<Way>& ways() {
    static const std::vector<Way> all{{"none", {}},
                                      {"learned", Positions::learned},
                                      {"sinusoidal", Positions::sinusoidal},
                                      {"rotary", Positions::rotary}};
    return all;
}

Plot similarity_plot() {
    Plot plot{.title = "P(pos) . P(pos + k) depends only on k",
              .x = {.label = "distance k"},
              .y = {.label = "dot product"}};
    const Tensor table = sinusoidal_positions(164, kDim, 0, DType::f64);
    const Tensor products = matmul(table, transpose(table, 0, 1));
    for (const std::int64_t pos : {0, 100}) {
        Series s{.name = "pos = " + std::to_string(pos),
                 .mark = pos == 0 ? Mark::line : Mark::points};
        for (std::int64_t k = 0; k < 64; k += pos == 0 ? 1 : 4) {
            s.x.push_back(static_cast<double>(k));
            s.y.push_back(products.at({pos, pos + k}));
        }
        plot.series.push_back(s);
    }
    return plot;
}

std::vector<Trial> trials(const Setting&) {
    std::vector<Trial> all;
    for (const Way& way : ways()) {
        all.push_back({way.name, [how = way.how](std::uint64_t seed) -> Measured {
                           const std::vector<double> d = distances(how, seed);
                           return {{{"dog", d[0]},
                                    {"bites", d[1]},
                                    {"man", d[2]},
                                    {"largest", *std::max_element(d.begin(), d.end())},
                                    {"dog or man", std::min(d[0], d[2])}}};
                       }});
    }
    return all;
}

const Design kExact = Design::computed();
const Design kNew = Design::drawn("a new encoder");

Report report(const Setting&, const Outcomes& outcomes) {
    Table words{"Distance between a word's two vectors, as a share of their length (new encoders)",
                {"positions", "dog", "bites", "man", "theory"},
                {}};
    HeatMap map{.title = "\"dog bites man\" against \"man bites dog\"",
                .x_label = "word",
                .y_label = "positions",
                .columns = kWords};
    for (const Way& way : ways()) {
        words.rows.push_back({way.name});
        map.rows.push_back(way.name);
        map.values.emplace_back();
        map.half_widths.emplace_back();
        for (const std::string& word : kWords) {
            const Interval distance = outcomes.of(way.name, word);
            words.rows.back().push_back(significant(distance, 2));
            map.values.back().push_back(distance.mean);
            map.half_widths.back().push_back(distance.half_width());
        }
        words.rows.back().push_back(way.how ? "> 0" : "0");
    }
    Table shifts{
        "Largest |M_k P(pos) - P(pos + k)|, positions 0 to 511", {"k", "measured", "theory"}, {}};
    double worst = 0;
    for (const std::int64_t k : {1, 7, 64, 1000}) {
        shifts.rows.push_back({k, {shift_error(k), 2}, "0"});
        worst = std::max(worst, shift_error(k));
    }
    Report report{
        .tables = {words, shifts},
        .figures = {{"words", "how far a word's two vectors are apart", svg(map)},
                    {"similarity", "the dot product of two positions", svg(similarity_plot())}}};
    report.decided = {{"order_is_lost", outcomes.of("none", "largest")},
                      {"learned_tell", outcomes.of("learned", "dog or man")},
                      {"sinusoids_tell", outcomes.of("sinusoidal", "dog or man")},
                      {"rotations_tell", outcomes.of("rotary", "dog or man")},
                      {"shift_is_rotation", exactly(worst)}};
    return report;
}

}  // namespace

Experiment experiment() {
    return {"word_order",
            "\"dog bites man\" or \"man bites dog\"?",
            "Let P reorder the words. Then softmax(P Q K^T P^T) P V = P softmax(Q K^T) V, and the "
            "rest of a Transformer works on each word by itself: without positions the outputs are "
            "reordered as the inputs were, and who bit whom is lost. With positions they differ. "
            "Sinusoidal ones have a further property, for which they were chosen: P(pos + k) = M_k "
            "P(pos) with a rotation M_k that depends only on k.\n\n"
            "Source: Vaswani et al. 2017, \"Attention Is All You Need\", section 3.5.",
            {{"order_is_lost",
              "Without positions \"dog bites man\" and \"man bites dog\" have the same vectors.",
              "largest distance of a word's two vectors", below(1e-12), kNew},
             {"learned_tell", "With learned positions word order shows in the vectors.",
              "smaller distance of \"dog\" and \"man\"", above(1e-3), kNew},
             {"sinusoids_tell", "With sinusoidal positions word order shows in the vectors.",
              "smaller distance of \"dog\" and \"man\"", above(1e-3), kNew},
             {"rotations_tell", "With rotary positions word order shows in the vectors.",
              "smaller distance of \"dog\" and \"man\"", above(1e-3), kNew},
             {"shift_is_rotation", "A shift of sinusoidal positions is a rotation.",
              "largest |M_k P(pos) - P(pos + k)|", below(1e-11), kExact}},
            trials,
            report};
}

}  // namespace tapestry::experiments::word_order
