// Masks: which keys are visible to which queries, and errors.
#include <tapestry/nn/attention/masks.h>
#include <tapestry/tests/core/support.h>

using namespace tapestry;
using test::check_throws;
using Bools = std::vector<bool>;

TEST_CASE("causal_mask: aligned at the end") {
    CHECK_EQ(causal_mask(2, 3).to_vector<bool>(), Bools{true, true, false, true, true, true});
    CHECK_EQ(causal_mask(3, 2).to_vector<bool>(), Bools{false, false, true, false, true, true});
    CHECK_EQ(causal_mask(0, 3).shape(), Shape{0, 3});
    check_throws<ValueError>([] { causal_mask(-1, 3); }, "causal_mask: -1 queries and 3 keys");
}

TEST_CASE("window_mask: the last keys up to each query, aligned at the end") {
    CHECK_EQ(window_mask(2, 4, 2).to_vector<bool>(),
             Bools{false, true, true, true, false, false, true, true});
    CHECK_EQ(window_mask(2, 2, 5).to_vector<bool>(), Bools{true, true, true, true});
    check_throws<ValueError>([] { window_mask(2, 3, 0); },
                             "window_mask: 2 queries, 3 keys, window 0");
}

TEST_CASE("padding_mask and length_mask: [B, 1, 1, S]") {
    const Tensor ids = tensor<std::int64_t>({{5, 6, 0}, {7, 0, 0}});
    const Tensor padding = padding_mask(ids, 0);
    CHECK_EQ(padding.shape(), Shape{2, 1, 1, 3});
    CHECK_EQ(padding.to_vector<bool>(), Bools{true, true, false, true, false, false});
    const Tensor lengths = length_mask(tensor<std::int64_t>({2, 1}), 3);
    CHECK_EQ(lengths.shape(), Shape{2, 1, 1, 3});
    CHECK_EQ(lengths.to_vector<bool>(), padding.to_vector<bool>());
    CHECK_EQ(length_mask(tensor<std::int64_t>({0, 3}), 3).to_vector<bool>(),
             Bools{false, false, false, true, true, true});
    check_throws<ShapeError>([] { padding_mask(zeros({3}, DType::i64), 0); },
                             "padding_mask: needs ids i64 [B, S], got i64 [3]");
    check_throws<ShapeError>(
        [] {
            padding_mask(ones({2, 3}), 0);
        },
        "padding_mask: needs ids i64 [B, S], got f32 [2, 3]");
    check_throws<ShapeError>([] { length_mask(ones({2}), 3); },
                             "length_mask: needs lengths i64 [B], got f32 [2]");
    check_throws<ValueError>(
        [] {
            length_mask(tensor<std::int64_t>({1, 4}), 3);
        },
        "length_mask: length 4 at position 1 is not between 0 and 3");
}
