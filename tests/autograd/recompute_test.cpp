// Recomputation changes only memory and time: gradients are bit-identical, random streams and hooks
// the same.
#include <tapestry/autograd/op.h>
#include <tapestry/autograd/recompute.h>
#include <tapestry/ops/activation.h>
#include <tapestry/ops/attention.h>
#include <tapestry/ops/dropout.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/norm.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/judge/support.h>

using namespace tapestry;
using test::check_passes;
using test::check_throws;
using test::leaf;
using test::values;
using test::Values;

namespace {

using Function = std::function<Tensors(const Tensors&)>;
using OneFunction = std::function<Tensor(const Tensor&)>;

Tensor random_leaf(const Shape& shape, std::uint64_t seed, DType dtype = DType::f32) {
    Generator generator(seed);
    return randn(shape, generator, dtype).set_requires_grad();
}

// Like a layer: x + gelu(dropout(attend(norm(x))) W), with random numbers in two places.
struct Layer {
    Tensor weight, gain, bias;
    Generator* generator;

    Layer(std::int64_t dim, std::uint64_t seed, Generator& from)
        : weight(random_leaf({dim, dim}, seed)),
          gain(random_leaf({dim}, seed + 1)),
          bias(random_leaf({dim}, seed + 2)),
          generator(&from) {}

    Tensor operator()(const Tensor& x) const {  // [B, T, C]
        const Tensor h = layer_norm(x, gain, bias);
        const Tensor a = scaled_dot_product_attention(
            h, h, h, {.causal = true, .dropout = 0.25, .generator = generator});
        return x + gelu(linear(dropout(a, 0.5, true, *generator), weight));
    }
    Tensors parameters() const { return {weight, gain, bias}; }
};

enum class How { plain, each, nested };

struct Outcome {
    std::vector<Values> gradients;
    std::size_t saved, peak;
    std::uint64_t offset;  // the generator's offset after forward, and after backward
    std::uint64_t final_offset;
    Values next;  // its next values
};

// Three layers and a loss, with or without recomputation.
Outcome run(How how, bool through_gradient) {
    Generator generator(7);
    std::vector<Layer> layers;
    for (std::uint64_t i = 0; i < 3; ++i) layers.emplace_back(32, 10 * i, generator);
    const Tensor x = random_leaf({4, 48, 32}, 99);
    Tensors wanted{x};
    for (const Layer& layer : layers) {
        for (const Tensor& p : layer.parameters()) wanted.push_back(p);
    }
    Outcome outcome{};
    reset_peak_memory();
    const std::size_t before = memory_statistics().current;
    Tape tape;
    Tensor h = x;
    const auto each = [&](const Tensor& from) {
        Tensor y = from;
        for (const Layer& layer : layers) {
            const OneFunction call = [&layer](const Tensor& z) { return layer(z); };
            y = how == How::plain ? layer(y) : recompute(call, y);
        }
        return y;
    };
    h = how == How::nested ? recompute(OneFunction(each), h) : each(h);
    // x again, so its gradient has a part from outside.
    const Tensor loss = sum(square(h)) + sum(x * sin(x));
    outcome.saved = tape.saved_bytes();
    outcome.offset = generator.offset();
    Tensors gradients;
    if (through_gradient) {
        gradients = tape.gradient(loss, wanted);
        for (const Tensor& p : wanted) CHECK_FALSE(p.grad().defined());
    } else {
        tape.backward(loss);
        for (const Tensor& p : wanted) gradients.push_back(p.grad());
    }
    outcome.peak = memory_statistics().peak - before;
    outcome.final_offset = generator.offset();
    outcome.next = values(rand({3}, generator));
    for (const Tensor& g : gradients) outcome.gradients.push_back(values(g));
    return outcome;
}

}  // namespace

TEST_CASE("recompute: the same bits, dropout included, and less memory") {
    const Outcome plain = run(How::plain, false);
    CHECK_GT(plain.offset, 0);
    for (const int threads : {1, 2}) {
        const ThreadsGuard guard(threads);
        for (const How how : {How::plain, How::each, How::nested}) {
            for (const bool through_gradient : {false, true}) {
                CAPTURE(threads);
                CAPTURE(static_cast<int>(how));
                CAPTURE(through_gradient);
                const Outcome outcome = run(how, through_gradient);
                CHECK(outcome.gradients == plain.gradients);
                CHECK_EQ(outcome.offset, plain.offset);
                CHECK_EQ(outcome.final_offset, plain.offset);
                CHECK(outcome.next == plain.next);
            }
        }
    }
}

TEST_CASE("recompute: what is saved") {
    const Outcome plain = run(How::plain, false);
    const Outcome each = run(How::each, false);
    const Outcome nested = run(How::nested, false);
    const std::size_t input = 4 * 48 * 32 * sizeof(float);
    // The loss saves h, x and the x of sin(x): the same for all.
    CHECK_LT(each.saved, plain.saved / 3);
    CHECK_EQ(each.saved, nested.saved + 2 * input);
    CHECK_LT(each.peak, plain.peak * 2 / 3);
}

TEST_CASE("recompute: one operation is no plural") {
    const Tensor x = leaf({1, 2});
    Tape tape;
    recompute(OneFunction([](const Tensor& z) { return exp(z); }), x);
    CHECK_EQ(tape.entries().at(0)->attributes(), "1 operation");
}

TEST_CASE("recompute: only inputs are kept, and let go") {
    const Tensor x = leaf({1, 2, 3});
    Tape tape;
    const Tensor y = recompute(OneFunction([](const Tensor& z) { return exp(exp(sin(z))); }), x);
    REQUIRE_EQ(tape.entries().size(), 1);
    CHECK_EQ(tape.entries()[0]->name(), "recompute");
    CHECK_EQ(tape.entries()[0]->attributes(), "3 operations");
    CHECK_EQ(tape.entries()[0]->flops(), 9);
    CHECK_EQ(tape.saved_bytes(), x.bytes());
    tape.backward(sum(y), {.retain = true});
    CHECK_EQ(tape.saved_bytes(), x.bytes());
    tape.backward(sum(y));
    CHECK_EQ(tape.saved_bytes(), 0);
    CHECK_EQ(tape.entries().size(), 3);  // plus two sums
    const double slope =
        std::exp(std::exp(std::sin(2.0))) * std::exp(std::sin(2.0)) * std::cos(2.0);
    CHECK_EQ(x.grad().at({1}), doctest::Approx(2 * slope).epsilon(1e-14));
    check_throws<AutogradError>([&] { tape.backward(sum(y)); },
                                "recompute (#0): backward has already run and released the saved "
                                "tensors; pass retain = true to run it again");
}

TEST_CASE("recompute: without a tape, or without anything to follow, it is the function") {
    int calls = 0;
    const OneFunction f = [&calls](const Tensor& z) {
        ++calls;
        return exp(z);
    };
    const Tensor x = leaf({0, 1});
    CHECK_EQ(values(recompute(f, x)), values(exp(x)));
    Tape tape;
    const Tensor y = recompute(f, x.detach());
    CHECK(tape.entries().empty());
    CHECK_FALSE(tape.follows(y));
    {
        const NoGradGuard guard;
        CHECK_FALSE(tape.follows(recompute(f, x)));
    }
    CHECK_EQ(calls, 3);
    tape.gradient(sum(recompute(f, x)), {x});
    CHECK_EQ(calls, 5);
    // Its gradient is not requested, so f is not run again.
    const Tensor other = leaf({2, 3});
    tape.gradient(sum(recompute(f, x) + other), {other});
    CHECK_EQ(calls, 6);
}

TEST_CASE("recompute: PyTorch calls it checkpoint") {
    const Tensor x = leaf({1, 2});
    Tape tape;
    const Tensor one = checkpoint(OneFunction([](const Tensor& z) { return exp(z); }), x);
    const Tensors all = checkpoint(
        [](const Tensors& z) {
            return Tensors{sin(z[0]), z[0] * z[0]};
        },
        Tensors{x});
    CHECK_EQ(values(one), values(exp(x)));
    CHECK_EQ(values(all[1]), values(x * x));
    CHECK_EQ(tape.entries()[0]->name(), "recompute");
    CHECK_EQ(tape.entries()[1]->name(), "recompute");
}

TEST_CASE("recompute: several inputs and outputs, some of them strange") {
    const Tensor ids = tensor<std::int64_t>({1, 0});
    const auto results = [&](bool again) {
        const Tensor x = leaf({0.5, -1}), w = leaf({2, 3}), unused = leaf({1});
        Tape tape;
        const Tensor outside = exp(x);
        const Function f = [&w](const Tensors& in) {
            const Tensor h = in[0] * in[1];
            // h twice; an input; a parameter; a constant; undefined; unused
            return Tensors{h, exp(h), h, in[1], w, in[2], Tensor(), sin(w)};
        };
        const Tensors in{x, outside, ids, unused};
        const Tensors y = again ? recompute(f, in) : f(in);
        REQUIRE_EQ(y.size(), 8);
        CHECK_EQ(values(y[5]), Values{1, 0});
        CHECK_FALSE(y[6].defined());
        const Tensor loss = sum(y[0] * y[1] + square(y[2]) + y[3] * y[4] + outside);
        Tensors gradients =
            tape.gradient(loss, {x, w, outside, unused, y[0], y[3]}, {.retain = true});
        tape.backward(loss + 0.0 * sum(unused));
        gradients.push_back(x.grad());
        gradients.push_back(w.grad());
        std::vector<Values> all;
        for (const Tensor& g : gradients) all.push_back(values(g));
        return all;
    };
    CHECK(results(true) == results(false));
}

TEST_CASE("recompute: parameters captured, also inside a nested one") {
    const auto results = [](bool outer_again, bool inner_again) {
        const Tensor x = leaf({0.5, -1}), a = leaf({2, 3}), b = leaf({-1, 0.25});
        const OneFunction inner = [&](const Tensor& h) { return tanh(h * b) + a; };
        const OneFunction outer = [&](const Tensor& h) {
            const Tensor once = h * a;
            const Tensor y = inner_again ? recompute(inner, once) : inner(once);
            return y * once * b;
        };
        Tape tape;
        const Tensor y = outer_again ? recompute(outer, x) : outer(x);
        tape.backward(sum(square(y) * a));
        CHECK_EQ(tape.saved_bytes(), 0);
        return std::vector<Values>{values(x.grad()), values(a.grad()), values(b.grad())};
    };
    const auto plain = results(false, false);
    CHECK(results(true, false) == plain);
    CHECK(results(false, true) == plain);
    CHECK(results(true, true) == plain);
}

TEST_CASE("recompute: gradients of gradients") {
    const Tensor w = random_leaf({3, 3}, 5, DType::f64).detach();
    const TensorFunction f = [](const Tensors& in) {
        const Function layer = [p = in[1]](const Tensors& x) {  // p is a copy: it runs again
            const OneFunction inner = [p](const Tensor& h) { return tanh(matmul(h, p)); };
            return Tensors{recompute(inner, x[0]) * x[0], sin(x[0])};
        };
        const Tensors y = recompute(layer, {in[0] * 0.5});
        return exp(y[0]) + y[1];
    };
    const Tensors inputs{random_leaf({2, 3}, 6, DType::f64).detach(), w};
    check_passes(gradcheck(f, inputs));
    check_passes(gradgradcheck(f, inputs));

    const auto third = [](bool again) {
        const Tensor x = leaf({0.5, -0.25});
        const OneFunction g = [](const Tensor& z) { return sin(z * z) * z; };
        Tape tape;
        Tensor y = again ? recompute(g, x) : g(x);
        for (int i = 0; i < 3; ++i) y = tape.gradient(sum(y), {x}, {.create_graph = true})[0];
        return values(y);
    };
    CHECK_EQ(third(true), third(false));
}

TEST_CASE("recompute: hooks are called once, with the whole gradient") {
    const auto results = [](bool again) {
        const Tensor x = leaf({1, 2}), w = leaf({3, 4});
        int calls = 0;
        const auto doubled = [&calls](const Tensor& g) {
            ++calls;
            return g * 2.0;
        };
        register_hook(w, doubled);
        Tape tape;
        const Tensor before = x * 1.5;
        register_hook(before, doubled);
        const OneFunction f = [&](const Tensor& z) {
            const Tensor inside = z * w;
            register_hook(inside, doubled);
            return inside * w + z;
        };
        const Tensor y = again ? recompute(f, before) : f(before);
        register_hook(y, doubled);
        tape.backward(sum(y + before + w));
        CHECK_EQ(calls, 4);
        return std::vector<Values>{values(x.grad()), values(w.grad())};
    };
    CHECK(results(true) == results(false));
}

TEST_CASE("recompute: what runs again has the path of its module") {
    const Tensor x = leaf({1, 2});
    std::vector<std::string> paths;
    Tape tape;
    Tensor y;
    {
        const ModuleScope scope("encoder");
        const OneFunction f = [&](const Tensor& z) {
            const ModuleScope layer("layer");
            paths.push_back(module_path());
            return exp(z);
        };
        y = recompute(f, x);
        CHECK_EQ(tape.entries()[0]->module_path(), "encoder");
    }
    tape.gradient(sum(y), {x});
    CHECK(paths == std::vector<std::string>{"encoder.layer", "encoder.layer"});
}

TEST_CASE("recompute: generators of every kind") {
    const Tensor x = leaf({1, 2, 3, 4});
    Generator own(3), untouched(4);
    const auto gradient = [&](bool again) {
        own.set_state(3, 5);
        manual_seed(8);
        rand({2});
        const OneFunction f = [&](const Tensor& z) {
            Generator local(own.next());  // destroyed before backward
            return dropout(z, 0.5, true, local) + dropout(z, 0.5) * rand({4}, own, DType::f64);
        };
        Tape tape;
        const Tensor y = again ? recompute(f, x) : f(x);
        const Tensor between = rand({2}, own);  // the stream advances before backward
        const Tensor g = tape.gradient(sum(y), {x})[0];
        Values all = values(g);
        for (const Tensor& later : {y.detach(), between, rand({2}, own), rand({2})}) {
            for (const double value : values(later)) all.push_back(value);
        }
        return all;
    };
    CHECK_EQ(gradient(true), gradient(false));
    CHECK_EQ(untouched.offset(), 0);
    manual_seed(0);

    // Generators are also restored if the second run fails.
    bool second = false;
    const OneFunction failing = [&](const Tensor& z) {
        const Tensor y = dropout(z, 0.5, true, own);
        require(!second, "failing: the second time");
        return y;
    };
    Tape tape;
    const Tensor y = recompute(failing, x);
    const std::uint64_t offset = own.offset();
    second = true;
    check_throws<ValueError>([&] { tape.gradient(sum(y), {x}); }, "failing: the second time");
    CHECK_EQ(own.offset(), offset);
}
