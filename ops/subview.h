// Taking a part of a tensor, and its adjoint: placing the part into zeros of the whole's shape.
// Each is the other's gradient, to any order. Internal to ops.
//
// A View defines the part. It has a name and attributes for the tape, and maps any tensor of the
// whole's shape to the part, as a view without repeated elements:
//     struct SliceView { static constexpr const char* kName = "slice"; ...;
//                        std::string attributes() const; Tensor operator()(const Tensor&) const; };
#pragma once

#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>

#include <string>

namespace tapestry {

template <class View>
Tensor take_part(const Tensor& x, const View& view);

template <class View>
Tensor place_part(const Tensor& part, const Shape& whole, const View& view);

namespace detail {

template <class View>
struct TakePartOp final : Op {
    explicit TakePartOp(const View& view) : Op(View::kName), view_(view) {}
    std::string attributes() const override { return view_.attributes(); }
    double flops() const override { return 0; }
    Tensors forward(const Tensors& x) const override { return {take_part(x[0], view_)}; }
    Tensors backward(const Tensors& grads) override {
        return {place_part(grads[0], inputs()[0].shape, view_)};
    }

private:
    View view_;
};

template <class View>
struct PlacePartOp final : Op {
    explicit PlacePartOp(const View& view) : Op(std::string("un") + View::kName), view_(view) {}
    std::string attributes() const override { return view_.attributes(); }
    double flops() const override { return 0; }
    Tensors forward(const Tensors& x) const override {
        return {place_part(x[0], outputs()[0].shape, view_)};
    }
    Tensors backward(const Tensors& grads) override { return {take_part(grads[0], view_)}; }

private:
    View view_;
};

}  // namespace detail

/// view(x), recorded.
template <class View>
Tensor take_part(const Tensor& x, const View& view) {
    Tensor y = view(x);
    return record<detail::TakePartOp<View>>({x}, y, view);
}

/// Zeros of shape `whole` whose view(...) is `part`; recorded.
template <class View>
Tensor place_part(const Tensor& part, const Shape& whole, const View& view) {
    const bool all = part.numel() == numel(whole);  // the part may be the whole, in another order
    Tensor y = all ? empty(whole, part.dtype()) : zeros(whole, part.dtype());
    view(y).copy_(part);
    return record<detail::PlacePartOp<View>>({part}, y, view);
}

}  // namespace tapestry
