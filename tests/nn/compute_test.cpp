// Training in bf16 with f32 parameters: which tensors have which dtype, that the gradients are
// close to those of f32, and that nothing else changes.
#include <tapestry/core/cpu.h>
#include <tapestry/core/parallel.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/train/training_config.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/nn/support.h>
#include <tapestry/tests/settings.h>

#include <cmath>

using namespace tapestry;
using test::Scratch, test::SettingsGuard;

namespace {

GPTConfig small(Positions positions = Positions::learned) {
    return {.vocab = 19,
            .context = 24,
            .layers = 2,
            .heads = 2,
            .dim = 32,
            .positions = positions,
            .compute = ComputeType::bf16};
}

Tensor some_ids(std::uint64_t seed) {
    Generator generator(seed);
    return randint(0, 19, {3, 24}, generator);
}

std::vector<float> gradients(const GPT& model) {
    for (Tensor& p : model.parameters()) p.clear_grad();
    Tape tape;
    tape.backward(model.loss(some_ids(1), some_ids(2)));
    std::vector<float> all;
    for (const Tensor& p : model.parameters()) {
        CHECK(p.grad().dtype() == DType::f32);
        const auto values = p.grad().to_vector<float>();
        all.insert(all.end(), values.begin(), values.end());
    }
    return all;
}

double cosine(const std::vector<float>& a, const std::vector<float>& b) {
    double ab = 0, aa = 0, bb = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        ab += static_cast<double>(a[i]) * static_cast<double>(b[i]);
        aa += static_cast<double>(a[i]) * static_cast<double>(a[i]);
        bb += static_cast<double>(b[i]) * static_cast<double>(b[i]);
    }
    return ab / std::sqrt(aa * bb);
}

}  // namespace

TEST_CASE("compute: activations are bf16, parameters, gradients and the loss f32") {
    for (const Positions positions : {Positions::learned, Positions::rotary, Positions::alibi,
                                      Positions::relative, Positions::none}) {
        GPTConfig config = small(positions);
        Generator one(3), two(3);
        const GPT model(config, one);
        config.compute = ComputeType::f32;
        const GPT wide(config, two);
        CHECK(model(some_ids(1)).dtype() == DType::bf16);
        CHECK(model.loss(some_ids(1), some_ids(2)).dtype() == DType::f32);
        const double loss = model.loss(some_ids(1), some_ids(2)).item();
        CHECK(std::abs(loss - wide.loss(some_ids(1), some_ids(2)).item()) < 0.01);
        CHECK(cosine(gradients(model), gradients(wide)) > 0.995);
    }
}

TEST_CASE("compute: the same bits on any number of threads, and it learns") {
    const SettingsGuard restored;
    std::vector<float> losses[2];
    for (const int threads : {1, 3}) {
        set_num_threads(threads);
        Generator generator(3);
        GPT model(small(), generator);
        AdamW optimizer(ParameterGroups(model.parameters()), {.lr = 3e-3});
        for (int step = 0; step < 30; ++step) {
            optimizer.zero_grad();
            Tape tape;
            const Tensor loss = model.loss(some_ids(1), some_ids(2));
            losses[threads / 3].push_back(loss.item<float>());
            tape.backward(loss);
            optimizer.step();
        }
    }
    CHECK(losses[0] == losses[1]);
    CHECK(losses[0].back() < losses[0].front() - 1);
}

TEST_CASE("compute: a checkpoint's configuration knows it, a model's file does not") {
    TrainingConfig config;
    config.model.compute = ComputeType::bf16;
    CHECK(training_config_from_json(to_json(config), "test").model.compute == ComputeType::bf16);
}

TEST_CASE("compute: tensors of 16 bits go to a file and back, bit for bit") {
    const Scratch scratch;
    const Tensor x = cast(test::random({5, 7}), DType::bf16), y = cast(x, DType::f16);
    write_safetensors(scratch / "halves", {{"x", x}, {"y", y}});
    const NamedTensors back = read_safetensors(scratch / "halves").tensors;
    CHECK(back[0].second.dtype() == DType::bf16);
    CHECK(back[1].second.dtype() == DType::f16);
    CHECK(back[0].second.to_vector<float>() == x.to_vector<float>());
    CHECK(back[1].second.to_vector<float>() == y.to_vector<float>());
}
