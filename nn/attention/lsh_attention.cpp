// Rounds are an axis: everything from the sort to the softmax is computed for all of them at once.
#include <tapestry/nn/attention/lsh_attention.h>

#include <tapestry/core/create.h>
#include <tapestry/core/text/message.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/dropout.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/indexing.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/masking.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/order.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/softmax.h>
#include <tapestry/ops/view.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace tapestry {

// ---- hashing ------------------------------------------------------------------------------------

namespace {

constexpr std::int64_t kDigit = 16;  // buckets of one hash, of which several make a number
constexpr std::int64_t kMostDigits = 5;
constexpr std::int64_t kMostBuckets = 1 << 20;  // kDigit^kMostDigits

// Columns for this many buckets: half of each digit.
std::int64_t columns_for(std::int64_t buckets) {
    std::int64_t columns = 0;
    for (; buckets > kDigit; buckets /= kDigit) columns += kDigit / 2;
    return columns + buckets / 2;
}

}  // namespace

// The products are recorded although nothing flows back through them: so the tape counts their
// operations.
Tensor angular_hash(const Tensor& x, const Tensor& rotations, std::int64_t buckets) {
    const std::int64_t columns = columns_for(buckets), most = rotations.size(2);
    require(
        buckets >= 2 && std::has_single_bit(static_cast<std::uint64_t>(buckets)) && columns <= most,
        "angular_hash: buckets must be a power of 2 that needs at most {} columns, got {}", most,
        buckets);
    const Tensor products =  // [B, H, R, S, columns]
        matmul(unsqueeze(x, 2), slice(rotations, 2, 0, columns)).detach();
    Tensor hash;
    for (std::int64_t first = 0; first < columns; first += kDigit / 2) {
        const std::int64_t width = std::min(kDigit / 2, columns - first);
        const Tensor part = slice(products, 4, first, first + width);
        const Tensor digit = argmax(concat({part, -part}, 4));  // [B, H, R, S]
        hash = hash.defined() ? hash * static_cast<double>(2 * width) + digit : digit;
    }
    return hash;
}

// ---- the sorted order ---------------------------------------------------------------------------

namespace {

// Below every score: what a position gives itself, so it counts only if nothing else does.
constexpr double kItself = -1e30;
constexpr double kHidden = -std::numeric_limits<double>::infinity();

// n = N c positions in the order of each round, in N chunks of c.
struct SortedOrder {
    Tensor order;   // i64 [B, H, R, n]: the position at each place
    Tensor places;  // i64 [B, H, R, n]: the place of each position
    std::int64_t chunk;
};

// x [B, H, T, D] with `before` and `after` zeros around it along axis 2.
Tensor zero_framed(const Tensor& x, std::int64_t before, std::int64_t after) {
    if (before + after == 0) return x;
    return pad(x, {{}, {}, {.before = before, .after = after}, {}});
}

// Of x, `lists` lists of n rows for each head, 1 or R, the rows at ids [B, H, R, n], which count
// from 0 in each list: [B, H, R, n, E].
Tensor rows_by_id(const Tensor& x, const Tensor& ids, std::int64_t lists) {
    const std::int64_t batch = ids.size(0), heads = ids.size(1), n = ids.size(3);
    const Tensor first = arange(batch * heads * lists) * static_cast<double>(n);
    const Tensor all = ids + reshape(first, {batch, heads, lists, 1});
    return embedding(reshape(x, {batch * heads * lists * n, x.size(-1)}), all);
}

// [B, H, R, n, E] -> [B, H, R, N, c, E]
Tensor in_chunks(const Tensor& x, std::int64_t chunk) {
    Shape shape = x.shape();
    shape[3] /= chunk;
    shape.insert(4, chunk);
    return reshape(x, shape);
}

// [B, H, R, N, c, E] -> [B, H, R, N, 2 c, E]: each chunk behind the one before; zeros before the
// first. One chunk stays alone.
Tensor with_previous(const Tensor& chunks) {
    const std::int64_t count = chunks.size(3);
    if (count == 1) return chunks;
    const Tensor earlier =
        pad(slice(chunks, 3, 0, count - 1), {{}, {}, {}, {.before = 1, .after = 0}, {}, {}});
    return concat({earlier, chunks}, 4);
}

// What is not visible: -inf; itself: kItself. The scores are [B, H, R, N, c, 2 c].
Tensor masked_scores(const Tensor& scores, const SortedOrder& sorted, const Tensor& seen,
                     bool causal) {
    const Shape shape = sorted.order.shape();
    const Tensor visible = gather(expand(seen, shape), 3, sorted.order);
    const auto column = [&](const Tensor& x) {  // [B, H, R, N, c, 1]
        return in_chunks(unsqueeze(x, 4), sorted.chunk);
    };
    const Tensor queries = column(sorted.order);
    const Tensor keys = transpose(with_previous(queries), 4, 5);  // [B, H, R, N, 1, 2 c]
    Tensor hidden = logical_not(transpose(with_previous(column(visible)), 4, 5));
    if (causal) hidden = logical_or(hidden, gt(keys, queries));
    return masked_fill(masked_fill(scores, eq(keys, queries), kItself), hidden, kHidden);
}

bool are_one(const Tensor& a, const Tensor& b) {
    return a.storage() == b.storage() && a.offset() == b.offset() && a.shape() == b.shape() &&
           a.strides() == b.strides();
}

void check_shared(const Tensor& q, const Tensor& k) {
    if (are_one(q, k)) return;
    const Tensor last = slice(k.detach(), 2, k.size(2) - q.size(2), k.size(2));
    const Tensor differs = gt(abs(q.detach() - last), 0);
    require(!any(differs).item<bool>(),
            "LSHAttention: queries and keys must be the same vectors, because positions are sorted "
            "by them, but q and k differ");
}

}  // namespace

// ---- the form -----------------------------------------------------------------------------------

LSHAttention::LSHAttention(std::int64_t head_dim, std::int64_t chunk, std::int64_t rounds,
                           Generator& generator)
    : AttentionForm("LSHAttention"), chunk_(chunk) {
    require(head_dim > 0 && chunk > 0 && rounds > 0,
            "LSHAttention: head_dim {}, chunk {} and rounds {} must be positive", head_dim, chunk,
            rounds);
    rotations = randn({rounds, head_dim, kMostDigits * kDigit / 2}, generator);
    register_buffer("rotations", rotations);
}

std::int64_t LSHAttention::buckets(std::int64_t keys) const {
    const std::int64_t chunks = (keys - 1) / chunk_ + 1;
    return std::min(kMostBuckets, static_cast<std::int64_t>(
                                      std::bit_ceil(static_cast<std::uint64_t>(2 * chunks))));
}

Tensor LSHAttention::operator()(const Tensor& q, const Tensor& k, const Tensor& v,
                                const AttentionOptions& options) const {
    const ModuleScope scope(name());
    const AttentionSizes sizes = check_attention(kind(), q, k, v, options);
    check_positions(kind(), sizes, options.causal);
    check_shared(q, k);
    require<ShapeError>(sizes.width == rotations.size(1),
                        "LSHAttention: heads of size {}, but it was made for {}", sizes.width,
                        rotations.size(1));
    const std::int64_t chunk = std::min(chunk_, sizes.keys), earlier = sizes.keys - sizes.queries;
    const std::int64_t count = (sizes.keys - 1) / chunk + 1, behind = count * chunk - sizes.keys;
    const Tensor mask = transpose(key_mask(kind(), options.mask, sizes.keys), 2, 3);
    const Tensor seen = transpose(zero_framed(mask, 0, behind), 2, 3);  // [B, H, 1, n]
    const Tensor x = zero_framed(k, 0, behind);                         // [B, H, n, D]
    const std::int64_t last = buckets(sizes.keys);  // of what is masked or beyond the sequence
    const Tensor bucket =
        masked_fill(angular_hash(x, rotations, last), logical_not(seen), static_cast<double>(last));
    const Tensor order = argsort(bucket);  // stable: by position within a bucket
    const SortedOrder sorted{order, argsort(order), chunk};
    const auto sorted_rows = [&](const Tensor& rows) {
        return in_chunks(rows_by_id(rows, order, 1), chunk);
    };

    constexpr double kLeast = 1e-30;  // for vectors of 0, as after the end of the sequence
    const Tensor unit = x / sqrt(clamp(sum(square(x), {-1}, true), kLeast,
                                       std::numeric_limits<double>::infinity()));
    const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(sizes.width)));
    const Tensor scores = masked_scores(  // [B, H, R, N, c, 2 c]
        matmul(sorted_rows(zero_framed(q * scale, earlier, behind)),
               transpose(with_previous(sorted_rows(unit)), 4, 5)),
        sorted, seen, options.causal);
    const Tensor weights =
        dropout(softmax(scores), options.dropout, true,
                options.generator != nullptr ? *options.generator : default_generator());
    const Tensor parts = matmul(weights, with_previous(sorted_rows(zero_framed(v, 0, behind))));
    const std::int64_t rounds = rotations.size(0);
    Tensor y = rows_by_id(parts, sorted.places, rounds);  // [B, H, R, n, E]
    const Tensor z = gather(flatten(logsumexp(scores, {5}), 3, 4), 3, sorted.places);
    y = sum(y * unsqueeze(softmax(z, 2), 4), {2});  // [B, H, n, E]
    return hooked(slice(y, 2, earlier, sizes.keys), q, k, v);
}

std::string LSHAttention::settings() const {
    return fmt::format("chunks of {}, {}", chunk_, pluralize(rotations.size(0), "round"));
}

}  // namespace tapestry
