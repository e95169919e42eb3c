#include <tapestry/ops/linear_cross_entropy.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/floating_point.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/accumulated_product.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/fusion.h>
#include <tapestry/ops/kernels/table.h>
#include <tapestry/ops/loss_rows.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/staging.h>
#include <tapestry/ops/view.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

namespace tapestry {
namespace {

using Options = LinearCrossEntropyOptions;

// Logits of a slice. The weight's gradient is read and written once for each: with 49,152 classes
// of 576 features and 1,024 rows, slices of 32 MB took 7% more CPU time than the plain form, of
// 64 MB 2%.
constexpr std::int64_t kSliceBytes = std::int64_t{64} << 20;
// A multiple of the rows that the kernels of products take at a time.
constexpr std::int64_t kSliceRows = 64;

// Slices of a frozen weight: no sum is over several slices, so fewer rows give the same bits, and
// as each slice has one chunk of rows (kernels/gemm.h), the weight is read about as often.
constexpr std::int64_t kFrozenSliceRows = 128;
// Kernels for a few rows add in another order: a last slice of so few rows must not begin elsewhere
// because the weight is frozen.
constexpr std::int64_t kShortSlice = 16;

// Depends only on the sizes and on whether the weight is frozen: the sums over slices are the same
// for any number of threads.
std::int64_t rows_per_slice(std::int64_t rows, std::int64_t classes, DType dtype, bool frozen) {
    const auto size = static_cast<std::int64_t>(size_of(dtype));
    const std::int64_t most = kSliceBytes / std::max<std::int64_t>(1, classes * size);
    const std::int64_t whole = std::max(kSliceRows, most / kSliceRows * kSliceRows);
    const std::int64_t rest = rows % kSliceRows;
    const bool may_be_cut = frozen && (rest == 0 || rest > kShortSlice);
    return std::min({rows, whole, may_be_cut ? kFrozenSliceRows : whole});
}

CrossEntropyOptions for_rows(const Options& o) {
    return {.ignore_index = o.ignore_index,
            .label_smoothing = o.label_smoothing,
            .reduction = o.reduction};
}

// ---- slices -------------------------------------------------------------------------------------

// Which gradients are wanted.
struct Wanted {
    bool x, weight;
};

// The results of the forward pass for x [R, C]. The gradients are undefined unless wanted.
struct Computed {
    Tensor losses;     // [R], or of the learned rows only
    Tensor to_x;       // [R, C], of x's dtype
    Tensor to_weight;  // [V, C], of the weight's
};

// Goes over the rows, slice by slice, without a tape.
class Slices {
public:
    Slices(const Tensor& x, const Tensor& weight, const Tensor& targets, const Options& options,
           std::int64_t counted, bool frozen)
        : x_(x),
          weight_(to(weight, x.dtype())),
          targets_(targets),
          options_(options),
          share_(share_of_rows(options.reduction, counted)),
          wide_(compute_dtype(x.dtype())),
          rows_(rows_per_slice(x.size(0), weight.size(0), x.dtype(), frozen)),
          losses_({x.size(0)}, wide_),
          lse_({x.size(0)}, wide_),
          logits_({rows_, weight.size(0)}, x.dtype()) {}

    Computed run(bool wants_x, bool wants_weight, DType weight_dtype) {
        Computed all{.losses = losses_, .to_x = {}, .to_weight = {}};
        if (wants_x) all.to_x = Tensor(x_.shape(), x_.dtype());
        // Sums over several slices are not narrow.
        const bool several = rows_ < x_.size(0);
        if (wants_weight) {
            all.to_weight = Tensor(weight_.shape(), several ? wide_ : weight_dtype);
            if (x_.size(0) == 0) all.to_weight.fill_(0);
        }
        for (std::int64_t first = 0; first < x_.size(0); first += rows_) {
            slice(first, std::min(x_.size(0), first + rows_), all);
        }
        if (wants_weight) all.to_weight = to(all.to_weight, weight_dtype);
        return all;
    }

private:
    void slice(std::int64_t first, std::int64_t end, Computed& all) {
        Tensor z = views::slice(logits_, 0, 0, end - first);  // [S, V]
        const Tensor x = views::slice(x_, 0, first, end);     // [S, C]
        multiply_into(x, views::transpose(weight_, 0, 1), z, false);
        Tensor bounded;  // tanh(z / softcap)
        if (options_.softcap > 0) {
            bounded = tanh(mul(z, 1 / options_.softcap));
            z = mul(bounded, options_.softcap);
        }
        rows_forward(z, first);
        if (!all.to_x.defined() && !all.to_weight.defined()) return;
        rows_backward(z, first);
        if (bounded.defined()) z = sub(z, mul(z, square(bounded)));
        if (all.to_x.defined()) {
            Tensor to_x = views::slice(all.to_x, 0, first, end);
            multiply_into(z, weight_, to_x, false);
        }
        if (all.to_weight.defined()) {
            multiply_into(views::transpose(z, 0, 1), x, all.to_weight, first > 0);
        }
    }

    // losses and lse of the rows from `first` on
    void rows_forward(const Tensor& z, std::int64_t first) {
        each_chunk(z, first, [&](auto rows, auto* /*z*/, std::int64_t at, std::int64_t count) {
            using C = std::remove_cvref_t<decltype(rows.smoothing)>;
            kernels::table<C>().cross_entropy.forward(losses_.mutable_data<C>() + at,
                                                      lse_.mutable_data<C>() + at, rows, 0, count);
        });
    }

    // z becomes the gradient of the sum or mean of the losses.
    void rows_backward(Tensor& z, std::int64_t first) {
        each_chunk(z, first, [&](auto rows, auto* to, std::int64_t at, std::int64_t count) {
            using T = std::remove_pointer_t<decltype(to)>;
            using C = Compute<T>;
            const Narrowed<T> out(to, count * rows.classes);
            const C one = 1;
            kernels::table<C>().cross_entropy.backward(out.data(), lse_.data<C>() + at, &one, 0,
                                                       static_cast<C>(share_), rows, 0, count);
        });
    }

    // Calls f(rows for the kernel, elements of z, first row among all, number of rows).
    template <class F>
    void each_chunk(const Tensor& z, std::int64_t first, const F& f) const {
        const std::int64_t classes = z.size(1);
        const std::int64_t* const targets = targets_.data<std::int64_t>() + first;
        visit_stored("linear_cross_entropy", z.dtype(), [&](auto zero) {
            using T = decltype(zero);
            T* const elements = Tensor(z).mutable_data<T>();
            parallel_for(z.size(0), rows_per_chunk(classes), [&](auto begin, auto end) {
                T* const at = elements + begin * classes;
                const Widened<T> wide(at, (end - begin) * classes);
                const auto rows =
                    rows_at(wide.data(), targets + begin, classes, for_rows(options_));
                f(rows, at, first + begin, end - begin);
            });
        });
    }

    const Tensor x_, weight_, targets_;  // [R, C], [V, C] in x's dtype, [R]
    const Options& options_;
    const double share_;
    const DType wide_;
    const std::int64_t rows_;  // of a slice
    Tensor losses_, lse_, logits_;
};

// ---- ignored rows -------------------------------------------------------------------------------

// The rows that are learned; no others are multiplied. In conversations, half of them or fewer.
std::vector<std::int64_t> learned_rows(const Tensor& targets, std::int64_t ignore_index) {
    const std::span<const std::int64_t> all(targets.data<std::int64_t>(),
                                            static_cast<std::size_t>(targets.numel()));
    std::vector<std::int64_t> rows;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i] != ignore_index) rows.push_back(static_cast<std::int64_t>(i));
    }
    return rows;
}

// Rows of x, one after the other.
Tensor gathered(const Tensor& x, const std::vector<std::int64_t>& rows) {
    const std::int64_t width = x.numel() / x.size(0);
    Tensor y({std::ssize(rows), width}, x.dtype());
    visit_dtype(x.dtype(), [&](auto zero) {
        auto* to = y.mutable_data<decltype(zero)>();
        for (const std::int64_t row : rows) {
            to = std::copy_n(x.data<decltype(zero)>() + row * width, width, to);
        }
    });
    return y;
}

// The inverse: the others of `count` rows are 0.
Tensor scattered(const Tensor& x, const std::vector<std::int64_t>& rows, std::int64_t count) {
    const std::int64_t width = x.size(1);
    Tensor y = zeros({count, width}, x.dtype());
    visit_dtype(x.dtype(), [&](auto zero) {
        const auto* from = x.data<decltype(zero)>();
        for (const std::int64_t row : rows) {
            std::copy_n(from, width, y.mutable_data<decltype(zero)>() + row * width);
            from += width;
        }
    });
    return y;
}

// Slices over those rows of x [R, C] that are learned; the gradient of the others is 0.
Computed compute(const Tensor& x, const Tensor& weight, const Tensor& targets,
                 const Options& options, std::int64_t counted, Wanted wanted) {
    const auto run = [&](const Tensor& rows, const Tensor& classes) {
        return Slices(rows, weight, classes, options, counted, !wanted.weight)
            .run(wanted.x, wanted.weight, weight.dtype());
    };
    if (counted == 0 || counted == x.size(0)) return run(x, targets);
    const std::vector<std::int64_t> learned = learned_rows(targets, options.ignore_index);
    Computed computed =
        run(gathered(x, learned), views::reshape(gathered(targets, learned), {counted}));
    if (wanted.x) computed.to_x = scattered(computed.to_x, learned, x.size(0));
    return computed;
}

// ---- the op -------------------------------------------------------------------------------------

struct LinearCrossEntropyOp final : Op {
    LinearCrossEntropyOp(const Tensor& x, const Tensor& weight, const Tensor& targets,
                         const Computed& computed, const Options& o, std::int64_t n)
        : Op("linear_cross_entropy", {x, weight, targets, computed.to_x, computed.to_weight}),
          options(o),
          counted(n) {}
    std::string attributes() const override {
        return fmt::format("reduction={}, label_smoothing={}, softcap={}, ignore_index={}",
                           options.reduction == Reduction::mean ? "mean" : "sum",
                           options.label_smoothing, options.softcap, options.ignore_index);
    }
    double flops() const override {
        const auto& weight = inputs()[1].shape;
        return static_cast<double>(counted) * static_cast<double>(weight[0]) *
               (2.0 * static_cast<double>(weight[1]) + 5);
    }
    std::int64_t saved_rows() const {
        const Shape& x = inputs()[0].shape;
        return numel(x.sub(0, x.rank() - 1));
    }
    Tensors forward(const Tensors& x) const override {
        return {linear_cross_entropy(x[0], x[1], saved(2), options)};
    }
    Tensors backward(const Tensors& grads) override {
        return is_recording() ? recordable(grads[0]) : scaled(grads[0]);
    }
    Tensors scaled(const Tensor& grad) const;
    Tensors recordable(const Tensor& grad) const;

    Options options;
    std::int64_t counted;
};

Tensors LinearCrossEntropyOp::scaled(const Tensor& grad) const {
    Tensors result(2);
    const double factor = grad.item();
    for (std::size_t i : {std::size_t{0}, std::size_t{1}}) {
        if (!needs(i)) continue;
        const Tensor& at_one = saved(3 + i);
        const Tensor scaled = to(factor == 1 ? at_one : mul(at_one, factor), inputs()[i].dtype);
        result[i] = views::reshape(scaled, inputs()[i].shape);
    }
    return result;
}

Tensors LinearCrossEntropyOp::recordable(const Tensor& grad) const {
    const Tensor weight = to(saved(1), saved(0).dtype());
    const Tensor x = reshape(saved(0), {saved_rows(), weight.size(1)});
    Tensor logits = to(linear(x, weight), grad.dtype());
    Tensor bounded;
    if (options.softcap > 0) {
        bounded = tanh(mul(logits, 1 / options.softcap));
        logits = mul(bounded, options.softcap);
    }
    const Tensor targets = views::reshape(saved(2), {saved_rows()});
    Tensor slope = cross_entropy_gradient(logits, targets, grad, for_rows(options), counted);
    if (bounded.defined()) slope = sub(slope, mul(slope, square(bounded)));
    slope = to(slope, x.dtype());
    Tensors result(2);
    if (needs(0)) result[0] = reshape(matmul(slope, weight), inputs()[0].shape);
    if (needs(1)) result[1] = to(matmul(transpose(slope, 0, 1), x), inputs()[1].dtype);
    return result;
}

void check_arguments(const Tensor& x, const Tensor& weight, const Tensor& targets,
                     const Options& options) {
    constexpr std::string_view kOp = "linear_cross_entropy";
    check_floating(kOp, x);
    check_defined(kOp, weight);
    const bool wider = is_narrow(x.dtype()) && weight.dtype() == DType::f32;
    if (!wider) check_same_dtype(kOp, x, weight);
    check_dtype(kOp, targets, DType::i64);
    require<ShapeError>(weight.rank() == 2, "{}: the weight must be [classes, features], got {}",
                        kOp, weight.shape());
    require<ShapeError>(x.rank() > 0 && x.size(-1) == weight.size(1),
                        "{}: x {} does not end in the {} features of the weight {}", kOp, x.shape(),
                        weight.size(1), weight.shape());
    const Shape wanted = x.shape().sub(0, x.rank() - 1);
    require<ShapeError>(targets.shape() == wanted, "{}: targets are {}, but x {} needs {}", kOp,
                        targets.shape(), x.shape(), wanted);
    check_smoothing(kOp, options.label_smoothing);
    require<ValueError>(options.softcap >= 0 && std::isfinite(options.softcap),
                        "{}: softcap must be finite and >= 0, got {}", kOp, options.softcap);
    require<ValueError>(options.reduction != Reduction::none,
                        "{}: the reduction must be mean or sum; for the loss of each row use "
                        "linear() and cross_entropy()",
                        kOp);
}

Tensor plain(const Tensor& x, const Tensor& weight, const Tensor& targets, const Options& options) {
    Tensor logits = linear(x, to(weight, x.dtype()));
    if (options.softcap > 0) logits = mul(tanh(mul(logits, 1 / options.softcap)), options.softcap);
    return cross_entropy(logits, targets, for_rows(options));
}

}  // namespace

Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& targets,
                            const LinearCrossEntropyOptions& options) {
    const FloatingPointGuard standard;  // for the share of a row, and the cap
    check_arguments(x, weight, targets, options);
    const Tensor classes = dense(targets);
    const std::int64_t counted =
        count_targets("linear_cross_entropy", classes, weight.size(0), options.ignore_index);
    if (!fusion_enabled()) return plain(x, weight, classes, options);
    const Wanted wanted{.x = Tape::following({x}) != nullptr,
                        .weight = Tape::following({weight}) != nullptr};
    Computed computed;
    Tensor y;
    {
        const NoGradGuard unrecorded;
        const bool is_half = x.dtype() == DType::f16;
        const auto kept = [is_half](const Tensor& t) { return is_half ? to(t, DType::f32) : t; };
        const Tensor rows = views::reshape(dense(kept(x)), {classes.numel(), weight.size(1)});
        computed = compute(rows, dense(kept(weight)), views::reshape(classes, {classes.numel()}),
                           options, counted, wanted);
        y = reduced(computed.losses, options.reduction, counted);
    }
    return record<LinearCrossEntropyOp>({x, weight}, y, x, weight, classes, computed, options,
                                        counted);
}

}  // namespace tapestry
