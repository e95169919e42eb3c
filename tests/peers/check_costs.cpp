// What checking right gradients of many numbers costs, beside what the calls of f cost: user CPU
// time, one thread. check_costs.py does the same in NumPy and PyTorch; `check_costs` runs them all.
//
//     check_costs NAME N ROUNDS
//
// prints name, n, verdict, seconds of the check (the fastest of ROUNDS), seconds of a call of f and
// of the rule (medians), and how often the check called them.
#include <tapestry/autograd/check/plain.h>

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace {

using Values = std::vector<double>;

struct Case {
    std::function<Values(const Values& x)> f;
    std::function<Values(const Values& x, const Values& g)> rule;
};

constexpr std::size_t kRow = 100;

// One number, and the slope of each of its terms.
template <class Term, class Slope>
Case sum_of(Term term, Slope slope) {
    return {[=](const Values& x) {
                double sum = 0;
                for (const double at : x) sum += term(at);
                return Values{sum};
            },
            [=](const Values& x, const Values& g) {
                Values d(x.size());
                for (std::size_t i = 0; i < x.size(); ++i) d[i] = g[0] * slope(x[i]);
                return d;
            }};
}

template <class Term, class Slope>
Case each_of(Term term, Slope slope) {
    return {[=](const Values& x) {
                Values y(x.size());
                for (std::size_t i = 0; i < x.size(); ++i) y[i] = term(x[i]);
                return y;
            },
            [=](const Values& x, const Values& g) {
                Values d(x.size());
                for (std::size_t i = 0; i < x.size(); ++i) d[i] = g[i] * slope(x[i]);
                return d;
            }};
}

Values softmax(const Values& x) {
    Values y(x.size());
    for (std::size_t from = 0; from < x.size(); from += kRow) {
        const std::size_t end = std::min(from + kRow, x.size());
        double most = x[from], sum = 0;
        for (std::size_t i = from; i < end; ++i) most = std::max(most, x[i]);
        for (std::size_t i = from; i < end; ++i) sum += y[i] = std::exp(x[i] - most);
        for (std::size_t i = from; i < end; ++i) y[i] /= sum;
    }
    return y;
}

Values softmax_rule(const Values& x, const Values& g) {
    Values d = softmax(x);
    for (std::size_t from = 0; from < x.size(); from += kRow) {
        const std::size_t end = std::min(from + kRow, x.size());
        double sum = 0;
        for (std::size_t i = from; i < end; ++i) sum += g[i] * d[i];
        for (std::size_t i = from; i < end; ++i) d[i] *= g[i] - sum;
    }
    return d;
}

// (x - mean) / deviation of each row; and 1 / deviation, if asked for.
Values layer_norm(const Values& x, Values* inverse = nullptr) {
    Values y(x.size());
    for (std::size_t from = 0; from < x.size(); from += kRow) {
        const std::size_t end = std::min(from + kRow, x.size());
        const auto n = static_cast<double>(end - from);
        double mean = 0, variance = 0;
        for (std::size_t i = from; i < end; ++i) mean += x[i] / n;
        for (std::size_t i = from; i < end; ++i) variance += (x[i] - mean) * (x[i] - mean) / n;
        const double by = 1 / std::sqrt(variance + 1e-5);
        for (std::size_t i = from; i < end; ++i) y[i] = (x[i] - mean) * by;
        if (inverse != nullptr) inverse->push_back(by);
    }
    return y;
}

Values layer_norm_rule(const Values& x, const Values& g) {
    Values inverse;
    const Values y = layer_norm(x, &inverse);
    Values d(x.size());
    for (std::size_t from = 0; from < x.size(); from += kRow) {
        const std::size_t end = std::min(from + kRow, x.size());
        const auto n = static_cast<double>(end - from);
        double mean = 0, along = 0;
        for (std::size_t i = from; i < end; ++i) mean += g[i] / n, along += g[i] * y[i] / n;
        const double by = inverse[from / kRow];
        for (std::size_t i = from; i < end; ++i) d[i] = (g[i] - mean - y[i] * along) * by;
    }
    return d;
}

double gaussian(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0)); }
double below(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }

Case case_named(const std::string& name, std::size_t n) {
    const double part = 1 / static_cast<double>(n);
    const std::map<std::string, Case> cases{
        {"xsinx", sum_of([](double x) { return x * std::sin(x); },
                         [](double x) { return std::sin(x) + x * std::cos(x); })},
        {"squares", sum_of([part](double x) { return x * x * part; },
                           [part](double x) { return 2 * x * part; })},
        {"exp", each_of([](double x) { return std::exp(x); },  //
                        [](double x) { return std::exp(x); })},
        {"gelu", each_of([](double x) { return x * below(x); },
                         [](double x) { return below(x) + x * gaussian(x); })},
        {"softmax", {softmax, softmax_rule}},
        {"layer_norm", {[](const Values& x) { return layer_norm(x); }, layer_norm_rule}},
    };
    const auto found = cases.find(name);
    if (found != cases.end()) return found->second;
    std::fprintf(stderr, "check_costs: no case %s\n", name.c_str());
    std::exit(2);
}

double user_seconds() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return static_cast<double>(used.ru_utime.tv_sec) +
           1e-6 * static_cast<double>(used.ru_utime.tv_usec);
}

// Of one call; a call of a few microseconds is repeated, because the clock ticks slowly.
double median_seconds(const std::function<void()>& call) {
    constexpr int kSamples = 9;
    constexpr double kLong = 0.02;
    Values seconds;
    for (int i = 0; i < kSamples; ++i) {
        const double start = user_seconds();
        int calls = 0;
        do call();
        while (++calls < 1000 && user_seconds() - start < kLong);
        seconds.push_back((user_seconds() - start) / calls);
    }
    std::nth_element(seconds.begin(), seconds.begin() + kSamples / 2, seconds.end());
    return seconds[kSamples / 2];
}

// Normal numbers, by a generator of its own: the same for any build that is compared.
Values drawn(std::size_t n) {
    std::uint64_t state = 43;
    const auto uniform = [&state] {
        state = state * 6364136223846793005U + 1442695040888963407U;
        return (static_cast<double>(state >> 11U) + 0.5) * 0x1p-53;
    };
    Values x(n);
    for (double& at : x) {
        const double radius = std::sqrt(-2 * std::log(uniform()));
        at = radius * std::cos(2 * std::acos(-1.0) * uniform());
    }
    return x;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: check_costs NAME N ROUNDS\n");
        return 2;
    }
    const std::size_t n = std::strtoull(argv[2], nullptr, 10);
    const Case one = case_named(argv[1], n);
    const Values x = drawn(n);
    int of_f = 0, of_rule = 0;
    const auto f = [&](const Values& at) { return ++of_f, one.f(at); };
    const auto rule = [&](const Values& at, const Values& g) { return ++of_rule, one.rule(at, g); };
    double best = std::numeric_limits<double>::infinity();
    std::string verdict;
    for (int round = std::atoi(argv[3]); round > 0; --round) {
        of_f = of_rule = 0;
        const double start = user_seconds();
        const auto report = tapestry::check_pullback(f, rule, x);
        best = std::min(best, user_seconds() - start);
        verdict = report ? "PASS" : report.verdict == tapestry::Verdict::fail ? "FAIL" : "open";
    }
    const Values g(one.f(x).size(), 0.5);
    const double by_f = median_seconds([&] { one.f(x); });
    const double by_rule = median_seconds([&] { one.rule(x, g); });
    std::printf("%s %zu %s %.6g %.6g %d %.6g %d\n", argv[1], n, verdict.c_str(), best, by_f, of_f,
                by_rule, of_rule);
}
