// Options for the fields of a configuration. Their names, descriptions and bounds are defined in
// the configuration's field list (nn/module/config_fields.h) and nowhere else.
#pragma once

#include <tapestry/examples/options/options.h>
#include <tapestry/nn/module/config_fields.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace tapestry::cli {

/// Declares an option for an enumeration, with the names of its values as choices.
template <class Enum>
Option add_choice(Options& o, const std::string& name, Enum& value, const char* meaning) {
    std::vector<std::string> names;
    for (const auto& entry : NamesOf<Enum>::list) names.emplace_back(entry.second);
    const auto choose = [&value](const std::string& chosen) {
        for (const auto& entry : NamesOf<Enum>::list) {
            if (entry.second == chosen) value = entry.first;
        }
    };
    return o.choice(name, name_of_value(value), names, choose, meaning);
}

template <class T>
void add_field(Options& o, const std::string& name, T& value, const char* meaning,
               const FieldTraits& traits) {
    constexpr Bounds kUsual;
    if constexpr (std::is_same_v<T, std::int64_t>) {
        const bool unbounded = traits.high > static_cast<double>(kUsual.high);
        o.count(name, value, meaning,
                {static_cast<std::int64_t>(traits.low),
                 unbounded ? kUsual.high : static_cast<std::int64_t>(traits.high)});
    } else if constexpr (std::is_same_v<T, double>) {
        o.number(name, value, traits.low, traits.high, meaning);
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
        o.seed(value, meaning);
    } else if constexpr (std::is_same_v<T, std::string>) {
        if (traits.choices) {
            o.choice(name, value, traits.choices(), meaning);
        } else {
            o.text(name, value, meaning);
        }
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
        o.texts(name, value, meaning);
    } else if constexpr (std::is_same_v<T, bool>) {
        const auto choose = [&value](const std::string& chosen) { value = chosen == "yes"; };
        o.choice(name, value_text(value), {"no", "yes"}, choose, meaning);
    } else if constexpr (std::is_enum_v<T>) {
        add_choice(o, name, value, meaning);
    }
}

/// Declares options for the named fields of `config`, in the order of its list. `config` must
/// outlive the parsing.
template <class Config>
void add_fields(Options& o, Config& config, std::initializer_list<std::string_view> names) {
    for_each_field<Config>([&](const auto& one) {
        if (std::find(names.begin(), names.end(), one.name) == names.end()) return;
        add_field(o, option_name(one), config.*one.member, one.meaning, one.traits);
    });
}

/// Declares options for all fields that do not have one yet and whose names are `wanted`.
template <class Config>
void add_other_fields(
    Options& o, Config& config,
    bool (*wanted)(std::string_view) = [](std::string_view) { return true; }) {
    for_each_field<Config>([&](const auto& one) {
        if (!one.traits.in_command || o.declares(option_name(one)) || !wanted(one.name)) return;
        add_field(o, option_name(one), config.*one.member, one.meaning, one.traits);
    });
}

/// Makes `option` exclude every field of Config declared so far.
template <class Config>
void exclude_fields(Options& o, Option option) {
    for (const FieldInfo& one : kFields<Config>) {
        if (o.declares(option_name(one))) option.excludes(o.option(option_name(one)));
    }
}

/// The fields of Config set on the command line.
template <class Config>
std::vector<std::string> given_fields(const Options& o) {
    std::vector<std::string> names;
    for (const FieldInfo& one : kFields<Config>) {
        const std::string option = option_name(one);
        if (o.declares(option) && o.given(option)) names.emplace_back(one.name);
    }
    return names;
}

}  // namespace tapestry::cli
