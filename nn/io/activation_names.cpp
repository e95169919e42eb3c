#include <tapestry/nn/io/activation_names.h>

#include <algorithm>
#include <array>

namespace tapestry {
namespace {

struct ActivationName {
    const char* name;
    Activation activation;
};

// The first name of each activation is the one written.
constexpr std::array<ActivationName, 8> kActivations{{{"gelu_new", Activation::gelu_tanh},
                                                      {"gelu_pytorch_tanh", Activation::gelu_tanh},
                                                      {"gelu_fast", Activation::gelu_tanh},
                                                      {"gelu", Activation::gelu_erf},
                                                      {"relu", Activation::relu},
                                                      {"relu2", Activation::relu_squared},
                                                      {"silu", Activation::silu},
                                                      {"swish", Activation::silu}}};

}  // namespace

Activation read_activation(const ConfigFile& file, const char* setting, const char* usual) {
    const auto name = file.get<std::string>(setting, usual);
    std::string known;
    for (const ActivationName& entry : kActivations) {
        if (entry.name == name) return entry.activation;
        known += fmt::format("{}{}", known.empty() ? "" : ", ", entry.name);
    }
    fail<IoError>("{}: \"{}\" is \"{}\"; must be one of {}", file.path(), setting,
                  utf8::printable(name), known);
}

const char* name_of(Activation activation) {
    const auto found = std::find_if(
        kActivations.begin(), kActivations.end(),
        [activation](const ActivationName& entry) { return entry.activation == activation; });
    return found == kActivations.end() ? nullptr : found->name;
}

}  // namespace tapestry
