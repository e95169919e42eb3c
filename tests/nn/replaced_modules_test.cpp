// Modules in everyday use: submodules that are replaced or destroyed, the op `to` inside a module,
// parameters or activations in bf16, padding rows, forms of attention by name, metadata of weights,
// and the search for a learning rate.
#include <doctest/doctest.h>
#include <tapestry/core/random.h>
#include <tapestry/nn/data/tokenizer.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/layers/convolution.h>
#include <tapestry/nn/layers/embedding.h>
#include <tapestry/nn/layers/norm.h>
#include <tapestry/nn/layers/sequential.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/optim/sgd.h>
#include <tapestry/nn/train/learning_rate_finder.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/attention.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/loss.h>
#include <tapestry/ops/optimizer_step.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/nn/support.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace tapestry;

namespace {

constexpr std::int64_t kWidth = 8;

struct Masked : Module {
    Linear inner;
    explicit Masked(Generator& g) : Module("Masked"), inner(kWidth, kWidth, g) {
        register_module("inner", inner);
    }
    Tensor operator()(const Tensor& x) const {
        return inner(x) * to(x > 0, DType::f32);  // the op, although Module has a member `to`
    }
};

struct Holder : Module {
    std::unique_ptr<Linear> part;
    explicit Holder(Generator& g) : Module("Holder"), part(std::make_unique<Linear>(2, 3, g)) {
        register_module("part", *part);
    }
    void replace(std::unique_ptr<Linear> other) {
        part = std::move(other);
        register_module("part", *part);
    }
    void add_again(Generator& g) {
        Linear other(2, 3, g);
        register_module("part", other);
    }
};

std::vector<std::string> names_of(const Module& module) {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : module.named_parameters()) names.push_back(name);
    return names;
}

GPTConfig small_gpt() {
    return {.vocab = 11, .context = 8, .layers = 2, .heads = 2, .dim = kWidth};
}

// Softmax attention, shrunk by a factor that is learned.
struct Shrunk : AttentionForm {
    Tensor factor;
    Shrunk() : AttentionForm("Shrunk") {
        factor = scalar(0.5);
        register_parameter("factor", factor);
    }
    Tensor operator()(const Tensor& q, const Tensor& k, const Tensor& v,
                      const AttentionOptions& options) const override {
        return hooked(scaled_dot_product_attention(q, k, v, options) * factor, q, k, v);
    }
};

void register_shrunk() {
    static const bool once = [] {
        register_attention_form("shrunk", [] { return std::make_unique<Shrunk>(); });
        return true;
    }();
    REQUIRE(once);
}

}  // namespace

TEST_CASE("modules: a public block is replaced by assignment") {
    Generator g(1);
    GPT gpt(small_gpt(), g);
    const auto names = names_of(gpt);
    const std::int64_t before = gpt.parameter_count();
    gpt.eval();
    const Tensor ids = tensor<std::int64_t>({{1, 2, 3}});
    const Tensor logits = gpt(ids);
    gpt.blocks.layers[0] = std::make_unique<TransformerBlock>(
        TransformerLayerConfig{.dim = kWidth, .heads = 2, .norm_first = true, .causal = true}, g);
    CHECK_EQ(gpt.parameter_count(), before);
    CHECK_EQ(names_of(gpt), names);
    CHECK(!gpt.blocks.layers[0]->is_training());  // as its owner
    CHECK(!allclose(gpt(ids), logits));
    Tape tape;
    gpt.train();
    tape.backward(sum(gpt(ids)));
    CHECK(gpt.blocks.layers[0]->attention.output.weight.grad().defined());
    test::check_throws<ValueError>([&] { gpt.blocks.layers[1] = nullptr; },
                                   "TransformerStack: its module \"1\" cannot be null");
    CHECK_EQ(gpt.parameter_count(), before);

    ModuleList<Linear> list;
    list.add(2, 3, g);
    list.add(3, 4, g);
    Linear& made = list.replace(0, 2, 5, g);
    CHECK_EQ(&made, &list[0]);
    CHECK_EQ(names_of(list), std::vector<std::string>{"0.weight", "0.bias", "1.weight", "1.bias"});
    CHECK_EQ(list.parameter_count(), 15 + 16);
    test::check_throws<IndexError>([&] { list.replace(2, 2, 2, g); }, "ModuleList: module 2 of 2");
}

TEST_CASE("modules: one that was destroyed is named, and its name can be registered again") {
    Generator g(1);
    Holder holder(g);
    holder.part = std::make_unique<Linear>(2, 3, g);
    const std::string message =
        "Holder: its module \"part\" (Linear) was destroyed; call register_module for the one that "
        "replaces it";
    test::check_throws<Error>([&] { (void)holder.parameter_count(); }, message);
    test::check_throws<Error>([&] { holder.train(); }, message);
    test::check_throws<Error>([&] { (void)holder.summary(); }, message);
    holder.replace(std::make_unique<Linear>(2, 5, g));
    CHECK_EQ(holder.parameter_count(), 15);
}

TEST_CASE("modules: a name that is taken stays with the one that has it") {
    Generator g(1);
    Holder holder(g);
    test::check_throws<ValueError>([&] { holder.add_again(g); },
                                   "Holder: has a module \"part\" already; destroy that first");
    CHECK_EQ(holder.parameter_count(), 9);
}

TEST_CASE("modules: the op `to` inside a module") {
    Generator g(1);
    const Masked module(g);
    const Tensor x = randn({3, kWidth}, g);
    CHECK(allclose(module(x), module.inner(x) * to(x > 0, DType::f32)));
}

TEST_CASE("modules: batch norm and SGD with parameters in bf16") {
    Generator g(2);
    for (const bool momentum : {false, true}) {
        Sequential network;
        network.add<Conv2d>(1, 4, 3, Conv2dOptions{.padding = 1}, g);
        network.add<BatchNorm2d>(4);
        network.add<Flatten>();
        network.add<Linear>(4 * 16, 3, g);
        network.to(DType::bf16);
        SGD optimizer(network, {.lr = 0.05, .momentum = momentum ? 0.9 : 0.0});
        const Tensor x = randn({12, 1, 4, 4}, g).to(DType::bf16);
        const Tensor y = randint(0, 3, {12}, g);
        double first = 0, last = 0;
        for (int step = 0; step < 60; ++step) {
            Tape tape;
            const Tensor loss = cross_entropy(network(x), y);
            tape.backward(loss);
            optimizer.step();
            optimizer.zero_grad();
            (step == 0 ? first : last) = loss.item();
        }
        CHECK_LT(last, 0.5 * first);
        for (const auto& [name, buffer] : network.named_buffers()) {
            if (name.ends_with("running_mean")) CHECK(buffer.dtype() == DType::bf16);
        }
        network.eval();
        CHECK(network(x).dtype() == DType::bf16);
        CHECK(optimizer.state().settings.contains("rounding_seed"));
    }
    Linear wide(2, 2, g);
    CHECK(!SGD(wide).state().settings.contains("rounding_seed"));
    wide.to(DType::f16);
    SGD narrow(wide);
    Tape tape;
    tape.backward(sum(wide(ones({1, 2}, DType::f16))));
    CHECK_THROWS_AS(narrow.step(), DTypeError);
}

TEST_CASE("modules: stochastic rounding lets SGD take steps below the spacing of bf16") {
    Tensor p = ones({4096}, DType::bf16), none;
    const Tensor g = ones({4096}, DType::bf16);
    for (std::uint64_t step = 0; step < 16; ++step) {
        sgd_update_(p, g, none, {.lr = 1e-4, .rounding_key = step + 1});
    }
    CHECK(p.to(DType::f64).mean().item() == doctest::Approx(1 - 16e-4).epsilon(2e-4));
}

TEST_CASE("modules: mixed precision follows the input; parameters and statistics stay f32") {
    Generator g(3);
    Sequential network;
    network.add<Conv2d>(1, 4, 3, Conv2dOptions{.padding = 1}, g);
    network.add<BatchNorm2d>(4);
    network.add<GroupNorm>(2, 4);
    network.add<Flatten>();
    network.add<LayerNorm>(64);
    network.add<Linear>(64, 3, g);
    const Tensor x = randn({12, 1, 4, 4}, g), y = randint(0, 3, {12}, g);
    const Tensor exact = network(x);
    const Tensor mixed = network(x.to(DType::bf16));
    CHECK(mixed.dtype() == DType::bf16);
    CHECK(allclose(mixed.to(DType::f32), exact, 0.05, 0.05));
    AdamW optimizer(network, {.lr = 0.01});
    double first = 0, last = 0;
    for (int step = 0; step < 40; ++step) {
        Tape tape;
        const Tensor loss = cross_entropy(network(x.to(DType::bf16)), y);
        tape.backward(loss);
        optimizer.step();
        optimizer.zero_grad();
        (step == 0 ? first : last) = loss.item();
    }
    CHECK_LT(last, 0.3 * first);
    for (const auto& [name, tensor] : network.state_dict()) {
        if (tensor.dtype() != DType::i64) CHECK(tensor.dtype() == DType::f32);
    }
    network.eval();
    CHECK(network(x.to(DType::bf16)).dtype() == DType::bf16);
    CHECK(allclose(network(x.to(DType::bf16)).to(DType::f32), network(x), 0.1, 0.1));
}

TEST_CASE("modules: an embedding's row of padding stays zero") {
    Generator g(4);
    Embedding table(5, 3, {.padding_idx = 2}, g);
    CHECK_EQ(table.settings(), "5 x 3, padding 2");
    const Tensor ids = tensor<std::int64_t>({0, 2, 2, 4});
    Tape tape;
    const Tensor y = table(ids);
    CHECK_EQ(y.abs().sum(1).at({1}), 0);
    tape.backward(sum(square(y + 1)));
    const Tensor rows = table.weight.grad().abs().sum(1);
    CHECK_GT(rows.at({0}), 0);
    CHECK_EQ(rows.at({2}), 0);
    test::check_throws<ValueError>([&] { Embedding(5, 3, {.padding_idx = 5}, g); },
                                   "Embedding: padding_idx must be in [0, 5), got 5");
}

TEST_CASE("modules: a form of attention by name is saved with the model") {
    register_shrunk();
    const test::Scratch scratch;
    Generator g(5);
    GPTConfig config = small_gpt();
    config.form = "shrunk";
    config.vocab = 3;
    GPT gpt(config, g);
    gpt.eval();
    const CharTokenizer tokenizer = CharTokenizer::from_text("abc");
    save_model(scratch / "m", gpt, tokenizer);
    const LoadedModel loaded = load_model(scratch / "m");
    loaded.model->eval();
    const Tensor ids = tensor<std::int64_t>({{0, 1, 2}});
    CHECK(allclose((*loaded.model)(ids), gpt(ids), 0, 0));
    CHECK_EQ(names_of(*loaded.model), names_of(gpt));
    config.form = "softmax";
    GPT plain(config, g);
    CHECK_EQ(gpt.parameter_count(), plain.parameter_count() + config.layers);
    save_model(scratch / "plain", plain, tokenizer);  // as before there were names
    CHECK(test::slurp(scratch / "plain" / "config.json").find("\"form\"") == std::string::npos);
    CHECK(test::slurp(scratch / "m" / "config.json").find("\"form\": \"shrunk\"") !=
          std::string::npos);
    config.form = "shrink";
    test::check_throws<ValueError>(
        [&] { GPT(config, g); },
        "GPT: no form of attention is called 'shrink'; there are window:W, strided:S, linear, "
        "performer:M, linformer:K, softmax, shrunk");
    test::check_throws<ValueError>(
        [] { attention_form("shrink"); },
        "attention: no form 'shrink' is registered; there are softmax, shrunk");
    test::check_throws<ValueError>(
        [] { register_attention_form("shrunk", [] { return std::make_unique<Shrunk>(); }); },
        "register_attention_form: the name 'shrunk' is taken");
    test::check_throws<ValueError>([] { register_attention_form("empty", {}); },
                                   "register_attention_form: 'empty' has no factory");
}

TEST_CASE("modules: metadata of saved weights") {
    const test::Scratch scratch;
    Generator g(6);
    const Linear layer(2, 3, g);
    save(scratch / "w", layer, {{"columns", "age,size"}});
    const auto metadata = read_metadata(scratch / "w");
    CHECK_EQ(metadata.at("columns"), "age,size");
    CHECK_EQ(metadata.at("format"), "tapestry-module");
    Linear other(2, 3, g);
    load(scratch / "w", other);
    CHECK(allclose(other.weight, layer.weight, 0, 0));
    test::check_throws<ValueError>(
        [&] {
            save(scratch / "w", layer, {{"format", "x"}});
        },
        "save: the metadata \"format\" is the library's own");
}

TEST_CASE("learning-rate finder: a rate that learns, and everything as before") {
    Generator g(7);
    Sequential network;
    network.add<Linear>(4, 16, g);
    network.add<BatchNorm1d>(16);
    network.add<Linear>(16, 1, g);
    AdamW optimizer(network, {.lr = 0.123});
    const Tensor x = randn({64, 4}, g), y = x.sum(1, true);
    const auto loss = [&] { return mse_loss(network(x), y); };
    const NamedTensors before = network.state_dict();
    const RateSearch search = find_learning_rate(network, optimizer, loss, {.lowest = 1e-6});
    REQUIRE(search.suggestion.has_value());
    CHECK_GT(*search.suggestion, 1e-4);
    CHECK_LT(*search.suggestion, 1);
    CHECK_EQ(search.rates.size(), search.losses.size());
    CHECK_EQ(optimizer.lr(), 0.123);
    CHECK_EQ(optimizer.steps(), 0);
    const NamedTensors after = network.state_dict();
    for (std::size_t i = 0; i < before.size(); ++i) {
        CHECK_EQ(after[i].second.to_vector<double>(), before[i].second.to_vector<double>());
    }
    const double first = loss().item();
    optimizer.set_lr(*search.suggestion);
    for (int step = 0; step < 100; ++step) {
        Tape tape;
        tape.backward(loss());
        optimizer.step();
        optimizer.zero_grad();
    }
    CHECK_LT(loss().item(), 0.2 * first);

    const auto nan = [&] { return mse_loss(network(x), y) * std::nan(""); };
    CHECK_THROWS_AS(find_learning_rate(network, optimizer, nan), DivergedError);
    test::check_throws<ValueError>(
        [&] { find_learning_rate(network, optimizer, loss, {.lowest = 1, .highest = 0.1}); },
        "find_learning_rate: rates must be positive and grow, got 1 to 0.1");
}
