// Data-parallel steps: any number of processes gives the bits of one. Here they are threads;
// tests/distributed uses mpirun.
#include <tapestry/nn/distributed/thread_group.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/optim/muon.h>
#include <tapestry/nn/optim/sgd.h>
#include <tapestry/nn/train/train_step.h>
#include <tapestry/ops/activation.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/loss.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/tests/nn/support.h>

#include <cmath>
#include <functional>
#include <memory>
#include <mutex>

using namespace tapestry;
using test::check_throws;

namespace {

// About 50,000 parameters: seven pieces of a norm, with no boundary at a tensor's edge.
struct Model : Module {
    explicit Model(Generator& g) : Module("Model"), in(30, 700, g), out(700, 40, g) {
        register_module("in", in);
        register_module("out", out);
    }
    Tensor operator()(const Tensor& x) { return out(relu(in(x))); }
    Linear in, out;
};

struct Trained {
    std::vector<std::vector<float>> numbers;
    std::vector<double> losses, norms;
    bool operator==(const Trained&) const = default;
};

// Leaf `leaf` of a step, on any process.
Tensor loss_of(Model& model, std::int64_t step, std::int64_t leaf) {
    const auto seed = static_cast<std::uint64_t>(1000 * step + leaf);
    const Tensor x = test::random({4, 30}, seed, DType::f32);
    const Tensor y = test::random({4, 40}, seed + 500000, DType::f32);
    const DType dtype = model.in.weight.dtype();
    return mse_loss(model(cast(x, dtype)), cast(y, dtype));
}

using MakeOptimizer = std::function<std::unique_ptr<Optimizer>(const Model&)>;

std::unique_ptr<Optimizer> adamw(const Model& model) {
    return std::make_unique<AdamW>(decay_groups(model, 0.1), AdamConfig{.lr = 1e-3, .beta2 = 0.99});
}

// Muon for the first matrix, which spans several slices, and AdamW for all other parameters.
std::unique_ptr<Optimizer> muon(const Model& model) {
    return std::make_unique<Muon>(muon_groups(model, 0.1, "in"), MuonConfig{.lr = 1e-3});
}

std::unique_ptr<Optimizer> sgd(const Model& model) {
    return std::make_unique<SGD>(decay_groups(model, 0.1), SGDConfig{.lr = 1e-3, .momentum = 0.9});
}

Trained train(Communicator* communicator, std::int64_t leaves, DType dtype = DType::f32,
              const MakeOptimizer& make = adamw) {
    constexpr double clip = 0.05;
    Generator g(5);
    Model model(g);
    model.to(dtype);
    const std::unique_ptr<Optimizer> optimizer = make(model);
    TrainStep step(*optimizer,
                   {.micro_batches = leaves, .clip = clip, .communicator = communicator});
    Trained trained;
    for (std::int64_t n = 1; n <= 4; ++n) {
        std::int64_t leaf = step.share().begin;
        const StepResult result = step.take(n, 1e-2, [&] { return loss_of(model, n, leaf++); });
        CHECK_EQ(leaf, step.share().end);
        trained.losses.push_back(result.loss);
        trained.norms.push_back(result.grad_norm);
    }
    trained.numbers = test::numbers_of<float>(model);
    return trained;
}

// The results of each of `size` processes.
std::vector<Trained> trained_by(int size, std::int64_t leaves, DType dtype,
                                const MakeOptimizer& make = adamw) {
    std::vector<Trained> all(static_cast<std::size_t>(size));
    run_in_threads(size, [&](Communicator& c) {
        all[static_cast<std::size_t>(c.rank())] = train(&c, leaves, dtype, make);
    });
    return all;
}

}  // namespace

TEST_CASE("data parallel: any number of processes has the bits of one") {
    for (const std::int64_t leaves : {2, 7, 16}) {
        const Trained alone = train(nullptr, leaves);
        CHECK(alone.norms[0] > 0.05);  // clipped, so the weights depend on the norm's bits
        for (const int size : {1, 2, 3, 4, 7, 16}) {
            if (size > leaves) continue;
            INFO(size << " processes, " << leaves << " leaves");
            for (const Trained& one : trained_by(size, leaves, DType::f32)) CHECK((one == alone));
        }
    }
    CHECK((train(nullptr, 7) != train(nullptr, 16)));  // otherwise the test shows nothing
}

TEST_CASE("data parallel: of bf16 as well, whose sums are f32 and rounded once") {
    const Trained alone = train(nullptr, 7, DType::bf16);
    for (const int size : {1, 2, 3, 7}) {
        INFO(size << " processes");
        for (const Trained& one : trained_by(size, 7, DType::bf16)) CHECK((one == alone));
    }
}

TEST_CASE("data parallel: of optimisers that are not cut into slices, too") {
    for (const MakeOptimizer& make : {MakeOptimizer(muon), MakeOptimizer(sgd)}) {
        const Trained alone = train(nullptr, 7, DType::f32, make);
        for (const int size : {2, 3, 7}) {
            INFO(size << " processes");
            for (const Trained& one : trained_by(size, 7, DType::f32, make)) CHECK((one == alone));
        }
    }
}

TEST_CASE("data parallel: more processes than pieces of the parameters") {
    const auto fit = [](Communicator* c) {
        Tensor w = tensor(std::vector<float>{0.5F, -1}, {2}).set_requires_grad();
        AdamW optimizer({{.parameters = {w}}}, {});
        TrainStep step(optimizer, {.micro_batches = 4, .communicator = c});
        std::int64_t leaf = 0;
        for (int n = 1; n <= 3; ++n) {
            leaf = step.share().begin;
            step.take(n, 0.1, [&] { return sum(pow(w * static_cast<double>(++leaf), 2)); });
        }
        return w.to_vector<float>();
    };
    const std::vector<float> alone = fit(nullptr);
    run_in_threads(4, [&](Communicator& c) {
        if (fit(&c) != alone) fail("process {} learned something else", c.rank());
    });
}

TEST_CASE("data parallel: a step that diverges does so everywhere, and changes nothing") {
    std::mutex mutex;
    std::vector<std::string> messages;
    run_in_threads(3, [&](Communicator& c) {
        Tensor w = tensor(std::vector<float>{1}, {1}).set_requires_grad();
        AdamW optimizer({{.parameters = {w}}}, {});
        TrainStep step(optimizer, {.micro_batches = 4, .communicator = &c});
        std::int64_t leaf = step.share().begin;
        try {
            step.take(1, 0.1, [&] { return sum(w * (leaf++ == 3 ? INFINITY : 1.0)); });
        } catch (const DivergedError& error) {
            const std::lock_guard lock(mutex);
            messages.push_back(error.what());
        }
        require(w.item() == 1, "process {} has taken the step", c.rank());
    });
    REQUIRE_EQ(messages.size(), 3);
    CHECK_EQ(messages[0], messages[1]);
    CHECK_EQ(messages[0], messages[2]);
    CHECK(messages[0].find("train: step 1: the loss is inf") == 0);
}

TEST_CASE("data parallel: what is refused") {
    const auto make = [](int size, std::int64_t micro_batches) {
        run_in_threads(size, [&](Communicator& c) {
            Tensor w = tensor(std::vector<float>{1}, {1}).set_requires_grad();
            AdamW optimizer({{.parameters = {w}}}, {});
            TrainStep step(optimizer, {.micro_batches = micro_batches, .communicator = &c});
            step.take(1, 0.1, [&] { return sum(w); });
        });
    };
    check_throws<ValueError>([&] { make(3, 2); },
                             "data parallel: 3 processes for the 2 micro-batches of a step; each "
                             "needs one");
    check_throws<ValueError>([&] { make(2, 1); },
                             "train: 2 processes share the micro-batches of a step; set "
                             "micro_batches to at least 2 (--micro-batches), the same for any "
                             "number of processes");
    const auto without = [] {
        run_in_threads(2, [](Communicator& c) {
            Tensor w = tensor(std::vector<float>{1}, {1}).set_requires_grad();
            Tensor unused = tensor(std::vector<float>{1, 2}, {2}).set_requires_grad();
            AdamW optimizer({{.parameters = {w, unused}}}, {});
            TrainStep step(optimizer, {.micro_batches = 2, .communicator = &c});
            step.take(1, 0.1, [&] { return c.rank() == 0 ? sum(w) : sum(w) + sum(unused); });
        });
    };
    check_throws<ValueError>(without,
                             "data parallel: parameter 1 [2] got no gradient in micro-batch 0; "
                             "freeze it, or make the loss always depend on it");
}
