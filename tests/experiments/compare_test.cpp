// The verdicts of two runs, side by side.
#include <tapestry/core/error.h>
#include <tapestry/core/file.h>
#include <tapestry/examples/school/experiments/registry.h>
#include <tapestry/examples/school/experiments/run_experiments.h>
#include <tapestry/tests/source_dir.h>

#include <doctest/doctest.h>

using namespace tapestry::experiments;

namespace {

// Ten seeds of word_order: order_is_lost, learned_tell, sinusoids_tell, rotations_tell,
// shift_is_rotation; the first is below its bound, the others at these numbers of standard errors
// from theirs.
Results results_with(std::uint64_t seed, double learned, double sinusoids) {
    Found found{.name = "word_order", .report = {}, .outcomes = {}};
    for (const Claim& claim : find_experiment("word_order").claims) {
        found.report.decided[claim.name] = exactly(0);
    }
    const auto at = [&](const char* name, double errors) {
        for (const Claim& claim : find_experiment("word_order").claims) {
            if (claim.name != name) continue;
            const double mean = claim.rule.low + errors;
            found.report.decided[name] = {{mean, mean - 2.262, mean + 2.262, 10}};
        }
    };
    at("learned_tell", learned);
    at("sinusoids_tell", sinusoids);
    Results results;
    results.seed = seed;
    results.found = {found};
    return results;
}

bool has(const std::string& text, const std::string& words) {
    return text.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("verdicts of two runs: what reversed, what moved, and how many") {
    const Results first = results_with(1, 8, 8);
    CHECK(compare_verdicts(first, results_with(11, 9, 7)) ==
          "5 claims, seeds 1 to 10 and seeds 11 to 20\n"
          "  corrected for all claims: 0 reversed (0.0 %), 0 moved to or from \"not shown\" (0.0 "
          "%)\n"
          "  each by itself: 0 reversed (0.0 %), 0 moved to or from \"not shown\" (0.0 %); 0.0 "
          "expected by chance\n"
          "2 of them depend on seeds\n"
          "  corrected for all claims: 0 reversed (0.0 %), 0 moved to or from \"not shown\" (0.0 "
          "%)\n"
          "  each by itself: 0 reversed (0.0 %), 0 moved to or from \"not shown\" (0.0 %); 0.0 "
          "expected by chance\n");
    const std::string moved = compare_verdicts(first, results_with(11, -8, 1));
    CHECK(has(moved, "word_order: learned_tell    holds"));
    CHECK(has(moved, "corrected for all claims: 1 reversed (20.0 %), 1 moved"));
    CHECK(
        has(moved, "each by itself: 1 reversed (20.0 %), 1 moved to or from \"not shown\" (20.0"));
    // Other seeds cannot move what is computed: of two that they can, one is half.
    CHECK(has(moved, "2 of them depend on seeds\n  corrected for all claims: 1 reversed (50.0 %)"));
    const std::string same = "both have the same seeds";
    CHECK(has(compare_verdicts(first, results_with(1, 8, 1)), same));
    CHECK_FALSE(has(moved, same));
    // 2.5 errors are shown alone (p = 0.034), but not among two.
    const std::string both = compare_verdicts(results_with(1, 2.5, 2.5), results_with(11, 8, 2.5));
    CHECK(has(both, "not shown (alone: holds)"));
    CHECK(has(both, "corrected for all claims: 0 reversed (0.0 %), 2 moved"));
    CHECK(has(both, "each by itself: 0 reversed (0.0 %), 0 moved"));
    CHECK(has(both, "; 0.9 expected by chance\n"));  // 2.5 errors: either is on the edge
}

TEST_CASE("verdicts of two runs: values that are the same promise nothing") {
    Results first = results_with(1, 8, 8);
    first.found[0].report.decided["learned_tell"] = student(std::vector<double>(10, 1));
    const std::string moved = compare_verdicts(first, results_with(11, 1, 8));
    CHECK(has(moved,
              "1 moved to or from \"not shown\" (50.0 %); 0.0 expected by chance of all but "
              "the 1 whose values are the same"));
    CHECK_FALSE(has(moved, "100 %"));
}

TEST_CASE("verdicts of two runs: what cannot be compared") {
    Results first = results_with(1, 8, 8), quick = first, none = first;
    quick.quick = true;
    CHECK_THROWS_WITH_AS(compare_verdicts(first, quick),
                         "verdicts of quick runs are not compared with those of whole ones",
                         tapestry::ValueError);
    none.found.clear();
    CHECK_THROWS_WITH_AS(compare_verdicts(first, none), "the two have no claim in common",
                         tapestry::ValueError);
    Results older = first;
    older.found[0].report.decided.erase("learned_tell");
    CHECK_THROWS_WITH_AS(compare_verdicts(first, older),
                         "experiment word_order: its results have no claim 'learned_tell', so they "
                         "are of another version",
                         tapestry::ValueError);
}

TEST_CASE("verdicts of two runs: the page's are its own") {
    const auto json = tapestry::test::source_dir() / "docs/experiments.json";
    const Results page = results_from_json(tapestry::read_file(json));
    const std::string same = compare_verdicts(page, page);
    CHECK(has(same, "corrected for all claims: 0 reversed (0.0 %), 0 moved"));
    // One experiment alone: the page has more claims, and each of both is corrected for its own.
    Results one = page;
    one.found = {page.found.front()};
    CHECK(has(compare_verdicts(page, one), " in all)"));
}
