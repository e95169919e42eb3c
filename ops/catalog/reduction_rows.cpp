#include <tapestry/ops/catalog/reduction_rows.h>

#include <tapestry/core/create.h>

#include <algorithm>

namespace tapestry::catalog {
namespace {

bool reduces_nothing(const Shape& shape, const Axes& axes) {
    if (axes.empty()) return numel(shape) == 0;
    return std::any_of(axes.begin(), axes.end(),
                       [&](int axis) { return shape[axis < 0 ? axis + shape.rank() : axis] == 0; });
}

// Shapes in which `axes` of rank 3 are trailing, leading, in the middle or not adjacent; and edge
// cases.
std::vector<Sample> samples_for(const Axes& axes, OfNothing of_nothing) {
    std::vector<Sample> samples{{{{2, 3, 5}}}, {{{3, 70, 37}}}, {{{1, 1, 1}}}, {{{3, 1, 4}}}};
    if (axes.empty()) {
        samples.push_back({{{}}});
        samples.push_back({{{2100}}});
    }
    for (const Shape& shape : {Shape{0, 2, 3}, Shape{2, 0, 3}, Shape{2, 3, 0}}) {
        if (of_nothing == OfNothing::number || !reduces_nothing(shape, axes)) {
            samples.push_back({{shape}});
        }
    }
    return samples;
}

}  // namespace

OpCase reduction_row(const char* name, const char* variant, const Axes& axes, bool keepdim,
                     const ReductionFunction& op, const Generic<OfNumbers>& f,
                     OfNothing of_nothing) {
    Axes from_start = axes;
    for (int& axis : from_start) axis = axis < 0 ? axis + 3 : axis;
    OpCase row = op_case(
        name, variant, [=](const Tensors& x) { return op(x[0], axes, keepdim); },
        [=](const auto& x) { return reference::reduce(x[0], from_start, keepdim, f); },
        samples_for(axes, of_nothing));
    const bool never = of_nothing == OfNothing::no_number && axes.empty();
    if (never) row.no_empty = "there is no result for no numbers; see reduction_test.cpp";
    row.large = {{{40, 60, 50}}};
    const std::string prefix = std::string(name) + ": ";
    row.errors = {{[=] {
                       op(ones({2, 3}), {2}, false);
                   },
                   prefix + "axis 2 is outside a tensor of rank 2"},
                  {[=] {
                       op(ones({2, 3}), {1, -1}, false);
                   },
                   prefix + "axis -1 is named twice"},
                  {[=] { op(Tensor(), {}, false); }, prefix + "got an undefined tensor"}};
    return row;
}

void add_rows(std::vector<OpCase>& rows, const char* name, const ReductionFunction& op,
              const Generic<OfNumbers>& f, OfNothing of_nothing) {
    rows.push_back(reduction_row(name, "all axes", {}, false, op, f, of_nothing));
    rows.push_back(reduction_row(name, "last axis, keepdim", {-1}, true, op, f, of_nothing));
    rows.push_back(reduction_row(name, "leading axes", {0, 1}, false, op, f, of_nothing));
    rows.push_back(reduction_row(name, "middle axis", {1}, false, op, f, of_nothing));
    rows.push_back(reduction_row(name, "first and last axis", {0, 2}, true, op, f, of_nothing));
}

ErrorCase needs_floating(const std::string& name, const std::function<void()>& call) {
    return {call, name + ": needs floating-point numbers, got i64"};
}

}  // namespace tapestry::catalog
