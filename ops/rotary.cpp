// The backward pass is the forward pass with negated angles: one function and one op serve both.
#include <tapestry/ops/rotary.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/loop.h>
#include <tapestry/core/parallel.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/batch.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/fusion.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/kernels/table.h>
#include <tapestry/ops/staging.h>
#include <tapestry/ops/view.h>

#include <algorithm>
#include <utility>

namespace tapestry {
namespace {

struct Turn {
    Tensor cos, sin;  // [T, P]
    RotaryPairs pairs;
    bool back;

    std::int64_t turned() const { return 2 * cos.size(1); }  // R
};

Tensor turn(const Tensor& x, const Turn& how);

struct RotaryOp final : Op {
    explicit RotaryOp(const Turn& how)
        : Op("rotary", {how.cos, how.sin}), pairs_(how.pairs), back_(how.back) {}

    std::string attributes() const override {
        return fmt::format("{}{}", pairs_ == RotaryPairs::halves ? "halves" : "interleaved",
                           back_ ? ", back" : "");
    }
    double flops() const override { return 3.0 * static_cast<double>(numel(outputs()[0].shape)); }
    Tensors forward(const Tensors& x) const override { return {turn(x[0], how(back_))}; }
    Tensors backward(const Tensors& grads) override { return {turn(grads[0], how(!back_))}; }

private:
    Turn how(bool back) const { return {saved(0), saved(1), pairs_, back}; }

    RotaryPairs pairs_;
    bool back_;
};

// Uninitialised, with x's memory order: heads cut out of [B, T, H D] stay inside their tokens.
Tensor room_like(const Tensor& x) {
    const int token = x.rank() - 2, head = token - 1;
    if (head < 0 || x.strides()[head] >= x.strides()[token]) return Tensor(x.shape(), x.dtype());
    Shape memory = x.shape();
    std::swap(memory[head], memory[token]);
    return views::transpose(Tensor(memory, x.dtype()), head, token);
}

template <class T>
using TurnedRows = kernels::RotaryRows<T>;

// The rows of a matrix. Narrow ones are widened some at a time, rotated in place and rounded once.
template <class T, class Kernel>
void turn_rows(const Kernel& kernel, TurnedRows<Compute<T>> rows, T* to, const T* from) {
    if constexpr (kIsNarrow<T>) {
        const std::int64_t width = rows.width, to_row = rows.to_row, from_row = rows.from_row;
        const std::int64_t most = std::max<std::int64_t>(1, kStagedBlock / width);
        const StagingRoom room(most * width);
        rows.from = rows.to = room.data();
        rows.from_row = rows.to_row = width;
        for (std::int64_t left = rows.rows; left > 0; left -= rows.rows) {
            rows.rows = std::min(most, left);
            widen_rows(room.data(), from, from_row, rows.rows, width);
            kernel(rows);
            narrow_rows(to, to_row, room.data(), rows.rows, width);
            from += rows.rows * from_row;
            to += rows.rows * to_row;
            rows.cos += rows.rows * rows.pairs;
            rows.sin += rows.rows * rows.pairs;
        }
    } else {
        rows.from = from;
        rows.to = to;
        kernel(rows);
    }
}

template <class T>
void turn_into(Tensor& y, const Tensor& x, const Turn& how) {
    using C = Compute<T>;
    const auto& table = kernels::table<C>().rotary;
    const auto kernel = how.pairs == RotaryPairs::halves ? table.halves : table.interleaved;
    const std::int64_t length = x.size(-2), width = x.size(-1), pairs = how.cos.size(1);
    const Shape leading = leading_shape(x);
    const Strides from = leading_strides(x, leading), to = leading_strides(y, leading);
    const T* const read = x.data<T>();
    T* const write = y.mutable_data<T>();
    TurnedRows<C> all;
    all.from_row = x.strides()[x.rank() - 2];
    all.to_row = y.strides()[x.rank() - 2];
    all.pairs = pairs;
    all.width = width;
    all.direction = how.back ? C(-1) : C(1);
    const C* const cos = how.cos.data<C>();
    const C* const sin = how.sin.data<C>();
    const std::int64_t grain = std::max<std::int64_t>(1, kGrain / 2 / width);  // rows
    parallel_for(x.numel() / width, grain, [&](std::int64_t begin, std::int64_t end) {
        while (begin < end) {  // matrix by matrix
            const std::int64_t matrix = begin / length, row = begin % length;
            TurnedRows<C> some = all;
            some.rows = std::min(length - row, end - begin);
            some.cos = cos + row * pairs;
            some.sin = sin + row * pairs;
            turn_rows(kernel, some, write + offset_at(matrix, leading, to) + row * all.to_row,
                      read + offset_at(matrix, leading, from) + row * all.from_row);
            begin += some.rows;
        }
    });
}

// The rotation composed of elementary ops.
Tensor plain_turn(const Tensor& x, const Turn& how) {
    const std::int64_t turned = how.turned();
    const Tensors parts = split(x, {turned, x.size(-1) - turned}, -1);
    const bool halves = how.pairs == RotaryPairs::halves;
    Shape in_pairs = parts[0].shape();  // [..., T, 2, P] or [..., T, P, 2]
    in_pairs.back() = halves ? 2 : turned / 2;
    in_pairs.push_back(halves ? turned / 2 : 2);
    const int pair = halves ? -2 : -1;
    const Tensor cos = unsqueeze(how.cos, pair);
    const Tensor sin = unsqueeze(how.sin, pair) * (how.back ? -1.0 : 1.0);
    const Tensors ab = split(reshape(parts[0], in_pairs), 1, pair);
    const Tensor y = concat({ab[0] * cos - ab[1] * sin, ab[0] * sin + ab[1] * cos}, pair);
    return concat({reshape(y, parts[0].shape()), parts[1]}, -1);
}

Tensor turn(const Tensor& x, const Turn& how) {
    if (!fusion_enabled()) {
        if (!is_narrow(x.dtype())) return plain_turn(x, how);
        return in_f32([&how](const Tensor& wide) { return plain_turn(wide, how); }, x);
    }
    const Tensor from = x.strides().back() == 1 ? x.detach() : dense(x);
    Tensor y = room_like(from);
    if (x.numel() > 0) {
        visit_stored("rotary", x.dtype(),
                     [&](auto zero) { turn_into<decltype(zero)>(y, from, how); });
    }
    return record<RotaryOp>({x}, y, how);
}

void check_table(const Tensor& x, const Tensor& table, const char* name) {
    check_defined("rotary", table);
    require<DTypeError>(is_floating(table.dtype()),
                        "rotary: {} needs floating-point numbers, got {}", name, table.dtype());
    if (!is_narrow(x.dtype())) check_same_dtype("rotary", x, table);
    const bool fits =
        table.rank() == 2 && table.size(0) == x.size(-2) && 2 * table.size(1) <= x.size(-1);
    require<ShapeError>(fits, "rotary: {} is {}; {} needs [{}, P] with 2 P <= {}", name,
                        table.shape(), x.shape(), x.size(-2), x.size(-1));
}

}  // namespace

Tensor rotary(const Tensor& x, const Tensor& cos, const Tensor& sin, RotaryPairs pairs) {
    check_floating("rotary", x);
    require<ShapeError>(x.rank() >= 2, "rotary: needs [..., T, D], got {}", x.shape());
    check_table(x, cos, "cos");
    check_table(x, sin, "sin");
    require<ShapeError>(cos.shape() == sin.shape(), "rotary: cos is {}, but sin {}", cos.shape(),
                        sin.shape());
    require<AutogradError>(Tape::following({cos, sin}) == nullptr,
                           "rotary: cos and sin must be constants, but a tape records them");
    if (!is_narrow(x.dtype())) return turn(x, {dense(cos), dense(sin), pairs, false});
    // The angles may be f32, and are then used as such.
    return turn(x, {dense(to(cos, DType::f32)), dense(to(sin, DType::f32)), pairs, false});
}

}  // namespace tapestry
