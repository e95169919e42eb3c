// What stood before a token, told to the first layer: vectors of the tokens one, two, ... places
// before it, and of it and its predecessor as a pair, to be added to the token's own. A Transformer
// has to learn heads that look one place back before it knows what a table of pairs tells at once.
// Read next: models/gpt.h, which adds them.
#pragma once

#include <tapestry/nn/layers/embedding.h>

#include <memory>
#include <optional>
#include <vector>

namespace tapestry {

struct TokenHistoryConfig {
    std::int64_t vocab = 0;
    std::int64_t dim = 0;
    std::int64_t earlier = 0;  ///< places back, each with a table of its own
    std::int64_t pairs = 0;    ///< rows of the table of pairs; 0: none
};

/// ids i64 [B, T] -> [B, T, dim]:
///     y_t = sum_k earlier_k[ids_(t-k)] + pairs[(V ids_(t-1) + ids_t) mod rows],  k = 1 .. earlier,
/// where a place before the beginning has the id V. With (V + 1) V rows every pair has its own;
/// with fewer some share one. Tables are normal at the start, that of pairs zeros. Sources: Bengio
/// et al. 2003, "A Neural Probabilistic Language Model" (a table for each place); pairs by a hash:
/// Svenstrup et al. 2017, "Hash Embeddings for Efficient Word Representations".
class TokenHistory : public Module {
public:
    std::vector<std::unique_ptr<Embedding>> earlier;  // [V + 1, dim] each
    std::optional<Embedding> pairs;                   // [rows, dim]

    /// Throws ValueError for negative sizes, and unless there is something to tell.
    explicit TokenHistory(const TokenHistoryConfig& config,
                          Generator& generator = default_generator());

    /// `before`, i64 [B, n], stands before ids, the latest at its end; it may be undefined. Ids are
    /// in [0, V) (not checked where no table is read by them).
    Tensor operator()(const Tensor& ids, const Tensor& before = {}) const;

    /// Of `before` and ids what the next call may want to know: their last ids, i64 [B, n].
    Tensor latest(const Tensor& ids, const Tensor& before = {}) const;

    std::string settings() const override;

private:
    /// How many places it looks back.
    std::int64_t reach() const;
    Tensor joined(const Tensor& ids, const Tensor& before) const;

    TokenHistoryConfig config_;
};

}  // namespace tapestry
