#include <tapestry/nn/chat/jinja_functions.h>

#include <tapestry/core/text/utf8.h>

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

namespace tapestry::jinja {
namespace {

// A function of this name in a table, or nullptr.
template <class F, std::size_t N>
F find_in(const std::pair<const char*, F> (&table)[N], std::string_view name) {
    for (const auto& [key, f] : table) {
        if (name == key) return f;
    }
    return nullptr;
}

// ---- filters ------------------------------------------------------------------------------------

Value attribute_of(const Value& value, const Arguments& from) {
    const Value name = from.get(1, "attribute", None());
    return name.is_none() ? value : attribute(value, name.string());
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

Value sorted_items(const Value& value, const Arguments& from) {
    List all = items(value, from).elements();
    std::stable_sort(all.begin(), all.end(), [](const Value& a, const Value& b) {
        return (*a.if_list())[0] < (*b.if_list())[0];
    });
    return all;
}

Value sorted(const Value& value, const Arguments& from) {
    List all = value.elements();
    const Value name = from.get(2, "attribute", None());
    const auto key = [&name](const Value& one) {
        return name.is_none() ? one : attribute(one, name.string());
    };
    std::stable_sort(all.begin(), all.end(),
                     [&key](const Value& a, const Value& b) { return key(a) < key(b); });
    if (from.get(0, "reverse", false).truth()) std::reverse(all.begin(), all.end());
    return all;
}

Value reversed(const Value& value, const Arguments&) {
    List all = value.elements();
    std::reverse(all.begin(), all.end());
    if (value.if_is<std::string>() == nullptr) return all;
    std::string text;
    for (const Value& one : all) text += one.string();
    return text;
}

Value unique(const Value& value, const Arguments&) {
    List all;
    for (const Value& one : value.elements()) {
        if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
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
    const std::string name = from.get(place, "test", "true value").text();
    const Test test = name == "true value"
                          ? [](const Value& one, const Arguments&) { return one.truth(); }
                          : find_test(name);
    require<JinjaError>(test != nullptr, "the test {} is not supported", utf8::quoted(name));
    const Arguments more = behind(from, place + 1);
    List all;
    for (const Value& one : value.elements()) {
        const Value tested =
            of_attribute ? attribute(one, from.get(0, "attribute", "").string()) : one;
        if (test(tested, more) == wanted) all.push_back(one);
    }
    return all;
}

Value map(const Value& value, const Arguments& from) {
    const Value name = from.get(1, "attribute", None());
    List all;
    if (!from.positional.empty()) {
        const Filter filter = find_filter(from.positional[0].string());
        require<JinjaError>(filter != nullptr, "the filter {} is not supported",
                            utf8::quoted(from.positional[0].string()));
        for (const Value& one : value.elements()) all.push_back(filter(one, behind(from, 1)));
        return all;
    }
    for (const Value& one : value.elements()) {
        const Value part = attribute(one, name.string());
        all.push_back(part.is_undefined() ? from.get(2, "default", part) : part);
    }
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

Value integer(const Value& value, const Arguments& from) {
    if (value.is_integer()) return value.integer();
    const auto* number = value.if_is<double>();
    const std::string text = number ? std::string() : stripped(value.text(), {}, true, true);
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
    const Value number = number_in(stripped(value.text(), {}, true, true));
    return number.is_none() ? from.get(0, "default", 0.0) : number;
}

// As a filter: text | upper is text.upper().
template <const char* const& name>
Value as_method(const Value& value, const Arguments& from) {
    return (*method(Value(value.text()), name).if_function())(from);
}
constexpr const char *kUpper = "upper", *kLower = "lower", *kTitle = "title",
                     *kCapitalize = "capitalize", *kStrip = "strip", *kReplace = "replace";

constexpr std::pair<const char*, Filter> kFilters[] = {
    {"trim", as_method<kStrip>},
    {"upper", as_method<kUpper>},
    {"lower", as_method<kLower>},
    {"title", as_method<kTitle>},
    {"capitalize", as_method<kCapitalize>},
    {"replace", as_method<kReplace>},
    {"tojson",
     [](const Value& value, const Arguments& from) {
         const Value indent = from.get(0, "indent", None());
         return Value(to_json(value, indent.is_none() ? -1 : indent.integer()));
     }},
    {"length", [](const Value& value, const Arguments&) { return Value(value.length()); }},
    {"count", [](const Value& value, const Arguments&) { return Value(value.length()); }},
    {"string", [](const Value& value, const Arguments&) { return Value(value.text()); }},
    {"safe", [](const Value& value, const Arguments&) { return value; }},
    {"list", [](const Value& value, const Arguments&) { return Value(value.elements()); }},
    {"join", join},
    {"default", otherwise},
    {"d", otherwise},
    {"first", first},
    {"last", last},
    {"items", items},
    {"dictsort", sorted_items},
    {"sort", sorted},
    {"reverse", reversed},
    {"unique", unique},
    {"map", map},
    {"select", [](const Value& v, const Arguments& from) { return chosen(v, from, false, true); }},
    {"reject", [](const Value& v, const Arguments& from) { return chosen(v, from, false, false); }},
    {"selectattr",
     [](const Value& v, const Arguments& from) { return chosen(v, from, true, true); }},
    {"rejectattr",
     [](const Value& v, const Arguments& from) { return chosen(v, from, true, false); }},
    {"indent", indent},
    {"int", integer},
    {"float", real}};

// ---- tests --------------------------------------------------------------------------------------

bool is_of_kind(const Value& value, char kind) {
    const bool is_text = value.if_is<std::string>() != nullptr;
    const bool is_list = value.if_list() != nullptr, is_dictionary = value.if_members() != nullptr;
    switch (kind) {
        case 's': return is_text;
        case 'm': return is_dictionary;
        case 'i': return is_text || is_list || is_dictionary;
        default: return false;
    }
}

bool is_equal(const Value& value, const Arguments& from) {
    return value == from.get(0, "other", Undefined{});
}

using Any = const Arguments&;
constexpr std::pair<const char*, Test> kTests[] = {
    {"defined", [](const Value& v, Any) { return !v.is_undefined(); }},
    {"undefined", [](const Value& v, Any) { return v.is_undefined(); }},
    {"none", [](const Value& v, Any) { return v.is_none(); }},
    {"true", [](const Value& v, Any) { return v.if_is<bool>() != nullptr && v.truth(); }},
    {"false", [](const Value& v, Any) { return v.if_is<bool>() != nullptr && !v.truth(); }},
    {"boolean", [](const Value& v, Any) { return v.if_is<bool>() != nullptr; }},
    {"integer", [](const Value& v, Any) { return v.if_is<std::int64_t>() != nullptr; }},
    {"float", [](const Value& v, Any) { return v.if_is<double>() != nullptr; }},
    {"number", [](const Value& v, Any) { return v.is_number(); }},
    {"string", [](const Value& v, Any) { return is_of_kind(v, 's'); }},
    {"mapping", [](const Value& v, Any) { return is_of_kind(v, 'm'); }},
    {"iterable", [](const Value& v, Any) { return is_of_kind(v, 'i') || v.is_undefined(); }},
    {"sequence", [](const Value& v, Any) { return is_of_kind(v, 'i') || v.is_undefined(); }},
    {"odd", [](const Value& v, Any) { return v.integer() % 2 != 0; }},
    {"even", [](const Value& v, Any) { return v.integer() % 2 == 0; }},
    {"equalto", is_equal},
    {"eq", is_equal},
    {"ne", [](const Value& v, const Arguments& from) { return !is_equal(v, from); }},
    {"in", [](const Value& v, const Arguments& from) {
         return contains(from.get(0, "seq", Undefined{}), v);
     }}};

// ---- functions ----------------------------------------------------------------------------------

Value range(const Arguments& from) {
    constexpr auto kMost = static_cast<std::int64_t>(kMostElements);
    const bool has_two = from.positional.size() > 1;
    const std::int64_t begin = has_two ? from.positional[0].integer() : 0;
    const std::int64_t end =
        from.get(has_two ? 1 : 0, "stop", Undefined{"range's argument"}).integer();
    const std::int64_t by = from.get(2, "step", std::int64_t{1}).integer();
    require<JinjaError>(by != 0, "range: a step of 0");
    const double turns =
        (static_cast<double>(end) - static_cast<double>(begin)) / static_cast<double>(by);
    require<JinjaError>(turns <= kMost, "range: more than {} numbers", kMost);
    List all;
    for (std::int64_t i = 0; static_cast<double>(i) < turns; ++i) all.emplace_back(begin + i * by);
    return all;
}

Value made_namespace(const Arguments& from) { return Namespace{from.named}; }
Value made_dictionary(const Arguments& from) { return from.named; }
Value raise_exception(const Arguments& from) {
    fail<JinjaError>("the template refuses this: {}", from.get(0, "message", "").text());
}

}  // namespace

Value number_in(const std::string& text) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && *end == '\0' ? Value(number) : Value(None());
}

Filter find_filter(std::string_view name) { return find_in(kFilters, name); }
Test find_test(std::string_view name) { return find_in(kTests, name); }

Value global(std::string_view name) {
    using Callable = Value (*)(const Arguments&);
    static constexpr std::pair<const char*, Callable> kAll[] = {
        {"namespace", made_namespace},
        {"dict", made_dictionary},
        {"range", range},
        {"raise_exception", raise_exception}};
    const Callable f = find_in(kAll, name);
    return f == nullptr ? Value(Undefined{std::string(name)}) : Value(Function(f));
}

Value attribute(const Value& value, std::string_view name) {
    require<JinjaError>(!value.is_undefined(), "{}", value.type());
    if (const Value* member = value.find(name)) return *member;
    return method(value, name);
}

bool contains(const Value& all, const Value& part) {
    if (const auto* text = all.if_is<std::string>()) {
        return text->find(part.string()) != text->npos;
    }
    if (all.if_members() != nullptr) return all.find(part.text()) != nullptr;
    const List elements = all.elements();
    return std::find(elements.begin(), elements.end(), part) != elements.end();
}

}  // namespace tapestry::jinja
