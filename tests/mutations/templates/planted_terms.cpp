// Mistakes in a term: a factor of the chain, a mean too many, another layer's rule, a part of the
// outputs.
#include <tapestry/tests/mutations/templates/planted.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace tapestry::test {
namespace {

using Values = std::vector<double>;

// g times h(x): a factor of the chain left out, or there twice
Planted factor_of_x(const PlainCase& one, Draw& draw) {
    static constexpr double (*kFactors[])(double) = {
        [](double x) { return x; }, [](double x) { return 1 / x; },
        [](double x) { return std::exp(x); }, [](double x) { return std::exp(-x); }};
    static constexpr const char* kNames[] = {"x", "1/x", "exp x", "exp -x"};
    // In the units that make |x| about 1
    if (one.x.size() < 4 || one.x.size() > 300) return {};
    double size = 0;
    for (const double x : one.x) size = std::max(size, std::abs(x));
    if (!(size > 1e-3 && size < 30)) return {};
    const std::size_t which = draw.below(4);
    return {[right = one.pullback, factor = kFactors[which]](const Values& x, const Values& g) {
                Values slopes = right(x, g);
                for (std::size_t i = 0; i < x.size(); ++i) slopes[i] *= factor(x[i]);
                return slopes;
            },
            fmt::format("times {}", kNames[which])};
}

// The gradient for all outputs, with weights that cancel nothing
Values right_gradient(const PlainCase& one) {
    Values g(one.f(one.x).size());
    for (std::size_t i = 0; i < g.size(); ++i) g[i] = std::cos(static_cast<double>(i));
    return one.pullback(one.x, g);
}

// A term c x per output: weight decay that f does not have
Planted term_along_x(const PlainCase& one, Draw& draw) {
    if (one.x.size() < 4 || one.x.size() > 300) return {};
    const Values right = right_gradient(one);
    double steep = 0, size = 0;
    for (std::size_t i = 0; i < right.size(); ++i) {
        steep = std::max(steep, std::abs(right[i]));
        size = std::max(size, std::abs(one.x[i]));
    }
    const double c = draw.sign() * draw.log_between(1e-2, 1) * steep / size;
    return {[right = one.pullback, c](const Values& x, const Values& g) {
                Values slopes = right(x, g);
                const double sum = std::accumulate(g.begin(), g.end(), 0.0);
                for (std::size_t i = 0; i < x.size(); ++i) slopes[i] += c * sum * x[i];
                return slopes;
            },
            ""};
}

// A mean is subtracted that should not be.
Planted mean_too_many(const PlainCase& one, Draw&) {
    if (one.x.size() < 4 || one.x.size() > 300) return {};
    const Values slopes_here = right_gradient(one);
    double sum = 0, size = 0;
    for (const double slope : slopes_here) {
        sum += slope;
        size += std::abs(slope);
    }
    if (std::abs(sum) < 1e-3 * size) return {};  // there is none
    return {[right = one.pullback](const Values& x, const Values& g) {
                Values slopes = right(x, g);
                const double mean = std::accumulate(slopes.begin(), slopes.end(), 0.0) /
                                    static_cast<double>(slopes.size());
                for (double& slope : slopes) slope -= mean;
                return slopes;
            },
            ""};
}

Planted variant(const PlainCase& one, std::string_view name) {
    const auto found = one.variants.find(name);
    return found == one.variants.end() ? Planted{} : Planted{found->second, ""};
}
Planted trainings_rule(const PlainCase& one, Draw&) { return variant(one, "training's rule"); }
Planted straight_way_dropped(const PlainCase& one, Draw&) {
    return variant(one, "straight way dropped");
}
Planted mask_dropped(const PlainCase& one, Draw&) { return variant(one, "mask dropped"); }
Planted kernel_shifted(const PlainCase& one, Draw&) { return variant(one, "one place further"); }

// Some rows of the outputs propagate nothing, or a multiple.
Planted rows_of_outputs(const PlainCase& one, Draw& draw) {
    if (one.output.rank() != 2 || one.output[0] < 3) return {};
    const auto rows = static_cast<std::size_t>(one.output[0]),
               columns = static_cast<std::size_t>(one.output[1]);
    const double factor = draw.pick({0.0, 0.5, 2.0, -1.0});
    const bool half = draw.chance(0.5);
    const std::size_t row = draw.below(rows);
    return {[=, right = one.pullback](const Values& x, Values g) {
                for (std::size_t i = 0; i < g.size(); ++i) {
                    const std::size_t at = i / columns;
                    g[i] *= (half ? at < rows / 2 : at == row) ? factor : 1;
                }
                return right(x, g);
            },
            fmt::format("times {}, {}", factor, half ? "half of the rows" : "one row")};
}

// Another rule where x is negative
Planted negative_ones(const PlainCase& one, Draw& draw) {
    const auto negative = static_cast<std::size_t>(
        std::count_if(one.x.begin(), one.x.end(), [](double x) { return x < 0; }));
    if (negative < 2 || one.x.size() - negative < 2) return {};
    const double factor = draw.pick({-1.0, 0.0, 0.1});
    return {[right = one.pullback, factor](const Values& x, const Values& g) {
                Values slopes = right(x, g);
                for (std::size_t i = 0; i < x.size(); ++i) slopes[i] *= x[i] < 0 ? factor : 1;
                return slopes;
            },
            fmt::format("times {}, {} of {}", factor, negative, one.x.size())};
}

// The slope of the flattest output by one of the numbers that it depends on is 0.
Planted entry_of_small_output(const PlainCase& one, Draw& draw) {
    const std::size_t m = one.f(one.x).size();
    if (m < 2) return {};
    std::size_t which = m;
    Values slopes;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < m; ++k) {
        Values g(m, 0.0);
        g[k] = 1;
        Values of_k = one.pullback(one.x, g);
        double steep = 0;
        for (const double slope : of_k) steep = std::max(steep, std::abs(slope));
        if (!(steep > 0 && steep < least)) continue;
        which = k;
        least = steep;
        slopes = std::move(of_k);
    }
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < slopes.size(); ++i) {
        if (std::abs(slopes[i]) > 1e-3 * least) places.push_back(i);
    }
    if (places.empty()) return {};
    const std::size_t place = places[draw.below(places.size())];
    return {[right = one.pullback, which, place](const Values& x, Values g) {
                Values of_it(g.size(), 0.0);
                std::swap(of_it[which], g[which]);
                Values all = right(x, g);
                const Values small = right(x, of_it);
                for (std::size_t i = 0; i < all.size(); ++i) all[i] += i == place ? 0 : small[i];
                return all;
            },
            fmt::format("at {} of output {}", place, which)};
}

}  // namespace

const std::vector<PlantedMistake>& mistakes_in_terms() {
    static const std::vector<std::string_view> kRows{"on some rows", "some elements only",
                                                     "some samples only", "conjugate"};
    static const std::vector<std::string_view> kEntries{"on some rows", "some elements only",
                                                        "a contribution is dropped"};
    static const std::vector<PlantedMistake> all{
        {"factor of x", {"missing or doubled chain factor", "wrong formula"}, factor_of_x},
        {"term along x", {"a term is missing", "a term too many", "held constant"}, term_along_x},
        {"mean too many", {"a term too many"}, mean_too_many},
        {"training's rule", {"a term too many"}, trainings_rule},
        {"straight way dropped", {"a contribution is dropped"}, straight_way_dropped},
        {"mask dropped",
         {"some elements only", "on some rows", "unknown", "wrong formula"},
         mask_dropped},
        {"kernel shifted", {"off by one element", "shifted"}, kernel_shifted},
        {"rows of outputs", kRows, rows_of_outputs},
        {"negative ones", kRows, negative_ones},
        {"entry of a small output", kEntries, entry_of_small_output},
    };
    return all;
}

}  // namespace tapestry::test
