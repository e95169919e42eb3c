// The claimed Jacobian against the right one, entry by entry: which outputs reach which elements,
// and by what factors. The rule is asked for each single output, which shows how a wrong gradient
// is put together where one incoming gradient only shows a sum.
#include <tapestry/autograd/check/claimed_jacobian.h>
#include <tapestry/autograd/check/mistake_patterns.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tapestry::checker {
namespace {

// The axis of the operand and that of the output along which f works row by row: no element
// reaches an output with another index.
struct RowAxes {
    int operand = 0, output = 0;
};

struct Rows {
    std::int64_t inner = 1, size = 1;
    std::int64_t of(std::size_t flat) const {
        return static_cast<std::int64_t>(flat) / inner % size;
    }
};

Rows rows_of(const Shape& shape, int axis) {
    return {numel(shape.sub(axis + 1, shape.rank())), shape[axis]};
}

// The square sums of the entries inside and outside of the rows.
struct Shares {
    double inside = 0, outside = 0;
};

template <class Entry>
Shares shares_of(const Wrong& w, const ClaimedJacobian& c, const RowAxes& axes, Entry entry) {
    const Rows of_places = rows_of(w.symptoms.shape, axes.operand);
    const Rows of_outputs = rows_of(w.symptoms.output, axes.output);
    Shares shares;
    for (std::size_t p = 0; p < c.places(); ++p) {
        for (std::size_t i = 0; i < c.outputs(); ++i) {
            const bool in = of_places.of(w.symptoms.places[p]) == of_outputs.of(i);
            (in ? shares.inside : shares.outside) += std::pow(entry(p, i), 2);
        }
    }
    return shares;
}

std::vector<RowAxes> independent_rows(const Wrong& w, const ClaimedJacobian& c) {
    std::vector<RowAxes> found;
    for (int a = 0; a < w.symptoms.shape.rank(); ++a) {
        for (int b = 0; b < w.symptoms.output.rank(); ++b) {
            const RowAxes axes{a, b};
            if (w.symptoms.shape[a] < 2 || w.symptoms.shape[a] != w.symptoms.output[b]) continue;
            const auto clear = [&](std::size_t p, std::size_t i) {
                return c.is_right_zero(p, i) ? 0 : c.right(p, i);
            };
            const Shares shares = shares_of(w, c, axes, clear);
            if (shares.outside == 0 && shares.inside > 0) found.push_back(axes);
        }
    }
    return found;
}

// Whether all entries are either as in the right Jacobian or 0.
struct Kept {
    std::size_t kept = 0, dropped = 0;
    bool in_one_row = false;  // some element keeps one contribution and loses another
    bool in_one_column = false;
    bool only_diagonal = true, all_diagonal = true;
};

std::optional<Kept> kept_entries(const ClaimedJacobian& c) {
    Kept all;
    std::vector<int> columns(c.outputs(), 0);
    for (std::size_t p = 0; p < c.places(); ++p) {
        int row = 0;
        for (std::size_t i = 0; i < c.outputs(); ++i) {
            if (c.is_right_zero(p, i)) {
                if (!c.is_claimed(p, i, 0)) return {};
                continue;
            }
            const bool kept = c.is_claimed(p, i, c.right(p, i));
            if (!kept && !(std::abs(c.claimed(p, i)) <= 1e-9 * std::abs(c.right(p, i)))) return {};
            ++(kept ? all.kept : all.dropped);
            row |= kept ? 1 : 2;
            columns[i] |= kept ? 1 : 2;
            all.only_diagonal = all.only_diagonal && (!kept || p == i);
            all.all_diagonal = all.all_diagonal && (kept || p != i);
        }
        all.in_one_row = all.in_one_row || row == 3;
    }
    all.in_one_column = std::find(columns.begin(), columns.end(), 3) != columns.end();
    return all;
}

// The part of a matrix that its largest singular vectors leave, by a few steps of the power method.
double beyond_rank_one(const std::vector<Values>& m) {
    Values v = m.front();
    for (const Values& row : m) {
        if (norm(row) > norm(v)) v = row;
    }
    double total = 0;
    for (const Values& row : m) total += dot(row, row);
    if (!(total > 0)) return 0;
    Values u(m.size());
    for (int step = 0; step < 6; ++step) {
        const double size = norm(v);
        for (double& one : v) one /= size;
        for (std::size_t r = 0; r < m.size(); ++r) u[r] = dot(m[r], v);
        if (step == 5) break;
        std::fill(v.begin(), v.end(), 0.0);
        for (std::size_t r = 0; r < m.size(); ++r) {
            for (std::size_t k = 0; k < v.size(); ++k) v[k] += u[r] * m[r][k];
        }
    }
    double rest = 0;
    for (std::size_t r = 0; r < m.size(); ++r) {
        for (std::size_t k = 0; k < v.size(); ++k) rest += std::pow(m[r][k] - u[r] * v[k], 2);
    }
    return std::sqrt(rest / total);
}

// The error's entries inside each row.
std::vector<std::vector<Values>> error_blocks(const Wrong& w, const ClaimedJacobian& c,
                                              const RowAxes& axes) {
    const Rows of_places = rows_of(w.symptoms.shape, axes.operand);
    const Rows of_outputs = rows_of(w.symptoms.output, axes.output);
    std::vector<std::vector<Values>> blocks(static_cast<std::size_t>(of_places.size));
    for (std::size_t p = 0; p < c.places(); ++p) {
        const std::int64_t row = of_places.of(w.symptoms.places[p]);
        Values errors;
        for (std::size_t i = 0; i < c.outputs(); ++i) {
            if (of_outputs.of(i) == row) errors.push_back(c.error(p, i));
        }
        blocks[static_cast<std::size_t>(row)].push_back(std::move(errors));
    }
    return blocks;
}

// Enough numbers to tell a block of rank 1 from any other.
bool is_telling(const std::vector<Values>& block) {
    constexpr std::size_t kLeast = 3;
    if (block.size() < kLeast || block.front().size() < kLeast) return false;
    double most = 0;
    for (const Values& row : block) most = std::max(most, largest(row));
    std::size_t rows = 0;
    std::vector<bool> columns(block.front().size(), false);
    for (const Values& row : block) {
        rows += largest(row) > 1e-3 * most ? 1 : 0;
        for (std::size_t i = 0; i < row.size(); ++i) {
            columns[i] = columns[i] || std::abs(row[i]) > 1e-3 * most;
        }
    }
    const auto wide = static_cast<std::size_t>(std::count(columns.begin(), columns.end(), true));
    return most > 0 && rows >= kLeast && wide >= kLeast;
}

std::string of_shapes(const Wrong& w) {
    return fmt::format("{} x {}", w.symptoms.output, w.symptoms.shape);
}

}  // namespace

namespace {

// `of_whole_outputs`: an output whose contribution is lost is lost for all elements.
Match contributions_dropped(const Wrong& w, bool of_whole_outputs) {
    const ClaimedJacobian* c = w.jacobian();
    if (c == nullptr) return {};
    const auto entries = kept_entries(*c);
    if (!entries || entries->dropped == 0 || entries->kept == 0) return {};
    if (!entries->in_one_row || entries->in_one_column == of_whole_outputs) return {};
    const std::size_t all = entries->kept + entries->dropped;
    const bool diagonal = entries->only_diagonal && entries->all_diagonal && elementwise(w);
    if (diagonal && !c->goes_one_way()) {
        return Cause{Mistake::missing_term,
                     fmt::format("claimed = the diagonal of the Jacobian alone, {} of {} entries; "
                                 "each output depends on other elements too",
                                 entries->kept, all),
                     "the rule of an elementwise function: the sum over all other outputs that "
                     "an element reaches is not subtracted or added"};
    }
    return Cause{Mistake::dropped,
                 fmt::format("{} of {} entries of the Jacobian ({}) are claimed to be 0, all "
                             "others are right",
                             entries->dropped, all, of_shapes(w)),
                 "= instead of += where an element reaches several outputs, or a path from it that "
                 "the rule does not follow"};
}

}  // namespace

Match drops_contributions(const Wrong& w) { return contributions_dropped(w, false); }
Match drops_outputs(const Wrong& w) { return contributions_dropped(w, true); }

Match ignores_a_mask(const Wrong& w) {
    const ClaimedJacobian* c = w.jacobian();
    if (c == nullptr || is_diagonal(w)) return {};
    std::size_t right = 0, extra = 0;
    std::vector<bool> of_place(c->places(), false);
    for (std::size_t p = 0; p < c->places(); ++p) {
        bool some_right = false, some_extra = false;
        for (std::size_t i = 0; i < c->outputs(); ++i) {
            if (c->is_right_zero(p, i)) {
                some_extra = some_extra || !c->is_claimed(p, i, 0);
                extra += c->is_claimed(p, i, 0) ? 0 : 1;
                continue;
            }
            if (!c->is_claimed(p, i, c->right(p, i))) return {};
            some_right = true;
            ++right;
        }
        of_place[p] = some_right && some_extra;
    }
    const auto both = std::count(of_place.begin(), of_place.end(), true);
    if (extra < 3 || right < 3 || both < 2) return {};
    return Cause{Mistake::unmasked,
                 fmt::format("all entries of the Jacobian ({}) are right, and {} more are claimed, "
                             "where the output does not depend on the element",
                             of_shapes(w), extra),
                 "a mask, a branch (relu, clamp, dropout) or a padding that f applies on the way "
                 "is not in the rule"};
}

Match mixes_rows(const Wrong& w) {
    constexpr double kClearly = 1e-3;
    const ClaimedJacobian* c = w.jacobian();
    if (c == nullptr || is_diagonal(w)) return {};
    for (const RowAxes& axes : independent_rows(w, *c)) {
        const auto claimed = [&](std::size_t p, std::size_t i) {
            return c->is_claimed(p, i, 0) ? 0 : c->claimed(p, i);
        };
        const Shares shares = shares_of(w, *c, axes, claimed);
        // A matrix in the wrong order is not a sum over too much.
        if (!(shares.inside > 0 && shares.outside > kClearly * shares.inside)) continue;
        const Rows of_places = rows_of(w.symptoms.shape, axes.operand);
        const Rows of_outputs = rows_of(w.symptoms.output, axes.output);
        // Each row reaches all others, and is itself there: else it is an index that is off.
        std::vector<std::vector<bool>> reaches(
            static_cast<std::size_t>(of_places.size),
            std::vector<bool>(static_cast<std::size_t>(of_places.size), false));
        for (std::size_t p = 0; p < c->places(); ++p) {
            for (std::size_t i = 0; i < c->outputs(); ++i) {
                if (claimed(p, i) == 0) continue;
                reaches[static_cast<std::size_t>(of_places.of(w.symptoms.places[p]))]
                       [static_cast<std::size_t>(of_outputs.of(i))] = true;
            }
        }
        const bool all = std::all_of(reaches.begin(), reaches.end(), [](const auto& row) {
            return std::all_of(row.begin(), row.end(), [](bool there) { return there; });
        });
        if (!all) continue;
        return Cause{
            Mistake::mixed,
            fmt::format("f works on each index along axis {} of {} alone, and the claim for one "
                        "contains the incoming gradients of all others",
                        axes.operand, w.symptoms.shape),
            "a sum or mean in the rule runs over all elements, or along another axis than in f"};
    }
    return {};
}

namespace {

// Factors of outputs or elements: each has another one, or it is 1 for many of them.
Match of_factors(const Wrong& w, const Values& factors, const std::string& whose) {
    constexpr double kMuchLess = 0.01;
    double farthest = 0;
    for (const double factor : factors) {
        if (!std::isnan(factor)) farthest = std::max(farthest, std::abs(factor - 1));
    }
    const double least = std::min(kMuchLess * farthest, 4 * w.same);
    const double near = std::max(least, w.is_narrow() ? w.same : 0);
    std::size_t known = 0, right = 0;
    bool alike = true;
    double other = 1;
    for (const double factor : factors) {
        if (std::isnan(factor)) continue;
        ++known;
        if (std::abs(factor - 1) <= near) {
            ++right;
            continue;
        }
        alike = alike && (other == 1 || std::abs(factor - other) <= near);
        other = factor;
    }
    if (3 * right >= known || (alike && 8 * right >= known)) {
        const bool of_outputs = whose == "output";
        return Cause{of_outputs ? Mistake::rows : Mistake::partial,
                     fmt::format("the entries of {} of {} {}s are those of f times {}, all others "
                                 "are right",
                                 known - right, known, whose,
                                 alike ? fmt::format("{:.6g}", other) : "various factors"),
                     of_outputs ? "a weight, mask or branch that belongs to some outputs"
                                : "a border, a mask or a branch: the last elements of a vectorised "
                                  "loop, the other side of a threshold"};
    }
    return Cause{Mistake::formula,
                 fmt::format("each {}'s entries of the Jacobian are those of f times a factor of "
                             "its own",
                             whose),
                 "a factor that belongs to each of them (an inner derivative, a weight, a saved "
                 "value of another step) has a wrong formula"};
}

}  // namespace

Match looks_like_other_factors(const Wrong& w) {
    const ClaimedJacobian* c = w.jacobian();
    if (c == nullptr || c->diagonal_of_its_own()) return {};
    if (const auto factors = c->factors_of_outputs()) return of_factors(w, *factors, "output");
    if (const auto factors = c->factors_of_places()) return of_factors(w, *factors, "element");
    if (c->is_scaled_by_both()) {
        return Cause{Mistake::formula,
                     "each entry of the Jacobian is that of f times a factor of its output and one "
                     "of its element",
                     "a product along a chain (a recurrence, a scan) has one factor of a "
                     "neighbouring step"};
    }
    return {};
}

Match looks_like_another_formula(const Wrong& w) {
    const ClaimedJacobian* c = w.jacobian();
    if (c == nullptr) return {};
    if (const auto example = c->diagonal_of_its_own()) {
        const Match some = of_factors(w, c->factors_on_diagonal(), "element");
        if (some && some->mistake == Mistake::partial) return some;
        const std::size_t p = *example;
        const std::string x =
            w.symptoms.point.empty()
                ? ""
                : fmt::format(" at x = {:.6g}", w.symptoms.point[w.symptoms.places[p]]);
        return Cause{
            Mistake::formula,
            fmt::format("each output depends on its own element, and so does the claim: "
                        "the derivative{} is {:.6g}, claimed {:.6g}",
                        x, c->right(p, w.symptoms.places[p]), c->claimed(p, w.symptoms.places[p])),
            "the rule's structure is right and its formula is not: derive it again for "
            "one number"};
    }
    if (elementwise(w) && c->is_off_on_the_diagonal()) {
        return Cause{Mistake::formula,
                     "claimed - numeric is each element's own incoming gradient times a factor of "
                     "its own; all other entries of the Jacobian are right",
                     "the direct way from each element to its own output (a gate, a skip) is left "
                     "out, or has a wrong formula"};
    }
    return {};
}

Match has_a_wrong_sum(const Wrong& w) {
    constexpr double kLeast = 1e-4;
    const ClaimedJacobian* c = w.jacobian();
    if (c == nullptr) return {};
    for (const RowAxes& axes : independent_rows(w, *c)) {
        const auto blocks = error_blocks(w, *c, axes);
        std::size_t telling = 0;
        const bool all = std::all_of(blocks.begin(), blocks.end(), [&](const auto& block) {
            telling += is_telling(block) ? 1 : 0;
            return block.empty() || beyond_rank_one(block) < std::max(kLeast, 4 * w.same);
        });
        if (!all || telling < 2) continue;
        return Cause{
            Mistake::wrong_sum,
            fmt::format("for any incoming gradient, claimed - numeric has one direction at each "
                        "index along axis {}: an error of rank 1",
                        axes.operand),
            "the term that goes through one number of each row (its sum, mean, maximum or norm) is "
            "missing or has a wrong formula"};
    }
    return {};
}

}  // namespace tapestry::checker
