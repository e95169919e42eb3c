// LoRA with the library: a GPT that counts upwards learns to count downwards by rank-2 updates of
// its frozen matrices, which in the end are added to them. After Hu et al. 2021.
#include <tapestry/tapestry.h>

using namespace tapestry;

namespace {

constexpr std::int64_t kLength = 12, kBatch = 32;

// [B, T + 1]: consecutive numbers modulo 16 from a random start, upwards or downwards.
Tensor count(std::int64_t direction, Generator& generator) {
    std::vector<std::int64_t> ids;
    for (std::int64_t i = 0; i < kBatch; ++i) {
        auto at = static_cast<std::int64_t>(generator.below(16));
        for (std::int64_t t = 0; t <= kLength; ++t, at = (at + 16 + direction) % 16) {
            ids.push_back(at);
        }
    }
    return tensor(ids, {kBatch, kLength + 1});
}

Tensor loss_of(const LanguageModel& model, std::int64_t direction, Generator& generator) {
    const Tensor ids = count(direction, generator);
    return model.loss(slice(ids, 1, 0, kLength), slice(ids, 1, 1, kLength + 1));
}

void train(Optimizer& optimizer, int steps, const std::function<Tensor()>& loss) {
    for (int step = 0; step < steps; ++step) {
        Tape tape;
        optimizer.zero_grad();
        tape.backward(loss());
        optimizer.step();
    }
}

double report(const char* when, const LanguageModel& model) {
    Generator same(9);
    const double up = loss_of(model, 1, same).item(), down = loss_of(model, -1, same).item();
    fmt::print("{:<12} loss upwards {:.2f}, downwards {:.2f}\n", when, up, down);
    return down;
}

}  // namespace

int main() {
    Generator generator(1);
    GPT model({.vocab = 16, .context = kLength, .layers = 2, .heads = 2, .dim = 32}, generator);
    AdamW all(model, {.lr = 3e-3});
    train(all, 150, [&] { return loss_of(model, 1, generator); });
    report("learnt:", model);

    add_lora(model, {.update = {.rank = 2}, .targets = {"qkv", "up", "down"}}, generator);
    fmt::print("{}\n", lora_text(model));
    AdamW few(model, {.lr = 1e-2});  // parameters that are not frozen
    train(few, 200, [&] { return loss_of(model, -1, generator); });
    report("adapted:", model);
    return report("merged:", *merged(model)) < 0.5 ? 0 : 1;
}
