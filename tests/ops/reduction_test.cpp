// Reductions beyond the catalogue's rows: long sums, infinities, NaN, ties, no elements.
#include <doctest/doctest.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/cpu.h>
#include <tapestry/core/create.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/loss.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/softmax.h>

#include <cmath>
#include <limits>

using namespace tapestry;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

template <class F>
void on_every_isa(F f) {
    const Isa before = current_isa();
    for (const Isa isa : available_isas()) {
        set_isa(isa);
        CAPTURE(name_of(isa));
        f();
    }
    set_isa(before);
}

// Equality that treats NaN as equal to NaN.
void check_values(const Tensor& x, const std::vector<double>& expected) {
    const auto got = x.to_vector<double>();
    REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
        CAPTURE(i);
        if (std::isnan(expected[i])) {
            CHECK(std::isnan(got[i]));
        } else if (std::isinf(expected[i])) {
            CHECK(got[i] == expected[i]);
        } else {
            CHECK(got[i] == doctest::Approx(expected[i]));
        }
    }
}

Tensor gradient_of(Tensor x, Tensor (*f)(const Tensor&)) {
    x.set_requires_grad();
    Tape tape;
    tape.backward(f(x));
    return x.grad();
}

}  // namespace

TEST_CASE("sum: ten million times 0.1f, along a row, columns and a middle axis") {
    on_every_isa([] {
        const double tenth = static_cast<double>(0.1F);
        CHECK(sum(full({10'000'000}, 0.1)).item() == doctest::Approx(1e7 * tenth).epsilon(1e-6));
        CHECK(sum(full({5'000'000, 2}, 0.1), {0}).at({1}) ==
              doctest::Approx(5e6 * tenth).epsilon(1e-6));
        CHECK(sum(full({2, 1'000'000, 5}, 0.1), {1}).at({1, 4}) ==
              doctest::Approx(1e6 * tenth).epsilon(1e-6));
    });
}

TEST_CASE("sum: whole numbers and masks give i64") {
    CHECK(sum(arange(5)).dtype() == DType::i64);
    CHECK(sum(arange(5)).item<std::int64_t>() == 10);
    CHECK(sum(ones({3, 4}, DType::boolean), {1}).to_vector<std::int64_t>() ==
          std::vector<std::int64_t>{4, 4, 4});
}

TEST_CASE("max, min, argmax: NaN wins, along rows and columns") {
    on_every_isa([] {
        for (const std::int64_t n : {2, 33, 100}) {
            for (const std::int64_t where : {std::int64_t{0}, n / 2, n - 1}) {
                Tensor row = cast(arange(n), DType::f64);
                row.mutable_data<double>()[where] = kNan;
                const Tensor x = row;
                CAPTURE(n);
                CAPTURE(where);
                check_values(max(x), {kNan});
                check_values(min(x), {kNan});
                CHECK(argmax(x).item<std::int64_t>() == where);
                const Tensor single = cast(x, DType::f32);
                check_values(max(single), {kNan});
                check_values(min(single), {kNan});
                const Tensor column(x.storage(), {n, 1}, {1, 1}, 0, DType::f64);
                check_values(max(column, {0}), {kNan});
            }
        }
        const Tensor x = tensor<double>({{1, kNan}, {3, 2}, {2, 5}});
        check_values(max(x, {0}), {3, kNan});
        check_values(min(x, {0}), {1, kNan});
    });
}

TEST_CASE("argmax, argmin: the first of equals, and the first NaN both ways") {
    CHECK(argmin(tensor<double>({1, kNan, 0, kNan})).item<std::int64_t>() == 1);
    CHECK(argmin(tensor<float>({2, 1, 3, 1})).item<std::int64_t>() == 1);
    CHECK(argmax(tensor<float>({1, 3, 3, 2})).item<std::int64_t>() == 1);
    CHECK(argmax(scalar(5)).item<std::int64_t>() == 0);
}

TEST_CASE("max, min: whole numbers and masks keep their dtype") {
    CHECK(max(arange(5)).dtype() == DType::i64);
    CHECK(min(ones({2}, DType::boolean)).dtype() == DType::boolean);
    CHECK_THROWS_WITH(max(zeros({0}, DType::i64)),
                      "max: nothing to choose from: a reduced axis of [0] is empty");
}

TEST_CASE("any, all: bool, NaN is not 0, and of nothing") {
    const Tensor x = tensor<double>({{0, kNan}, {0, 0}, {-kInf, 1}});
    CHECK(any(x).dtype() == DType::boolean);
    check_values(any(x, {1}), {1, 0, 1});
    check_values(all(x, {1}), {0, 0, 1});
    CHECK_FALSE(any(zeros({0})).item<bool>());
    CHECK(all(zeros({0})).item<bool>());
    Tensor late = zeros({100'000}, DType::i64);
    CHECK_FALSE(any(late).item<bool>());
    late.mutable_data<std::int64_t>()[99'999] = 4;
    CHECK(any(late).item<bool>());
    CHECK_FALSE(all(late).item<bool>());
}

TEST_CASE("norm: vectors of zeros have a gradient, and long ones no overflow") {
    for (const double p : {1.0, 1.5, 2.0, 3.0, 0.5, kInf, -kInf, -1.0}) {
        CAPTURE(p);
        Tensor x = zeros({3}, DType::f64);
        x.set_requires_grad();
        Tape tape;
        const Tensor y = norm(x, p);
        CHECK_EQ(y.item(), 0);
        const Tensor g = tape.gradient(y, {x}, {.create_graph = true})[0];
        check_values(g, {0, 0, 0});
        check_values(tape.gradient(sum(mul(g, x)), {x})[0], {0, 0, 0});
    }
    check_values(gradient_of(tensor<double>({3, 0, -4}), [](const Tensor& v) { return norm(v); }),
                 {0.6, 0, -0.8});
    CHECK(norm(full({100'000}, 1e30)).item() == doctest::Approx(std::sqrt(1e5) * 1e30));
    CHECK(norm(zeros({0})).item() == 0);
    CHECK(norm(zeros({0}), -2).item() == kInf);
    check_values(norm(tensor<double>({kNan, 1})), {kNan});
}

TEST_CASE("stddev: nothing to spread has a gradient, too little has no value") {
    check_values(gradient_of(full({3}, 2, DType::f64), [](const Tensor& v) { return stddev(v); }),
                 {0, 0, 0});
    check_values(stddev(ones({1})), {kNan});
    check_values(stddev(zeros({0})), {kNan});
    CHECK(stddev(tensor<double>({1, 2, 3, 4})).item() == doctest::Approx(std::sqrt(5.0 / 3)));
}

TEST_CASE("max: ties share the gradient") {
    const Tensor grad =
        gradient_of(tensor<double>({1, 3, 3, 3}), [](const Tensor& x) { return max(x); });
    check_values(grad, {0, 1.0 / 3, 1.0 / 3, 1.0 / 3});
}

TEST_CASE("logsumexp: infinities, and a zero gradient where nothing is finite") {
    on_every_isa([] {
        const Tensor x = tensor<double>({{-kInf, -kInf}, {kInf, 1}, {1000, 1000}, {kNan, 1}});
        check_values(logsumexp(x, {1}), {-kInf, kInf, 1000 + std::log(2.0), kNan});
        check_values(logsumexp(zeros({2, 0}), {1}), {-kInf, -kInf});
        check_values(logsumexp(tensor<double>({-kInf, kNan})), {kNan});
    });
    check_values(gradient_of(full({2}, -kInf), [](const Tensor& v) { return logsumexp(v); }),
                 {0, 0});
}

TEST_CASE("mean and var of too little are NaN") {
    check_values(mean(zeros({0, 2}), {0}), {kNan, kNan});
    check_values(mean(zeros({0})), {kNan});
    check_values(var(ones({1})), {kNan});
    check_values(var(zeros({0})), {kNan});
    check_values(mse_loss(zeros({0}), zeros({0})), {kNan});
}

TEST_CASE("softmax: huge scores, NaN, and rows that are masked as a whole") {
    on_every_isa([] {
        const Tensor x = tensor<double>({{1000, 1000, -kInf}, {-kInf, -kInf, -kInf}, {0, kNan, 0}});
        check_values(softmax(x), {0.5, 0.5, 0, 0, 0, 0, kNan, kNan, kNan});
        check_values(softmax(cast(x, DType::f32)), {0.5, 0.5, 0, 0, 0, 0, kNan, kNan, kNan});
        check_values(log_softmax(x), {-std::log(2.0), -std::log(2.0), -kInf, -kInf, -kInf, -kInf,
                                      kNan, kNan, kNan});
    });
    const auto masked = [](const Tensor& v) { return sum(softmax(v)); };
    check_values(gradient_of(full({3}, -kInf), masked), {0, 0, 0});
}

TEST_CASE("cross_entropy: all rows ignored, and no rows") {
    Tensor logits = ones({2, 3});
    logits.set_requires_grad();
    Tape tape;
    const Tensor loss = cross_entropy(logits, full({2}, -100, DType::i64));
    check_values(loss, {kNan});
    tape.backward(loss);
    check_values(logits.grad(), std::vector<double>(6, 0.0));
    check_values(cross_entropy(ones({0, 3}), zeros({0}, DType::i64)), {kNan});
}
