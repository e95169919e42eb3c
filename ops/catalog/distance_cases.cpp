// Rows of the op table: distances and angles between vectors.
#include <tapestry/core/create.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/distance.h>

namespace tapestry::catalog {
namespace {

OpCase cosine_row() {
    OpCase row = op_case(
        "cosine_similarity", "",
        [](const Tensors& x) { return cosine_similarity(x[0], x[1], 1, 0.5); },
        [](const auto& x) {
            using T = std::decay_t<decltype(x[0][0])>;
            using std::sqrt;
            const Shape wide = broadcast_shapes("reference", x[0].shape, x[1].shape);
            Shape shape = wide;
            const std::int64_t n = shape[1];
            shape.erase(1);
            reference::Array<T> y(shape);
            for (std::int64_t i = 0; i < y.size(); ++i) {
                Shape at = reference::unravel(shape, i);
                at.insert(1, 0);
                T product(0), xx(0), yy(0);
                for (; at[1] < n; ++at[1]) {
                    const T a = x[0][reference::ravel_broadcast(x[0].shape, at)];
                    const T b = x[1][reference::ravel_broadcast(x[1].shape, at)];
                    product += a * b;
                    xx += a * a;
                    yy += b * b;
                }
                const auto length = [](const T& square) {
                    return square > T(0.25) ? sqrt(square) : T(0.5);
                };
                y[i] = product / (length(xx) * length(yy));
            }
            return y;
        },
        {{{{3, 5}}, {{1, 5}}},
         {{{2, 7, 3}}, {{7, 1}}},
         {{{4, 3}, -0.2, 0.2}, {{1, 3}}},
         {{{0, 3}}, {{3}}}});
    row.no_single = "the cosine of two numbers is 1 or -1";
    row.large = {{{700, 65}}, {{65}}};
    row.errors = {{[] { cosine_similarity(ones({2}), ones({3})); },
                   "cosine_similarity: shapes do not broadcast: [2] and [3]"},
                  {[] { cosine_similarity(ones({2}), ones({2}), 1); },
                   "cosine_similarity: axis 1 is outside a tensor of rank 1"},
                  {[] { cosine_similarity(ones({2}), ones({2}), 0, 0); },
                   "cosine_similarity: eps must be positive, got 0"},
                  {[] { cosine_similarity(arange(2), arange(2)); },
                   "cosine_similarity: needs floating-point numbers, got i64"}};
    return row;
}

OpCase cdist_row(const char* variant, double p) {
    OpCase row = op_case(
        "cdist", variant, [p](const Tensors& x) { return cdist(x[0], x[1], p); },
        [p](const auto& x) {
            using T = std::decay_t<decltype(x[0][0])>;
            using std::abs, std::sqrt;
            Shape shape = broadcast_shapes("reference", x[0].shape.sub(0, x[0].shape.rank() - 2),
                                           x[1].shape.sub(0, x[1].shape.rank() - 2));
            const int rank = shape.rank();
            shape.push_back(x[0].shape[x[0].shape.rank() - 2]);
            shape.push_back(x[1].shape[x[1].shape.rank() - 2]);
            reference::Array<T> y(shape);
            for (std::int64_t i = 0; i < y.size(); ++i) {
                const Shape at = reference::unravel(shape, i);
                Shape of_x = at, of_y = at;
                of_y[rank] = at[rank + 1];
                T total(0);
                for (std::int64_t k = 0; k < x[0].shape.back(); ++k) {
                    of_x[rank + 1] = of_y[rank + 1] = k;
                    const T apart = x[0][reference::ravel_broadcast(x[0].shape, of_x)] -
                                    x[1][reference::ravel_broadcast(x[1].shape, of_y)];
                    total += p == 2 ? apart * apart : abs(apart);
                }
                y[i] = p == 2 ? sqrt(total) : total;
            }
            return y;
        },
        {{{{3, 5}}, {{4, 5}}},
         {{{2, 3, 7}}, {{2, 7}}},
         {{{1, 1}}, {{1, 1}}},
         {{{0, 3}}, {{2, 3}}}});
    row.large = {{{40, 65}}, {{50, 65}}};
    return row;
}

}  // namespace

std::vector<OpCase> distance_cases() {
    std::vector<OpCase> rows{cosine_row(), cdist_row("", 2), cdist_row("p = 1", 1)};
    rows[1].errors = {{[] {
                           cdist(ones({2, 3}), ones({2, 4}));
                       },
                       "cdist: needs vectors of one size [..., P, M] and [..., R, M], got [2, 3] "
                       "and [2, 4]"},
                      {[] {
                           cdist(ones({3}), ones({2, 3}));
                       },
                       "cdist: needs vectors of one size [..., P, M] and [..., R, M], got [3] and "
                       "[2, 3]"},
                      {[] {
                           cdist(ones({2, 3}), ones({2, 3}, DType::f64));
                       },
                       "cdist: element types differ: f32 and f64"}};
    return rows;
}

}  // namespace tapestry::catalog
