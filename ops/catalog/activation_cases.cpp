#include <tapestry/core/create.h>
#include <tapestry/ops/activation.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/catalog/reference/elementwise.h>

namespace tapestry::catalog {
namespace {

OpCase glu_row() {
    OpCase row = op_case(
        "glu", "axis 1", [](const Tensors& x) { return glu(x[0], 1); },
        [](const auto& x) {
            auto y = x[0];
            y.shape[1] /= 2;
            y.data.resize(static_cast<std::size_t>(numel(y.shape)));
            for (std::int64_t i = 0; i < y.size(); ++i) {
                Shape at = reference::unravel(y.shape, i);
                const auto a = x[0][reference::ravel_broadcast(x[0].shape, at)];
                at[1] += y.shape[1];
                const auto b = x[0][reference::ravel_broadcast(x[0].shape, at)];
                using T = std::decay_t<decltype(a)>;
                y[i] = a / (T(1) + exp(-b));
            }
            return y;
        },
        {{{{3, 4, 5}}}, {{{2, 2}}}, {{{1, 20, 7}}}, {{{2, 0, 3}}}});
    row.no_single = "it has two halves";
    row.large = {{{70, 200, 9}}};
    row.errors = {{[] {
                       glu(ones({2, 3}));
                   },
                   "glu: the size 3 of axis -1 of [2, 3] is odd"},
                  {[] { glu(ones({2}), 1); }, "glu: axis 1 is outside a tensor of rank 1"},
                  {[] { glu(arange(4)); }, "glu: needs floating-point numbers, got i64"}};
    return row;
}

}  // namespace

std::vector<OpCase> activation_cases() {
    std::vector<OpCase> rows;
    const auto add_row = [&rows](const char* name, const char* variant, auto op, auto f,
                                 double reach = 4) {
        OpCase row = unary_case(name, variant, op, f, -reach, reach);
        row.errors = {{[op] { op(arange(3)); },
                       fmt::format("{}: needs floating-point numbers, got i64", name)},
                      {[op] { op(Tensor()); }, fmt::format("{}: got an undefined tensor", name)}};
        rows.push_back(row);
    };
    add_row("relu", "", relu, [](auto x) { return reference::relu(x); });
    add_row("relu_squared", "", relu_squared, [](auto x) { return reference::relu_squared(x); });
    add_row("silu", "", silu, [](auto x) { return reference::silu(x); });
    add_row("softplus", "", softplus, [](auto x) { return reference::softplus(x); });
    add_row(
        "gelu", "tanh", [](const Tensor& x) { return gelu(x, Gelu::tanh); },
        [](auto x) { return reference::gelu_tanh(x); });
    add_row(
        "gelu", "erf", [](const Tensor& x) { return gelu(x, Gelu::erf); },
        [](auto x) { return reference::gelu_erf(x); });
    add_row("logsigmoid", "", logsigmoid, [](auto x) { return -reference::softplus(-x); });
    add_row("softsign", "", softsign, [](auto x) { return reference::softsign(x); });
    add_row("mish", "", mish, [](auto x) { return reference::mish(x); });
    add_row(
        "leaky_relu", "", [](const Tensor& x) { return leaky_relu(x); },
        [](auto x) { return reference::leaky_relu(x, 0.01); });
    add_row(
        "leaky_relu", "slope 0.3", [](const Tensor& x) { return leaky_relu(x, 0.3); },
        [](auto x) { return reference::leaky_relu(x, 0.3); });
    add_row(
        "elu", "", [](const Tensor& x) { return elu(x); },
        [](auto x) { return reference::elu(x, 1); });
    add_row(
        "elu", "alpha 0.6", [](const Tensor& x) { return elu(x, 0.6); },
        [](auto x) { return reference::elu(x, 0.6); });
    add_row(
        "relu6", "", relu6, [](auto x) { return reference::clamp(x, 0, 6); }, 9);
    add_row(
        "hardtanh", "", [](const Tensor& x) { return hardtanh(x); },
        [](auto x) { return reference::clamp(x, -1, 1); });
    rows.back().errors.push_back(
        {[] { hardtanh(ones({2}), 2, 1); }, "hardtanh: low must be at most high, got 2 and 1"});
    add_row(
        "hardswish", "", hardswish,
        [](auto x) { return x * reference::clamp(x + decltype(x)(3), 0, 6) / decltype(x)(6); }, 5);
    add_row("selu", "", selu, [](auto x) {
        return decltype(x)(1.0507009873554805) * reference::elu(x, 1.6732632423543772);
    });
    rows.push_back(glu_row());
    return rows;
}

}  // namespace tapestry::catalog
