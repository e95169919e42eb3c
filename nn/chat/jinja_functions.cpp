#include <tapestry/nn/chat/jinja_functions.h>

#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>
#include <vector>

namespace tapestry::jinja {
namespace {

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
constexpr Test kTests[] = {
    {"defined", "", [](const Value& v, Any) { return !v.is_undefined(); }},
    {"undefined", "", [](const Value& v, Any) { return v.is_undefined(); }},
    {"none", "", [](const Value& v, Any) { return v.is_none(); }},
    {"true", "", [](const Value& v, Any) { return v.if_is<bool>() != nullptr && v.truth(); }},
    {"false", "", [](const Value& v, Any) { return v.if_is<bool>() != nullptr && !v.truth(); }},
    {"boolean", "", [](const Value& v, Any) { return v.if_is<bool>() != nullptr; }},
    {"integer", "", [](const Value& v, Any) { return v.if_is<std::int64_t>() != nullptr; }},
    {"float", "", [](const Value& v, Any) { return v.if_is<double>() != nullptr; }},
    {"number", "", [](const Value& v, Any) { return v.is_number(); }},
    {"string", "", [](const Value& v, Any) { return is_of_kind(v, 's'); }},
    {"mapping", "", [](const Value& v, Any) { return is_of_kind(v, 'm'); }},
    {"iterable", "", [](const Value& v, Any) { return is_of_kind(v, 'i') || v.is_undefined(); }},
    {"sequence", "", [](const Value& v, Any) { return is_of_kind(v, 'i') || v.is_undefined(); }},
    {"odd", "", [](const Value& v, Any) { return v.integer() % 2 != 0; }},
    {"even", "", [](const Value& v, Any) { return v.integer() % 2 == 0; }},
    {"equalto", "other", is_equal},
    {"eq", "other", is_equal},
    {"ne", "other", [](const Value& v, const Arguments& from) { return !is_equal(v, from); }},
    {"in", "seq", [](const Value& v, const Arguments& from) {
         return contains(from.get(0, "seq", Undefined{}), v);
     }}};

// ---- functions ----------------------------------------------------------------------------------

Value range(const Arguments& from) {
    constexpr auto kMost = static_cast<std::int64_t>(kMostElements);
    require<JinjaError>(from.named.empty(), "range does not take arguments with names");
    const bool has_two = from.positional.size() > 1;
    const std::int64_t begin = has_two ? from.positional[0].integer() : 0;
    const std::int64_t end =
        from.get(has_two ? 1 : 0, "stop", Undefined{"range's argument"}).integer();
    const std::int64_t by = from.get(2, "step", std::int64_t{1}).integer();
    require<JinjaError>(by != 0, "range: a step of 0");
    const double turns =
        (static_cast<double>(end) - static_cast<double>(begin)) / static_cast<double>(by);
    require<JinjaError>(turns <= kMost, "range: more than {} numbers", kMost);
    // Unsigned: the steps from a number far below 0 to one far above are beyond 64 bits with a
    // sign.
    const auto first = static_cast<std::uint64_t>(begin), step = static_cast<std::uint64_t>(by);
    List all;
    for (std::uint64_t i = 0; static_cast<double>(i) < turns; ++i) {
        all.emplace_back(static_cast<std::int64_t>(first + i * step));
    }
    return all;
}

// Python's dict(another, name=value, ...).
Members members_of(const Arguments& from) {
    require<JinjaError>(from.positional.size() < 2, "dict takes 1 argument without a name, not {}",
                        from.positional.size());
    Members all;
    if (!from.positional.empty()) {
        const Members* first = from.positional[0].if_members();
        require<JinjaError>(first != nullptr, "dict of {} is not supported",
                            from.positional[0].type());
        all = *first;
    }
    for (const auto& [name, value] : from.named) {
        const auto old = std::find_if(
            all.begin(), all.end(), [&name = name](const auto& one) { return one.first == name; });
        if (old == all.end()) {
            all.emplace_back(name, value);
        } else {
            old->second = value;
        }
    }
    return all;
}

Value made_namespace(const Arguments& from) { return Namespace{members_of(from)}; }
Value made_dictionary(const Arguments& from) { return members_of(from); }
Value raise_exception(const Arguments& from) {
    fail<JinjaError>("the template refuses this: {}", from.get(0, "message", "").text());
}

}  // namespace

Value number_in(const std::string& text) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && *end == '\0' ? Value(number) : Value(None());
}

void check_arguments(std::string_view name, std::string_view parameters, const Arguments& from) {
    if (parameters == "*") return;
    std::vector<std::string_view> known;
    for (std::string_view rest = parameters; !rest.empty();) {
        const std::size_t end = std::min(rest.find(' '), rest.size());
        if (end > 0) known.push_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    require<JinjaError>(from.positional.size() <= known.size(), "{} takes at most {}, not {}", name,
                        pluralize(std::ssize(known), "argument"), from.positional.size());
    for (const auto& [key, value] : from.named) {
        const auto at = std::find(known.begin(), known.end(), key);
        require<JinjaError>(at != known.end(), "{} does not take {}", name, key);
        require<JinjaError>(at - known.begin() >= std::ssize(from.positional), "{} gets {} twice",
                            name, key);
    }
}

const Test* find_test(std::string_view name) { return find_in(kTests, name); }

Value global(std::string_view name) {
    static constexpr Named<Value> kAll[] = {{"namespace", "*", made_namespace},
                                            {"dict", "*", made_dictionary},
                                            {"range", "start stop step", range},
                                            {"raise_exception", "message", raise_exception}};
    const Named<Value>* found = find_in(kAll, name);
    if (found == nullptr) return Undefined{std::string(name)};
    return Function([found](const Arguments& from) { return (*found)(from); });
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
