// The work whose instructions instruction_counts.sh counts: a few pieces on one thread, each done
// twice, the second time in a function whose name begins with measured_. By then memory is cached,
// tables are filled and random numbers are drawn.
//
//     instruction_counts gemm | layer_norm | attention | step
//     instruction_counts compiler          the compiler that built it, for instance g++-12
#include <tapestry/autograd/tape.h>
#include <tapestry/core/random.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/train/loop.h>
#include <tapestry/ops/attention.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/norm.h>
#include <tapestry/ops/reduction.h>

#include <cstdio>
#include <exception>
#include <string_view>

namespace {

using namespace tapestry;

Generator& generator() {
    static Generator instance(1);
    return instance;
}

Tensor leaf(const Shape& shape) {
    Tensor x = randn(shape, generator());
    x.set_requires_grad(true);
    return x;
}

void gemm() {
    static const Tensor a = randn({96, 96}, generator());
    static const Tensor b = randn({96, 96}, generator());
    matmul(a, b);
}

void layer_norm_both_ways() {
    static const Tensor x = leaf({64, 128});
    static const Tensor weight = leaf({128});
    static const Tensor bias = leaf({128});
    Tape tape;
    tape.backward(sum(layer_norm(x, weight, bias)));
}

void attention_both_ways() {
    static const Tensor q = leaf({2, 4, 64, 32});
    static const Tensor k = leaf({2, 4, 64, 32});
    static const Tensor v = leaf({2, 4, 64, 32});
    Tape tape;
    tape.backward(sum(scaled_dot_product_attention(q, k, v, {.causal = true})));
}

// Two training steps as in the command.
void step() {
    static const GPTConfig config{.vocab = 65, .context = 16, .layers = 2, .heads = 2, .dim = 32};
    static const GPT model(config, generator());
    static AdamW optimizer(decay_groups(model, 0.1), {.lr = 1e-3, .beta2 = 0.99});
    static const Tensor tokens = randint(0, config.vocab, {4, config.context + 1}, generator());
    static const Tensor ids = views::slice(tokens, 1, 0, config.context);
    static const Tensor targets = views::slice(tokens, 1, 1, config.context + 1);
    train(optimizer, {.steps = 2},
          {.loss = [] { return model.loss(ids, targets); }, .evaluate = {}, .report = {}});
}

}  // namespace

// The functions that callgrind looks for: unmangled names, and calls that are not tail calls, since
// a jump to the end of another function would not return here.
extern "C" {
[[gnu::noinline]] int measured_gemm() { return gemm(), 1; }
[[gnu::noinline]] int measured_layer_norm() { return layer_norm_both_ways(), 1; }
[[gnu::noinline]] int measured_attention() { return attention_both_ways(), 1; }
[[gnu::noinline]] int measured_step() { return step(), 1; }
}

int main(int count, char** arguments) {
    const std::string_view wanted = count > 1 ? arguments[1] : "";
#if defined(__clang__)
    if (wanted == "compiler") return std::printf("clang-%d\n", __clang_major__) < 0;
#else
    if (wanted == "compiler") return std::printf("g++-%d\n", __GNUC__) < 0;
#endif
    int done = 0;
    const auto run = [&](std::string_view name, void (*warm_up)(), int (*measured)()) {
        if (wanted != name) return;
        warm_up();
        done += measured();
    };
    try {
        run("gemm", gemm, measured_gemm);
        run("layer_norm", layer_norm_both_ways, measured_layer_norm);
        run("attention", attention_both_ways, measured_attention);
        run("step", step, measured_step);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "instruction_counts: %s\n", error.what());
        return 1;
    }
    if (done == 0) std::fprintf(stderr, "instruction_counts: which work? See its source\n");
    return done == 0 ? 2 : 0;
}
