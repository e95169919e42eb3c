// The live figures of the course's pages compute with scripts of their own
// (examples/school/site/figures/numbers.js): tests/fixtures/figures.json has the library's numbers
// for the same inputs, which tests/npm/course_figures.js compares. TAPESTRY_UPDATE=1 writes it.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/core/file.h>
#include <tapestry/examples/school/site/number.h>
#include <tapestry/nn/layers/embedding.h>
#include <tapestry/tapestry.h>
#include <tapestry/tests/source_dir.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

using namespace tapestry;

namespace {

std::string json(double x) { return std::isinf(x) ? "null" : fmt::format("{:.11g}", x + 0.0); }

// A number, a row or a table.
std::string json(const Tensor& x) {
    if (x.shape().empty()) return json(x.item());
    std::string text;
    for (std::int64_t i = 0; i < x.size(0); ++i) {
        text += (i == 0 ? "" : ", ") + json(select(x, 0, i));
    }
    return "[" + text + "]";
}

std::string entry(const char* figure, const std::string& input, const std::string& output) {
    return fmt::format("{{\"figure\": \"{}\", \"input\": {{{}}},\n \"output\": {{{}}}}}", figure,
                       input, output);
}

std::string cross_entropy_entry(const std::vector<double>& scores, double temperature,
                                std::int64_t target) {
    Tensor x = tensor(scores, {3}).set_requires_grad();
    Tape tape;
    const Tensor loss =
        cross_entropy(reshape(x / temperature, {1, 3}), tensor<std::int64_t>({target}));
    tape.backward(loss);
    return entry("crossEntropy",
                 fmt::format("\"scores\": {}, \"temperature\": {}, \"target\": {}",
                             json(x.detach()), temperature, target),
                 fmt::format("\"p\": {}, \"loss\": {}, \"gradient\": {}",
                             json(softmax(x.detach() / temperature)), json(loss), json(x.grad())));
}

std::string walk_entry(const std::vector<double>& xs, const std::vector<double>& ws) {
    Tensor x = tensor(xs, {3}).set_requires_grad(), w = tensor(ws, {3}).set_requires_grad();
    Tape tape;
    const Tensor p = x * w, y = tanh(p), z = square(y), loss = sum(z);
    const Tensors back = tape.gradient(loss, {z, y, p, x, w});
    return entry(
        "walk", fmt::format("\"x\": {}, \"w\": {}", json(x.detach()), json(w.detach())),
        fmt::format("\"p\": {}, \"y\": {}, \"z\": {}, \"loss\": {}, \"toZ\": {}, \"toY\": {}, "
                    "\"toP\": {}, \"toX\": {}, \"toW\": {}",
                    json(p), json(y), json(z), json(loss), json(back[0]), json(back[1]),
                    json(back[2]), json(back[3]), json(back[4])));
}

std::string head_entry(bool causal, bool alike) {
    const Tensor x =
        tensor<double>({{1, 0, 0, 0}, {0, 1, 0, 1}, {0, 0, 1, 0}, {1, 0, 0, 0}, {0, 1, 0, 0}});
    const Tensor w_q = tensor<double>({{0, 1, 0, 0}, {0, 0, 1, 0}, {0, 2, 0, 1}, {1, 0, 0, 0}});
    const Tensor w_k =
        alike ? w_q : tensor<double>({{0, 0, 1, 0}, {0, 2, 0, 0}, {1, 0, 0, 1}, {0, 0, 0, 2}});
    const Tensor w_v = tensor<double>({{0.5, 0, 0, 0}, {0, 3, 1, 0}, {1, 0, 0, 2}, {0, 1, 0, 4}});
    const Tensor q = matmul(x, w_q), k = matmul(x, w_k), v = matmul(x, w_v);
    const AttentionOptions options{.causal = causal};
    return entry("head",
                 fmt::format("\"x\": {}, \"wQ\": {}, \"wK\": {}, \"wV\": {}, \"causal\": {}",
                             json(x), json(w_q), json(w_k), json(w_v), causal),
                 fmt::format("\"weights\": {}, \"y\": {}", json(attention_weights(q, k, options)),
                             json(scaled_dot_product_attention(q, k, v, options))));
}

// lowbias32, as in numbers.js.
double sign(std::uint32_t n) {
    n = (n ^ n >> 16) * 0x7feb352du;
    n = (n ^ n >> 15) * 0x846ca68bu;
    return ((n ^ n >> 16) & 1) != 0 ? 1 : -1;
}

Tensor drawn(std::uint32_t seed, std::uint32_t first, std::int64_t rows, std::int64_t width) {
    std::vector<double> numbers;
    for (std::uint32_t row = first; row < first + rows; ++row) {
        for (std::uint32_t i = 0; i < width; ++i)
            numbers.push_back(sign((seed * 16 + row) * 1024 + i));
    }
    return tensor(numbers, {rows, width});
}

std::string widths_entry(std::uint32_t seed, std::int64_t width, bool divided,
                         std::int64_t visible) {
    const Tensor products =
        reshape(matmul(drawn(seed, 0, 1, width), transpose(drawn(seed, 1, 8, width), 0, 1)), {8});
    const Tensor all = divided ? products / std::sqrt(static_cast<double>(width)) : products;
    const Tensor scores = masked_fill(all, ge(arange(8), static_cast<double>(visible)), -INFINITY);
    return entry("widths",
                 fmt::format("\"seed\": {}, \"width\": {}, \"divided\": {}, \"visible\": {}", seed,
                             width, divided, visible),
                 fmt::format("\"products\": {}, \"scores\": {}, \"weights\": {}", json(products),
                             json(scores), json(softmax(scores))));
}

std::string position_entry(std::int64_t t, std::int64_t width) {
    const Tensor p = sinusoidal_positions(1, width, t, DType::f64);
    return entry("position", fmt::format("\"t\": {}, \"width\": {}", t, width),
                 fmt::format("\"vector\": {}", json(select(p, 0, 0))));
}

}  // namespace

TEST_CASE("figures: the fixture of the course's live figures has the library's numbers") {
    const std::vector<std::string> entries = {
        cross_entropy_entry({1, 2, 4}, 1, 1),
        cross_entropy_entry({-8, 8, 0.5}, 0.1, 0),
        cross_entropy_entry({3, 3, -2}, 10, 2),
        walk_entry({1, 2, 3}, {0.5, -1, 0.25}),
        walk_entry({-4, 0, 4}, {4, -0.75, 0}),
        head_entry(false, false),
        head_entry(true, false),
        head_entry(true, true),
        widths_entry(1, 64, true, 8),
        widths_entry(1, 1024, false, 8),
        widths_entry(7, 2, false, 4),
        position_entry(0, 4),
        position_entry(44, 4),
        position_entry(200, 32),
    };
    std::string wanted;
    for (const std::string& text : entries) wanted += (wanted.empty() ? "[" : ",\n") + text;
    wanted += "]\n";
    const auto path = test::source_dir() / "tests/fixtures/figures.json";
    if (std::getenv("TAPESTRY_UPDATE") != nullptr) {
        write_file_atomically(path, wanted);
        return;
    }
    CHECK_MESSAGE(read_file(path) == wanted,
                  "tests/fixtures/figures.json is old: TAPESTRY_UPDATE=1 "
                  "build/release/tests/test_examples --test-case='figures*'");
}

TEST_CASE("course programs: a number that a reader changes, also to one beyond int") {
    course::changed = {3, NAN, 99'999'999'999.0, -99'999'999'999.0, 0.25};
    CHECK_EQ(course::number(0, 7), 3);
    CHECK_EQ(course::number(1, 7), 7);
    CHECK_EQ(course::number(2, 7), std::numeric_limits<int>::max());
    CHECK_EQ(course::number(3, 7), std::numeric_limits<int>::lowest());
    CHECK_EQ(course::number(4, 0.5), 0.25);
    CHECK_EQ(course::number(5, 0.5), 0.5);
    course::changed.clear();
}
