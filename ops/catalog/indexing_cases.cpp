// Rows of the op table: reading and adding by index. Definitions: reference/indexing.h.
#include <tapestry/core/create.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/catalog/reference/indexing.h>
#include <tapestry/ops/indexing.h>

namespace tapestry::catalog {
namespace {

Tensor ids_of(std::initializer_list<std::int64_t> ids) { return tensor<std::int64_t>(ids); }

OpCase embedding_row() {
    OpCase row = op_case(
        "embedding", "", [](const Tensors& x) { return embedding(x[0], x[1]); },
        [](const auto& x) { return reference::embedding(x[0], x[1]); },
        {{{{5, 3}}, indices({2, 4}, 5)},
         {{{2, 70}}, indices({9}, 2)},
         {{{1, 1}}, indices({}, 1)},
         {{{3, 2}}, indices({0, 2}, 3)},
         {{{3, 0}}, indices({2}, 3)}});
    row.large = {{{65, 200}}, indices({900}, 65)};
    row.errors = {{[] {
                       embedding(ones({5, 3}), tensor<std::int64_t>({{0, 1}, {2, 7}}));
                   },
                   "embedding: ids[1, 1] = 7 is not an index from 0 to 4"},
                  {[] {
                       embedding(ones({5, 3}), ids_of({0, -1}));
                   },
                   "embedding: ids[1] = -1 is not an index from 0 to 4"},
                  {[] { embedding(ones({5}), ids_of({0})); },
                   "embedding: the weight must be [V, C], got [5]"},
                  {[] {
                       embedding(ones({5, 3}), ones({2}));
                   },
                   "embedding: needs i64, got f32"},
                  {[] { embedding(arange(3), ids_of({0})); },
                   "embedding: needs floating-point numbers, got i64"},
                  {[] {
                       embedding(ones({5, 3}), Tensor());
                   },
                   "embedding: got an undefined tensor"}};
    return row;
}

// The padding's row has no gradient although the result depends on it, which no difference
// confirms: tests/nn/replaced_modules_test.cpp checks the gradient.
OpCase padding_row() {
    OpCase row = op_case(
        "embedding", "padding_idx 1", [](const Tensors& x) { return embedding(x[0], x[1], 1); },
        [](const auto& x) { return reference::embedding(x[0], x[1]); },
        {{{{5, 3}}, indices({2, 4}, 5)},
         {{{2, 1}}, indices({1}, 2)},
         {{{3, 2}}, indices({0, 2}, 3)}});
    row.differentiable = false;
    row.errors = {{[] {
                       embedding(ones({5, 3}), ids_of({0}), 5);
                   },
                   "embedding: padding_idx 5 is not an index from 0 to 4"}};
    return row;
}

OpCase index_select_row() {
    OpCase row = op_case(
        "index_select", "", [](const Tensors& x) { return index_select(x[0], -2, x[1]); },
        [](const auto& x) { return reference::index_select(x[0], x[0].shape.rank() - 2, x[1]); },
        {{{{5, 3}}, indices({7}, 5)},
         {{{2, 4, 66}}, indices({3}, 4)},
         {{{1, 1}}, indices({1}, 1)},
         {{{3, 2}}, indices({0}, 3)},
         {{{2, 3, 0}}, indices({2}, 3)}});
    row.large = {{{3, 40, 200}}, indices({300}, 40)};
    row.errors = {
        {[] {
             index_select(ones({5, 3}), 1, ids_of({0, 3}));
         },
         "index_select: ids[1] = 3 is outside axis 1 of [5, 3]"},
        {[] {
             index_select(ones({5, 3}), -2, ids_of({0, -1}));
         },
         "index_select: ids[1] = -1 is outside axis 0 of [5, 3]; ids do not count from the end"},
        {[] { index_select(ones({5}), 1, ids_of({0})); },
         "index_select: axis 1 is outside a tensor of rank 1"},
        {[] {
             index_select(ones({5}), 0, tensor<std::int64_t>({{0, 1}}));
         },
         "index_select: ids must be a vector, got [1, 2]; see gather"},
        {[] { index_select(ones({5}), 0, ones({2})); }, "index_select: needs i64, got f32"},
        {[] { index_select(Tensor(), 0, ids_of({0})); }, "index_select: got an undefined tensor"}};
    return row;
}

OpCase gather_row(int axis, const char* variant) {
    OpCase row = op_case(
        "gather", variant, [axis](const Tensors& x) { return gather(x[0], axis, x[1]); },
        [axis](const auto& x) { return reference::gather(x[0], axis, x[1]); },
        axis == 0 ? std::vector<Sample>{{{{5, 3}}, indices({4, 2}, 5)},
                                        {{{4}}, indices({9}, 4)},
                                        {{{3, 2, 5}}, indices({4, 2, 3}, 3)},
                                        {{{1}}, indices({1}, 1)},
                                        {{{3, 2}}, indices({0, 2}, 3)}}
                  : std::vector<Sample>{{{{5, 3}}, indices({4, 6}, 3)},
                                        {{{3, 4, 5}}, indices({3, 2, 5}, 4)},
                                        {{{1, 1}}, indices({1, 1}, 1)},
                                        {{{3, 2}}, indices({3, 0}, 2)}});
    row.large = {{{300, 200}}, indices({300, 200}, 200)};
    row.errors = {{[] {
                       gather(ones({2, 3}), 1, tensor<std::int64_t>({{0, 3}}));
                   },
                   "gather: ids[0, 1] = 3 is outside axis 1 of [2, 3]"},
                  {[] {
                       gather(ones({2, 3}), 1, zeros({3, 1}, DType::i64));
                   },
                   "gather: ids [3, 1] do not fit [2, 3]: the same rank, no larger but on axis 1"},
                  {[] {
                       gather(ones({2, 3}), 1, ids_of({0}));
                   },
                   "gather: ids [1] do not fit [2, 3]"},
                  {[] {
                       gather(ones({2, 3}), 2, ids_of({0}));
                   },
                   "gather: axis 2 is outside a tensor of rank 2"},
                  {[] { gather(ones({2}), 0, ones({2})); }, "gather: needs i64, got f32"},
                  {[] { gather(Tensor(), 0, ids_of({0})); }, "gather: got an undefined tensor"}};
    return row;
}

OpCase scatter_add_row() {
    OpCase row = op_case(
        "scatter_add", "", [](const Tensors& x) { return scatter_add(x[0], 0, x[1], x[2]); },
        [](const auto& x) { return reference::scatter_add(x[0], 0, x[1], x[2]); },
        {{{{5, 3}}, indices({4, 2}, 5), {{4, 2}}},
         {{{5, 3}}, indices({4, 2}, 5), {{6, 3}}},
         {{{3, 2, 2}}, indices({4, 2, 1}, 3), {{4, 2, 2}}},
         {{{1}}, indices({1}, 1), {{1}}},
         {{{3, 2}}, indices({0, 2}, 3), {{0, 2}}}});
    row.large = {{{200, 300}}, indices({200, 300}, 200), {{200, 300}}};
    const auto wrong = [](const Tensor& x, const Tensor& ids, const Tensor& source) {
        return [=] { scatter_add(x, 0, ids, source); };
    };
    row.errors = {
        {wrong(ones({2}), ids_of({0, 2}), ones({2})),
         "scatter_add: ids[1] = 2 is outside axis 0 of [2]"},
        {wrong(ones({2}), ids_of({0, 1}), ones({1})),
         "scatter_add: ids [2] are larger than the source [1]"},
        {wrong(ones({2}), ids_of({0, 1}), ones({2}, DType::f64)),
         "scatter_add: element types differ: f32 and f64"},
        {wrong(ones({2, 2}), ids_of({0}), ones({2})), "scatter_add: ids [1] do not fit [2, 2]"},
        {wrong(arange(2), ids_of({0}), arange(2)),
         "scatter_add: needs floating-point numbers, got i64"},
        {wrong(ones({2}), ones({2}), ones({2})), "scatter_add: needs i64, got f32"},
        {wrong(ones({2}), ids_of({0}), Tensor()), "scatter_add: got an undefined tensor"}};
    return row;
}

OpCase scatter_row(int axis) {
    OpCase row = op_case(
        "scatter", fmt::format("axis {}", axis),
        [axis](const Tensors& x) { return scatter(x[0], axis, x[1], x[2]); },
        [axis](const auto& x) { return reference::scatter(x[0], axis, x[1], x[2]); },
        axis == 0 ? std::vector<Sample>{{{{5, 3}}, indices({4, 2}, 5), {{4, 2}}},
                                        {{{5, 3}}, indices({4, 2}, 5), {{6, 3}}},
                                        {{{1}}, indices({1}, 1), {{1}}},
                                        {{{3, 2}}, indices({0, 2}, 3), {{0, 2}}}}
                  : std::vector<Sample>{{{{5, 3, 2}}, indices({4, 7, 2}, 3), {{4, 7, 2}}},
                                        {{{1, 1}}, indices({1, 3}, 1), {{1, 3}}},
                                        {{{3, 2}}, indices({3, 0}, 2), {{3, 0}}}});
    row.large = {{{200, 300}}, indices({200, 300}, 200), {{200, 300}}};
    const auto wrong = [](const Tensor& x, const Tensor& ids, const Tensor& source) {
        return [=] { scatter(x, 0, ids, source); };
    };
    row.errors = {
        {wrong(ones({2}), ids_of({0, 2}), ones({2})),
         "scatter: ids[1] = 2 is outside axis 0 of [2]"},
        {wrong(ones({2}), ids_of({0, 1}), ones({1})),
         "scatter: ids [2] are larger than the source [1]"},
        {wrong(ones({2}), ids_of({0, 1}), arange(2)), "scatter: element types differ: f32 and i64"},
        {wrong(ones({2, 2}), ids_of({0}), ones({2})), "scatter: ids [1] do not fit [2, 2]"},
        {wrong(ones({2}), ones({2}), ones({2})), "scatter: needs i64, got f32"},
        {wrong(ones({2}), ids_of({0}), Tensor()), "scatter: got an undefined tensor"},
        {[] { scatter(ones({2}), 1, ids_of({0}), 1); },
         "scatter: axis 1 is outside a tensor of rank 1"},
        {[] { scatter(arange(2), 0, ids_of({0}), 0.5); },
         "scatter: 0.5 is not a 64-bit integer, but the tensor is i64"}};
    return row;
}

OpCase scatter_value_row() {
    return op_case(
        "scatter", "value", [](const Tensors& x) { return scatter(x[0], -1, x[1], 1.5); },
        [](const auto& x) {
            auto values = x[1];
            for (auto& value : values.data) value = 1.5;
            return reference::scatter(x[0], x[0].shape.rank() - 1, x[1], values);
        },
        {{{{5, 3}}, indices({4, 2}, 3)}, {{{1}}, indices({1}, 1)}, {{{3, 2}}, indices({3, 0}, 2)}});
}

OpCase one_hot_row() {
    OpCase row = op_case(
        "one_hot", "", [](const Tensors& x) { return one_hot(x[0], 4, DType::f64); },
        [](const auto& x) { return reference::one_hot(x[0], 4); },
        {{indices({2, 3}, 4)}, {indices({1}, 4)}, {indices({}, 4)}, {indices({0, 2}, 4)}});
    row.differentiable = false;
    row.errors = {
        {[] { one_hot(ids_of({4}), 4); }, "one_hot: ids[0] = 4 is not an index from 0 to 3"},
        {[] { one_hot(ids_of({0}), -1); }, "one_hot: classes must be >= 0, got -1"},
        {[] { one_hot(ones({2}), 4); }, "one_hot: needs i64, got f32"},
        {[] { one_hot(Tensor(), 4); }, "one_hot: got an undefined tensor"}};
    return row;
}

}  // namespace

std::vector<OpCase> indexing_cases() {
    return {embedding_row(),         padding_row(),  index_select_row(), gather_row(0, "axis 0"),
            gather_row(1, "axis 1"), scatter_row(0), scatter_row(1),     scatter_value_row(),
            scatter_add_row(),       one_hot_row()};
}

}  // namespace tapestry::catalog
