// Custom ops: their tape entries, and errors of wrong rules.
#include <tapestry/autograd/op.h>
#include <tapestry/tests/autograd/support.h>

#include <stdexcept>

using namespace tapestry;
using test::check_throws;
using test::leaf;
using test::values;
using test::Values;
using test::with_rule;

namespace {

Tensor cube(const Tensor& x);

struct CubeOp final : Op {
    explicit CubeOp(const Tensor& x) : Op("cube", {x}) {}
    std::string attributes() const override { return "exponent=3"; }
    double flops() const override { return 2 * Op::flops(); }
    Tensors forward(const Tensors& x) const override { return {cube(x[0])}; }
    Tensors backward(const Tensors& grads) override { return {grads[0] * square(saved(0)) * 3.0}; }
};

Tensor cube(const Tensor& x) {
    Tensor y(x.shape(), x.dtype());
    const Tensor from = x.clone();
    for (std::int64_t i = 0; i < x.numel(); ++i) {
        const double value = from.data<double>()[i];
        y.mutable_data<double>()[i] = value * value * value;
    }
    return record<CubeOp>({x}, y, x);
}

Tensor cube_with(const Tensor& x, const test::Rule& rule) {
    return with_rule(
        x, [](const Tensor& t) { return t * t * t; }, rule);
}

}  // namespace

TEST_CASE("op: one of the user's own, to any order") {
    const Tensor x = leaf({1, -2});
    Tape tape;
    const Tensor y = cube(x);
    const Op& op = *tape.entries().at(0);
    CHECK_EQ(op.name(), "cube");
    CHECK_EQ(op.attributes(), "exponent=3");
    CHECK_EQ(op.flops(), 4);
    CHECK_EQ(op.saved_bytes(), 16);
    REQUIRE_EQ(op.inputs().size(), 1);
    CHECK_EQ(op.inputs()[0].shape, Shape{2});
    CHECK_EQ(op.inputs()[0].dtype, DType::f64);
    CHECK(op.outputs()[0].slot != op.inputs()[0].slot);
    const Tensor first = tape.gradient(sum(y), {x}, {.create_graph = true})[0];
    CHECK_EQ(values(first), Values{3, 12});
    CHECK_EQ(values(tape.gradient(sum(first), {x})[0]), Values{6, -12});
    CHECK(gradcheck([](const Tensors& t) { return cube(t[0]); }, {x}));
    CHECK(gradgradcheck([](const Tensors& t) { return cube(t[0]); }, {x}));
}

TEST_CASE("op: gradients of a wrong shape, type or number are errors that name it") {
    const Tensor x = leaf({1, 2, 3});
    Tape tape;
    const auto backward = [&](const test::Rule& rule) {
        return [&tape, x, rule] {
            const ModuleScope scope("layer");
            const std::size_t number = tape.entries().size();
            const Tensor y = cube_with(x, rule);
            CHECK_EQ(tape.entries().size(), number + 1);
            tape.backward(y, {.cotangent = ones_like(y)});
        };
    };
    check_throws<AutogradError>(
        backward([](const Tensor& g, const Tensor&) { return Tensors{sum(g)}; }),
        "rule (#0, layer): backward gave a gradient f64 [] for input 0, which is f64 [3]");
    check_throws<AutogradError>(
        backward([](const Tensor&, const Tensor&) { return Tensors{ones({3})}; }),
        "rule (#1, layer): backward gave a gradient f32 [3] for input 0, which is f64 [3]");
    check_throws<AutogradError>(backward([](const Tensor& g, const Tensor&) {
                                    return Tensors{g, g};
                                }),
                                "rule (#2, layer): backward gave 2 gradients for 1 inputs");
    CHECK_FALSE(x.grad().defined());
    backward([](const Tensor&, const Tensor&) { return Tensors{Tensor()}; })();  // means zero
    CHECK_FALSE(x.grad().defined());
}

TEST_CASE("op: a rule that throws leaves tapes and paths as they were") {
    const Tensor x = leaf({1, 2});
    Tape tape;
    const Tensor y = [&] {
        const ModuleScope scope("layer");
        return sum(cube_with(x, [](const Tensor&, const Tensor&) -> Tensors {
            throw std::runtime_error("no way back");
        }));
    }();
    for (const bool create_graph : {false, true}) {
        CHECK_THROWS_WITH(tape.backward(y, {.create_graph = create_graph}), "no way back");
        CHECK_EQ(Tape::current(), &tape);
        CHECK_EQ(module_path(), "");
    }
    CHECK_FALSE(x.grad().defined());
    tape.backward(sum(x * x));
    CHECK_EQ(values(x.grad()), Values{2, 4});
}

TEST_CASE("op: a rule knows which gradients are needed") {
    struct AskOp final : Op {
        explicit AskOp(std::vector<bool>* asked) : Op("ask"), asked_(asked) {}
        Tensors forward(const Tensors&) const override { return {tensor<double>({0})}; }
        Tensors backward(const Tensors& grads) override {
            *asked_ = {needs(0), needs(1), needs(2)};
            return {grads[0], grads[0], grads[0]};
        }
        std::vector<bool>* asked_;
    };
    std::vector<bool> asked;
    const Tensor a = leaf({1}), b = leaf({2});
    const Tensor c = tensor<double>({3});
    Tape tape;
    Tensor y = tensor<double>({0});  // [1], like its inputs
    y = record<AskOp>({a, b, c}, y, &asked);
    tape.gradient(y, {b});
    CHECK_EQ(asked, std::vector<bool>{false, true, false});
    tape.backward(y);
    CHECK_EQ(asked, std::vector<bool>{true, true, false});
    CHECK_EQ(values(b.grad()), Values{1});
}

TEST_CASE("op: inputs may be undefined") {
    struct FirstOp final : Op {
        FirstOp() : Op("first", {Tensor()}) {}
        Tensors forward(const Tensors& x) const override { return {x[0].clone()}; }
        Tensors backward(const Tensors& grads) override {
            CHECK_FALSE(saved(0).defined());
            return {grads[0], Tensor()};
        }
    };
    const Tensor a = leaf({1});
    Tape tape;
    Tensor y = a.clone();
    y = record<FirstOp>({a, Tensor()}, y);
    CHECK_EQ(tape.saved_bytes(), 0);
    tape.backward(y);
    CHECK_EQ(values(a.grad()), Values{1});
}
