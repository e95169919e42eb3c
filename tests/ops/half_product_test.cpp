// Products of bf16 by VDPBF16PS or the tile instruction TDPBF16PS against a bit-exact model. Those
// by f32 kernels are in half_test.cpp.
#include <doctest/doctest.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/cpu.h>
#include <tapestry/core/create.h>
#include <tapestry/core/random.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/tests/settings.h>
#include <tapestry/tests/skip.h>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace tapestry;
using namespace tapestry::test;

namespace {

constexpr std::size_t kDepth = 32;  // steps of k in a tile

// The instructions flush subnormal inputs and results to 0.
float flushed(float x) {
    return std::abs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0F, x) : x;
}

// TDPBF16PS: sums the even and the odd of a tile's 32 steps separately, in order and each fused,
// then adds both to c. Source: Intel, "Architecture Instruction Set Extensions Programming
// Reference". a and b have a multiple of kDepth elements.
float tile_products(float c, const std::vector<float>& a, const std::vector<float>& b) {
    for (std::size_t begin = 0; begin < a.size(); begin += kDepth) {
        float sums[2] = {0, 0};
        for (std::size_t k = begin; k < begin + kDepth; ++k) {
            float& sum = sums[k % 2];
            sum = flushed(std::fma(flushed(a[k]), flushed(b[k]), sum));
        }
        c = flushed(c + flushed(sums[0] + sums[1]));
    }
    return c;
}

// A chain of VDPBF16PS: adds to c the odd step of each pair, then the even one, each fused and
// rounded to nearest even. Source: the same, VDPBF16PS.
float dot_products(float c, const std::vector<float>& a, const std::vector<float>& b) {
    for (std::size_t k = 0; k < a.size(); k += 2) {
        for (const std::size_t i : {k + 1, k}) {
            c = flushed(std::fma(flushed(a[i]), flushed(b[i]), c));
        }
    }
    return c;
}

// The rows of x [rows, k], padded to whole tiles.
std::vector<std::vector<float>> padded_rows(const Tensor& x) {
    const auto k = static_cast<std::size_t>(x.size(1)), whole = (k + kDepth - 1) / kDepth * kDepth;
    std::vector<std::vector<float>> rows;
    const auto values = x.to_vector<float>();
    for (std::size_t i = 0; i < static_cast<std::size_t>(x.size(0)); ++i) {
        const auto* from = values.data() + i * k;
        rows.emplace_back(from, from + k);
        rows.back().resize(whole, 0.0F);
    }
    return rows;
}

// Numbers of all magnitudes, some subnormal.
Tensor numbers(const Shape& shape, Generator& generator) {
    const Tensor x = randn(shape, generator), scale = rand(shape, generator);
    Tensor y = zeros(shape, DType::bf16);
    for (std::int64_t i = 0; i < x.numel(); ++i) {
        const float s = scale.data<float>()[i];
        y.mutable_data<Bf16>()[i] = Bf16(x.data<float>()[i] * (s < 0.2F ? 1e-38F : s));
    }
    return y;
}

template <class Model>
void check_instruction(Isa isa, const Model& model) {
    const auto isas = available_isas();
    if (std::find(isas.begin(), isas.end(), isa) == isas.end()) {
        return skip(fmt::format("this processor has no {}", name_of(isa)));
    }
    const SettingsGuard restored;
    set_isa(isa);
    Generator generator(5);
    struct Sizes {
        std::int64_t m, k, n;
    };
    for (const Sizes& s : {Sizes{9, 1, 1}, Sizes{16, 32, 16}, Sizes{33, 70, 45}, Sizes{100, 33, 64},
                           Sizes{12, 0, 3}, Sizes{70, 1100, 300}, Sizes{1100, 64, 90}}) {
        CAPTURE(s.m);
        CAPTURE(s.k);
        CAPTURE(s.n);
        const Tensor a = numbers({s.m, s.k}, generator), b = numbers({s.n, s.k}, generator);
        Tensor expected({s.m, s.n}, DType::bf16);
        const auto rows = padded_rows(a), columns = padded_rows(b);
        Bf16* to = expected.mutable_data<Bf16>();
        for (const auto& row : rows) {
            for (const auto& column : columns) *to++ = Bf16(model(0, row, column));
        }
        const auto turned = [](const Tensor& x) {
            return views::transpose(views::transpose(x, 0, 1).clone(), 0, 1);
        };
        for (const int threads : {1, 3}) {
            set_num_threads(threads);
            for (const Tensor& x : {a, turned(a)}) {
                for (const Tensor& y : {b, turned(b)}) {
                    const Tensor c = matmul(x, views::transpose(y, 0, 1));
                    CHECK(c.to_vector<float>() == expected.to_vector<float>());
                }
            }
        }
    }
}

}  // namespace

TEST_CASE("half products: the model of a tile rounds and flushes where it says") {
    const auto tile = [](std::initializer_list<float> x) {
        std::vector<float> all(x);
        all.resize(kDepth, 0.0F);
        return all;
    };
    // Fused: 4097^2 has 25 bits, one of which a rounded product would lose.
    CHECK_EQ(tile_products(0, tile({4096, 0, 4097}), tile({-4098, 0, 4097})), 1);
    // In order, with even steps separate from odd ones: 1 + 2^-24 is a tie, adding 2^-24 twice at
    // once is not.
    CHECK_EQ(tile_products(0, tile({1, 0, 0x1p-24F, 0, 0x1p-24F}), tile({1, 0, 1, 0, 1})), 1);
    CHECK_EQ(tile_products(0, tile({1, 0x1p-24F, 0, 0x1p-24F}), tile({1, 1, 1, 1})), 1 + 0x1p-23F);
    CHECK_EQ(tile_products(0, tile({1e-39F}), tile({1e30F})), 0);   // input read as 0
    CHECK_EQ(tile_products(0, tile({1e-20F}), tile({1e-20F})), 0);  // output written as 0
    CHECK_EQ(tile_products(3, tile({1}), tile({1})), 4);
    CHECK(std::isnan(tile_products(0, tile({INFINITY}), tile({0}))));
}

TEST_CASE("half products: the model of a chain of pairs rounds and flushes where it says") {
    using Row = std::vector<float>;
    CHECK_EQ(dot_products(0, Row{4097, 4096}, Row{4097, -4098}), 1);  // fused
    // In sequence, the odd step first: 1 + 2^-24 is a tie and is lost; in the other order it would
    // not be a tie.
    CHECK_EQ(dot_products(0, Row{1, 0, 0x1p-24F, 0x1p-24F}, Row{1, 1, 1, 1}), 1);
    CHECK_EQ(dot_products(0, Row{1, 0, 0x1.02p-24F, 0x1p-24F}, Row{1, 1, 1, 1}), 1 + 0x1p-23F);
    CHECK_EQ(dot_products(0, Row{1, 0, 0x1p-24F, 0x1.02p-24F}, Row{1, 1, 1, 1}), 1 + 0x1p-22F);
    CHECK_EQ(dot_products(0, Row{0, 1e-39F}, Row{0, 1e30F}), 0);   // input read as 0
    CHECK_EQ(dot_products(0, Row{0, 1e-20F}, Row{0, 1e-20F}), 0);  // output written as 0
    CHECK(std::isnan(dot_products(0, Row{INFINITY, 0}, Row{0, 0})));
}

TEST_CASE("half products: tiles do what their model does, transposed or not, on any threads") {
    check_instruction(Isa::avx512_amx, tile_products);
}

TEST_CASE("half products: VDPBF16PS does what its model does, transposed or not, on any threads") {
    check_instruction(Isa::avx512_bf16, dot_products);
}
