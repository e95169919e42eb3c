// tapestry bench gemm: matrix products, square ones or those that a GPT's layers ask for. N and T
// say of each operand whether its rows or its columns lie together in memory: op(A) op(B).
#include <tapestry/core/random.h>
#include <tapestry/core/storage.h>
#include <tapestry/core/views.h>
#include <tapestry/examples/cli/bench.h>
#include <tapestry/examples/cli/bench_report.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/ops/machine_peak.h>
#include <tapestry/ops/matmul.h>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace tapestry::cli {
namespace {

using Json = nlohmann::ordered_json;

// C [m, n] = op(A) [m, k] op(B) [k, n]
struct Product {
    std::string what;
    std::int64_t m, n, k;
    std::string form;  ///< "NT": op(B) is a transpose
};

std::vector<Product> square_products() {
    std::vector<Product> products;
    for (const std::int64_t n : {64, 128, 256, 512, 1024, 2048}) {
        for (const char* form : {"NN", "NT", "TN", "TT"}) products.push_back({"", n, n, n, form});
    }
    return products;
}

// What a linear layer [out, in] computes for `rows` vectors: y = x W^T forward, and the gradients
// dx = g W and dW = g^T x.
void add_layer(const std::string& name, std::int64_t rows, std::int64_t in, std::int64_t out,
               std::vector<Product>& products) {
    products.push_back({name + " y", rows, out, in, "NT"});
    products.push_back({name + " dx", rows, in, out, "NN"});
    products.push_back({name + " dW", out, in, rows, "TN"});
}

std::vector<Product> model_products() {
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

Tensor operand(std::int64_t rows, std::int64_t columns, bool transposed, DType dtype) {
    Generator generator(1);
    return transposed ? views::transpose(randn({columns, rows}, generator, dtype), 0, 1)
                      : randn({rows, columns}, generator, dtype);
}

Measurement measured(const Product& p, const BenchSettings& s) {
    const Tensor a = operand(p.m, p.k, p.form[0] == 'T', s.type());
    const Tensor b = operand(p.k, p.n, p.form[1] == 'T', s.type());
    reset_peak_memory();
    const Times times = timed(s.seconds, [&] { matmul(a, b); });
    const auto numbers = static_cast<double>(p.m * p.k + p.k * p.n + p.m * p.n);
    return {.what = fmt::format("{}{} {} x {} x {}", p.what.empty() ? "" : p.what + ", ", p.form,
                                p.m, p.n, p.k),
            .times = times,
            .flops = 2 * static_cast<double>(p.m) * static_cast<double>(p.n * p.k),
            .bytes = numbers * static_cast<double>(size_of(s.type())),
            .peak_bytes = memory_statistics().peak};
}

// {"n": 64, "nn": 147.2, ...} for each size, in GFLOP/s.
void add_square(const Product& p, double gflops, Json& squares) {
    if (squares.empty() || squares.back().at("n") != p.n) squares.push_back({{"n", p.n}});
    const std::string form{p.form[0] == 'N' ? 'n' : 't', p.form[1] == 'N' ? 'n' : 't'};
    squares.back()[form] = gflops;
}

}  // namespace

int bench_gemm(const BenchSettings& s) {
    set_num_threads(s.threads);
    const MachinePeak peak = measure_peak(s.type());
    if (!s.json) {
        fmt::print("{}\nC [M, N] = op(A) [M, K] op(B) [K, N], by M x N x K\n{}\n",
                   peak_text(peak, s.type()), measurement_head());
    }
    Json products = Json::array();
    Json squares = Json::array();
    for (const Product& p : s.model_shapes ? model_products() : square_products()) {
        const Measurement m = measured(p, s);
        Json row{{"m", p.m}, {"n", p.n}, {"k", p.k}, {"form", p.form}};
        row.update(Json::parse(measurement_json(m, peak)));
        if (!s.model_shapes) add_square(p, row.at("gflops"), squares);
        products.push_back(std::move(row));
        if (!s.json) fmt::print("{}\n", measurement_text(m, peak));
        std::fflush(stdout);
    }
    if (s.json) {
        Json json{{"threads", num_threads()}, {"dtype", s.dtype}};
        if (!s.model_shapes) json["gflops"] = squares;
        json["products"] = products;
        json["ceiling"] = Json::parse(peak_json(peak, s.type()));
        fmt::print("{}\n", json.dump());
    }
    return kSuccess;
}

}  // namespace tapestry::cli
