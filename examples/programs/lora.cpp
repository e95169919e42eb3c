// LoRA by hand: a GPT that counts upwards learns to count downwards with rank-2 matrices added to
// its frozen weights. Assigning W + B A to a weight under a tape records it like any op; in the end
// the sum becomes the weight. After Hu et al. 2021.
#include <tapestry/tapestry.h>

#include <deque>

using namespace tapestry;

namespace {

constexpr std::int64_t kRank = 2, kLength = 12, kBatch = 32;

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

Tensor loss_of(const GPT& model, std::int64_t direction, Generator& generator) {
    const Tensor ids = count(direction, generator);
    return model.loss(slice(ids, 1, 0, kLength), slice(ids, 1, 1, kLength + 1));
}

// A linear layer's frozen weight and the low-rank update learned for it.
struct Adapter {
    Linear& layer;
    Tensor own, a, b;  // [out, in], [r, in], [out, r]

    Adapter(Linear& linear, Generator& generator)
        : layer(linear),
          own(linear.weight.detach()),
          a(normal({kRank, own.size(1)}, 0, 0.5, generator).set_requires_grad()),
          b(zeros({own.size(0), kRank}).set_requires_grad()) {}  // initially no change

    void apply() const { layer.weight = own + matmul(b, a); }
};

void train(Optimizer& optimizer, int steps, const std::function<Tensor()>& loss) {
    for (int step = 0; step < steps; ++step) {
        Tape tape;
        optimizer.zero_grad();
        tape.backward(loss());
        optimizer.step();
    }
}

}  // namespace

int main() {
    Generator generator(1);
    GPT model({.vocab = 16, .context = kLength, .layers = 2, .heads = 2, .dim = 32}, generator);
    const auto report = [&](const char* when) {
        Generator same(9);
        const double up = loss_of(model, 1, same).item(), down = loss_of(model, -1, same).item();
        fmt::print("{:<12} loss upwards {:.2f}, downwards {:.2f}\n", when, up, down);
        return down;
    };
    AdamW all(model, {.lr = 3e-3});
    train(all, 150, [&] { return loss_of(model, 1, generator); });
    report("learnt:");

    model.freeze();
    std::deque<Adapter> adapters;
    Tensors learnt;
    for (const auto& block : model.blocks.layers) {
        for (Linear* layer :
             {&*block->attention.qkv, &block->feed_forward.up, &block->feed_forward.down}) {
            const Adapter& adapter = adapters.emplace_back(*layer, generator);
            learnt.insert(learnt.end(), {adapter.a, adapter.b});
        }
    }
    std::int64_t numbers = 0;
    for (const Tensor& x : learnt) numbers += x.numel();
    fmt::print("{:<12} {} numbers instead of {}\n", "adapted by:", numbers,
               model.parameter_count());
    AdamW few(learnt, {.lr = 1e-2});
    train(few, 200, [&] {
        for (const Adapter& adapter : adapters) adapter.apply();
        return loss_of(model, -1, generator);
    });
    for (const Adapter& adapter : adapters) adapter.apply();  // merged: no tape is active
    return report("adapted:") < 0.5 ? 0 : 1;
}
