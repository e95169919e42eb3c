// Several threads and one model: steps are refused or taken in turns, gradients add up, values may
// be read. `.ci/long threads` also runs these under ThreadSanitizer.
#include <tapestry/autograd/tape.h>
#include <tapestry/core/parallel.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/train/train_step.h>
#include <tapestry/ops/subscript.h>
#include <tapestry/tests/nn/support.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

using namespace tapestry;

namespace {

// With loops that are large enough to be shared with the threads of a pool.
const GPTConfig kSmall{.vocab = 19, .context = 16, .layers = 1, .heads = 2, .dim = 32};

Tensor drawn_ids(std::uint64_t seed) {
    Generator generator(seed);
    return randint(0, kSmall.vocab, {8, 16}, generator);
}

struct Learning {
    Generator generator{1};
    GPT model{kSmall, generator};
    AdamW optimizer{model, {.lr = 1e-2}};
    Tensor ids = drawn_ids(2), targets = drawn_ids(3);
    Tensor loss() const { return model.loss(ids, targets); }
    Tensor loss_of_half(int half) const {
        return model.loss(narrow(ids, 0, 4 * half, 4), narrow(targets, 0, 4 * half, 4));
    }
    std::vector<std::vector<float>> numbers() const { return test::numbers_of<float>(model); }
};

void in_threads(int count, const std::function<void(int)>& f) {
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) threads.emplace_back(f, i);
    for (std::thread& thread : threads) thread.join();
}

}  // namespace

TEST_CASE("shared model: steps of two threads are refused or taken in turns") {
    const ThreadsGuard two(2);
    Learning shared, alone;
    std::atomic<int> refused{0};
    in_threads(2, [&](int) {
        TrainStep step(shared.optimizer);
        for (int taken = 0; taken < 10;) {
            try {
                step.take(taken + 1, 1e-2, [&] { return shared.loss(); });
                ++taken;
            } catch (const AutogradError&) {
                ++refused;
                std::this_thread::yield();
            }
        }
    });
    INFO(refused << " refused");
    TrainStep step(alone.optimizer);
    for (int i = 0; i < 20; ++i) step.take(i + 1, 1e-2, [&] { return alone.loss(); });
    CHECK(shared.numbers() == alone.numbers());
}

TEST_CASE("shared model: gradients of two threads add up, and one of them steps") {
    const ThreadsGuard two(2);
    Learning shared, alone;
    for (int round = 0; round < 10; ++round) {
        in_threads(2, [&](int half) {
            Tape tape;
            tape.backward(shared.loss_of_half(half));
        });
        in_threads(1, [&](int) {
            shared.optimizer.step();
            shared.optimizer.zero_grad();
        });
        for (const int half : {1, 0}) {
            Tape tape;
            tape.backward(alone.loss_of_half(half));
        }
        alone.optimizer.step();
        alone.optimizer.zero_grad();
        REQUIRE(shared.numbers() == alone.numbers());
    }
}

TEST_CASE("shared model: threads may read a model that is not trained meanwhile") {
    const ThreadsGuard two(2);
    const Learning shared;
    const float loss = shared.loss().item<float>();
    std::atomic<int> equal{0};
    in_threads(3, [&](int i) {
        if (i == 0) {  // with a tape, too: gradient() leaves grad() alone
            Tape tape;
            tape.gradient(shared.loss(), shared.model.parameters());
        }
        if (shared.loss().item<float>() == loss) ++equal;
    });
    CHECK_EQ(equal, 3);
}
