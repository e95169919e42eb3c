// The checker's verdicts on the corpus: are they right, is the cause true, is the place really
// wrong? Causes are judged numerically: a stated cause must hold, whatever mistake was planted.
#pragma once

#include <tapestry/tests/mutations/corpus.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tapestry::test {

/// The checker's report; empty if it throws, with the message in `thrown`.
std::optional<GradcheckReport> checked(const CorpusCase& one, std::uint64_t number,
                                       std::string* thrown = nullptr);

struct RightCounts {
    int cases = 0, passed = 0, inconclusive = 0, failed = 0, threw = 0;
    int must_pass = 0, must_pass_inconclusive = 0;
    RightCounts& operator+=(const RightCounts& other);
};

struct WrongCounts {
    int cases = 0, failed = 0, inconclusive = 0, passed = 0, threw = 0;
    int must_fail = 0, must_fail_inconclusive = 0;
    int passed_beyond = 0;  ///< off by more than max(1e-6, the resolution that the report states)
    double gap = 0;         ///< the worst of those that passed: off by, over what the report states
    int nameable = 0, named = 0, unknown = 0, misleading = 0;  ///< among those that failed
    std::int64_t evaluations = 0;
    int placed = 0, placed_right = 0;  ///< reports with a place; with a wrong entry's place
    WrongCounts& operator+=(const WrongCounts& other);
};

/// |a - b| / |b|; 1 if only b is zero.
double distance(const std::vector<double>& a, const std::vector<double>& b);

/// Called with each unexpected result as a line: the case, the result, the expectation.
using Found = std::function<void(const std::string&)>;

/// By template.
std::map<std::string, RightCounts> try_right(int cases, std::uint64_t seed, const Found& found);
/// By mistake.
std::map<std::string, WrongCounts> try_wrong(int cases, std::uint64_t seed, const Found& found,
                                             Format format = Format::f64);

}  // namespace tapestry::test
