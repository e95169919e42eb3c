// The op: checks, saved tensors and the two backward rules. The fused passes are in
// attention_heads.cpp; the differentiable rule is composed of public ops here.
#include <tapestry/ops/attention.h>

#include <tapestry/core/create.h>
#include <tapestry/core/floating_point.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/attention_heads.h>
#include <tapestry/ops/batch.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/dropout_mask.h>
#include <tapestry/ops/fusion.h>
#include <tapestry/ops/masking.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/recorded.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/softmax.h>
#include <tapestry/ops/view.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tapestry {
namespace {

// ---- backward composed of recordable ops --------------------------------------------------------

// The pairs that may attend: bool, broadcasts to [..., T, S]. Undefined means all.
Tensor allowed_pairs(const Attend& a, const Tensor& mask) {
    Tensor allowed;
    if (mask.defined()) {
        const double nothing = -std::numeric_limits<double>::infinity();
        allowed = mask.dtype() == DType::boolean ? mask : gt(mask.detach(), nothing);
    }
    if (a.causal) {
        const Tensor past = tril(ones({a.t, a.s}, DType::boolean), a.s - a.t);
        allowed = allowed.defined() ? logical_and(allowed, past) : past;
    }
    return allowed;
}

// Dropout applied to x [..., T, S], or to its gradient.
Tensor dropped(const Attend& a, const Tensor& x, const Tensor& kept) {
    return kept.defined() ? x * (to(kept, x.dtype()) * keep_factor(a.dropout)) : x;
}

// x [..., G, S, D] expanded to the heads of q, [..., H, S, D]; its backward sums over each group.
Tensor for_each_head(const Attend& a, const Tensor& x) {
    if (a.group() == 1) return x;
    const Tensor alone = unsqueeze(x, -3);  // [..., G, 1, S, D]
    Shape shape = alone.shape();
    shape[alone.rank() - 3] = a.group();
    return reshape(expand(alone, shape), a.shape(x.size(-2), x.size(-1)));
}

Tensor sum_of_group(const Attend& a, const Tensor& x) {
    if (a.group() == 1) return x;
    const Shape shape = a.shared + Shape{a.group(), x.size(-2), x.size(-1)};
    return sum(reshape(x, shape), {-3});  // of [..., G, H / G, S, D]
}

// The weights before dropout. Avoids -inf, which a fully masked row would turn into NaN.
Tensor composed_weights(const Attend& a, const Tensor& q, const Tensor& k, const Tensor& mask) {
    const Tensor zero = scalar(0, q.dtype());
    const Tensor allowed = allowed_pairs(a, mask);
    Tensor scores = matmul(q, transposed(for_each_head(a, k))) * a.scale;  // [..., T, S]
    if (mask.defined() && mask.dtype() != DType::boolean) {
        scores = scores + where(allowed, mask, zero);
    }
    if (!allowed.defined()) return softmax(scores, -1);
    const Tensor low = scalar(-1e30, q.dtype());
    return where(allowed, softmax(where(allowed, scores, low), -1), zero);
}

Tensor attended(const Attend& a, const Tensors& inputs, const Tensor& kept, Tensor* weights);

// New tensors laid out like `pieces` in one new block, if the pieces are adjacent heads of one
// block of memory, as a joint projection to q, k and v produces them; else empty.
Tensors laid_out_like(const Tensors& pieces) {
    const Tensor& first = pieces.front();
    if (first.rank() < 3) return {};
    const int head = first.rank() - 3;
    for (const Tensor& piece : pieces) {
        Shape alike = first.shape();
        alike[head] = piece.size(head);
        if (piece.shape() != alike) return {};
    }
    const auto joined = views::try_join(pieces, head);
    if (!joined || joined->strides().back() != 1) return {};
    std::int64_t last = 0;  // offset of the last element
    for (int axis = 0; axis < joined->rank(); ++axis) {
        if (joined->strides()[axis] < 0) return {};
        last += std::max<std::int64_t>(joined->size(axis) - 1, 0) * joined->strides()[axis];
    }
    if (last + 1 != joined->numel()) return {};
    const Tensor block({last + 1}, first.dtype());
    const Tensor all(block.storage(), joined->shape(), joined->strides(), 0, first.dtype());
    Tensors result;
    result.reserve(pieces.size());
    std::int64_t end = 0;
    for (const Tensor& piece : pieces) {
        const std::int64_t begin = end;
        end += piece.size(head);
        result.push_back(views::slice(all, head, begin, end));
    }
    return result;
}

struct AttentionOp final : Op {
    // saved: q, k, v, mask, kept
    AttentionOp(const Attend& a, const TensorRefs& saved) : Op("attention", saved), a_(a) {}

    std::string attributes() const override {
        std::string text = fmt::format("{}scale={:.4g}", a_.causal ? "causal, " : "", a_.scale);
        if (a_.group() > 1) text += fmt::format(", {} heads share keys", a_.group());
        if (a_.dropout > 0) text += fmt::format(", dropout={}", a_.dropout);
        return text;
    }

    double flops() const override {  // two products, only over the visible pairs
        double pairs = 0;
        for (std::int64_t i = 0; i < a_.t; ++i) pairs += static_cast<double>(a_.seen(i));
        return 2 * pairs * static_cast<double>(a_.d + a_.e) * static_cast<double>(a_.heads());
    }

    bool is_cheap() const override { return a_.recompute; }

    AttentionOptions options() const {
        return {.causal = a_.causal,
                .scale = a_.scale,
                .dropout = a_.dropout,
                .grouped = a_.group() > 1};
    }

    Tensors forward(const Tensors& x) const override {
        return {attended(a_, x, saved(4), nullptr)};
    }
    Tensors backward(const Tensors& grads) override {
        if (is_recording() || needs(3)) return composed(grads[0]);
        return fused(grads[0]);
    }

private:
    Tensors fused(const Tensor& g) {
        AttendGradients out;
        const Tensors beside = needs(0) && needs(1) && needs(2)
                                   ? laid_out_like({saved(0), saved(1), saved(2)})
                                   : Tensors();
        if (!beside.empty()) {
            out = {beside[0], beside[1], beside[2]};
        } else {
            const auto room = Attend::heads_inside;
            if (needs(0)) out.q = room(a_.leading, a_.t, a_.d, g.dtype());
            if (needs(1)) out.k = room(a_.shared, a_.s, a_.d, g.dtype());
            if (needs(2)) out.v = room(a_.shared, a_.s, a_.e, g.dtype());
        }
        attend_backward(a_, saved(0), saved(1), saved(2), saved(3), saved(4), g, out);
        return {out.q, out.k, out.v, Tensor()};
    }

    Tensors composed(const Tensor& g) {
        const Tensor& q = saved(0);
        const Tensor& k = saved(1);
        const Tensor& v = saved(2);
        const Tensor& kept = saved(4);
        const Tensor p = composed_weights(a_, q, k, saved(3));
        const Tensor dp = dropped(a_, matmul(g, transposed(for_each_head(a_, v))), kept);
        const Tensor ds = p * (dp - sum(p * dp, {-1}, true));  // [..., T, S]
        Tensors result(4);
        if (needs(0)) result[0] = matmul(ds, for_each_head(a_, k)) * a_.scale;
        if (needs(1)) {
            result[1] = sum_of_group(a_, matmul(transposed(ds), q)) * a_.scale;
        }
        if (needs(2)) {
            result[2] = sum_of_group(a_, matmul(transposed(dropped(a_, p, kept)), g));
        }
        if (needs(3)) result[3] = sum_to(ds, inputs()[3].shape);
        return result;
    }

    Attend a_;
};

Tensor plain_attention(const Attend& a, const Tensors& inputs, const Tensor& kept,
                       Tensor* weights) {
    const Tensor p = composed_weights(a, inputs[0], inputs[1], inputs[3]);
    if (weights != nullptr) *weights = p.detach();
    return matmul(dropped(a, p, kept), for_each_head(a, inputs[2]));
}

// inputs: q, k, v, mask. `weights` may be null.
Tensor attended(const Attend& a, const Tensors& inputs, const Tensor& kept, Tensor* weights) {
    if (!fusion_enabled()) return plain_attention(a, inputs, kept, weights);
    const Tensor& q = inputs[0];
    Attended out{.y = Attend::heads_inside(a.leading, a.t, a.e, q.dtype()), .kept = kept};
    if (weights != nullptr) out.weights = Tensor(a.shape(a.t, a.s), q.dtype());
    attend(a, q, inputs[1], inputs[2], inputs[3], out);
    if (weights != nullptr) *weights = out.weights;
    const Tensors saved{q, inputs[1], inputs[2], inputs[3], kept};
    return record<AttentionOp>(inputs, out.y, a, saved);
}

// ---- checks -------------------------------------------------------------------------------------

constexpr const char* kName = "attention";

void check_operands(const Tensor& q, const Tensor& k, const Tensor& v) {
    check_floating(kName, q);
    check_same_dtype(kName, q, k);
    check_same_dtype(kName, q, v);
    require<ShapeError>(q.rank() >= 2 && k.rank() >= 2 && v.rank() >= 2,
                        "attention: q {}, k {}, v {} need at least two axes, [..., T, D]",
                        q.shape(), k.shape(), v.shape());
    require<ShapeError>(
        q.size(-1) == k.size(-1),
        "attention: queries {} and keys {} differ in their last size ({} against {})", q.shape(),
        k.shape(), q.size(-1), k.size(-1));
    require<ShapeError>(k.size(-2) == v.size(-2), "attention: {} keys {} for {} values {}",
                        k.size(-2), k.shape(), v.size(-2), v.shape());
}

void check_options(const Attend& a, const Tensor& q, const AttentionOptions& options) {
    require(std::isfinite(a.scale), "attention: scale must be finite, got {}", a.scale);
    require(a.dropout >= 0 && a.dropout <= 1, "attention: dropout must be in [0, 1], got {}",
            a.dropout);
    const Tensor& mask = options.mask;
    if (!mask.defined()) return;
    require<DTypeError>(mask.dtype() == DType::boolean || mask.dtype() == q.dtype(),
                        "attention: the mask is {}; needs bool or {}", mask.dtype(), q.dtype());
    const Shape scores = a.shape(a.t, a.s);
    require<ShapeError>(broadcast_shapes("attention: mask", mask.shape(), scores) == scores,
                        "attention: the mask {} does not broadcast to the scores {}", mask.shape(),
                        scores);
}

// Leading axes: [..., H] of q, and [..., G] of k and v.
struct Leading {
    Shape heads, shared;
};

Leading grouped_leading(const Tensor& q, const Tensor& k, const Tensor& v) {
    require<ShapeError>(q.rank() >= 3 && k.rank() >= 3 && v.rank() >= 3,
                        "attention: grouped heads need three axes, [..., H, T, D], got q {}, k {}, "
                        "v {}",
                        q.shape(), k.shape(), v.shape());
    const std::int64_t heads = q.size(-3), shared = k.size(-3);
    require<ShapeError>(v.size(-3) == shared, "attention: {} heads of keys {} for {} of values {}",
                        shared, k.shape(), v.size(-3), v.shape());
    require<ShapeError>(heads == shared || (shared > 0 && heads > 0 && heads % shared == 0),
                        "attention: {} heads of keys {} do not divide the {} of queries {}", shared,
                        k.shape(), heads, q.shape());
    const auto before = [](const Tensor& x) { return x.shape().sub(0, x.rank() - 3); };
    const Shape batch =
        broadcast_shapes(kName, broadcast_shapes(kName, before(q), before(k)), before(v));
    return {batch + Shape{heads}, batch + Shape{shared}};
}

Leading common_leading(const Tensor& q, const Tensor& k, const Tensor& v, bool grouped) {
    if (grouped) return grouped_leading(q, k, v);
    const Shape all = broadcast_shapes(
        kName, broadcast_shapes(kName, leading_shape(q), leading_shape(k)), leading_shape(v));
    return {all, all};
}

// The Attend of operands that are already expanded to their common leading axes.
Attend planned(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& o) {
    const std::int64_t d = q.size(-1);
    const double usual = 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(d, 1)));
    return {.leading = leading_shape(q),
            .shared = leading_shape(k),
            .t = q.size(-2),
            .s = k.size(-2),
            .d = d,
            .e = v.size(-1),
            .scale = o.scale.value_or(usual),
            .causal = o.causal,
            .dropout = o.dropout,
            .recompute = o.recompute};
}

// x expanded to these leading axes; x itself if it has them.
Tensor with_leading(const Tensor& x, const Shape& leading) {
    if (leading_shape(x) == leading) return x;
    return expand(x, leading + Shape{x.size(-2), x.size(-1)});
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& queries, const Tensor& keys, const Tensor& values,
                                    const AttentionOptions& options) {
    const FloatingPointGuard standard;  // for the scale
    check_operands(queries, keys, values);
    const Leading leading = common_leading(queries, keys, values, options.grouped);
    const Tensor q = with_leading(queries, leading.heads);
    const Tensor k = with_leading(keys, leading.shared);
    const Tensor v = with_leading(values, leading.shared);
    const Attend a = planned(q, k, v, options);
    check_options(a, q, options);
    Tensor kept;
    if (a.dropout > 0) {
        Generator& generator =
            options.generator != nullptr ? *options.generator : default_generator();
        kept = draw_dropout_mask(a.shape(a.t, a.s), a.dropout, generator);
    }
    return attended(a, {q, k, v, options.mask}, kept, options.weights);
}

Tensor attention_weights(const Tensor& queries, const Tensor& keys,
                         const AttentionOptions& options) {
    const FloatingPointGuard standard;  // for the scale
    check_operands(queries, keys, keys);
    const Leading leading = common_leading(queries, keys, keys, options.grouped);
    const Tensor q = with_leading(queries, leading.heads);
    const Tensor k = with_leading(keys, leading.shared);
    const Attend a = planned(q, k, k, options);
    check_options(a, q, options);
    return composed_weights(a, q, k, options.mask);
}

std::optional<AttentionOptions> recorded_attention(const Op& op) {
    const auto* attention = dynamic_cast<const AttentionOp*>(&op);
    return attention == nullptr ? std::nullopt : std::optional(attention->options());
}

}  // namespace tapestry
