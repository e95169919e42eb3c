#include <tapestry/tests/ops/range_rows.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace tapestry::test {
namespace {

const char* text_of(Relative relative) {
    switch (relative) {
        case Relative::to_result: return "the result";
        case Relative::to_argument: return "the larger of the result and x";
        case Relative::to_small_argument: return "the larger of the result and min(x, 1)";
        case Relative::to_one: return "the larger of the result and 1";
        case Relative::to_pole: return "the largest of the result, min(x, 1) and 2^-40 y^2";
    }
    return "";
}

// "0.5" for 0.502, which allows for a result rounded from one that was not exact
std::string units(double bound) { return fmt::format("{:.2g}", bound); }

std::string elementwise_table() {
    std::vector<std::pair<std::string, std::vector<std::string>>> groups;  // bounds, functions
    for (const RangeRow& row : range_rows()) {
        const std::string bounds =
            fmt::format("{} | {} | {} | {}", units(row.units_f32), units(row.units_f64),
                        units(row.units_half), text_of(row.relative));
        const std::string title =
            row.variant.empty() ? row.name : fmt::format("{} ({})", row.name, row.variant);
        const auto same = [&](const auto& group) { return group.first == bounds; };
        const auto group = std::find_if(groups.begin(), groups.end(), same);
        if (group != groups.end()) {
            group->second.push_back(title);
        } else {
            groups.push_back({bounds, {title}});
        }
    }
    std::string text;
    for (const auto& [bounds, names] : groups) {
        text += fmt::format("| {} | {} |\n", fmt::join(names, ", "), bounds);
    }
    return text;
}

}  // namespace

const std::vector<VectorBound>& vector_bounds() {
    static const std::vector<VectorBound> all{
        {"sum", 4, "the sum of absolute values"},
        {"mean", 4, "the mean of absolute values"},
        {"var", 8, "var + mean^2 2^-24 (f32; the larger of this and the result in f64)"},
        {"stddev", 8, "stddev + mean^2 2^-24 / stddev (likewise)"},
        {"logsumexp", 4, "the result"},
        {"softmax", 4, "1"},
        {"log_softmax", 4, "the largest absolute value"},
        {"quantile", 2, "the largest absolute value"},
        {"cross_entropy", 4, "the largest absolute value"},
        {"norm", 4, "the result"},
        {"norm, gradient", 8, "1"},
        {"layer_norm", 40, "the largest result"},
        {"rms_norm", 8, "the largest result"},
        {"batch_norm", 40, "the largest result"},
        {"group_norm", 40, "the largest result"},
    };
    return all;
}

const std::vector<ClassicalBound>& classical_bounds() {
    static const std::vector<ClassicalBound> all{
        {"\\|y - exact\\| <= n u A: n terms, with the sum A of their absolute values",
         {"avg_pool1d",       "avg_pool2d",       "bmm",    "conv1d",    "conv2d",
          "conv_transpose1d", "conv_transpose2d", "cumsum", "dot",       "einsum",
          "linear",           "matmul",           "mm",     "mv",        "outer",
          "rotary",           "scatter_add",      "sum_to", "tensordot", "trace"}},
        {"\\|y - exact\\| <= n u \\|y\\|: n factors, also where partial products leave the range",
         {"prod", "cumprod"}},
        {"\\|w - exact\\| <= (2 d + (T + 12) u) w: T keys, scores within d = (D + 1) u scale "
         "\\|q\\| \\|k\\|, the sum of D absolute values (f32, f64)",
         {"attention_weights"}},
        {"\\|y - exact\\| <= (2 d + (2 T + 12) u) sum w \\|v\\|, likewise",
         {"scaled_dot_product_attention"}},
        {"\\|b - a x\\| <= 3 N u \\|a\\| \\|x\\|, in the norm of the largest row (f32, f64)",
         {"solve"}},
        {"\\|1 - a y\\| <= 3 N u \\|a\\| \\|y\\|, likewise", {"inverse"}},
        {"exact for a matrix within 3 N u \\|a\\| of a, likewise", {"det", "logdet"}},
        {"\\|a - y y^T\\| <= 3 N u \\|a\\| for the symmetric part of a, likewise", {"cholesky"}},
        {"\\|a - x y\\| <= 10 M u \\|a\\| for the product of the factors, and \\|1 - x^T x\\| <= "
         "10 M u "
         "for orthonormal columns x, likewise",
         {"qr", "eigh", "svd"}},
    };
    return all;
}

const std::vector<WithoutRow>& without_row() {
    static const std::vector<WithoutRow> all{
        {"move, choose or count numbers, or compare them: exact",
         {"all",
          "any",
          "argmax",
          "argmin",
          "argsort",
          "bincount",
          "cat",
          "chunk",
          "concat",
          "contiguous",
          "count_nonzero",
          "diag",
          "diagonal",
          "embedding",
          "eq",
          "expand",
          "flatten",
          "flip",
          "gather",
          "ge",
          "gt",
          "index",
          "index_put",
          "index_select",
          "isfinite",
          "isinf",
          "isnan",
          "kthvalue",
          "le",
          "logical_and",
          "logical_not",
          "logical_or",
          "logical_xor",
          "lt",
          "masked_fill",
          "masked_select",
          "max",
          "max_pool1d",
          "max_pool2d",
          "max_with_indices",
          "median",
          "meshgrid",
          "min",
          "min_with_indices",
          "movedim",
          "multinomial",
          "nan_to_num",
          "narrow",
          "ne",
          "nonzero",
          "one_hot",
          "pad",
          "permute",
          "pixel_shuffle",
          "pixel_unshuffle",
          "repeat",
          "repeat_interleave",
          "reshape",
          "roll",
          "scatter",
          "searchsorted",
          "select",
          "slice",
          "sort",
          "split",
          "squeeze",
          "stack",
          "swapaxes",
          "tile",
          "to",
          "topk",
          "transpose",
          "tril",
          "triu",
          "unbind",
          "unfold",
          "unique",
          "unsqueeze",
          "where"}},
        {"weighted means of four pixels, with weights rounded at the size of their position",
         {"interpolate"}},
        {"minus the number that the target chooses: exact, and means as above", {"nll_loss"}},
        {"0 or a product with 1 / (1 - p), which is rounded first", {"dropout"}},
        {"compared in double", {"histc", "isclose"}},
        {"sums of exponentials in double, rounded once", {"ctc_loss"}},
        {"those of linear, for each product and their sum", {"low_rank_linear"}},
        {"those of linear and cross_entropy, one after the other", {"linear_cross_entropy"}},
        {"composed of functions above, in the range in which the parts are",
         {"adaptive_avg_pool2d", "cdist", "cosine_similarity", "diff", "glu", "hardswish",
          "instance_norm", "kl_div", "lerp", "logit", "quantile_loss", "selu"}},
    };
    return all;
}

std::string accuracy_section() {
    std::string text = R"(
## Range and accuracy

Every function holds its bound over the whole range of its type, from the smallest subnormal number to the
largest, at zeros, infinities and NaN, and near cancellation, on every instruction set. A unit is one in the last
place of the number that the last column names, of the type of the result; results below the smallest normal number
may be 0 instead. Infinities and NaN are C's (C11, annex F), and limits where C has no such function: `silu(-inf)` is
0. bf16 and f16 are computed in f32 and rounded once (0.5), in composed functions after every part. What NaN and
infinities do to a training run is in [nan_and_limits.md](nan_and_limits.md).

The bounds below are those of `tests/ops/range_test.cpp` and `range_vectors_test.cpp`, which compare with long
double (for 16 bits all 65,536 numbers); `TAPESTRY_SWEEP=print build/release/tests/test_ops --test-case='range*'`
prints the worst that is found.

| function | f32 | f64 | bf16, f16 | unit in the last place of |
|---|---|---|---|---|
)";
    text += elementwise_table();
    text += R"(
Of vectors whose numbers, squares or sums leave the range, with means up to a million deviations from zero:

| function | f32, f64 | unit in the last place of |
|---|---|---|
)";
    for (const VectorBound& bound : vector_bounds()) {
        text += fmt::format("| {} | {} | {} |\n", bound.name, bound.units, bound.measured_at);
    }
    text += R"(
Of products, sums and eliminations, with u = 2^-24 in f32, bf16 and f16 and 2^-53 in f64; bf16 and f16 are rounded once
more at the end. A sum that overflows before its end gives inf or NaN:

| function | bound |
|---|---|
)";
    for (const ClassicalBound& group : classical_bounds()) {
        text += fmt::format("| {} | {} |\n", fmt::join(group.names, ", "), group.bound);
    }
    text += R"(
With `TAPESTRY_FUSE=0` activations and norms are composed of elementary functions: silu and gelu are NaN at -inf, and gelu
needs numbers whose cubes are in range, norms numbers whose squares are, with means up to 1000 deviations from zero. There
they hold 8 times the bounds above.
)";
    text += "\nThe other functions:\n\n";
    for (const WithoutRow& group : without_row()) {
        text += fmt::format("- {}: {}.\n", group.reason, fmt::join(group.names, ", "));
    }
    return text;
}

}  // namespace tapestry::test
