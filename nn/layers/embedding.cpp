#include <tapestry/nn/layers/embedding.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/indexing.h>
#include <tapestry/ops/view.h>

#include <algorithm>
#include <cmath>

namespace tapestry {

Embedding::Embedding(std::int64_t count, std::int64_t dim, Generator& generator)
    : Module("Embedding") {
    require(count > 0 && dim > 0, "Embedding: sizes must be positive, got {} x {}", count, dim);
    weight = randn({count, dim}, generator);
    register_parameter("weight", weight);
}

Embedding::Embedding(std::int64_t count, std::int64_t dim, const EmbeddingOptions& options,
                     Generator& generator)
    : Embedding(count, dim, generator) {
    options_ = options;
    if (!options.padding_idx) return;
    const std::int64_t padding = *options.padding_idx;
    require(padding >= 0 && padding < count, "Embedding: padding_idx must be in [0, {}), got {}",
            count, padding);
    const NoGradGuard constants;
    select(weight, 0, padding).fill_(0);
}

Tensor Embedding::operator()(const Tensor& ids) const {
    const ModuleScope scope(name());
    const auto& padding = options_.padding_idx;
    return hooked(padding ? embedding(weight, ids, *padding) : embedding(weight, ids), ids);
}

std::string Embedding::settings() const {
    const auto& padding = options_.padding_idx;
    return fmt::format("{} x {}{}", weight.size(0), weight.size(1),
                       padding ? fmt::format(", padding {}", *padding) : "");
}

namespace {

// 1 / base^(2 i / dim) for each pair, in double: at position 100,000 float rounding would be
// visible.
std::vector<double> frequencies(std::int64_t pairs, std::int64_t dim, double base) {
    std::vector<double> result;
    for (std::int64_t i = 0; i < pairs; ++i) {
        const double power = 2 * static_cast<double>(i) / static_cast<double>(dim);
        result.push_back(1 / std::pow(base, power));
    }
    return result;
}

// value(row, column) for every element, [rows, columns].
template <class Value>
Tensor table(std::int64_t rows, std::int64_t columns, DType dtype, const Value& value) {
    std::vector<double> values;
    values.reserve(static_cast<std::size_t>(rows * columns));
    for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < columns; ++j) values.push_back(value(i, j));
    }
    return cast(tensor(values, {rows, columns}), dtype);
}

}  // namespace

Tensor sinusoidal_positions(std::int64_t length, std::int64_t dim, std::int64_t first,
                            DType dtype) {
    require(length >= 0 && first >= 0 && dim >= 1,
            "sinusoidal_positions: length {}, first {}, dim {}: none may be negative, dim not 0",
            length, first, dim);
    const std::vector<double> frequency = frequencies((dim + 1) / 2, dim, 10000);
    return table(length, dim, dtype, [&](std::int64_t row, std::int64_t column) {
        const double a =
            static_cast<double>(first + row) * frequency[static_cast<std::size_t>(column / 2)];
        return column % 2 == 0 ? std::sin(a) : std::cos(a);
    });
}

PositionalEncoding::PositionalEncoding(Positions positions, std::int64_t count, std::int64_t dim,
                                       Generator& generator)
    : Module("PositionalEncoding"), count_(count), dim_(dim) {
    require(are_added(positions),
            "PositionalEncoding: {} positions are not added to the vectors; they belong to "
            "MultiHeadAttention",
            name_of_value(positions));
    require(dim > 0, "PositionalEncoding: size must be positive, got {}", dim);
    if (positions == Positions::sinusoidal) return;
    require(count > 0, "PositionalEncoding: positions must be at least 1, got {}", count);
    weight = randn({count, dim}, generator);
    register_parameter("weight", weight);
}

Tensor PositionalEncoding::operator()(const Tensor& x, std::int64_t first) const {
    const ModuleScope scope(name());
    require<ShapeError>(x.defined() && x.rank() == 3 && x.size(2) == dim_,
                        "PositionalEncoding: needs [B, T, {}], got {}", dim_, x.shape());
    const std::int64_t length = x.size(1);
    if (!weight.defined()) {
        return hooked(x + sinusoidal_positions(length, dim_, first, x.dtype()), x);
    }
    require<ShapeError>(first >= 0 && first + length <= count_,
                        "PositionalEncoding: positions {} to {} of a table of {}", first,
                        first + length - 1, count_);
    return hooked(x + slice(weight, 0, first, first + length), x);
}

std::string PositionalEncoding::settings() const {
    return weight.defined() ? fmt::format("learned, {} x {}", count_, dim_)
                            : fmt::format("sinusoidal, {}", dim_);
}

TokenHistory::TokenHistory(const TokenHistoryConfig& config, Generator& generator)
    : Module("TokenHistory"), config_(config) {
    require(config.earlier >= 0 && config.pairs >= 0 && config.earlier + config.pairs > 0,
            "TokenHistory: needs earlier tokens or rows for pairs, got {} and {}", config.earlier,
            config.pairs);
    for (std::int64_t i = 1; i <= config.earlier; ++i) {
        earlier.emplace_back(*this, fmt::format("{}", i),
                             std::make_unique<Embedding>(config.vocab + 1, config.dim, generator));
    }
    if (config.pairs == 0) return;
    register_module("pairs", pairs.emplace(config.pairs, config.dim, generator));
    pairs->weight.fill_(0);
}

std::int64_t TokenHistory::reach() const {
    return std::max<std::int64_t>(config_.earlier, pairs ? 1 : 0);
}

// The ids before (V if there are none), followed by `ids`: [B, reach + T].
Tensor TokenHistory::joined(const Tensor& ids, const Tensor& before) const {
    const std::int64_t length = ids.size(1);
    Tensor all =
        full({ids.size(0), reach() + length}, static_cast<double>(config_.vocab), DType::i64);
    views::slice(all, 1, reach(), reach() + length).copy_(ids);
    if (!before.defined()) return all;
    require<ShapeError>(before.rank() == 2 && before.size(0) == ids.size(0),
                        "TokenHistory: earlier tokens {} do not match ids {}", before.shape(),
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
