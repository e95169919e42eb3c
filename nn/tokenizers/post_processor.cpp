#include <tapestry/nn/tokenizers/post_processor.h>

#include <tapestry/core/error.h>

#include <fmt/core.h>

#include <utility>
#include <vector>

namespace tapestry {
namespace {

constexpr const char* kMember = "post_processor";
constexpr const char* kTemplate = "TemplateProcessing";
constexpr const char* kSpecial = "SpecialToken";
constexpr const char* kTokens = "special_tokens";

using Members = std::vector<std::pair<std::string, JsonNode>>;

bool is_of_type(const JsonNode& node, const char* type) {
    return node.get<std::string>("type") == type;
}

std::optional<JsonNode> processor_of(const JsonNode& root) {
    const auto found = root.find(kMember);
    return found && !found->is(JsonKind::null) ? found : std::nullopt;
}

void add_first_ids(const JsonNode& processor, std::vector<std::int64_t>& ids) {
    for (const JsonNode& piece : processor.at("single").elements()) {
        const auto token = piece.find(kSpecial);
        if (!token) return;  // the text
        const JsonNode known = processor.at(kTokens).at(token->get<std::string>("id"));
        for (const auto id : known.get<std::vector<std::int64_t>>("ids")) ids.push_back(id);
    }
}

// ---- written ------------------------------------------------------------------------------------

// An object or array of values that are JSON already.
class Joined {
public:
    void add(const std::string& value) { text_ += (text_.empty() ? "" : ",") + value; }
    void add(const std::string& name, const std::string& value) {
        add(fmt::format("{}:{}", json_text(name), value));
    }
    std::string object() const { return "{" + text_ + "}"; }
    std::string array() const { return "[" + text_ + "]"; }

private:
    std::string text_;
};

using First = std::optional<TemplateToken>;

std::string piece_of(const char* kind, std::string_view id) {
    return fmt::format(R"({{"{}":{{"id":{},"type_id":0}}}})", kind, json_text(id));
}

// The pieces of a template with another beginning.
std::string pieces_with(const JsonNode& pieces, const First& first) {
    Joined all;
    if (first) all.add(piece_of(kSpecial, first->text));
    bool is_first = true;
    for (const JsonNode& piece : pieces.elements()) {
        is_first = is_first && piece.find(kSpecial).has_value();
        if (!is_first) all.add(piece.text());
    }
    return all.array();
}

std::string tokens_with(const std::optional<JsonNode>& tokens, const First& first) {
    Joined all;
    for (const auto& [name, token] : tokens ? tokens->members() : Members()) {
        if (!first || name != first->text) all.add(name, token.text());
    }
    if (first) {
        const std::string text = json_text(first->text);
        all.add(first->text,
                fmt::format(R"({{"id":{},"ids":[{}],"tokens":[{}]}})", text, first->id, text));
    }
    return all.object();
}

std::string template_with(const JsonNode& processor, const First& first) {
    Joined all;
    for (const auto& [name, value] : processor.members()) {
        if (name == "single" || name == "pair") {
            all.add(name, pieces_with(value, first));
        } else if (name != kTokens) {
            all.add(name, value.text());
        }
    }
    all.add(kTokens, tokens_with(processor.find(kTokens), first));
    return all.object();
}

std::string new_template(const TemplateToken& first) {
    const std::string a = piece_of("Sequence", "A"), b = piece_of("Sequence", "B");
    const JsonTree none(
        fmt::format(R"({{"type":"{}","single":[{}],"pair":[{},{}],"special_tokens":{{}}}})",
                    kTemplate, a, a, b));
    return template_with(none.root(), first);
}

std::string sequence_of(const Joined& processors) {
    return fmt::format(R"({{"type":"Sequence","processors":{}}})", processors.array());
}

// The first template gets the token, the others none.
std::string processor_with(const JsonNode& processor, First first) {
    const bool is_sequence = is_of_type(processor, "Sequence");
    if (is_of_type(processor, kTemplate)) return template_with(processor, first);
    Joined all;
    for (const JsonNode& one :
         is_sequence ? processor.at("processors").elements() : std::vector<JsonNode>{processor}) {
        const bool is_template = is_of_type(one, kTemplate);
        all.add(is_template ? template_with(one, first) : one.text());
        if (is_template) first.reset();
    }
    if (first) all.add(new_template(*first));
    return is_sequence || first ? sequence_of(all) : processor.text();
}

}  // namespace

std::optional<std::int64_t> first_id_in(const JsonNode& root, const std::string& what) {
    const auto processor = processor_of(root);
    if (!processor) return {};
    std::vector<std::int64_t> ids;
    if (is_of_type(*processor, kTemplate)) add_first_ids(*processor, ids);
    if (is_of_type(*processor, "Sequence")) {
        for (const JsonNode& one : processor->at("processors").elements()) {
            if (is_of_type(one, kTemplate)) add_first_ids(one, ids);
        }
    }
    require(ids.size() <= 1,
            "{}: the post_processor puts {} tokens before a text, more than one of which is not "
            "supported",
            what, ids.size());
    return ids.empty() ? std::nullopt : std::optional(ids.front());
}

std::string with_first_token(std::string_view json, const First& first) {
    const JsonTree tree(json);
    const auto processor = processor_of(tree.root());
    if (!processor && !first) return std::string(json);
    Joined all;
    for (const auto& [name, value] : tree.root().members()) {
        if (name != kMember) all.add(name, value.text());
    }
    all.add(kMember, processor ? processor_with(*processor, first) : new_template(*first));
    return all.object() + "\n";
}

}  // namespace tapestry
