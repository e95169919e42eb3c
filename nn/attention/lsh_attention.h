// Attention by locality-sensitive hashing: positions are sorted so that similar vectors are next to
// each other, and attend to what is near in that order. Read next: attention_form.h, the interface;
// sparse_attention.h, whose patterns do not depend on the vectors.
#pragma once

#include <tapestry/core/random.h>
#include <tapestry/nn/attention/attention_form.h>

namespace tapestry {

/// The bucket of each vector by its direction, i64 [B, H, R, S], for x [B, H, S, D] and rotations
/// [R, D, C], one random matrix for each of R rounds: h(x) = argmax([x W; -x W]) for the first b /
/// 2 columns W of the round's matrix. The smaller the angle between two vectors, the likelier they
/// share a bucket. Of b > 16 buckets, h is a number with a digit for each hash of 16 buckets and
/// one of the rest, so 8 columns are enough for every factor of 16. (One hash of all b would take
/// S D b operations, S^2 where b grows with S.)
///
/// Cost: O(R S D log b) operations. No gradient flows through it. Throws ValueError unless
/// `buckets` is a power of 2, at least 2, for which there are enough columns. Source: Andoni et al.
/// 2015, "Practical and Optimal LSH for Angular Distance".
Tensor angular_hash(const Tensor& x, const Tensor& rotations, std::int64_t buckets);

/// softmax attention in which a position's vector x_i is its query, x_i / |x_i| its key, and only
/// positions with similar vectors see each other. A round sorts the positions by bucket and, within
/// one, by position, and cuts this order into chunks; in round r, i sees P_ir, the positions in its
/// chunk and the one before. With s_ij = scale x_i . x_j / |x_j|:
///
///     z_ir = log sum_{j in P_ir} e^s_ij            o_ir = sum_{j in P_ir} e^(s_ij - z_ir) v_j
///     y_i = sum_r e^z_ir o_ir / sum_r e^z_ir
///
/// So a position seen in n of the rounds counts n times. If causal, P_ir has only j <= i. It has i
/// itself only if there is nothing else in any round, because x_i is nearest to itself. There are
/// 2 S / chunk buckets, rounded up to a power of 2.
///
/// q must be k, or if causal its last T positions, as with a cache; a MultiHeadAttention computes
/// one projection for both. The order depends on all positions: even if causal, later ones decide
/// how many of the earlier ones a position sees, so writing token by token is not exactly what
/// training on whole texts was. With S <= chunk it is softmax attention over all positions.
///
/// Cost: O(R S (chunk (D + E) + D log S)) operations, and a sort; keeps O(R S (chunk + D + E))
/// numbers. Masks: bool [B, 1, 1, S] (others: ValueError); masked positions are sorted to the end.
/// Dropout and scale as in softmax attention. The random matrices are a buffer, saved with the
/// model. Gradient: of the sums above, with the order as a constant. Source: Kitaev et al. 2020,
/// "Reformer: The Efficient Transformer", section 2. As in transformers, what is near in the order
/// is seen whatever its bucket, and without the -log n of the paper's appendix A, which lets a
/// position count once.
class LSHAttention : public AttentionForm {
public:
    Tensor rotations;  ///< [R, D, 40]

    /// For heads of size D = `head_dim`, with chunks of `chunk` positions and R = `rounds`. Throws
    /// ValueError unless all are positive.
    LSHAttention(std::int64_t head_dim, std::int64_t chunk, std::int64_t rounds,
                 Generator& generator = default_generator());

    Tensor operator()(const Tensor& q, const Tensor& k, const Tensor& v,
                      const AttentionOptions& options) const override;
    bool shares_keys() const override { return true; }
    std::string settings() const override;

    /// Buckets for S = `keys` positions, at most 2^20.
    std::int64_t buckets(std::int64_t keys) const;

private:
    std::int64_t chunk_;
};

}  // namespace tapestry
