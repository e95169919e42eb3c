// JSON, written as it is told: a page's data. Internal to nn/pages.
//
//     JsonWriter json;
//     json.object([&] {
//         json.member("step", 3);
//         json.member("losses", losses);
//         json.list("curves", curves, [&](const Curve& each) { write(json, each); });
//         json.member("status", [&] { write(json, status); });
//     });
//
// Nothing is held but the text. A tree of nlohmann's allocates where it is destroyed, too, in a
// destructor that must not throw: where memory ends, the process would.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>

namespace tapestry {

class JsonWriter {
public:
    const std::string& text() const { return text_; }

    /// `write` writes the members.
    template <class F>
    void object(const F& write) {
        enclosed('{', write, '}');
    }

    /// `write` writes the values.
    template <class F>
    void array(const F& write) {
        enclosed('[', write, ']');
    }

    template <class T>
    void member(std::string_view name, const T& x) {
        value(name);
        text_ += ':';
        begins_ = true;
        value(x);
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

    /// A number (null if it is not finite), a bool, a text (U+FFFD for what is no UTF-8), nullptr,
    /// a range of these, or a function that writes it.
    template <class T>
    void value(const T& x) {
        if constexpr (std::is_invocable_v<const T&>) {
            x();
        } else if constexpr (std::is_null_pointer_v<T>) {
            separate();
            text_ += "null";
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
        begins_ = true;
        write();
        text_ += close;
        begins_ = false;
    }

    void separate() {
        if (!begins_) text_ += ',';
        begins_ = false;
    }

    template <class T>
    void append_number(T x) {
        if constexpr (std::is_floating_point_v<T>) {
            if (!std::isfinite(x)) {
                text_ += "null";
                return;
            }
        }
        fmt::format_to(std::back_inserter(text_), "{}", x);
    }

    void append_text(std::string_view text);

    std::string text_;
    bool begins_ = true;  // nothing stands before the next value that a comma would part it from
};

}  // namespace tapestry
