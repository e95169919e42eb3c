// LSH attention by its definition, in plain loops. Used by lsh_attention_test.cpp.
#pragma once

#include <tapestry/nn/attention/lsh_attention.h>
#include <tapestry/tests/nn/efficient_attention.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

namespace tapestry::test {

using Doubles = std::vector<double>;

// argmax([x W; -x W]), a digit for every factor of 16; `matrix` is [D, columns].
inline std::int64_t bucket_of(const double* x, std::int64_t width, const double* matrix,
                              std::int64_t columns, std::int64_t buckets) {
    std::int64_t bucket = 0, first = 0;
    for (std::int64_t left = buckets; left > 1;) {
        const std::int64_t digit = std::min<std::int64_t>(left, 16);
        std::int64_t best = 0;
        double most = -INFINITY;
        for (std::int64_t candidate = 0; candidate < digit; ++candidate) {
            double product = 0;
            for (std::int64_t d = 0; d < width; ++d) {
                product += x[d] * matrix[d * columns + first + candidate % (digit / 2)];
            }
            if (candidate >= digit / 2) product = -product;
            if (product > most) {
                most = product;
                best = candidate;
            }
        }
        bucket = bucket * digit + best;
        left /= digit;
        first += digit / 2;
    }
    return bucket;
}

// The chunk of each position in the order by bucket and position.
inline std::vector<std::int64_t> chunks_of(const std::vector<std::int64_t>& buckets,
                                           std::int64_t chunk) {
    std::vector<std::int64_t> order(buckets.size()), chunks(buckets.size());
    std::iota(order.begin(), order.end(), 0);
    const auto less = [&](std::int64_t i, std::int64_t j) {
        const auto a = buckets[static_cast<std::size_t>(i)];
        const auto b = buckets[static_cast<std::size_t>(j)];
        return a != b ? a < b : i < j;
    };
    std::sort(order.begin(), order.end(), less);
    for (std::size_t place = 0; place < order.size(); ++place) {
        chunks[static_cast<std::size_t>(order[place])] = static_cast<std::int64_t>(place) / chunk;
    }
    return chunks;
}

// In how many rounds a position of a head [S, D] sees another: [S, S]. Itself only if there is
// nothing else.
inline Doubles times_seen(const LSHAttention& form, const Doubles& x, const std::vector<bool>& seen,
                          std::int64_t chunk, bool causal) {
    const auto length = static_cast<std::int64_t>(seen.size());
    const std::int64_t width = form.rotations.size(1), columns = form.rotations.size(2);
    const Doubles matrices = form.rotations.to_vector<double>();
    const std::int64_t buckets = form.buckets(length);
    Doubles times(seen.size() * seen.size(), 0);
    for (std::int64_t round = 0; round < form.rotations.size(0); ++round) {
        std::vector<std::int64_t> hashed;
        for (std::int64_t i = 0; i < length; ++i) {
            hashed.push_back(!seen[static_cast<std::size_t>(i)]
                                 ? buckets
                                 : bucket_of(x.data() + i * width, width,
                                             matrices.data() + round * width * columns, columns,
                                             buckets));
        }
        const auto chunks = chunks_of(hashed, std::min(chunk, length));
        for (std::size_t i = 0; i < seen.size(); ++i) {
            for (std::size_t j = 0; j < seen.size(); ++j) {
                const std::int64_t back = chunks[i] - chunks[j];
                const bool near = back == 0 || back == 1;
                if (near && seen[j] && i != j && (!causal || j < i)) times[i * seen.size() + j]++;
            }
        }
    }
    for (std::size_t i = 0; i < seen.size(); ++i) {
        const auto row = times.begin() + static_cast<std::ptrdiff_t>(i * seen.size());
        const bool alone = std::all_of(row, row + static_cast<std::ptrdiff_t>(length),
                                       [](double n) { return n == 0; });
        if (alone && seen[i]) times[i * seen.size() + i] = 1;
    }
    return times;
}

// sum_j n_ij e^s_ij v_j / sum_j n_ij e^s_ij for one head: [S, E].
inline Doubles attended(const Doubles& times, const Doubles& x, const Doubles& v,
                        std::size_t length, double scale) {
    const std::size_t width = kWidth, values = kValues;
    Doubles y(length * values, 0);
    for (std::size_t i = 0; i < length; ++i) {
        double total = 0;
        for (std::size_t j = 0; j < length; ++j) {
            double product = 0, square = 0;
            for (std::size_t d = 0; d < width; ++d) {
                product += x[i * width + d] * x[j * width + d];
                square += x[j * width + d] * x[j * width + d];
            }
            const double weight =
                times[i * length + j] * std::exp(scale * product / std::sqrt(square));
            total += weight;
            for (std::size_t e = 0; e < values; ++e)
                y[i * values + e] += weight * v[j * values + e];
        }
        for (std::size_t e = 0; e < values; ++e) {
            if (total > 0) y[i * values + e] /= total;
        }
    }
    return y;
}

struct Defined {
    Doubles times;  // [B, H, S, S]
    Doubles y;      // [B, H, S, E]
};

inline Defined by_loops(const LSHAttention& form, const Tensor& x, const Tensor& v,
                        std::int64_t chunk, const AttentionOptions& options) {
    const std::int64_t length = x.size(2);
    Defined all;
    for (std::int64_t b = 0; b < kBatch; ++b) {
        std::vector<bool> seen(static_cast<std::size_t>(length), true);
        for (std::int64_t j = 0; options.mask.defined() && j < length; ++j) {
            seen[static_cast<std::size_t>(j)] = options.mask.at({b, 0, 0, j}) != 0;
        }
        for (std::int64_t h = 0; h < kHeads; ++h) {
            const auto head = [&](const Tensor& of) {
                return views::slice(views::slice(of, 0, b, b + 1), 1, h, h + 1).to_vector<double>();
            };
            const Doubles times = times_seen(form, head(x), seen, chunk, options.causal);
            const Doubles y = attended(times, head(x), head(v), seen.size(),
                                       options.scale.value_or(1 / std::sqrt(kWidth)));
            all.times.insert(all.times.end(), times.begin(), times.end());
            all.y.insert(all.y.end(), y.begin(), y.end());
        }
    }
    return all;
}

}  // namespace tapestry::test
