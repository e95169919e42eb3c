#include <tapestry/nn/models/table/table_network.h>

#include <tapestry/core/create.h>
#include <tapestry/ops/activation.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/view.h>

#include <algorithm>
#include <utility>

namespace tapestry {

// ---- cost ---------------------------------------------------------------------------------------

namespace {

// A configuration's sizes as floating-point numbers: their products may not fit into 64 bits.
struct TableModelSizes {
    double inputs, table, dim, layers, outputs;

    explicit TableModelSizes(const TableConfig& c)
        : inputs(static_cast<double>(c.numbers) +
                 static_cast<double>(c.columns) * static_cast<double>(c.category_dim)),
          table(c.columns == 0
                    ? 0
                    : static_cast<double>(c.values) * static_cast<double>(c.category_dim)),
          dim(static_cast<double>(c.dim)),
          layers(static_cast<double>(c.hidden_layers)),
          outputs(static_cast<double>(std::max<std::int64_t>(c.classes, 1))) {}

    // Numbers of all matrices.
    double weights() const {
        if (layers == 0) return inputs * outputs;
        return inputs * dim + (layers - 1) * dim * dim + dim * outputs;
    }
};

}  // namespace

double parameter_count(const TableConfig& config) {
    const TableModelSizes s(config);
    return s.table + s.weights() + s.layers * s.dim + s.outputs;
}

double training_bytes(const TableConfig& config, std::int64_t batch, std::int64_t gradient_sets,
                      std::int64_t moments) {
    const TableModelSizes s(config);
    const auto copies = static_cast<double>(1 + gradient_sets + moments);
    const double kept =
        static_cast<double>(batch) * (3 * s.inputs + 3 * s.layers * s.dim + 3 * s.outputs);
    return 4 * (copies * parameter_count(config) + kept);
}

double step_flops(const TableConfig& config, std::int64_t batch) {
    return 3 * 2 * TableModelSizes(config).weights() * static_cast<double>(batch);
}

// ---- the model ----------------------------------------------------------------------------------

namespace {

constexpr double kDeviation = 0.1;  // of the table of categories

const TableConfig& checked(const TableConfig& c) {
    const auto in = [](const char* what, std::int64_t value, std::int64_t low) {
        constexpr std::int64_t kMost = std::int64_t{1} << 31;  // products of two fit into 64 bits
        require(value >= low && value <= kMost, "TableNetwork: {} must be in [{}, {}], got {}",
                what, low, kMost, value);
    };
    in("numbers", c.numbers, 0);
    in("columns", c.columns, 0);
    in("values", c.values, c.columns > 0 ? 1 : 0);
    in("classes", c.classes, 0);
    in("dim", c.dim, 1);
    in("category_dim", c.category_dim, 1);
    in("hidden_layers", c.hidden_layers, 0);
    require(c.numbers + c.columns > 0, "TableNetwork: there is no column to read");
    return c;
}

std::int64_t inputs_of(const TableConfig& c) { return c.numbers + c.columns * c.category_dim; }

}  // namespace

TableNetwork::TableNetwork(const TableConfig& config, Generator& generator)
    : Module("TableNetwork"),
      dropout(checked(config).dropout, generator),
      head(config.hidden_layers == 0 ? inputs_of(config) : config.dim,
           std::max<std::int64_t>(config.classes, 1), true, generator),
      config_(config) {
    if (config.columns > 0) {
        table.emplace(config.values, config.category_dim, generator);
        table->weight.copy_(normal(table->weight.shape(), 0, kDeviation, generator));
        register_module("table", *table);
    }
    std::int64_t width = inputs_of(config);
    for (std::int64_t i = 0; i < config.hidden_layers; ++i) {
        hidden.push_back(std::make_unique<Linear>(width, config.dim, true, generator));
        register_module(fmt::format("hidden_{}", i), *hidden.back());
        width = config.dim;
    }
    register_module("dropout", dropout);
    register_module("head", head);
    head.weight.fill_(0);
    head.bias.fill_(0);
    convert_weights(*this, config_);
}

Tensor TableNetwork::operator()(const Tensor& numbers, const Tensor& categories) const {
    const ModuleScope scope(name());
    const TableConfig& c = config_;
    require<ShapeError>(numbers.rank() == 2 && numbers.size(1) == c.numbers &&
                            categories.rank() == 2 && categories.size(1) == c.columns &&
                            numbers.size(0) == categories.size(0) && numbers.size(0) > 0,
                        "TableNetwork: needs numbers [B, {}] and categories [B, {}], got {} and {}",
                        c.numbers, c.columns, numbers.shape(), categories.shape());
    Tensors parts;
    const DType type = head.weight.dtype();
    if (c.numbers > 0) parts.push_back(tapestry::to(numbers, type));
    if (table) {
        parts.push_back(
            reshape((*table)(categories), {numbers.size(0), c.columns * c.category_dim}));
    }
    Tensor x = parts.size() == 1 ? parts.front() : concat(parts, 1);  // [B, N + K E]
    if (c.compute != ComputeType::f32) x = tapestry::to(x, dtype_of(c.compute));
    for (const auto& layer : hidden) x = dropout(relu((*layer)(x)));
    return hooked(head(x), numbers);
}

std::string TableNetwork::settings() const {
    return fmt::format("{} numbers, {} columns of categories, {} hidden layers of {}",
                       config_.numbers, config_.columns, config_.hidden_layers, config_.dim);
}

}  // namespace tapestry
