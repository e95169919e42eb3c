// A JSON writer that appends values as they come. Internal to Tapestry.
//
//     JsonWriter json;
//     json.object([&] {
//         json.member("step", 3);
//         json.member("losses", losses);
//         json.list("curves", curves, [&](const Curve& each) { write(json, each); });
//         json.member("status", [&] { write(json, status); });
//     });
//
// It only holds the text. A tree of nlohmann's also allocates when it is destroyed, in a destructor
// that must not throw: if memory ran out there, the process would terminate. Read next:
// json_tree.h, which reads JSON.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tapestry {
namespace detail {

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

}  // namespace detail

class JsonWriter {
public:
    /// Writes members and values on separate lines, each level `indent` spaces deeper; -1: no line
    /// breaks or spaces. Anything deeper than `levels` stays on one line.
    explicit JsonWriter(int indent = -1, int levels = std::numeric_limits<int>::max())
        : indent_(indent), levels_(levels) {}

    const std::string& text() const { return text_; }

    /// An object; `write` writes the members.
    template <class F>
    void object(const F& write) {
        enclosed('{', write, '}');
    }

    /// An object of alternating names and values, as member() takes them.
    template <class T, class... Rest>
    void object(std::string_view name, const T& x, const Rest&... rest) {
        object([&] { members(name, x, rest...); });
    }

    /// An array; `write` writes the values.
    template <class F>
    void array(const F& write) {
        enclosed('[', write, ']');
    }

    template <class T>
    void member(std::string_view name, const T& x) {
        value(name);
        text_ += indent_ < 0 ? ":" : ": ";
        follows_name_ = true;
        value(x);
    }

    /// Several members: alternating names and values.
    template <class T, class... Rest>
    void members(std::string_view name, const T& x, const Rest&... rest) {
        member(name, x);
        if constexpr (sizeof...(rest) > 0) members(rest...);
    }

    /// A member that is an array: write(x) writes a value for each x of `all`.
    template <class Range, class F>
    void list(std::string_view name, const Range& all, const F& write) {
        member(name, [&] {
            array([&] {
                for (const auto& each : all) write(each);
            });
        });
    }

    /// All members of `object`, a text from a writer with the same indent.
    void members_of(std::string_view object);

    /// A number (null if it is not finite), a bool, a text (U+FFFD for bytes that are not UTF-8),
    /// nullptr, an optional of these (null if empty), a range of them, or a function that writes
    /// it.
    template <class T>
    void value(const T& x) {
        if constexpr (std::is_invocable_v<const T&>) {
            x();
        } else if constexpr (std::is_null_pointer_v<T>) {
            separate();
            text_ += "null";
        } else if constexpr (detail::is_optional<T>) {
            x ? value(*x) : value(nullptr);
        } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
            separate();
            append_text(x);
        } else if constexpr (std::is_arithmetic_v<T>) {
            separate();
            append_number(x);
        } else {
            array([&] {
                for (const auto& each : x) value(each);
            });
        }
    }

private:
    template <class F>
    void enclosed(char open, const F& write, char close) {
        separate();
        text_ += open;
        ++depth_;
        is_first_ = true;
        write();
        const bool on_lines = depth_ <= levels_;
        --depth_;
        if (!is_first_ && on_lines) break_line();
        text_ += close;
        is_first_ = false;
    }

    // Writes the separator between the previous value and the next.
    void separate() {
        if (!std::exchange(follows_name_, false) && depth_ > 0) {
            if (!is_first_) text_ += ',';
            break_line();
        }
        is_first_ = false;
    }

    void break_line() {
        if (indent_ < 0 || depth_ > levels_) return;
        text_ += '\n';
        text_.append(static_cast<std::size_t>(indent_ * depth_), ' ');
    }

    template <class T>
    void append_number(T x) {
        const std::size_t begin = text_.size();
        if constexpr (std::is_floating_point_v<T>) {
            if (!std::isfinite(x)) {
                text_ += "null";
                return;
            }
        }
        fmt::format_to(std::back_inserter(text_), "{}", x);
        if constexpr (std::is_floating_point_v<T>) {  // a real number must read back as one
            if (text_.find_first_of(".e", begin) == std::string::npos) text_ += ".0";
        }
    }

    void append_text(std::string_view text);

    std::string text_;
    int indent_, levels_;
    int depth_ = 0;
    bool is_first_ = true;       // in its object or array
    bool follows_name_ = false;  // the next value is a member's
};

}  // namespace tapestry
