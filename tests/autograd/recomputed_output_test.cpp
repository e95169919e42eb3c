// Large outputs of cheap ops are recomputed in backward instead of saved: the same bits, less
// memory, and the same errors.
#include <doctest/doctest.h>
#include <tapestry/autograd/recompute.h>
#include <tapestry/autograd/recomputed_output.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/core/random.h>
#include <tapestry/core/storage.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/activation.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/norm.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/core/support.h>

#include <algorithm>

using namespace tapestry;

namespace {

constexpr std::int64_t kColumns = 64;
constexpr auto kRows =
    static_cast<std::int64_t>(RecomputedOutput::kLarge / sizeof(float)) / kColumns;

struct Layer {
    explicit Layer(std::int64_t row_count) : rows(row_count) {
        Generator generator(1);
        x = randn({rows, kColumns}, generator).set_requires_grad();
        scale = randn({kColumns}, generator).set_requires_grad();
        shift = randn({kColumns}, generator).set_requires_grad();
        first = randn({kColumns, kColumns}, generator).set_requires_grad();
        second = randn({8, kColumns}, generator).set_requires_grad();
    }
    Tensor operator()(const Tensor& in) const {
        const Tensor bias;
        return linear(gelu(linear(layer_norm(in, scale, shift), first, bias)), second, bias);
    }
    Tensors leaves() const { return {x, scale, shift, first, second}; }

    std::int64_t rows;
    Tensor x, scale, shift, first, second;
};

std::vector<std::vector<float>> values_of(const Tensors& tensors) {
    std::vector<std::vector<float>> values;
    for (const Tensor& tensor : tensors) values.push_back(tensor.to_vector<float>());
    return values;
}

}  // namespace

TEST_CASE("recomputed output: a large output of gelu or layer_norm is not kept, a small one is") {
    for (const std::int64_t rows : {kRows, kRows - 1}) {
        const Layer layer(rows);
        Tape tape;
        layer(layer.x);
        std::size_t of_products = 0;
        for (const auto& op : tape.entries()) {
            if (op->name() == "linear") of_products += op->saved_bytes();
        }
        const std::size_t weights = layer.first.bytes() + layer.second.bytes();
        const std::size_t activations = rows == kRows ? 0 : 2 * layer.x.bytes();
        CHECK(of_products == weights + activations);
    }
}

TEST_CASE("recomputed output: a gate's product is not kept either, nor what it multiplies") {
    Generator generator(1);
    const Tensor x = randn({kRows, kColumns}, generator).set_requires_grad();
    const Tensor y = randn({kRows, kColumns}, generator).set_requires_grad();
    const Tensor weight = randn({8, kColumns}, generator).set_requires_grad();
    const auto gradients = [&](const Tensor& a, const Tensor& b, std::size_t& kept) {
        Tape tape;
        const Tensor z = linear(silu(a) * b, weight, Tensor());
        const auto& last = *tape.entries().back();
        kept = last.saved_bytes() - weight.bytes();
        return values_of(tape.gradient(sum(square(z)), {a, b}));
    };
    std::size_t kept = 1;
    const auto whole = gradients(x, y, kept);
    CHECK(kept == 0);
    const auto part = [&](const Tensor& of) {  // too small for recomputation
        return views::slice(of.detach(), 0, 0, kRows / 2).clone().set_requires_grad();
    };
    const auto half = gradients(part(x), part(y), kept);
    CHECK(kept == x.bytes() / 2);
    for (std::size_t i = 0; i < half.size(); ++i) {
        const auto size = static_cast<std::ptrdiff_t>(half[i].size());
        CHECK(
            std::equal(half[i].begin(), half[i].end(), whole[i].begin(), whole[i].begin() + size));
    }
}

TEST_CASE("recomputed output: a view of one is not kept either") {
    const Layer layer(kRows);
    const auto gradients = [&](bool viewed, std::size_t& kept) {
        Tape tape;
        Tensor y = layer_norm(layer.x, layer.scale, layer.shift);
        if (viewed) y = transpose(reshape(y, {kRows / 2, 2, kColumns}), 0, 1);
        const Tensor z = linear(y, layer.second, Tensor());
        kept = tape.entries().back()->saved_bytes() - layer.second.bytes();
        return values_of(tape.gradient(sum(square(z)), {layer.x, layer.scale}));
    };
    std::size_t of_views = 1, plain = 1;
    CHECK(gradients(true, of_views) == gradients(false, plain));
    CHECK(of_views == 0);
    CHECK(plain == 0);
}

TEST_CASE("mul: what a constant multiplies is not kept") {
    Generator generator(1);
    const Tensor x = randn({16, kColumns}, generator).set_requires_grad();
    const Tensor factor = randn({kColumns}, generator);
    Tape tape;
    const Tensor y = factor * x * 3.0;
    CHECK(tape.saved_bytes() == factor.bytes() + sizeof(float));
    const auto gradient = tape.gradient(sum(y), {x})[0].to_vector<float>();
    CHECK(gradient.front() == 3 * factor.to_vector<float>().front());
}

TEST_CASE("linear: x is not kept for a frozen weight, and its gradient is the same") {
    Generator generator(1);
    const Tensor x = randn({16, kColumns}, generator).set_requires_grad();
    Tensor weight = randn({8, kColumns}, generator);
    const auto gradient = [&](std::size_t& kept) {
        Tape tape;
        const Tensor y = linear(x, weight, Tensor());
        kept = tape.entries().back()->saved_bytes();
        return tape.gradient(sum(square(y)), {x})[0].to_vector<float>();
    };
    std::size_t frozen = 0, trained = 0;
    const auto of_frozen = gradient(frozen);
    weight.set_requires_grad();
    CHECK(gradient(trained) == of_frozen);
    CHECK(frozen == weight.bytes());
    CHECK(trained == weight.bytes() + x.bytes());
}

TEST_CASE("recomputed output: gradients are those of rows that are kept, bit for bit") {
    const Layer layer(kRows);
    Tape tape;
    const Tensor y = layer(layer.x);
    const Tensor whole = tape.gradient(sum(y), {layer.x})[0];
    // The same rows in two halves, each too small for recomputation.
    for (const std::int64_t begin : {std::int64_t{0}, kRows / 2}) {
        Tensor half = views::slice(layer.x.detach(), 0, begin, begin + kRows / 2).clone();
        half.set_requires_grad();
        Tape own;
        const Tensor gradient = own.gradient(sum(layer(half)), {half})[0];
        CHECK(gradient.to_vector<float>() ==
              views::slice(whole, 0, begin, begin + kRows / 2).to_vector<float>());
    }
}

TEST_CASE("recomputed output: walked twice, recorded, and recomputed") {
    const Layer layer(kRows);
    Tape tape;
    const Tensor y = mean(square(layer(layer.x)));
    const auto once = values_of(tape.gradient(y, layer.leaves(), {.retain = true}));
    const auto twice = values_of(tape.gradient(y, layer.leaves(), {.retain = true}));
    CHECK(once == twice);
    const Tensors recorded = tape.gradient(y, layer.leaves(), {.create_graph = true});
    const Tensor of_gradient = tape.gradient(sum(square(recorded[3])), {layer.second})[0];
    CHECK(sum(square(of_gradient)).item() > 0);

    Tape recomputing;
    const auto f = [&layer](const Tensor& x) { return layer(x); };
    const Tensor again = mean(square(recompute(f, layer.x)));
    CHECK(values_of(recomputing.gradient(again, layer.leaves())) == once);
}

TEST_CASE("recomputed output: an input changed in place is noticed") {
    Layer layer(kRows);
    Tape tape;
    const Tensor y = layer(layer.x);
    {
        const NoGradGuard no_grad;
        layer.shift.fill_(1);
    }
    test::check_throws<AutogradError>([&] { tape.gradient(sum(y), {layer.first}); },
                                      "layer_norm (#0): its input 2, a tensor [64], has been "
                                      "changed in place since (version 1, now "
                                      "2), so its output cannot be computed again");
}

// Recomputed without a limit, level n takes 2^n products.
TEST_CASE("recomputed output: a chain of products takes time in proportion to its length") {
    const Tensor x = ones({kRows, kColumns}).set_requires_grad();
    Tape tape;
    Tensor y = x;
    for (int i = 0; i < 30; ++i) y = y * y;
    const Tensor gradient = tape.gradient(sum(y), {x})[0];
    CHECK(gradient.to_vector<double>().front() == 0x1p30);
}
