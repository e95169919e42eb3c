// Mistakes in rows: one sample's gradient instead of the sum over all, rows off by a factor, the
// second number of every pair with the wrong sign.
#include <tapestry/autograd/check/mistake_patterns.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace tapestry::checker {
namespace {

// The cotangent where the output's index along `axis` is `at`, 0 elsewhere; or the reverse.
Values masked(const Wrong& w, int axis, std::int64_t at, bool reverse) {
    const Shape& output = w.symptoms.output;
    const std::int64_t inner = numel(output.sub(axis + 1, output.rank()));
    Values cotangent = w.symptoms.cotangent;
    for (std::size_t i = 0; i < cotangent.size(); ++i) {
        const bool here = static_cast<std::int64_t>(i) / inner % output[axis] == at;
        if (here == reverse) cotangent[i] = 0;
    }
    return cotangent;
}

// A row: all places with the same index along an axis.
struct Row {
    double both = 0, squares = 0;
    int large = 0;                      // significant entries
    double least = HUGE_VAL, most = 0;  // of their sizes
    // Two numbers that are opposite by law (they sum to 0) are multiples of any others that are.
    bool is_telling() const { return large >= 2 && most - least > 1e-6 * most; }
    double factor() const { return both / squares; }
};

std::map<std::int64_t, Row> rows_along(const Wrong& w, int axis) {
    const std::int64_t inner = numel(w.symptoms.shape.sub(axis + 1, w.symptoms.shape.rank()));
    // In a narrow format small numbers fit any factor.
    const double least = (w.is_narrow() ? 2 * w.same : 1e-4) * largest(w.right);
    std::map<std::int64_t, Row> rows;
    for (std::size_t k = 0; k < w.right.size(); ++k) {
        const auto place = static_cast<std::int64_t>(w.symptoms.places[k]);
        Row& row = rows[place / inner % w.symptoms.shape[axis]];
        row.both += w.claimed[k] * w.right[k];
        row.squares += w.right[k] * w.right[k];
        const double size = std::abs(w.right[k]);
        if (!(size > least)) continue;
        ++row.large;
        row.least = std::min(row.least, size);
        row.most = std::max(row.most, size);
    }
    return rows;
}

Values scaled_by_rows(const Wrong& w, int axis, const std::map<std::int64_t, Row>& rows) {
    const std::int64_t inner = numel(w.symptoms.shape.sub(axis + 1, w.symptoms.shape.rank()));
    Values model = w.right;
    for (std::size_t k = 0; k < model.size(); ++k) {
        const auto place = static_cast<std::int64_t>(w.symptoms.places[k]);
        const Row& row = rows.at(place / inner % w.symptoms.shape[axis]);
        model[k] *= row.squares > 0 ? row.factor() : 1;
    }
    return model;
}

Match rows_off(const Wrong& w, int axis) {
    const auto rows = rows_along(w, axis);
    if (rows.size() < 2) return {};
    // With one number per row, any factor would fit.
    const bool enough = std::all_of(rows.begin(), rows.end(), [](const auto& row) {
        return row.second.squares == 0 || row.second.is_telling();
    });
    const Values model = scaled_by_rows(w, axis, rows);
    if (!enough || !explains(w, w.claimed, model)) return {};
    double farthest = 0;
    for (const auto& [index, row] : rows) {
        if (row.squares > 0) farthest = std::max(farthest, std::abs(row.factor() - 1));
    }
    std::vector<std::pair<std::int64_t, double>> wrong;
    for (const auto& [index, row] : rows) {
        const double least = std::max(0.01 * farthest, w.is_narrow() ? w.same : 0);
        if (row.squares > 0 && std::abs(row.factor() - 1) > least)
            wrong.emplace_back(index, row.factor());
    }
    if (wrong.empty()) return {};
    const double factor = wrong.front().second;
    const bool alike = std::all_of(wrong.begin(), wrong.end(), [&](const auto& row) {
        return std::abs(row.second - factor) <= w.same * std::abs(factor) + w.same;
    });
    // Factors of a few blurred numbers each fit anything; one factor everywhere is none of rows.
    const bool telling = std::all_of(rows.begin(), rows.end(), [](const auto& row) {
        return row.second.squares == 0 || row.second.large >= 4;
    });
    if (w.is_narrow() && (alike ? wrong.size() == rows.size() : !telling)) return {};
    const bool nothing = alike && std::abs(factor) < w.same;
    if (nothing && wrong.size() + 1 == rows.size()) {
        const bool pairs = rows.size() == 2 && axis + 1 == w.symptoms.shape.rank();
        return Cause{Mistake::samples,
                     fmt::format("claimed = numeric at one of {} places along axis {}, 0 elsewhere",
                                 rows.size(), axis),
                     pairs ? "of complex numbers, which are pairs: only the real parts (or the "
                             "imaginary ones) have a gradient; or an assignment instead of a sum"
                           : "an assignment in a loop instead of a sum, or only one sample's "
                             "result is written"};
    }
    if (nothing && 3 * wrong.size() <= rows.size()) return {};  // some elements are missing
    return Cause{
        Mistake::rows,
        fmt::format("claimed = {} * numeric at {} of {} places along axis {}, the first "
                    "is {}; {}",
                    alike ? fmt::format("{:.6g}", factor) : "a different factor at each place",
                    wrong.size(), rows.size(), axis, wrong.front().first, closeness(w, model)),
        "a weight, mask, length or norm that belongs to each row: left out, applied "
        "twice, or that of another row"};
}

}  // namespace

Match looks_like_some_samples(const Wrong& w) {
    const Shape& output = w.symptoms.output;
    for (int axis = 0; axis < output.rank(); ++axis) {
        const std::int64_t size = output[axis];
        if (size < 3) continue;
        for (const bool but : {false, true}) {
            // Some elements are missing
            if (but && (elementwise(w) || w.is_narrow())) continue;
            for (const std::int64_t at : {size - 1, std::int64_t{0}}) {
                const Values model = gradient_for(w.symptoms, masked(w, axis, at, but));
                if (!explains(w, w.claimed, model) || norm(model) == 0) continue;
                return Cause{Mistake::samples,
                             fmt::format("claimed = what {} the {} of {} places along axis {} of "
                                         "the output contribute{}, {}",
                                         but ? "all but" : "only", at == 0 ? "first" : "last", size,
                                         axis, but ? "" : "s", closeness(w, model)),
                             but ? "a loop over samples that starts late or ends early"
                                 : "= instead of +=: each sample overwrites the one before"};
            }
        }
    }
    return {};
}

Match looks_conjugate(const Wrong& w) {
    const Shape& shape = w.symptoms.shape;
    const bool pairs = shape.rank() > 0 &&
                       (shape[shape.rank() - 1] == 2 || (shape.rank() == 1 && shape[0] % 2 == 0));
    if (!pairs) return {};
    for (const std::size_t negative : {std::size_t{1}, std::size_t{0}}) {
        Values model = w.right;
        double squares[2] = {0, 0};
        for (std::size_t k = 0; k < model.size(); ++k) {
            const std::size_t part = w.symptoms.places[k] % 2;
            squares[part] += model[k] * model[k];
            if (part == negative) model[k] = -model[k];
        }
        const bool both =
            std::min(squares[0], squares[1]) > 1e-6 * std::max(squares[0], squares[1]);
        if (!both || !explains(w, w.claimed, model)) continue;
        return Cause{Mistake::conjugate,
                     fmt::format("claimed = {}numeric with the sign of the second number of every "
                                 "pair changed, {}",
                                 negative == 1 ? "" : "-", closeness(w, model)),
                     "complex numbers: a conjugate is missing or one too many; the gradient of "
                     "a real loss by (re, im) is conj(dL/dz) times 2, and a product's rule "
                     "conjugates the other factor"};
    }
    return {};
}

Match looks_off_in_rows(const Wrong& w) {
    if (w.symptoms.shape.rank() < 2) return {};
    for (int axis = 0; axis < w.symptoms.shape.rank(); ++axis) {
        if (auto cause = rows_off(w, axis)) return cause;
    }
    return {};
}

}  // namespace tapestry::checker
