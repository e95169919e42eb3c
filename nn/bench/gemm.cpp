#include <tapestry/nn/bench/gemm.h>

#include <tapestry/core/random.h>
#include <tapestry/core/storage.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/matmul.h>

#include <fmt/format.h>

namespace tapestry::bench {
namespace {

// What a linear layer [out, in] computes for `rows` vectors: y = x W^T forward, and the gradients
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

}  // namespace tapestry::bench
