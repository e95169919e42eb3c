// Hiding words of a text, for a model that learns by guessing them (nn/models).
#pragma once

#include <tapestry/core/random.h>
#include <tapestry/core/tensor.h>

#include <cstdint>
#include <vector>

namespace tapestry {

struct MaskingOptions {
    std::int64_t vocab = 0;
    std::int64_t mask_id = 0;  ///< what a hidden token is replaced by: [MASK]
    /// Tokens that are never hidden and never put in another's place: [PAD], [CLS], [SEP]. The mask
    /// is one of them, listed or not.
    std::vector<std::int64_t> special_ids = {};
    double rate = 0.15;   ///< share of a sequence's ordinary tokens that are to be guessed
    double masked = 0.8;  ///< share of these that become [MASK]
    double random = 0.1;  ///< share of these that become any ordinary token; the others stay
};

struct MaskedTokens {
    Tensor ids;      ///< i64 [B, T]
    Tensor targets;  ///< i64 [B, T]: what stood at the chosen places; elsewhere -100, not counted
};

/// Chooses rate * n places, rounded but at least one, of the n ordinary tokens of each sequence,
/// all places equally likely. Why some are not masked: text that is read later holds no [MASK], and
/// a model that knows which places count would care for no other. All random numbers come from
/// `generator`. ids i64 [B, T]. Throws ShapeError and DTypeError for other ids, IndexError for an
/// id outside the vocabulary, ValueError for options that are none.
/// Source: Devlin et al. 2018 (BERT), section 3.1 and appendix A.1.
MaskedTokens mask_tokens(const Tensor& ids, const MaskingOptions& options, Generator& generator);

}  // namespace tapestry
