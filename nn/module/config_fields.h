// A configuration's fields, listed once, next to the configuration: name, member, meaning and
// bounds. All other code reads the list: config.json (nn/io/config_file.h), GPT-2's config.json
// (nn/io/hugging_face.h), the command line, the errors, and the tables in docs/modules.md.
//
//     template <>
//     struct FieldsOf<SGDConfig> {
//         template <class Visitor>
//         static constexpr void list(const Visitor& field) {
//             field("nesterov", &SGDConfig::nesterov, "Nesterov momentum: look ahead along the
//             velocity");
//             ...
//         }
//     };
//
// A function instead of a tuple, because a tuple would add half a second of compile time to every
// source that includes it.
// Read next: nn/models/gpt_config.h, such a list.
#pragma once

#include <tapestry/core/error.h>

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tapestry {

/// Optional properties of a field.
struct FieldTraits {
    double low = -std::numeric_limits<double>::infinity();  ///< bounds are inclusive
    double high = std::numeric_limits<double>::infinity();  ///< largest value
    bool required = false;                                  ///< must be present in a file
    bool stored = true;                                     ///< written to a model's config.json
    /// Value of a number that a file lacks, if that is not the default of the configuration.
    std::optional<double> absent = {};
    bool optional = false;       ///< written only if it is not the default
    bool in_command = true;      ///< whether the command has an option for it
    const char* gpt2 = nullptr;  ///< key in GPT-2's config.json, or null if there is no single one
    const char* option = nullptr;                     ///< command-line name, if not option_name()'s
    std::vector<std::string> (*choices)() = nullptr;  ///< values of a string, or null for any
};

/// One field of a configuration.
template <class Config, class T>
struct Field {
    using Value = T;      ///< the field's type
    const char* name;     ///< "min_lr"
    T Config::*member;    ///< pointer to the field
    const char* meaning;  ///< for --help and the tables: "Learning rate"
    FieldTraits traits;   ///< bounds and names
};

/// "min_lr" becomes --min-lr.
template <class Config, class T>
std::string option_name(const Field<Config, T>& one) {
    if (one.traits.option != nullptr) return one.traits.option;
    std::string name = one.name;
    for (char& c : name) {
        if (c == '_') c = '-';
    }
    return "--" + name;
}

/// Specialised for every configuration with a list: list(field) calls field(name, member, meaning)
/// or field(name, member, meaning, traits) for each field.
template <class Config>
struct FieldsOf;

/// The argument of FieldsOf::list: makes a Field of each call.
template <class Config, class Visit>
struct FieldVisitor {
    const Visit& visit;  ///< called with each Field

    /// One field of a list.
    template <class T>
    constexpr void operator()(const char* name, T Config::*member, const char* meaning,
                              const FieldTraits& traits = {}) const {
        visit(Field<Config, T>{name, member, meaning, traits});
    }
};

/// Calls visit(field) for all fields of Config, in order.
template <class Config, class Visit>
constexpr void for_each_field(const Visit& visit) {
    FieldsOf<Config>::list(FieldVisitor<Config, Visit>{visit});
}

/// The field of this name and type; null if Config has none.
template <class Config, class T>
T Config::*find_field(std::string_view name) {
    T Config::*found = nullptr;
    for_each_field<Config>([&](const auto& one) {
        if constexpr (std::is_same_v<typename std::decay_t<decltype(one)>::Value, T>) {
            if (name == one.name) found = one.member;
        }
    });
    return found;
}

/// Throws ValueError, naming `model`, for a size that must be positive and is not.
template <class Config>
void check_positive(const char* model, const Config& config) {
    for_each_field<Config>([&](const auto& one) {
        if constexpr (std::is_same_v<decltype(config.*one.member), const std::int64_t&>) {
            require(one.traits.low < 1 || config.*one.member > 0, "{}: {} must be positive, got {}",
                    model, one.name, config.*one.member);
        }
    });
}

/// Specialised for every enumeration used as a field: `list`, an array of values and their names.
template <class Enum>
struct NamesOf;

/// The type of NamesOf::list: values and names, in the order of declaration.
template <class Enum, std::size_t N>
using EnumNames = std::array<std::pair<Enum, const char*>, N>;

/// A value's name in files and on the command line.
template <class Enum>
constexpr const char* name_of_value(Enum value) {
    for (const auto& entry : NamesOf<Enum>::list) {
        if (entry.first == value) return entry.second;
    }
    return "unknown";
}

/// A field's value as text: names of enumerations, "yes" or "no", words separated by spaces.
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
