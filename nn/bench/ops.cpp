#include <tapestry/nn/bench/ops.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/random.h>
#include <tapestry/core/storage.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/activation.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/attention.h>
#include <tapestry/ops/dropout.h>
#include <tapestry/ops/indexing.h>
#include <tapestry/ops/loss.h>
#include <tapestry/ops/machine_peak.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/norm.h>
#include <tapestry/ops/optimizer_step.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/rotary.h>
#include <tapestry/ops/softmax.h>

#include <fmt/format.h>

namespace tapestry::bench {
namespace {

// The products of a linear layer [out, in] for `rows` vectors: y = x W^T forward, and the gradients
// dx = g W and dW = g^T x.
void add_layer(const std::string& name, std::int64_t rows, std::int64_t in, std::int64_t out,
               std::vector<Product>& products) {
    products.push_back({rows, out, in, "NT", name + " y"});
    products.push_back({rows, in, out, "NN", name + " dx"});
    products.push_back({out, in, rows, "TN", name + " dW"});
}

Tensor operand(std::int64_t rows, std::int64_t columns, bool transposed, DType dtype) {
    Generator generator(1);
    return transposed ? views::transpose(randn({columns, rows}, generator, dtype), 0, 1)
                      : randn({rows, columns}, generator, dtype);
}

Measurement measured(const Product& p, const GemmOptions& options) {
    const Tensor a = operand(p.m, p.k, p.form[0] == 'T', options.dtype);
    const Tensor b = operand(p.k, p.n, p.form[1] == 'T', options.dtype);
    reset_peak_memory();
    const Times times = timed(options.seconds, [&] { matmul(a, b); });
    const auto numbers = static_cast<double>(p.m * p.k + p.k * p.n + p.m * p.n);
    return {.what = fmt::format("{}{} {} x {} x {}", p.name.empty() ? "" : p.name + ", ", p.form,
                                p.m, p.n, p.k),
            .times = times,
            .flops = 2 * static_cast<double>(p.m) * static_cast<double>(p.n * p.k),
            .bytes = numbers * static_cast<double>(size_of(options.dtype)),
            .peak_bytes = memory_statistics().peak};
}

}  // namespace

std::vector<Product> square_products(const std::vector<std::int64_t>& sizes) {
    std::vector<Product> products;
    for (const std::int64_t n : sizes) {
        for (const char* form : {"NN", "NT", "TN", "TT"}) products.push_back({n, n, n, form});
    }
    return products;
}

std::vector<Product> gpt_products() {
    std::vector<Product> products;
    for (const std::int64_t dim : {128, 384}) {
        for (const std::int64_t rows : {768, 4096}) {
            add_layer("qkv", rows, dim, 3 * dim, products);
            add_layer("output", rows, dim, dim, products);
            add_layer("up", rows, dim, 4 * dim, products);
            add_layer("down", rows, 4 * dim, dim, products);
        }
    }
    return products;
}

std::vector<GemmRow> measure_gemm(const GemmOptions& options, const Told& told) {
    return measure_gemm(options.of_layers ? gpt_products() : square_products(options.sizes),
                        options, told);
}

std::vector<GemmRow> measure_gemm(const std::vector<Product>& products, const GemmOptions& options,
                                  const Told& told) {
    std::vector<GemmRow> rows;
    for (const Product& product : products) {
        rows.push_back({product, measured(product, options)});
        if (told) told(rows.back().measurement);
    }
    return rows;
}

namespace {

// Both products of the forward pass, q k^T and P v, over the visible pairs.
double forward_flops(const AttentionOptions& o) {
    const auto context = static_cast<double>(o.context);
    const double pairs = o.causal ? context * (context + 1) / 2 : context * context;
    return 4 * pairs * static_cast<double>(o.head_dim * o.batch * o.heads);
}

}  // namespace

std::string title_of(const AttentionOptions& o) {
    const std::string shared =
        o.kv_heads == 0 ? "" : fmt::format(" over {} of keys and values", o.kv_heads);
    return fmt::format("{}attention, batch {}, {} heads{}, context {}, {} per head, {}",
                       o.causal ? "causal " : "", o.batch, o.heads, shared, o.context, o.head_dim,
                       name_of(o.dtype));
}

std::vector<Measurement> measure_attention(const AttentionOptions& o, const Told& told) {
    Generator generator(1);
    const Shape shape{o.batch, o.heads, o.context, o.head_dim};
    Shape shared = shape;
    if (o.kv_heads > 0) shared[1] = o.kv_heads;
    Tensors qkv;
    for (const Shape& one : {shape, shared, shared}) {
        qkv.push_back(randn(one, generator, o.dtype).set_requires_grad());
    }
    const Tensor g = randn(shape, generator, o.dtype);
    const auto attend = [&] {
        return scaled_dot_product_attention(qkv[0], qkv[1], qkv[2],
                                            {.causal = o.causal, .grouped = true});
    };
    const auto both = [&] {
        Tape tape;
        tape.gradient(attend(), qkv, {.cotangent = g});
    };
    const auto size = static_cast<double>(g.bytes()), keys = static_cast<double>(qkv[1].bytes());
    const double flops = forward_flops(o);

    std::vector<Measurement> rows;
    const auto add = [&](Measurement m, const std::function<void()>& f) {
        reset_peak_memory();
        m.times = timed(o.seconds, f);
        m.peak_bytes = memory_statistics().peak;
        rows.push_back(m);
        if (told) told(m);
    };
    add({.what = "forward", .flops = flops, .bytes = 2 * size + 2 * keys}, attend);  // q, k, v; y
    add({.what = "forward and backward", .flops = 3 * flops, .bytes = 6 * size + 6 * keys},
        both);  // and q, k, v, y, g; dq, dk, dv
    return rows;
}

namespace {

struct BenchedOp {
    std::string what;
    std::function<Tensor()> run;
    Tensors leaves;  ///< leaves to differentiate
    double forward_bytes = 0;
    double backward_bytes = 0;  ///< 0: no backward
};

// A step's ops with the bytes they move; `n` counts [rows, dim], `wide` counts [rows, 4 dim].
std::vector<BenchedOp> recorded_ops(const OpsOptions& s, Generator& generator) {
    const DType dtype = s.dtype;
    const auto leaf = [&](const Shape& shape) {
        return randn(shape, generator, dtype).set_requires_grad();
    };
    const Tensor x = leaf({s.rows, s.dim}), y = leaf({s.rows, s.dim});
    const Tensor hidden = leaf({s.rows, 4 * s.dim});
    const Tensor weight = leaf({s.dim}), bias = leaf({s.dim});
    const Tensor table = leaf({s.vocab, s.dim}), logits = leaf({s.rows, s.vocab});
    const Tensor cos = randn({s.rows, s.dim / 2}, generator, dtype), sin = cos.clone();
    const Tensor ids = randint(0, s.vocab, {s.rows}, generator);
    const auto size = [](const Tensor& t) { return static_cast<double>(t.bytes()); };
    const double n = size(x), wide = size(hidden);
    const std::string rows = fmt::format("[{}, {}]", s.rows, s.dim);
    const std::string wide_rows = fmt::format("[{}, {}]", s.rows, 4 * s.dim);
    return {
        {"copy " + rows, [=] { return x.clone(); }, {}, 2 * n, 0},
        {"add " + rows, [=] { return x + y; }, {x, y}, 3 * n, 0},
        {"sum over rows " + wide_rows, [=] { return sum(hidden, {0}); }, {}, wide, 0},
        {"gelu " + wide_rows, [=] { return gelu(hidden); }, {hidden}, 2 * wide, 3 * wide},
        {"layer_norm " + rows,
         [=] { return layer_norm(x, weight, bias); },
         {x, weight, bias},
         2 * n,
         3 * n},
        {"softmax " + rows, [=] { return softmax(x); }, {x}, 2 * n, 3 * n},
        {"rotary " + rows, [=] { return rotary(x, cos, sin); }, {x}, 3 * n, 3 * n},
        {"dropout " + rows,
         [=, &generator] { return dropout(x, 0.1, true, generator); },
         {x},
         2 * n,
         2 * n},
        {fmt::format("embedding [{}, {}], {} ids", s.vocab, s.dim, s.rows),
         [=] { return embedding(table, ids); },
         {table},
         2 * n + size(ids),
         n + size(ids) + size(table)},
        {fmt::format("cross_entropy [{}, {}]", s.rows, s.vocab),
         [=] { return cross_entropy(logits, ids); },
         {logits},
         size(logits) + size(ids),
         2 * size(logits) + size(ids)},
    };
}

// Passes each row on with its peak memory since the previous one.
class Rows {
public:
    explicit Rows(const Told& told) : told_(told) { reset_peak_memory(); }

    void add(Measurement m) {
        m.peak_bytes = memory_statistics().peak;
        rows_.push_back(std::move(m));
        if (told_) told_(rows_.back());
        reset_peak_memory();
    }
    std::vector<Measurement> take() { return std::move(rows_); }

private:
    const Told& told_;
    std::vector<Measurement> rows_;
};

void measure(const BenchedOp& op, double seconds, Rows& rows) {
    rows.add(
        {.what = op.what, .times = timed(seconds, [&] { op.run(); }), .bytes = op.forward_bytes});
    if (op.backward_bytes == 0) return;
    Generator generator(2);
    const Tensor like = op.run();
    const Tensor g = randn(like.shape(), generator, like.dtype());
    reset_peak_memory();
    const auto walk = [&] {
        Tape tape;
        const Tensor y = op.run();
        return seconds_of([&] { tape.gradient(y, op.leaves, {.cotangent = g}); });
    };
    rows.add({.what = op.what,
              .times = repeated(seconds, walk),
              .bytes = op.backward_bytes,
              .backward = true});
}

// The optimiser updates, over the weights of one layer: 12 dim^2.
void measure_updates(const OpsOptions& s, Generator& generator, Rows& rows) {
    const Shape shape{12 * s.dim, s.dim};
    Tensor p = randn(shape, generator, s.dtype);
    const Tensor g = randn(shape, generator, s.dtype);
    Tensor m = zeros(shape, s.dtype), v = zeros(shape, s.dtype);
    const auto size = static_cast<double>(p.bytes());
    const std::string parameters = fmt::format(" [{}, {}]", shape[0], shape[1]);
    reset_peak_memory();
    rows.add({.what = "sum_of_squares" + parameters,
              .times = timed(s.seconds, [&] { sum_of_squares({g}); }),
              .bytes = size});
    rows.add({.what = "adamw_update_" + parameters,  // reads p, g, m, v and writes p, m, v
              .times = timed(s.seconds, [&] { adamw_update_(p, g, m, v, {.lr = 1e-6}); }),
              .bytes = 7 * size});
}

}  // namespace

std::vector<Measurement> measure_ops(const OpsOptions& options, const Told& told) {
    Generator generator(1);
    const std::vector<BenchedOp> ops = recorded_ops(options, generator);
    Rows rows(told);
    for (const BenchedOp& op : ops) measure(op, options.seconds, rows);
    measure_updates(options, generator, rows);
    return rows.take();
}

}  // namespace tapestry::bench
