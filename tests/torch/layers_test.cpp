// Single layers against PyTorch's, and cross-entropy with every combination of its options.
#include <tapestry/nn/layers/embedding.h>
#include <tapestry/nn/layers/feed_forward.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/layers/norm.h>
#include <tapestry/ops/activation.h>
#include <tapestry/ops/loss.h>
#include <tapestry/tests/torch/check.h>

using namespace tapestry;
using torch::Named;
using torch::Names;

namespace {

// A module with one argument.
template <class M>
void check(const std::string& name, M&& module, const char* argument = "x") {
    torch::check_against("layers", name, module, Names::same, [&](const Named& in) -> Named {
        return {{"y", module(in.at(argument))}};
    });
}

}  // namespace

TEST_CASE("torch: Linear") {
    check("linear", Linear(19, 23));
    check("linear/no_bias", Linear(5, 3, false));
    check("linear/vector", Linear(5, 3));
}

TEST_CASE("torch: LayerNorm, RMSNorm") {
    check("layer_norm", LayerNorm(21));
    check("layer_norm/eps", LayerNorm(6, 0.1));
    check("rms_norm", RMSNorm(13, 1e-6));
}

TEST_CASE("torch: Embedding") { check("embedding", Embedding(11, 7), "ids"); }

TEST_CASE("torch: FeedForward") {
    const auto layer = [](const char* name, Activation activation) {
        check(fmt::format("feed_forward/{}", name),
              FeedForward({.dim = 6, .hidden = 11, .activation = activation}));
    };
    layer("relu", Activation::relu);
    layer("gelu_tanh", Activation::gelu_tanh);
    layer("gelu_erf", Activation::gelu_erf);
    layer("silu", Activation::silu);
    layer("swiglu", Activation::swiglu);
}

TEST_CASE("torch: gelu") {
    for (const Gelu form : {Gelu::tanh, Gelu::erf}) {
        torch::check_against("layers", form == Gelu::erf ? "gelu/erf" : "gelu/tanh",
                             [&](const Named& in) -> Named {
                                 return {{"y", gelu(in.at("x"), form)}};
                             });
    }
}

TEST_CASE("torch: cross_entropy") {
    const std::map<std::string, Reduction> reductions{
        {"mean", Reduction::mean}, {"sum", Reduction::sum}, {"none", Reduction::none}};
    for (const auto& reduction : reductions) {
        for (const double smoothing : {0.0, 0.1}) {
            for (const std::int64_t ignore : {-100, 3}) {
                const CrossEntropyOptions options{.ignore_index = ignore,
                                                  .label_smoothing = smoothing,
                                                  .reduction = reduction.second};
                torch::check_against(
                    "losses",
                    fmt::format("cross_entropy/{}/smoothing_{:.1f}/ignore_{}", reduction.first,
                                smoothing, ignore),
                    [&](const Named& in) -> Named {
                        return {
                            {"loss", cross_entropy(in.at("logits"), in.at("targets"), options)}};
                    });
            }
        }
    }
}
