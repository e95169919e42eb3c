#include <tapestry/nn/inspect/token_path.h>

#include <tapestry/core/views.h>
#include <tapestry/ops/recorded.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tapestry {
namespace {

// Whether y shares an input's elements, in another shape or order.
bool is_view(const Tensor& y, const Tensors& inputs) {
    return std::any_of(inputs.begin(), inputs.end(),
                       [&y](const Tensor& x) { return x.defined() && x.storage() == y.storage(); });
}

// [B, T, C] -> [T, C] and [B, H, T, D] -> [T, H D], for sequence 0; [B, C] -> [1, C].
Tensor rows_of_first(const Tensor& y) {
    const Tensor first = views::slice(y.detach(), 0, 0, 1);
    if (y.rank() == 2) return first;
    if (y.rank() == 3) return views::reshape(first, {y.size(1), y.size(2)});
    const Tensor heads = views::reshape(first, {y.size(1), y.size(2), y.size(3)});
    return views::transpose(heads, 0, 1);  // [T, H, D], made contiguous by to_vector
}

// The length of each of the rows of `width` numbers.
std::vector<float> lengths_of(const std::vector<float>& rows, std::int64_t width) {
    std::vector<float> lengths;
    double squares = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        squares += static_cast<double>(rows[i]) * static_cast<double>(rows[i]);
        if ((i + 1) % static_cast<std::size_t>(width) != 0) continue;
        lengths.push_back(static_cast<float>(std::sqrt(squares)));
        squares = 0;
    }
    return lengths;
}

}  // namespace

void add_token_gradient(TokenPath& path, int entry, const Tensor& gradient) {
    const auto found = std::find_if(path.entries.begin(), path.entries.end(),
                                    [entry](const FollowedEntry& e) { return e.entry == entry; });
    if (found == path.entries.end() || !gradient.defined()) return;
    found->gradients = lengths_of(rows_of_first(gradient).to_vector<float>(), found->width);
}

std::vector<std::int64_t> even_places(std::int64_t tokens, std::int64_t count) {
    std::vector<std::int64_t> places;
    count = std::min(count, tokens);
    for (std::int64_t i = 1; i <= count; ++i) {
        places.push_back(count == 1 ? tokens - 1 : (i - 1) * (tokens - 1) / (count - 1));
    }
    return places;
}

// A token's vectors have about as many numbers as the weight matrices have columns, and half as
// many again for sums, norms and activations.
std::int64_t TokenPaths::places_of(std::int64_t tokens) const {
    const std::int64_t numbers = 1 + 3 * parameters_ / (2 * dim_);
    return std::clamp<std::int64_t>(kMostNumbers / numbers, 1, tokens);
}

void TokenPaths::recorded(const Op& op, const Tensors& inputs, const Tensors& outputs, int entry) {
    const bool attention = recorded_attention(op).has_value();
    Seen seen;
    for (std::size_t i = 0; i < (attention ? 1 : inputs.size()); ++i) {
        const int slot = op.inputs()[i].slot;
        if (slot >= 0) seen.inputs.push_back(slot);
        const auto made = made_by_.find(slot);
        if (made != made_by_.end() && seen_[made->second].flows) seen.flows = true;
    }
    for (const Op::Operand& y : op.outputs()) made_by_[y.slot] = seen_.size();
    const Tensor& y = outputs.front();
    const int rank = y.rank();
    const bool kept = is_floating(y.dtype()) && y.numel() > 0 && !is_view(y, inputs) &&
                      (attention ? rank == 4 : rank == 3 || (rank == 2 && seen.flows));
    if (kept) {
        seen.tokens = rank == 2 ? 0 : y.size(rank - 2);
        const std::int64_t width = rank == 4 ? y.size(1) * y.size(3) : y.size(-1);
        if (dim_ == 0) dim_ = width;  // of rank 3 or 4: what is of rank 2 flows from these
        const bool whole = rank == 2;
        seen.flows = true;
        seen.kept = {.entry = entry, .width = width, .whole = whole, .numbers = {}};
        // Logits of a large vocabulary are less informative than the likeliest classes in a
        // PredictionTrace.
        if (whole || width <= 8 * dim_) {
            const std::vector<float> all = rows_of_first(y).to_vector<float>();
            seen.kept.lengths = lengths_of(all, width);
            const auto places =
                whole ? even_places(1, 1) : even_places(seen.tokens, places_of(seen.tokens));
            for (const std::int64_t place : places) {
                const auto from = all.begin() + place * width;
                seen.kept.numbers.insert(seen.kept.numbers.end(), from, from + width);
            }
        }
    }
    seen_.push_back(std::move(seen));
}

TokenPath TokenPaths::to(int slot) const {
    std::vector<bool> on_it(seen_.size());
    std::vector<int> open{slot};
    while (!open.empty()) {
        const auto made = made_by_.find(open.back());
        open.pop_back();
        if (made == made_by_.end() || on_it[made->second]) continue;
        on_it[made->second] = true;
        const std::vector<int>& from = seen_[made->second].inputs;
        open.insert(open.end(), from.begin(), from.end());
    }
    TokenPath path;
    for (std::size_t i = seen_.size(); i-- > 0;) {  // the number of tokens after the last layer
        if (on_it[i] && seen_[i].tokens > 0) {
            path.tokens = seen_[i].tokens;
            break;
        }
    }
    if (path.tokens == 0) return path;
    path.places = even_places(path.tokens, places_of(path.tokens));
    for (std::size_t i = 0; i < seen_.size(); ++i) {
        const bool fits =
            seen_[i].tokens == path.tokens || (seen_[i].tokens == 0 && !path.entries.empty());
        if (on_it[i] && fits) path.entries.push_back(seen_[i].kept);
    }
    return path;
}

}  // namespace tapestry
