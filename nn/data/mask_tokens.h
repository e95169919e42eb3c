// Masks tokens of a text, for models trained to predict them (nn/models).
#pragma once

#include <tapestry/core/random.h>
#include <tapestry/core/tensor.h>

#include <cstdint>
#include <vector>

namespace tapestry {

/// Which tokens to mask, and by what. Fractions are in [0, 1].
struct MaskingOptions {
    std::int64_t vocab = 0;    ///< ids below it may replace a token
    std::int64_t mask_id = 0;  ///< replaces a masked token: [MASK]
    /// Tokens that are never masked and never used as replacements: [PAD], [CLS], [SEP]. The mask
    /// is one of them, listed or not.
    std::vector<std::int64_t> special_ids = {};
    double rate = 0.15;   ///< fraction of a sequence's ordinary tokens to predict
    double masked = 0.8;  ///< fraction of these replaced by [MASK]
    double random = 0.1;  ///< fraction of these replaced by random ordinary tokens; the others stay
};

/// A masked text and what a model must predict of it.
struct MaskedTokens {
    Tensor ids;      ///< i64 [B, T]
    Tensor targets;  ///< i64 [B, T]: original ids at the chosen positions; -100 (ignored) elsewhere
};

/// Chooses rate * n positions, rounded but at least one, of the n ordinary tokens of each sequence,
/// uniformly. Some are not masked because text seen after training has no [MASK], and a model that
/// could tell which positions count would ignore the others. All random numbers come from
/// `generator`. ids i64 [B, T]. Throws ShapeError and DTypeError for other ids, IndexError for an
/// id outside the vocabulary, ValueError for invalid options. Source: Devlin et al. 2018 (BERT),
/// section 3.1 and appendix A.1.
MaskedTokens mask_tokens(const Tensor& ids, const MaskingOptions& options, Generator& generator);

}  // namespace tapestry
