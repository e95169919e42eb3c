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

using jinja::Value;

constexpr const char* kAssistant = "assistant";
constexpr const char* kVariables = "chat_template_kwargs";

// For messages: a text or a number as it is.
std::string described(const Value& value) {
    constexpr std::size_t kMost = 300;
    if (value.if_list() != nullptr) return "a list";
    if (value.if_members() != nullptr) return "an object";
    const std::string text = utf8::json_for_terminal(to_json(value));
    return text.size() <= kMost ? text : utf8::quoted(text, kMost);
}

// A member; nullptr if there is none or it is null, as in data sets with the same members in all
// lines.
const Value* member(const Value& object, std::string_view name) {
    const Value* found = object.find(name);
    return found == nullptr || found->is_none() ? nullptr : found;
}

// The same; also for an empty list.
const Value* full_member(const Value& object, std::string_view name) {
    const Value* found = member(object, name);
    const bool is_empty = found != nullptr && found->if_list() && found->if_list()->empty();
    return is_empty ? nullptr : found;
}

std::string text_in(const Value& object, std::string_view name) {
    const Value* found = member(object, name);
    require<JsonError>(found != nullptr, "\"{}\" is {}", name,
                       object.find(name) == nullptr ? "missing" : "null");
    require<JsonError>(found->if_is<std::string>() != nullptr, "\"{}\" is {}, not a text", name,
                       described(*found));
    return found->string();
}

// What OpenAI's "tools" and "tool_calls" replaced: if they were ignored, the model would learn
// another conversation.
void refuse_functions(const Value& object) {
    for (const auto& [old, wanted] :
         {std::pair("function_call", "tool_calls"), std::pair("functions", "tools")}) {
        require<JsonError>(full_member(object, old) == nullptr,
                           "\"{}\" is not supported; its new form is \"{}\"", old, wanted);
    }
}

// OpenAI's: a message of weight 0 is read, but not learned.
bool is_learned(const Value& message) {
    constexpr const char* kWeight = "weight";
    const Value* found = member(message, kWeight);
    if (found == nullptr) return true;
    const double weight = found->is_number() ? found->number() : -1;
    require<JsonError>(weight == 0 || weight == 1, "\"{}\" is {}; must be 0 or 1", kWeight,
                       described(*found));
    return weight == 1;
}

// A list of parts, [{"type": "text", "text": "..."}, ...], is their texts, one behind the other.
std::string joined(const jinja::List& parts) {
    std::string all;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const Value* type = member(parts[i], "type");
        require<JsonError>(type != nullptr, "part {} of \"content\" has no \"type\"", i + 1);
        require<JsonError>(*type == Value("text"),
                           "part {} of \"content\" is {}; only parts of the type \"text\" are "
                           "supported",
                           i + 1, described(*type));
        all += text_in(parts[i], "text");
    }
    return all;
}

std::string content_of(const Value& message, bool has_calls) {
    const Value* content = member(message, "content");
    if (content == nullptr && has_calls) return {};
    require<JsonError>(content != nullptr,
                       "\"content\" is {}; only a message with \"tool_calls\" may lack it",
                       message.find("content") == nullptr ? "missing" : "null");
    if (content != nullptr && content->if_list() != nullptr) return joined(*content->if_list());
    return text_in(message, "content");
}

ChatMessage message_in(const Value& from) {
    refuse_functions(from);
    const bool has_calls = full_member(from, "tool_calls") != nullptr;
    ChatMessage message{.role = text_in(from, "role"),
                        .content = content_of(from, has_calls),
                        .is_learned = is_learned(from),
                        .has_content = !has_calls || member(from, "content") != nullptr};
    for (const auto& [name, value] : *from.if_members()) {
        const bool is_read = name == "role" || name == "content" || name == "weight";
        const bool is_empty = name == "tool_calls" && !has_calls;
        if (!is_read && !is_empty && !value.is_none()) message.more.emplace_back(name, value);
    }
    return message;
}

std::vector<ChatMessage> messages_in(const Value& list, std::string_view name) {
    require<JsonError>(list.if_list() != nullptr, "\"{}\" is not a list of messages", name);
    std::vector<ChatMessage> messages;
    for (const Value& one : *list.if_list()) {
        try {
            messages.push_back(message_in(one));
        } catch (const JsonError& error) {
            fail<JsonError>("message {}{}: {}", messages.size() + 1,
                            name == "messages" ? "" : fmt::format(" of \"{}\"", name),
                            error.what());
        }
    }
    return messages;
}

// Two texts, or TRL's two lists of messages; answers in the second are learned.
ChatExample prompt_in(const Value& root) {
    const Value *prompt = member(root, "prompt"), *completion = member(root, "completion");
    const auto is_list = [](const Value* value) {
        return value != nullptr && value->if_list() != nullptr;
    };
    if (!is_list(prompt) && !is_list(completion)) {
        return {.prompt = text_in(root, "prompt"), .completion = text_in(root, "completion")};
    }
    require<JsonError>(is_list(prompt) && is_list(completion),
                       "of \"prompt\" and \"completion\" only one is a list of messages");
    ChatExample example{.is_chat = true, .messages = messages_in(*prompt, "prompt")};
    for (ChatMessage& message : example.messages) message.is_learned = false;
    const std::vector<ChatMessage> learned = messages_in(*completion, "completion");
    const auto is_assistant = [](const ChatMessage& one) { return one.role == kAssistant; };
    require<JsonError>(std::any_of(learned.begin(), learned.end(), is_assistant),
                       "no message of \"completion\" is the assistant's");
    example.messages.insert(example.messages.end(), learned.begin(), learned.end());
    return example;
}

// "tools", a list of functions, which may be the text of one in JSON; otherwise none.
Value tools_in(const Value& root) {
    const Value* found = full_member(root, "tools");
    if (found == nullptr) return jinja::None();
    Value tools = *found;
    if (const auto* text = tools.if_is<std::string>()) {
        try {
            tools = jinja::from_json(*text);
        } catch (const ValueError& error) {
            fail<JsonError>("\"tools\": {}", error.what());
        }
    }
    const auto is_object = [](const Value& one) { return one.if_members() != nullptr; };
    const jinja::List* list = tools.if_list();
    require<JsonError>(list != nullptr && std::all_of(list->begin(), list->end(), is_object),
                       "\"tools\" is {}, not a list of functions",
                       list == nullptr ? described(tools) : "a list of other values");
    return list->empty() ? Value(jinja::None()) : tools;
}

// "tools", and TRL's name for other variables of the template.
jinja::Members variables_in(const Value& root) {
    jinja::Members all;
    if (const Value tools = tools_in(root); !tools.is_none()) all.emplace_back("tools", tools);
    const Value* others = member(root, kVariables);
    if (others == nullptr) return all;
    require<JsonError>(others->if_members() != nullptr, "\"{}\" is {}, not an object", kVariables,
                       described(*others));
    for (const auto& [name, value] : *others->if_members()) {
        const bool is_set =
            name == "messages" || name == "tools" || name == "add_generation_prompt";
        require<JsonError>(!is_set, "\"{}\" has {}, which is not a variable to set", kVariables,
                           utf8::quoted(name));
        if (!value.is_none()) all.emplace_back(name, value);
    }
    return all;
}

// Other forms that data sets have, for messages.
std::string other_form(const Value& root) {
    const auto has = [&root](const char* name) { return root.find(name) != nullptr; };
    const char* form = has("instruction") && has("output")
                           ? "Alpaca's (\"instruction\", \"output\")"
                       : has("conversations") ? "ShareGPT's (\"conversations\")"
                                              : nullptr;
    if (form != nullptr) return fmt::format("the form is {}, which is not supported", form);
    if (has("text")) return "a document (\"text\"), which --text reads in place of --data";
    return "has neither \"messages\" nor \"prompt\" and \"completion\"";
}

ChatExample example_in(std::string_view line) {
    const Value root = jinja::from_json(line);
    require<JsonError>(root.if_members() != nullptr, "not an object");
    refuse_functions(root);
    jinja::Members variables = variables_in(root);
    const Value* messages = member(root, "messages");
    if (messages != nullptr) {
        return {.is_chat = true,
                .messages = messages_in(*messages, "messages"),
                .variables = std::move(variables)};
    }
    const bool is_prompt = member(root, "prompt") || member(root, "completion");
    require<JsonError>(is_prompt, "{}", other_form(root));
    ChatExample example = prompt_in(root);
    require<JsonError>(example.is_chat || variables.empty(),
                       "\"{}\" are for messages, not for a prompt that is a text",
                       full_member(root, "tools") != nullptr ? "tools" : kVariables);
    example.variables = std::move(variables);
    return example;
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
        } catch (const ValueError& error) {
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
        return example.is_chat ? encoder.encode(example.messages, example.variables)
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
        if (message.role == kAssistant) break;
        text += message.role + '\0' + message.content + '\0';
    }
    return text;
}

}  // namespace tapestry
