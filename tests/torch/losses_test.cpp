// Cross-entropy against PyTorch's, with every combination of its options.
#include <tapestry/ops/loss.h>
#include <tapestry/tests/torch/check.h>

using namespace tapestry;
using torch::Named;

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
