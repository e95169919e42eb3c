// RNN, GRU and LSTM against PyTorch's; sequences of different lengths against packed ones.
#include <tapestry/nn/recurrent/recurrent.h>
#include <tapestry/tests/torch/check.h>
#include <tapestry/tests/torch/masks.h>

using namespace tapestry;
using torch::Named;
using torch::Names;

namespace {

void check(const std::string& name, Recurrent& module) {
    torch::check_against("recurrent", name, module, Names::same, [&](const Named& in) -> Named {
        const RecurrentOutput y = module(
            in.at("x"), {.state = {.h = torch::optional(in, "h0"), .c = torch::optional(in, "c0")},
                         .lengths = torch::optional(in, "lengths")});
        Named results{{"y", y.output}, {"h", y.state.h}};
        if (module.has_cell()) results["c"] = y.state.c;
        return results;
    });
}

// All forms of one cell; arguments besides the config go to its constructor.
template <class M, class... Args>
void check_forms(const std::string& cell, Args... arguments) {
    const auto form = [&](const std::string& name, const RecurrentConfig& config) {
        M module(config, arguments...);
        check(cell + "/" + name, module);
    };
    const RecurrentConfig single{.input = 4, .hidden = 5};
    RecurrentConfig no_bias = single, stacked = single, both_ways = single, all = single;
    no_bias.bias = false;
    stacked.layers = all.layers = 2;
    both_ways.bidirectional = all.bidirectional = true;

    form("single/plain", single);
    form("single/states", single);
    form("single/packed", single);
    form("no_bias/plain", no_bias);
    form("stacked/states", stacked);
    form("bidirectional/plain", both_ways);
    form("bidirectional_stacked/states", all);
    form("bidirectional_stacked/packed", all);
}

}  // namespace

TEST_CASE("torch: RNN") {
    check_forms<RNN>("rnn_tanh", RNNActivation::tanh);
    check_forms<RNN>("rnn_relu", RNNActivation::relu);
}

TEST_CASE("torch: GRU") { check_forms<GRU>("gru"); }

TEST_CASE("torch: LSTM") { check_forms<LSTM>("lstm"); }
