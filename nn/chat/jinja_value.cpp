#include <tapestry/nn/chat/jinja_value.h>

#include <tapestry/core/text/utf8.h>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace tapestry::jinja {
namespace {

// Python's repr() of a float: the shortest that is read as the same number.
std::string shown_number(double x) {
    if (std::isnan(x)) return "nan";
    if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
    std::string text = fmt::format("{}", x);
    if (text.find_first_of(".e") == text.npos) text += ".0";
    return text;
}

// Whether this byte continues a character.
bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

// The number of characters(text).
std::int64_t count_characters(std::string_view text) {
    const bool begins_inside = !text.empty() && continues_character(text.front());
    return std::count_if(text.begin(), text.end(), [](char c) { return !continues_character(c); }) +
           (begins_inside ? 1 : 0);
}

std::string quoted_in_python(std::string_view text) {
    const char quote = text.find('\'') != text.npos && text.find('"') == text.npos ? '"' : '\'';
    std::string all(1, quote);
    for (const char c : text) {
        if (c == quote || c == '\\') all += '\\';
        if (c == '\n') {
            all += "\\n";
        } else if (c == '\t') {
            all += "\\t";
        } else if (c == '\r') {
            all += "\\r";
        } else {
            all += c;
        }
    }
    return all + quote;
}

// What the values of the running program take; nullptr if none runs.
thread_local const std::shared_ptr<std::size_t>* running = nullptr;

// `value`, shared; its bytes count until the last of its owners is gone.
template <class T>
std::shared_ptr<T> counted(T value, std::size_t bytes) {
    if (running == nullptr) return std::make_shared<T>(std::move(value));
    take_memory(bytes);
    return {new T(std::move(value)), [taken = *running, bytes](T* old) {
                *taken -= bytes;
                delete old;
            }};
}

}  // namespace

CountedMemory::CountedMemory() : outer_(std::exchange(running, &taken_)) {}

CountedMemory::~CountedMemory() { running = outer_; }

void take_memory(std::size_t bytes) {
    if (running == nullptr) return;
    **running += bytes;
    require<JinjaError>(**running <= kMostMemory,
                        "values and texts of more than {} bytes at a time", kMostMemory);
}

std::string shown(const Value& value) {
    if (const auto* text = value.if_is<std::string>()) return quoted_in_python(*text);
    std::string all;
    if (const List* list = value.if_list()) {
        for (const Value& one : *list) {
            all += fmt::format("{}{}", all.empty() ? "" : ", ", shown(one));
        }
        return checked(fmt::format("[{}]", all));
    }
    if (const Members* members = value.if_members()) {
        for (const auto& [name, one] : *members) {
            all += fmt::format("{}{}: {}", all.empty() ? "" : ", ", quoted_in_python(name),
                               shown(one));
        }
        return checked(fmt::format("{{{}}}", all));
    }
    return value.text();
}

std::string checked(std::string text) {
    require<JinjaError>(text.size() <= kMostText, "a text of more than {} bytes", kMostText);
    return text;
}

void Value::contain(const Value& value) {
    require<JinjaError>(value.if_namespace() == nullptr, "a namespace cannot be an element");
    levels_ = std::max(levels_, value.levels_ + 1);
    require<JinjaError>(levels_ <= kMostLevels, "a value of more than {} levels", kMostLevels);
}

Value::Value(std::string text) {
    const std::size_t bytes = text.size();
    value_ = std::shared_ptr<const std::string>(counted(std::move(text), bytes));
}

Value::Value(List list) {
    const std::size_t bytes = list.size() * sizeof(Value);
    value_ = counted(std::move(list), bytes);
    for (const Value& one : *if_list()) contain(one);
}

Value::Value(Members members) {
    std::size_t bytes = members.size() * sizeof(Members::value_type);
    for (const auto& [name, one] : members) bytes += name.size();
    value_ = counted(std::move(members), bytes);
    for (const auto& [name, one] : *if_members()) contain(one);
}

Value::Value(Namespace members) : value_(std::make_shared<Namespace>(std::move(members))) {
    for (const auto& [name, one] : *if_members()) contain(one);
}

bool Value::truth() const {
    if (is_undefined() || is_none()) return false;
    if (is_number()) return number() != 0;
    return if_function() != nullptr || length() > 0;
}

std::string Value::text() const {
    if (is_undefined()) return {};
    if (is_none()) return "None";
    if (const auto* text = if_is<std::string>()) return *text;
    if (const auto* truth = if_is<bool>()) return *truth ? "True" : "False";
    if (const auto* number = if_is<std::int64_t>()) return fmt::format("{}", *number);
    if (const auto* number = if_is<double>()) return shown_number(*number);
    return if_function() != nullptr ? "<function>" : shown(*this);
}

std::string Value::type() const {
    if (const auto* undefined = if_is<Undefined>()) {
        return fmt::format("{}, which is not defined", utf8::quoted(undefined->name));
    }
    if (is_none()) return "none";
    if (if_is<bool>() != nullptr) return "a truth value";
    if (is_number()) return "a number";
    if (if_is<std::string>() != nullptr) return "a text";
    if (if_list() != nullptr) return "a list";
    return if_members() != nullptr ? "a dictionary" : "a function";
}

std::int64_t Value::integer() const {
    if (const auto* truth = if_is<bool>()) return *truth ? 1 : 0;
    const auto* number = if_is<std::int64_t>();
    require<JinjaError>(number != nullptr, "an integer is needed; there is {}", type());
    return *number;
}

double Value::number() const {
    if (const auto* number = if_is<double>()) return *number;
    require<JinjaError>(is_integer(), "a number is needed; there is {}", type());
    return static_cast<double>(integer());
}

const std::string& Value::string() const {
    const auto* text = if_is<std::string>();
    require<JinjaError>(text != nullptr, "a text is needed; there is {}", type());
    return *text;
}

List Value::elements() const {
    if (is_undefined()) return {};
    if (const List* list = if_list()) return *list;
    List all;
    if (const auto* text = if_is<std::string>()) {
        const std::int64_t count = count_characters(*text);
        require<JinjaError>(count <= std::int64_t{kMostElements}, "a list of {} elements", count);
        for (const std::string_view one : characters(*text)) all.emplace_back(one);
        return all;
    }
    const Members* members = if_members();
    require<JinjaError>(members != nullptr, "{} has no elements", type());
    for (const auto& [name, value] : *members) all.emplace_back(name);
    return all;
}

std::int64_t Value::length() const {
    if (const List* list = if_list()) return std::ssize(*list);
    if (const Members* members = if_members()) return std::ssize(*members);
    if (const auto* text = if_is<std::string>()) return count_characters(*text);
    return std::ssize(elements());
}

const Value* Value::find(std::string_view name) const {
    const Members* members = if_members();
    if (members == nullptr) return nullptr;
    for (const auto& [key, value] : *members) {
        if (key == name) return &value;
    }
    return nullptr;
}

const Members* Value::if_members() const {
    if (const Namespace* space = if_namespace()) return &space->members;
    return target<Members>();
}

Namespace* Value::if_namespace() const {
    const auto* shared = std::get_if<std::shared_ptr<Namespace>>(&value_);
    return shared ? shared->get() : nullptr;
}

void Value::set(const std::string& name, Value value) const {
    Namespace* space = if_namespace();
    require<JinjaError>(space != nullptr, "only a namespace's members can be set, not {}'s",
                        type());
    require<JinjaError>(value.if_namespace() == nullptr, "a namespace cannot be a member");
    for (auto& [key, old] : space->members) {
        if (key == name) return void(old = std::move(value));
    }
    space->members.emplace_back(name, std::move(value));
}

bool Value::operator==(const Value& other) const {
    std::int64_t left = 1'000'000;
    return equals(other, left);
}

bool Value::equals(const Value& other, std::int64_t& left) const {
    require<JinjaError>(--left > 0, "values that are too large to compare");
    if (is_number() && other.is_number()) {
        return is_integer() && other.is_integer() ? integer() == other.integer()
                                                  : number() == other.number();
    }
    if (value_.index() != other.value_.index()) return false;
    if (const List* list = if_list()) {
        const auto same = [&left](const Value& a, const Value& b) { return a.equals(b, left); };
        const List& others = *other.if_list();
        return std::equal(list->begin(), list->end(), others.begin(), others.end(), same);
    }
    if (const Members* members = if_members()) {
        const auto same = [&](const auto& one) {
            const Value* there = other.find(one.first);
            return there != nullptr && one.second.equals(*there, left);
        };
        return members->size() == other.if_members()->size() &&
               std::all_of(members->begin(), members->end(), same);
    }
    if (const auto* text = if_is<std::string>()) return *text == other.string();
    return value_ == other.value_;
}

bool Value::operator<(const Value& other) const {
    if (is_number() && other.is_number()) return number() < other.number();
    const auto *a = if_is<std::string>(), *b = other.if_is<std::string>();
    require<JinjaError>(a != nullptr && b != nullptr, "{} and {} have no order", type(),
                        other.type());
    return *a < *b;  // UTF-8 has the order of the code points
}

Value Arguments::get(std::size_t position, std::string_view name, Value otherwise) const {
    if (position < positional.size()) return positional[position];
    for (const auto& [key, value] : named) {
        if (key == name) return value;
    }
    return otherwise;
}

std::string_view first_character(std::string_view text) {
    std::size_t end = 1;
    while (end < text.size() && continues_character(text[end])) ++end;
    return text.substr(0, end);
}

std::vector<std::string_view> characters(std::string_view text) {
    std::vector<std::string_view> all;
    for (; !text.empty(); text.remove_prefix(all.back().size())) {
        all.push_back(first_character(text));
    }
    return all;
}

}  // namespace tapestry::jinja
