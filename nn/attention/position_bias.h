// Biases that attention adds to its scores for the distance between query and key, leaving the
// vectors unchanged: ALiBi, a fixed line per head, and T5's relative bias, which is learned.
//
// The T queries are the last of S positions, as with AttentionOptions::causal: query i is at
// position i + S - T.
#pragma once

#include <tapestry/nn/layers/rotary.h>
#include <tapestry/nn/module/module.h>

#include <vector>

namespace tapestry {

/// m_h = 2^(-8 (h + 1) / H) for H = 2^n heads h = 0, 1, ...; otherwise those of the next smaller
/// 2^n, then the first, third, ... of twice as many.
std::vector<double> alibi_slopes(std::int64_t heads);

/// [H, T, S]: -m_h |i + S - T - j| for query i and key j, a constant. The entries depend only on
/// j - i, so the result is a view of 2 S - 1 numbers per head. Source: Press, Smith and Lewis 2022,
/// "Train Short, Test Long" (ALiBi), where no query looks ahead.
class AlibiBias {
public:
    /// Throws ValueError unless heads is positive.
    explicit AlibiBias(std::int64_t heads);
    /// Throws ValueError for more queries than keys.
    Tensor operator()(std::int64_t queries, std::int64_t keys, DType dtype) const;

private:
    GrowingTable table_;  // [H, 2 N - 1]
};

/// The configuration of a RelativeBias.
struct RelativeBiasConfig {
    std::int64_t heads = 1;       ///< H
    bool causal = false;          ///< use all buckets for keys that are not ahead
    std::int64_t buckets = 32;    ///< half of them for keys ahead, unless causal
    std::int64_t distance = 128;  ///< all larger distances share the last bucket
};

/// The bucket of a key `ahead` positions ahead of the query (behind it if negative): of the buckets
/// for its side, half are for one distance each, the others for ranges that grow exponentially.
std::int64_t relative_bucket(std::int64_t ahead, const RelativeBiasConfig& config);

/// [H, T, S]: weight[bucket of j - (i + S - T), h]. Source: Raffel et al. 2020 (T5), section 2.1,
/// where all layers share one table; here each attention module has its own.
class RelativeBias : public Module {
public:
    Tensor weight;  ///< [buckets, H], zeros

    /// Throws ValueError for fewer than 4 buckets, an odd number of them, or a distance within the
    /// buckets of one distance each.
    explicit RelativeBias(const RelativeBiasConfig& config);
    /// Throws ValueError for more queries than keys.
    Tensor operator()(std::int64_t queries, std::int64_t keys) const;
    std::string settings() const override;

private:
    RelativeBiasConfig config_;
    GrowingTable buckets_;  // i64 [1, 2 N - 1]
};

}  // namespace tapestry
