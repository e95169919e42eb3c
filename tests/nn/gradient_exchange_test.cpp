// Gradients sent during the backward pass: how much of the transfer it hides, how many sets of them
// a process holds at a time, and errors. data_parallel_test.cpp tests that they change no bit.
#include <tapestry/core/storage.h>
#include <tapestry/nn/distributed/thread_group.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/train/train_step.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/indexing.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/tests/autograd/support.h>
#include <tapestry/tests/nn/support.h>
#include <tapestry/tests/source_dir.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <utility>

using namespace tapestry;
using test::check_throws;

namespace {

constexpr std::int64_t kPiece = 8192;

// x, whose backward takes 5 ms.
Tensor slowly(const Tensor& x) {
    return test::with_rule(
        x, [](const Tensor& y) { return y * 1.0; },
        [](const Tensor& grad, const Tensor&) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            return Tensors{grad};
        });
}

// Sixteen layers with a parameter each; sending a bucket takes 4 ms.
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
            // Out of order: all are read first, so all are complete only at the end.
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
    for (int tries = 0; tries < 100 && hidden <= 0.8; ++tries) {  // the machine may be busy
        const StepTraffic traffic = traffic_of_a_step(true);
        CHECK(traffic.gradients > 0.06);
        CHECK_EQ(traffic.to_go.size(), 16);
        hidden = 1 - traffic.waited / traffic.gradients;
    }
    CHECK(hidden > 0.8);
    double waited = 0;
    for (int tries = 0; tries < 100 && waited <= 0.5; ++tries) {
        const StepTraffic late = traffic_of_a_step(false);  // otherwise the test shows nothing
        waited = late.waited / late.gradients;
    }
    CHECK(waited > 0.5);
}

namespace {

// How many maximal complete subtrees of the tree over all leaves fit into begin .. end - 1.
std::int64_t subtrees(std::int64_t begin, std::int64_t end) {
    std::int64_t count = 0;
    for (std::int64_t first = begin; first < end; ++count) {
        std::int64_t leaves = 1;
        while (first % (2 * leaves) == 0 && first + 2 * leaves <= end) leaves *= 2;
        first += leaves;
    }
    return count;
}

// docs/distributed.md: the most gradient sets that each process holds at a time.
std::vector<double> most_sets(int processes, std::int64_t leaves) {
    std::vector<double> sets;
    double all = 0;
    const auto share = [&](int p) { return share_of(leaves, p, processes); };
    for (int p = 0; p < processes; ++p) {
        all += static_cast<double>(subtrees(share(p).begin, share(p).end));
    }
    for (int p = 0; p < processes; ++p) {
        std::int64_t kept = 0;
        for (std::int64_t leaf = share(p).begin; leaf < share(p).end; ++leaf) {
            kept = std::max(kept, subtrees(share(p).begin, leaf));
        }
        const auto own = static_cast<double>(subtrees(share(p).begin, share(p).end));
        sets.push_back(static_cast<double>(1 + kept) + (all - own) / processes / 4);
    }
    return sets;
}

// The most that the processes, which are threads, hold at a time, averaged over them.
double measured_sets(int processes, std::int64_t micro_batches) {
    // Tables of which a leaf reads one row: their gradients dominate the memory. They are complete
    // at once and the network is slow, so as many as possible are in transfer.
    constexpr std::int64_t kTables = 48, kRows = 2, kBytes = kTables * kRows * kPiece * 4;
    double found = 0;
    const auto program = [&](Communicator& c) {
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
        take(1);  // allocates the moments
        barrier(c, "one step");
        if (c.rank() == 0) reset_peak_memory();
        barrier(c, "looked");
        take(2);
        barrier(c, "another step");
    };
    run_in_threads(processes, program, {.bytes_per_second = 100e6});
    const int others = processes + 2;  // parameters on every process, and the two moments once
    return (found - others) / processes;
}

}  // namespace

TEST_CASE("gradients underway: a process has no more of them than docs/distributed.md says") {
    constexpr double kSlack = 0.15;  // packing buffers, rows, losses
    const std::pair<int, std::int64_t> shared[] = {{2, 2},  {4, 4},  {2, 8}, {4, 16},
                                                   {3, 16}, {5, 51}, {6, 61}};
    for (const auto& one : shared) {  // clang 14 cannot capture structured bindings
        const int processes = one.first;
        const std::int64_t leaves = one.second;
        INFO(processes << " processes, " << leaves << " leaves");
        const std::vector<double> most = most_sets(processes, leaves);
        const double mean = std::accumulate(most.begin(), most.end(), 0.0) / processes;
        const double found = measured_sets(processes, leaves);
        CHECK_LE(found, mean + kSlack);
        CHECK_GT(found, mean - 2);  // not all reach it at once; otherwise the test shows nothing
    }
}

TEST_CASE("gradients underway: how many that are: 2 + log2(V / P) for powers of two, and others") {
    std::ifstream file(test::source_dir() / "docs/distributed.md");
    const std::string page{std::istreambuf_iterator<char>(file), {}};
    const auto limit = [](double leaves, double processes) {
        return 2 + std::log2(leaves / processes);
    };
    struct Worst {
        double over = -10, sets = 0;
        int leaves = 0, processes = 0;
    };
    std::map<std::int64_t, Worst> worst;  // by the largest number of leaves, as a power of two
    for (int leaves = 2; leaves <= 64; ++leaves) {
        for (int processes = 2; processes <= leaves; ++processes) {
            const std::vector<double> all = most_sets(processes, leaves);
            const double most = *std::max_element(all.begin(), all.end());
            const auto share = static_cast<std::uint64_t>((leaves + processes - 1) / processes);
            const double of_tree = 2 * std::log2(static_cast<double>(share) + 1) - 1;
            INFO(processes << " processes, " << leaves << " leaves: " << most);
            CHECK_LE(most, of_tree + (of_tree + 1) / 4);
            const bool powers = std::has_single_bit(static_cast<unsigned>(leaves)) &&
                                std::has_single_bit(static_cast<unsigned>(processes));
            if (powers) CHECK_LE(most, limit(leaves, processes));
            if (leaves == 16) CHECK_LE(most, limit(leaves, processes) + 0.2);
            Worst& w = worst[static_cast<std::int64_t>(std::bit_ceil(share))];
            const double over = most - limit(leaves, processes);
            if (over > w.over) w = {over, most, leaves, processes};
        }
    }
    for (const auto& [share, w] : worst) {
        const std::string row = fmt::format("| {} | {:.1f} | {:.1f} | {} | {} |\n", share, w.sets,
                                            limit(w.leaves, w.processes), w.leaves, w.processes);
        CHECK_MESSAGE(page.find(row) != page.npos, row);
    }
}

TEST_CASE("gradients underway: processes that complete buckets in different orders") {
    // More buckets than may be in transfer; every process starts with a different one, and the last
    // one goes in the opposite order.
    constexpr std::size_t kParameters = 40;
    std::mutex mutex;
    std::vector<double> norms;
    run_in_threads(3, [&](Communicator& c) {
        Tensors parameters;
        for (std::size_t i = 0; i < kParameters; ++i) {
            parameters.push_back(zeros({3 * kPiece}).set_requires_grad());
        }
        AdamW optimizer({{.parameters = parameters}}, {});
        TrainStep step(optimizer, {.micro_batches = 5, .communicator = &c});
        const StepResult result = step.take(1, 0.1, [&] {
            Tensor total = zeros({});
            for (std::size_t i = 0; i < kParameters; ++i) {
                const std::size_t at = (i + 10 * static_cast<std::size_t>(c.rank())) % kParameters;
                const std::size_t which = c.rank() == 2 ? kParameters - 1 - at : at;
                total = total + sum(parameters[which]) * static_cast<double>(which + 1);
            }
            return total;
        });
        const std::lock_guard lock(mutex);
        norms.push_back(result.grad_norm);
    });
    // Parameter i has 3 kPiece values i + 1, and the sum of the squares of 1 to 40 is 22140.
    for (const double norm : norms)
        CHECK_EQ(norm, doctest::Approx(std::sqrt(3 * kPiece * 22140.0)));
    CHECK_EQ(norms.size(), 3);
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
