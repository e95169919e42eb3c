#include <tapestry/nn/models/span/span_reader.h>

#include <tapestry/core/create.h>
#include <tapestry/nn/attention/masks.h>
#include <tapestry/nn/models/model_cost.h>
#include <tapestry/nn/module/check_ids.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/loss.h>
#include <tapestry/ops/view.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tapestry {

// ---- cost ---------------------------------------------------------------------------------------

namespace {

struct SpanModelSizes : BlockSizes {
    double vocab, length;

    explicit SpanModelSizes(const SpanConfig& c)
        : BlockSizes(c),
          vocab(static_cast<double>(c.vocab)),
          length(static_cast<double>(c.max_length)) {}
};

}  // namespace

double parameter_count(const SpanConfig& config) {
    const SpanModelSizes s(config);
    const double positions = config.positions == Positions::learned ? s.length : 0;
    return (s.vocab + 2 + positions) * s.dim +
           s.layers * (s.parameters() + relative_table_numbers(config)) + s.norm() +
           2 * (s.dim + 1);
}

double training_bytes(const SpanConfig& config, std::int64_t batch, std::int64_t gradient_sets,
                      std::int64_t moments) {
    const SpanModelSizes s(config);
    const double tokens = static_cast<double>(batch) * s.length;
    return training_memory(config, tokens * (s.kept() + 6 * s.dim), gradient_sets, moments);
}

double step_flops(const SpanConfig& config, std::int64_t batch) {
    const SpanModelSizes s(config);
    const double weights = s.layers * s.products() + 2 * s.dim;
    const double attention = 2 * s.layers * s.dim * s.length;
    return 3 * 2 * (weights + attention) * s.length * static_cast<double>(batch);
}

// ---- the model ----------------------------------------------------------------------------------

namespace {

const SpanConfig& checked(const SpanConfig& c) {
    require(c.vocab >= 4, "SpanReader: needs a vocabulary of at least 4, got {}", c.vocab);
    check_positive("SpanReader", c);
    require(c.dim % c.heads == 0, "SpanReader: {} heads do not divide dim {} (remainder {})",
            c.heads, c.dim, c.dim % c.heads);
    return c;
}

EncoderConfig encoder_config(const SpanConfig& c) {
    return {.layers = c.layers,
            .layer = {.dim = c.dim,
                      .heads = c.heads,
                      .hidden = c.hidden,
                      .dropout = c.dropout,
                      .activation = Activation::gelu_erf,
                      .norm_first = true,
                      .positions = c.positions},
            .final_norm = true};
}

}  // namespace

std::vector<PassagePlace> passage_places(const Tensor& ids, std::int64_t separator) {
    const std::vector<std::int64_t> all = ids.to_vector<std::int64_t>();
    const std::int64_t rows = ids.size(0), length = ids.size(1);
    std::vector<PassagePlace> places;
    for (std::int64_t b = 0; b < rows; ++b) {
        const auto begin = all.begin() + b * length, end = begin + length;
        const auto first = std::find(begin, end, separator);
        const auto last = first == end ? end : std::find(first + 1, end, separator);
        require(last != end, "SpanReader: row {} has no passage between two separators", b);
        require(last - first > 1, "SpanReader: the passage of row {} is empty", b);
        places.push_back({first - begin + 1, last - begin});
    }
    return places;
}

SpanReader::SpanReader(const SpanConfig& config, Generator& generator)
    : Module("SpanReader"),
      token_embedding(checked(config).vocab, config.dim, generator),
      side_embedding(2, config.dim, generator),
      embedding_dropout(config.dropout, generator),
      encoder(encoder_config(config), generator),
      ends(config.dim, 2, true, generator),
      config_(config) {
    register_module("token_embedding", token_embedding);
    register_module("side_embedding", side_embedding);
    if (are_added(config.positions)) {
        position_embedding.emplace(config.positions, config.max_length, config.dim, generator);
        register_module("position_embedding", *position_embedding);
    }
    register_module("embedding_dropout", embedding_dropout);
    register_module("encoder", encoder);
    register_module("ends", ends);
    convert_weights(*this, config_);
}

Tensor SpanReader::operator()(const Tensor& ids, std::vector<AttentionRecord>* records) const {
    constexpr double kOutside = -1e9;
    const ModuleScope scope(name());
    check_ids("SpanReader", "ids", ids);
    const std::int64_t rows = ids.size(0), length = ids.size(1);
    const std::vector<PassagePlace> places = passage_places(ids, separator_id());
    Tensor sides = zeros({rows, length}, DType::i64);
    Tensor outside = full({rows, 1, length}, kOutside);  // f32
    for (std::int64_t b = 0; b < rows; ++b) {
        const PassagePlace& place = places[static_cast<std::size_t>(b)];
        auto* const side = sides.mutable_data<std::int64_t>() + b * length;
        auto* const added = outside.mutable_data<float>() + b * length;
        std::fill(side + place.first, side + length, 1);
        std::fill(added + place.first, added + place.end, 0.0F);
    }
    Tensor x = token_embedding(ids) + side_embedding(sides);  // [B, T, C]
    if (position_embedding) x = (*position_embedding)(x);
    if (config_.compute != ComputeType::f32) x = tapestry::to(x, dtype_of(config_.compute));
    const Tensor h = encoder(embedding_dropout(x),
                             {.mask = padding_mask(ids, padding_id()), .records = records});
    Tensor scores = transpose(ends(h), 1, 2);  // [B, 2, T]
    if (is_narrow(scores.dtype())) scores = tapestry::to(scores, DType::f32);
    return hooked(scores + tapestry::to(outside, scores.dtype()), ids);
}

// Both ends are rows of the same cross-entropy, whose mean is that of the two.
Tensor SpanReader::loss(const Tensor& ids, const Tensor& spans) const {
    return cross_entropy((*this)(ids), spans);
}

std::string SpanReader::settings() const {
    return fmt::format("at most {} tokens, {} layers, {} positions", config_.max_length,
                       config_.layers, name_of_value(config_.positions));
}

}  // namespace tapestry
