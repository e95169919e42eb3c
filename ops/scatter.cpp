// Which element of the source stayed in its place is found out by scattering their numbers.
#include <tapestry/ops/scatter.h>

#include <tapestry/core/create.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/element_ids.h>
#include <tapestry/ops/indexing.h>
#include <tapestry/ops/whole.h>

#include <fmt/format.h>

namespace tapestry {
namespace {

struct ScatterOp final : IndexOp {
    ScatterOp(int axis, const Tensor& ids) : IndexOp("scatter", axis, ids) {}
    double flops() const override { return 0; }
    Tensors forward(const Tensors& x) const override {
        return {scatter(x[0], axis(), saved(0), x[1])};
    }
    Tensors backward(const Tensors& grads) override {
        const Tensor& ids = saved(0);
        const Tensor& g = grads[0];
        return {
            needs(0) ? scatter(g, axis(), ids, 0) : Tensor(),
            needs(1) ? where(stayed(), gather(g, axis(), ids), scalar(0, g.dtype())) : Tensor()};
    }

private:
    Tensor stayed() const {
        const Tensor& ids = saved(0);
        const Tensor numbers = reshape(arange(ids.numel()), ids.shape());
        const Tensor last = scatter(zeros(inputs()[0].shape, DType::i64), axis(), ids, numbers);
        return eq(gather(last, axis(), ids), numbers);
    }
};

// ids and source are row-major and of one shape.
template <class T>
void set_elements(Tensor& y, int axis, const Tensor& ids, const Tensor& source) {
    const T* from = source.data<T>();
    T* to = y.mutable_data<T>();
    for_each_id(ids, y, axis, [=](std::int64_t at, std::int64_t place) { to[place] = from[at]; });
}

}  // namespace

Tensor scatter(const Tensor& x, int axis, const Tensor& ids, const Tensor& source) {
    check_same_dtype("scatter", x, source);
    const int a = normalize_axis("scatter", axis, x.rank());
    const Tensor chosen = checked_ids("scatter", ids, x, a);
    check_element_ids("scatter", x, a, ids);
    const Tensor put = source_of("scatter", source, ids);
    const Tensor from = dense(put);
    Tensor y = x.clone();
    visit_dtype(y.dtype(), [&](auto zero) { set_elements<decltype(zero)>(y, a, chosen, from); });
    return record<ScatterOp>({x, put}, y, a, chosen);
}

Tensor scatter(const Tensor& x, int axis, const Tensor& ids, double value) {
    check_defined("scatter", x);
    check_dtype("scatter", ids, DType::i64);
    return scatter(x, axis, ids, views::expand(element_like("scatter", x, value), ids.shape()));
}

Tensor index_put(const Tensor& x, const std::vector<Index>& where, const Tensor& values,
                 bool accumulate) {
    check_same_dtype("index_put", x, values);
    // The part of a tensor that numbers its elements: which elements of x the part is made of.
    const Tensor numbers = index(views::reshape(arange(x.numel()), x.shape()), where);
    require<ShapeError>(
        broadcast_shapes("index_put", values.shape(), numbers.shape()) == numbers.shape(),
        "index_put: values {} for a part {}", values.shape(), numbers.shape());
    const Tensor ids = views::reshape(numbers, {numbers.numel()});
    const Tensor source = reshape(expand(values, numbers.shape()), ids.shape());
    const Tensor flat = reshape(x, {x.numel()});
    return reshape(accumulate ? scatter_add(flat, 0, ids, source) : scatter(flat, 0, ids, source),
                   x.shape());
}

}  // namespace tapestry
