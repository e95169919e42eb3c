#include <tapestry/core/text/json_tree.h>

#include <tapestry/core/text/utf8.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <type_traits>

namespace tapestry {
namespace {

using Json = nlohmann::json;

constexpr int kDepth = 100;

const Json& json(const void* value) { return *static_cast<const Json*>(value); }

void take_apart(Json& tree, int depth) noexcept {
    if (!tree.is_structured() || depth == kDepth) return;
    for (Json& child : tree) take_apart(child, depth + 1);
    tree.clear();
}

template <class T>
bool fits(const Json& value) {
    if constexpr (std::is_same_v<T, bool>) {
        return value.is_boolean();
    } else if constexpr (std::is_same_v<T, std::string>) {
        return value.is_string();
    } else if constexpr (std::is_same_v<T, double>) {
        return value.is_number();
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
        return value.is_number_unsigned();
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
        return value.is_number_integer() &&
               (!value.is_number_unsigned() || value.get<std::uint64_t>() <= INT64_MAX);
    } else {
        return value.is_array() &&
               std::all_of(value.begin(), value.end(), fits<typename T::value_type>);
    }
}

[[noreturn]] void fail_as_too_deep() { fail<JsonError>("nested deeper than {} levels", kDepth); }

[[noreturn]] void fail_at(std::size_t byte, const Json::exception& error) {
    std::string_view rule = error.what();  // "[json.exception.parse_error.101] parse error at ..."
    if (const auto bracket = rule.find("] "); bracket != rule.npos) rule.remove_prefix(bracket + 2);
    constexpr int kNumberOverflow = 406;
    throw JsonSyntaxError(error.id == kNumberOverflow
                              ? "not JSON: a number is too large"
                              : fmt::format("not JSON: error at byte {}", byte),
                          byte, std::string(rule));
}

// The parser takes a 0 byte between two values, which JSON does not allow, for the end of the text.
template <class Parser>
void parse(std::string_view text, Parser& parser) {
    Json::sax_parse(text, &parser);
    const std::size_t zero = text.find('\0');
    if (zero == text.npos) return;
    throw JsonSyntaxError(fmt::format("not JSON: error at byte {}", zero + 1), zero + 1,
                          "byte 0 after the end of the value");
}

// Builds a tree of at most kDepth levels, because trees are destroyed, copied and printed
// recursively.
class TreeParser : public nlohmann::detail::json_sax_dom_parser<Json> {
public:
    explicit TreeParser(Json& tree) : json_sax_dom_parser(tree), tree_(tree) {}

    bool start_object(std::size_t size) {
        return deeper(), json_sax_dom_parser::start_object(size);
    }
    bool key(std::string& name) {
        if (depth_ == 1 && tree_.contains(name)) {
            fail<JsonError>("duplicate key {}", utf8::quoted(name));
        }
        return json_sax_dom_parser::key(name);
    }
    bool end_object() { return --depth_, json_sax_dom_parser::end_object(); }
    bool start_array(std::size_t size) { return deeper(), json_sax_dom_parser::start_array(size); }
    bool end_array() { return --depth_, json_sax_dom_parser::end_array(); }
    bool parse_error(std::size_t byte, const std::string&, const Json::exception& error) {
        fail_at(byte, error);
    }

private:
    void deeper() {
        if (++depth_ > kDepth) fail_as_too_deep();
    }

    const Json& tree_;
    int depth_ = 0;
};

class HandlerParser final : public nlohmann::json_sax<Json> {
public:
    explicit HandlerParser(JsonHandler& handler) : handler_(handler) {}

    bool null() override { return handler_.null(), true; }
    bool boolean(bool value) override { return handler_.boolean(value), true; }
    bool number_unsigned(std::uint64_t value) override { return handler_.number(value), true; }
    bool number_integer(std::int64_t value) override {
        return handler_.negative_number(value), true;
    }
    bool number_float(double, const std::string& text) override {
        return handler_.real_number(text), true;
    }
    bool string(std::string& value) override { return handler_.string(value), true; }
    bool binary(Json::binary_t&) override { return false; }  // does not occur in a text
    bool start_object(std::size_t) override { return handler_.begin_object(), true; }
    bool key(std::string& name) override { return handler_.name(name), true; }
    bool end_object() override { return handler_.end_object(), true; }
    bool start_array(std::size_t) override { return handler_.begin_array(), true; }
    bool end_array() override { return handler_.end_array(), true; }
    bool parse_error(std::size_t byte, const std::string&, const Json::exception& error) override {
        fail_at(byte, error);
    }

private:
    JsonHandler& handler_;
};

}  // namespace

std::string_view name_of(JsonKind kind) {
    switch (kind) {
        case JsonKind::null: return "null";
        case JsonKind::boolean: return "boolean";
        case JsonKind::number: return "number";
        case JsonKind::string: return "string";
        case JsonKind::array: return "array";
        case JsonKind::object: return "object";
    }
    return "?";
}

JsonKind JsonNode::kind() const {
    const Json& value = json(value_);
    if (value.is_object()) return JsonKind::object;
    if (value.is_array()) return JsonKind::array;
    if (value.is_string()) return JsonKind::string;
    if (value.is_boolean()) return JsonKind::boolean;
    return value.is_number() ? JsonKind::number : JsonKind::null;
}

std::string JsonNode::shown() const {
    constexpr std::size_t kMost = 300;
    const Json& value = json(value_);
    if (value.is_structured()) return value.type_name();
    const std::string text = utf8::json_for_terminal(value.dump());
    return text.size() <= kMost ? text : utf8::quoted(text, kMost);
}

std::string JsonNode::text() const { return json(value_).dump(); }

std::optional<JsonNode> JsonNode::find(const std::string& name) const {
    const Json& value = json(value_);
    const auto found = value.find(name);
    if (found == value.end()) return std::nullopt;
    return JsonNode(&*found);
}

JsonNode JsonNode::at(const std::string& name) const {
    const auto found = find(name);
    require<JsonError>(found.has_value(), "\"{}\" is missing", name);
    return *found;
}

std::vector<std::pair<std::string, JsonNode>> JsonNode::members() const {
    if (!is(JsonKind::object)) fail<JsonError>("expected an object, got {}", shown());
    std::vector<std::pair<std::string, JsonNode>> all;
    for (const auto& [name, member] : json(value_).items()) {
        all.emplace_back(name, JsonNode(&member));
    }
    return all;
}

std::vector<JsonNode> JsonNode::elements() const {
    if (!is(JsonKind::array)) fail<JsonError>("expected a list, got {}", shown());
    std::vector<JsonNode> all;
    for (const Json& element : json(value_)) all.push_back(JsonNode(&element));
    return all;
}

template <class T>
bool JsonNode::holds() const {
    return fits<T>(json(value_));
}

template <class T>
T JsonNode::get() const {
    if (!holds<T>()) fail<JsonError>("invalid value: {}", shown());
    return json(value_).get<T>();
}

template <class T>
T JsonNode::get(const std::string& name) const {
    const JsonNode member = at(name);
    if (!member.holds<T>()) {
        fail<JsonError>("\"{}\" has an invalid value: {}", name, member.shown());
    }
    return json(member.value_).get<T>();
}

std::int64_t JsonNode::count(const std::string& name) const {
    const auto value = get<std::int64_t>(name);
    require<JsonError>(value >= 0 && value < std::int64_t{1} << 62,
                       "\"{}\" must be a whole number >= 0, got {}", name, value);
    return value;
}

struct JsonTree::Root {
    Json value;
    ~Root() { take_apart(value, 0); }
};

JsonTree::JsonTree(std::string_view text) : root_(std::make_unique<Root>()) {
    TreeParser parser(root_->value);
    parse(text, parser);
}

JsonTree::JsonTree(const JsonNode& node) : root_(std::make_unique<Root>()) {
    root_->value = json(node.value_);
}

JsonTree::~JsonTree() = default;

JsonNode JsonTree::root() const { return JsonNode(&root_->value); }

JsonSyntaxError::JsonSyntaxError(const std::string& message, std::size_t place, std::string broken)
    : JsonError(message), byte(place), rule(std::move(broken)) {}

void handle_json(std::string_view text, JsonHandler& handler) {
    HandlerParser parser(handler);
    parse(text, parser);
}

std::string json_text(std::string_view text) {
    return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

template bool JsonNode::holds<bool>() const;
template bool JsonNode::holds<std::int64_t>() const;
template bool JsonNode::holds<std::uint64_t>() const;
template bool JsonNode::holds<double>() const;
template bool JsonNode::holds<std::string>() const;
template bool JsonNode::holds<std::vector<std::string>>() const;
template bool JsonNode::holds<std::vector<std::int64_t>>() const;
template bool JsonNode::holds<std::vector<double>>() const;

template bool JsonNode::get() const;
template std::int64_t JsonNode::get() const;
template std::uint64_t JsonNode::get() const;
template double JsonNode::get() const;
template std::string JsonNode::get() const;
template std::vector<std::string> JsonNode::get() const;
template std::vector<std::int64_t> JsonNode::get() const;
template std::vector<double> JsonNode::get() const;

template bool JsonNode::get(const std::string&) const;
template std::int64_t JsonNode::get(const std::string&) const;
template std::uint64_t JsonNode::get(const std::string&) const;
template double JsonNode::get(const std::string&) const;
template std::string JsonNode::get(const std::string&) const;
template std::vector<std::string> JsonNode::get(const std::string&) const;
template std::vector<std::int64_t> JsonNode::get(const std::string&) const;
template std::vector<double> JsonNode::get(const std::string&) const;

}  // namespace tapestry
