// How well texts are translated: exact matches, BLEU, chrF and word errors, as sacrebleu and the
// papers define them. Read next: translate_task.h, which translates.
#pragma once

#include <tapestry/nn/module/config_fields.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tapestry {

/// The tokens whose sequences BLEU counts.
enum class BleuTokens {
    words,      ///< "13a", the tokenizer of mteval-v13a and sacrebleu's default
    characters  ///< "char", for a language that is written without spaces
};

template <>
struct NamesOf<BleuTokens> {
    static constexpr EnumNames<BleuTokens, 2> list{
        {{BleuTokens::words, "13a"}, {BleuTokens::characters, "char"}}};
};

/// The scores of some translations.
struct TranslationScores {
    std::int64_t pairs = 0;                 ///< number of translations
    std::int64_t exact = 0;                 ///< of these: equal to their reference
    std::int64_t characters = 0;            ///< predicted, or tokens; the ends included
    std::string unit = "character";         ///< what is predicted: "character" or "token"
    double loss = 0;                        ///< mean cross-entropy of these in nats
    double bleu = 0;                        ///< corpus_bleu
    double chrf = 0;                        ///< corpus_chrf
    double word_errors = 0;                 ///< word_error_rate
    BleuTokens tokens = BleuTokens::words;  ///< of BLEU
};

/// BLEU of a corpus with one reference for each hypothesis, 0 to 100:
///     BP exp(mean of log p_n, n = 1 .. 4),   BP = min(1, exp(1 - r / h))
/// where p_n is the share of a hypothesis' sequences of n tokens that its reference has, each at
/// most as often as there; r and h are the numbers of tokens. The k-th p_n of 0 matches counts as
/// 1 / (2^k total). Sources: Papineni et al. 2002; Post 2018 ("A Call for Clarity"), sacrebleu's
/// defaults. Throws ValueError for two different numbers of texts.
double corpus_bleu(const std::vector<std::string>& hypotheses,
                   const std::vector<std::string>& references,
                   BleuTokens tokens = BleuTokens::words);

/// chrF2 of a corpus, 0 to 100: (1 + 4) P R / (4 P + R), with the means P and R over n = 1 .. 6 of
/// the share of n-grams of characters, without white space, that match. Source: Popovic 2015, with
/// sacrebleu's defaults. Throws ValueError for two different numbers of texts.
double corpus_chrf(const std::vector<std::string>& hypotheses,
                   const std::vector<std::string>& references);

/// Insertions, deletions and substitutions of words, between white space, that turn the hypotheses
/// into their references, divided by the references' words. For phonemes: the phoneme error rate.
/// Throws ValueError for two different numbers of texts.
double word_error_rate(const std::vector<std::string>& hypotheses,
                       const std::vector<std::string>& references);

/// All of them but the loss.
TranslationScores score_translations(const std::vector<std::string>& hypotheses,
                                     const std::vector<std::string>& references, BleuTokens tokens);

/// Two lines: "loss 0.1312 nats per character (perplexity 1.140) over 4215 characters of
/// test.tsv", "exact match 0.9440 (472 of 500), BLEU 97.21 (13a), chrF2 98.04, word error rate
/// 0.0121".
std::string to_text(const TranslationScores& scores, const std::string& of);

/// One JSON object.
std::string to_json(const TranslationScores& scores);

}  // namespace tapestry
