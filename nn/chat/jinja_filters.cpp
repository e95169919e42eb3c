#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/chat/jinja_functions.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

namespace tapestry::jinja {
namespace {

// Of digits.
std::int64_t whole_number(std::string_view digits) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    require<JinjaError>(error == std::errc(), "the number {} is beyond 64 bits", digits);
    return number;
}

// value.a.b for "a.b"; with a default value for a part that is missing, if it is not none.
Value at_path(Value value, const Value& path, const Value& otherwise = None()) {
    if (path.is_integer()) return item(value, path);
    std::string_view rest = path.string();
    require<JinjaError>(rest.find(',') == rest.npos, "several attributes, {}, are not supported",
                        utf8::quoted(rest));
    for (bool is_last = false; !is_last;) {
        const std::size_t end = std::min(rest.find('.'), rest.size());
        const std::string_view name = rest.substr(0, end);
        is_last = end == rest.size();
        rest.remove_prefix(std::min(end + 1, rest.size()));
        const bool is_number = !name.empty() && name.find_first_not_of("0123456789") == name.npos;
        value = is_number ? item(value, whole_number(name)) : attribute(value, name);
        if (value.is_undefined() && !otherwise.is_none()) value = otherwise;
    }
    return value;
}

Value attribute_of(const Value& value, const Arguments& from) {
    const Value name = from.get(1, "attribute", None());
    return name.is_none() ? value : at_path(value, name);
}

// What jinja2 compares if the case of letters does not count.
Value sort_key(const Value& value, bool with_case) {
    const bool is_text = value.if_is<std::string>() != nullptr;
    return is_text && !with_case ? (*method(value, "lower").if_function())({}) : value;
}

Value join(const Value& value, const Arguments& from) {
    const std::string between = from.get(0, "d", "").text();
    std::string all;
    bool is_first = true;
    for (const Value& one : value.elements()) {
        if (!std::exchange(is_first, false)) all += between;
        all = checked(std::move(all) + attribute_of(one, from).text());
    }
    return all;
}

Value otherwise(const Value& value, const Arguments& from) {
    const bool also_false = from.get(1, "boolean", false).truth();
    const bool is_missing = value.is_undefined() || (also_false && !value.truth());
    return is_missing ? from.get(0, "default_value", "") : value;
}

Value first(const Value& value, const Arguments&) {
    const List all = value.elements();
    return all.empty() ? Value(Undefined{"the first element"}) : all.front();
}

Value last(const Value& value, const Arguments&) {
    const List all = value.elements();
    return all.empty() ? Value(Undefined{"the last element"}) : all.back();
}

Value items(const Value& value, const Arguments&) {
    if (value.is_undefined()) return List();
    const Members* members = value.if_members();
    require<JinjaError>(members != nullptr, "items: {} has no members", value.type());
    List all;
    for (const auto& [name, one] : *members) all.push_back(List{name, one});
    return all;
}

// Elements of equal keys keep their order, also in reverse, as in Python.
template <class Key>
List sorted_by(List all, const Key& key, bool in_reverse) {
    std::stable_sort(all.begin(), all.end(), [&](const Value& a, const Value& b) {
        return in_reverse ? key(b) < key(a) : key(a) < key(b);
    });
    return all;
}

Value sorted_items(const Value& value, const Arguments& from) {
    List all = items(value, from).elements();
    const bool with_case = from.get(0, "case_sensitive", false).truth();
    const std::string by = from.get(1, "by", "key").text();
    require<JinjaError>(by == "key" || by == "value", "dictsort: by {}", utf8::quoted(by));
    const auto key = [&](const Value& one) {
        return sort_key((*one.if_list())[by == "key" ? 0 : 1], with_case);
    };
    return sorted_by(std::move(all), key, from.get(2, "reverse", false).truth());
}

Value sorted(const Value& value, const Arguments& from) {
    const bool with_case = from.get(1, "case_sensitive", false).truth();
    const Value name = from.get(2, "attribute", None());
    const auto key = [&](const Value& one) {
        return sort_key(name.is_none() ? one : at_path(one, name), with_case);
    };
    return sorted_by(value.elements(), key, from.get(0, "reverse", false).truth());
}

Value reversed(const Value& value, const Arguments&) {
    List all = value.elements();
    std::reverse(all.begin(), all.end());
    if (value.if_is<std::string>() == nullptr) return all;
    std::string text;
    for (const Value& one : all) text += one.string();
    return text;
}

Value unique(const Value& value, const Arguments& from) {
    const bool with_case = from.get(0, "case_sensitive", false).truth();
    List all, keys;
    for (const Value& one : value.elements()) {
        Value key = sort_key(attribute_of(one, from), with_case);
        if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
        keys.push_back(std::move(key));
        all.push_back(one);
    }
    return all;
}

// The arguments without the first `count`.
Arguments behind(const Arguments& from, std::size_t count) {
    Arguments all = from;
    const auto size = static_cast<std::ptrdiff_t>(std::min(count, all.positional.size()));
    all.positional.erase(all.positional.begin(), all.positional.begin() + size);
    return all;
}

// The elements of which a test, or a test of an attribute, holds or does not.
Value chosen(const Value& value, const Arguments& from, bool of_attribute, bool wanted) {
    const std::size_t place = of_attribute ? 1 : 0;
    const bool has_test = from.positional.size() > place;
    const std::string name = has_test ? from.positional[place].string() : std::string();
    const Test* test = has_test ? find_test(name) : nullptr;
    require<JinjaError>(test != nullptr || !has_test, "the test {} is not supported",
                        utf8::quoted(name));
    const Arguments more = behind(from, place + 1);
    if (!has_test) check_arguments("a filter without a test", "", more);
    List all;
    for (const Value& one : value.elements()) {
        const Value tested = of_attribute ? at_path(one, from.get(0, "", "")) : one;
        const bool holds = has_test ? (*test)(tested, more) : tested.truth();
        if (holds == wanted) all.push_back(one);
    }
    return all;
}

Value map(const Value& value, const Arguments& from) {
    List all;
    if (!from.positional.empty()) {
        const std::string& name = from.positional[0].string();
        const Filter* filter = find_filter(name);
        require<JinjaError>(filter != nullptr, "the filter {} is not supported",
                            utf8::quoted(name));
        for (const Value& one : value.elements()) all.push_back((*filter)(one, behind(from, 1)));
        return all;
    }
    check_arguments("map", "attribute default", from);
    const Value path = from.get(0, "attribute", None()), missing = from.get(1, "default", None());
    for (const Value& one : value.elements()) all.push_back(at_path(one, path, missing));
    return all;
}

Value indent(const Value& value, const Arguments& from) {
    const Value width = from.get(0, "width", std::int64_t{4});
    const std::int64_t count = width.is_integer() ? width.integer() : 0;
    require<JinjaError>(count >= 0 && count < 1000, "indent: {} blanks", count);
    const std::string blanks =
        width.is_integer() ? std::string(static_cast<std::size_t>(count), ' ') : width.string();
    const bool with_first = from.get(1, "first", false).truth();
    const bool with_empty = from.get(2, "blank", false).truth();
    std::string all;
    const std::string text = value.text();
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const bool is_indented = begin == 0 ? with_first : (end > begin || with_empty);
        if (begin > 0) all += '\n';
        if (is_indented) all += blanks;
        all = checked(std::move(all) + text.substr(begin, end - begin));
        begin = end + 1;
    }
    return all;
}

// What Python's int() and float() read: without blanks around it, or one plus sign.
std::string number_text(const Value& value) {
    std::string text = stripped(value.text(), {}, true, true);
    if (text.starts_with('+') && !text.starts_with("+-")) text.erase(0, 1);
    return text;
}

Value integer(const Value& value, const Arguments& from) {
    if (value.is_integer()) return value.integer();
    const auto* number = value.if_is<double>();
    const std::string text = number ? std::string() : number_text(value);
    std::int64_t whole = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
    if (number == nullptr && error == std::errc() && *end == '\0') return whole;
    const Value rest = number != nullptr ? value : number_in(text);
    if (rest.is_none()) return from.get(0, "default", std::int64_t{0});
    require<JinjaError>(std::abs(rest.number()) < 9e18, "a number beyond 64 bits");
    return static_cast<std::int64_t>(rest.number());
}

Value real(const Value& value, const Arguments& from) {
    if (value.is_number()) return value.number();
    const Value number = number_in(number_text(value));
    return number.is_none() ? from.get(0, "default", 0.0) : number;
}

// As a filter: text | upper is text.upper().
template <const char* const& name>
Value as_method(const Value& value, const Arguments& from) {
    return (*method(Value(value.text()), name).if_function())(from);
}
constexpr const char *kUpper = "upper", *kLower = "lower", *kTitle = "title",
                     *kCapitalize = "capitalize", *kStrip = "strip", *kReplace = "replace";

// In the form of transformers' tojson with its default settings, and an indent.
Value json_of(const Value& value, const Arguments& from) {
    for (const auto& [name, setting] : from.named) {
        require<JinjaError>(name == "indent" || !setting.truth(), "tojson does not take {}=true",
                            name);
    }
    check_arguments("tojson", "indent", {.positional = from.positional});
    const Value indent = from.get(0, "indent", None());
    return to_json(value, indent.is_none() ? -1 : indent.integer());
}

constexpr Filter kFilters[] = {
    {"trim", "chars", as_method<kStrip>},
    {"upper", "", as_method<kUpper>},
    {"lower", "", as_method<kLower>},
    {"title", "", as_method<kTitle>},
    {"capitalize", "", as_method<kCapitalize>},
    {"replace", "old new count", as_method<kReplace>},
    {"tojson", "indent ensure_ascii sort_keys", json_of},
    {"length", "", [](const Value& value, const Arguments&) { return Value(value.length()); }},
    {"count", "", [](const Value& value, const Arguments&) { return Value(value.length()); }},
    {"string", "", [](const Value& value, const Arguments&) { return Value(value.text()); }},
    {"safe", "", [](const Value& value, const Arguments&) { return value; }},
    {"list", "", [](const Value& value, const Arguments&) { return Value(value.elements()); }},
    {"join", "d attribute", join},
    {"default", "default_value boolean", otherwise},
    {"d", "default_value boolean", otherwise},
    {"first", "", first},
    {"last", "", last},
    {"items", "", items},
    {"dictsort", "case_sensitive by reverse", sorted_items},
    {"sort", "reverse case_sensitive attribute", sorted},
    {"reverse", "", reversed},
    {"unique", "case_sensitive attribute", unique},
    {"map", "*", map},
    {"select", "*",
     [](const Value& v, const Arguments& from) { return chosen(v, from, false, true); }},
    {"reject", "*",
     [](const Value& v, const Arguments& from) { return chosen(v, from, false, false); }},
    {"selectattr", "*",
     [](const Value& v, const Arguments& from) { return chosen(v, from, true, true); }},
    {"rejectattr", "*",
     [](const Value& v, const Arguments& from) { return chosen(v, from, true, false); }},
    {"indent", "width first blank", indent},
    {"int", "default", integer},
    {"float", "default", real}};

}  // namespace

const Filter* find_filter(std::string_view name) { return find_in(kFilters, name); }

}  // namespace tapestry::jinja
