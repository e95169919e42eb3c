#include <tapestry/ops/sampling.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/parallel.h>
#include <tapestry/ops/check.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace tapestry {
namespace {

// The weights as f64 rows [rows, categories], and the number of samples per row.
struct Draws {
    const double* weights;
    std::int64_t rows;
    std::int64_t categories;
    std::int64_t n;  // samples per row

    const double* row(std::int64_t r) const { return weights + r * categories; }
};

// ---- checks -------------------------------------------------------------------------------------

void check_row(const Draws& draws, std::int64_t r, bool replacement) {
    const double* w = draws.row(r);
    std::int64_t positive = 0;
    double sum = 0;
    for (std::int64_t k = 0; k < draws.categories; ++k) {
        require(w[k] >= 0 && std::isfinite(w[k]),
                "multinomial: weight {} of row {} is {}; weights must be finite and >= 0", k, r,
                w[k]);
        positive += w[k] > 0 ? 1 : 0;
        sum += w[k];
    }
    require(positive > 0, "multinomial: row {} has no weight above 0", r);
    require(std::isfinite(sum), "multinomial: the weights of row {} add up to infinity", r);
    require(replacement || positive >= draws.n,
            "multinomial: {} draws without replacement from the {} weights above 0 of row {}",
            draws.n, positive, r);
}

// ---- drawing ------------------------------------------------------------------------------------

// Inverse transform sampling: the first category whose running sum exceeds u times the total.
void draw_again(const Draws& draws, std::int64_t r, const double* u, std::int64_t* to) {
    const double* w = draws.row(r);
    std::vector<double> sums(static_cast<std::size_t>(draws.categories));
    double sum = 0;
    for (std::int64_t k = 0; k < draws.categories; ++k) {
        sum += w[k];
        sums[static_cast<std::size_t>(k)] = sum;
    }
    for (std::int64_t i = 0; i < draws.n; ++i) {
        auto found = std::upper_bound(sums.begin(), sums.end(), u[i] * sum);
        // u is below 1, but u times the sum may round to the sum; then take the last category with
        // a weight.
        if (found == sums.end()) found = std::lower_bound(sums.begin(), sums.end(), sum);
        to[i] = found - sums.begin();
    }
}

// Each category arrives at an exponential time of rate w; the first n to arrive are drawn, in that
// order. The latest of the n earliest so far is on top of the heap.
void draw_apart(const Draws& draws, std::int64_t r, const double* u, std::int64_t* to) {
    struct Arrival {
        double time;
        std::int64_t category;
        bool operator<(const Arrival& b) const {
            return time < b.time || (time == b.time && category < b.category);
        }
    };
    const double* w = draws.row(r);
    std::vector<Arrival> first;
    first.reserve(static_cast<std::size_t>(draws.n));
    for (std::int64_t k = 0; k < draws.categories; ++k) {
        if (w[k] == 0) continue;
        const Arrival arrival{-std::log1p(-u[k]) / w[k], k};
        if (static_cast<std::int64_t>(first.size()) == draws.n) {
            if (!(arrival < first.front())) continue;
            std::pop_heap(first.begin(), first.end());
            first.back() = arrival;
        } else {
            first.push_back(arrival);
        }
        std::push_heap(first.begin(), first.end());
    }
    std::sort_heap(first.begin(), first.end());
    for (const Arrival& arrival : first) *to++ = arrival.category;
}

}  // namespace

Tensor multinomial(const Tensor& weights, std::int64_t n, bool replacement, Generator& generator) {
    check_floating("multinomial", weights);
    require<ShapeError>(weights.rank() > 0, "multinomial: needs weights [..., K], got []");
    require(n >= 1, "multinomial: needs at least 1 draw, got {}", n);
    const std::int64_t categories = weights.shape().back();
    Shape shape = weights.shape();
    shape.back() = n;
    Shape one_each = shape;
    one_each.back() = 1;
    const std::int64_t rows = numel(one_each);
    const Tensor in_f64 = dense(cast(weights, DType::f64));
    const Draws draws{in_f64.data<double>(), rows, categories, n};
    for (std::int64_t r = 0; r < rows; ++r) check_row(draws, r, replacement);

    const bool race = !replacement && n > 1;
    const std::int64_t per_row = race ? categories : n;
    const Tensor uniform = rand({rows, per_row}, generator, DType::f64);
    const double* u = uniform.data<double>();
    Tensor result(shape, DType::i64);
    auto* to = result.mutable_data<std::int64_t>();
    const auto draw_row = race ? draw_apart : draw_again;
    parallel_for_chunks(rows,
                        [&](std::int64_t r) { draw_row(draws, r, u + r * per_row, to + r * n); });
    return result;
}

}  // namespace tapestry
