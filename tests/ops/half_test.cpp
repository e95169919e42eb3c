// Half precision in ops, beyond the catalogue's rows with their tolerances: results are rounded
// once, and as in core/half.h on every instruction set; sums are f32; unsupported cases are
// refused.
#include <doctest/doctest.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/cpu.h>
#include <tapestry/core/create.h>
#include <tapestry/core/half.h>
#include <tapestry/core/random.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/activation.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/dropout.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/indexing.h>
#include <tapestry/ops/kernels/table.h>
#include <tapestry/ops/loss.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/norm.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/rotary.h>
#include <tapestry/ops/scan.h>
#include <tapestry/ops/staging.h>
#include <tapestry/tests/core/support.h>
#include <tapestry/tests/settings.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>

using namespace tapestry;
using namespace tapestry::test;

namespace {

constexpr DType kHalves[] = {DType::bf16, DType::f16};

// All 65,536 numbers of a format.
template <class T>
Tensor all_numbers() {
    Tensor x({256, 256}, dtype_of<T>());
    T* const to = x.mutable_data<T>();
    for (std::uint32_t i = 0; i < 0x10000; ++i) {
        to[i] = std::bit_cast<T>(static_cast<std::uint16_t>(i));
    }
    return x;
}

Tensor all_numbers(DType dtype) {
    return dtype == DType::bf16 ? all_numbers<Bf16>() : all_numbers<F16>();
}

Tensor drawn(const Shape& shape, DType dtype, std::uint64_t seed = 1) {
    Generator generator(seed);
    return cast(randn(shape, generator), dtype);
}

std::vector<std::uint16_t> bits(const Tensor& x) {
    const Tensor row = dense(x);
    const auto* from = reinterpret_cast<const std::uint16_t*>(row.storage()->data());
    return {from + row.offset(), from + row.offset() + row.numel()};
}

// Checks that f(x) has the bits of f of the same numbers in f32, rounded.
template <class F>
void check_rounded(const F& f, const Tensor& x) {
    const Tensor y = f(x);
    CHECK(y.dtype() == x.dtype());
    CHECK(bits(y) == bits(cast(f(cast(x, DType::f32)), x.dtype())));
}

}  // namespace

TEST_CASE("half: kernels widen and narrow as core/half.h does, on every instruction set") {
    const SettingsGuard restored;
    const Tensor numbers = all_numbers<Bf16>();
    const Bf16* const x = numbers.data<Bf16>();
    // Ties and their neighbours for every number.
    std::vector<float> near;
    for (std::uint32_t i = 0; i < 0x10000; ++i) {
        for (const std::uint32_t rest : {0U, 1U, 0x7fffU, 0x8000U, 0x8001U}) {
            near.push_back(std::bit_cast<float>(i << 16U | rest));
        }
    }
    for (const Isa isa : available_isas()) {
        set_isa(isa);
        CAPTURE(name_of(isa));
        std::vector<float> wide(0x10000);
        widen(wide.data(), x, 0x10000);
        std::vector<Bf16> narrowed(near.size());
        narrow(narrowed.data(), near.data(), static_cast<std::int64_t>(near.size()));
        int wrong = 0;
        for (std::uint32_t i = 0; i < 0x10000; ++i) {
            wrong += std::bit_cast<std::uint32_t>(wide[i]) == i << 16U ? 0 : 1;
        }
        for (std::size_t i = 0; i < near.size(); ++i) {
            wrong += narrowed[i].bits == Bf16(near[i]).bits ? 0 : 1;
        }
        CHECK_EQ(wrong, 0);
        for (std::int64_t n = 0; n <= 40; ++n) {  // any tail length, and nothing past the end
            std::vector<Bf16> out(42, Bf16(7));
            narrow(out.data() + 1, near.data() + 99, n);
            std::vector<float> back(42, 7);
            widen(back.data() + 1, x + 0x3f80, n);
            for (std::int64_t i = 0; i < 42; ++i) {
                const auto at = static_cast<std::size_t>(i);
                const bool inside = i >= 1 && i <= n;
                wrong += out[at].bits == Bf16(inside ? near[98 + at] : 7.0F).bits ? 0 : 1;
                wrong += back[at] == (inside ? float(x[0x3f80 + i - 1]) : 7.0F) ? 0 : 1;
            }
        }
        CHECK_EQ(wrong, 0);
    }
}

TEST_CASE(
    "half: kernels draw, and round by chance, as the definitions do, on every instruction set") {
    const SettingsGuard restored;
    Generator generator(5);
    constexpr std::int64_t kMost = 150;
    std::vector<float> x = randn({kMost}, generator).to_vector<float>();
    x[3] = std::bit_cast<float>(0x7fffffffU);
    x[4] = -std::numeric_limits<float>::infinity();
    const std::uint64_t key = 0x0123456789abcdefU;
    const auto words = [&](std::uint64_t e) {  // the two words of element e
        const std::uint64_t block = e / 2;
        const auto all = philox(
            {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32U), 0, 0},
            {0x89abcdefU, 0x01234567U});
        return std::array{all[2 * (e % 2)], all[2 * (e % 2) + 1]};
    };
    for (const Isa isa : available_isas()) {
        set_isa(isa);
        CAPTURE(name_of(isa));
        const kernels::Half& half = kernels::table<float>().half;
        int wrong = 0;
        for (const std::uint64_t first : {0ULL, 1ULL, 31ULL, 77ULL, 0x1fffffff0ULL}) {
            for (const std::int64_t n : {0, 1, 2, 31, 33, 64, 150}) {
                std::vector<std::uint16_t> drawn[3];
                for (auto& one : drawn) one.assign(kMost + 1, 7);
                half.chances({drawn[0].data(), drawn[1].data(), drawn[2].data()}, {key, first}, n);
                std::vector<Bf16> y(kMost + 1, Bf16(7));
                half.narrow_by_chance(y.data(), x.data(), drawn[2].data(), n);
                for (std::int64_t i = 0; i < n; ++i) {
                    const auto at = static_cast<std::size_t>(i);
                    const auto [a, b] = words(first + at);
                    wrong += drawn[0][at] == (a & 0xffffU) ? 0 : 1;
                    wrong += drawn[1][at] == a >> 16U ? 0 : 1;
                    wrong += drawn[2][at] == (b & 0xffffU) ? 0 : 1;
                    wrong += y[at].bits == bf16_bits_by_chance(x[at], drawn[2][at]) ? 0 : 1;
                }
                const auto end = static_cast<std::size_t>(n);  // and nothing past the end
                for (const auto& one : drawn) wrong += one[end] == 7 ? 0 : 1;
                wrong += y[end].bits == Bf16(7).bits ? 0 : 1;
            }
        }
        CHECK_EQ(wrong, 0);
    }
}

TEST_CASE("half: elementwise ops are those of f32, rounded once, for every number") {
    for (const DType dtype : kHalves) {
        const Tensor x = all_numbers(dtype);
        CAPTURE(name_of(dtype));
        check_rounded([](const Tensor& t) { return exp(t); }, x);
        check_rounded([](const Tensor& t) { return sqrt(t); }, x);
        check_rounded([](const Tensor& t) { return gelu(t); }, x);
        check_rounded([](const Tensor& t) { return t * views::transpose(t, 0, 1); }, x);
        check_rounded([](const Tensor& t) { return t + views::slice(t, 0, 77, 78); }, x);
        check_rounded([](const Tensor& t) { return maximum(views::slice(t, 1, 63, 64), t); }, x);
        // Copies and selections preserve infinities, and NaNs with their payloads.
        CHECK(bits(views::transpose(views::transpose(x, 0, 1).clone(), 0, 1)) == bits(x));
        CHECK(bits(index_select(x, 0, arange(256))) == bits(x));
        CHECK(bits(where(isnan(x), x, x)) == bits(x));
    }
}

TEST_CASE("half: sums, means and counts are f32 until the end") {
    for (const DType dtype : kHalves) {
        CAPTURE(name_of(dtype));
        // In these formats 256 + 1 (2048 + 1 in f16) is lost.
        const Tensor many = ones({3, 8192}, dtype);
        CHECK_EQ(sum(many, {1}).to_vector<float>()[1], 8192);
        CHECK_EQ(sum(many).item(), 24576);
        CHECK_EQ(sum(views::transpose(many, 0, 1), {0}).to_vector<float>()[1], 8192);
        CHECK_EQ(sum(ones({8192, 3}, dtype), {0}).to_vector<float>()[2], 8192);
        CHECK_EQ(cumsum(many, 1).to_vector<float>()[8191], 8192);
        Tensor table = zeros({1, 1}, dtype).set_requires_grad();
        Tape tape;
        tape.backward(sum(embedding(table, zeros({4096}, DType::i64))));
        CHECK_EQ(table.grad().item(), 4096);
        CHECK(table.grad().dtype() == dtype);
    }
    CHECK_EQ(mean(full({1000}, 65504, DType::f16)).item(), 65504);
    CHECK(std::isinf(sum(full({2}, 65504, DType::f16)).item()));
    CHECK_EQ(var(full({1000}, 300, DType::bf16), {}, 0).item(), 0);
}

TEST_CASE("half: a loss is f32, and so are the statistics of a norm") {
    const Tensor logits = drawn({5, 400}, DType::bf16);
    const Tensor targets = arange(5);
    const Tensor loss = cross_entropy(logits, targets);
    CHECK(loss.dtype() == DType::f32);
    CHECK_EQ(loss.item(), cross_entropy(cast(logits, DType::f32), targets).item());
    const Tensor x = drawn({7, 300}, DType::bf16) + 100;  // a bf16 mean is too coarse
    check_rounded([](const Tensor& t) { return layer_norm(t, {}, {}); }, x);
    check_rounded([](const Tensor& t) { return rms_norm(t, {}); }, x);
}

TEST_CASE("half: products are those of f32, rounded once, however they are cut, on any threads") {
    const SettingsGuard restored;
    struct Sizes {
        std::int64_t m, k, n;
    };
    for (const Isa isa : available_isas()) {
        if (parent_of(isa) != isa) continue;  // these have their own instruction
        set_isa(isa);
        for (const Sizes& s : {Sizes{400, 600, 1100}, Sizes{1300, 530, 37}, Sizes{67, 40, 2100},
                               Sizes{1, 700, 30}, Sizes{4, 300, 400}, Sizes{5, 0, 3}}) {
            for (const DType dtype : kHalves) {
                CAPTURE(name_of(isa));
                CAPTURE(s.m);
                CAPTURE(name_of(dtype));
                const Tensor x = drawn({s.m, s.k}, dtype), w = drawn({s.n, s.k}, dtype, 2);
                const Tensor b = drawn({s.n}, dtype, 3);
                const Tensor wide_x = cast(x, DType::f32), wide_w = cast(w, DType::f32);
                const Tensor expected = cast(linear(wide_x, wide_w, cast(b, DType::f32)), dtype);
                const Tensor across = views::transpose(x, 0, 1).clone();
                const Tensor wide_across = views::transpose(wide_x, 0, 1).clone();
                const auto product = [](const Tensor& a_turned, const Tensor& c) {
                    return matmul(views::transpose(a_turned, 0, 1), views::transpose(c, 0, 1));
                };
                const Tensor turned = cast(product(wide_across, wide_w), dtype);
                for (const int threads : {1, 2, 3}) {
                    set_num_threads(threads);
                    CHECK(bits(linear(x, w, b)) == bits(expected));
                    CHECK(bits(product(across, w)) == bits(turned));
                    const Tensor by_rows = views::transpose(w, 0, 1).clone();
                    const Tensor same = matmul(views::transpose(across, 0, 1), by_rows);
                    CHECK(bits(same) == bits(cast(matmul(views::transpose(wide_across, 0, 1),
                                                         cast(by_rows, DType::f32)),
                                                  dtype)));
                }
            }
        }
    }
}

TEST_CASE("half: a conversion gives its gradient back") {
    const Tensor w = tensor<float>({0.1F, -3, 1e30F}).set_requires_grad();
    Tape tape;
    const Tensor y = to(w, DType::bf16);
    tape.backward(sum(y * y));
    CHECK(w.grad().dtype() == DType::f32);  // 2 y, which differs from 2 w
    CHECK_EQ(w.grad().to_vector<float>()[0], static_cast<float>(2 * rounded_to_bf16(0.1F)));
    CHECK_EQ(w.grad().to_vector<float>()[1], -6);
}

TEST_CASE("half: what is refused") {
    const Tensor b = ones({2}, DType::bf16), f = ones({2}), h = ones({2}, DType::f16);
    check_throws<DTypeError>([&] { add(b, f); },
                             "add: element types differ: bf16 and f32; convert with to()");
    check_throws<DTypeError>([&] { mul(b, h); },
                             "mul: element types differ: bf16 and f16; convert with to()");
    check_throws<DTypeError>([&] { f.data<Bf16>(); }, "tensor: elements are f32, not bf16");
    check_throws<DTypeError>([] { rand({2}, default_generator(), DType::bf16); },
                             "rand: needs f32 or f64, got bf16");
    const Tensor x = ones({2, 4}, DType::bf16), table = ones({2, 2});
    const Tensor whole = ones({2, 2}, DType::i64);
    check_throws<DTypeError>([&] { rotary(x, whole, table); },
                             "rotary: cos needs floating-point numbers, got i64");
    check_throws<DTypeError>([&] { rotary(x, table, whole); },
                             "rotary: sin needs floating-point numbers, got i64");
    CHECK(rotary(x, table, table).dtype() == DType::bf16);
    CHECK(bits(add(b, 0.1)) == bits(add(b, cast(scalar(0.1), DType::bf16))));
}
