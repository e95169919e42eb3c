// Optimisers and schedules against PyTorch's: the parameters after each of twenty steps with given
// gradients.
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/optim/schedule.h>
#include <tapestry/nn/optim/sgd.h>
#include <tapestry/tests/torch/check.h>

#include <memory>

using namespace tapestry;
using torch::Named;

namespace {

constexpr std::int64_t kSteps = 20;

struct Parameters {
    Tensor matrix, vector;
};
using Make = std::function<std::unique_ptr<Optimizer>(const Parameters& p)>;

void check(const std::string& name, const Make& make, const Schedule& schedule = {}) {
    INFO("optim: " << name);
    torch::everywhere([&](DType dtype) {
        const Named given = torch::part(torch::fixture("optim"), "", dtype);
        const Named path = torch::part(torch::fixture("optim"), name + "/", DType::f64);
        Parameters p{given.at("start.matrix").clone().set_requires_grad(),
                     given.at("start.vector").clone().set_requires_grad()};
        const auto optimizer = make(p);
        for (std::int64_t step = 0; step < kSteps; ++step) {
            INFO("step " << step);
            p.matrix.set_grad(torch::at(given.at("gradients.matrix"), step));
            p.vector.set_grad(torch::at(given.at("gradients.vector"), step));
            if (schedule) optimizer->set_lr(schedule(step));
            optimizer->step();
            torch::check_close("matrix", p.matrix, torch::at(path.at("matrix"), step));
            torch::check_close("vector", p.vector, torch::at(path.at("vector"), step));
        }
    });
}

Make sgd(const SGDConfig& config, double decay = 0) {
    return [=](const Parameters& p) {
        return std::make_unique<SGD>(std::vector<ParameterGroup>{{{p.matrix, p.vector}, decay}},
                                     config);
    };
}

template <class A>
Make adam(const AdamConfig& config, double decay = 0) {
    return [=](const Parameters& p) {
        return std::make_unique<A>(std::vector<ParameterGroup>{{{p.matrix, p.vector}, decay}},
                                   config);
    };
}

Make rmsprop(const RMSpropConfig& config, double decay = 0) {
    return [=](const Parameters& p) {
        return std::make_unique<RMSprop>(std::vector<ParameterGroup>{{{p.matrix, p.vector}, decay}},
                                         config);
    };
}

void check_rates(const std::string& name, const Schedule& schedule) {
    const auto rates = torch::look_up(torch::fixture("optim"), name).to_vector<double>();
    for (std::size_t step = 0; step < rates.size(); ++step) {
        INFO(name << ", step " << step);
        CHECK(std::abs(schedule(static_cast<std::int64_t>(step)) - rates[step]) <=
              torch::tolerance(DType::f64) * rates[0]);
    }
}

const WarmupCosine kTwentySteps{.rate = 0.02, .min_rate = 0.002, .warmup = 5, .steps = kSteps};

}  // namespace

TEST_CASE("torch: SGD") {
    check("sgd", sgd({.lr = 0.1}));
    check("sgd_decay", sgd({.lr = 0.1}, 0.05));
    check("momentum", sgd({.lr = 0.1, .momentum = 0.9}));
    check("momentum_decay", sgd({.lr = 0.1, .momentum = 0.9}, 0.05));
    check("nesterov", sgd({.lr = 0.1, .momentum = 0.9, .nesterov = true}));
    check("nesterov_decay", sgd({.lr = 0.1, .momentum = 0.9, .nesterov = true}, 0.05));
}

TEST_CASE("torch: RMSprop") {
    check("rmsprop", rmsprop({.lr = 0.01}));
    check("rmsprop_decay", rmsprop({.lr = 0.02, .alpha = 0.9, .eps = 1e-6}, 0.05));
    check("rmsprop_momentum", rmsprop({.lr = 0.01, .momentum = 0.9}));
    check("rmsprop_centered",
          rmsprop({.lr = 0.01, .alpha = 0.95, .momentum = 0.8, .centered = true}));
}

TEST_CASE("torch: Adam") {
    check("adam", adam<Adam>({.lr = 0.02}));
    check("adam_decay", adam<Adam>({.lr = 0.02, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-6}, 0.05));
}

TEST_CASE("torch: AdamW, two groups") {
    check("adamw", [](const Parameters& p) {
        return std::make_unique<AdamW>(
            std::vector<ParameterGroup>{{{p.matrix}, 0.1}, {{p.vector}, 0, 0.5}},
            AdamConfig{.lr = 0.02, .beta1 = 0.9, .beta2 = 0.99});
    });
}

TEST_CASE("torch: AdamW along a warm-up and a cosine") {
    check("adamw_schedule", adam<AdamW>({.lr = 0.02}, 0.1), warmup_cosine_schedule(kTwentySteps));
}

// In PyTorch this schedule takes SequentialLR of LinearLR and CosineAnnealingLR. After its last
// step PyTorch's cosine rises again; ours stays constant.
TEST_CASE("torch: warm-up and cosine") {
    check_rates("adamw_schedule/rates", warmup_cosine_schedule(kTwentySteps));
    check_rates("rates/long", warmup_cosine_schedule(
                                  {.rate = 1e-3, .min_rate = 1e-4, .warmup = 10, .steps = 100}));
    check_rates("rates/to_zero",
                warmup_cosine_schedule({.rate = 0.5, .min_rate = 0, .warmup = 1, .steps = 30}));
}
