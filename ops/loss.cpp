#include <tapestry/ops/loss.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/loop.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/fusion.h>
#include <tapestry/ops/indexing.h>
#include <tapestry/ops/kernels/table.h>
#include <tapestry/ops/loss_rows.h>
#include <tapestry/ops/recorded.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/softmax.h>
#include <tapestry/ops/staging.h>
#include <tapestry/ops/view.h>

#include <algorithm>
#include <cmath>

namespace tapestry {

// ---- cross_entropy ------------------------------------------------------------------------------

namespace {

void check_classes(std::string_view op, const Tensor& scores, const Tensor& targets) {
    check_floating(op, scores);
    check_dtype(op, targets, DType::i64);
    require<ShapeError>(scores.rank() >= 1, "{}: {} are a scalar; the last axis holds the classes",
                        op, op == "nll_loss" ? "log-probabilities" : "logits");
    const Shape wanted = scores.shape().sub(0, scores.rank() - 1);
    require<ShapeError>(targets.shape() == wanted, "{}: targets are {}, but {} {} need {}", op,
                        targets.shape(), op == "nll_loss" ? "log-probabilities" : "logits",
                        scores.shape(), wanted);
}

}  // namespace

std::int64_t count_targets(std::string_view op, const Tensor& targets, std::int64_t classes,
                           std::int64_t ignored) {
    const std::int64_t* target = targets.data<std::int64_t>();
    std::int64_t counted = 0;
    for (std::int64_t i = 0; i < targets.numel(); ++i) {
        if (target[i] == ignored) continue;
        ++counted;
        require<IndexError>(target[i] >= 0 && target[i] < classes,
                            "{}: target {} at position {} is outside the {} classes "
                            "(0 to {}; {} is ignored)",
                            op, target[i], i, classes, classes - 1, ignored);
    }
    return counted;
}

void check_smoothing(std::string_view op, double smoothing) {
    require<ValueError>(smoothing >= 0 && smoothing <= 1,
                        "{}: label_smoothing must be in [0, 1], got {}", op, smoothing);
}

double share_of_rows(Reduction reduction, std::int64_t counted) {
    return reduction == Reduction::mean && counted > 0 ? 1 / static_cast<double>(counted) : 1;
}

Tensor reduced(const Tensor& losses, Reduction reduction, std::int64_t counted) {
    if (reduction == Reduction::none) return losses;
    const Tensor total = sum(losses);
    return reduction == Reduction::sum ? total : div(total, static_cast<double>(counted));
}

namespace {

// q [..., V] and weight [..., 1] of cross_entropy_gradient().
template <class T>
void fill_targets(Tensor& q, Tensor& weight, const Tensor& targets,
                  const CrossEntropyOptions& options, double share) {
    const std::int64_t classes = q.shape().back();
    const std::int64_t* target = targets.data<std::int64_t>();
    T* const to = q.mutable_data<T>();
    T* const weights = weight.mutable_data<T>();
    const double spread = options.label_smoothing / static_cast<double>(classes);
    for (std::int64_t r = 0; r < targets.numel(); ++r) {
        if (target[r] == options.ignore_index) continue;
        std::fill_n(to + r * classes, classes, static_cast<T>(spread));
        to[r * classes + target[r]] = static_cast<T>(spread + 1 - options.label_smoothing);
        weights[r] = static_cast<T>(share);
    }
}

}  // namespace

Tensor cross_entropy_gradient(const Tensor& logits, const Tensor& targets, const Tensor& grad,
                              const CrossEntropyOptions& options, std::int64_t counted) {
    Shape kept = targets.shape();
    kept.push_back(1);
    Tensor q = zeros_like(logits);
    Tensor weight = zeros(kept, logits.dtype());
    visit_floating("cross_entropy", logits.dtype(), [&](auto zero) {
        fill_targets<decltype(zero)>(q, weight, targets, options,
                                     share_of_rows(options.reduction, counted));
    });
    const Tensor g = options.reduction == Reduction::none ? reshape(grad, kept) : grad;
    return mul(mul(g, weight), sub(softmax(logits), q));
}

namespace {

struct CrossEntropyOp final : Op {
    CrossEntropyOp(const Tensor& logits, const Tensor& targets, const Tensor& lse,
                   const CrossEntropyOptions& o, std::int64_t n)
        : Op("cross_entropy", {logits, targets, lse}), options(o), counted(n) {}
    std::string attributes() const override {
        constexpr const char* kNames[] = {"mean", "sum", "none"};
        return fmt::format("reduction={}, label_smoothing={}, ignore_index={}",
                           kNames[static_cast<int>(options.reduction)], options.label_smoothing,
                           options.ignore_index);
    }
    double flops() const override { return 5.0 * static_cast<double>(numel(inputs()[0].shape)); }
    Tensors forward(const Tensors& x) const override {
        return {cross_entropy(x[0], saved(1), options)};
    }
    Tensors backward(const Tensors& grads) override {
        if (!is_recording()) return {fused(grads[0])};
        const Tensor logits = to(saved(0), grads[0].dtype());
        const Tensor dx = cross_entropy_gradient(logits, saved(1), grads[0], options, counted);
        return {to(dx, saved(0).dtype())};
    }
    Tensor fused(const Tensor& grad) const;
    RecordedCrossEntropy asked() const { return {saved(1), options}; }

    CrossEntropyOptions options;
    std::int64_t counted;
};

Tensor CrossEntropyOp::fused(const Tensor& grad) const {
    const Tensor logits = dense(saved(0));
    const Tensor& targets = saved(1);
    const Tensor g = dense(grad);  // a scalar, or one per row
    const std::int64_t g_step = options.reduction == Reduction::none ? 1 : 0;
    Tensor dx(logits.shape(), logits.dtype());
    visit_stored("cross_entropy", logits.dtype(), [&](auto zero) {
        using T = decltype(zero);
        using C = Compute<T>;
        const auto kernel = kernels::table<C>().cross_entropy.backward;
        const std::int64_t n = logits.shape().back();
        const T* const from = logits.data<T>();
        T* const to = dx.mutable_data<T>();
        const C* const lse = saved(2).data<C>();
        const C* const grads = g.data<C>();
        parallel_for(targets.numel(), rows_per_chunk(n), [&](auto begin, auto end) {
            const std::int64_t at = begin * n, count = (end - begin) * n;
            const Widened<T> x(from + at, count);
            const Narrowed<T> out(to + at, count);
            const auto rows = rows_at(x.data(), targets.data<std::int64_t>() + begin, n, options);
            kernel(out.data(), lse + begin, grads + begin * g_step, g_step,
                   static_cast<C>(share_of_rows(options.reduction, counted)), rows, 0, end - begin);
        });
    });
    return dx;
}

// Classes to look up, and which rows count: an ignored target, which may not be a valid class, is
// read as class 0.
struct Targets {
    Targets(const Tensor& targets, std::int64_t ignored)
        : classes(targets.clone()), counting(targets.shape(), DType::boolean) {
        std::int64_t* const target = classes.mutable_data<std::int64_t>();
        bool* const counts = counting.mutable_data<bool>();
        for (std::int64_t i = 0; i < targets.numel(); ++i) {
            counts[i] = target[i] != ignored;
            if (!counts[i]) target[i] = 0;
        }
    }
    // scores [..., V] -> [...]
    Tensor pick(const Tensor& scores) const {
        return squeeze(gather(scores, -1, unsqueeze(classes, -1)), -1);
    }

    Tensor classes;
    Tensor counting;
};

// -sum_j q_j log softmax(x)_j, and 0 in ignored rows.
Tensor plain_cross_entropy(const Tensor& x, const Tensor& targets,
                           const CrossEntropyOptions& options, std::int64_t counted) {
    const FloatingPointGuard standard;  // for the weights of the smoothing
    const Targets found(targets, options.ignore_index);
    const double s = options.label_smoothing;
    const Tensor log_p = log_softmax(x);  // [..., V]
    Tensor losses = mul(found.pick(log_p), s - 1);
    if (s > 0) losses = sub(losses, mul(mean(log_p, {-1}), s));
    return reduced(where(found.counting, losses, scalar(0, x.dtype())), options.reduction, counted);
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& targets,
                     const CrossEntropyOptions& options) {
    const bool soft = logits.defined() && targets.defined() && is_floating(targets.dtype()) &&
                      logits.rank() > 0 && targets.shape() == logits.shape();
    if (soft) return soft_cross_entropy(logits, targets, options);
    check_classes("cross_entropy", logits, targets);
    check_smoothing("cross_entropy", options.label_smoothing);
    const Tensor x = dense(logits);
    const Tensor classes = dense(targets);
    const std::int64_t counted =
        count_targets("cross_entropy", classes, x.shape().back(), options.ignore_index);
    if (options.weight.defined()) return weighted_cross_entropy(logits, classes, options);
    if (!fusion_enabled() && x.numel() > 0) {
        return plain_cross_entropy(to(logits, compute_dtype(x.dtype())), classes, options, counted);
    }
    Tensor losses(targets.shape(), compute_dtype(x.dtype()));
    Tensor lse(targets.shape(), losses.dtype());
    visit_stored("cross_entropy", x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        using C = Compute<T>;
        const auto kernel = kernels::table<C>().cross_entropy.forward;
        const std::int64_t n = x.shape().back();
        const T* const from = x.data<T>();
        C* const to_losses = losses.mutable_data<C>();
        C* const to_lse = lse.mutable_data<C>();
        parallel_for(classes.numel(), rows_per_chunk(n), [&](auto begin, auto end) {
            const Widened<T> rows_x(from + begin * n, (end - begin) * n);
            const auto rows =
                rows_at(rows_x.data(), classes.data<std::int64_t>() + begin, n, options);
            kernel(to_losses + begin, to_lse + begin, rows, 0, end - begin);
        });
    });
    Tensor y = reduced(losses, options.reduction, counted);
    return record<CrossEntropyOp>({logits}, y, logits, classes, lse, options, counted);
}

std::optional<RecordedCrossEntropy> recorded_cross_entropy(const Op& op) {
    const auto* found = dynamic_cast<const CrossEntropyOp*>(&op);
    return found == nullptr || found->released() ? std::nullopt : std::optional(found->asked());
}

namespace {
thread_local int whole_logits = 0;
}

WholeLogits::WholeLogits() { ++whole_logits; }
WholeLogits::~WholeLogits() { --whole_logits; }
bool WholeLogits::are_wanted() { return whole_logits > 0; }

// ---- nll_loss -----------------------------------------------------------------------------------

Tensor nll_loss(const Tensor& log_p, const Tensor& targets, const NllOptions& options) {
    check_classes("nll_loss", log_p, targets);
    const Tensor classes = dense(targets);
    const std::int64_t counted =
        count_targets("nll_loss", classes, log_p.shape().back(), options.ignore_index);
    const Targets found(classes, options.ignore_index);
    const Tensor losses = neg(found.pick(log_p));
    return reduced(where(found.counting, losses, scalar(0, log_p.dtype())), options.reduction,
                   counted);
}

}  // namespace tapestry
