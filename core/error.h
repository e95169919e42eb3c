// Errors are part of the interface: one family of exceptions, one form of message,
//     "matmul: inner sizes differ: [4, 3] x [2, 5] (3 against 2)"
// which names the op, the rule that was broken, and the values that broke it. The library throws;
// it never prints, aborts or exits.
#pragma once

#if __cplusplus <= 201703L
#error Tapestry needs C++20: compile with -std=c++20
#include <C++20>  // is nowhere, which ends the compilation before more is said
#endif

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace tapestry {

/// The base of everything the library throws on purpose.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Shapes, ranks or axes that do not match.
class ShapeError : public Error {
public:
    using Error::Error;
};

/// An element type that the operation does not support.
class DTypeError : public Error {
public:
    using Error::Error;
};

/// A number or name outside the allowed range.
class ValueError : public Error {
public:
    using Error::Error;
};

/// An index outside the tensor, or a token outside the vocabulary.
class IndexError : public Error {
public:
    using Error::Error;
};

/// Wrong use of the tape: the gradient of a constant was requested, or a saved tensor was changed
/// or released.
class AutogradError : public Error {
public:
    using Error::Error;
};

/// More memory than the system has.
class MemoryError : public Error {
public:
    using Error::Error;
};

/// A file that cannot be read or written, or whose contents break its format.
class IoError : public Error {
public:
    using Error::Error;
};

/// throw E(message), out of line so that the hot path of callers only contains a jump.
template <class E>
[[noreturn]] [[gnu::noinline, gnu::cold]] void throw_formatted(fmt::string_view format,
                                                               fmt::format_args args) {
    throw E(fmt::vformat(format, args));
}

/// throw E(formatted message).
template <class E = ValueError, class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
    throw_formatted<E>(format, fmt::make_format_args(args...));
}

/// fail<E> unless `condition` holds. The arguments are evaluated either way: keep them cheap.
template <class E = ValueError, class... Args>
void require(bool condition, fmt::format_string<Args...> format, Args&&... args) {
    if (!condition) [[unlikely]] {
        throw_formatted<E>(format, fmt::make_format_args(args...));
    }
}

/// Shared by our fmt::formatters: only "{}", no options. Their format() is defined in a source
/// file, because formatting in a header costs every file that includes it seconds of compilation.
struct PlainFormatter {
    /// Accepts only "{}".
    constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
};

}  // namespace tapestry
