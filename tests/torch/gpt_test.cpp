// A GPT of three layers against GPT-2 in PyTorch: one batch's logits, loss and gradients, and the
// losses of twenty steps of training.
#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/optim/schedule.h>
#include <tapestry/tests/torch/check.h>

using namespace tapestry;
using torch::Named;
using torch::Names;

namespace {

constexpr std::int64_t kContext = 12, kSteps = 20;
const GPTConfig kConfig{.vocab = 19, .context = kContext, .layers = 3, .heads = 4, .dim = 20};

}  // namespace

TEST_CASE("torch: GPT") {
    GPT model(kConfig);
    torch::check_against("gpt", "gpt2", model, Names::gpt2, [&](const Named& in) -> Named {
        return {{"logits", model(in.at("ids"))},
                {"loss", model.loss(in.at("ids"), in.at("targets"))}};
    });
}

TEST_CASE("torch: GPT, twenty steps of AdamW") {
    const Tensor tokens = torch::look_up(torch::fixture("gpt"), "gpt2_training/tokens");
    const Tensor losses = torch::look_up(torch::fixture("gpt"), "gpt2_training/losses");
    const Schedule schedule =
        warmup_cosine_schedule({.rate = 0.01, .min_rate = 0.001, .warmup = 5, .steps = kSteps});
    torch::everywhere([&](DType dtype) {
        GPT model(kConfig);
        model.to(dtype);
        torch::load_weights(model, Names::gpt2,
                            torch::part(torch::fixture("gpt"), "gpt2/weight.", dtype));
        AdamW optimizer(decay_groups(model, 0.1),
                        {.lr = 0.01, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8});
        for (std::int64_t step = 0; step < kSteps; ++step) {
            const Tensor batch = torch::at(tokens, step);  // [B, T + 1]
            Tape tape;
            const Tensor loss = model.loss(views::slice(batch, 1, 0, kContext),
                                           views::slice(batch, 1, 1, kContext + 1));
            torch::check_close(fmt::format("loss of step {}", step), loss, torch::at(losses, step));
            optimizer.zero_grad();
            tape.backward(loss);
            optimizer.set_lr(schedule(step));
            optimizer.step();
        }
    });
}
