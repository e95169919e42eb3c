// A configuration's fields, written down once, beside the configuration: name, place, meaning and
// bounds. Whatever else knows of them reads the list: config.json (nn/io/config_file.h), GPT-2's
// config.json (nn/io/hugging_face.h), the command line, the errors, and the tables in
// docs/modules.md.
//
//     template <>
//     struct FieldsOf<SGDConfig> {
//         template <class Visitor>
//         static constexpr void list(const Visitor& field) {
//             field("nesterov", &SGDConfig::nesterov, "Step from where the velocity leads");
//             ...
//         }
//     };
//
// It is a function and not a tuple, which would cost every source that sees it half a second of
// compiling.
// Read next: nn/models/gpt_config.h, such a list.
#pragma once

#include <tapestry/core/error.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tapestry {

/// What is known of a field besides what it is called and what it means.
struct FieldTraits {
    double low = -std::numeric_limits<double>::infinity();  ///< bounds are inclusive
    double high = std::numeric_limits<double>::infinity();
    bool required = false;         ///< a file cannot do without it
    bool stored = true;            ///< it stands in a model's config.json
    const char* gpt2 = nullptr;    ///< what GPT-2's config.json calls it; null: by no one name
    const char* option = nullptr;  ///< on the command line, if not as option_name() has it
    std::vector<std::string> (*choices)() = nullptr;  ///< of a string: what it may be; null: any
};

template <class Config, class T>
struct Field {
    using Value = T;
    const char* name;  ///< "min_lr"
    T Config::*member;
    const char* meaning;
    FieldTraits traits;
};

/// "min_lr" is --min-lr.
template <class Config, class T>
std::string option_name(const Field<Config, T>& one) {
    if (one.traits.option != nullptr) return one.traits.option;
    std::string name = one.name;
    for (char& c : name) {
        if (c == '_') c = '-';
    }
    return "--" + name;
}

/// Specialised for every configuration that has a list: list(field) calls field(name, member,
/// meaning) or field(name, member, meaning, traits) for each.
template <class Config>
struct FieldsOf;

/// What a list is given: it makes a Field of each call.
template <class Config, class Visit>
struct FieldVisitor {
    const Visit& visit;

    template <class T>
    constexpr void operator()(const char* name, T Config::*member, const char* meaning,
                              const FieldTraits& traits = {}) const {
        visit(Field<Config, T>{name, member, meaning, traits});
    }
};

/// visit(field) for all fields of Config, in their order.
template <class Config, class Visit>
constexpr void for_each_field(const Visit& visit) {
    FieldsOf<Config>::list(FieldVisitor<Config, Visit>{visit});
}

/// Throws ValueError in the name of `model` for a size of which there must be at least one.
template <class Config>
void check_positive(const char* model, const Config& config) {
    for_each_field<Config>([&](const auto& one) {
        if constexpr (std::is_same_v<decltype(config.*one.member), const std::int64_t&>) {
            require(one.traits.low < 1 || config.*one.member > 0,
                    "{}: {} is {}; it must be positive", model, one.name, config.*one.member);
        }
    });
}

/// Specialised for every enumeration that is a field: `list`, an array of values with their names.
template <class Enum>
struct NamesOf;

template <class Enum, std::size_t N>
using EnumNames = std::array<std::pair<Enum, const char*>, N>;

/// What files and people call a value.
template <class Enum>
constexpr const char* name_of_value(Enum value) {
    for (const auto& entry : NamesOf<Enum>::list) {
        if (entry.first == value) return entry.second;
    }
    return "unknown";
}

/// A field's value in words: names of enumerations, "yes" and "no", words side by side.
template <class T>
std::string value_text(const T& value) {
    if constexpr (std::is_enum_v<T>) {
        return name_of_value(value);
    } else if constexpr (std::is_same_v<T, bool>) {
        return value ? "yes" : "no";
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
        std::string words;
        for (const std::string& word : value) words += words.empty() ? word : " " + word;
        return words;
    } else {
        return fmt::format("{}", value);
    }
}

}  // namespace tapestry
