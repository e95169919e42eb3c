#include <tapestry/tests/mutations/judge.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace tapestry::test {
namespace {

using Values = std::vector<double>;

constexpr double kUnseen = 1e-6;

bool contains(const std::vector<std::string_view>& words, std::string_view said) {
    return std::any_of(words.begin(), words.end(), [said](std::string_view word) {
        return said.find(word) != std::string_view::npos;
    });
}

// The claimed and the right gradient, for all outputs together.
struct Pair {
    Values right, claimed;
};

Pair gradients_of(const CorpusCase& one) {
    const auto all = cotangents(one.plain.f(one.plain.x).size());
    const Values& w = all[all.size() - 2];  // the last ones are scaled up
    return {one.right(one.plain.x, w), one.plain.pullback(one.plain.x, w)};
}

// Is the claimed gradient a multiple of the right one, much closer than the right one itself?
bool is_factor(const Pair& pair) {
    const auto dot = [](const Values& a, const Values& b) {
        return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
    };
    const double size = dot(pair.right, pair.right);
    if (size == 0) return false;
    const double factor = dot(pair.claimed, pair.right) / size;
    Values model = pair.right;
    for (double& slope : model) slope *= factor;
    return distance(model, pair.claimed) < 1e-3 * std::min(1.0, std::abs(factor - 1));
}

// Does an output, or do all together, propagate almost no gradient?
bool is_zero(const CorpusCase& one) {
    const auto squares = [](const Values& g) {
        return std::inner_product(g.begin(), g.end(), g.begin(), 0.0);
    };
    const auto all = cotangents(one.plain.f(one.plain.x).size());
    return std::any_of(all.begin(), all.end(), [&](const Values& g) {
        const double right = squares(one.right(one.plain.x, g));
        return right > 0 && squares(one.plain.pullback(one.plain.x, g)) < 1e-8 * right;
    });
}

// Is it the gradient of a single output, or of all but one?
bool is_of_some_outputs(const CorpusCase& one, const Pair& pair) {
    const auto all = cotangents(one.plain.f(one.plain.x).size());
    const Values& w = all[all.size() - 2];
    for (std::size_t k = 0; k < w.size(); ++k) {
        Values alone(w.size(), 0.0), rest = w;
        alone[k] = std::exchange(rest[k], 0.0);
        for (const Values& g : {alone, rest}) {
            if (distance(one.right(one.plain.x, g), pair.claimed) < 1e-6) return true;
        }
    }
    return false;
}

// Does another mistake with this name give the same numbers?
bool same_as_another(const CorpusCase& one, std::string_view said, const Pair& pair) {
    PlainCase base = one.plain;
    base.pullback = one.right;
    CorpusCase other = one;
    for (const PlantedMistake& mistake : planted_mistakes()) {
        if (!contains(mistake.causes, said)) continue;
        for (std::uint64_t seed = 0; seed < 64; ++seed) {
            Draw draw(seed);
            const Planted planted = mistake.plant(base, draw);
            if (!planted.pullback) continue;
            other.plain.pullback = planted.pullback;
            if (distance(gradients_of(other).claimed, pair.claimed) < 1e-6) return true;
        }
    }
    return false;
}

Mistake cause_of(const GradcheckReport& report) {
    if (report.first_wrong) return report.first_wrong->cause.mistake;
    return report.cause ? report.cause->mistake : Mistake::unknown;
}

enum class Naming { right, unknown, misleading };

// In a narrow format a claim next to the right number is right.
double narrowest(Format format) { return format == Format::f64 ? 0 : epsilon(format); }

// The report's cause: right, unknown (or too vague), or false.
Naming naming(const CorpusCase& one, const GradcheckReport& report) {
    for (const std::string& complaint : report.complaints) {
        if (contains(one.mistake->causes, complaint)) return Naming::right;
    }
    const Mistake said = cause_of(report);
    if (contains(one.mistake->causes, to_string(said))) return Naming::right;
    if (said == Mistake::unknown) {
        return one.mistake->causes.empty() ? Naming::right : Naming::unknown;
    }
    const Pair pair = gradients_of(one);
    if (said == Mistake::factor && is_factor(pair)) return Naming::right;
    if (said == Mistake::zero && is_zero(one)) return Naming::right;
    const bool of_outputs = said == Mistake::missing_sum || contains({"samples"}, to_string(said));
    if (of_outputs && is_of_some_outputs(one, pair)) return Naming::right;
    const Values worst = errors(one);
    const auto wrong = static_cast<std::size_t>(
        std::count_if(worst.begin(), worst.end(), [](double error) { return error > 1e-9; }));
    if (said == Mistake::partial && wrong < worst.size()) {
        return one.mistake->causes.empty() ? Naming::right : Naming::unknown;
    }
    return same_as_another(one, to_string(said), pair) ? Naming::right : Naming::misleading;
}

// The element in "at [2, 5], output element 3"; empty if none is named.
std::optional<std::size_t> place_in(const std::string& where, const PlainCase& of) {
    const auto at = where.find("at [");
    if (at == std::string::npos) return {};
    std::size_t flat = 0;
    int axis = 0;
    const char* text = where.c_str() + at + 4;
    for (; *text != ']' && *text != 0; ++axis) {
        char* end = nullptr;
        const auto index = static_cast<std::size_t>(std::strtoull(text, &end, 10));
        flat =
            flat * (of.shape.rank() > axis ? static_cast<std::size_t>(of.shape[axis]) : 1) + index;
        text = end + (*end == ',' ? 1 : 0);
    }
    return flat < of.x.size() ? std::optional(flat) : std::nullopt;
}

std::optional<std::size_t> named_place(const CorpusCase& one, const GradcheckReport& report) {
    if (report.first_wrong) {
        if (const auto place = place_in(report.first_wrong->slope.where, one.plain)) return place;
    }
    return report.inputs.empty() ? std::nullopt : place_in(report.inputs[0].worst.where, one.plain);
}

std::string line_of(const CorpusCase& one, std::uint64_t number, std::uint64_t seed,
                    const std::string& got, const std::string& expected) {
    return fmt::format("{} {}/{}: got {}, expected {} ({})", one.mistake ? "wrong" : "right", seed,
                       number, got, expected, one.title);
}

std::string verdict_text(const GradcheckReport& report) {
    std::string text(to_string(report.verdict));
    if (report.reason != Reason::none) text += fmt::format(" ({})", to_string(report.reason));
    return text;
}

void judge_failure(const CorpusCase& one, const GradcheckReport& report, WrongCounts& counts,
                   const std::function<void(const std::string&, const std::string&)>& tell) {
    const Mistake said = cause_of(report);
    ++counts.nameable;
    const Naming name = naming(one, report);
    if (name == Naming::right) ++counts.named;
    if (name == Naming::unknown) ++counts.unknown;
    if (name == Naming::misleading) ++counts.misleading;
    if (name != Naming::right) {
        tell(fmt::format("cause \"{}\"{}", to_string(said),
                         name == Naming::misleading ? ", which is not so" : ""),
             fmt::format("\"{}\"",
                         one.mistake->causes.empty() ? "unknown" : one.mistake->causes[0]));
    }
    const auto place = named_place(one, report);
    if (!place) return;
    ++counts.placed;
    if (errors(one)[*place] > 1e-9) {
        ++counts.placed_right;
    } else {
        tell(fmt::format("place {}, which is right", *place), "one that is wrong");
    }
}

}  // namespace

double distance(const std::vector<double>& a, const std::vector<double>& b) {
    double apart = 0, size = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        apart += (a[i] - b[i]) * (a[i] - b[i]);
        size += b[i] * b[i];
    }
    return size > 0 ? std::sqrt(apart / size) : (apart > 0 ? 1 : 0);
}

std::optional<GradcheckReport> checked(const CorpusCase& one, std::uint64_t number,
                                       std::string* thrown) {
    GradcheckOptions options;
    options.bounds = one.plain.bounds;
    options.format = one.plain.format;
    options.seed = number + 1;
    try {
        return check_pullback(one.plain.f, one.plain.pullback, one.plain.x, options,
                              one.plain.shape, one.plain.output);
    } catch (const std::exception& error) {
        if (thrown != nullptr) *thrown = error.what();
        return {};
    }
}

RightCounts& RightCounts::operator+=(const RightCounts& other) {
    cases += other.cases;
    passed += other.passed;
    inconclusive += other.inconclusive;
    failed += other.failed;
    threw += other.threw;
    must_pass += other.must_pass;
    must_pass_inconclusive += other.must_pass_inconclusive;
    return *this;
}

WrongCounts& WrongCounts::operator+=(const WrongCounts& other) {
    cases += other.cases;
    failed += other.failed;
    inconclusive += other.inconclusive;
    passed += other.passed;
    threw += other.threw;
    must_fail += other.must_fail;
    must_fail_inconclusive += other.must_fail_inconclusive;
    passed_beyond += other.passed_beyond;
    gap = std::max(gap, other.gap);
    evaluations += other.evaluations;
    nameable += other.nameable;
    named += other.named;
    unknown += other.unknown;
    misleading += other.misleading;
    placed += other.placed;
    placed_right += other.placed_right;
    return *this;
}

std::map<std::string, RightCounts> try_right(int cases, std::uint64_t seed, const Found& found) {
    std::map<std::string, RightCounts> all;
    for (std::uint64_t number = 0; number < static_cast<std::uint64_t>(cases); ++number) {
        const CorpusCase one = right_case(number, seed);
        RightCounts& counts = all[std::string(one.of)];
        ++counts.cases;
        counts.must_pass += one.must_pass;
        std::string thrown;
        const auto report = checked(one, number, &thrown);
        const char* expected = one.must_pass ? "PASS" : "PASS or INCONCLUSIVE";
        if (!report) {
            ++counts.threw;
            found(line_of(one, number, seed, "an exception: " + thrown, expected));
            continue;
        }
        counts.passed += report->verdict == Verdict::pass;
        counts.failed += report->verdict == Verdict::fail;
        const bool inconclusive = report->verdict == Verdict::inconclusive;
        counts.inconclusive += inconclusive;
        counts.must_pass_inconclusive += inconclusive && one.must_pass;
        if (report->verdict == Verdict::fail || (inconclusive && one.must_pass)) {
            found(line_of(one, number, seed, verdict_text(*report), expected));
        }
    }
    return all;
}

std::map<std::string, WrongCounts> try_wrong(int cases, std::uint64_t seed, const Found& found,
                                             Format format) {
    std::map<std::string, WrongCounts> all;
    for (std::uint64_t number = 0; number < static_cast<std::uint64_t>(cases); ++number) {
        const CorpusCase one = wrong_case(number, seed, format);
        WrongCounts& counts = all[std::string(one.of)];
        ++counts.cases;
        counts.must_fail += one.must_fail;
        std::string thrown;
        const auto report = checked(one, number, &thrown);
        const auto tell = [&](const std::string& got, const std::string& expected) {
            found(line_of(one, number, seed, got, expected));
        };
        if (!report) {
            ++counts.threw;
            tell("an exception: " + thrown, "FAIL");
            continue;
        }
        counts.evaluations += report->runs;
        if (report->verdict == Verdict::fail) {
            ++counts.failed;
            judge_failure(one, *report, counts, tell);
            continue;
        }
        const bool passed = report->verdict == Verdict::pass;
        const Values worst = errors(one);
        const double off = *std::max_element(worst.begin(), worst.end());
        counts.inconclusive += !passed;
        counts.must_fail_inconclusive += !passed && one.must_fail;
        counts.passed += passed;
        const double gap = off / std::max({kUnseen, report->resolution, 8 * narrowest(format)});
        counts.passed_beyond += passed && gap > 1;
        if (passed) counts.gap = std::max(counts.gap, gap);
        if (!passed && !one.must_fail) continue;
        tell(verdict_text(*report), fmt::format("FAIL: it is off by {:.1e} of an entry", off));
    }
    return all;
}

}  // namespace tapestry::test
