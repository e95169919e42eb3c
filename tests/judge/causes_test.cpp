// Does a report name the actual cause? Each mistake is planted into the backward of a plain
// function, over random shapes and scales; the cause must mostly be right, and almost never be
// misleading.
#include <tapestry/autograd/check/plain.h>
#include <tapestry/core/random.h>
#include <tapestry/tests/judge/support.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

using namespace tapestry;
using Plain = std::vector<double>;

namespace {

Plain drawn(std::uint64_t seed, std::size_t n, double low = -1.5, double high = 1.5) {
    Generator generator(seed);
    return uniform({static_cast<std::int64_t>(n)}, low, high, generator, DType::f64)
        .to_vector<double>();
}

// y [samples, m]: y_s = sin(c_s . x) and mixtures of it; every output depends on every input.
struct Problem {
    std::size_t rows, columns, samples;
    double scale;
    Plain x, mix;

    std::size_t n() const { return rows * columns; }
    double inner(const Plain& at, std::size_t s) const {
        double sum = 0;
        for (std::size_t i = 0; i < n(); ++i) sum += mix[s * n() + i] * at[i] / scale;
        return sum;
    }
    Plain value(const Plain& at) const {
        Plain y;
        for (std::size_t s = 0; s < samples; ++s) {
            const double a = inner(at, s);
            y.push_back(std::sin(a) + 0.3 * a * a);
        }
        return y;
    }
    Plain pullback(const Plain& at, const Plain& g) const {
        Plain d(n(), 0.0);
        for (std::size_t s = 0; s < samples; ++s) {
            const double a = inner(at, s);
            const double slope = g[s] * (std::cos(a) + 0.6 * a) / scale;
            for (std::size_t i = 0; i < n(); ++i) d[i] += mix[s * n() + i] * slope;
        }
        return d;
    }
};

Problem problem(std::uint64_t seed) {
    const Plain u = drawn(1000 + seed, 4, 0, 1);
    Problem p{.rows = 3 + static_cast<std::size_t>(5 * u[0]),
              .columns = 2 + static_cast<std::size_t>(5 * u[1]),
              .samples = 3 + static_cast<std::size_t>(5 * u[2]),
              .scale = std::pow(10.0, std::floor(9 * u[3]) - 4),
              .x = {},
              .mix = {}};
    p.x = drawn(2000 + seed, p.n());
    for (double& value : p.x) value *= p.scale;
    p.mix = drawn(3000 + seed, p.samples * p.n());
    return p;
}

using Spoil = std::function<void(const Problem&, Plain& d, const Plain& g)>;

struct Planted {
    const char* name;
    std::set<Mistake> right;  // the acceptable causes
    Spoil spoil;
    bool as_matrix = true;  // x is declared as [rows, columns], else as a vector
};

template <class Map>
Plain taken_from(const Plain& d, Map from) {
    Plain result(d.size());
    for (std::size_t i = 0; i < d.size(); ++i) result[i] = d[from(i)];
    return result;
}

Plain only(const Problem& p, Plain g, std::size_t first, std::size_t last) {
    for (std::size_t s = 0; s < g.size(); ++s) {
        if (s < first || s >= last) g[s] = 0;
    }
    return p.pullback(p.x, g);
}

std::vector<Planted> mistakes_in_order() {
    using enum Mistake;
    return {
        {"reversed in memory",
         {flipped},
         [](const Problem&, Plain& d, const Plain&) { std::reverse(d.begin(), d.end()); }},
        {"rows reversed",
         {flipped},
         [](const Problem& p, Plain& d, const Plain&) {
             d = taken_from(d, [&p](std::size_t i) {
                 return (p.rows - 1 - i / p.columns) * p.columns + i % p.columns;
             });
         }},
        {"columns reversed",
         {flipped, shifted},
         [](const Problem& p, Plain& d, const Plain&) {
             d = taken_from(d, [&p](std::size_t i) {
                 return i / p.columns * p.columns + p.columns - 1 - i % p.columns;
             });
         }},
        {"shifted by two, cyclically",
         {shifted},
         [](const Problem&, Plain& d, const Plain&) {
             std::rotate(d.begin(), d.begin() + 2, d.end());
         }},
        {"rows shifted by one, cyclically",
         {shifted},
         [](const Problem& p, Plain& d, const Plain&) {
             d = taken_from(d, [&p](std::size_t i) { return (i + p.columns) % p.n(); });
         }},
        {"shifted by one, zeros following",
         {shifted},
         [](const Problem&, Plain& d, const Plain&) {
             std::rotate(d.begin(), d.end() - 1, d.end());
             d[0] = 0;
         }},
        {"rows shifted back by one, zeros following",
         {shifted},
         [](const Problem& p, Plain& d, const Plain&) {
             d.erase(d.begin(), d.begin() + static_cast<std::ptrdiff_t>(p.columns));
             d.resize(p.n(), 0.0);
         }},
        {"column-major",
         {permuted},
         [](const Problem& p, Plain& d, const Plain&) {
             d = taken_from(d, [&p](std::size_t i) { return i % p.rows * p.columns + i / p.rows; });
         }},
        {"read column-major",
         {permuted},
         [](const Problem& p, Plain& d, const Plain&) {
             d = taken_from(d,
                            [&p](std::size_t i) { return i % p.columns * p.rows + i / p.columns; });
         }},
        {"column-major, in a vector",
         {permuted},
         [](const Problem& p, Plain& d, const Plain&) {
             d = taken_from(d, [&p](std::size_t i) { return i % p.rows * p.columns + i / p.rows; });
         },
         false},
    };
}

std::vector<Planted> mistakes_in_numbers() {
    using enum Mistake;
    return {
        {"last sample only",
         {samples},
         [](const Problem& p, Plain& d, const Plain& g) {
             d = only(p, g, p.samples - 1, p.samples);
         }},
        {"first sample only",
         {samples},
         [](const Problem& p, Plain& d, const Plain& g) { d = only(p, g, 0, 1); }},
        {"all but the last sample",
         {samples},
         [](const Problem& p, Plain& d, const Plain& g) { d = only(p, g, 0, p.samples - 1); }},
        {"two rows doubled",
         {rows},
         [](const Problem& p, Plain& d, const Plain&) {
             for (std::size_t i = 0; i < 2 * p.columns; ++i) d[i] *= 2;
         }},
        {"a factor of each row's own",
         {rows},
         [](const Problem& p, Plain& d, const Plain&) {
             for (std::size_t i = 0; i < p.n(); ++i)
                 d[i] *= 1.0 / static_cast<double>(1 + i / p.columns);
         }},
        {"conjugated",
         {conjugate},
         [](const Problem& p, Plain& d, const Plain&) {
             for (std::size_t i = 1; i < p.n(); i += 2) d[i] = -d[i];
         },
         false},
        {"a constant factor",
         {factor},
         [](const Problem&, Plain& d, const Plain&) {
             for (double& value : d) value *= 1.7;
         }},
        {"sign",
         {sign},
         [](const Problem&, Plain& d, const Plain&) {
             for (double& value : d) value = -value;
         }},
        {"one entry",
         {partial},
         [](const Problem& p, Plain& d, const Plain&) { d[p.n() / 2] *= 1.5; }},
    };
}

// Mistakes that have no name: "unknown", or something that is true of them anyway.
std::vector<Planted> other_mistakes() {
    using enum Mistake;
    return {
        {"a little of everything",
         {unknown, formula},
         [](const Problem& p, Plain& d, const Plain&) {
             const Plain r = drawn(77, p.n());
             for (std::size_t i = 0; i < p.n(); ++i) d[i] *= 1 + 1e-4 * r[i];
         }},
        {"one large entry and a bit",
         {formula},
         [](const Problem& p, Plain& d, const Plain&) {
             const Plain r = drawn(78, p.n());
             for (std::size_t i = 0; i < p.n(); ++i) d[i] *= 1 + 0.3 * r[i];
         }},
        {"a term along x",
         {held},
         [](const Problem& p, Plain& d, const Plain&) {
             for (std::size_t i = 0; i < p.n(); ++i) d[i] += 0.01 * p.x[i] / p.scale / p.scale;
         }},
        {"another slope at every output",
         {formula, rows},  // rows: where one of three is right
         [](const Problem& p, Plain& d, const Plain& g) {
             Plain other = g;
             for (std::size_t s = 0; s < p.samples; ++s)
                 other[s] *= 1 + 0.1 * static_cast<double>(s);
             d = p.pullback(p.x, other);
         }},
        {"numbers at random",
         {unknown},
         [](const Problem& p, Plain& d, const Plain& g) {
             d = drawn(79, p.n());
             for (double& value : d) value *= g[0] / p.scale;
         }},
    };
}

struct Tally {
    int all = 0, failed = 0, right = 0, misleading = 0;
    std::string others;
};

Tally tried(const std::vector<Planted>& all) {
    constexpr std::uint64_t kCases = 20;
    Tally tally;
    for (const Planted& planted : all) {
        for (std::uint64_t seed = 0; seed < kCases; ++seed) {
            Problem p = problem(seed);
            if (planted.right.contains(Mistake::conjugate) && p.n() % 2 != 0) continue;
            const auto rows = static_cast<std::int64_t>(p.rows);
            const auto columns = static_cast<std::int64_t>(p.columns);
            const auto report = check_pullback(
                [&p](const Plain& at) { return p.value(at); },
                [&](const Plain& at, const Plain& g) {
                    Problem there = p;
                    there.x = at;
                    Plain d = there.pullback(at, g);
                    planted.spoil(there, d, g);
                    return d;
                },
                p.x, {}, planted.as_matrix ? Shape{rows, columns} : Shape{rows * columns});
            ++tally.all;
            if (report.verdict != Verdict::fail) continue;
            ++tally.failed;
            const Mistake named =
                report.first_wrong ? report.first_wrong->cause.mistake : Mistake::unknown;
            if (planted.right.contains(named)) {
                ++tally.right;
            } else {
                if (named != Mistake::unknown) ++tally.misleading;
                tally.others += fmt::format("{}, seed {} [{}, {}]: {}\n", planted.name, seed, rows,
                                            columns, to_string(named));
            }
        }
    }
    return tally;
}

void check_tally(const Tally& tally) {
    INFO(tally.others);
    CHECK_GE(100 * tally.failed, 99 * tally.all);
    CHECK_GE(100 * tally.right, 85 * tally.failed);
    CHECK_LE(100 * tally.misleading, tally.failed);
}

}  // namespace

TEST_CASE("causes: right numbers in another order") { check_tally(tried(mistakes_in_order())); }

TEST_CASE("causes: rows, samples, pairs and factors") { check_tally(tried(mistakes_in_numbers())); }

TEST_CASE("causes: factors that vary, and what has no name") {
    check_tally(tried(other_mistakes()));
}

namespace {

// The cause that is named where y_i = f(x_i) and entry i of the gradient is `factors[i]` times the
// right one.
Cause cause_of(double (*f)(double), double (*slope)(double), const Plain& x, const Plain& factors) {
    const auto each = [f](Plain at) {
        for (double& a : at) a = f(a);
        return at;
    };
    const auto report = check_pullback(
        each,
        [&](const Plain& at, Plain g) {
            for (std::size_t i = 0; i < g.size(); ++i) g[i] *= factors[i] * slope(at[i]);
            return g;
        },
        x);
    INFO(to_string(report));
    CHECK_EQ(report.verdict, Verdict::fail);
    return report.first_wrong ? report.first_wrong->cause : Cause{};
}

}  // namespace

TEST_CASE("causes: none is named from numbers beyond the end of f's domain") {
    const auto f = [](double x) { return std::acos(x); };
    const auto slope = [](double x) { return -1 / std::sqrt((1 - x) * (1 + x)); };
    for (const double x : {0.99999532928659207, 0.999}) {
        const Cause twice = cause_of(f, slope, {x}, {2});
        CHECK_EQ(to_string(twice.mistake), to_string(Mistake::factor));
        const Cause negative = cause_of(f, slope, {x}, {-1});
        CHECK_EQ(to_string(negative.mistake), to_string(Mistake::sign));
    }
    // The differences of the first do not help; those of the others show the factor.
    const Cause twice = cause_of(f, slope, {1 - 1e-11, 0.5, 0.9, 0.3}, {2, 2, 2, 2});
    CHECK_EQ(to_string(twice.mistake), to_string(Mistake::factor));
    CHECK_EQ(twice.evidence.find("nan"), std::string::npos);
}

TEST_CASE("causes: a factor of 1 explains nothing; small wrong elements count by their own size") {
    const auto exp = [](double x) { return std::exp(100 * x); };
    const auto slope = [](double x) { return 100 * std::exp(100 * x); };
    const Cause sign = cause_of(exp, slope, {1, 0.7, 0.8, 0.9}, {1, -1, 1, 1});
    CHECK_EQ(to_string(sign.mistake), to_string(Mistake::partial));
    const Cause all = cause_of(exp, slope, {1, 0.7, 0.8, 0.9}, Plain(4, 1.01));
    CHECK_EQ(to_string(all.mistake), to_string(Mistake::factor));
    const auto power = [](double x) { return std::pow(x, x); };
    const auto rise = [](double x) { return std::pow(x, x) * (std::log(x) + 1); };
    const Cause hidden = cause_of(power, rise, {20, 2, 10, 15}, {1, -1, 1, 1});
    CHECK_NE(to_string(hidden.mistake), to_string(Mistake::factor));
    CHECK_NE(to_string(hidden.mistake), to_string(Mistake::missing_term));
}

TEST_CASE("causes: a single wrong element is no half and no second one") {
    const auto each = [](double x) { return 2 * x; };
    const auto slope = [](double) { return 2.0; };
    const Cause cause = cause_of(each, slope, {1, 0.5, 2, 0.25, 3}, {1, 1, 0, 1, 1});
    CHECK_EQ(to_string(cause.mistake), to_string(Mistake::partial));
    CHECK_EQ(cause.evidence, "1 of 5 elements are wrong, the first is number 2");
    const Cause of_two = cause_of(each, slope, {1, 0.5}, {1, 0.75});
    CHECK_EQ(of_two.evidence, "1 of 2 elements are wrong, the first is number 1");
}

TEST_CASE("causes: of complex numbers only the real parts have a gradient") {
    const auto f = [](const ComplexValues& z) {
        double sum = 0;
        for (const auto& one : z) sum += std::norm(one);
        return sum;
    };
    const auto real = [](ComplexValues z) {
        for (auto& one : z) one = 2 * one.real();
        return z;
    };
    const ComplexValues z{{1, 2}, {-0.5, 0.7}, {0.3, -1.1}};
    const auto report = check_gradient(f, real, z);
    REQUIRE(report.first_wrong.has_value());
    const Cause& cause = report.first_wrong->cause;
    CHECK_EQ(to_string(cause.mistake), to_string(Mistake::samples));
    CHECK_MESSAGE(test::contains(cause.hint, "only the real parts"), cause.hint);
}
