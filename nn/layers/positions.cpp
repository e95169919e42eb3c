#include <tapestry/nn/layers/positions.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/view.h>

#include <cmath>

namespace tapestry {
namespace {

// 1 / base^(2 i / dim) for each pair, in double: at position 100,000 a float's rounding would be
// seen.
std::vector<double> frequencies(std::int64_t pairs, std::int64_t dim, double base) {
    std::vector<double> result;
    for (std::int64_t i = 0; i < pairs; ++i) {
        const double power = 2 * static_cast<double>(i) / static_cast<double>(dim);
        result.push_back(1 / std::pow(base, power));
    }
    return result;
}

// value(row, column) for every element, [rows, columns].
template <class Value>
Tensor table(std::int64_t rows, std::int64_t columns, DType dtype, const Value& value) {
    std::vector<double> values;
    values.reserve(static_cast<std::size_t>(rows * columns));
    for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < columns; ++j) values.push_back(value(i, j));
    }
    return cast(tensor(values, {rows, columns}), dtype);
}

}  // namespace

Tensor sinusoidal_positions(std::int64_t length, std::int64_t dim, std::int64_t first,
                            DType dtype) {
    require(length >= 0 && first >= 0 && dim >= 1,
            "sinusoidal_positions: length {}, first {}, dim {}: none may be negative, dim not 0",
            length, first, dim);
    const std::vector<double> frequency = frequencies((dim + 1) / 2, dim, 10000);
    return table(length, dim, dtype, [&](std::int64_t row, std::int64_t column) {
        const double a =
            static_cast<double>(first + row) * frequency[static_cast<std::size_t>(column / 2)];
        return column % 2 == 0 ? std::sin(a) : std::cos(a);
    });
}

PositionalEncoding::PositionalEncoding(Positions positions, std::int64_t count, std::int64_t dim,
                                       Generator& generator)
    : Module("PositionalEncoding"), count_(count), dim_(dim) {
    require(are_added(positions),
            "PositionalEncoding: {} positions are not added to the vectors; they belong to "
            "MultiHeadAttention",
            name_of_value(positions));
    require(dim > 0, "PositionalEncoding: size {} is not positive", dim);
    if (positions == Positions::sinusoidal) return;
    require(count > 0, "PositionalEncoding: {} positions; at least 1 is needed", count);
    weight = randn({count, dim}, generator);
    register_parameter("weight", weight);
}

Tensor PositionalEncoding::operator()(const Tensor& x, std::int64_t first) const {
    const ModuleScope scope(name());
    require<ShapeError>(x.defined() && x.rank() == 3 && x.size(2) == dim_,
                        "PositionalEncoding: needs [B, T, {}], got {}", dim_, x.shape());
    const std::int64_t length = x.size(1);
    if (!weight.defined()) {
        return hooked(x + sinusoidal_positions(length, dim_, first, x.dtype()), x);
    }
    require<ShapeError>(first >= 0 && first + length <= count_,
                        "PositionalEncoding: positions {} to {} of a table of {}", first,
                        first + length - 1, count_);
    return hooked(x + slice(weight, 0, first, first + length), x);
}

std::string PositionalEncoding::settings() const {
    return weight.defined() ? fmt::format("learned, {} x {}", count_, dim_)
                            : fmt::format("sinusoidal, {}", dim_);
}

}  // namespace tapestry
