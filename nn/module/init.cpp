#include <tapestry/nn/module/init.h>

#include <tapestry/core/create.h>
#include <tapestry/core/portable_math.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace tapestry::init {
namespace {

// Draws one number at a time: from a normal distribution or, if [low, high] is narrow, from a
// uniform one, accepted with probability density(x) / density(nearest to 0). Here the mean is 0 and
// the standard deviation 1.
class TruncatedNormal {
public:
    TruncatedNormal(double low, double high, Generator& generator)
        : low_(low), high_(high), generator_(generator) {
        const double nearest = std::max({low, -high, 0.0});
        largest_ = nearest * nearest / 2;
    }

    double operator()() {
        constexpr double kRoot2Pi = 2.5066282746310002;  // width at which both accept equally often
        const bool narrow = high_ - low_ < kRoot2Pi;
        while (true) {
            const double x = narrow ? low_ + (high_ - low_) * generator_.uniform() : next_normal();
            const bool kept = !narrow || generator_.uniform() < std::exp(largest_ - x * x / 2);
            if (kept && x >= low_ && x <= high_) return x;
        }
    }

private:
    // Box-Muller transform.
    double next_normal() {
        constexpr double kTau = 6.283185307179586;
        const double radius = std::sqrt(-2 * portable::log(1 - generator_.uniform()));
        return radius * portable::cos(kTau * generator_.uniform());
    }

    double low_;
    double high_;
    double largest_;  // -log of the largest density, minus that of 0
    Generator& generator_;
};

// Orthonormal rows by Gram-Schmidt: the components along earlier rows are subtracted, twice,
// because once is not accurate enough if little remains (Giraud, Langou and Rozloznik 2005). From
// normal rows, all such matrices are equally likely.
class Rows {
public:
    Rows(std::size_t count, std::size_t length, Generator& generator) : rows_(count) {
        for (auto& row : rows_) {
            row = randn({static_cast<std::int64_t>(length)}, generator, DType::f64)
                      .to_vector<double>();
        }
        for (std::size_t i = 0; i < count; ++i) {
            for (int pass = 0; pass < 2; ++pass) {
                for (std::size_t j = 0; j < i; ++j) add(i, j, -dot(i, j));
            }
            const double length_now = std::sqrt(dot(i, i));
            for (double& value : rows_[i]) value /= length_now;
        }
    }
    const std::vector<double>& operator[](std::size_t i) const { return rows_[i]; }

private:
    double dot(std::size_t i, std::size_t j) const {
        double sum = 0;
        for (std::size_t k = 0; k < rows_[i].size(); ++k) sum += rows_[i][k] * rows_[j][k];
        return sum;
    }
    void add(std::size_t to, std::size_t from, double factor) {
        for (std::size_t k = 0; k < rows_[to].size(); ++k) rows_[to][k] += factor * rows_[from][k];
    }

    std::vector<std::vector<double>> rows_;
};

void check_matrix(const char* function, const Tensor& x) {
    require<ShapeError>(x.rank() >= 2, "{}: needs a weight [out, in, ...], got shape {}", function,
                        x.shape());
}

double kaiming_deviation(const char* function, const Tensor& x, const KaimingOptions& options) {
    check_matrix(function, x);
    const Fans both = fans(x);
    const auto fan = static_cast<double>(options.mode == FanMode::fan_in ? both.in : both.out);
    return calculate_gain(options.nonlinearity, options.negative_slope) / std::sqrt(fan);
}

double xavier_deviation(const char* function, const Tensor& x, double gain) {
    check_matrix(function, x);
    const Fans both = fans(x);
    return gain * std::sqrt(2.0 / static_cast<double>(both.in + both.out));
}

// Uniform with mean 0.
Tensor& uniform_of_deviation(Tensor& x, double deviation, Generator& generator) {
    const double bound = std::sqrt(3.0) * deviation;
    return uniform_(x, -bound, bound, generator);
}

}  // namespace

Tensor& uniform_(Tensor& x, double low, double high, Generator& generator) {
    return x.copy_(uniform(x.shape(), low, high, generator, x.dtype()));
}

Tensor& normal_(Tensor& x, double mean, double std, Generator& generator) {
    return x.copy_(normal(x.shape(), mean, std, generator, x.dtype()));
}

Tensor& trunc_normal_(Tensor& x, double mean, double std, double low, double high,
                      Generator& generator) {
    require<DTypeError>(is_floating(x.dtype()),
                        "trunc_normal_: needs floating-point numbers, got {}", x.dtype());
    require(low < high && std > 0 && std::isfinite(mean) && std::isfinite(std),
            "trunc_normal_: needs low {} < high {}, a finite mean {} and a positive deviation {}",
            low, high, mean, std);
    require(low - mean <= 2 * std && mean - high <= 2 * std,
            "trunc_normal_: [{}, {}] lies more than two deviations of {} from the mean {}", low,
            high, std, mean);
    TruncatedNormal next((low - mean) / std, (high - mean) / std, generator);
    std::vector<double> values(static_cast<std::size_t>(x.numel()));
    for (double& value : values) value = std::clamp(mean + std * next(), low, high);
    return x.copy_(tensor(values, x.shape()));
}

Tensor& zeros_(Tensor& x) { return x.fill_(0); }
Tensor& ones_(Tensor& x) { return x.fill_(1); }

Tensor& orthogonal_(Tensor& x, double gain, Generator& generator) {
    require<DTypeError>(is_floating(x.dtype()), "orthogonal_: needs floating-point numbers, got {}",
                        x.dtype());
    check_matrix("orthogonal_", x);
    if (x.numel() == 0) return x;
    const auto rows = static_cast<std::size_t>(x.size(0));
    const std::size_t columns = static_cast<std::size_t>(x.numel()) / rows;
    const bool wide = rows <= columns;
    const Rows orthogonal(std::min(rows, columns), std::max(rows, columns), generator);
    std::vector<double> values(rows * columns);
    for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t c = 0; c < columns; ++c) {
            values[r * columns + c] = gain * (wide ? orthogonal[r][c] : orthogonal[c][r]);
        }
    }
    return x.copy_(tensor(values, x.shape()));
}

Fans fans(const Tensor& weight) {
    check_matrix("fans", weight);
    const std::int64_t behind = numel(weight.shape().sub(2, weight.rank()));
    return {weight.size(1) * behind, weight.size(0) * behind};
}

double calculate_gain(Nonlinearity nonlinearity, double negative_slope) {
    switch (nonlinearity) {
        case Nonlinearity::linear:
        case Nonlinearity::sigmoid: return 1;
        case Nonlinearity::tanh: return 5.0 / 3;
        case Nonlinearity::relu: return std::sqrt(2.0);
        case Nonlinearity::leaky_relu: return std::sqrt(2 / (1 + negative_slope * negative_slope));
        case Nonlinearity::selu: return 0.75;
    }
    fail("calculate_gain: unknown nonlinearity");
}

Tensor& xavier_uniform_(Tensor& x, const XavierOptions& options) {
    const double deviation = xavier_deviation("xavier_uniform_", x, options.gain);
    return uniform_of_deviation(x, deviation, options.generator);
}

Tensor& xavier_normal_(Tensor& x, const XavierOptions& options) {
    const double deviation = xavier_deviation("xavier_normal_", x, options.gain);
    return normal_(x, 0, deviation, options.generator);
}

Tensor& kaiming_uniform_(Tensor& x, const KaimingOptions& options) {
    const double deviation = kaiming_deviation("kaiming_uniform_", x, options);
    return uniform_of_deviation(x, deviation, options.generator);
}

Tensor& kaiming_normal_(Tensor& x, const KaimingOptions& options) {
    const double deviation = kaiming_deviation("kaiming_normal_", x, options);
    return normal_(x, 0, deviation, options.generator);
}

}  // namespace tapestry::init
