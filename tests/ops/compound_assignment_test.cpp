// a += b: recorded as a = a + b, or in place, or refused. No gradient is lost silently.
#include <doctest/doctest.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/subscript.h>

using namespace tapestry;

namespace {

using Values = std::vector<double>;

Values values(const Tensor& x) { return x.to_vector<double>(); }

Tensor leaf(std::initializer_list<double> numbers) {
    return tensor<double>(numbers).set_requires_grad();
}

}  // namespace

TEST_CASE("compound assignment: without a tape it is in place, for all who share the memory") {
    Tensor x = tensor<double>({1, 2, 3, 4});
    const Tensor shared = x;
    x += tensor<double>({1, 1, 1, 1});
    x -= 1;
    x *= tensor<double>({2});
    x /= 4;
    CHECK(values(shared) == Values{0.5, 1, 1.5, 2});
    (x += 1) *= 2;
    CHECK(values(shared) == Values{3, 4, 5, 6});
    x += x;
    CHECK(values(shared) == Values{6, 8, 10, 12});
    Tensor half = x[{Slice{0, 2}}];
    half -= x[{Slice{2, 4}}];
    CHECK(values(shared) == Values{-4, -4, 10, 12});
}

TEST_CASE("compound assignment: where a tape follows, another tensor gets the name") {
    const Tensor x = leaf({2, 3});
    const Tensor before = zeros({2}, DType::f64);
    Tape tape;
    Tensor y = before;
    y += x;
    const Tensor sum_so_far = y;
    y *= x;
    y -= 1;
    y /= tensor<double>({2, 4});
    CHECK(values(before) == Values{0, 0});
    CHECK(values(sum_so_far) == Values{2, 3});
    CHECK(values(y) == Values{1.5, 2});
    CHECK(values(tape.gradient(sum(y), {x})[0]) == Values{2, 1.5});  // x^2 / 2, x^2 / 4
}

TEST_CASE("compound assignment: a parameter is stepped in place where nothing is recorded") {
    Tensor w = leaf({1, 2});
    const Tensor same = w;
    {
        Tape tape;
        tape.backward(sum(w * w));
        const NoGradGuard no_grad;
        w -= 0.5 * w.grad();
    }
    CHECK(w.requires_grad());
    CHECK(values(same) == Values{0, 0});
    w += 1;  // no tape
    CHECK(values(same) == Values{1, 1});
    CHECK(same.leaf() == w.leaf());
}

TEST_CASE("compound assignment: a leaf is refused while a tape records") {
    Tensor w = leaf({1, 2});
    Tape tape;
    const char* refused =
        "-=: the tensor [2] is a leaf that requires its gradient, and a tape is recording; change "
        "it under a NoGradGuard, or write a = a + b instead";
    CHECK_THROWS_WITH_AS(w -= 1, refused, AutogradError);
    CHECK_THROWS_WITH_AS(w -= tensor<double>({1, 1}), refused, AutogradError);
    CHECK(values(w) == Values{1, 2});
    w.set_requires_grad(false);
    w -= 1;
    CHECK(values(w) == Values{0, 1});
}

TEST_CASE("compound assignment: changing what a rule needs in place is an error") {
    const Tensor w = leaf({1, 2});
    Tensor x = tensor<double>({3, 4});
    Tape tape;
    const Tensor y = sum(w * x);
    x += 1;  // not followed: in place
    CHECK_THROWS_WITH_AS(tape.backward(y),
                         "mul (#0): a tensor [2] it saved for backward has been changed in place "
                         "since (version 1, now 2)",
                         AutogradError);
}

TEST_CASE("compound assignment: requesting a lost gradient is an error") {
    const Tensor w = leaf({1, 2});
    Tensor x = zeros({2}, DType::f64);
    Tape tape;
    {
        const NoGradGuard no_grad;
        x += w;
    }
    CHECK_THROWS_WITH_AS(
        tape.backward(sum(x)),
        doctest::Contains("depends on a leaf only through a tensor that this tape did not record"),
        AutogradError);
    CHECK_THROWS_WITH_AS(tape.gradient(sum(w), {x}),
                         "gradient: x [2] was computed while no tape was recording; make the Tape "
                         "before computing",
                         AutogradError);
}

TEST_CASE("compound assignment: parts of a recorded tensor, named or not, are refused") {
    const Tensor w = leaf({1, 2});
    Tensor x = zeros({3, 2}, DType::f64);
    Tape tape;
    Tensor row = x[0];
    CHECK_THROWS_WITH_AS(row += w,
                         "+=: the tensor [2] is a view of another, and a tape does not record "
                         "changes of views; write a = a + b instead",
                         AutogradError);
    CHECK_THROWS_WITH_AS(
        x[0] += w,
        "+=: a tape does not record changes of a view [2]; use index_put or where instead",
        AutogradError);
    CHECK_THROWS_AS(Tensor(w)[0] *= 2, AutogradError);
    CHECK(values(x) == Values(6, 0));
}

TEST_CASE("compound assignment: parts of a constant are changed in it") {
    Tensor counts = zeros({2, 3});
    for (const int i : {0, 1, 1}) counts[{i, 2}] += 1;
    counts[0] -= tensor<float>({1, 0, 0});
    counts[{kAll, 1}] += 4;
    counts[1] *= tensor<float>({1, 2, 3});
    counts[{1, 1}] /= 4;
    counts[0] /= tensor<float>({1, 2, 1});
    counts[0] *= 10;
    counts[0] -= 1;
    CHECK(values(counts) == Values{-11, 19, 9, 0, 2, 6});
    CHECK_THROWS_WITH_AS(counts[gt(counts, 0)] += 1,
                         "+=: the tensor [4] is a temporary copy, and the result would be lost",
                         ValueError);
}

TEST_CASE("compound assignment: the result must have the tensor's shape and dtype") {
    Tensor x = tensor<double>({1, 2});
    CHECK_THROWS_WITH_AS(x += zeros({3, 2}, DType::f64),
                         "+=: the result [3, 2] is larger than the tensor [2]", ShapeError);
    CHECK_THROWS_WITH_AS(x *= zeros({2}),
                         "mul: element types differ: f64 and f32; convert with to()", DTypeError);
    CHECK_THROWS_WITH_AS(x += Tensor(), "add: got an undefined tensor", Error);
    Tensor nothing;
    CHECK_THROWS_WITH_AS(nothing /= 2, "/=: got an undefined tensor", Error);
    Tensor wide = x[{kNewAxis}];
    CHECK_THROWS_AS(wide += zeros({2, 2}, DType::f64), ShapeError);
}
