// What the checker says of the corpus: is it right, is the cause true, is the place one that is
// wrong? Causes are judged by the numbers: what is said must hold of them, whatever was planted.
#pragma once

#include <tapestry/tests/mutations/corpus.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tapestry::test {

/// What the checker says; nothing, and what was thrown in `thrown`, where it throws.
std::optional<GradcheckReport> checked(const CorpusCase& one, std::uint64_t number,
                                       std::string* thrown = nullptr);

struct RightCounts {
    int cases = 0, passed = 0, inconclusive = 0, failed = 0, threw = 0;
    int must_pass = 0, must_pass_inconclusive = 0;
    RightCounts& operator+=(const RightCounts& other);
};

struct WrongCounts {
    int cases = 0, failed = 0, inconclusive = 0, passed = 0, threw = 0;
    int passed_beyond = 0;  ///< off by more than max(1e-6, the resolution that the report states)
    int nameable = 0, named = 0, unknown = 0, misleading = 0;  ///< of those that failed
    int placed = 0, placed_right = 0;  ///< where a place was named; one that is wrong
    WrongCounts& operator+=(const WrongCounts& other);
};

/// |a - b| / |b|; 1 where b alone is zero.
double distance(const std::vector<double>& a, const std::vector<double>& b);

/// What is not as it should be, a line each: which case, got, expected.
using Found = std::function<void(const std::string&)>;

/// By template.
std::map<std::string, RightCounts> try_right(int cases, std::uint64_t seed, const Found& found);
/// By mistake.
std::map<std::string, WrongCounts> try_wrong(int cases, std::uint64_t seed, const Found& found);

}  // namespace tapestry::test
