// Right numbers in the wrong place: transposed, read column by column, flipped, shifted; or not
// summed, or the gradient of something else.
//
// The claim is known everywhere, the right gradient at some places: for each order, this checks
// whether the number of a place is where that order would have moved it.
#include <tapestry/autograd/check/mistake_patterns.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tapestry::checker {
namespace {

// The claim's values where `to` says that the number of each place has moved.
template <class Map>
Values moved_back(const Wrong& w, Map to) {
    Values values;
    for (const std::size_t place : w.symptoms.places) {
        values.push_back(
            w.symptoms.claimed[static_cast<std::size_t>(to(static_cast<std::int64_t>(place)))]);
    }
    return values;
}

std::string how_close(const Wrong& w, const Values& undone) {
    return fmt::format("to {:.1g} of its norm", std::max(distance(undone, w.right), 1e-16));
}

// A shift or flip is along an axis, or along all elements in memory order.
struct Run {
    std::int64_t size, inner;
    std::string name;

    std::int64_t along(std::int64_t i) const { return i / inner % size; }
    std::int64_t with(std::int64_t i, std::int64_t along_now) const {
        return i + (along_now - along(i)) * inner;
    }
};

std::vector<Run> runs_of(const Wrong& w) {
    const Shape& shape = w.symptoms.shape;
    std::vector<Run> runs{
        {static_cast<std::int64_t>(w.symptoms.claimed.size()), 1, "in memory order"}};
    for (int axis = 0; axis < shape.rank(); ++axis) {
        const std::int64_t inner = numel(shape.sub(axis + 1, shape.rank()));
        if (shape[axis] > 1)
            runs.push_back({shape[axis], inner, fmt::format("along axis {}", axis)});
    }
    return runs;
}

Cause shifted(const Run& run, std::int64_t by, bool zeros, const std::string& close) {
    return {Mistake::shifted,
            fmt::format("claimed = numeric moved by {:+d} {}{}, {}", by, run.name,
                        zeros ? ", zeros following" : "", close),
            std::abs(by) == 1 ? "an index that starts at 1, or a loop that ends one early"
                              : "an offset into a buffer, or a padding that was not taken off"};
}

// Possible shifts of a large number: to places where the claim has the same number.
std::vector<std::int64_t> possible_shifts(const Wrong& w, const Run& run) {
    std::vector<std::size_t> order(w.right.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const std::size_t some = std::min<std::size_t>(4, order.size());
    std::partial_sort(
        order.begin(), order.begin() + static_cast<std::ptrdiff_t>(some), order.end(),
        [&](std::size_t a, std::size_t b) { return std::abs(w.right[a]) > std::abs(w.right[b]); });
    std::vector<std::int64_t> shifts;
    for (std::size_t k = 0; k < some; ++k) {
        const auto place = static_cast<std::int64_t>(w.symptoms.places[order[k]]);
        const double value = w.right[order[k]];
        for (std::int64_t by = 1; by < run.size; ++by) {
            const std::int64_t to = run.with(place, (run.along(place) + by) % run.size);
            const double there = w.symptoms.claimed[static_cast<std::size_t>(to)];
            if (std::abs(there - value) <= std::max(1e-4, w.same) * std::abs(value)) {
                shifts.push_back(2 * by > run.size ? by - run.size : by);
                shifts.push_back(2 * by > run.size ? by : by - run.size);
            }
        }
    }
    std::sort(shifts.begin(), shifts.end(), [](std::int64_t a, std::int64_t b) {
        return std::pair(std::abs(a), a < 0) < std::pair(std::abs(b), b < 0);
    });
    shifts.erase(std::unique(shifts.begin(), shifts.end()), shifts.end());
    if (shifts.size() > 64) shifts.resize(64);  // a number that is everywhere shows nothing
    return shifts;
}

Match cyclic_shift(const Wrong& w, const Run& run, std::int64_t by) {
    const Values undone = moved_back(
        w, [&](std::int64_t i) { return run.with(i, (run.along(i) + by + run.size) % run.size); });
    if (!explains(w, undone, w.right)) return {};
    return shifted(run, by, false, how_close(w, undone));
}

// Numbers shifted out at one end are lost. At the other zeros are shifted in, or what the next
// place has: a kernel's gradient from a signal that is read one place further.
Match shift_with_new_numbers(const Wrong& w, const Run& run, std::int64_t by) {
    if (2 * std::abs(by) > run.size) return {};
    bool zeros = true;
    for (std::size_t i = 0; i < w.symptoms.claimed.size(); ++i) {
        const std::int64_t along = run.along(static_cast<std::int64_t>(i));
        const bool came_in = by > 0 ? along < by : along >= run.size + by;
        zeros = zeros && !(came_in && w.symptoms.claimed[i] != 0);
    }
    if (!zeros && !w.knows_all()) return {};
    Values undone, right, sizes;
    for (std::size_t k = 0; k < w.right.size(); ++k) {
        const auto place = static_cast<std::int64_t>(w.symptoms.places[k]);
        const std::int64_t to = run.along(place) + by;
        if (to < 0 || to >= run.size) continue;
        undone.push_back(w.symptoms.claimed[static_cast<std::size_t>(run.with(place, to))]);
        right.push_back(w.right[k]);
        sizes.push_back(std::abs(w.right[k]));
    }
    const bool confirmed = w.symptoms.cotangent.size() > 1;  // by another incoming gradient
    const std::size_t enough = w.is_narrow() && !zeros && !confirmed ? 4 : 2;
    if (right.size() < enough || !explains(w, undone, right)) return {};
    // Equal numbers look shifted at any distance.
    const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
    if (!zeros && !(*most - *least > 0.01 * *most)) return {};
    return shifted(run, by, zeros,
                   fmt::format("to {:.1g} of its norm", std::max(distance(undone, right), 1e-16)));
}

Cause permuted_as(const std::string& evidence, bool column_major) {
    return {Mistake::permuted, evidence,
            column_major
                ? "memory is read row by row on one side and column by column on the "
                  "other (Fortran, MATLAB, Eigen, BLAS), or a reshape instead of a transpose"
                : "a transpose is missing or one too many: of A B, the rules are g B^T "
                  "and A^T g; or a reshape instead of a transpose"};
}

// A matrix stored in a vector, with unknown numbers of rows and columns.
Match looks_like_a_transposed_vector(const Wrong& w) {
    const auto n = static_cast<std::int64_t>(w.symptoms.claimed.size());
    if (n <= 4) return {};  // two of four exchanged
    for (std::int64_t rows = 2; rows <= n / 2; ++rows) {
        if (n % rows != 0) continue;
        const std::int64_t columns = n / rows;
        const Values undone =
            moved_back(w, [&](std::int64_t i) { return i % columns * rows + i / columns; });
        if (!explains(w, undone, w.right)) continue;
        return permuted_as(
            fmt::format("claimed = numeric in column-major order, were it a matrix [{}, {}], {}",
                        rows, columns, how_close(w, undone)),
            true);
    }
    return {};
}

}  // namespace

Match looks_permuted(const Wrong& w) {
    const int rank = w.symptoms.shape.rank();
    if (rank == 1) return looks_like_a_transposed_vector(w);
    if (rank < 2 || rank > 5) return {};
    std::vector<int> order(static_cast<std::size_t>(rank));
    std::iota(order.begin(), order.end(), 0);
    const std::vector<int> reversed(order.rbegin(), order.rend());
    while (std::next_permutation(order.begin(), order.end())) {
        // claimed = right permuted, so undo it: take the shape it would have had, restore the axes.
        Shape shape;
        std::vector<int> back(order.size());
        for (std::size_t i = 0; i < order.size(); ++i) {
            shape.push_back(w.symptoms.shape[order[i]]);
            back[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
        }
        const bool column_major = order == reversed && !(shape == w.symptoms.shape);
        // Or the right one was read as if it had that shape and permuted back.
        for (const Values& whole : {permuted(w.symptoms.claimed, shape, back),
                                    permuted(w.symptoms.claimed, w.symptoms.shape, order)}) {
            const Values undone = at_places(whole, w.symptoms.places);
            if (!explains(w, undone, w.right)) continue;
            return permuted_as(
                fmt::format("claimed = numeric with its axes in the order [{}]{}, {}",
                            fmt::join(order, ", "),
                            column_major ? ", which is column-major order" : "",
                            how_close(w, undone)),
                column_major);
        }
    }
    return {};
}

Match looks_shifted(const Wrong& w) {
    for (const Run& run : runs_of(w)) {
        for (const std::int64_t by : possible_shifts(w, run)) {
            if (auto cause = cyclic_shift(w, run, by)) return cause;
            if (auto cause = shift_with_new_numbers(w, run, by)) return cause;
        }
    }
    return {};
}

Match looks_flipped(const Wrong& w) {
    for (const Run& run : runs_of(w)) {
        const Values undone =
            moved_back(w, [&](std::int64_t i) { return run.with(i, run.size - 1 - run.along(i)); });
        if (!explains(w, undone, w.right)) continue;
        return Cause{
            Mistake::flipped,
            fmt::format("claimed = numeric reversed {}, {}", run.name, how_close(w, undone)),
            "a loop that runs from the end, a convolution instead of a correlation, or a scan "
            "whose backward must run the other way"};
    }
    return {};
}

// ---- not summed, or of something else -----------------------------------------------------------

namespace {

// The cotangent at the first or last place of some broadcast axes, 0 elsewhere.
Values one_place(const Wrong& w, const std::vector<int>& axes, bool last) {
    Values cotangent = w.symptoms.cotangent;
    for (std::size_t i = 0; i < cotangent.size(); ++i) {
        auto flat = static_cast<std::int64_t>(i);
        bool kept = true;
        for (int axis = w.symptoms.output.rank() - 1; axis >= 0; --axis) {
            const std::int64_t index = flat % w.symptoms.output[axis];
            flat /= w.symptoms.output[axis];
            const bool here = index == (last ? w.symptoms.output[axis] - 1 : 0);
            kept = kept && (here || std::find(axes.begin(), axes.end(), axis) == axes.end());
        }
        if (!kept) cotangent[i] = 0;
    }
    return cotangent;
}

}  // namespace

Match looks_unsummed(const Wrong& w) {
    if (!broadcasts(w.symptoms.shape, w.symptoms.output)) return {};
    const std::vector<int> axes = broadcast_axes(w.symptoms.shape, w.symptoms.output);
    std::vector<std::vector<int>> choices;
    for (const int axis : axes) choices.push_back({axis});
    if (axes.size() > 1) choices.push_back(axes);
    const std::string where =
        fmt::format("{} was repeated to {}", w.symptoms.shape, w.symptoms.output);
    for (const auto& chosen : choices) {
        std::int64_t count = 1;
        for (const int axis : chosen) count *= w.symptoms.output[axis];
        for (const bool last : {false, true}) {
            const Values model = gradient_for(w.symptoms, one_place(w, chosen, last));
            if (!explains(w, w.claimed, model)) continue;
            return Cause{Mistake::missing_sum,
                         fmt::format("{}; claimed = what the {} of {} places along axis {} "
                                     "contributes, {}",
                                     where, last ? "last" : "first", count, chosen.front(),
                                     closeness(w, model)),
                         "what was broadcast on the way there must be summed on the way back"};
        }
        for (const double factor : {static_cast<double>(count), 1 / static_cast<double>(count)}) {
            Values model = w.right;
            for (double& value : model) value *= factor;
            if (!explains(w, w.claimed, model)) continue;
            const std::string how =
                fmt::format("{}; claimed = numeric {} {}, the places along axis {}, {}", where,
                            factor > 1 ? "*" : "/", count, chosen.front(), closeness(w, model));
            if (factor > 1) {
                return Cause{Mistake::doubled_sum, how,
                             "the sum over the broadcast axis is taken twice"};
            }
            return Cause{Mistake::factor, how, "a mean over the broadcast axis instead of a sum"};
        }
    }
    return {};
}

Match looks_like_another_operand(const Wrong& w) {
    for (const auto& [operand, gradient] : w.symptoms.others) {
        if (!explains(w, w.claimed, gradient)) continue;
        return Cause{Mistake::stale,
                     fmt::format("claimed = the right gradient of operand {}, {}", operand,
                                 closeness(w, gradient)),
                     fmt::format("it belongs to operand {}: saved tensors or results in the "
                                 "wrong order",
                                 operand)};
    }
    return {};
}

Match looks_stale(const Wrong& w) {
    if (w.symptoms.other_cotangent.empty()) return {};
    const bool frozen =
        norm(w.symptoms.other_claimed) > 0 && same(w.symptoms.claimed, w.symptoms.other_claimed);
    const Values earlier = gradient_for(w.symptoms, w.symptoms.other_cotangent);
    if (!frozen && !explains(w, w.claimed, earlier)) return {};
    return Cause{Mistake::stale,
                 frozen ? "claimed = what the rule claimed for another incoming gradient"
                        : "claimed = the right gradient for an earlier incoming gradient",
                 "the rule keeps something between calls: a buffer that is not filled again, "
                 "or is handed out before it is"};
}

}  // namespace tapestry::checker
