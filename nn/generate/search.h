// Search for a likely sequence: greedy, or by beams.
#pragma once

#include <tapestry/nn/generate/decoding.h>

namespace tapestry {

/// The form and length of the sequences.
struct SearchOptions {
    std::int64_t begin_id = 0;     ///< first token of every sequence; not part of the result
    std::int64_t end_id = 1;       ///< last token of a sequence; not part of the result
    std::int64_t max_length = 64;  ///< maximum number of tokens, not counting the end
};

/// Takes the likeliest next token each time, for `batch` sequences at once; for equal logits, the
/// smaller id. A logit of -inf forbids its token. Throws ValueError for a batch below 1 or a
/// negative length, DivergedError for logits with NaN or inf.
std::vector<std::vector<std::int64_t>> greedy(Decoding& decoding, std::int64_t batch,
                                              const SearchOptions& options);

/// How many sequences to pursue, and how to compare those of different length.
struct BeamOptions : SearchOptions {
    std::int64_t beams = 4;  ///< sequences pursued at once, at least 1
    /// A finished sequence of n tokens, including its end, has the score log P / ((5 + n) /
    /// 6)^penalty; 0 favours short ones.
    double length_penalty = 0.6;
};

/// A sequence that beam search found.
struct Hypothesis {
    std::vector<std::int64_t> ids;  ///< without begin and end
    double score = 0;               ///< length-normalised
    double log_probability = 0;     ///< sum over its tokens, the end's included
};

/// Keeps the `beams` likeliest prefixes and extends them all, until as many are finished and no
/// growing one could overtake the worst of them, or max_length is reached. Returns up to `beams`
/// hypotheses per sequence of the batch, best first. One beam without penalty is greedy search.
/// Throws ValueError as greedy does, for fewer than one beam, or a negative penalty. Sources:
/// Sutskever et al. 2014, section 3.2; penalty: Wu et al. 2016 (GNMT), equation 14.
std::vector<std::vector<Hypothesis>> beam_search(Decoding& decoding, std::int64_t batch,
                                                 const BeamOptions& options);

}  // namespace tapestry
