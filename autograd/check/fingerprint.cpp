#include <tapestry/autograd/check/fingerprint.h>
#include <tapestry/autograd/check/values.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace tapestry {
namespace {

// How far apart two gradients may be to count as the same: far above what differences get wrong,
// far below what mistakes do.
constexpr double kSame = 1e-5;

bool same(const Values& a, const Values& b) { return distance(a, b) < kSame; }

// The gradient at the places for another cotangent.
Values gradient_for(const Symptoms& s, const Values& cotangent) {
    Values gradient;
    for (const Values& slope : s.slopes) gradient.push_back(dot(slope, cotangent));
    return gradient;
}

class Detective {
public:
    explicit Detective(const Symptoms& symptoms)
        : s_(symptoms),
          claimed_(at_places(s_.claimed, s_.places)),
          right_(gradient_for(s_, s_.cotangent)) {}

    // From what leaves no doubt to what needs a fit.
    Cause find() const {
        for (const auto suspect :
             {&Detective::not_finite, &Detective::zero, &Detective::sign, &Detective::broadcast,
              &Detective::other_operand, &Detective::earlier_call, &Detective::known_factor,
              &Detective::chain, &Detective::any_factor, &Detective::permutation, &Detective::shift,
              &Detective::skipped, &Detective::constant_term, &Detective::output_term,
              &Detective::partial}) {
            if (auto cause = (this->*suspect)()) return *cause;
        }
        const double size = norm(claimed_) * norm(right_);
        return {
            Mistake::unknown,
            fmt::format("correlation of claimed and numeric gradient {:.3f}, norms {:.4g} and "
                        "{:.4g}",
                        size > 0 ? dot(claimed_, right_) / size : 0, norm(claimed_), norm(right_)),
            "no common mistake looks like this; derive the rule again for one element"};
    }

private:
    using Found = std::optional<Cause>;

    bool elementwise() const { return s_.shape == s_.output; }

    std::string closeness(const Values& model) const {
        return fmt::format("to {:.1g} of its norm", std::max(distance(claimed_, model), 1e-16));
    }

    Found not_finite() const {
        const auto bad = std::find_if(s_.claimed.begin(), s_.claimed.end(),
                                      [](double value) { return !std::isfinite(value); });
        if (bad == s_.claimed.end()) return {};
        return Cause{Mistake::not_finite,
                     fmt::format("element {} is {}", bad - s_.claimed.begin(), *bad),
                     "a division by zero, a logarithm or power at 0, or 0 * inf: treat the edge "
                     "before the formula, not after it"};
    }

    Found zero() const {
        if (norm(claimed_) > 1e-9 * norm(right_)) return {};
        if (s_.used_twice) {
            return Cause{
                Mistake::dropped,
                fmt::format("this use of the value claims 0, numeric norm {:.4g}", norm(right_)),
                "the same value is another operand too: both contributions must be added, "
                "and this one is dropped"};
        }
        return Cause{Mistake::zero,
                     fmt::format("claimed is 0 everywhere, numeric norm {:.4g}", norm(right_)),
                     "the rule returns nothing for this operand: a missing case, an undefined "
                     "tensor, or an index of needs() that is off"};
    }

    Found sign() const {
        Values model = right_;
        for (double& value : model) value = -value;
        if (!same(claimed_, model)) return {};
        return Cause{Mistake::sign, "claimed = -numeric, " + closeness(model),
                     "a minus too many or too few: the second operand of a difference, d(1/x), or "
                     "a loss to be maximised"};
    }

    // The cotangent at the first or last place of some broadcast axes, 0 elsewhere.
    Values one_place(const std::vector<int>& axes, bool last) const {
        Values w = s_.cotangent;
        for (std::size_t i = 0; i < w.size(); ++i) {
            auto flat = static_cast<std::int64_t>(i);
            bool kept = true;
            for (int axis = s_.output.rank() - 1; axis >= 0; --axis) {
                const std::int64_t index = flat % s_.output[axis];
                flat /= s_.output[axis];
                const bool here = index == (last ? s_.output[axis] - 1 : 0);
                kept = kept && (here || std::find(axes.begin(), axes.end(), axis) == axes.end());
            }
            if (!kept) w[i] = 0;
        }
        return w;
    }

    Found broadcast() const {
        if (!broadcasts(s_.shape, s_.output)) return {};
        const std::vector<int> axes = broadcast_axes(s_.shape, s_.output);
        std::vector<std::vector<int>> choices;
        for (const int axis : axes) choices.push_back({axis});
        if (axes.size() > 1) choices.push_back(axes);
        const std::string where = fmt::format("{} was repeated to {}", s_.shape, s_.output);
        for (const auto& chosen : choices) {
            std::int64_t count = 1;
            for (const int axis : chosen) count *= s_.output[axis];
            for (const bool last : {false, true}) {
                const Values model = gradient_for(s_, one_place(chosen, last));
                if (!same(claimed_, model)) continue;
                return Cause{Mistake::missing_sum,
                             fmt::format("{}; claimed = what the {} of {} places along axis {} "
                                         "contributes, {}",
                                         where, last ? "last" : "first", count, chosen.front(),
                                         closeness(model)),
                             "what was broadcast on the way there must be summed on the way back"};
            }
            for (const double factor :
                 {static_cast<double>(count), 1 / static_cast<double>(count)}) {
                Values model = right_;
                for (double& value : model) value *= factor;
                if (!same(claimed_, model)) continue;
                const std::string how =
                    fmt::format("{}; claimed = numeric {} {}, the places along axis {}, {}", where,
                                factor > 1 ? "*" : "/", count, chosen.front(), closeness(model));
                if (factor > 1) {
                    return Cause{Mistake::doubled_sum, how,
                                 "the sum over the broadcast axis is taken twice"};
                }
                return Cause{Mistake::factor, how,
                             "a mean over the broadcast axis where a sum belongs"};
            }
        }
        return {};
    }

    Found other_operand() const {
        for (const auto& [operand, gradient] : s_.others) {
            if (!same(claimed_, gradient)) continue;
            return Cause{Mistake::stale,
                         fmt::format("claimed = the right gradient of operand {}, {}", operand,
                                     closeness(gradient)),
                         fmt::format("it belongs to operand {}: saved tensors or results in the "
                                     "wrong order",
                                     operand)};
        }
        return {};
    }

    std::optional<double> fitted() const {
        const double size = dot(right_, right_);
        if (size == 0) return {};
        const double c = dot(claimed_, right_) / size;
        Values model = right_;
        for (double& value : model) value *= c;
        // A factor that is right to 1e-8 is none: it is something else, small.
        if (!same(claimed_, model) || std::abs(c - 1) < 1e-8) return {};
        return c;
    }

    // 2, n, sqrt(n) and their inverses, for the n that occur in the shapes.
    std::optional<std::string> name_of_factor(double c) const {
        const double size = std::max(std::abs(c), 1 / std::abs(c));
        const bool inverse = std::abs(c) < 1;
        const auto is = [size](double value) { return std::abs(size / value - 1) < kSame; };
        const auto text = [&](const std::string& name, const std::string& what) {
            return fmt::format("{}{}{}{}", c < 0 ? "-" : "", inverse ? "1/" : "", name, what);
        };
        if (is(2)) return text("2", "");
        std::vector<std::pair<std::int64_t, std::string>> counts;
        for (const auto& [shape, whose] :
             {std::pair{s_.shape, "the operand"}, std::pair{s_.output, "the output"}}) {
            for (int axis = 0; axis < shape.rank(); ++axis) {
                counts.emplace_back(shape[axis], fmt::format("axis {} of {}", axis, whose));
            }
            counts.emplace_back(numel(shape), fmt::format("all elements of {}", whose));
        }
        for (const auto& [n, whose] : counts) {
            if (n < 2) continue;
            const auto count = static_cast<double>(n);
            if (is(count)) return text(fmt::format("{}", n), fmt::format(" ({})", whose));
            if (is(std::sqrt(count))) {
                return text(fmt::format("sqrt({})", n), fmt::format(" ({})", whose));
            }
        }
        if (is(std::sqrt(2.0))) return text("sqrt(2)", "");
        return {};
    }

    Found known_factor() const {
        const auto c = fitted();
        if (!c) return {};
        const auto name = name_of_factor(*c);
        if (!name) return {};
        const bool count = name->find('(') != std::string::npos;
        Values model = right_;
        for (double& value : model) value *= *c;
        return Cause{
            Mistake::factor,
            fmt::format("claimed = {} * numeric (fitted {:.10g}), {}", *name, *c, closeness(model)),
            count ? "a sum where a mean belongs or the reverse, or a scale left out"
                  : "d(x^2) is 2x; a half in a loss; a path walked twice"};
    }

    Found any_factor() const {
        const auto c = fitted();
        if (!c) return {};
        Values model = right_;
        for (double& value : model) value *= *c;
        return Cause{Mistake::factor,
                     fmt::format("claimed = {:.10g} * numeric, {}", *c, closeness(model)),
                     "a constant of the op is missing from its rule, or is in it twice"};
    }

    Found chain() const {
        if (!elementwise()) return {};
        const Values w = at_places(s_.cotangent, s_.places);
        if (same(claimed_, w)) {
            return Cause{Mistake::chain, "claimed = the incoming gradient, " + closeness(w),
                         "the op's own derivative is missing: this is the gradient after the op, "
                         "not before it"};
        }
        Values twice;
        for (std::size_t i = 0; i < w.size(); ++i) {
            twice.push_back(w[i] != 0 ? right_[i] * right_[i] / w[i] : 0);
        }
        if (!same(claimed_, twice)) return {};
        return Cause{Mistake::chain, "claimed = incoming * derivative^2, " + closeness(twice),
                     "the op's own derivative is applied twice"};
    }

    Found permutation() const {
        const int rank = s_.shape.rank();
        if (rank < 2 || rank > 5) return {};
        std::vector<int> order(static_cast<std::size_t>(rank));
        std::iota(order.begin(), order.end(), 0);
        while (std::next_permutation(order.begin(), order.end())) {
            // claimed = right permuted, so undo it: the shape it would have had, axes put back.
            Shape shape;
            std::vector<int> back(order.size());
            for (std::size_t i = 0; i < order.size(); ++i) {
                shape.push_back(s_.shape[order[i]]);
                back[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
            }
            const Values undone = at_places(permuted(s_.claimed, shape, back), s_.places);
            if (!same(undone, right_)) continue;
            return Cause{Mistake::permuted,
                         fmt::format("claimed = numeric with its axes in the order [{}], to {:.1g} "
                                     "of its norm",
                                     fmt::join(order, ", "), distance(undone, right_)),
                         "a transpose is missing or one too many: of A B, the rules are g B^T and "
                         "A^T g; or a reshape where a transpose belongs"};
        }
        return {};
    }

    Found shift() const {
        const auto told = [this](const Values& undone, std::int64_t by, const std::string& along) {
            return Cause{Mistake::shifted,
                         fmt::format("claimed = numeric moved by {:+d} {}, to {:.1g} of its norm",
                                     by, along, distance(undone, right_)),
                         "an index that starts at 1, or a loop that ends one early"};
        };
        for (const std::int64_t by : {1, -1}) {
            const Shape flat{static_cast<std::int64_t>(s_.claimed.size())};
            const Values undone = at_places(rolled(s_.claimed, flat, 0, -by), s_.places);
            if (same(undone, right_)) return told(undone, by, "in memory order");
            for (int axis = 0; axis < s_.shape.rank(); ++axis) {
                if (s_.shape[axis] < 2) continue;
                const Values along = at_places(rolled(s_.claimed, s_.shape, axis, -by), s_.places);
                if (same(along, right_)) return told(along, by, fmt::format("along axis {}", axis));
            }
        }
        return {};
    }

    Found earlier_call() const {
        if (s_.other_cotangent.empty()) return {};
        const bool frozen = norm(s_.other_claimed) > 0 && same(s_.claimed, s_.other_claimed);
        if (!frozen && !same(claimed_, gradient_for(s_, s_.other_cotangent))) return {};
        return Cause{Mistake::stale,
                     frozen ? "claimed = what the rule claimed for another incoming gradient"
                            : "claimed = the right gradient for an earlier incoming gradient",
                     "the rule keeps something between calls: a buffer that is not filled again, "
                     "or is handed out before it is"};
    }

    // numeric - claimed, where all elements are known.
    std::optional<Values> missing() const {
        if (s_.places.size() != s_.claimed.size()) return {};
        Values difference = right_;
        for (std::size_t i = 0; i < right_.size(); ++i) difference[i] -= claimed_[i];
        return difference;
    }

    Found skipped() const {
        const auto difference = missing();
        if (!difference || !elementwise() || !same(*difference, s_.cotangent)) return {};
        return Cause{Mistake::dropped,
                     "numeric - claimed = the incoming gradient, " + closeness(right_),
                     "the value also goes straight through (a residual connection): that use's "
                     "contribution is dropped"};
    }

    // Is `difference` = c * `pattern` with one c for each place along all axes but `axis`?
    bool follows(const Values& difference, const Values& pattern, int axis) const {
        const std::int64_t inner = numel(s_.shape.sub(axis + 1, s_.shape.rank()));
        const std::int64_t size = s_.shape[axis];
        const auto count = static_cast<std::int64_t>(difference.size());
        Values model(difference.size());
        for (std::int64_t first = 0; first < count; ++first) {
            if (first / inner % size != 0) continue;
            double both = 0, squares = 0;
            for (std::int64_t k = 0; k < size; ++k) {
                const auto i = static_cast<std::size_t>(first + k * inner);
                both += difference[i] * pattern[i];
                squares += pattern[i] * pattern[i];
            }
            for (std::int64_t k = 0; k < size && squares > 0; ++k) {
                const auto i = static_cast<std::size_t>(first + k * inner);
                model[i] = both / squares * pattern[i];
            }
        }
        return same(difference, model);
    }

    Found term_like(const Values& pattern, const char* what) const {
        const auto difference = missing();
        if (!difference || pattern.size() != difference->size()) return {};
        for (int axis = s_.shape.rank() - 1; axis >= 0; --axis) {
            if (s_.shape[axis] < 3 || !follows(*difference, pattern, axis)) continue;
            return Cause{
                Mistake::missing_term,
                fmt::format("claimed - numeric is {} along axis {}", what, axis),
                fmt::format("a sum or mean along axis {} is not subtracted, as normalising "
                            "ops must (softmax, layer_norm): every output depends on all "
                            "elements of it",
                            axis)};
        }
        return {};
    }

    Found constant_term() const { return term_like(Values(right_.size(), 1.0), "constant"); }
    Found output_term() const {
        return elementwise() ? term_like(s_.value, "proportional to the output") : Found{};
    }

    Found partial() const {
        double largest = 0;
        for (const double value : right_) largest = std::max(largest, std::abs(value));
        std::size_t wrong = 0, first = 0;
        for (std::size_t i = 0; i < right_.size(); ++i) {
            if (std::abs(claimed_[i] - right_[i]) <= kSame * largest) continue;
            if (wrong++ == 0) first = i;
        }
        if (wrong == 0 || 3 * wrong > right_.size()) return {};
        return Cause{Mistake::partial,
                     fmt::format("{} of {} elements are wrong, the first is number {}", wrong,
                                 right_.size(), s_.places[first]),
                     "a border: the last elements of a vectorised loop, a mask, an index that "
                     "occurs twice"};
    }

    const Symptoms& s_;
    Values claimed_;
    Values right_;
};

}  // namespace

std::string_view to_string(Mistake mistake) {
    switch (mistake) {
        case Mistake::unknown: return "unknown";
        case Mistake::not_finite: return "not finite";
        case Mistake::zero: return "zero where it should not be";
        case Mistake::dropped: return "a contribution is dropped";
        case Mistake::sign: return "sign flipped";
        case Mistake::factor: return "constant factor";
        case Mistake::permuted: return "transposed or permuted";
        case Mistake::missing_sum: return "missing sum over a broadcast axis";
        case Mistake::doubled_sum: return "sum over a broadcast axis taken twice";
        case Mistake::shifted: return "off by one element";
        case Mistake::stale: return "stale: belongs to something else";
        case Mistake::chain: return "missing or doubled chain factor";
        case Mistake::detached: return "detached from the tape";
        case Mistake::missing_term: return "a term is missing: a sum or mean along an axis";
        case Mistake::partial: return "some elements only";
    }
    return {};
}

std::vector<double> numeric_gradient(const Symptoms& symptoms) {
    return gradient_for(symptoms, symptoms.cotangent);
}

Cause find_cause(const Symptoms& symptoms) { return Detective(symptoms).find(); }

}  // namespace tapestry
