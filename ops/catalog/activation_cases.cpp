#include <tapestry/core/create.h>
#include <tapestry/ops/activation.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/catalog/reference/elementwise.h>

namespace tapestry::catalog {

std::vector<OpCase> activation_cases() {
    std::vector<OpCase> rows;
    const auto add_row = [&rows](const char* name, const char* variant, auto op, auto f) {
        OpCase row = unary_case(name, variant, op, f, -4, 4);
        row.errors = {{[op] { op(arange(3)); }, fmt::format("{}: needs f32 or f64, got i64", name)},
                      {[op] { op(Tensor()); }, fmt::format("{}: got an undefined tensor", name)}};
        rows.push_back(row);
    };
    add_row("relu", "", relu, [](auto x) { return reference::relu(x); });
    add_row("silu", "", silu, [](auto x) { return reference::silu(x); });
    add_row("softplus", "", softplus, [](auto x) { return reference::softplus(x); });
    add_row(
        "gelu", "tanh", [](const Tensor& x) { return gelu(x, Gelu::tanh); },
        [](auto x) { return reference::gelu_tanh(x); });
    add_row(
        "gelu", "erf", [](const Tensor& x) { return gelu(x, Gelu::erf); },
        [](auto x) { return reference::gelu_erf(x); });
    return rows;
}

}  // namespace tapestry::catalog
