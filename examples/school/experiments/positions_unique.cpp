// Does every position have a unique code? How far apart sinusoidal codes are, and whether word and
// position can both be recovered from their sum.
#include <tapestry/examples/school/experiments/experiment.h>
#include <tapestry/examples/school/experiments/plot.h>
#include <tapestry/tapestry.h>

#include <algorithm>
#include <cmath>

namespace tapestry::experiments::positions_unique {
namespace {

/// |P(pos) - P(pos + k)| depends only on k (experiment word_order), so k = 1, 2, ... covers all
/// pairs.
struct Nearest {
    double distance = 1e9;  // as a fraction of a code's length, sqrt(dim / 2)
    std::int64_t apart = 0;
};

std::vector<double> distances(const Tensor& table) {
    const Tensor d = table - slice(table, 0, 0, 1);
    const double length = std::sqrt(static_cast<double>(table.size(1)) / 2);
    return (sqrt(sum(d * d, {1})) / length).to_vector<double>();
}

Nearest nearest(const Tensor& table) {
    const std::vector<double> d = distances(table);
    Nearest found;
    for (std::size_t k = 1; k < d.size(); ++k) {
        if (d[k] < found.distance) found = {d[k], static_cast<std::int64_t>(k)};
    }
    return found;
}

// One wave, [sin, cos](2 pi pos / 64): a clock with one hand.
Tensor one_wave(std::int64_t length) {
    std::vector<double> codes;
    for (std::int64_t pos = 0; pos < length; ++pos) {
        const double angle = 2 * 3.14159265358979323846 * static_cast<double>(pos % 64) / 64;
        codes.push_back(std::sin(angle));
        codes.push_back(std::cos(angle));
    }
    return tensor(codes, {length, 2});
}

// Adds words and codes of equal length, sqrt(dim / 2), and noise with this deviation in each
// number: for what share of the sums are both still the nearest?
double told_from_sums(std::int64_t dim, bool sinusoidal, double noise, std::uint64_t seed) {
    constexpr std::int64_t words = 200, places = 128, sums = 500;
    Generator generator(seed);
    const double deviation = std::sqrt(0.5);
    const Tensor w = deviation * randn({words, dim}, generator);
    const Tensor p = sinusoidal ? sinusoidal_positions(places, dim)
                                : deviation * randn({places, dim}, generator);
    const Tensor all = reshape(reshape(w, {words, 1, dim}) + p, {words * places, dim});
    const Tensor which = randint(0, words * places, {sums}, generator);
    // |s - a|^2 = |a|^2 - 2 s.a + ...; with noise, as what reads a sum may add
    const Tensor s = index_select(all, 0, which) + noise * randn({sums, dim}, generator);
    const Tensor score = 2 * matmul(s, transpose(all, 0, 1)) - sum(all * all, {1});
    return mean(to(eq(argmax(score), which), DType::f64)).item();
}

const std::vector<std::int64_t> kDims{2, 4, 8, 16, 64, 256};
// Deviations of the noise; a number of a word or a code has 0.71.
constexpr double kNoises[] = {0.1, 0.3, 0.6};

// The short form has the two that are judged, and the narrowest.
bool is_summed(const Setting& s, std::int64_t dim) {
    return !s.quick || dim == 2 || dim == 8 || dim == 64;
}

std::string name_of(std::int64_t dim, bool sinusoidal) {
    return fmt::format("{}, {}", dim, sinusoidal ? "sinusoidal" : "random");
}

std::string told(double noise) { return fmt::format("told, noise {}", noise); }

std::vector<Trial> trials(const Setting& s) {
    std::vector<Trial> all;
    for (const std::int64_t dim : kDims) {
        if (!is_summed(s, dim)) continue;
        for (const bool sinusoidal : {true, false}) {
            all.push_back(
                {name_of(dim, sinusoidal), [dim, sinusoidal](std::uint64_t seed) -> Measured {
                     Measured m;
                     for (const double noise : kNoises) {
                         m.numbers[told(noise)] = told_from_sums(dim, sinusoidal, noise, seed);
                     }
                     return m;
                 }});
        }
    }
    return all;
}

const Design kExact = Design::computed();
const Design kDraw = Design::drawn("500 sums drawn anew, of drawn words and the same positions");

Report report(const Setting& s, const Outcomes& o) {
    const std::int64_t length = s.pick(16384, 4096);
    Table apart{fmt::format("The nearest two of {} positions", length),
                {"dim", "distance / length of a code", "positions apart"},
                {}};
    Table sums{
        "Word and position from their sum and noise (200 words, 128 positions; a number of "
        "either has deviation 0.71)",
        {"dim", "sinusoidal, noise 0.1", "random, noise 0.1", "sinusoidal, noise 0.3",
         "random, noise 0.3", "sinusoidal, noise 0.6", "random, noise 0.6"},
        {}};
    Plot plot{.title = "How far apart codes are",
              .x = {.label = "positions apart", .log = true},
              .y = {.label = "distance / length of a code"}};
    for (const std::int64_t dim : kDims) {
        const Tensor table = sinusoidal_positions(length, dim, 0, DType::f64);
        const Nearest found = nearest(table);
        apart.rows.push_back({dim, {found.distance, 3}, found.apart});
        if (dim == 8 || dim == 64) {
            const std::vector<double> d = distances(table);
            Series series{.name = fmt::format("dim {}", dim)};
            for (std::size_t k = 1; k < d.size(); k += 1 + k / 40) {
                series.x.push_back(static_cast<double>(k));
                series.y.push_back(d[k]);
            }
            plot.series.push_back(series);
        }
        if (!is_summed(s, dim)) continue;
        sums.rows.push_back({dim});
        for (const double noise : kNoises) {
            for (const bool sinusoidal : {true, false}) {
                sums.rows.back().push_back(percent(o.of(name_of(dim, sinusoidal), told(noise))));
            }
        }
    }
    const Nearest wave = nearest(one_wave(length));
    apart.rows.push_back({"one wave", {wave.distance, 3}, wave.apart});
    const Nearest found = nearest(sinusoidal_positions(length, 64, 0, DType::f64));
    return {
        .tables = {apart, sums},
        .figures = {{"distance", "sinusoidal codes, by how many positions lie between", svg(plot)}},
        .decided = {{"codes_differ", exactly(found.distance)},
                    {"neighbours_are_nearest", exactly(static_cast<double>(found.apart))},
                    {"one_wave_would_do", exactly(wave.distance)},
                    {"sum_tells_both", o.of(name_of(64, true), told(0.1))},
                    {"noisy_sum_tells_both", o.of(name_of(64, true), told(0.3))},
                    {"narrow_sum_tells_both", o.of(name_of(8, true), told(0.1))},
                    {"narrow_noisy_sum_tells_both", o.of(name_of(8, true), told(0.3))}}};
}

}  // namespace

Experiment experiment() {
    return {"positions_unique",
            "Does every position have its own code?",
            "The dim / 2 waves of sinusoidal positions are hands of a clock, the slowest of which "
            "takes "
            "10000^(1 - 2 / dim) * 2 pi positions to go round. While it has not, no two positions "
            "have the "
            "same "
            "code. The hands that are quick keep neighbours apart; a single one comes back to "
            "where it was. Words and positions are added, not set side by side: in high dimension "
            "random vectors are nearly orthogonal, so both can be read from the sum; in very few "
            "dimensions they cannot. How few depends on the noise.\n\n"
            "Source: Vaswani et al. 2017, section 3.5.",
            {{"codes_differ", "No two positions have the same code, dim 64.",
              "smallest distance of two, as a share of a code's length", above(0.1), kExact},
             {"neighbours_are_nearest", "The nearest codes are those of neighbours, dim 64.",
              "positions between the nearest two", between(0.5, 1.5), kExact},
             {"one_wave_would_do", "One wave would do.",
              "smallest distance of two, as a share of a code's length", above(0.01), kExact},
             {"sum_tells_both", "A sum of word and position tells both, dim 64.",
              "share of sums of which both are the nearest, noise 0.1", above(0.99), kDraw},
             {"noisy_sum_tells_both", "So does a noisier sum of word and position, dim 64.",
              "the same share, noise 0.3", above(0.99), kDraw},
             {"narrow_sum_tells_both", "And so it does with dim 8.", "the same share, noise 0.1",
              above(0.99), kDraw},
             {"narrow_noisy_sum_tells_both", "So does a noisier sum of word and position, dim 8.",
              "the same share, noise 0.3", above(0.99), kDraw}},
            trials,
            report};
}

}  // namespace tapestry::experiments::positions_unique
