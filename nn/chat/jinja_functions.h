// Operators, filters, tests, methods and functions of programs in Jinja. Internal to nn/chat.
#pragma once

#include <tapestry/nn/chat/jinja_value.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace tapestry::jinja {

/// a sign b, for + - ~ * / // % == != <= >= < > in, and "not in". Throws JinjaError for values that
/// it is not for.
using Operator = Value (*)(const Value& a, const Value& b);
Operator find_operator(std::string_view sign);  ///< nullptr if there is none
Value negative(const Value& a);                 ///< -a

/// value[at]: an element or character, from the end if negative, or attribute().
Value item(const Value& value, const Value& at);
/// value[first:last:step]; parts may be none.
Value slice(const Value& value, const Value& first, const Value& last, const Value& step);

/// Throws JinjaError for arguments that the function of this name does not take: `parameters` are
/// their names in order, with blanks between; "*" is for any.
void check_arguments(std::string_view name, std::string_view parameters, const Arguments& from);

/// A filter, a test, a method or a function. Arguments that it does not take are refused, never
/// ignored.
template <class Result, class... Subject>
struct Named {
    const char* name;
    const char* parameters;  ///< as check_arguments() takes them
    Result (*compute)(Subject... subject, const Arguments& from);

    /// Throws as check_arguments() does.
    Result operator()(Subject... subject, const Arguments& from) const {
        check_arguments(name, parameters, from);
        return compute(subject..., from);
    }
};

using Filter = Named<Value, const Value&>;  ///< value | name(arguments...)
using Test = Named<bool, const Value&>;     ///< value is name(arguments...)

const Filter* find_filter(std::string_view name);  ///< nullptr if there is none
const Test* find_test(std::string_view name);      ///< nullptr if there is none

/// The row of a table with this name, or nullptr.
template <class Row, std::size_t N>
const Row* find_in(const Row (&table)[N], std::string_view name) {
    for (const Row& row : table) {
        if (name == row.name) return &row;
    }
    return nullptr;
}

/// value.name for a text, a dictionary or a list: a function, or an undefined value.
Value method(const Value& value, std::string_view name);

/// namespace, range, dict, raise_exception; or an undefined value.
Value global(std::string_view name);

/// value.name and value[name]: the member, or a method; or an undefined value. Throws JinjaError
/// for a value that is not defined.
Value attribute(const Value& value, std::string_view name);

/// Without these characters, or white space if there are none, at the beginning, at the end.
std::string stripped(std::string_view text, std::string_view characters, bool begin, bool end);

/// The real number that a text is; otherwise none.
Value number_in(const std::string& text);

/// Whether an element, a member's name or a part of a text is `part`.
bool contains(const Value& all, const Value& part);

}  // namespace tapestry::jinja
