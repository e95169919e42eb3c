#include <tapestry/nn/layers/linear.h>

#include <tapestry/core/create.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/fusion.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/matmul.h>

#include <algorithm>
#include <cmath>

namespace tapestry {

Linear::Linear(std::int64_t in, std::int64_t out, bool with_bias, Generator& generator)
    : Module("Linear") {
    require(in > 0 && out > 0, "Linear: sizes must be positive, got {} -> {}", in, out);
    const double bound = 1 / std::sqrt(static_cast<double>(in));
    weight = uniform({out, in}, -bound, bound, generator);
    if (with_bias) bias = uniform({out}, -bound, bound, generator);
    register_parameter("weight", weight);
    register_parameter("bias", bias);
}

Tensor Linear::operator()(const Tensor& x) const {
    const ModuleScope scope(name());
    if (adds_updates_at_once()) {
        std::vector<LowRankUpdate> updates;
        for (const auto& one : updates_) updates.push_back(one->update(x));
        return hooked(low_rank_linear(x, cast_like(x, weight), cast_like(x, bias), updates), x);
    }
    const Tensor y = int8_ != nullptr ? multiply_by_rows(x, int8_, bias)
                                      : linear(x, cast_like(x, weight), cast_like(x, bias));
    return hooked(updates_.empty() ? y : y + update_of(x), x);
}

bool Linear::adds_updates_at_once() const {
    const auto is_seen = [](const auto& one) { return one->is_hooked(); };
    return !updates_.empty() && int8_ == nullptr && fusion_enabled() &&
           std::none_of(updates_.begin(), updates_.end(), is_seen);
}

// [..., out]: the updates of all rows, zeros where there is none.
Tensor Linear::update_of(const Tensor& x) const {
    Tensors parts;
    std::int64_t next = 0;
    const auto fill_to = [&](std::int64_t row) {
        if (row == next) return;
        Shape shape = x.shape();
        shape.back() = row - next;
        parts.push_back(zeros(shape, x.dtype()));
    };
    for (const auto& update : updates_) {
        fill_to(update->first_row());
        parts.push_back((*update)(x));
        next = update->first_row() + update->b.size(0);
    }
    fill_to(out());
    return parts.size() == 1 ? parts.front() : concat(parts, -1);
}

LowRank& Linear::add_update(const std::string& name, std::int64_t first, std::int64_t rows,
                            const LowRankConfig& config, Generator& generator) {
    require(int8_ == nullptr, "Linear: int8 weights cannot have a low-rank update");
    require(first >= 0 && rows > 0 && first + rows <= weight.size(0), "Linear: rows {} to {} of {}",
            first, first + rows, weight.size(0));
    const auto is_after = [&](const auto& other) {
        const std::int64_t begin = other->first_row(), end = begin + other->b.size(0);
        require(end <= first || begin >= first + rows,
                "Linear: rows {} to {} have a low-rank update already", begin, end);
        return begin > first;
    };
    const auto place = std::find_if(updates_.begin(), updates_.end(), is_after);
    const DType dtype = compute_dtype(weight.dtype());
    auto made = std::make_unique<LowRank>(weight.size(1), first, rows, config, dtype, generator);
    LowRank& update = **updates_.insert(place, std::move(made));
    register_module(name, update);
    update.train(is_training());
    return update;
}

std::string Linear::settings() const {
    return fmt::format("{} -> {}{}{}", in(), out(), bias.defined() ? "" : ", no bias",
                       int8_ != nullptr ? ", int8" : "");
}

std::string Linear::weight_name() const {
    const auto& leaf = weight.leaf();
    return leaf != nullptr && leaf->place != nullptr ? leaf->place->path() : int8_name_;
}

std::int64_t Linear::in() const { return int8_ != nullptr ? int8_->cols : weight.size(1); }
std::int64_t Linear::out() const { return int8_ != nullptr ? int8_->rows : weight.size(0); }

void Linear::keep_int8() {
    if (int8_ != nullptr) return;
    int8_ = std::make_shared<const Int8Rows>(int8_rows(weight));
    int8_name_ = weight_name();
    weight = Tensor();
}

void quantize_weights(Module& model, WeightType type) {
    switch (type) {
        case WeightType::f32: return;
        case WeightType::bf16: return model.to(DType::bf16);
        case WeightType::int8:
            model.apply([](Module& module) {
                if (auto* const layer = dynamic_cast<Linear*>(&module)) layer->keep_int8();
            });
    }
}

}  // namespace tapestry
