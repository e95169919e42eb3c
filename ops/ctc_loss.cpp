// The lattice of a sequence of labels: blanks between them, at the beginning and at the end, 2 S +
// 1 positions. A path moves on by at most one position per step, or by two between different
// labels. alpha[t, s] is the log-probability of all beginnings that are at position s after step t,
// its emission included; beta[t, s] that of all ends from there, without it. The kernels compute
// both in double, per sequence; the recordable form does it in ops, for gradients of gradients.
#include <tapestry/ops/loss.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/loop.h>
#include <tapestry/core/parallel.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/fusion.h>
#include <tapestry/ops/indexing.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/subscript.h>
#include <tapestry/ops/view.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace tapestry {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

// NaN if either is.
double log_sum(double a, double b) {
    if (a == kNever) return b;
    if (b == kNever) return a;
    return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
}

// One sequence of a batch.
template <class T>
struct Lattice {
    Lattice(const T* log_p, const std::int64_t* target, std::int64_t input, std::int64_t labels,
            std::int64_t classes, std::int64_t blank)
        : x(log_p), steps(input), size(2 * labels + 1), vocab(classes) {
        at.assign(static_cast<std::size_t>(size), blank);
        for (std::int64_t i = 0; i < labels; ++i)
            at[static_cast<std::size_t>(2 * i + 1)] = target[i];
    }
    std::int64_t label(std::int64_t s) const { return at[static_cast<std::size_t>(s)]; }
    double emission(std::int64_t t, std::int64_t s) const { return x[t * vocab + label(s)]; }
    // Whether a path may come to s from s - 2.
    bool skips(std::int64_t s) const { return s % 2 == 1 && s >= 2 && label(s) != label(s - 2); }

    // alpha after every step, [steps, size].
    std::vector<double> forward() const {
        std::vector<double> alpha(static_cast<std::size_t>(steps * size), kNever);
        for (std::int64_t s = 0; s < std::min<std::int64_t>(2, size); ++s) {
            alpha[static_cast<std::size_t>(s)] = emission(0, s);
        }
        for (std::int64_t t = 1; t < steps; ++t) {
            const double* const before = alpha.data() + (t - 1) * size;
            for (std::int64_t s = 0; s < size; ++s) {
                double sum = before[s];
                if (s >= 1) sum = log_sum(sum, before[s - 1]);
                if (skips(s)) sum = log_sum(sum, before[s - 2]);
                alpha[static_cast<std::size_t>(t * size + s)] = sum + emission(t, s);
            }
        }
        return alpha;
    }

    double total(const std::vector<double>& alpha) const {
        const double* const last = alpha.data() + (steps - 1) * size;
        return size == 1 ? last[0] : log_sum(last[size - 1], last[size - 2]);
    }

    // dx[t, v] -= g times the probability of v at step t, given the labels.
    void add_gradient(T* dx, double g) const {
        const std::vector<double> alpha = forward();
        const double all = total(alpha);
        if (all == kNever) return;
        std::vector<double> beta(static_cast<std::size_t>(size), kNever), later;
        for (std::int64_t s = std::max<std::int64_t>(0, size - 2); s < size; ++s) {
            beta[static_cast<std::size_t>(s)] = 0;
        }
        for (std::int64_t t = steps - 1; t >= 0; --t) {
            for (std::int64_t s = 0; s < size; ++s) {
                const auto i = static_cast<std::size_t>(s);
                const double share =
                    std::exp(alpha[static_cast<std::size_t>(t * size) + i] + beta[i] - all);
                dx[t * vocab + label(s)] -= static_cast<T>(g * share);
            }
            if (t == 0) break;
            later = beta;
            for (std::int64_t s = 0; s < size; ++s)
                later[static_cast<std::size_t>(s)] += emission(t, s);
            for (std::int64_t s = 0; s < size; ++s) {
                const auto i = static_cast<std::size_t>(s);
                beta[i] = later[i];
                if (s + 1 < size) beta[i] = log_sum(beta[i], later[i + 1]);
                if (s + 2 < size && skips(s + 2)) beta[i] = log_sum(beta[i], later[i + 2]);
            }
        }
    }

    const T* x;
    std::int64_t steps, size, vocab;
    std::vector<std::int64_t> at;  // the label of each position
};

// What a batch consists of; all row-major constants but x.
struct Sequences {
    Tensor x, targets, inputs, labels;  // [B, T, V], [B, S], [B], [B]
    std::int64_t blank;

    std::int64_t batch() const { return x.size(0); }
    std::int64_t work() const { return x.size(1) * (2 * targets.size(1) + 1) * 8; }

    template <class T>
    Lattice<T> at(const T* from, std::int64_t b) const {
        return {from + b * x.size(1) * x.size(2),
                targets.data<std::int64_t>() + b * targets.size(1),
                inputs.data<std::int64_t>()[b],
                labels.data<std::int64_t>()[b],
                x.size(2),
                blank};
    }
};

// ---- in recordable ops --------------------------------------------------------------------------

// alpha and beta of all sequences at once; x is on the tape.
class RecordedLattice {
public:
    RecordedLattice(const Sequences& s, const Tensor& x) : x_(x), s_(s) {
        const std::int64_t width = 2 * s.targets.size(1) + 1;
        Tensor labels = full({s.batch(), width}, static_cast<double>(s.blank), DType::i64);
        Tensor skips = zeros({s.batch(), width}, DType::boolean);
        Tensor ends = full({s.batch(), width}, kNever, x.dtype());
        for (std::int64_t b = 0; b < s.batch(); ++b) {
            const std::int64_t count = s.labels.data<std::int64_t>()[b];
            const std::int64_t* const target =
                s.targets.data<std::int64_t>() + b * s.targets.size(1);
            std::int64_t* const label = labels.mutable_data<std::int64_t>() + b * width;
            bool* const skip = skips.mutable_data<bool>() + b * width;
            for (std::int64_t i = 0; i < count; ++i) {
                label[2 * i + 1] = target[i];
                skip[2 * i + 1] = i > 0 && target[i] != target[i - 1];
            }
            for (std::int64_t at = std::max<std::int64_t>(0, 2 * count - 1); at <= 2 * count;
                 ++at) {
                select(select(ends, 0, b), 0, at).fill_(0);
            }
        }
        labels_ = labels, skips_ = skips, ends_ = ends;
    }

    // [B]: the log-probability of the labels.
    Tensor total() const {
        const Tensors alpha = alphas();
        Tensor last = alpha.front();
        for (std::size_t t = 1; t < alpha.size(); ++t) {
            last = where(is_before(static_cast<std::int64_t>(t)), alpha[t], last);
        }
        return logsumexp(add(last, ends_), {1});
    }

    // [B, T, V]: the probability of each class at each step, given the labels.
    Tensor posterior() const {
        const Tensors alpha = alphas(), beta = betas();
        const Tensor all = unsqueeze(total(), 1);  // [B, 1]
        const Tensor possible = ne(all.detach(), kNever);
        Tensors steps;
        for (std::size_t t = 0; t < alpha.size(); ++t) {
            const Tensor share = sub(add(alpha[t], beta[t]), where(possible, all, 0));
            const Tensor p = where(logical_and(possible, is_before(static_cast<std::int64_t>(t))),
                                   exp(share), 0);
            const Tensor nothing = zeros({s_.batch(), x_.size(2)}, x_.dtype());
            steps.push_back(scatter_add(nothing, 1, labels_, p));
        }
        return stack(steps, 1);
    }

private:
    Tensor emission(std::int64_t t) const { return gather(select(x_, 1, t), 1, labels_); }
    // [B, 1]: whether step t is one of the sequence.
    Tensor is_before(std::int64_t t) const {
        return unsqueeze(gt(s_.inputs, static_cast<double>(t)), 1);
    }
    // y[:, s] = x[:, s - by], -inf where there is none; by may be negative.
    static Tensor shifted(const Tensor& x, std::int64_t by) {
        const std::int64_t width = x.size(1), size = std::min(std::abs(by), width);
        const Tensor never = full({x.size(0), size}, kNever, x.dtype());
        if (by > 0) return concat({never, slice(x, 1, 0, width - size)}, 1);
        return concat({slice(x, 1, size, width), never}, 1);
    }
    static Tensor sum_of(const Tensors& parts) { return logsumexp(stack(parts, 0), {0}); }

    Tensors alphas() const {
        const std::int64_t width = labels_.size(1);
        const Tensor begins = expand(lt(arange(width), 2), labels_.shape());
        Tensors alpha{where(begins, emission(0), kNever)};
        for (std::int64_t t = 1; t < x_.size(1); ++t) {
            const Tensor& before = alpha.back();
            const Tensor two = where(skips_, shifted(before, 2), kNever);
            alpha.push_back(add(sum_of({before, shifted(before, 1), two}), emission(t)));
        }
        return alpha;
    }
    Tensors betas() const {
        const std::int64_t steps = x_.size(1);
        Tensors beta(static_cast<std::size_t>(steps));
        Tensor next = full(labels_.shape(), kNever, x_.dtype());
        for (std::int64_t t = steps - 1; t >= 0; --t) {
            const Tensor is_last = unsqueeze(eq(s_.inputs, static_cast<double>(t + 1)), 1);
            if (t < steps - 1) {
                const Tensor later = add(next, emission(t + 1));
                const Tensor two = shifted(where(skips_, later, kNever), -2);
                next = sum_of({later, shifted(later, -1), two});
            }
            next = where(is_last, ends_, next);
            beta[static_cast<std::size_t>(t)] = next;
        }
        return beta;
    }

    const Tensor& x_;
    const Sequences& s_;
    Tensor labels_, skips_, ends_;  // [B, 2 S + 1] each; ends_: 0 where a path may end, else -inf
};

// ---- the op: losses [B] -------------------------------------------------------------------------

Tensor losses_of(const Tensor& log_p, const Sequences& s);

struct CtcOp final : Op {
    explicit CtcOp(const Sequences& s)
        : Op("ctc_loss", {s.x, s.targets, s.inputs, s.labels}), blank_(s.blank) {}
    std::string attributes() const override { return fmt::format("blank={}", blank_); }
    Tensors forward(const Tensors& x) const override { return {losses_of(x[0], sequences(x[0]))}; }
    Tensors backward(const Tensors& grads) override {
        const Sequences s = sequences(saved(0));
        if (is_recording()) {
            const Tensor g = neg(reshape(grads[0], {s.batch(), 1, 1}));
            return {mul(RecordedLattice(s, saved(0)).posterior(), g)};
        }
        const Tensor x = dense(s.x), g = dense(grads[0]);
        Tensor dx = zeros(x.shape(), x.dtype());
        visit_floating("ctc_loss", x.dtype(), [&](auto zero) {
            using T = decltype(zero);
            T* const to = dx.mutable_data<T>();
            parallel_for(s.batch(), kGrain / std::max<std::int64_t>(1, s.work()),
                         [&](std::int64_t begin, std::int64_t end) {
                             for (std::int64_t b = begin; b < end; ++b) {
                                 s.at(x.data<T>(), b)
                                     .add_gradient(to + b * x.size(1) * x.size(2), g.data<T>()[b]);
                             }
                         });
        });
        return {dx};
    }

private:
    Sequences sequences(const Tensor& x) const { return {x, saved(1), saved(2), saved(3), blank_}; }
    std::int64_t blank_;
};

Tensor losses_of(const Tensor& log_p, const Sequences& s) {
    if (!fusion_enabled() && s.batch() > 0) return neg(RecordedLattice(s, log_p).total());
    const Tensor x = dense(log_p);
    Tensor y({s.batch()}, x.dtype());
    visit_floating("ctc_loss", x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        T* const to = y.mutable_data<T>();
        parallel_for(s.batch(), kGrain / std::max<std::int64_t>(1, s.work()),
                     [&](std::int64_t begin, std::int64_t end) {
                         for (std::int64_t b = begin; b < end; ++b) {
                             const Lattice<T> lattice = s.at(x.data<T>(), b);
                             to[b] = static_cast<T>(-lattice.total(lattice.forward()));
                         }
                     });
    });
    return record<CtcOp>({log_p}, y, s);
}

void check_lengths(const char* what, const Tensor& lengths, std::int64_t batch, std::int64_t least,
                   std::int64_t most) {
    check_dtype("ctc_loss", lengths, DType::i64);
    require<ShapeError>(lengths.shape() == Shape{batch}, "ctc_loss: {} are {}, but need [{}]", what,
                        lengths.shape(), batch);
    for (std::int64_t b = 0; b < batch; ++b) {
        const std::int64_t length = lengths.data<std::int64_t>()[b];
        require(length >= least && length <= most, "ctc_loss: {}[{}] = {} is not from {} to {}",
                what, b, length, least, most);
    }
}

void check_labels(const Sequences& s, std::int64_t classes) {
    for (std::int64_t b = 0; b < s.targets.size(0); ++b) {
        for (std::int64_t i = 0; i < s.labels.data<std::int64_t>()[b]; ++i) {
            const std::int64_t label = s.targets.data<std::int64_t>()[b * s.targets.size(1) + i];
            require<IndexError>(label >= 0 && label < classes && label != s.blank,
                                "ctc_loss: targets[{}, {}] = {} is not a class from 0 to {} other "
                                "than the blank {}",
                                b, i, label, classes - 1, s.blank);
        }
    }
}

}  // namespace

Tensor ctc_loss(const Tensor& log_p, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, const CtcOptions& options) {
    constexpr std::string_view kOp = "ctc_loss";
    check_floating(kOp, log_p);
    check_dtype(kOp, targets, DType::i64);
    check_defined(kOp, input_lengths);
    check_defined(kOp, target_lengths);
    require<ShapeError>(log_p.rank() == 3, "ctc_loss: log-probabilities must be [B, T, V], got {}",
                        log_p.shape());
    require<ShapeError>(targets.rank() == 2 && targets.size(0) == log_p.size(0),
                        "ctc_loss: targets are {}, but log-probabilities {} need [{}, S]",
                        targets.shape(), log_p.shape(), log_p.size(0));
    require(options.blank >= 0 && options.blank < log_p.size(2),
            "ctc_loss: blank {} is not a class from 0 to {}", options.blank, log_p.size(2) - 1);
    const Tensor x = to(log_p, compute_dtype(log_p.dtype()));
    const Sequences s{x, dense(targets), dense(input_lengths), dense(target_lengths),
                      options.blank};
    check_lengths("input_lengths", s.inputs, s.batch(), 1, x.size(1));
    check_lengths("target_lengths", s.labels, s.batch(), 0, targets.size(1));
    check_labels(s, x.size(2));
    Tensor losses = losses_of(x, s);
    if (options.zero_infinity) losses = where(isinf(losses), 0, losses);
    if (options.reduction == Reduction::none) return losses;
    if (options.reduction == Reduction::sum) return sum(losses);
    return mean(
        div(losses, to(clamp(s.labels, 1, std::numeric_limits<double>::infinity()), x.dtype())));
}

}  // namespace tapestry
