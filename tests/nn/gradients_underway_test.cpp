// Gradients that set out while the backward pass goes on: what of their way it hides, how many of
// them a process has at a time, and what cannot be. That they change no bit is
// data_parallel_test.cpp's.
#include <tapestry/core/storage.h>
#include <tapestry/nn/distributed/thread_group.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/train/train_step.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/indexing.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/tests/autograd/support.h>
#include <tapestry/tests/nn/support.h>

#include <chrono>
#include <mutex>
#include <thread>

using namespace tapestry;
using test::check_throws;

namespace {

constexpr std::int64_t kPiece = 8192;

// x, after whose rule 5 ms have gone by.
Tensor slowly(const Tensor& x) {
    return test::with_rule(
        x, [](const Tensor& y) { return y * 1.0; },
        [](const Tensor& grad, const Tensor&) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            return Tensors{grad};
        });
}

// Sixteen layers of a parameter each, of which a bucket takes 4 ms on its way.
StepTraffic traffic_of_a_step(bool in_order) {
    StepTraffic traffic;
    const Network network{.latency = 2e-4, .bytes_per_second = 4 * kPiece / 4e-3};
    const auto program = [&](Communicator& c) {
        Tensors parameters;
        for (int i = 0; i < 16; ++i) {
            parameters.push_back(zeros({2 * kPiece}).set_requires_grad());
        }
        AdamW optimizer({{.parameters = parameters}}, {});
        TrainStep step(optimizer, {.micro_batches = 2, .communicator = &c});
        step.take(1, 0.1, [&] {
            Tensor h = zeros({2 * kPiece});
            // Out of order: all are read first, so that all are complete in the end.
            Tensors read;
            for (const Tensor& p : parameters) read.push_back(in_order ? p : p * 1.0);
            for (const Tensor& p : read) h = slowly(h + p);
            return sum(h);
        });
        if (c.rank() == 0) traffic = step.traffic();
    };
    run_in_threads(2, program, network);
    return traffic;
}

}  // namespace

TEST_CASE("gradients underway: hidden behind the backward pass, but for the last bucket's") {
    double hidden = 0;
    for (int tries = 0; tries < 3 && hidden < 0.8; ++tries) {  // the machine may be busy
        const StepTraffic traffic = traffic_of_a_step(true);
        CHECK(traffic.gradients > 0.06);
        CHECK_EQ(traffic.to_go.size(), 16);
        hidden = 1 - traffic.waited / traffic.gradients;
    }
    CHECK(hidden > 0.8);
    const StepTraffic late = traffic_of_a_step(false);  // or nothing has been seen
    CHECK(late.waited > 0.8 * late.gradients);
}

TEST_CASE("gradients underway: a process has 2 + log2(V / P) of them at the most") {
    // Tables of which a leaf reads one row: their gradients are all that is large. They come at
    // once, so that all are under way together.
    constexpr std::int64_t kTables = 32, kRows = 2, kBytes = kTables * kRows * kPiece * 4;
    const auto sets = [&](int processes, std::int64_t micro_batches) {
        double found = 0;
        run_in_threads(processes, [&](Communicator& c) {
            Tensors tables;
            for (std::int64_t i = 0; i < kTables; ++i) {
                tables.push_back(zeros({kRows, kPiece}).set_requires_grad());
            }
            AdamW optimizer({{.parameters = tables}}, {});
            TrainStep step(optimizer, {.micro_batches = micro_batches, .communicator = &c});
            const Tensor ids = tensor(std::vector<std::int64_t>{1}, {1});
            const auto take = [&](std::int64_t n) {
                step.zero_grad();
                double loss = step.gradients([&] {
                    Tensor total = zeros({});
                    for (const Tensor& table : tables) total = total + sum(embedding(table, ids));
                    return total;
                });
                step.reduce(loss);
                if (n == 2) barrier(c, "all have summed");
                if (n == 2 && c.rank() == 0) {
                    found = static_cast<double>(memory_statistics().peak) / kBytes;
                }
                step.update(0.1, step.check(n, loss));
            };
            take(1);  // moments are made
            barrier(c, "one step");
            const double before = static_cast<double>(memory_statistics().current) / kBytes;
            if (c.rank() == 0) reset_peak_memory();
            barrier(c, "looked");
            take(2);
            if (c.rank() == 0) found = (found - before) / processes;
            barrier(c, "another step");
        });
        return found;
    };
    const double slack = 0.15;  // what is being packed, rows, losses
    CHECK(sets(2, 2) <= 2 + slack);
    CHECK(sets(4, 4) <= 2 + slack);
    CHECK(sets(2, 8) <= 4 + slack);
    CHECK(sets(4, 16) <= 4 + slack);
    CHECK(sets(2, 8) > 2);  // or nothing has been seen
}

TEST_CASE("gradients underway: one that comes after its backward is refused") {
    const auto twice = [] {
        run_in_threads(2, [](Communicator& c) {
            Tensor w = tensor(std::vector<float>{1}, {1}).set_requires_grad();
            AdamW optimizer({{.parameters = {w}}}, {});
            const auto again = [&](StepPhase phase) {
                if (phase != StepPhase::backward) return;
                Tape tape;
                tape.backward(sum(w));
            };
            TrainStep step(optimizer, {.micro_batches = 2, .communicator = &c, .ended = again});
            step.take(1, 0.1, [&] { return sum(w); });
        });
    };
    check_throws<AutogradError>(twice, "train: parameter 0 [1] got a gradient after its backward");
}
