// Dropout's statistics, and what its catalogue row cannot test: seeds, p = 0 and 1, evaluation.
#include <doctest/doctest.h>
#include <tapestry/core/cpu.h>
#include <tapestry/core/create.h>
#include <tapestry/core/parallel.h>
#include <tapestry/ops/dropout.h>
#include <tapestry/tests/settings.h>

#include <algorithm>
#include <cmath>

using namespace tapestry;

namespace {

Tensor dropped_ones(std::uint64_t seed, double p) {
    Generator generator(seed);
    return dropout(ones({200, 500}), p, true, generator);
}

}  // namespace

TEST_CASE("dropout keeps the share 1 - p, and the expectation") {
    for (const double p : {0.1, 0.5, 0.9}) {
        const auto y = dropped_ones(3, p).to_vector<double>();
        const auto zeros = static_cast<double>(std::count(y.begin(), y.end(), 0.0));
        const double n = static_cast<double>(y.size());
        const double deviation = std::sqrt(p * (1 - p) / n);  // of a fraction of n draws
        CHECK(std::abs(zeros / n - p) < 5 * deviation);
        for (const double value : y) {
            const bool expected = value == 0 || std::abs(value - 1 / (1 - p)) < 1e-5;
            if (!expected) FAIL("neither 0 nor 1 / (1 - p): " << value);
        }
    }
}

TEST_CASE("dropout: the same seed gives the same mask, another seed another") {
    const auto first = dropped_ones(3, 0.5).to_vector<float>();
    CHECK(first == dropped_ones(3, 0.5).to_vector<float>());
    CHECK(first != dropped_ones(4, 0.5).to_vector<float>());
    Generator generator(3);
    dropout(ones({200, 500}), 0.5, true, generator);
    const auto second = dropout(ones({200, 500}), 0.5, true, generator).to_vector<float>();
    CHECK(first != second);
}

TEST_CASE("dropout keeps what bernoulli() draws, on every instruction set and any threads") {
    const test::SettingsGuard restored;
    for (const Isa isa : available_isas()) {
        set_isa(isa);
        CAPTURE(name_of(isa));
        for (const std::int64_t n : {0, 1, 3, 4, 63, 64, 65, 8191, 8192, 3 * 8192 + 77}) {
            for (const double p : {1e-12, 0.1, 0.5, 1.0}) {
                set_num_threads(n % 2 == 0 ? 1 : 3);
                Generator ours(7), theirs(7);
                ours.set_state(0x123456789abcdef0U, 0xfffffff5U);  // counters of more than 32 bits
                theirs.set_state(0x123456789abcdef0U, 0xfffffff5U);
                const auto kept = bernoulli({n}, 1 - p, theirs).to_vector<bool>();
                const auto y = dropout(ones({n}), p, true, ours).to_vector<float>();
                CHECK_EQ(ours.offset(), theirs.offset());
                std::int64_t wrong = 0;
                for (std::size_t i = 0; i < kept.size(); ++i) wrong += kept[i] != (y[i] != 0);
                CHECK_EQ(wrong, 0);
            }
        }
    }
}

TEST_CASE("dropout with p = 0, and outside training, is the input itself and draws nothing") {
    Generator generator(3);
    const Tensor x = ones({4, 5});
    CHECK(dropout(x, 0, true, generator).storage() == x.storage());
    CHECK(dropout(x, 0.5, false, generator).storage() == x.storage());
    CHECK(generator.offset() == 0);
}

TEST_CASE("dropout with p = 1 gives zeros and zero gradients, even from infinity") {
    Tensor x = full({4, 5}, INFINITY).set_requires_grad();
    Tape tape;
    const Tensor y = dropout(x, 1);
    for (const double value : y.to_vector<double>()) CHECK(value == 0);
    tape.backward(y, {.cotangent = ones({4, 5})});
    for (const double value : x.grad().to_vector<double>()) CHECK(value == 0);
}

TEST_CASE("dropout: the gradient goes through the mask of the forward pass") {
    const Tensor x = ones({30, 50}).set_requires_grad();
    Generator generator(9);
    Tape tape;
    const Tensor y = dropout(x, 0.4, true, generator);
    const Tensor dx = tape.gradient(y, {x}, {.cotangent = ones({30, 50})})[0];
    CHECK(dx.to_vector<float>() == y.to_vector<float>());
}
