#include <tapestry/nn/chat/jinja_functions.h>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace tapestry::jinja {
namespace {

// ---- arithmetic ---------------------------------------------------------------------------------

[[noreturn]] void refuse_operands(const char* sign, const Value& a, const Value& b) {
    fail<JinjaError>("{} {} {}", a.type(), sign, b.type());
}

bool are_integers(const Value& a, const Value& b) { return a.is_integer() && b.is_integer(); }
bool are_numbers(const Value& a, const Value& b) { return a.is_number() && b.is_number(); }

Value checked_number(bool overflows, std::int64_t number) {
    require<JinjaError>(!overflows, "a number beyond 64 bits");
    return number;
}

Value sum(const Value& a, const Value& b) {
    if (are_integers(a, b)) {
        std::int64_t number = 0;
        const bool overflows = __builtin_add_overflow(a.integer(), b.integer(), &number);
        return checked_number(overflows, number);
    }
    if (are_numbers(a, b)) return a.number() + b.number();
    if (a.if_is<std::string>() && b.if_is<std::string>()) return checked(a.string() + b.string());
    if (a.if_list() == nullptr || b.if_list() == nullptr) refuse_operands("+", a, b);
    List all = *a.if_list();
    all.insert(all.end(), b.if_list()->begin(), b.if_list()->end());
    require<JinjaError>(all.size() < kMostElements, "a list of {} elements", all.size());
    return all;
}

Value difference(const Value& a, const Value& b) {
    if (!are_numbers(a, b)) refuse_operands("-", a, b);
    if (!are_integers(a, b)) return a.number() - b.number();
    std::int64_t number = 0;
    const bool overflows = __builtin_sub_overflow(a.integer(), b.integer(), &number);
    return checked_number(overflows, number);
}

Value product(const Value& a, const Value& b) {
    if (are_integers(a, b)) {
        std::int64_t number = 0;
        const bool overflows = __builtin_mul_overflow(a.integer(), b.integer(), &number);
        return checked_number(overflows, number);
    }
    if (are_numbers(a, b)) return a.number() * b.number();
    if (b.if_is<std::string>() && a.is_integer()) return product(b, a);
    if (a.if_is<std::string>() == nullptr || !b.is_integer()) refuse_operands("*", a, b);
    const auto times = static_cast<std::size_t>(std::max<std::int64_t>(0, b.integer()));
    const std::string& text = a.string();
    require<JinjaError>(text.empty() || times <= kMostText / text.size(),
                        "a text of more than {} bytes", kMostText);
    std::string all;
    for (std::size_t i = 0; i < times && !text.empty(); ++i) all += text;
    return all;
}

void check_divisor(const char* sign, const Value& a, const Value& b) {
    if (!are_numbers(a, b)) refuse_operands(sign, a, b);
    require<JinjaError>(b.number() != 0, "division by 0");
}

Value quotient(const Value& a, const Value& b) {
    check_divisor("/", a, b);
    return a.number() / b.number();
}

// Rounded down, as Python's.
Value floor_quotient(const Value& a, const Value& b) {
    check_divisor("//", a, b);
    if (!are_integers(a, b)) return std::floor(a.number() / b.number());
    const std::int64_t x = a.integer(), y = b.integer();
    if (y == -1) return difference(Value(std::int64_t{0}), a);
    return x / y - (x % y != 0 && (x < 0) != (y < 0) ? 1 : 0);
}

// With the divisor's sign, as Python's.
Value remainder(const Value& a, const Value& b) {
    check_divisor("%", a, b);
    if (!are_integers(a, b)) {
        return a.number() - b.number() * std::floor(a.number() / b.number());
    }
    const std::int64_t x = a.integer(), y = b.integer();
    if (y == -1) return std::int64_t{0};
    const std::int64_t rest = x % y;
    return rest + (rest != 0 && (rest < 0) != (y < 0) ? y : 0);
}

Value joined(const Value& a, const Value& b) { return checked(a.text() + b.text()); }

// ---- comparisons --------------------------------------------------------------------------------

Value equal(const Value& a, const Value& b) { return a == b; }
Value unequal(const Value& a, const Value& b) { return !(a == b); }
Value less(const Value& a, const Value& b) { return a < b; }
Value greater(const Value& a, const Value& b) { return b < a; }
Value at_most(const Value& a, const Value& b) { return a < b || a == b; }
Value at_least(const Value& a, const Value& b) { return b < a || a == b; }
Value is_in(const Value& a, const Value& b) { return contains(b, a); }
Value is_not_in(const Value& a, const Value& b) { return !contains(b, a); }

using Entry = std::pair<std::string_view, Operator>;
constexpr Entry kOperators[] = {
    {"+", sum},       {"-", difference}, {"~", joined},  {"*", product},  {"//", floor_quotient},
    {"/", quotient},  {"%", remainder},  {"==", equal},  {"!=", unequal}, {"<=", at_most},
    {">=", at_least}, {"<", less},       {">", greater}, {"in", is_in},   {"not in", is_not_in}};

}  // namespace

Operator find_operator(std::string_view sign) {
    for (const auto& [key, f] : kOperators) {
        if (sign == key) return f;
    }
    return nullptr;
}

Value negative(const Value& a) {
    return a.is_integer() ? difference(Value(std::int64_t{0}), a) : Value(-a.number());
}

// From `first` to `last` by `step`, as in Python.
Value slice(const Value& value, const Value& first, const Value& last, const Value& step) {
    const auto* text = value.if_is<std::string>();
    require<JinjaError>(text != nullptr || value.if_list() != nullptr, "{} has no slices",
                        value.type());
    const auto letters = text != nullptr ? characters(*text) : std::vector<std::string_view>();
    const std::int64_t size = text != nullptr ? std::ssize(letters) : value.length();
    const std::int64_t by = step.is_none() ? 1 : step.integer();
    constexpr auto kMost = static_cast<std::int64_t>(kMostText);
    require<JinjaError>(by != 0 && by >= -kMost && by <= kMost, "a slice with a step of {}", by);
    const auto place = [size, by](const Value& at, std::int64_t otherwise) {
        if (at.is_none()) return otherwise;
        const std::int64_t i = at.integer() < 0 ? at.integer() + size : at.integer();
        return by > 0 ? std::clamp<std::int64_t>(i, 0, size)
                      : std::clamp<std::int64_t>(i, -1, size - 1);
    };
    const std::int64_t begin = place(first, by > 0 ? 0 : size - 1);
    const std::int64_t end = place(last, by > 0 ? size : -1);
    List part;
    std::string part_of_text;
    for (std::int64_t i = begin; by > 0 ? i < end : i > end; i += by) {
        const auto at = static_cast<std::size_t>(i);
        if (text != nullptr) {
            part_of_text += letters[at];
        } else {
            part.push_back((*value.if_list())[at]);
        }
    }
    return text != nullptr ? Value(std::move(part_of_text)) : Value(std::move(part));
}

Value item(const Value& value, const Value& at) {
    if (const auto* name = at.if_is<std::string>()) return attribute(value, *name);
    require<JinjaError>(!value.is_undefined(), "{}", value.type());
    if (value.if_list() == nullptr && value.if_is<std::string>() == nullptr) return Undefined{};
    const std::int64_t size = value.length();
    const std::int64_t i = at.integer() < 0 ? at.integer() + size : at.integer();
    if (i < 0 || i >= size) return Undefined{fmt::format("element {}", at.integer())};
    if (value.if_list() != nullptr) return (*value.if_list())[static_cast<std::size_t>(i)];
    std::string_view rest = value.string();
    for (std::int64_t before = 0; before < i; ++before) {
        rest.remove_prefix(first_character(rest).size());
    }
    return first_character(rest);
}

}  // namespace tapestry::jinja
