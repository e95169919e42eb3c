#include <tapestry/core/create.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/catalog/reference/scan.h>
#include <tapestry/ops/scan.h>

namespace tapestry::catalog {
namespace {

OpCase cumsum_row(const char* variant, int axis) {
    OpCase row = op_case(
        "cumsum", variant, [=](const Tensors& x) { return cumsum(x[0], axis); },
        [=](const auto& x) { return reference::cumsum(x[0], axis < 0 ? axis + 3 : axis); },
        {{{{2, 3, 5}}},
         {{{3, 20, 70}}},
         {{{1, 1, 1}}},
         {{{4, 1, 3}}},
         {{{0, 2, 3}}},
         {{{2, 3, 0}}}});
    row.large = {{{40, 60, 50}}};
    return row;
}

}  // namespace

std::vector<OpCase> scan_cases() {
    std::vector<OpCase> rows{cumsum_row("last axis", -1), cumsum_row("middle axis", 1),
                             cumsum_row("first axis", 0)};
    rows.push_back(op_case(
        "cumsum", "scalar", [](const Tensors& x) { return cumsum(x[0], 0); },
        [](const auto& x) { return x[0]; }, {{{{}}}}));
    rows.back().no_empty = "a scalar is never empty";
    rows.front().errors = {{[] {
                                cumsum(ones({2, 3}), 2);
                            },
                            "cumsum: axis 2 is outside a tensor of rank 2"},
                           {[] { cumsum(Tensor(), 0); }, "cumsum: got an undefined tensor"}};
    return rows;
}

}  // namespace tapestry::catalog
