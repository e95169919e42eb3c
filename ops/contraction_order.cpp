// Exact: dynamic programming over subsets, best(S) = min over S = L + R of best(L) + best(R) + the
// volume of both (Pfeifer, Haegeman and Verstraete 2014 add pruning, which eight do without).
// Greedy: the rule of Daniel Gray's opt_einsum, size(result) - size(a) - size(b).
#include <tapestry/ops/contraction_order.h>

#include <bit>
#include <limits>

namespace tapestry {
namespace {

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

// Labels that the product of the tensors in `part` keeps, since those outside or the output ask.
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
        std::size_t left = 0;  // the subset that comes first in its best split
    };

    void split(std::size_t part, const LabelSizes& sizes) {
        Part& whole = parts_[part];
        whole.cost = std::numeric_limits<double>::infinity();
        const std::size_t lowest = part & (~part + 1);
        for (std::size_t left = (part - 1) & part; left > 0; left = (left - 1) & part) {
            if ((left & lowest) == 0) continue;  // the same split, the other way round
            const Part& a = parts_[left];
            const Part& b = parts_[part ^ left];
            const double cost = a.cost + b.cost + volume(a.labels | b.labels, sizes);
            if (cost < whole.cost || whole.left == 0) {
                whole.cost = cost;
                whole.left = left;
            }
        }
    }

    // Writes down how `part` is made; returns the number of the result.
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

// What is left of a pair when all others are still there.
LabelSet result_of(const std::vector<Numbered>& all, std::size_t i, std::size_t j,
                   LabelSet output) {
    LabelSet asked = output;
    for (std::size_t k = 0; k < all.size(); ++k) {
        if (k != i && k != j) asked |= all[k].labels;
    }
    return (all[i].labels | all[j].labels) & asked;
}

// The pair whose result is smallest against the two; the first of equals.
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
