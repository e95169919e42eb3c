// A contraction is a batch of matrix products: the labels fall into four groups,
//
//     batch    in both, kept            a: [batch, left, summed]
//     summed   in both, not kept        b: [batch, summed, right]
//     left     in a alone               y: [batch, left, right]
//     right    in b alone
//
// and each group but the batch is made one axis. Permuting costs nothing, for matmul reads strides;
// axes that cannot be merged in place are copied once.
#include <tapestry/ops/contraction.h>

#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/view.h>

#include <algorithm>
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

Shape joined(Shape a, const Shape& b) {
    for (const std::int64_t size : b) a.push_back(size);
    return a;
}

Tensor reshaped(const Tensor& x, const Shape& shape) {
    return x.shape() == shape ? x : reshape(x, shape);
}

// x as [batch..., rows, columns], each of the last two made of a group of axes.
Tensor as_matrices(const Labelled& x, const Labels& batch, const Labels& rows,
                   const Labels& columns) {
    Shape shape = sizes_of(x, batch);
    shape.push_back(numel(sizes_of(x, rows)));
    shape.push_back(numel(sizes_of(x, columns)));
    return reshaped(ordered(x, batch + rows + columns).x, shape);
}

// Nothing is summed: [batch..., left..., 1...] times [batch..., 1..., right...].
Tensor outer_product(const Labelled& a, const Labelled& b, const Labels& batch, const Labels& left,
                     const Labels& right) {
    const auto ones = [](const Labels& labels) {
        return Shape::filled(static_cast<int>(labels.size()), 1);
    };
    const Shape of_b = joined(sizes_of(b, batch), ones(left));
    return mul(reshaped(ordered(a, batch + left).x, joined(sizes_of(a, batch + left), ones(right))),
               reshaped(ordered(b, batch + right).x, joined(of_b, sizes_of(b, right))));
}

// Numbers, not matrices, are left of each element of the batch: [batch..., summed...] -> [batch...]
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
    // The larger operand says in which order, so that it need not be copied.
    const Labels summed = chosen((a.x.numel() < b.x.numel() ? b : a).labels, both & ~keep);
    const Labels result = batch + left + right;
    require<ShapeError>(result.size() <= Shape::kMaxRank,
                        "{}: {} and {} make a tensor of {} axes; {} are the most", op, a.x.shape(),
                        b.x.shape(), result.size(), Shape::kMaxRank);
    if (summed.empty()) return {outer_product(a, b, batch, left, right), result};
    if (left.empty() && right.empty() && !batch.empty()) {
        return {inner_product(a, b, batch, summed), result};
    }
    const Tensor y =
        matmul(as_matrices(a, batch, left, summed), as_matrices(b, batch, summed, right));
    return {reshaped(y, joined(sizes_of(a, batch + left), sizes_of(b, right))), result};
}

}  // namespace tapestry
