// x[...]: the operator equals index(), on and off the tape; views share memory; and invalid uses do
// not compile.
#include <doctest/doctest.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/indexing.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/masking.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/subscript.h>
#include <tapestry/ops/view.h>

#include <cmath>
#include <type_traits>

using namespace tapestry;

namespace {

using Values = std::vector<double>;

Values values(const Tensor& x) { return x.to_vector<double>(); }

Tensor counted(const Shape& shape) { return reshape(arange(numel(shape), DType::f64), shape); }

// x[i] = y and f() = y would have no effect.
template <class T>
concept AssignableTemporary = requires(T&& temporary, const T& y) {
    std::move(temporary) = y;
};
static_assert(!AssignableTemporary<Tensor>);
static_assert(std::is_copy_assignable_v<Tensor> && std::is_nothrow_move_assignable_v<Tensor>);
static_assert(std::is_nothrow_move_constructible_v<Tensor>);

}  // namespace

TEST_CASE("subscript: numbers, slices and new axes") {
    const Tensor x = counted({2, 3, 4});
    CHECK(values(x[1]) == values(slice(x, 0, 1, 2)));
    CHECK(x[1].shape() == Shape{3, 4});
    CHECK(values(x[-1][0]) == Values{12, 13, 14, 15});
    CHECK(x[{1, 2, 3}].item() == 23);
    CHECK(x[{1, kEllipsis}].shape() == Shape{3, 4});
    CHECK(values(x[{0, Slice{1, 3}, -1}]) == Values{7, 11});
    CHECK(values(x[{kEllipsis, Slice{.start = 2}}][0]) == Values{2, 3, 6, 7, 10, 11});
    CHECK(values(x[{0, 0, Slice{.step = -1}}]) == Values{3, 2, 1, 0});
    CHECK(values(x[{0, 0, Slice{2, {}, -2}}]) == Values{2, 0});
    CHECK(x[{kAll, kNewAxis, 0}].shape() == Shape{2, 1, 4});
    CHECK(x[{kNewAxis, kEllipsis, kNewAxis}].shape() == Shape{1, 2, 3, 4, 1});
    CHECK(x[{kEllipsis}].shape() == x.shape());
    const int i = 1;
    CHECK(values(x[i][i]) == values(x[{i, i}]));
}

TEST_CASE("subscript: what positions choose is a view, what tensors choose is a copy") {
    Tensor x = zeros({3, 4});
    x[1].fill_(2);
    x[{kAll, Slice{.step = -2}}][0].copy_(tensor<float>({5, 6}));
    CHECK(values(x) == Values{0, 6, 0, 5, 2, 2, 2, 2, 0, 0, 0, 0});
    CHECK(x[1].storage() == x.storage());
    CHECK(x[gt(x, 1)].storage() != x.storage());
}

TEST_CASE("subscript: masks and numbers") {
    const Tensor x = counted({3, 4});
    CHECK(values(x[gt(x, 8.5)]) == Values{9, 10, 11});
    CHECK(values(x[tensor<bool>({true, false, true})]) == Values{0, 1, 2, 3, 8, 9, 10, 11});
    CHECK(x[lt(x, 0)].shape() == Shape{0});
    const Tensor ids = tensor<std::int64_t>({{2, 0}, {0, 0}});
    CHECK(x[ids].shape() == Shape{2, 2, 4});
    CHECK(values(x[ids][0]) == Values{8, 9, 10, 11, 0, 1, 2, 3});
    const Tensor columns = tensor<std::int64_t>({1, 3, 0});
    CHECK(values(x[{arange(3), columns}]) == Values{1, 7, 8});  // one from each row
    CHECK(values(x[{1, columns}]) == Values{5, 7, 4});
    CHECK(values(x[{tensor<bool>({false, true, true}), 0}]) == Values{4, 8});
    CHECK(x[{kNewAxis, arange(2)}].shape() == Shape{1, 2, 4});
    const Tensor cube = counted({2, 3, 2});
    CHECK(cube[{kAll, columns[{Slice{0, 1}}], kNewAxis}].shape() == Shape{2, 1, 1, 2});
    CHECK(values(cube[{0, gt(cube[0], 1), kNewAxis}]) == Values{2, 3, 4, 5});
}

TEST_CASE("subscript: indices in a tensor count from the end like plain numbers") {
    const Tensor x = counted({2, 3});
    const Tensor last = tensor<std::int64_t>({-1});
    CHECK(values(x[last]) == values(x[{Slice{1, 2}}]));
    CHECK(values(x[{kAll, tensor<std::int64_t>({-3, 2, -1})}]) == Values{0, 2, 2, 3, 5, 5});
    CHECK(values(index_put(x, {last, last}, scalar(9, DType::f64))) == Values{0, 1, 2, 3, 4, 9});
    CHECK_THROWS_WITH_AS(x[tensor<std::int64_t>({-3})],
                         "index: index -3 is outside axis 0 of [2, 3]", IndexError);
    // Indices of index_select, gather and the scatters do not count from the end, as in PyTorch.
    CHECK_THROWS_WITH_AS(
        index_select(x, 1, last),
        "index_select: ids[0] = -1 is outside axis 1 of [2, 3]; ids do not count from the end",
        IndexError);
}

TEST_CASE("subscript: gradients flow through the operator") {
    const Tensor x = counted({2, 3}).set_requires_grad();
    const auto gradient = [&x](auto f) {
        Tape tape;
        return values(tape.gradient(sum(f(x)), {x})[0]);
    };
    CHECK(gradient([](const Tensor& t) { return t[1] * 2; }) == Values{0, 0, 0, 2, 2, 2});
    CHECK(gradient([](const Tensor& t) {
              return t[{kAll, Slice{.step = -2}}];
          }) == Values{1, 0, 1, 1, 0, 1});
    CHECK(gradient([](const Tensor& t) { return square(t[gt(t, 3.5)]); }) ==
          Values{0, 0, 0, 0, 8, 10});
    CHECK(gradient([](const Tensor& t) {
              return t[tensor<std::int64_t>({1, 1})];
          }) == Values{0, 0, 0, 2, 2, 2});
    Tape tape;
    CHECK(tape.follows(x[0]));
    CHECK_EQ(tape.entries().size(), 1);
}

TEST_CASE("subscript: errors of the operator name the axis") {
    const Tensor x = zeros({2, 3});
    CHECK_THROWS_WITH_AS(x[2], "select: index 2 is outside axis 0 of [2, 3]", IndexError);
    CHECK_THROWS_WITH_AS((x[{1, -4}]), "index: index -4 is outside axis 1 of [2, 3]", IndexError);
    CHECK_THROWS_WITH_AS(zeros({})[0], "select: axis 0 is outside a tensor of rank 0", ShapeError);
    CHECK_THROWS_WITH_AS(Tensor()[0], "select: got an undefined tensor", Error);
}

TEST_CASE("unbind: of an axis without elements there is nothing") {
    CHECK(unbind(zeros({0, 3})).empty());
}

TEST_CASE("nonzero: any dtype, NaN included") {
    const Tensor x = tensor<double>({{0.0, -0.0}, {std::nan(""), 1e-300}});
    CHECK(nonzero(x).to_vector<std::int64_t>() == std::vector<std::int64_t>{1, 0, 1, 1});
    CHECK(nonzero(zeros({2, 2})).shape() == Shape{0, 2});
    CHECK(nonzero(scalar(3)).shape() == Shape{1, 0});
}

TEST_CASE("scatter: whole numbers and truth values, and the last of several stays") {
    const Tensor ids = tensor<std::int64_t>({2, 0, 2});
    CHECK(values(scatter(arange(3), 0, ids, tensor<std::int64_t>({7, 8, 9}))) == Values{8, 1, 9});
    CHECK(values(scatter(zeros({3}, DType::boolean), 0, ids, 1)) == Values{1, 0, 1});
}
