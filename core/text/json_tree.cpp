#include <tapestry/core/text/json_tree.h>

#include <tapestry/core/text/utf8.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
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

// Makes a tree, and none that is deeper than kDepth: destroyed, copied and printed it is
// recursively.
class TreeParser : public nlohmann::detail::json_sax_dom_parser<Json> {
public:
    using json_sax_dom_parser::json_sax_dom_parser;

    bool start_object(std::size_t size) {
        return deeper(), json_sax_dom_parser::start_object(size);
    }
    bool end_object() { return --depth_, json_sax_dom_parser::end_object(); }
    bool start_array(std::size_t size) { return deeper(), json_sax_dom_parser::start_array(size); }
    bool end_array() { return --depth_, json_sax_dom_parser::end_array(); }

private:
    void deeper() {
        if (++depth_ > kDepth) fail_as_too_deep();
    }

    int depth_ = 0;
};

// `parse` calls nlohmann's parser.
template <class F>
void parse_json(const F& parse) {
    try {
        parse();
    } catch (const Json::parse_error& error) {
        fail<JsonError>("not JSON: error at byte {}", error.byte);
    } catch (const Json::out_of_range&) {
        fail<JsonError>("not JSON: a number is too large");
    }
}

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
    require<JsonError>(is(JsonKind::object), "{} stands where an object belongs", shown());
    std::vector<std::pair<std::string, JsonNode>> all;
    for (const auto& [name, member] : json(value_).items()) {
        all.emplace_back(name, JsonNode(&member));
    }
    return all;
}

std::vector<JsonNode> JsonNode::elements() const {
    require<JsonError>(is(JsonKind::array), "{} stands where a list belongs", shown());
    std::vector<JsonNode> all;
    for (const Json& element : json(value_)) all.push_back(JsonNode(&element));
    return all;
}

template <class T>
T JsonNode::get() const {
    require<JsonError>(fits<T>(json(value_)), "{} is not what belongs there", shown());
    return json(value_).get<T>();
}

template <class T>
T JsonNode::get(const std::string& name) const {
    const JsonNode member = at(name);
    require<JsonError>(fits<T>(json(member.value_)),
                       "\"{}\" is {}, which is not what belongs there", name, member.shown());
    return json(member.value_).get<T>();
}

std::int64_t JsonNode::count(const std::string& name) const {
    const auto value = get<std::int64_t>(name);
    require<JsonError>(value >= 0 && value < std::int64_t{1} << 62,
                       "\"{}\" is {}, which is no count", name, value);
    return value;
}

struct JsonTree::Root {
    Json value;
    ~Root() { take_apart(value, 0); }
};

JsonTree::JsonTree(std::string_view text) : root_(std::make_unique<Root>()) {
    parse_json([&] {
        TreeParser parser(root_->value);
        Json::sax_parse(text, &parser);
    });
}

JsonTree::JsonTree(const JsonNode& node) : root_(std::make_unique<Root>()) {
    root_->value = json(node.value_);
}

JsonTree::~JsonTree() = default;

JsonNode JsonTree::root() const { return JsonNode(&root_->value); }

void check_names_once(std::string_view text) {
    std::set<std::string> names;
    const auto check = [&names](int depth, Json::parse_event_t event, Json& parsed) {
        if (depth > kDepth) fail_as_too_deep();
        if (event == Json::parse_event_t::key && depth == 1) {
            const auto& name = parsed.get_ref<const std::string&>();
            require<JsonError>(names.insert(name).second, "key {} comes twice", utf8::quoted(name));
        }
        return false;  // nothing is kept
    };
    parse_json([&] { const Json nothing = Json::parse(text, check); });
}

std::string json_text(std::string_view text) {
    return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

template bool JsonNode::get() const;
template std::int64_t JsonNode::get() const;
template std::uint64_t JsonNode::get() const;
template double JsonNode::get() const;
template std::string JsonNode::get() const;
template std::vector<std::string> JsonNode::get() const;
template std::vector<std::int64_t> JsonNode::get() const;

template bool JsonNode::get(const std::string&) const;
template std::int64_t JsonNode::get(const std::string&) const;
template std::uint64_t JsonNode::get(const std::string&) const;
template double JsonNode::get(const std::string&) const;
template std::string JsonNode::get(const std::string&) const;
template std::vector<std::string> JsonNode::get(const std::string&) const;
template std::vector<std::int64_t> JsonNode::get(const std::string&) const;

}  // namespace tapestry
