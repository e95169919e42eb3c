#include <tapestry/nn/attention/position_bias.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/indexing.h>
#include <tapestry/ops/view.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

namespace tapestry {
namespace {

// Per head, values for keys from N - 1 behind a query to N - 1 ahead: [H, 2 N - 1] -> [H, T, S], a
// view of the same memory: the next query starts one element earlier.
Tensor by_distance(const char* what, const Tensor& row, std::int64_t queries, std::int64_t keys) {
    require(queries <= keys, "{}: {} queries are not the last of {} positions", what, queries,
            keys);
    const std::int64_t width = row.size(1), zero = (width - 1) / 2;
    return {row.storage(),
            {row.size(0), queries, keys},
            {width, -1, 1},
            row.offset() + zero - (keys - queries),
            row.dtype()};
}

Tensors alibi_row(std::int64_t heads, std::int64_t length, DType dtype) {
    std::vector<double> values;
    for (const double slope : alibi_slopes(heads)) {
        for (std::int64_t ahead = 1 - length; ahead < length; ++ahead) {
            values.push_back(-slope * static_cast<double>(std::abs(ahead)));
        }
    }
    return {cast(tensor(values, {heads, 2 * length - 1}), dtype)};
}

Tensors bucket_row(std::int64_t length, const RelativeBiasConfig& config) {
    std::vector<std::int64_t> values;
    for (std::int64_t ahead = 1 - length; ahead < length; ++ahead) {
        values.push_back(relative_bucket(ahead, config));
    }
    return {tensor(values, {1, 2 * length - 1})};
}

std::int64_t of_one_side(const RelativeBiasConfig& c) {
    return c.causal ? c.buckets : c.buckets / 2;
}

const RelativeBiasConfig& checked(const RelativeBiasConfig& c) {
    require(c.heads > 0, "RelativeBias: heads must be at least 1, got {}", c.heads);
    require(c.buckets >= 4 && c.buckets % 2 == 0,
            "RelativeBias: buckets must be even and at least 4, got {}", c.buckets);
    require(c.distance > of_one_side(c) / 2,
            "RelativeBias: distance {} must exceed the {} buckets of one distance each", c.distance,
            of_one_side(c) / 2);
    return c;
}

}  // namespace

std::vector<double> alibi_slopes(std::int64_t heads) {
    require(heads > 0, "alibi_slopes: heads must be at least 1, got {}", heads);
    const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(heads)));
    const auto slope = [](std::int64_t h, std::int64_t of) {
        return std::exp2(-8 * static_cast<double>(h + 1) / static_cast<double>(of));
    };
    std::vector<double> slopes;
    for (std::int64_t h = 0; h < power; ++h) slopes.push_back(slope(h, power));
    for (std::int64_t h = 0; h < heads - power; ++h) slopes.push_back(slope(2 * h, 2 * power));
    return slopes;
}

AlibiBias::AlibiBias(std::int64_t heads)
    : table_(
          [heads](std::int64_t length, DType dtype) { return alibi_row(heads, length, dtype); }) {
    require(heads > 0, "AlibiBias: heads must be at least 1, got {}", heads);
}

Tensor AlibiBias::operator()(std::int64_t queries, std::int64_t keys, DType dtype) const {
    const Tensor row = table_.at_least(std::max<std::int64_t>(keys, 1), dtype)[0];
    return by_distance("AlibiBias", row, queries, keys);
}

std::int64_t relative_bucket(std::int64_t ahead, const RelativeBiasConfig& config) {
    const std::int64_t side = of_one_side(config), exact = side / 2;
    const std::int64_t first = !config.causal && ahead > 0 ? side : 0;
    const std::int64_t far = config.causal ? std::max<std::int64_t>(-ahead, 0) : std::abs(ahead);
    if (far < exact) return first + far;
    const auto unit = static_cast<double>(exact);
    const double share = std::log(static_cast<double>(far) / unit) /
                         std::log(static_cast<double>(config.distance) / unit);
    const auto beyond = static_cast<std::int64_t>(share * static_cast<double>(side - exact));
    return first + std::min(exact + beyond, side - 1);
}

RelativeBias::RelativeBias(const RelativeBiasConfig& config)
    : Module("RelativeBias"),
      config_(checked(config)),
      buckets_([config](std::int64_t length, DType) { return bucket_row(length, config); }) {
    weight = zeros({config.buckets, config.heads});
    register_parameter("weight", weight);
}

Tensor RelativeBias::operator()(std::int64_t queries, std::int64_t keys) const {
    const ModuleScope scope(name());
    const Tensor row = buckets_.at_least(std::max<std::int64_t>(keys, 1), DType::i64)[0];
    const Tensor ids = by_distance("RelativeBias", row, queries, keys);  // [1, T, S]
    const Tensor bias = embedding(weight, dense(ids));                   // [1, T, S, H]
    return hooked(permute(squeeze(bias, 0), {2, 0, 1}), ids);
}

std::string RelativeBias::settings() const {
    return fmt::format("{} buckets, {}, {}", config_.buckets, pluralize(config_.heads, "head"),
                       config_.causal ? "behind" : "both sides");
}

}  // namespace tapestry
