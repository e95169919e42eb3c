#include <tapestry/nn/chat/chat_examples.h>

#include <tapestry/core/checksum.h>
#include <tapestry/core/error.h>
#include <tapestry/core/text/json_tree.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/data/text.h>

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace tapestry {
namespace {

// A text of an object, or an error that says which.
std::string text_in(const JsonNode& object, const std::string& name) {
    const auto found = object.find(name);
    require<JsonError>(found.has_value(), "\"{}\" is missing", name);
    require<JsonError>(found->is(JsonKind::string), "\"{}\" is {}, not a text", name,
                       utf8::printable(found->shown()));
    return found->get<std::string>();
}

// OpenAI's and Hugging Face's members for tool calls: if they were ignored, the model would learn
// another conversation. Data sets with the same members in all lines have null or [] there.
void refuse_tools(const JsonNode& object) {
    for (const char* name : {"tool_calls", "function_call", "tools", "functions"}) {
        const auto found = object.find(name);
        const bool is_empty = !found || found->is(JsonKind::null) ||
                              (found->is(JsonKind::array) && found->elements().empty());
        require<JsonError>(is_empty, "\"{}\" is not supported", name);
    }
}

// OpenAI's: a message of weight 0 is read, but not learned.
bool is_learned(const JsonNode& message) {
    constexpr const char* kWeight = "weight";
    const auto found = message.find(kWeight);
    if (!found || found->is(JsonKind::null)) return true;
    const double weight = found->is(JsonKind::number) ? found->get<double>() : -1;
    require<JsonError>(weight == 0 || weight == 1, "\"{}\" is {}; must be 0 or 1", kWeight,
                       utf8::printable(found->shown()));
    return weight == 1;
}

std::vector<ChatMessage> messages_in(const JsonNode& list) {
    require<JsonError>(list.is(JsonKind::array), "\"messages\" is not a list");
    std::vector<ChatMessage> messages;
    for (const JsonNode& one : list.elements()) {
        try {
            refuse_tools(one);
            messages.push_back({.role = text_in(one, "role"),
                                .content = text_in(one, "content"),
                                .is_learned = is_learned(one)});
        } catch (const JsonError& error) {
            fail<JsonError>("message {}: {}", messages.size() + 1, error.what());
        }
    }
    return messages;
}

ChatExample example_in(std::string_view line) {
    constexpr std::size_t kLevels = 3;  // the line, its list of messages, each of these
    check_names_once(line, kLevels);
    const JsonTree tree(line);
    const JsonNode root = tree.root();
    require<JsonError>(root.is(JsonKind::object), "not an object");
    refuse_tools(root);
    const auto messages = root.find("messages");
    if (messages) return {.is_chat = true, .messages = messages_in(*messages)};
    require<JsonError>(root.find("prompt") || root.find("completion"),
                       R"(has neither "messages" nor "prompt" and "completion")");
    return {.prompt = text_in(root, "prompt"), .completion = text_in(root, "completion")};
}

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r") == line.npos; }

}  // namespace

ChatExamples read_chat_examples(const std::filesystem::path& file) {
    const std::string whole = read_text(file);
    Checksum sum;
    sum.add(whole);
    ChatExamples all{.file = utf8::printable(file.string()), .examples = {}, .hash = sum.hex()};
    std::int64_t number = 0;
    for (std::string_view rest = whole; !rest.empty();) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        const std::string_view line = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        ++number;
        if (is_blank(line)) continue;
        try {
            all.examples.push_back(example_in(line));
            all.examples.back().line = number;
        } catch (const JsonError& error) {
            fail<IoError>(
                R"({}:{}: {}; a line is {{"messages": [{{"role": ..., "content": ...}}]}} or )"
                R"({{"prompt": ..., "completion": ...}})",
                all.file, number, error.what());
        }
    }
    require<IoError>(!all.examples.empty(), "{}: no examples", all.file);
    return all;
}

ChatTokens encoded(const ChatExamples& from, const ChatExample& example,
                   const ChatEncoder& encoder) {
    try {
        return example.is_chat ? encoder.encode(example.messages)
                               : encoder.encode(example.prompt, example.completion);
    } catch (const ValueError& error) {
        fail<IoError>("{}:{}: {}", from.file, example.line, error.what());
    }
}

bool cut_to(ChatTokens& tokens, std::int64_t most) {
    if (std::ssize(tokens.ids) <= most) return false;
    const auto first = std::find(tokens.is_target.begin() + 1, tokens.is_target.end(), 1) -
                       tokens.is_target.begin();
    const std::int64_t last = std::ssize(tokens.ids) - most;
    const auto begin =
        static_cast<std::ptrdiff_t>(first < most ? 0 : std::min(first - most / 2, last));
    const auto end = begin + static_cast<std::ptrdiff_t>(most);
    const auto cut = [begin, end](auto& all) {
        all.erase(all.begin() + end, all.end());
        all.erase(all.begin(), all.begin() + begin);
    };
    cut(tokens.ids);
    cut(tokens.is_target);
    return true;
}

std::string question_of(const ChatExample& example) {
    if (!example.is_chat) return example.prompt;
    std::string text;
    for (const ChatMessage& message : example.messages) {
        if (message.role == "assistant") break;
        text += message.role + '\0' + message.content + '\0';
    }
    return text;
}

}  // namespace tapestry
