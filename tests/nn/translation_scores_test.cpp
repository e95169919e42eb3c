// BLEU, chrF and word errors beside an independent implementation of their definitions
// (tests/fixtures/translation_scores/make.py), and by hand.
#include <tapestry/nn/train/translate/translation_scores.h>
#include <tapestry/tests/nn/support.h>
#include <tapestry/tests/source_dir.h>

#include <nlohmann/json.hpp>

#include <fstream>

using namespace tapestry;
using doctest::Approx;
using Texts = std::vector<std::string>;

TEST_CASE("translation scores: the values of another implementation") {
    std::ifstream file(test::source_dir() / "tests/fixtures/translation_scores/values.json");
    const auto cases = nlohmann::json::parse(file);
    CHECK(cases.size() == 22);
    double bleus = 0;
    for (const auto& one : cases) {
        const auto hypotheses = one["hypotheses"].get<Texts>();
        const auto references = one["references"].get<Texts>();
        CAPTURE(hypotheses.front());
        const double bleu = one["bleu"].get<double>();
        bleus += bleu;
        CHECK(corpus_bleu(hypotheses, references) == Approx(bleu).epsilon(1e-12));
        CHECK(corpus_bleu(hypotheses, references, BleuTokens::characters) ==
              Approx(one["bleu_char"].get<double>()).epsilon(1e-12));
        CHECK(corpus_chrf(hypotheses, references) ==
              Approx(one["chrf"].get<double>()).epsilon(1e-12));
        CHECK(word_error_rate(hypotheses, references) ==
              Approx(one["word_errors"].get<double>()).epsilon(1e-12));
    }
    CHECK(bleus > 500);  // the cases are no list of zeros
}

TEST_CASE("translation scores: by hand") {
    // 4 of 5 tokens, 3 of 4 pairs, 2 of 3, 1 of 2; as long as the reference.
    const double mean = std::pow(4.0 / 5 * 3 / 4 * 2 / 3 * 1 / 2, 0.25);
    CHECK(corpus_bleu({"a b c d x"}, {"a b c d e"}) == Approx(100 * mean));
    CHECK(corpus_bleu({"a b c d"}, {"a b c d e f"}) == Approx(100 * std::exp(1 - 6.0 / 4)));
    CHECK(corpus_bleu({"Yes, it is."}, {"Yes , it is ."}) == Approx(100));  // five tokens
    CHECK(corpus_bleu({"1,000-2"}, {"1,000 - 2"}) == 0);                    // three
    // One of two characters, no pair: P = R = (1/2 + 0) / 2.
    CHECK(corpus_chrf({"a c"}, {"ab"}) == Approx(25));
    CHECK(word_error_rate({"a b c", "d"}, {"a x", "d"}) == Approx(2.0 / 3));
    const TranslationScores scores =
        score_translations({"a b", "c"}, {"a b", "d"}, BleuTokens::characters);
    CHECK(scores.pairs == 2);
    CHECK(scores.exact == 1);
    CHECK(to_text(scores, "t.tsv").find("exact match 0.5000 (1 of 2), BLEU 0.00 (char), chrF2") !=
          std::string::npos);
    test::check_message<ValueError>([] { corpus_chrf({"a"}, {}); },
                                    "corpus_chrf: 1 hypotheses, but 0 references");
}
