// Entries of a tape, and the results and errors of backward() and gradient().
#include <tapestry/autograd/op.h>
#include <tapestry/tests/autograd/support.h>

#include <cmath>
#include <thread>

using namespace tapestry;
using test::check_throws;
using test::leaf;
using test::values;
using test::Values;

TEST_CASE("tape: nothing is recorded without a tape, or without a leaf") {
    const Tensor x = leaf({1, 2});
    const Tensor c = tensor<double>({3, 4});
    CHECK_FALSE(is_recording());
    const Tensor before = x * c;
    const Tape tape;
    CHECK(is_recording());
    CHECK_EQ(Tape::current(), &tape);
    const Tensor constant = exp(c * c);
    CHECK(tape.entries().empty());
    CHECK_EQ(tape.saved_bytes(), 0);
    const Tensor y = x * c;
    REQUIRE_EQ(tape.entries().size(), 1);
    CHECK_EQ(tape.entries()[0]->name(), "mul");
    CHECK(tape.saved_bytes() > 0);
    CHECK(tape.follows(x));
    CHECK(tape.follows(y));
    for (const Tensor& other : {c, before, constant, y.detach(), y.clone(), Tensor()}) {
        CHECK_FALSE(tape.follows(other));
    }
}

TEST_CASE("tape: a guard suspends recording") {
    const Tensor x = leaf({1, 2});
    Tape tape;
    {
        const NoGradGuard outer;
        const NoGradGuard inner;
        CHECK_FALSE(is_recording());
        CHECK_FALSE(tape.follows(x * x));
    }
    CHECK(tape.entries().empty());
    tape.backward(sum(x * x));
    CHECK_EQ(values(x.grad()), Values{2, 4});
}

TEST_CASE("tape: backward fills the gradients of all leaves, and adds over calls") {
    Tensor a = leaf({1, 2});
    const Tensor b = leaf({3, 4});
    const Tensor unused = leaf({5, 6});
    CHECK_FALSE(a.grad().defined());
    for (int call = 1; call <= 3; ++call) {
        Tape tape;
        tape.backward(sum(a * b));
        CHECK_EQ(values(a.grad()), Values{3.0 * call, 4.0 * call});
        CHECK_EQ(values(b.grad()), Values{1.0 * call, 2.0 * call});
        CHECK_EQ(tape.saved_bytes(), 0);
    }
    CHECK_FALSE(unused.grad().defined());
    CHECK_FALSE(a.grad().requires_grad());
    a.clear_grad();
    CHECK_FALSE(a.grad().defined());
    Tape tape;
    tape.backward(a, {.cotangent = tensor<double>({7, 8})});  // also starts at a leaf
    CHECK_EQ(values(a.grad()), Values{7, 8});
}

TEST_CASE("tape: a gradient that is kept elsewhere does not change with later calls") {
    const Tensor x = leaf({1, 2});
    const auto backward = [&] {
        Tape tape;
        tape.backward(sum(x * x));
    };
    backward();
    const Tensor kept = x.grad();
    backward();
    CHECK_EQ(values(kept), Values{2, 4});
    CHECK_EQ(values(x.grad()), Values{4, 8});
}

TEST_CASE("tape: gradient() of leaves, of what was computed, and of the start itself") {
    const Tensor x = leaf({1, 2});
    const Tensor other = leaf({5, 6, 7});
    Tape tape;
    const Tensor h = x * x;
    const Tensor y = sum(h * h);
    const Tensors grads = tape.gradient(y, {x, h, y, other, x}, {.retain = true});
    REQUIRE_EQ(grads.size(), 5);
    CHECK_EQ(values(grads[0]), Values{4, 32});
    CHECK_EQ(values(grads[1]), Values{2, 8});
    CHECK_EQ(values(grads[2]), Values{1});
    CHECK_EQ(values(grads[3]), Values{0, 0, 0});
    CHECK_EQ(values(grads[4]), values(grads[0]));
    CHECK_FALSE(x.grad().defined());
    CHECK_EQ(values(tape.gradient(h, {x}, {.cotangent = tensor<double>({1, 10})})[0]),
             Values{2, 40});
    CHECK_EQ(values(tape.gradient(x, {x}, {.cotangent = tensor<double>({3, 4})})[0]), Values{3, 4});
    CHECK(tape.gradient(x, {}, {.cotangent = tensor<double>({3, 4})}).empty());
}

TEST_CASE("tape: what gradient() and backward() refuse") {
    const Tensor x = leaf({1, 2});
    const Tensor c = tensor<double>({3, 4});
    Tape tape;
    const Tensor y = x * c;
    const std::string no_constant =
        "gradient: x [2] depends on nothing that requires a gradient; ask for one with "
        "set_requires_grad() before computing";
    check_throws<AutogradError>([&] { tape.gradient(sum(y), {c}); }, no_constant);
    check_throws<AutogradError>([&] { tape.gradient(sum(y), {y.detach()}); }, no_constant);
    CHECK_THROWS_AS(tape.gradient(sum(y), {Tensor()}), AutogradError);
    check_throws<ShapeError>([&] { tape.backward(y); },
                             "backward: starts from one number, got [2]; pass a cotangent or take "
                             "a sum or mean first");
    check_throws<ShapeError>([&] { tape.backward(y, {.cotangent = ones({3}, DType::f64)}); },
                             "backward: the cotangent is f64 [3], the tensor f64 [2]");
    check_throws<ShapeError>([&] { tape.backward(y, {.cotangent = ones({2})}); },
                             "backward: the cotangent is f32 [2], the tensor f64 [2]");
    check_throws<AutogradError>([&] { tape.backward(Tensor()); },
                                "backward: the tensor to start from is undefined");
    check_throws<AutogradError>(
        [&] { c.grad(); }, "grad: this tensor does not require a gradient (set_requires_grad)");
    CHECK_THROWS_AS(y.grad(), AutogradError);
    CHECK_FALSE(x.grad().defined());  // none of these had a side effect
    tape.backward(sum(y));
    CHECK_EQ(values(x.grad()), Values{3, 4});
}

TEST_CASE("tape: walking twice needs retain") {
    const Tensor x = leaf({0, 1});
    Tape tape;
    const Tensor y = [&] {
        const ModuleScope block("blocks.3");
        const ModuleScope part("norm");
        return sum(exp(x));
    }();
    tape.backward(y, {.retain = true});
    CHECK(tape.saved_bytes() > 0);
    CHECK_FALSE(tape.entries()[0]->released());
    tape.backward(y);
    CHECK_EQ(x.grad().at({0}), 2);
    CHECK_EQ(x.grad().at({1}), doctest::Approx(2 * std::exp(1.0)));
    CHECK(tape.entries()[0]->released());
    check_throws<AutogradError>([&] { tape.backward(y); },
                                "exp (#0, blocks.3.norm): backward has already run and released "
                                "the saved tensors; pass retain = true to run it again");
}

TEST_CASE("tape: changes in place are noticed") {
    Tensor x = leaf({1, 2});
    SUBCASE("of a saved leaf") {
        Tape tape;
        const Tensor y = sum(x * x);
        x.fill_(3);
        check_throws<AutogradError>([&] { tape.backward(y); },
                                    "mul (#0): a tensor [2] it saved for backward has been changed "
                                    "in place since (version 1, now 2)");
    }
    SUBCASE("of a saved output, through another handle on its memory") {
        Tape tape;
        const Tensor h = exp(x);
        const Tensor y = sum(h);
        h.detach().fill_(3);
        check_throws<AutogradError>([&] { tape.backward(y); },
                                    "exp (#0): a tensor [2] it saved for backward has been changed "
                                    "in place since (version 1, now 2)");
    }
    SUBCASE("of what was recorded, before it is used again") {
        Tape tape;
        const Tensor h = x + 1.0;
        h.detach().fill_(3);
        check_throws<AutogradError>([&] { neg(h); },
                                    "neg (#1): an input [2] has been changed in place after the "
                                    "tape recorded it (version 1, now 2)");
    }
    SUBCASE("but not of what no rule needs") {
        Tape tape;
        const Tensor y = sum(x + x);
        x.fill_(3);
        tape.backward(y);
        CHECK_EQ(values(x.grad()), Values{2, 2});
    }
    SUBCASE("and a handle overwritten by hand is a constant") {
        Tape tape;
        Tensor h = x + 1.0;
        h.fill_(3);
        CHECK_FALSE(tape.follows(h));
        tape.backward(sum(h * x));
        CHECK_EQ(values(x.grad()), Values{3, 3});
    }
}

TEST_CASE("tape: an inner tape suspends the outer one") {
    const Tensor x = leaf({3});
    Tape outer;
    const Tensor y = x * x;
    Tensor inner_result;
    {
        Tape inner;
        CHECK_EQ(Tape::current(), &inner);
        inner_result = x * y;  // y is a constant here
        CHECK(inner.follows(inner_result));
        CHECK_FALSE(outer.follows(inner_result));
        CHECK_FALSE(inner.follows(y));
        CHECK_THROWS_AS(inner.gradient(inner_result, {y}), AutogradError);
        CHECK_THROWS_AS(outer.gradient(inner_result, {x}), AutogradError);
        CHECK_EQ(values(inner.gradient(inner_result, {x})[0]), Values{9});
        CHECK_EQ(values(outer.gradient(y, {x}, {.retain = true})[0]), Values{6});
        CHECK_EQ(Tape::current(), &inner);
        CHECK_EQ(outer.entries().size(), 1);
    }
    CHECK_EQ(Tape::current(), &outer);
    const Tensor z = y * x * inner_result;  // x^3 times a constant 27
    CHECK_EQ(values(outer.gradient(z, {x})[0]), Values{27 * 27});
}

TEST_CASE("tape: a tensor that outlives its tape is a constant") {
    const Tensor x = leaf({3});
    const Tensor old = [&] {
        const Tape tape;
        return x * x;
    }();
    CHECK_FALSE(is_recording());
    Tape tape;
    CHECK_FALSE(tape.follows(old));
    CHECK_THROWS_AS(tape.backward(old), AutogradError);
    tape.backward(old * x);
    CHECK_EQ(values(x.grad()), Values{9});
}

TEST_CASE("tape: two threads, a tape each") {
    const auto work = [](double at, Values& result) {
        const Tensor x = leaf({at});
        for (int i = 0; i < 200; ++i) {
            Tape tape;
            Tensor y = x;
            for (int k = 0; k < 10; ++k) y = y * x;
            result = values(tape.gradient(y, {x})[0]);  // 11 x^10
        }
    };
    Values at_one, at_two;
    Tape here;
    std::thread one([&] { work(1, at_one); });
    std::thread two([&] { work(2, at_two); });
    one.join();
    two.join();
    CHECK_EQ(at_one, Values{11});
    CHECK_EQ(at_two, Values{11 * 1024});
    CHECK(here.entries().empty());
    CHECK_EQ(Tape::current(), &here);
}

TEST_CASE("tape: tapes end in any order, and on another thread") {
    const Tensor x = leaf({3});
    auto outer = std::make_unique<Tape>();
    auto middle = std::make_unique<Tape>();
    auto inner = std::make_unique<Tape>();
    middle.reset();
    CHECK_EQ(Tape::current(), inner.get());
    std::thread([&] { inner.reset(); }).join();
    CHECK_EQ(Tape::current(), outer.get());
    CHECK(outer->follows(x * x));
    CHECK_EQ(outer->entries().size(), 1);
    std::thread([&] { outer.reset(); }).join();
    CHECK_EQ(Tape::current(), nullptr);
    CHECK_FALSE((x * x).requires_grad());
    const Tape next;
    CHECK_EQ(Tape::current(), &next);
}

TEST_CASE("tape: a scope that outlives its tape records nothing") {
    const Tensor x = leaf({3});
    auto tape = std::make_unique<Tape>();
    {
        const Recording here(tape.get());
        auto none = std::make_unique<NoGradGuard>();  // which refers to the tape
        tape.reset();
        none.reset();
        CHECK_EQ(Tape::current(), nullptr);
        CHECK_EQ((x * x).to_vector<double>(), std::vector<double>{9});
    }
    CHECK_EQ(Tape::current(), nullptr);
}
