// int8 rows: their accuracy, and that products with them equal those with the dequantised numbers.
#include <doctest/doctest.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/cpu.h>
#include <tapestry/core/create.h>
#include <tapestry/core/random.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/int8_rows.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/tests/core/support.h>
#include <tapestry/tests/settings.h>

#include <cmath>
#include <memory>
#include <utility>

using namespace tapestry;
using namespace tapestry::test;

namespace {

Tensor widened(const Int8Rows& w) {
    Tensor wide({w.rows, w.cols}, DType::f32);
    for (std::int64_t i = 0; i < w.rows * w.cols; ++i) {
        wide.mutable_data<float>()[i] = w.scales[static_cast<std::size_t>(i / w.cols)] *
                                        static_cast<float>(w.numbers[static_cast<std::size_t>(i)]);
    }
    return wide;
}

}  // namespace

TEST_CASE("int8 rows: the nearest, by the row's largest") {
    const Int8Rows w = int8_rows(tensor<float>({254, -127, 3, 0, 0, 0, 0.25F, -0.5F, 0}, {3, 3}));
    CHECK(w.scales == std::vector<float>{2, 0, 0.5F / 127});
    CHECK(w.numbers ==
          std::vector<std::int8_t>{127, -64, 2, 0, 0, 0, 64, -127, 0});  // ties to even
    Generator generator(3);
    const Tensor x = randn({40, 300}, generator);
    const Int8Rows near = int8_rows(views::transpose(views::transpose(x, 0, 1).clone(), 0, 1));
    const auto there = x.to_vector<float>(), here = widened(near).to_vector<float>();
    for (std::size_t i = 0; i < there.size(); ++i) {
        CHECK(std::abs(there[i] - here[i]) <= 0.5001F * near.scales[i / 300]);
    }
    // The smallest subnormal numbers.
    const Int8Rows tiny = int8_rows(full({1, 2}, 1e-45));
    CHECK(std::isfinite(widened(tiny).to_vector<float>()[0]));
}

TEST_CASE("int8 rows: products are those of the numbers that they stand for, on all threads") {
    const SettingsGuard restored;
    Generator generator(3);
    for (const std::int64_t rows : {1, 4, 5, 70}) {
        for (const std::int64_t cols : {3, 500}) {
            const Tensor w = randn({300, cols}, generator), b = randn({300}, generator);
            const Tensor x = randn({2, rows, cols}, generator);
            const Int8Rows near = int8_rows(w);
            const Tensor expected = linear(x, widened(near), b);
            for (const Isa isa : available_isas()) {
                if (parent_of(isa) != isa) continue;
                set_isa(isa);
                CAPTURE(name_of(isa));
                std::vector<std::vector<float>> results;
                for (const int threads : {1, 3}) {
                    set_num_threads(threads);
                    results.push_back(multiply_by_rows(x, near, b).to_vector<float>());
                }
                CHECK(results[0] == results[1]);
                const auto wanted = expected.to_vector<float>();
                double worst = 0;
                for (std::size_t i = 0; i < wanted.size(); ++i) {
                    worst = std::max<double>(worst, std::abs(results[0][i] - wanted[i]));
                }
                CHECK_LT(worst, 1e-4);
            }
        }
    }
}

TEST_CASE("int8 rows: gradients are those of the numbers that they stand for, on all threads") {
    const SettingsGuard restored;
    Generator generator(5);
    for (const std::int64_t rows : {1, 5, 70}) {
        for (const std::int64_t out : {3, 300}) {  // below and above a block of rows
            const auto w = std::make_shared<const Int8Rows>(int8_rows(randn({out, 40}, generator)));
            const Tensor matrix = widened(*w);
            CHECK(matrix_of(*w).to_vector<float>() == matrix.to_vector<float>());
            Tensor x = randn({2, rows, 40}, generator), b = randn({out}, generator);
            const Tensor g = randn({2, rows, out}, generator);
            x.set_requires_grad();
            b.set_requires_grad();
            const auto gradients = [&](const auto& f) {
                Tape tape;
                const Tensors found = tape.gradient(sum(f() * g), {x, b});
                return std::pair(found[0].to_vector<float>(), found[1].to_vector<float>());
            };
            set_num_threads(1);
            const auto one = gradients([&] { return multiply_by_rows(x, w, b); });
            set_num_threads(3);
            CHECK(gradients([&] { return multiply_by_rows(x, w, b); }) == one);
            CHECK_EQ(gradients([&] { return linear(x, matrix, b); }).second, one.second);
            // The definition: the gradient of x[i, k] is the sum of g[i, o] w[o, k] over o.
            const auto sums = g.to_vector<float>(), numbers = matrix.to_vector<float>();
            for (std::size_t i = 0; i < one.first.size(); ++i) {
                double wanted = 0, size = 0;
                for (std::size_t o = 0; o < static_cast<std::size_t>(out); ++o) {
                    const double term =
                        static_cast<double>(sums[i / 40 * static_cast<std::size_t>(out) + o]) *
                        static_cast<double>(numbers[o * 40 + i % 40]);
                    wanted += term;
                    size += std::abs(term);
                }
                CHECK(std::abs(one.first[i] - wanted) <= 1e-5 * size + 1e-30);
            }
        }
    }
}

TEST_CASE("int8 rows: gradients of gradients, through both") {
    Generator generator(6);
    const auto w = std::make_shared<const Int8Rows>(int8_rows(randn({7, 6}, generator)));
    const Tensor matrix = matrix_of(*w);
    Tensor x = randn({5, 6}, generator);
    x.set_requires_grad();
    const auto second = [&](const auto& f) {
        Tape tape;
        const Tensor first = tape.gradient(sum(square(f())), {x}, {.create_graph = true})[0];
        return tape.gradient(sum(square(first)), {x})[0].to_vector<float>();
    };
    const auto found = second([&] { return multiply_by_rows(x, w); });
    const auto wanted = second([&] { return linear(x, matrix); });
    for (std::size_t i = 0; i < found.size(); ++i)
        CHECK(found[i] == doctest::Approx(wanted[i]).epsilon(1e-4));
}

TEST_CASE("int8 rows: what is refused") {
    const Int8Rows w = int8_rows(ones({3, 2}));
    check_throws<ShapeError>(
        [&] {
            multiply_by_rows(ones({2, 3}), w);
        },
        "multiply_by_rows: x [2, 3] does not end in the 2 columns of [3, 2]");
    check_throws<ShapeError>([&] { multiply_by_rows(ones({2}), w, ones({2})); },
                             "multiply_by_rows: the bias is [2], a matrix [3, 2] needs [3]");
    check_throws<DTypeError>([&] { multiply_by_rows(ones({2}, DType::bf16), w); },
                             "multiply_by_rows: needs f32, got bf16");
    check_throws<ValueError>(
        [] {
            int8_rows(full({1, 1}, INFINITY));
        },
        "int8_rows: row 0 holds inf");
    check_throws<ShapeError>([] { int8_rows(ones({2})); }, "int8_rows: needs a matrix, got [2]");
    check_throws<DTypeError>(
        [] {
            int8_rows(ones({2, 2}, DType::f64));
        },
        "int8_rows: needs f32, got f64");
    const Tensor x = ones({2}).set_requires_grad();
    Tape tape;
    check_throws<AutogradError>([&] { multiply_by_rows(x, w); },
                                "multiply_by_rows: a product with int8 rows has no gradient");
}
