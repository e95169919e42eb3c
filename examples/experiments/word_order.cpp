// "dog bites man" or "man bites dog"? Attention sees a set; only positions make a sequence of it.
#include <tapestry/examples/experiments/experiment.h>
#include <tapestry/examples/experiments/plot.h>
#include <tapestry/nn/embedding.h>
#include <tapestry/nn/positions.h>
#include <tapestry/nn/transformer/encoder.h>
#include <tapestry/tapestry.h>

#include <cmath>

namespace tapestry::experiments {
namespace {

constexpr std::int64_t kDim = 32;
const std::vector<std::string> kWords{"dog", "bites", "man"};

// Words of "man bites dog", counted from the other end, are those of "dog bites man".
Tensor turned_round(const Tensor& x) { return index_select(x, 1, tensor<std::int64_t>({2, 1, 0})); }

// An encoder with one of the ways to say where words stand, or none; in f64, so that what is left
// of a difference is rounding.
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

// How far each word's vector in the one sentence is from the same word's in the other, as a share
// of the vector's length: [3].
std::vector<double> differences(std::optional<Positions> how, std::uint64_t seed) {
    Generator generator(seed);
    const Reader reader(how, generator);
    const Tensor ids = tensor<std::int64_t>({0, 1, 2});
    const Tensor there = reader(reshape(ids, {1, 3}));
    const Tensor back = turned_round(reader(turned_round(reshape(ids, {1, 3}))));
    const auto length = [](const Tensor& x) { return sqrt(sum(x * x, {0, 2})); };
    return (length(there - back) / length(there)).to_vector<double>();
}

// M_k of P(pos + k) = M_k P(pos): pairs (sin a, cos a) turned by b = k / 10000^(2 i / dim), since
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
    Plot plot{.title = "P(pos) . P(pos + k) depends on k alone",
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

Report run(const Setting& setting) {
    Report report;
    Table words{"Distance between a word's two vectors, as a share of their length",
                {"positions", "dog", "bites", "man", "theory"},
                {}};
    HeatMap map{.title = "\"dog bites man\" against \"man bites dog\"",
                .x_label = "word",
                .y_label = "positions",
                .columns = kWords};
    double without = 0, with = 1e9;  // the largest without positions, the smallest end word with
    for (const Way& way : ways()) {
        const std::vector<double> d = differences(way.how, setting.seed);
        words.rows.push_back({way.name, {d[0], 2}, {d[1], 2}, {d[2], 2}, way.how ? "> 0" : "0"});
        map.rows.push_back(way.name);
        map.values.push_back(d);
        if (!way.how) without = *std::max_element(d.begin(), d.end());
        if (way.how) with = std::min({with, d[0], d[2]});
    }
    Table shifts{
        "Largest |M_k P(pos) - P(pos + k)|, positions 0 to 511", {"k", "measured", "theory"}, {}};
    double worst = 0;
    for (const std::int64_t k : {1, 7, 64, 1000}) {
        shifts.rows.push_back({k, {shift_error(k), 2}, "0"});
        worst = std::max(worst, shift_error(k));
    }
    report.tables = {words, shifts};
    report.figures = {{"words", "how far a word's two vectors are apart", svg(map)},
                      {"similarity", "the dot product of two positions", svg(similarity_plot())}};
    report.verdict = {
        without < 1e-12 && with > 1e-3 && worst < 1e-11,
        fmt::format(
            "Without positions the two sentences have the same vectors in another order, to "
            "{:.0e}; with them \"dog\" and \"man\" differ by {:.0f} % at least; a shift of "
            "sinusoidal positions is a rotation, to {:.0e}.",
            without, 100 * with, worst)};
    return report;
}

}  // namespace

Experiment word_order() {
    return {"word_order", "\"dog bites man\" or \"man bites dog\"?",
            "Let P reorder the words. Then softmax(P Q K^T P^T) P V = P softmax(Q K^T) V, and the "
            "rest of a Transformer works on each word alone: without positions the outputs are "
            "reordered as the inputs were, and who bit whom is lost. With positions they differ. "
            "Sinusoidal ones have a further property, for which they were chosen: P(pos + k) = M_k "
            "P(pos) with a rotation M_k that depends on k alone.\n\n"
            "Source: Vaswani et al. 2017, \"Attention Is All You Need\", section 3.5.",
            run};
}

}  // namespace tapestry::experiments
