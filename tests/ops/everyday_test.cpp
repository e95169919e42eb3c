// What people type: members, comparison operators, streams, loops over rows, sizes as arguments.
// Each is the function of the same name, recorded alike; and what must not compile does not.
#include <doctest/doctest.h>
#include <tapestry/tapestry.h>

#include <concepts>
#include <functional>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

using namespace tapestry;

namespace {

template <class T>
std::string written(const T& x) {
    std::ostringstream out;
    out << x;
    return out.str();
}

bool same(const Tensor& a, const Tensor& b) {
    return a.dtype() == b.dtype() && a.shape() == b.shape() &&
           a.to_vector<double>() == b.to_vector<double>();
}

using Function = std::function<Tensor(const Tensor&)>;

// Value, and gradient of the sum if there is one.
std::pair<Tensor, Tensor> run(const Function& f, const Tensor& value) {
    Tensor x = value.clone();
    x.set_requires_grad();
    Tape tape;
    const Tensor y = f(x);
    if (y.tape_ref().tape == 0) return {y, Tensor()};
    tape.backward(sum(y * y));
    return {y.detach(), x.grad()};
}

struct Member {
    const char* name;
    Function member, function;
};

#define MEMBER(call, other)                                                                  \
    Member {                                                                                 \
#call, [](const Tensor& x) { return x.call; }, [](const Tensor& x) { return other; } \
    }

const std::vector<Member>& members() {
    static const std::vector<Member> table{
        MEMBER(sum(), sum(x)),
        MEMBER(sum(0), sum(x, {0})),
        MEMBER(sum(-1, true), sum(x, {-1}, true)),
        MEMBER(sum({0}), sum(x, {0})),
        MEMBER(sum({}), sum(x)),
        MEMBER(sum({0, 1}), sum(x, {0, 1})),
        MEMBER(mean(), mean(x)),
        MEMBER(mean(1), mean(x, {1})),
        MEMBER(mean({0}, true), mean(x, {0}, true)),
        MEMBER(max(), max(x)),
        MEMBER(max(1, true), max(x, {1}, true)),
        MEMBER(min(), min(x)),
        MEMBER(min(0), min(x, {0})),
        MEMBER(var(), var(x)),
        MEMBER(var({1}, 0), var(x, {1}, 0)),
        MEMBER(stddev({0}, 0, true), stddev(x, {0}, 0, true)),
        MEMBER(norm(1, {0}), norm(x, 1, {0})),
        MEMBER(any({0}), any(x, {0})),
        MEMBER(all(), all(x)),
        MEMBER(argmax(0), argmax(x, 0)),
        MEMBER(argmin(), argmin(x)),
        MEMBER(reshape({3, -1}), reshape(x, {3, -1})),
        MEMBER(reshape(3, -1), reshape(x, {3, -1})),
        MEMBER(reshape(6), reshape(x, {6})),
        MEMBER(transpose(0, 1), transpose(x, 0, 1)),
        MEMBER(T(), transpose(x, 0, 1)),
        MEMBER(permute({1, 0}), permute(x, {1, 0})),
        MEMBER(flatten(), flatten(x)),
        MEMBER(unsqueeze(1).squeeze(1), squeeze(unsqueeze(x, 1), 1)),
        MEMBER(unsqueeze(0).expand({2, 2, 3}), expand(unsqueeze(x, 0), {2, 2, 3})),
        MEMBER(T().contiguous(), contiguous(transpose(x, 0, 1))),
        MEMBER(to(DType::f32), to(x, DType::f32)),
        MEMBER(abs(), abs(x)),
        MEMBER(square(), square(x)),
        MEMBER(square().sqrt(), sqrt(square(x))),
        MEMBER(exp(), exp(x)),
        MEMBER(exp().log(), log(exp(x))),
        MEMBER(pow(3), pow(x, 3)),
        MEMBER(clamp(-1, 1), clamp(x, -1, 1)),
        MEMBER(tanh(), tanh(x)),
        MEMBER(sigmoid(), sigmoid(x)),
        MEMBER(relu(), relu(x)),
        MEMBER(softmax(), softmax(x)),
        MEMBER(log_softmax(0), log_softmax(x, 0)),
        MEMBER(cumsum(1), cumsum(x, 1)),
        MEMBER(matmul(x.T()), matmul(x, transpose(x, 0, 1))),
    };
    return table;
}

template <class T>
concept Condition = requires(const T& x) {
    {static_cast<bool>(x)};
};
template <class... Sizes>
concept Zeros = requires(Sizes... sizes) {
    {zeros(sizes...)};
};

}  // namespace

TEST_CASE("everyday: a member is the function of its name, on and off the tape") {
    Generator generator(3);
    const Tensor value = randn({2, 3}, generator, DType::f64);
    for (const Member& one : members()) {
        CAPTURE(one.name);
        const auto [y, dy] = run(one.member, value);
        const auto [wanted, dwanted] = run(one.function, value);
        CHECK(same(y, wanted));
        CHECK_EQ(dy.defined(), dwanted.defined());
        if (dy.defined()) CHECK(same(dy, dwanted));
    }
    CHECK_THROWS_WITH_AS(ones({2, 3, 4}).T(),
                         "T: needs a matrix, got [2, 3, 4]; transpose names two axes", ShapeError);
    CHECK_THROWS_WITH_AS(Tensor().T(), "T: got an undefined tensor", Error);
    CHECK_THROWS_AS(Tensor().sum(), Error);
}

TEST_CASE("everyday: comparison operators give tensors of bool") {
    const Tensor a = tensor<float>({1, 2, 3}), b = tensor<float>({3, 2, 1});
    const auto check = [](const Tensor& found, const std::vector<bool>& wanted) {
        CHECK(found.dtype() == DType::boolean);
        CHECK_EQ(found.to_vector<bool>(), wanted);
    };
    check(a == b, {false, true, false});
    check(a != b, {true, false, true});
    check(a < b, {true, false, false});
    check(a <= b, {true, true, false});
    check(a > b, {false, false, true});
    check(a >= b, {false, true, true});
    check(a == 2, {false, true, false});
    check(a != 2, {true, false, true});
    check(a < 2, {true, false, false});
    check(a <= 2.0, {true, true, false});
    check(a > 2, {false, false, true});
    check(a >= 2, {false, true, true});
    check(2 == a, {false, true, false});
    check(2 != a, {true, false, true});
    check(2 < a, {false, false, true});
    check(2 <= a, {false, true, true});
    check(2.0 > a, {true, false, false});
    check(2 >= a, {true, true, false});
    check(!(a == 2), {true, false, true});
    check((a > 1) & (a < 3), {false, true, false});
    check((a < 2) | (a > 2), {true, false, true});
    check((a < 3) ^ (a > 1), {true, false, true});
    check(arange(3) == arange(3), {true, true, true});
    CHECK_THROWS_AS([&] { return a == arange(3); }(), DTypeError);
    CHECK_THROWS_AS(!a, DTypeError);
    CHECK(((a == b).to(DType::f32).mean().item() == doctest::Approx(1.0 / 3)));
    static_assert(!Condition<Tensor>);  // `if (a == b)` does not compile
}

TEST_CASE("everyday: streams write what fmt writes") {
    const Tensor x = tensor<float>({{1, 2.5}, {-3, 4}});
    CHECK_EQ(written(x), to_string(x));
    CHECK_EQ(written(Tensor()), "undefined");
    CHECK_EQ(written(x.shape()), "[2, 2]");
    CHECK_EQ(written(x.dtype()), "f32");
}

TEST_CASE("everyday: a loop over the first axis records one entry") {
    Tensor x = tensor<double>({{1, 2}, {3, 4}, {5, 6}});
    x.set_requires_grad();
    Tape tape;
    Tensor total = zeros({2}, DType::f64);
    double weight = 1;
    for (const Tensor& row : x) total = total + row * weight++;
    tape.backward(sum(total));
    CHECK_EQ(total.to_vector<double>(), std::vector<double>{1 + 6 + 15, 2 + 8 + 18});
    CHECK_EQ(x.grad().to_vector<double>(), std::vector<double>{1, 1, 2, 2, 3, 3});
    std::size_t splits = 0;
    for (const auto& op : tape.entries()) splits += op->name() == "split";
    CHECK_EQ(splits, 1);

    for (const Tensor& none : zeros({0, 3})) CHECK_MESSAGE(false, none);
    CHECK_THROWS_WITH_AS(scalar(1).begin(), "range-for: a scalar has no first axis", ShapeError);
    for (Tensor row : x.detach()) row.fill_(7);  // a view, as x[i]
    CHECK_EQ(x.at({2, 1}), 7);
}

TEST_CASE("everyday: sizes as arguments") {
    CHECK(same(zeros(2, 3), zeros({2, 3})));
    CHECK(same(ones(4), ones({4})));
    CHECK_EQ(empty(0, 3).shape(), Shape{0, 3});
    CHECK(same(zeros({2, 3}, DType::f64), zeros(2, 3).to(DType::f64)));
    CHECK_THROWS_AS(zeros(-1), ShapeError);
    static_assert(Zeros<int, std::int64_t, std::size_t>);
    static_assert(!Zeros<bool> && !Zeros<double> && !Zeros<int, DType>);
}
