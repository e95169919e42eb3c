// How config.json calls the values of enumerations. Internal to nn/io.
#pragma once

#include <tapestry/core/error.h>
#include <tapestry/nn/feed_forward.h>
#include <tapestry/nn/io/config_file.h>
#include <tapestry/nn/positions.h>

#include <array>
#include <utility>

namespace tapestry {

template <class E, std::size_t N>
using SettingNames = std::array<std::pair<E, const char*>, N>;

inline constexpr SettingNames<Activation, 5> kActivationNames{{{Activation::relu, "relu"},
                                                               {Activation::gelu_tanh, "gelu_tanh"},
                                                               {Activation::gelu_erf, "gelu_erf"},
                                                               {Activation::silu, "silu"},
                                                               {Activation::swiglu, "swiglu"}}};
inline constexpr SettingNames<Positions, 3> kPositionNames{{{Positions::learned, "learned"},
                                                            {Positions::sinusoidal, "sinusoidal"},
                                                            {Positions::rotary, "rotary"}}};

template <class E, std::size_t N>
std::string name_in(const SettingNames<E, N>& names, E value) {
    for (const auto& entry : names) {
        if (entry.first == value) return entry.second;
    }
    fail("save_model: a value without a name");
}

/// The value that `setting` names, or `other` where there is no such setting. Throws IoError for an
/// unknown name, with those that are known.
template <class E, std::size_t N>
E value_in(const SettingNames<E, N>& names, const ConfigFile& file, const char* setting, E other) {
    const auto name = file.get<std::string>(setting, name_in(names, other));
    std::string known;
    for (const auto& entry : names) {
        if (entry.second == name) return entry.first;
        known += fmt::format("{}\"{}\"", known.empty() ? "" : ", ", entry.second);
    }
    fail<IoError>("{}: \"{}\" is \"{}\"; known are {}", file.path(), setting, name, known);
}

}  // namespace tapestry
