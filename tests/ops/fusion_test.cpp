// The plain form of every fused op passes the op's rows in the table, and leaves nothing fused on
// the tape.
#include <doctest/doctest.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/ops/fusion.h>
#include <tapestry/tests/core/child.h>
#include <tapestry/tests/ops/check_case.h>
#include <tapestry/tests/skip.h>

#include <algorithm>
#include <set>

using namespace tapestry;
using namespace tapestry::test;
using catalog::all_cases, catalog::make_inputs, catalog::OpCase;

namespace {

const std::set<std::string> kFused{
    "batch_norm", "cross_entropy", "gelu",     "group_norm", "layer_norm",
    "linear",     "log_softmax",   "rms_norm", "rotary",     "scaled_dot_product_attention",
    "silu",       "softmax"};

// Batch norm with given statistics is always composed.
bool is_fused(const OpCase& row) {
    const bool is_composed = row.variant == "statistics given" ||
                             row.variant.starts_with("weight") ||
                             row.variant.starts_with("probabilities");
    return kFused.count(row.name) != 0 && !is_composed;
}

// The names on the tape for the row's first nonempty sample.
std::set<std::string> taped(const OpCase& row) {
    Tape tape;
    Tensors inputs = make_inputs(row.samples.front(), DType::f32, 1);
    for (Tensor& x : inputs) {
        if (is_floating(x.dtype())) x.set_requires_grad();
    }
    const Tensors y = row.op(inputs);
    std::set<std::string> names;
    for (const auto& op : tape.entries()) names.insert(op->name());
    return names;
}

}  // namespace

// On one instruction set, because the rows of the elementary ops are checked on all.
TEST_CASE("fusion: the plain forms pass what the table asks") {
    Effort effort = usual_effort();
    effort.isas = {effort.isas.back()};
    const FusionGuard off(false);
    for (const OpCase& row : all_cases()) {
        if (!is_fused(row)) continue;
        SUBCASE(row.title().c_str()) {
            for (const std::string& failure : check_case(row, effort)) FAIL_CHECK(failure);
        }
    }
}

TEST_CASE("fusion: on, one entry; off, elementary ones alone") {
    std::set<std::string> seen;
    for (const OpCase& row : all_cases()) {
        if (!is_fused(row)) continue;
        INFO(row.title());
        seen.insert(row.name);
        const std::string name =
            row.name == "scaled_dot_product_attention" ? "attention" : row.name;
        CHECK_EQ(taped(row).count(name), 1);
        const FusionGuard off(false);
        const auto plain = taped(row);
        CHECK_GE(plain.size(), 1);
        for (const std::string& fused : kFused) CHECK_EQ(plain.count(fused), 0);
        CHECK_EQ(plain.count("attention"), 0);
    }
    CHECK_EQ(seen, kFused);
}

TEST_CASE("fusion: child process" * doctest::skip()) {
    answer([] { return fmt::format("{}", fusion_enabled()); });
}

TEST_CASE("fusion: TAPESTRY_FUSE, and the guard") {
    CHECK(fusion_enabled());
    {
        const FusionGuard off(false);
        CHECK_FALSE(fusion_enabled());
        const FusionGuard on(true);
        CHECK(fusion_enabled());
    }
    CHECK(fusion_enabled());
    const auto ask = [](const std::string& value) {
        return ask_child("fusion: child process", "TAPESTRY_FUSE", value);
    };
    if (!ask("1")) return test::skip("no child processes here");
    CHECK_EQ(ask("1").value(), "true");
    CHECK_EQ(ask("0").value(), "false");
    for (const char* wrong : {"", "2", "no", "0 "}) {
        CHECK_EQ(ask(wrong).value(),
                 fmt::format("ValueError TAPESTRY_FUSE={}: must be 0 or 1", wrong));
    }
}
