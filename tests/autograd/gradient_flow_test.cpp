// How gradients accumulate, fan out and reach leaves: sharing, hooks, long tapes, memory.
#include <tapestry/ops/join.h>
#include <tapestry/ops/optimizer_step.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/autograd/support.h>

using namespace tapestry;
using test::check_throws;
using test::leaf;
using test::scalar_leaf;
using test::values;
using test::Values;

TEST_CASE("gradients add up if a value is used more than once") {
    const Tensor x = leaf({3});
    SUBCASE("a leaf, many times in one op and over many") {
        Tape tape;
        tape.backward(x * x * x + x);  // 3 x^2 + 1
        CHECK_EQ(values(x.grad()), Values{28});
    }
    SUBCASE("an intermediate value") {
        Tape tape;
        const Tensor h = x * x;
        tape.backward(h * h + h - h * x);  // 4 x^3 + 2 x - 3 x^2
        CHECK_EQ(values(x.grad()), Values{108 + 6 - 27});
    }
    SUBCASE("diamonds in a row") {
        Tape tape;
        Tensor h = x;
        for (int i = 0; i < 20; ++i) h = h + h;
        tape.backward(h);
        CHECK_EQ(values(x.grad()), Values{1 << 20});
    }
    SUBCASE("many branches of one value") {
        Tape tape;
        const Tensor h = x * 2.0;
        Tensor y = h;
        for (int i = 1; i < 100; ++i) y = y + h * static_cast<double>(i);
        tape.backward(y);
        CHECK_EQ(values(x.grad()), Values{2 * (1 + 99 * 100 / 2)});
    }
}

TEST_CASE("gradients of leaves share no memory with one another or with the cotangent") {
    for (const bool create_graph : {false, true}) {
        CAPTURE(create_graph);
        Tensor a = leaf({1, 2});
        Tensor b = leaf({3, 4});
        Tensor c = leaf({5, 6});
        const Tensor cotangent = tensor<double>({3, 4});
        Tape tape;
        tape.backward(a + b + c, {.cotangent = cotangent, .create_graph = create_graph});
        Tensor gradient = a.grad();
        scale_(gradient, 100);  // like clipping
        CHECK_EQ(values(a.grad()), Values{300, 400});
        CHECK_EQ(values(b.grad()), Values{3, 4});
        CHECK_EQ(values(c.grad()), Values{3, 4});
        CHECK_EQ(values(cotangent), Values{3, 4});
    }
}

TEST_CASE("gradients that arrive as views are copied to separate memory") {
    const Tensor x = leaf({1, 2, 3});
    const Tensor y = leaf({4, 5});
    Tape tape;
    const Tensor whole = concat({x, y}, 0);
    tape.backward(sum(whole));  // an expanded scalar, split in two
    CHECK(x.grad().is_contiguous());
    CHECK(x.grad().owns_alone());
    CHECK_EQ(x.grad().strides()[0], 1);
    CHECK_EQ(values(x.grad()), Values{1, 1, 1});
    CHECK(x.grad().storage() != y.grad().storage());
}

TEST_CASE("copies of a leaf are the same leaf") {
    Tensor x = leaf({2});
    const Tensor tied = x;
    Tape tape;
    tape.backward(x * tied);
    CHECK_EQ(values(x.grad()), Values{4});
    CHECK_EQ(values(tied.grad()), Values{4});
    x.clear_grad();
    CHECK_FALSE(tied.grad().defined());
}

TEST_CASE("hooks see the complete gradient once, and may replace it") {
    const Tensor x = leaf({3});
    Tape tape;
    const Tensor h = x * x;
    const Tensor y = h * h + h;  // dy/dh = 2 h + 1 = 19, dh/dx = 6
    std::vector<Values> seen;
    SUBCASE("observing a leaf: it stays") {
        register_hook(x, [&](const Tensor& g) {
            seen.push_back(values(g));
            return Tensor();
        });
        tape.backward(y, {.retain = true});
        CHECK_EQ(seen, std::vector<Values>{{114}});
        CHECK_EQ(values(tape.gradient(y, {x, h, x}, {.retain = true})[0]), Values{114});
        CHECK_EQ(seen.size(), 2);
        Tape next;
        next.backward(x + x);
        CHECK_EQ(seen.back(), Values{2});
        CHECK_EQ(values(x.grad()), Values{116});
    }
    SUBCASE("replacing a leaf's, one after the other") {
        register_hook(x, [](const Tensor& g) { return g * 10.0; });
        register_hook(x, [](const Tensor& g) { return g + 1.0; });
        tape.backward(y);
        CHECK_EQ(values(x.grad()), Values{1141});
    }
    SUBCASE("a hook that registers others does so for the next gradient") {
        register_hook(x, [&](const Tensor& g) {
            for (int i = 0; i < 8; ++i) {
                register_hook(x, [](const Tensor& later) { return later * 2.0; });
            }
            return g + 1.0;
        });
        tape.backward(y);
        CHECK_EQ(values(x.grad()), Values{115});
        Tape next;
        next.backward(x + x);
        CHECK_EQ(values(x.grad()), Values{115 + 256 * 3});
    }
    SUBCASE("observing and replacing what was computed") {
        register_hook(h, [&](const Tensor& g) {
            seen.push_back(values(g));
            return g * 2.0;
        });
        const Tensors grads = tape.gradient(y, {h, x}, {.retain = true});
        CHECK_EQ(values(grads[0]), Values{38});
        CHECK_EQ(values(grads[1]), Values{228});
        CHECK_EQ(seen, std::vector<Values>{{19}});
        tape.backward(y);
        CHECK_EQ(values(x.grad()), Values{228});
        CHECK_EQ(seen.size(), 2);
    }
    SUBCASE("a hook's own arithmetic is differentiated with create_graph") {
        register_hook(x, [&](const Tensor& g) { return g * x; });
        const Tensor z = x * x;
        const Tensor first = tape.gradient(z, {x}, {.create_graph = true})[0];  // 2 x^2
        CHECK_EQ(values(first), Values{18});
        CHECK_EQ(values(tape.gradient(first, {h}, {.create_graph = true})[0]), Values{0});
        CHECK_EQ(values(tape.gradient(first, {x})[0]), Values{4 * 3 * 3});  // hooked
    }
}

TEST_CASE("hooks: what is refused") {
    const Tensor x = leaf({3, 4});
    const Tensor c = tensor<double>({1, 2});
    const auto nothing = [](const Tensor&) { return Tensor(); };
    check_throws<AutogradError>([&] { register_hook(c, nothing); },
                                "register_hook: no tape records");
    Tape tape;
    check_throws<AutogradError>([&] { register_hook(c, nothing); },
                                "register_hook: this tape has not recorded the tensor [2]");
    CHECK_THROWS_AS(register_hook(Tensor(), nothing), AutogradError);
    const Tensor h = exp(x);
    register_hook(h, [](const Tensor&) { return ones({3}); });
    check_throws<AutogradError>([&] { tape.backward(sum(h)); },
                                "register_hook: the hook returned f32 [3] for a gradient f64 [2]");
}

TEST_CASE("an op with several outputs, of which some are used") {
    const Tensor x = leaf({1, 2, 3, 4, 5});
    Tape tape;
    const Tensors parts = split(x, {1, 2, 2}, 0);
    CHECK_EQ(tape.entries().size(), 1);
    const Tensor y = sum(parts[1] * parts[1]);
    const Tensors grads = tape.gradient(y, {x, parts[0], parts[1]}, {.retain = true});
    CHECK_EQ(values(grads[0]), Values{0, 4, 6, 0, 0});
    CHECK_EQ(values(grads[1]), Values{0});
    CHECK_EQ(values(grads[2]), Values{4, 6});
    tape.backward(y + sum(parts[2]));
    CHECK_EQ(values(x.grad()), Values{0, 4, 6, 1, 1});
}

TEST_CASE("a tape of 100000 operations: no recursion, everything released") {
    constexpr int kLength = 50000;
    const std::size_t before = memory_statistics().current;
    {
        const Tensor x = scalar_leaf(1.0);
        Tape tape;
        Tensor y = x;
        for (int i = 0; i < kLength; ++i) y = sigmoid(y) + x;
        CHECK_EQ(tape.entries().size(), 2 * kLength);
        CHECK_EQ(tape.saved_bytes(), kLength * sizeof(double));
        tape.backward(y);
        CHECK_EQ(tape.saved_bytes(), 0);
        // y converges: dy = s' dy + 1, so dy = 1 / (1 - s (1 - s)) with s = y - x.
        const double s = y.item() - 1;
        CHECK_EQ(x.grad().item(), doctest::Approx(1 / (1 - s * (1 - s))).epsilon(1e-12));
    }
    CHECK_EQ(memory_statistics().current, before);
}

TEST_CASE("memory is what it was once tape and tensors are gone") {
    const std::size_t before = memory_statistics().current;
    for (const bool create_graph : {false, true}) {
        Tensor x = leaf(Values(1000, 0.5));
        const std::size_t with_leaf = memory_statistics().current;
        {
            Tape tape;
            const Tensor y = sum(tanh(x) * exp(x));
            tape.backward(y, {.create_graph = create_graph});
        }
        x.clear_grad();
        CHECK_EQ(memory_statistics().current, with_leaf);
    }
    CHECK_EQ(memory_statistics().current, before);
}
