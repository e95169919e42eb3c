#include <tapestry/ops/low_rank_linear.h>

#include <tapestry/core/views.h>
#include <tapestry/ops/accumulated_product.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/batch.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/map.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/subscript.h>
#include <tapestry/ops/view.h>

#include <utility>

namespace tapestry {
namespace {

using Updates = std::vector<LowRankUpdate>;

constexpr std::string_view kLowRankLinear = "low_rank_linear";

// y += a b for y [m, n] with contiguous rows. For narrow types both the product and the sum are
// rounded.
void add_product(const Tensor& a, const Tensor& b, Tensor& y) {
    if (!is_narrow(y.dtype())) return multiply_into(a, b, y, true);
    map_binary_into<kernels::Add>(kLowRankLinear, y, y.detach(), matmul(a, b));
}

// The operands: x, weight, bias, then each update's a, b and x, which may be undefined.
constexpr std::size_t kOwn = 3, kPerUpdate = 3;
constexpr std::size_t first_of(std::size_t update) { return kOwn + kPerUpdate * update; }

Tensors operands(const Tensor& x, const Tensor& weight, const Tensor& bias,
                 const Updates& updates) {
    Tensors all{x, weight, bias};
    for (const LowRankUpdate& one : updates) all.insert(all.end(), {one.a, one.b, one.x});
    return all;
}

// The operands that backward reads, and after them each update's scale (x A^T): [R, r].
Tensors kept(const Tensors& all, const Tensors& narrow) {
    Tensors result = all;
    result[2] = Tensor();  // the bias
    bool reads_x = Tape::following({all[1]}) != nullptr;
    for (std::size_t i = first_of(0); i < all.size(); i += kPerUpdate) {
        const bool learns = Tape::following({all[i], all[i + 1]}) != nullptr;
        if (!learns) result[i + 2] = Tensor();
        reads_x = reads_x || (learns && !all[i + 2].defined());
    }
    if (!reads_x) result[0] = Tensor();
    result.insert(result.end(), narrow.begin(), narrow.end());
    return result;
}

struct LowRankLinearOp final : Op {
    LowRankLinearOp(const Tensors& all, const Tensors& narrow, const Updates& updates)
        : Op(kLowRankLinear, kept(all, narrow)) {
        for (const LowRankUpdate& one : updates) {
            parts_.push_back({one.scale, one.first, one.x.defined()});
        }
    }

    double flops() const override {
        const Shape& y = outputs()[0].shape;
        const auto rows = static_cast<double>(numel(y.sub(0, y.rank() - 1)));
        double numbers = static_cast<double>(numel(inputs()[1].shape));
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            const std::size_t a = first_of(i);
            numbers += static_cast<double>(numel(inputs()[a].shape) + numel(inputs()[a + 1].shape));
        }
        return 2 * rows * numbers;
    }
    Tensors forward(const Tensors& x) const override {
        Updates updates;
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            const std::size_t a = first_of(i);
            updates.push_back({x[a], x[a + 1], parts_[i].scale, parts_[i].first, x[a + 2]});
        }
        return {low_rank_linear(x[0], x[1], x[2], updates)};
    }
    Tensors backward(const Tensors& grads) override {
        const Tensor g = as_rows(grads[0]);  // [R, O]
        Tensors result(inputs().size());
        if (needs(0)) result[0] = matmul(g, saved(1));
        if (needs(1)) result[1] = matmul(transpose(g, 0, 1), as_rows(saved(0)));
        if (needs(2)) result[2] = sum(g, {0});
        for (std::size_t i = 0; i < parts_.size(); ++i) backward_of(i, g, result);
        if (needs(0)) result[0] = reshape(result[0], inputs()[0].shape);
        return result;
    }

private:
    struct Part {
        double scale;
        std::int64_t first;
        bool own_x;
    };

    // The gradients of update i. That to x is added in place, unless a tape records it.
    void backward_of(std::size_t i, const Tensor& g, Tensors& result) {
        const Part& part = parts_[i];
        const std::size_t a = first_of(i), b = a + 1, x = part.own_x ? a + 2 : 0;
        const Tensor to_part = narrow(g, 1, part.first, inputs()[b].shape[0]);  // [R, O']
        if (needs(b)) {
            const Tensor low = is_recording() ? mul(linear(as_rows(saved(x)), saved(a)), part.scale)
                                              : saved(first_of(parts_.size()) + i);
            result[b] = matmul(transpose(to_part, 0, 1), low);
        }
        if (!needs(a) && !needs(x)) return;
        const Tensor to_low = mul(matmul(to_part, saved(b)), part.scale);  // [R, r]
        if (needs(a)) result[a] = matmul(transpose(to_low, 0, 1), as_rows(saved(x)));
        if (!needs(x)) return;
        if (part.own_x) {
            result[x] = reshape(matmul(to_low, saved(a)), inputs()[x].shape);
        } else if (is_recording()) {
            result[x] = add(result[x], matmul(to_low, saved(a)));
        } else {
            add_product(to_low, saved(a), result[x]);
        }
    }

    std::vector<Part> parts_;
};

void check_update(const LowRankUpdate& one, const Tensor& x, std::int64_t out) {
    check_same_dtype(kLowRankLinear, x, one.a);
    check_same_dtype(kLowRankLinear, x, one.b);
    require<ShapeError>(one.a.rank() == 2 && one.b.rank() == 2 && one.a.size(1) == x.size(-1) &&
                            one.a.size(0) == one.b.size(1),
                        "{}: an update A {}, B {} of a layer with {} inputs", kLowRankLinear,
                        one.a.shape(), one.b.shape(), x.size(-1));
    require<ShapeError>(one.first >= 0 && one.first <= out - one.b.size(0),
                        "{}: an update of {} outputs from {} on, of {}", kLowRankLinear,
                        one.b.size(0), one.first, out);
    if (!one.x.defined()) return;
    check_same_dtype(kLowRankLinear, x, one.x);
    require<ShapeError>(one.x.shape() == x.shape(), "{}: the update's input {}, the layer's {}",
                        kLowRankLinear, one.x.shape(), x.shape());
}

}  // namespace

Tensor low_rank_linear(const Tensor& x, const Tensor& weight, const Tensor& bias,
                       const Updates& updates) {
    Tensor y;
    Tensors low;
    {
        const NoGradGuard constants;
        y = linear(x, weight, bias);
        const Tensor rows = as_rows(x), y_rows = views::reshape(y, {rows.size(0), y.size(-1)});
        for (const LowRankUpdate& one : updates) {
            check_update(one, x, y.size(-1));
            low.push_back(mul(linear(one.x.defined() ? as_rows(one.x) : rows, one.a), one.scale));
            Tensor part = views::slice(y_rows, 1, one.first, one.first + one.b.size(0));
            add_product(low.back(), views::transpose(one.b, 0, 1), part);
        }
    }
    const Tensors all = operands(x, weight, bias, updates);
    return record<LowRankLinearOp>(TensorRefs(all), y, all, low, updates);
}

}  // namespace tapestry
