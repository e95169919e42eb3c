// LanguageModel::loss without whole logits: the same loss and gradients, and whole ones for those
// who look.
#include <doctest/doctest.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/core/random.h>
#include <tapestry/nn/inspect/inspector.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/models/llama/llama.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/loss.h>
#include <tapestry/ops/view.h>

#include <algorithm>
#include <cmath>

using namespace tapestry;

namespace {

constexpr std::int64_t kVocab = 50'000, kBatch = 2, kLength = 200;  // logits of 80 MB

bool uses(const Tape& tape, const char* op) {
    return std::any_of(tape.entries().begin(), tape.entries().end(),
                       [&](const auto& entry) { return entry->name() == op; });
}

double largest_difference(const Tensor& a, const Tensor& b) {
    const auto x = a.to_vector<float>(), y = b.to_vector<float>();
    REQUIRE(x.size() == y.size());
    double most = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        most = std::max(most, std::abs(double{x[i]} - double{y[i]}));
    }
    return most;
}

void check_same(LanguageModel& model) {
    Generator generator(3);
    const Tensor ids = randint(0, kVocab, {kBatch, kLength + 1}, generator);
    const Tensor x = slice(ids, 1, 0, kLength), y = slice(ids, 1, 1, kLength + 1);
    model.zero_grad();
    double sliced = 0;
    {
        Tape tape;
        const Tensor loss = model.loss(x, y);
        CHECK(uses(tape, "linear_cross_entropy"));
        CHECK(!uses(tape, "cross_entropy"));
        CHECK(tape.entries().back()->module_path() == "head");
        tape.backward(loss);
        sliced = loss.item();
    }
    std::vector<Tensor> gradients;
    for (const auto& [name, parameter] : model.named_parameters()) {
        gradients.push_back(parameter.grad().clone());
    }
    model.zero_grad();
    Tape tape;
    const Tensor loss = cross_entropy(model(x), y);
    tape.backward(loss);
    CHECK(sliced == doctest::Approx(loss.item()).epsilon(1e-6));
    std::size_t i = 0;
    for (const auto& one : model.named_parameters()) {  // clang 14 cannot capture bindings
        INFO(one.first);
        CHECK(largest_difference(gradients[i++], one.second.grad()) < 2e-6);
    }
}

}  // namespace

TEST_CASE("loss: large logits are sliced, with the gradients of whole ones") {
    Generator generator(1);
    SUBCASE("a GPT with a soft cap, its head untied") {
        GPT model({.vocab = kVocab,
                   .context = kLength,
                   .layers = 1,
                   .heads = 2,
                   .dim = 8,
                   .tied_head = false,
                   .softcap = 5},
                  generator);
        check_same(model);
    }
    SUBCASE("a GPT with a tied head") {
        GPT model({.vocab = kVocab,
                   .context = kLength,
                   .layers = 1,
                   .heads = 2,
                   .dim = 8,
                   .tied_head = true},
                  generator);
        check_same(model);
    }
    SUBCASE("a Llama") {
        Llama model({.vocab = kVocab, .context = kLength, .layers = 1, .heads = 2, .dim = 8},
                    generator);
        check_same(model);
    }
}

TEST_CASE("loss: logits are whole for an inspector, for hooks, and if they are small") {
    Generator generator(1);
    GPT model({.vocab = kVocab, .context = kLength, .layers = 1, .heads = 2, .dim = 8}, generator);
    const Tensor ids = randint(0, kVocab, {kBatch, kLength + 1}, generator);
    const auto is_sliced = [&](std::int64_t length) {
        Tape tape;
        static_cast<void>(model.loss(slice(ids, 1, 0, length), slice(ids, 1, 1, length + 1)));
        return uses(tape, "linear_cross_entropy");
    };
    CHECK(is_sliced(kLength));
    CHECK(!is_sliced(10));
    {
        const auto hook = model.head.register_forward_hook(
            [](const Module&, const Tensors&, const Tensor&) { return Tensor(); });
        CHECK(!is_sliced(kLength));
    }
    CHECK(is_sliced(kLength));
    {
        Inspector inspector(model);
        CHECK(!is_sliced(kLength));
        inspector.finish();
        CHECK(is_sliced(kLength));
    }
}

namespace {

struct Doubled final : GPT {
    using GPT::GPT;
    Tensor operator()(const Tensor& ids, const TransformerStackInputs& inputs) const override {
        return GPT::operator()(ids, inputs) * 2.0;
    }
};

}  // namespace

TEST_CASE("loss: a derived class that changes the logits is not bypassed") {
    Generator generator(1);
    const Doubled model({.vocab = kVocab, .context = kLength, .layers = 1, .heads = 2, .dim = 8},
                        generator);
    const Tensor ids = randint(0, kVocab, {kBatch, kLength + 1}, generator);
    const Tensor x = slice(ids, 1, 0, kLength), y = slice(ids, 1, 1, kLength + 1);
    CHECK(model.loss(x, y).item() == cross_entropy(model(x, {}), y).item());
}
