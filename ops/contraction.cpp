// A contraction is a batch of matrix products: the labels fall into four groups,
//
//     batch    in both, kept            a: [batch, left, summed]
//     summed   in both, not kept        b: [batch, summed, right]
//     left     only in a                y: [batch, left, right]
//     right    only in b
//
// and each group but the batch is merged into one axis. Permuting costs nothing because matmul
// reads strides; axes that cannot be merged in place are copied once.
#include <tapestry/ops/contraction.h>

#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/batch.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/view.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

namespace tapestry {
namespace {

Labels operator+(Labels a, const Labels& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

Labels chosen(const Labels& labels, LabelSet set) {
    Labels result;
    std::copy_if(labels.begin(), labels.end(), std::back_inserter(result),
                 [set](int label) { return (set & set_of(label)) != 0; });
    return result;
}

int axis_of(const Labelled& x, int label) {
    const auto found = std::find(x.labels.begin(), x.labels.end(), label);
    return static_cast<int>(found - x.labels.begin());
}

Shape sizes_of(const Labelled& x, const Labels& labels) {
    Shape sizes;
    for (const int label : labels) sizes.push_back(x.x.shape()[axis_of(x, label)]);
    return sizes;
}

// x as [batch..., rows, columns], where the last two are merged groups of axes.
Tensor as_matrices(const Labelled& x, const Labels& batch, const Labels& rows,
                   const Labels& columns) {
    const Shape merged{numel(sizes_of(x, rows)), numel(sizes_of(x, columns))};
    return reshaped(ordered(x, batch + rows + columns).x, sizes_of(x, batch) + merged);
}

// Nothing is summed: [batch..., left..., 1...] times [batch..., 1..., right...].
Tensor outer_product(const Labelled& a, const Labelled& b, const Labels& batch, const Labels& left,
                     const Labels& right) {
    const auto ones = [](const Labels& labels) {
        return Shape::filled(static_cast<int>(labels.size()), 1);
    };
    return mul(reshaped(ordered(a, batch + left).x, sizes_of(a, batch + left) + ones(right)),
               reshaped(ordered(b, batch + right).x,
                        sizes_of(b, batch) + ones(left) + sizes_of(b, right)));
}

// Each element of the batch gives a scalar: [batch..., summed...] -> [batch...]
Tensor inner_product(const Labelled& a, const Labelled& b, const Labels& batch,
                     const Labels& summed) {
    std::vector<int> axes(summed.size());
    std::iota(axes.begin(), axes.end(), static_cast<int>(batch.size()));
    return sum(mul(ordered(a, batch + summed).x, ordered(b, batch + summed).x), axes);
}

}  // namespace

Labelled ordered(const Labelled& x, const Labels& labels) {
    if (x.labels == labels) return x;
    std::vector<int> order;
    for (const int label : labels) order.push_back(axis_of(x, label));
    return {permute(x.x, order), labels};
}

Labelled contract(std::string_view op, const Labelled& a, const Labelled& b, LabelSet keep) {
    const LabelSet both = set_of(a.labels) & set_of(b.labels);
    const Labels batch = chosen(a.labels, both & keep);
    const Labels left = chosen(a.labels, ~both);
    const Labels right = chosen(b.labels, ~both);
    // The larger operand sets the order, so it need not be copied.
    const Labels summed = chosen((a.x.numel() < b.x.numel() ? b : a).labels, both & ~keep);
    const Labels result = batch + left + right;
    require<ShapeError>(result.size() <= Shape::kMaxRank,
                        "{}: {} and {} make a tensor of {} axes; at most {} are supported", op,
                        a.x.shape(), b.x.shape(), result.size(), Shape::kMaxRank);
    if (summed.empty()) return {outer_product(a, b, batch, left, right), result};
    if (left.empty() && right.empty() && !batch.empty()) {
        return {inner_product(a, b, batch, summed), result};
    }
    const Tensor y =
        matmul(as_matrices(a, batch, left, summed), as_matrices(b, batch, summed, right));
    return {reshaped(y, sizes_of(a, batch + left) + sizes_of(b, right)), result};
}

// ---- the order ----------------------------------------------------------------------------------
// Exact: dynamic programming over subsets, best(S) = min over S = L + R of best(L) + best(R) + the
// volume of both (Pfeifer, Haegeman and Verstraete 2014 add pruning, which eight do without).
// Greedy: the rule of Daniel Gray's opt_einsum, size(result) - size(a) - size(b).

namespace {

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

// Labels that the product of the tensors in `part` keeps, because other tensors or the output need
// them.
LabelSet kept(const std::vector<LabelSet>& tensors, std::size_t part, LabelSet output) {
    LabelSet inside = 0;
    LabelSet outside = output;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        ((part >> i & 1) != 0 ? inside : outside) |= tensors[i];
    }
    return inside & outside;
}

class ExactOrder {
public:
    ExactOrder(const std::vector<LabelSet>& tensors, LabelSet output, const LabelSizes& sizes)
        : count_(tensors.size()), parts_(std::size_t{1} << count_) {
        for (std::size_t i = 0; i < count_; ++i) parts_[std::size_t{1} << i].labels = tensors[i];
        for (std::size_t part = 1; part < parts_.size(); ++part) {
            if (std::has_single_bit(part)) continue;
            parts_[part].labels = kept(tensors, part, output);
            split(part, sizes);
        }
    }

    Pairs run() {
        emit(parts_.size() - 1);
        return pairs_;
    }

private:
    struct Part {
        LabelSet labels = 0;
        double cost = 0;
        std::size_t left = 0;  // the first half of the best split
    };

    void split(std::size_t part, const LabelSizes& sizes) {
        Part& whole = parts_[part];
        whole.cost = std::numeric_limits<double>::infinity();
        const std::size_t lowest = part & (~part + 1);
        for (std::size_t left = (part - 1) & part; left > 0; left = (left - 1) & part) {
            if ((left & lowest) == 0) continue;  // the mirror of a split already seen
            const Part& a = parts_[left];
            const Part& b = parts_[part ^ left];
            const double cost = a.cost + b.cost + volume(a.labels | b.labels, sizes);
            if (cost < whole.cost || whole.left == 0) {
                whole.cost = cost;
                whole.left = left;
            }
        }
    }

    // Appends the pairs that compute `part`; returns the number of the result.
    std::size_t emit(std::size_t part) {
        if (std::has_single_bit(part)) return static_cast<std::size_t>(std::countr_zero(part));
        const std::size_t left = emit(parts_[part].left);
        const std::size_t right = emit(part ^ parts_[part].left);
        pairs_.emplace_back(left, right);
        return count_ + pairs_.size() - 1;
    }

    std::size_t count_;
    std::vector<Part> parts_;
    Pairs pairs_;
};

struct Numbered {
    std::size_t number;
    LabelSet labels;
};

// The labels that the product of a pair keeps while all others remain.
LabelSet result_of(const std::vector<Numbered>& all, std::size_t i, std::size_t j,
                   LabelSet output) {
    LabelSet asked = output;
    for (std::size_t k = 0; k < all.size(); ++k) {
        if (k != i && k != j) asked |= all[k].labels;
    }
    return (all[i].labels | all[j].labels) & asked;
}

// The pair whose result is smallest relative to its operands; the first of equals.
std::pair<std::size_t, std::size_t> best_pair(const std::vector<Numbered>& all, LabelSet output,
                                              const LabelSizes& sizes) {
    std::pair<std::size_t, std::size_t> best{0, 1};
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (std::size_t j = i + 1; j < all.size(); ++j) {
            const double growth = volume(result_of(all, i, j, output), sizes) -
                                  volume(all[i].labels, sizes) - volume(all[j].labels, sizes);
            if (growth >= least) continue;
            least = growth;
            best = {i, j};
        }
    }
    return best;
}

Pairs greedy_order(const std::vector<LabelSet>& tensors, LabelSet output, const LabelSizes& sizes) {
    std::vector<Numbered> all;
    for (const LabelSet labels : tensors) all.push_back({all.size(), labels});
    Pairs pairs;
    while (all.size() > 1) {
        const auto [i, j] = best_pair(all, output, sizes);
        pairs.emplace_back(all[i].number, all[j].number);
        const LabelSet labels = result_of(all, i, j, output);
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(j));
        all[i] = {tensors.size() + pairs.size() - 1, labels};
    }
    return pairs;
}

}  // namespace

double volume(LabelSet labels, const LabelSizes& sizes) {
    double product = 1;
    for (; labels != 0; labels &= labels - 1) {
        product *= sizes[static_cast<std::size_t>(std::countr_zero(labels))];
    }
    return product;
}

std::vector<std::pair<std::size_t, std::size_t>> contraction_order(
    const std::vector<LabelSet>& tensors, LabelSet output, const LabelSizes& sizes) {
    if (tensors.size() < 2) return {};
    if (tensors.size() > kExactOrder) return greedy_order(tensors, output, sizes);
    return ExactOrder(tensors, output, sizes).run();
}

}  // namespace tapestry
