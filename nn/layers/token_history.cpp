#include <tapestry/nn/layers/token_history.h>

#include <tapestry/core/create.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/arithmetic.h>

#include <algorithm>

namespace tapestry {

TokenHistory::TokenHistory(const TokenHistoryConfig& config, Generator& generator)
    : Module("TokenHistory"), config_(config) {
    require(config.earlier >= 0 && config.pairs >= 0 && config.earlier + config.pairs > 0,
            "TokenHistory: {} earlier tokens and {} rows for pairs; it has nothing to tell",
            config.earlier, config.pairs);
    for (std::int64_t i = 1; i <= config.earlier; ++i) {
        earlier.push_back(std::make_unique<Embedding>(config.vocab + 1, config.dim, generator));
        register_module(fmt::format("{}", i), *earlier.back());
    }
    if (config.pairs == 0) return;
    register_module("pairs", pairs.emplace(config.pairs, config.dim, generator));
    pairs->weight.fill_(0);
}

std::int64_t TokenHistory::reach() const {
    return std::max<std::int64_t>(config_.earlier, pairs ? 1 : 0);
}

// What stood before, the id V where nothing did, and the ids: [B, reach + T].
Tensor TokenHistory::joined(const Tensor& ids, const Tensor& before) const {
    const std::int64_t length = ids.size(1);
    Tensor all =
        full({ids.size(0), reach() + length}, static_cast<double>(config_.vocab), DType::i64);
    views::slice(all, 1, reach(), reach() + length).copy_(ids);
    if (!before.defined()) return all;
    require<ShapeError>(before.rank() == 2 && before.size(0) == ids.size(0),
                        "TokenHistory: {} does not stand before ids {}", before.shape(),
                        ids.shape());
    const std::int64_t known = std::min(reach(), before.size(1));
    views::slice(all, 1, reach() - known, reach())
        .copy_(views::slice(before, 1, before.size(1) - known, before.size(1)));
    return all;
}

Tensor TokenHistory::operator()(const Tensor& ids, const Tensor& before) const {
    const ModuleScope scope(name());
    const std::int64_t length = ids.size(1);
    const Tensor all = joined(ids, before);
    const auto back = [&](std::int64_t places) {  // [B, T]
        return views::slice(all, 1, reach() - places, reach() - places + length).clone();
    };
    Tensor y;
    const auto tell = [&y](const Tensor& told) { y = y.defined() ? y + told : told; };
    for (std::size_t i = 0; i < earlier.size(); ++i) {
        tell((*earlier[i])(back(static_cast<std::int64_t>(i) + 1)));
    }
    if (pairs) {
        Tensor rows = back(1);
        const Tensor own = back(0);
        auto* row = rows.mutable_data<std::int64_t>();
        const auto* id = own.data<std::int64_t>();
        for (std::int64_t i = 0; i < rows.numel(); ++i) {
            row[i] = (config_.vocab * row[i] + id[i]) % config_.pairs;
        }
        tell((*pairs)(rows));
    }
    return hooked(y, ids);
}

Tensor TokenHistory::latest(const Tensor& ids, const Tensor& before) const {
    const Tensor all = joined(ids, before);
    return views::slice(all, 1, all.size(1) - reach(), all.size(1)).clone();
}

std::string TokenHistory::settings() const {
    return fmt::format("{} earlier, {} pairs", config_.earlier, config_.pairs);
}

}  // namespace tapestry
