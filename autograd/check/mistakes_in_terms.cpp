// Gradients that lack a term.
#include <tapestry/autograd/check/mistake_patterns.h>

#include <fmt/format.h>

namespace tapestry::checker {
namespace {

// numeric - claimed, where all elements are known.
std::optional<Values> missing(const Wrong& w) {
    if (w.symptoms.places.size() != w.symptoms.claimed.size()) return {};
    Values difference = w.right;
    for (std::size_t i = 0; i < w.right.size(); ++i) difference[i] -= w.claimed[i];
    return difference;
}

// Is `difference` = c * `pattern` with one c for each place along all axes but `axis`?
bool follows(const Wrong& w, const Values& difference, const Values& pattern, int axis) {
    const std::int64_t inner = numel(w.symptoms.shape.sub(axis + 1, w.symptoms.shape.rank()));
    const std::int64_t size = w.symptoms.shape[axis];
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

Match term_like(const Wrong& w, const Values& pattern, const char* what) {
    const auto difference = missing(w);
    if (!difference || pattern.size() != difference->size()) return {};
    for (int axis = w.symptoms.shape.rank() - 1; axis >= 0; --axis) {
        if (w.symptoms.shape[axis] < 3 || !follows(w, *difference, pattern, axis)) continue;
        return Cause{Mistake::missing_term,
                     fmt::format("claimed - numeric is {} along axis {}", what, axis),
                     fmt::format("a sum or mean along axis {} is not subtracted, as normalising "
                                 "ops must (softmax, layer_norm): every output depends on all "
                                 "elements of it",
                                 axis)};
    }
    return {};
}

}  // namespace

Match lacks_the_direct_way(const Wrong& w) {
    const auto difference = missing(w);
    if (!difference || !elementwise(w) || !same(*difference, w.symptoms.cotangent)) return {};
    return Cause{Mistake::dropped,
                 "numeric - claimed = the incoming gradient, " + closeness(w, w.right),
                 "the value also goes straight through (a residual connection): that use's "
                 "contribution is dropped"};
}

Match lacks_a_constant_term(const Wrong& w) {
    return term_like(w, Values(w.right.size(), 1.0), "constant");
}

Match lacks_an_output_term(const Wrong& w) {
    return elementwise(w) ? term_like(w, w.symptoms.value, "proportional to the output") : Match{};
}

}  // namespace tapestry::checker
