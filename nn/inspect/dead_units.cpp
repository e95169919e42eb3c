#include <tapestry/nn/inspect/dead_units.h>

#include <tapestry/core/copy.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace tapestry {
namespace {

// Per unit: is it other than 0 in some row? NaN is.
std::vector<bool> moved(const Tensor& gradient, std::int64_t units) {
    std::vector<bool> moved(static_cast<std::size_t>(units), false);
    const Tensor g = dense(gradient);
    visit_dtype(g.dtype(), [&](auto zero) {
        const auto* values = g.data<decltype(zero)>();
        for (std::int64_t i = 0; i < g.numel(); ++i) {
            if (values[i] != zero) moved[static_cast<std::size_t>(i % units)] = true;
        }
    });
    return moved;
}

}  // namespace

bool is_activation(const Op& op) {
    static constexpr std::array<std::string_view, 7> kNames{
        "relu", "relu_squared", "gelu", "silu", "softplus", "tanh", "sigmoid"};
    return std::find(kNames.begin(), kNames.end(), op.name()) != kNames.end();
}

UnitCounts count_units(const Tensor& output_gradient, const Tensor& input_gradient) {
    const std::int64_t units = output_gradient.rank() > 0 ? output_gradient.size(-1) : 1;
    if (units == 0) return {};
    UnitCounts counts{.rows = output_gradient.numel() / units, .units = units};
    const std::vector<bool> came = moved(output_gradient, units);
    const std::vector<bool> went_on = moved(input_gradient, units);
    for (std::size_t unit = 0; unit < came.size(); ++unit) {
        counts.unreached += came[unit] ? 0 : 1;
        counts.dead += came[unit] && !went_on[unit] ? 1 : 0;
    }
    return counts;
}

}  // namespace tapestry
