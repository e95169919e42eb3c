#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/core/views.h>
#include <tapestry/tests/mutations/mutant.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tapestry::test {
namespace {

// The first axis of the output along which the operand was repeated; -1 if none was.
int broadcast_axis(const Shape& operand, const Shape& output) {
    const int shift = output.rank() - operand.rank();
    if (shift < 0) return -1;
    int found = -1;
    for (int axis = output.rank() - 1; axis >= 0; --axis) {
        const std::int64_t size = axis < shift ? 1 : operand[axis - shift];
        if (size != 1 && size != output[axis]) return -1;
        const bool repeated = axis < shift || size != output[axis];
        if (repeated && output[axis] > 1) found = axis;
    }
    return found;
}

template <class F>
Tensor changed(const Tensor& g, F f) {
    auto values = g.to_vector<double>();
    f(values);
    Tensor result = zeros(g.shape(), g.dtype());
    visit_stored("mutant", g.dtype(), [&](auto zero) {
        using T = decltype(zero);
        T* to = result.mutable_data<T>();
        for (std::size_t i = 0; i < values.size(); ++i) to[i] = static_cast<T>(values[i]);
    });
    return result;
}

Tensor scaled(const Tensor& g, double factor) {
    return changed(g, [factor](auto& values) {
        for (double& value : values) value *= factor;
    });
}

// An operand whose gradient could be mistaken for this one's; if none, the operand itself.
std::size_t twin_of(const Op& op, std::size_t operand) {
    const Op::Operand& x = op.inputs()[operand];
    for (std::size_t i = 0; i < op.inputs().size(); ++i) {
        const Op::Operand& y = op.inputs()[i];
        const bool alike = y.shape == x.shape && y.dtype == x.dtype;
        if (i != operand && y.slot >= 0 && y.slot != x.slot && alike) return i;
    }
    return operand;
}

// The rule's result for an incoming gradient that is zero except at the first index of `axis`.
Tensor first_place(Op& op, const Tensor& incoming, int axis, std::size_t operand) {
    const std::int64_t inner = numel(incoming.shape().sub(axis + 1, incoming.rank()));
    const std::int64_t size = incoming.size(axis);
    const Tensor masked = changed(incoming, [&](auto& values) {
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (static_cast<std::int64_t>(i) / inner % size != 0) values[i] = 0;
        }
    });
    return op.backward({masked})[operand];
}

}  // namespace

const std::vector<Mutation>& all_mutations() {
    static const std::vector<Mutation> all{
        Mutation::sign,        Mutation::twice,        Mutation::half,        Mutation::times_n,
        Mutation::over_n,      Mutation::times_root_n, Mutation::over_root_n, Mutation::transposed,
        Mutation::missing_sum, Mutation::doubled_sum,  Mutation::dropped,     Mutation::zero,
        Mutation::shifted,     Mutation::other,        Mutation::stale,       Mutation::chain};
    return all;
}

std::string to_string(Mutation mutation) {
    switch (mutation) {
        case Mutation::sign: return "sign";
        case Mutation::twice: return "factor 2";
        case Mutation::half: return "factor 1/2";
        case Mutation::times_n: return "factor N";
        case Mutation::over_n: return "factor 1/N";
        case Mutation::times_root_n: return "factor sqrt(N)";
        case Mutation::over_root_n: return "factor 1/sqrt(N)";
        case Mutation::transposed: return "transposed";
        case Mutation::missing_sum: return "missing sum";
        case Mutation::doubled_sum: return "doubled sum";
        case Mutation::dropped: return "dropped";
        case Mutation::zero: return "zero";
        case Mutation::shifted: return "off by one";
        case Mutation::other: return "another operand's";
        case Mutation::stale: return "an earlier call's";
        case Mutation::chain: return "missing factor";
    }
    return {};
}

Mistake expected_mistake(Mutation mutation) {
    switch (mutation) {
        case Mutation::sign: return Mistake::sign;
        case Mutation::transposed: return Mistake::permuted;
        case Mutation::missing_sum: return Mistake::missing_sum;
        case Mutation::doubled_sum: return Mistake::doubled_sum;
        case Mutation::dropped: return Mistake::dropped;
        case Mutation::zero: return Mistake::zero;
        case Mutation::shifted: return Mistake::shifted;
        case Mutation::other:
        case Mutation::stale: return Mistake::stale;
        case Mutation::chain: return Mistake::chain;
        default: return Mistake::factor;
    }
}

bool applies(Mutation mutation, const Op& op, std::size_t operand) {
    const Op::Operand& x = op.inputs()[operand];
    const bool single = op.outputs().size() == 1;
    switch (mutation) {
        case Mutation::transposed:
            return x.shape.rank() >= 2 && x.shape[-1 + x.shape.rank()] > 1 &&
                   x.shape[x.shape.rank() - 2] > 1;
        case Mutation::missing_sum:
        case Mutation::doubled_sum:
            return single && broadcast_axis(x.shape, op.outputs()[0].shape) >= 0;
        case Mutation::dropped:
            return std::count_if(op.inputs().begin(), op.inputs().end(),
                                 [&](const auto& y) { return y.slot == x.slot; }) > 1;
        case Mutation::other: return twin_of(op, operand) != operand;
        case Mutation::chain:
            return single && op.outputs()[0].shape == x.shape && op.outputs()[0].dtype == x.dtype;
        case Mutation::shifted: return numel(x.shape) > 1;
        default: return true;
    }
}

std::string_view to_string(Corruption::Kind kind) {
    switch (kind) {
        case Corruption::Kind::factor: return "factor";
        case Corruption::Kind::transposed: return "transposed";
        case Corruption::Kind::first_place: return "first_place";
        case Corruption::Kind::zero: return "zero";
        case Corruption::Kind::shifted: return "shifted";
        case Corruption::Kind::other: return "other";
        case Corruption::Kind::stale: return "stale";
        case Corruption::Kind::incoming: return "incoming";
    }
    return {};
}

Corruption corruption(Mutation mutation, const Op& op, std::size_t operand) {
    using Kind = Corruption::Kind;
    const auto times = [](double factor) { return Corruption{Kind::factor, factor}; };
    const Shape& shape = op.inputs()[operand].shape;
    const auto n = static_cast<double>(numel(shape));
    switch (mutation) {
        case Mutation::sign: return times(-1);
        case Mutation::twice: return times(2);
        case Mutation::half: return times(0.5);
        case Mutation::times_n: return times(n);
        case Mutation::over_n: return times(1 / n);
        case Mutation::times_root_n: return times(std::sqrt(n));
        case Mutation::over_root_n: return times(1 / std::sqrt(n));
        case Mutation::transposed: return {Kind::transposed};
        case Mutation::missing_sum:
            return {.kind = Kind::first_place,
                    .axis = broadcast_axis(shape, op.outputs()[0].shape)};
        case Mutation::doubled_sum: {
            const Shape& output = op.outputs()[0].shape;
            return times(static_cast<double>(output[broadcast_axis(shape, output)]));
        }
        case Mutation::dropped:
        case Mutation::zero: return {Kind::zero};
        case Mutation::shifted: return {Kind::shifted};
        case Mutation::other: return {.kind = Kind::other, .other = twin_of(op, operand)};
        case Mutation::stale: return {Kind::stale};
        case Mutation::chain: return {Kind::incoming};
    }
    return times(1);
}

Tensor Mutant::corrupted(Op& op, const Tensors& incoming, const Tensors& outgoing) {
    const std::size_t operand = target_.operand;
    const Shape& shape = op.inputs()[operand].shape;
    const auto or_zeros = [&](const Tensor& x) {
        return x.defined() ? x : zeros(shape, op.inputs()[operand].dtype);
    };
    const Tensor g = or_zeros(outgoing[operand]);
    const Corruption what = corruption(mutation_, op, operand);
    switch (what.kind) {
        case Corruption::Kind::factor: return scaled(g, what.factor);
        case Corruption::Kind::transposed:
            return views::reshape(views::transpose(g, -1, -2).clone(), shape);
        case Corruption::Kind::first_place: return first_place(op, incoming[0], what.axis, operand);
        case Corruption::Kind::zero: return or_zeros({});
        case Corruption::Kind::shifted:
            return changed(g, [](auto& values) {
                std::rotate(values.begin(), values.end() - 1, values.end());
            });
        case Corruption::Kind::other: return or_zeros(outgoing[what.other]);
        case Corruption::Kind::stale: return or_zeros(std::exchange(before_, g));
        case Corruption::Kind::incoming: return or_zeros(incoming[0]);
    }
    return g;
}

void Mutant::walked(Op& op, const Tensors& incoming, Tensors& outgoing) {
    const bool hit = op.number() == target_.entry && op.name() == target_.op &&
                     op.inputs().size() > target_.operand &&
                     op.inputs()[target_.operand].dtype == target_.dtype;
    if (!hit || busy_) return;
    busy_ = true;
    const NoGradGuard no_grad;
    outgoing[target_.operand] = corrupted(op, incoming, outgoing);
    busy_ = false;
}

}  // namespace tapestry::test
