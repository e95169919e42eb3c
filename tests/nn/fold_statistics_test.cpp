// Batch norm with several processes: its running statistics have the bits of one process. The
// processes are threads here.
#include <tapestry/nn/distributed/thread_group.h>
#include <tapestry/nn/layers/convolution.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/layers/norm.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/train/train_step.h>
#include <tapestry/ops/activation.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/loss.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/nn/support.h>

#include <mutex>
#include <set>

using namespace tapestry;
using test::check_throws;

namespace {

constexpr std::int64_t kSteps = 3, kRows = 4;

// Three sizes of statistics, one updated twice per leaf.
struct Model : Module {
    explicit Model(Generator& g)
        : Module("Model"), convolution(3, 5, {3, 3}, {}, g), out(60, 4, g) {
        register_module("convolution", convolution);
        register_module("images", images);
        register_module("rows", rows);
        register_module("out", out);
        register_module("twice", twice);
    }
    Tensor operator()(const Tensor& x) {  // [N, 3, 5, 6] -> [N, 4]
        const Tensor h = relu(images(convolution(x)));
        return twice(twice(out(rows(reshape(h, {x.size(0), 60})))));
    }
    Conv2d convolution;
    BatchNorm2d images{5, {.momentum = 0.3}};
    BatchNorm1d rows{60}, twice{4, {.momentum = 0.05}};
    Linear out;
};

using Numbers = std::vector<std::vector<double>>;

// Each leaf's batch has a different mean and variance.
Tensor loss_of(Model& model, std::int64_t step, std::int64_t leaf) {
    const auto seed = static_cast<std::uint64_t>(1000 * step + leaf);
    const Tensor x = test::random({kRows, 3, 5, 6}, seed, DType::f32);
    const double scale = 1 + 0.1 * static_cast<double>(leaf);
    return mse_loss(model(x * scale + scale), test::random({kRows, 4}, seed + 9, DType::f32));
}

// The model's buffers and parameters at the end.
Numbers left_in(const Model& model) {
    Numbers all;
    for (const auto& [name, tensor] : model.state_dict()) all.push_back(tensor.to_vector<double>());
    return all;
}

Numbers train(Communicator* communicator, std::int64_t accumulate, std::int64_t micro_batches) {
    Generator g(5);
    Model model(g);
    AdamW optimizer(model.parameters(), {.lr = 1e-3});
    TrainStep step(
        optimizer,
        {.accumulate = accumulate, .micro_batches = micro_batches, .communicator = communicator});
    for (std::int64_t n = 1; n <= kSteps; ++n) {
        std::int64_t leaf = step.share().begin;
        step.take(n, 1e-2, [&] { return loss_of(model, n, leaf++); });
    }
    return left_in(model);
}

Numbers buffers(const Model& model) {
    Numbers all;
    for (const auto& [name, tensor] : model.named_buffers()) {
        all.push_back(tensor.to_vector<double>());
    }
    return all;
}

// Forward passes without a step update the statistics immediately.
Numbers moved_at_once(std::int64_t leaves) {
    Generator g(5);
    Model model(g);
    for (std::int64_t leaf = 0; leaf < leaves; ++leaf) loss_of(model, 1, leaf);
    return buffers(model);
}

Numbers moved_by_step(Communicator& communicator, std::int64_t leaves) {
    Generator g(5);
    Model model(g);
    AdamW optimizer(model.parameters(), {});
    TrainStep step(optimizer, {.micro_batches = leaves, .communicator = &communicator});
    std::int64_t leaf = step.share().begin;
    step.take(1, 0, [&] { return loss_of(model, 1, leaf++); });
    return buffers(model);
}

}  // namespace

TEST_CASE("fold statistics: any number of processes ends with the bits of one") {
    std::set<Numbers> distinct;
    for (const std::int64_t accumulate : {1, 3}) {
        for (const std::int64_t micro_batches : {4, 7}) {
            const Numbers alone = train(nullptr, accumulate, micro_batches);
            distinct.insert(alone);
            for (const int size : {1, 2, 3, 4}) {
                INFO(size << " processes, " << accumulate << " x " << micro_batches);
                std::vector<Numbers> all(static_cast<std::size_t>(size));
                run_in_threads(size, [&](Communicator& c) {
                    all[static_cast<std::size_t>(c.rank())] = train(&c, accumulate, micro_batches);
                });
                for (const Numbers& one : all) CHECK((one == alone));
            }
        }
    }
    CHECK_EQ(distinct.size(), 4);  // otherwise the test shows nothing
}

TEST_CASE("fold statistics: they are what forward passes move, one after the other") {
    const Numbers wanted = moved_at_once(7);
    for (const int size : {1, 3, 7}) {
        std::vector<Numbers> all(static_cast<std::size_t>(size));
        run_in_threads(size, [&](Communicator& c) {
            all[static_cast<std::size_t>(c.rank())] = moved_by_step(c, 7);
        });
        for (const Numbers& one : all) CHECK((one == wanted));
    }
    CHECK((moved_at_once(6) != wanted));
}

TEST_CASE("fold statistics: all leaves move the same ones, or all processes say which do not") {
    std::mutex mutex;
    std::vector<std::string> messages;
    run_in_threads(3, [&](Communicator& c) {
        Generator g(5);
        BatchNorm1d one(2), other(2);
        Tensor w = tensor(std::vector<float>{1, 2}, {2}).set_requires_grad();
        AdamW optimizer({{.parameters = {w}}}, {});
        TrainStep step(optimizer, {.micro_batches = 6, .communicator = &c});
        std::int64_t leaf = step.share().begin;
        try {
            step.take(1, 0.1, [&] {
                const Tensor y = one(test::random({3, 2}, 1, DType::f32) * w);
                return sum(leaf++ == 3 ? y : other(y));
            });
        } catch (const ValueError& error) {
            const std::lock_guard lock(mutex);
            messages.push_back(error.what());
        }
        require(one.num_batches_tracked.item<std::int64_t>() == 0, "they have moved");
    });
    REQUIRE_EQ(messages.size(), 3);
    for (const std::string& message : messages) {
        CHECK_EQ(message,
                 "data parallel: micro-batch 3 moves other running statistics than micro-batch 0; "
                 "all must call the same BatchNorms in the same order");
    }
}
