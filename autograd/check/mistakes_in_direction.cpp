// Right numbers that take another way: the Jacobian for its transpose, an incoming gradient that is
// read in another order, contributions that arrive at other elements.
#include <tapestry/autograd/check/claimed_jacobian.h>
#include <tapestry/autograd/check/mistake_patterns.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tapestry::checker {
namespace {

// J g, where the rule is J^T g.
Values forward(const Wrong& w, const Values& cotangent) {
    Values model(cotangent.size(), 0.0);
    for (std::size_t p = 0; p < w.right.size(); ++p) {
        for (std::size_t i = 0; i < model.size(); ++i) {
            model[i] += w.symptoms.slopes[p][i] * cotangent[p];
        }
    }
    return model;
}

std::string closeness_of(const Values& model, const Values& right) {
    return fmt::format("to {:.1g} of its norm", std::max(distance(model, right), 1e-16));
}

// Whether the same holds for the other incoming gradient, if there is one.
template <class Model>
bool holds_again(const Wrong& w, Model model) {
    const Symptoms& s = w.symptoms;
    if (s.other_cotangent.empty() || s.other_claimed.empty()) return true;
    return distance(at_places(s.other_claimed, s.places), model(s.other_cotangent)) < 2 * w.same;
}

// The matrices of an operand: its last two axes, if they are equal.
Values transposed(const Values& x, const Shape& shape) {
    std::vector<int> order(static_cast<std::size_t>(shape.rank()));
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    return permuted(x, shape, order);
}

// Whether f multiplies pairs as complex numbers: blocks [[a, -b], [b, a]], whose transpose is the
// conjugate.
bool is_complex(const Wrong& w) {
    const auto ends_in_pairs = [](const Shape& shape) {
        return shape.rank() > 0 && shape[shape.rank() - 1] == 2;
    };
    if (!ends_in_pairs(w.symptoms.shape) || !ends_in_pairs(w.symptoms.output)) return false;
    double turned = 0, all = 0;  // real factors have no conjugate
    for (std::size_t p = 0; p + 1 < w.right.size(); p += 2) {
        const Values &real = w.symptoms.slopes[p], &imaginary = w.symptoms.slopes[p + 1];
        for (std::size_t i = 0; i + 1 < real.size(); i += 2) {
            const double size = std::abs(real[i]) + std::abs(real[i + 1]);
            turned += std::abs(real[i + 1]);
            all += size;
            const double apart =
                std::abs(real[i] - imaginary[i + 1]) + std::abs(real[i + 1] + imaginary[i]);
            if (!(apart <= w.same * std::max(size, 1e-3 * largest(real)))) return false;
        }
    }
    return turned > 0.01 * all;
}

struct OtherOrder {
    Mistake mistake;
    std::string words;
    std::vector<std::size_t> from;  // element i reads from[i]
};

// Ways to read an array of this shape wrongly.
std::vector<OtherOrder> other_orders(const Shape& shape) {
    std::vector<OtherOrder> orders;
    const auto n = static_cast<std::size_t>(numel(shape));
    for (int axis = 0; axis < shape.rank(); ++axis) {
        const std::int64_t size = shape[axis];
        if (size < 2) continue;
        const std::int64_t inner = numel(shape.sub(axis + 1, shape.rank()));
        const auto moved = [&](auto to) {
            std::vector<std::size_t> from(n);
            for (std::size_t i = 0; i < n; ++i) {
                const auto flat = static_cast<std::int64_t>(i);
                const std::int64_t at = flat / inner % size;
                from[i] = static_cast<std::size_t>(flat + (to(at) - at) * inner);
            }
            return from;
        };
        orders.push_back({Mistake::flipped, fmt::format("reversed along axis {}", axis),
                          moved([size](std::int64_t at) { return size - 1 - at; })});
        for (std::int64_t by = 1; by < std::min<std::int64_t>(size, 9); ++by) {
            orders.push_back({Mistake::shifted, fmt::format("moved by {} along axis {}", by, axis),
                              moved([=](std::int64_t at) { return (at + by) % size; })});
        }
    }
    if (shape.rank() >= 2 && shape.rank() <= 4) {
        Values numbers(n);
        std::iota(numbers.begin(), numbers.end(), 0.0);
        std::vector<int> order(static_cast<std::size_t>(shape.rank()));
        std::iota(order.begin(), order.end(), 0);
        while (std::next_permutation(order.begin(), order.end())) {
            const Values read = permuted(numbers, shape, order);
            std::vector<std::size_t> back(n);
            for (std::size_t i = 0; i < n; ++i) back[static_cast<std::size_t>(read[i])] = i;
            orders.push_back({Mistake::permuted, "with its axes in another order", back});
            orders.push_back(
                {Mistake::permuted,
                 fmt::format("with its axes in the order [{}]", fmt::join(order, ", ")),
                 {read.begin(), read.end()}});
        }
    }
    return orders;
}

Values reordered(const Values& x, const std::vector<std::size_t>& from) {
    Values result;
    for (const std::size_t i : from) result.push_back(x[i]);
    return result;
}

// The places that an output depends on: the smallest and largest index along an axis.
struct Support {
    std::int64_t first = -1, last = -1;
    std::int64_t size() const { return last - first + 1; }
};

Support support_along(const Wrong& w, const ClaimedJacobian& c, std::size_t output, int axis) {
    const std::int64_t inner = numel(w.symptoms.shape.sub(axis + 1, w.symptoms.shape.rank()));
    Support found;
    for (std::size_t p = 0; p < c.places(); ++p) {
        if (c.is_right_zero(p, output)) continue;
        const std::int64_t at = static_cast<std::int64_t>(p) / inner % w.symptoms.shape[axis];
        if (found.first < 0 || at < found.first) found.first = at;
        found.last = std::max(found.last, at);
    }
    return found;
}

// Whether what the output contributes is reversed within its support.
bool is_reversed(const Wrong& w, const ClaimedJacobian& c, std::size_t output, int axis,
                 const Support& support) {
    const std::int64_t inner = numel(w.symptoms.shape.sub(axis + 1, w.symptoms.shape.rank()));
    for (std::size_t p = 0; p < c.places(); ++p) {
        const auto flat = static_cast<std::int64_t>(p);
        const std::int64_t at = flat / inner % w.symptoms.shape[axis];
        const bool outside = at < support.first || at > support.last;
        const std::int64_t from =
            outside ? flat : flat + (support.first + support.last - 2 * at) * inner;
        const double model = outside ? 0 : c.right(static_cast<std::size_t>(from), output);
        if (!c.is_claimed(p, output, model)) return false;
    }
    return true;
}

}  // namespace

Match looks_like_the_jacobian(const Wrong& w) {
    const Values& g = w.symptoms.cotangent;
    if (!w.knows_all() || w.right.size() != g.size() || g.size() < kTelling) return {};
    const Values model = forward(w, g);
    if (!explains(w, w.claimed, model)) return {};
    if (!holds_again(w, [&](const Values& other) { return forward(w, other); })) return {};
    if (is_complex(w)) {
        return Cause{
            Mistake::conjugate,
            "claimed = J g instead of J^T g, where J multiplies complex numbers, " +
                closeness(w, model),
            "a conjugate is missing: the gradient of f(z) by z is g conj(f'(z)), with "
            "dL/da + i dL/db for z = a + i b; of a rotation of pairs, by the opposite angle"};
    }
    return Cause{
        Mistake::permuted,
        fmt::format("claimed = J g, with J as in f, instead of J^T g, {}", closeness(w, model)),
        "the rule repeats the forward pass on the incoming gradient; its transpose is "
        "wanted: a matrix transposed, a rotation by the opposite angle, a scan from the "
        "other end"};
}

Match looks_unsymmetric(const Wrong& w) {
    const Shape& shape = w.symptoms.shape;
    const int rank = shape.rank();
    if (!w.knows_all() || rank < 2 || shape[rank - 1] != shape[rank - 2] || shape[rank - 1] < 2)
        return {};
    if (!(distance(transposed(w.right, shape), w.right) < w.same)) return {};
    const auto average = [&](const Values& x) {
        Values both = transposed(x, shape);
        for (std::size_t i = 0; i < both.size(); ++i) both[i] = (both[i] + x[i]) / 2;
        return both;
    };
    const Values model = average(w.claimed);
    if (!explains(w, model, w.right) || w.claimed.size() < 4) return {};
    return Cause{Mistake::symmetry,
                 fmt::format("numeric is symmetric, and (claimed + its transpose) / 2 is numeric, "
                             "{}",
                             closeness_of(model, w.right)),
                 "f uses the symmetric part of a matrix (or one triangle of it): average the "
                 "gradient and its transpose"};
}

Match misreads_the_incoming(const Wrong& w) {
    const Symptoms& s = w.symptoms;
    if (s.cotangent.size() < kTelling || w.right.size() < 2) return {};
    for (const OtherOrder& order : other_orders(s.output)) {
        const auto model = [&](const Values& g) {
            return gradient_for(s, reordered(g, order.from));
        };
        const Values here = model(s.cotangent);
        if (norm(here) == 0 || !explains(w, w.claimed, here) || !holds_again(w, model)) continue;
        return Cause{order.mistake,
                     fmt::format("claimed = the gradient for an incoming one {}, {}", order.words,
                                 closeness(w, here)),
                     "the rule reads its incoming gradient by other indices than f writes its "
                     "output"};
    }
    return {};
}

Match reverses_each_output(const Wrong& w) {
    const ClaimedJacobian* c = w.jacobian();
    if (c == nullptr || !w.knows_all()) return {};
    for (int axis = w.symptoms.shape.rank() - 1; axis >= 0; --axis) {
        std::vector<Support> supports;
        std::int64_t widest = 0;
        for (std::size_t i = 0; i < c->outputs(); ++i) {
            supports.push_back(support_along(w, *c, i, axis));
            if (supports.back().first >= 0) widest = std::max(widest, supports.back().size());
        }
        if (widest < 2 || widest == w.symptoms.shape[axis]) continue;
        std::size_t reversed = 0, whole = 0, other = 0;
        for (std::size_t i = 0; i < c->outputs(); ++i) {
            if (supports[i].size() < widest) continue;  // a window that reaches beyond the border
            ++whole;
            reversed += is_reversed(w, *c, i, axis, supports[i]) ? 1 : 0;
            for (std::size_t p = 0; p < c->places(); ++p) {
                other += c->is_claimed(p, i, c->right(p, i)) ? 0 : 1;
            }
        }
        if (whole < 2 || reversed < whole || other < kTelling) continue;
        return Cause{Mistake::flipped,
                     fmt::format("what each output contributes is reversed along axis {}, within "
                                 "its window of {}",
                                 axis, widest),
                     "a kernel that is flipped, or not flipped, on the way back: a correlation's "
                     "rule is a convolution, and the reverse"};
    }
    return {};
}

Match runs_the_wrong_way(const Wrong& w) {
    const ClaimedJacobian* c = w.jacobian();
    if (c == nullptr || !c->has_a_transposed_support()) return {};
    return Cause{Mistake::flipped,
                 "each element gets the incoming gradients of the outputs that it does not reach: "
                 "those before it instead of those after it, or the reverse",
                 "a scan, or a sum over a triangle, whose backward must run the other way"};
}

Match arrives_elsewhere(const Wrong& w) {
    constexpr double kFew = 0.25;
    const ClaimedJacobian* c = w.jacobian();
    if (c == nullptr || !w.knows_all() || c->outputs() < kTelling) return {};
    std::size_t moved = 0, entries = 0;
    for (std::size_t i = 0; i < c->outputs(); ++i) {
        Values right, claimed;
        bool as_in_f = true;
        for (std::size_t p = 0; p < c->places(); ++p) {
            if (!c->is_right_zero(p, i)) right.push_back(c->right(p, i));
            if (!c->is_claimed(p, i, 0)) claimed.push_back(c->claimed(p, i));
            as_in_f = as_in_f && c->is_claimed(p, i, c->right(p, i));
        }
        if (right.size() != claimed.size()) return {};
        std::sort(right.begin(), right.end());
        std::sort(claimed.begin(), claimed.end());
        if (!right.empty() && !(distance(right, claimed) < w.same)) return {};
        moved += as_in_f ? 0 : 1;
        entries += right.size();
    }
    // A few of many: where most elements are reached, an order is not an index.
    const bool sparse = static_cast<double>(entries) <=
                        kFew * static_cast<double>(c->places()) * static_cast<double>(c->outputs());
    if (moved < 2 || !sparse) return {};
    return Cause{
        Mistake::misplaced,
        fmt::format("what {} of {} outputs contribute arrives, as it is, at other elements "
                    "than those that f reads",
                    moved, c->outputs()),
        "a wrong index: of a gather or scatter, of a maximum (the least for the largest), "
        "of a row or offset"};
}

}  // namespace tapestry::checker
