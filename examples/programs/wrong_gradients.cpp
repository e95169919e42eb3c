// Five realistic mistakes in gradients, and the checker's reports on them.
// docs/gradient-checking.md discusses the reports.
#include <tapestry/tapestry.h>

#include <cmath>

using namespace tapestry;

namespace {

Tensor random(const Shape& shape, std::uint64_t seed) {
    Generator generator(seed);
    return randn(shape, generator, DType::f64);
}

// An op with a user-supplied backward rule, right or wrong.
struct BelievedOp final : Op {
    using Forward = std::function<Tensor(const Tensors&)>;
    using Rule = std::function<Tensors(const Tensor& grad, const Tensors& inputs)>;
    BelievedOp(const char* name, const Tensors& inputs, const Forward& f, const Rule& rule)
        : Op(name, inputs), count_(inputs.size()), f_(f), rule_(rule) {}
    Tensors forward(const Tensors& inputs) const override {
        const NoGradGuard no_grad;
        return {f_(inputs).clone()};
    }
    Tensors backward(const Tensors& grads) override {
        Tensors inputs;
        for (std::size_t i = 0; i < count_; ++i) inputs.push_back(saved(i));
        return rule_(grads[0], inputs);
    }

private:
    std::size_t count_;
    Forward f_;
    Rule rule_;
};

Tensor believed(const char* name, const Tensors& inputs, const BelievedOp::Forward& f,
                const BelievedOp::Rule& rule) {
    Tensor y = [&] {
        const NoGradGuard no_grad;
        return f(inputs).clone();
    }();
    return record<BelievedOp>(inputs, y, name, inputs, f, rule);
}

// 1. Softmax as if its outputs were independent: y g instead of y (g - sum(y g)).
GradcheckReport softmax_without_sum() {
    const auto f = [](const Tensors& x) {
        return believed(
            "softmax", x, [](const Tensors& t) { return softmax(t[0]); },
            [](const Tensor& g, const Tensors& t) {
                const Tensor y = softmax(t[0]);
                return Tensors{y * g};
            });
    };
    return gradcheck(f, {random({4, 6}, 1)});
}

// 2. A matrix product whose rule for the weight transposes once too often.
GradcheckReport untransposed_weight() {
    const auto f = [](const Tensors& x) {
        return believed(
            "my_matmul", x, [](const Tensors& t) { return matmul(t[0], t[1]); },
            [](const Tensor& g, const Tensors& t) {
                return Tensors{matmul(g, transpose(t[1], 0, 1)),
                               transpose(matmul(transpose(t[0], 0, 1), g), 0, 1)};
            });
    };
    return gradcheck(f, {random({5, 4}, 1), random({4, 4}, 2)});
}

// 3. = instead of += in a loop over a batch: the bias gets the last row's gradient only.
GradcheckReport last_row_only() {
    constexpr std::size_t rows = 8, columns = 3;
    const auto f = [](const std::vector<double>& bias) {
        std::vector<double> y;
        for (std::size_t r = 0; r < rows; ++r) {
            for (std::size_t c = 0; c < columns; ++c) {
                y.push_back(std::tanh(0.1 * static_cast<double>(r) + bias[c]));
            }
        }
        return y;
    };
    const auto pullback = [&f](const std::vector<double>& bias, const std::vector<double>& g) {
        const std::vector<double> y = f(bias);
        std::vector<double> slopes(columns);
        for (std::size_t r = 0; r < rows; ++r) {
            for (std::size_t c = 0; c < columns; ++c) {
                const std::size_t i = r * columns + c;
                slopes[c] = g[i] * (1 - y[i] * y[i]);
            }
        }
        return slopes;
    };
    return check_pullback(f, pullback, {0.3, -0.2, 0.5}, {}, {columns}, {rows, columns});
}

// 4. A sum over the batch instead of a mean, deep inside a model: which op is wrong?
GradcheckReport sum_for_mean() {
    Generator generator(3);
    auto hidden = std::make_shared<Linear>(4, 8, true, generator);
    auto out = std::make_shared<Linear>(8, 2, true, generator);
    hidden->to(DType::f64);
    out->to(DType::f64);
    const Tensor x = random({6, 4}, 4);
    NamedTensors leaves;
    for (const auto& [prefix, layer] : {std::pair{"hidden", hidden}, std::pair{"out", out}}) {
        for (const auto& [name, parameter] : layer->named_parameters()) {
            leaves.emplace_back(std::string(prefix) + "." + name, parameter);
        }
    }
    const auto loss = [=] {
        Tensor h;
        {
            const ModuleScope scope("hidden");
            h = gelu((*hidden)(x));
        }
        const ModuleScope scope("loss");
        return believed(
            "mean_square", {(*out)(h)}, [](const Tensors& t) { return mean(square(t[0])); },
            [](const Tensor& g, const Tensors& t) { return Tensors{g * t[0] * 2.0}; });
    };
    return gradcheck(loss, leaves);
}

// 5. Every op is right, but the gradient is wrong: item() takes the temperature off the tape.
GradcheckReport detached_temperature() {
    const auto f = [](const Tensors& x) {
        const double temperature = mean(abs(x[0])).item();
        return softmax(x[0] * (1 / temperature));
    };
    return gradcheck(f, {random({3, 4}, 1)});
}

}  // namespace

int main() {
    const std::vector<std::pair<const char*, GradcheckReport (*)()>> wrong{
        {"1. softmax without its sum", softmax_without_sum},
        {"2. a transpose too many", untransposed_weight},
        {"3. = for +=", last_row_only},
        {"4. a sum for a mean", sum_for_mean},
        {"5. a number read out of the tape", detached_temperature}};
    for (const auto& [title, check] : wrong) fmt::print("{}\n{}\n\n", title, check());
    return 0;
}
