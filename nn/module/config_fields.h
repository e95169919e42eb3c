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
// The compiler runs the list and makes a table of it, kFields<SGDConfig>; if each reader ran it, a
// third of nn/train's code would be lists.
// Read next: nn/models/gpt_config.h, such a list.
#pragma once

#include <tapestry/core/error.h>

#include <algorithm>
#include <any>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
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

/// A field without its type.
struct FieldInfo {
    const char* name = nullptr;     ///< "min_lr"
    const char* meaning = nullptr;  ///< for --help and the tables: "Learning rate"
    FieldTraits traits = {};        ///< bounds and names
};

/// "min_lr" becomes --min-lr.
inline std::string option_name(const FieldInfo& field) {
    if (field.traits.option != nullptr) return field.traits.option;
    std::string name = field.name;
    std::replace(name.begin(), name.end(), '_', '-');
    return "--" + name;
}

/// One field of a configuration.
template <class Config, class T>
struct Field : FieldInfo {
    using Value = T;    ///< the field's type
    T Config::*member;  ///< pointer to the field
};

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

/// Types, for FieldsOf<Config>::Enums.
template <class... Ts>
struct Types {};

/// Specialised for every configuration with a list: list(field) calls field(name, member, meaning)
/// or field(name, member, meaning, traits) for each field. If some fields are enumerations, Enums
/// is a Types of these.
template <class Config>
struct FieldsOf;

/// A row of a configuration's table: a field of one of the types Ts.
template <class Config, class... Ts>
class FieldRow : public FieldInfo {
public:
    constexpr FieldRow() = default;
    /// The field `member`.
    template <class T>
    constexpr FieldRow(const FieldInfo& info, T Config::*member) : FieldInfo(info) {
        static_assert((std::is_same_v<T, Ts> || ...), "FieldsOf<Config>::Enums lacks this type");
        std::get<T Config::*>(members_) = member;
    }

    /// Calls f(field) with this field as a Field.
    template <class F>
    void visit(const F& f) const {
        (visit_as<Ts>(f), ...);
    }

    /// The field's value in `config`, as text.
    std::string text(const Config& config) const {
        std::string text;
        visit([&](const auto& one) { text = value_text(config.*one.member); });
        return text;
    }

    /// The field's value in `config`.
    std::any value(const Config& config) const {
        std::any value;
        visit([&](const auto& one) { value = config.*one.member; });
        return value;
    }

    /// Gives the field this value; false if it is of another type.
    bool set(Config& config, const std::any& value) const {
        bool same_type = false;
        visit([&](const auto& one) {
            const auto* given = std::any_cast<typename std::decay_t<decltype(one)>::Value>(&value);
            same_type = given != nullptr;
            if (same_type) config.*one.member = *given;
        });
        return same_type;
    }

    /// Whether both configurations have the same value.
    bool equal(const Config& a, const Config& b) const {
        bool equal = false;
        visit([&](const auto& one) { equal = a.*one.member == b.*one.member; });
        return equal;
    }

private:
    template <class T, class F>
    void visit_as(const F& f) const {
        T Config::*const member = std::get<T Config::*>(members_);
        if (member != nullptr) f(Field<Config, T>{*this, member});
    }

    std::tuple<Ts Config::*...> members_;  // all but one are null
};

/// The argument of FieldsOf::list: counts the fields and, if there is a place for them, keeps them.
template <class Row>
struct FieldWriter {
    Row* rows;           ///< where they go, or null
    std::size_t& count;  ///< of the fields so far

    /// One field of a list.
    template <class Config, class T>
    constexpr void operator()(const char* name, T Config::*member, const char* meaning,
                              const FieldTraits& traits = {}) const {
        if (rows != nullptr) rows[count] = Row({name, meaning, traits}, member);
        ++count;
    }
};

/// FieldsOf<Config>::Enums, or no types.
template <class Config>
constexpr auto enums_of() {
    if constexpr (requires { typename FieldsOf<Config>::Enums; }) {
        return typename FieldsOf<Config>::Enums();
    } else {
        return Types<>();
    }
}

/// The table kFields<Config>, made from the list.
template <class Config, class... Enums>
constexpr auto make_fields(Types<Enums...> /*enums*/) {
    using Row = FieldRow<Config, bool, std::int64_t, std::uint64_t, double, std::string,
                         std::vector<std::string>, Enums...>;
    constexpr std::size_t all = [] {
        std::size_t count = 0;
        FieldsOf<Config>::list(FieldWriter<Row>{nullptr, count});
        return count;
    }();
    std::array<Row, all> rows;
    std::size_t count = 0;
    FieldsOf<Config>::list(FieldWriter<Row>{rows.data(), count});
    return rows;
}

/// The rows of a configuration's table, in the order of its list.
template <class Config>
inline constexpr auto kFields = make_fields<Config>(enums_of<Config>());

/// The same, of the type of `config`.
template <class Config>
constexpr const auto& fields_of(const Config& /*config*/) {
    return kFields<Config>;
}

/// Calls f(field) with each Field of Config, in order. What needs no types reads kFields.
template <class Config, class F>
void for_each_field(const F& f) {
    for (const auto& row : kFields<Config>) row.visit(f);
}

/// Values of fields by their names. Configurations of other types may have fields of these names.
using FieldValues = std::map<std::string, std::any, std::less<>>;

/// The values of those fields of `config` that have one of these names.
template <class Config>
FieldValues field_values(const Config& config, const std::vector<std::string>& names) {
    FieldValues values;
    for (const auto& row : kFields<Config>) {
        if (std::find(names.begin(), names.end(), row.name) != names.end()) {
            values[row.name] = row.value(config);
        }
    }
    return values;
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

}  // namespace tapestry
