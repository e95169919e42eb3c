// What attention adds to its scores for how far apart query and key stand, the vectors themselves
// being left alone: ALiBi, a straight line that each head has for good, and T5's relative bias,
// which is learned.
//
// T queries are the last of S positions, as with AttentionOptions::causal: query i stands at i + S
// - T.
#pragma once

#include <tapestry/nn/layers/rotary.h>
#include <tapestry/nn/module/module.h>

#include <vector>

namespace tapestry {

/// m_h = 2^(-8 (h + 1) / H) for H = 2^n heads h = 0, 1, ...; for others those of the next smaller
/// 2^n, then the first, third, ... of twice as many.
std::vector<double> alibi_slopes(std::int64_t heads);

/// [H, T, S]: -m_h |i + S - T - j| for query i and key j, a constant. A matrix whose entries depend
/// on j - i alone takes 2 S - 1 numbers a head, of which this is a view.
/// Source: Press, Smith and Lewis 2022, "Train Short, Test Long" (ALiBi), where no query looks
/// ahead.
class AlibiBias {
public:
    explicit AlibiBias(std::int64_t heads);
    /// Throws ValueError for more queries than keys.
    Tensor operator()(std::int64_t queries, std::int64_t keys, DType dtype) const;

private:
    GrownTable table_;  // [H, 2 N - 1]
};

struct RelativeBiasConfig {
    std::int64_t heads = 1;
    bool causal = false;          ///< all buckets for keys that are not ahead
    std::int64_t buckets = 32;    ///< half of them for keys ahead, unless causal
    std::int64_t distance = 128;  ///< and all beyond share the last bucket
};

/// The bucket of a key `ahead` positions ahead of the query (behind it if negative): of those for
/// its side, half for one distance each, the others for ranges that grow as powers.
std::int64_t relative_bucket(std::int64_t ahead, const RelativeBiasConfig& config);

/// [H, T, S]: weight[bucket of j - (i + S - T), h].
/// Source: Raffel et al. 2020 (T5), section 2.1, where all layers share one table; here each
/// attention has its own.
class RelativeBias : public Module {
public:
    Tensor weight;  // [buckets, H], zeros

    /// Throws ValueError for fewer buckets than 4, an odd number, or a distance within the buckets
    /// of one distance each.
    explicit RelativeBias(const RelativeBiasConfig& config);
    /// Throws ValueError for more queries than keys.
    Tensor operator()(std::int64_t queries, std::int64_t keys) const;
    std::string settings() const override;

private:
    RelativeBiasConfig config_;
    GrownTable buckets_;  // i64 [1, 2 N - 1]
};

}  // namespace tapestry
