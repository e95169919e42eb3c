// Operators, filters, tests, methods and functions of programs in Jinja. Internal to nn/chat.
#pragma once

#include <tapestry/nn/chat/jinja_value.h>

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

/// value | name(arguments...)
using Filter = Value (*)(const Value& value, const Arguments& from);
/// value is name(arguments...)
using Test = bool (*)(const Value& value, const Arguments& from);

Filter find_filter(std::string_view name);  ///< nullptr if there is none
Test find_test(std::string_view name);      ///< nullptr if there is none

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
