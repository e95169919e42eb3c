// Values of the language of chat templates, which are Python's. Read next: jinja.h.
#pragma once

#include <tapestry/core/error.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace tapestry::jinja {

/// A program that is not valid, is not supported, or fails.
class JinjaError : public ValueError {
public:
    using ValueError::ValueError;
};

class Value;
struct Arguments;

/// A name without a value.
struct Undefined {
    std::string name;  ///< for messages
    /// Always, also for other names.
    bool operator==(const Undefined&) const { return true; }
};
/// Python's None.
struct None {
    bool operator==(const None&) const = default;
};

using List = std::vector<Value>;                               ///< of values
using Members = std::vector<std::pair<std::string, Value>>;    ///< of a dictionary, in order
using Function = std::function<Value(const Arguments& from)>;  ///< a macro or a method

struct Namespace;

/// A text that a program may have or write, at most, in bytes.
constexpr std::size_t kMostText = std::size_t{1} << 24;
/// Elements of a list, at most.
constexpr std::size_t kMostElements = 100'000;
/// Bytes of a running program at most: all its values at a time, and the texts it has written.
constexpr std::size_t kMostMemory = std::size_t{1} << 27;

/// While it lives, the values that are made on this thread count as those of a running program.
class CountedMemory {
public:
    /// Counts from 0.
    CountedMemory();
    ~CountedMemory();
    CountedMemory(const CountedMemory&) = delete;
    CountedMemory& operator=(const CountedMemory&) = delete;

private:
    std::shared_ptr<std::size_t> taken_ = std::make_shared<std::size_t>(0);  // outlived by values
    const std::shared_ptr<std::size_t>* outer_;
};

/// Counts what a running program takes until its end. Throws JinjaError beyond kMostMemory.
void take_memory(std::size_t bytes);

/// Levels that a value may have.
constexpr int kMostLevels = 100;

/// A value. Texts, lists and dictionaries are shared, as in Python, and never changed. They throw
/// JinjaError if they have more than 100 levels, or take more than kMostMemory with all others.
class Value {
public:
    Value() = default;
    Value(None none) : value_(none) {}                            ///< none
    Value(Undefined undefined) : value_(std::move(undefined)) {}  ///< a missing value
    Value(bool truth) : value_(truth) {}                          ///< a truth value
    Value(std::int64_t number) : value_(number) {}                ///< an integer
    Value(double number) : value_(number) {}                      ///< a real number
    Value(std::string text);                                      ///< a text
    Value(std::string_view text) : Value(std::string(text)) {}    ///< a text
    Value(const char* text) : Value(std::string(text)) {}         ///< a text
    Value(List list);                                             ///< a list
    Value(Members members);                                       ///< a dictionary
    Value(Namespace members);                                     ///< a namespace
    /// A function.
    Value(Function function) : value_(std::make_shared<Function>(std::move(function))) {}

    /// The value, if it is one of this type, which none of the functions below returns.
    template <class T>
    const T* if_is() const {
        if constexpr (std::is_same_v<T, std::string>) {
            return target<const std::string>();
        } else {
            return std::get_if<T>(&value_);
        }
    }
    const List* if_list() const { return target<List>(); }  ///< of a list
    const Members* if_members() const;                      ///< of a dictionary or a namespace
    Namespace* if_namespace() const;                        ///< of a namespace
    const Function* if_function() const { return target<Function>(); }   ///< of a function
    bool is_undefined() const { return if_is<Undefined>() != nullptr; }  ///< no value
    bool is_none() const { return if_is<None>() != nullptr; }            ///< Python's None
    /// An integer or a real number.
    bool is_number() const { return is_integer() || if_is<double>() != nullptr; }
    /// A boolean is an integer, as in Python.
    bool is_integer() const { return if_is<std::int64_t>() || if_is<bool>(); }

    bool truth() const;                 ///< Python's bool()
    std::string text() const;           ///< Python's str(); of an undefined value nothing
    std::string type() const;           ///< for messages: "a list"
    std::int64_t integer() const;       ///< Throws JinjaError for anything else
    double number() const;              ///< Throws JinjaError for anything else
    const std::string& string() const;  ///< Throws JinjaError for anything else

    /// Elements of a list, names of a dictionary, characters of a text; none of an undefined value.
    /// Throws JinjaError for anything else, and a text of more than kMostElements characters.
    List elements() const;
    /// Number of elements().
    std::int64_t length() const;
    /// The member of a dictionary, or nullptr.
    const Value* find(std::string_view name) const;
    /// Sets a namespace's member. Throws JinjaError for anything else.
    void set(const std::string& name, Value value) const;

    /// Python's. Throws JinjaError for values with more than a million elements.
    bool operator==(const Value& other) const;
    bool operator<(const Value& other) const;  ///< Throws JinjaError for values without an order

private:
    bool equals(const Value& other, std::int64_t& left) const;
    void contain(const Value& value);

    template <class T>
    const T* target() const {
        const auto* shared = std::get_if<std::shared_ptr<T>>(&value_);
        return shared ? shared->get() : nullptr;
    }

    std::variant<Undefined, None, bool, std::int64_t, double, std::shared_ptr<const std::string>,
                 std::shared_ptr<List>, std::shared_ptr<Members>, std::shared_ptr<Namespace>,
                 std::shared_ptr<Function>>
        value_;
    int levels_ = 0;
};

/// The value of namespace(), the only one whose members can be set. It cannot be an element, so no
/// value contains itself.
struct Namespace {
    Members members;  ///< what was set
};

/// The values that a call, a filter or a test gets.
struct Arguments {
    List positional = {};  ///< in order
    Members named = {};    ///< name=value

    /// The argument at this position or with this name; without one, this value.
    Value get(std::size_t position, std::string_view name, Value otherwise) const;
};

/// Like Python's json.dumps(ensure_ascii=False): on one line or, from an indent of 0 on, on many.
std::string to_json(const Value& value, std::int64_t indent = -1);
/// The value of a text in JSON; members keep their order. Throws JsonError if it is not JSON, has
/// more than 100 levels, an integer beyond 64 bits, or an object in which a name occurs twice.
Value from_json(std::string_view text);

/// Python's repr().
std::string shown(const Value& value);

/// The text. Throws JinjaError if it is longer than kMostText.
std::string checked(std::string text);

/// The text's first character; nothing of an empty one.
std::string_view first_character(std::string_view text);

/// A text's characters.
std::vector<std::string_view> characters(std::string_view text);

}  // namespace tapestry::jinja
