#include <tapestry/nn/chat/chat_encoder.h>

#include <tapestry/core/error.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/chat/chat_probe.h>
#include <tapestry/nn/chat/chat_system.h>
#include <tapestry/nn/chat/chat_tool_calls.h>
#include <tapestry/nn/chat/jinja_functions.h>
#include <tapestry/nn/chat/jinja_tokens.h>

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace tapestry {
namespace {

using Ids = std::vector<std::int64_t>;
using Messages = std::span<const ChatMessage>;

constexpr std::string_view kSystem = "system";
constexpr std::string_view kTools = "tools";

constexpr const char* kHint = "; --chat-template takes chatml, llama3, plain or a file *.jinja";

bool has_name(std::string_view program, std::string_view name) {
    const std::vector<jinja::Token> tokens = jinja::tokens_of(program);
    return std::any_of(tokens.begin(), tokens.end(),
                       [name](const jinja::Token& one) { return one.is(name); });
}

jinja::Program program_of(const ChatTemplate& chat) {
    try {
        return jinja::Program(chat.program);
    } catch (const jinja::JinjaError& error) {
        fail("chat: the template, {}{}", error.what(), kHint);
    }
}

}  // namespace

std::size_t mark_length(std::string_view text) {
    constexpr std::size_t kMost = 64;
    const bool is_open = text.starts_with('<') || text.starts_with('[');
    if (!is_open) return 0;
    const std::size_t end = text.find_first_of(text[0] == '<' ? "> \t\n<" : "] \t\n[", 1);
    const bool closes = end != text.npos && end > 1 && (text[end] == '>' || text[end] == ']');
    return closes && end < kMost ? end + 1 : 0;
}

// ---- tokens -------------------------------------------------------------------------------------

// Collects ids.
class ChatEncoder::Writer {
public:
    explicit Writer(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

    void text(std::string_view text) { append(text, 0, "the prompt"); }
    void written(std::string_view text) {  // by the template
        append(text, 0, "the conversation, as its template writes it");
    }
    void answer(std::string_view text, std::int64_t end, bool is_learned) {
        append(text, is_learned ? 1 : 0, "the answer");
        tokens.ids.push_back(end);
        tokens.is_target.push_back(is_learned ? 1 : 0);
    }

    ChatTokens tokens;

private:
    void append(std::string_view text, std::uint8_t is_target, const char* what) {
        if (text.empty()) return;
        const Ids ids = tokenizer_.encode(text, what);
        tokens.ids.insert(tokens.ids.end(), ids.begin(), ids.end());
        tokens.is_target.resize(tokens.ids.size(), is_target);
    }

    const Tokenizer& tokenizer_;
};

// ---- the template -------------------------------------------------------------------------------

ChatEncoder::ChatEncoder(ChatTemplate chat, const Tokenizer& tokenizer)
    : chat_(std::move(chat)), program_(program_of(chat_)), tokenizer_(tokenizer) {
    const std::vector<ChatMessage> probe{{"user", "a"}, {std::string(kAnswer), "b"}, {"user", "c"}};
    std::string text;
    Answer answer{};
    try {
        header_ = header_of_answers();
        question_ = question();
        const Conversation tried{probe, kNoVariables};
        text = written(tried, true);
        answer = find(text, tried, 1, true);
    } catch (const ValueError& error) {
        fail("chat: tried on messages of user, assistant and user: {}{}", error.what(), kHint);
    }
    check_system();
    begins_with_blank_ = text[answer.begin] == ' ';
    find_end(std::string_view(text).substr(answer.end));
    find_marks(std::string_view(text).substr(0, answer.begin));
    find_marks(std::string_view(text).substr(answer.end));
    if (const auto of_text = tokenizer.end_of_text()) ends_.push_back(*of_text);
    const Ids& declared = tokenizer.declared_ends();
    ends_.insert(ends_.end(), declared.begin(), declared.end());
    ends_.push_back(end_);
}

// The end of an answer is a token: one of the vocabulary's ends, a mark, or a line break.
void ChatEncoder::find_end(std::string_view behind_answer) {
    const std::size_t mark = mark_length(behind_answer);
    const bool is_line = behind_answer.starts_with('\n');
    require(!behind_answer.empty(), "chat: the template does not end answers{}", kHint);
    const bool has_ids = is_line || tokenizer_.kind() != "char" ||
                         behind_answer[0] == static_cast<char>(CharTokenizer::kEndOfText);
    if (has_ids) {
        const bool is_short = is_line || tokenizer_.kind() == "char";
        const std::string_view text = is_short ? behind_answer.substr(0, 1) : behind_answer;
        const Ids ids = tokenizer_.encode(text, "the end of an answer");
        end_ = ids.front();
        end_text_ = tokenizer_.decode(std::span(ids).first(1));
        const Ids& declared = tokenizer_.declared_ends();
        const bool is_end = end_ == tokenizer_.end_of_text() ||
                            std::find(declared.begin(), declared.end(), end_) != declared.end();
        ends_at_line_ = is_line && !is_end;
        if ((is_end || is_line || end_text_.size() == mark) && behind_answer.starts_with(end_text_))
            return;
    }
    const std::string_view name = name_of_program(chat_.program);
    const std::string without_blanks = jinja::stripped(behind_answer, {}, true, false);
    const std::size_t later = mark_length(without_blanks);
    require(later == 0 || without_blanks.size() == behind_answer.size(),
            "chat: the template {}writes a blank between an answer and its end, {}, so the end is "
            "not the first token behind the answer{}",
            name.empty() ? "" : fmt::format("{} ", name),
            utf8::quoted(without_blanks.substr(0, later)), kHint);
    fail("chat: the template {}needs the token {}, which the vocabulary lacks{}",
         name.empty() ? "" : fmt::format("{} ", name),
         utf8::quoted(behind_answer.substr(0, mark > 0 ? mark : behind_answer.find('\n'))), kHint);
}

void ChatEncoder::find_marks(std::string_view text) {
    if (tokenizer_.kind() == "char") return;
    for (; !text.empty(); text.remove_prefix(1)) {
        const std::string mark(text.substr(0, mark_length(text)));
        if (mark.empty() || std::find(marks_.begin(), marks_.end(), mark) != marks_.end()) continue;
        const Ids ids = tokenizer_.encode(mark);
        if (ids.size() != 1) continue;
        marks_.push_back(mark);
        ends_.push_back(ids.front());
    }
}

std::string ChatEncoder::run(const jinja::Program& program, const Conversation& from, bool asks,
                             bool marks_generation) const {
    jinja::List list;
    for (const ChatMessage& one : from.messages) {
        jinja::Members members{{"role", one.role}, {"content", jinja::None()}};
        if (one.has_content) members.back().second = one.content;
        members.insert(members.end(), one.more.begin(), one.more.end());
        list.emplace_back(std::move(members));
    }
    jinja::Members variables{{"messages", std::move(list)},        {"add_generation_prompt", asks},
                             {"bos_token", chat_.bos_token},       {"eos_token", chat_.eos_token},
                             {std::string(kTools), jinja::None()}, {"documents", jinja::None()}};
    for (const auto& [name, value] : from.variables) {
        std::erase_if(variables, [&name = name](const auto& one) { return one.first == name; });
        variables.emplace_back(name, value);
    }
    try {
        std::string text = program.run(std::move(variables), marks_generation);
        return asks ? text + header_ : text;
    } catch (const jinja::JinjaError& error) {
        const auto without = std::find_if(from.messages.begin(), from.messages.end(),
                                          [](const ChatMessage& one) { return !one.has_content; });
        if (without == from.messages.end()) fail("the chat template, {}", error.what());
        fail(
            "the chat template, {}; message {} has no \"content\", which it may need: \"\" is a "
            "text",
            error.what(), without - from.messages.begin() + 1);
    }
}

// ---- checks -------------------------------------------------------------------------------------

void ChatEncoder::check_marks(std::string_view what, std::string_view text) const {
    for (const std::string& mark : marks_) {
        require(text.find(mark) == text.npos, "{} has {}, a mark of the chat template", what,
                utf8::quoted(mark));
    }
}

// One to learn.
void ChatEncoder::check_answer(std::string_view content) const {
    check_marks("the assistant's text", content);
    require(!jinja::stripped(content, {}, true, true).empty(), "the assistant's answer is empty");
    require(!ends_at_line_ || content.find('\n') == content.npos,
            "the assistant's answer has a line break, which ends answers here");
}

void ChatEncoder::check_answer(const ChatMessage& message) const {
    check_marks("the assistant's message", jinja::to_json(message.more));
    if (!has_tool_calls(message)) return check_answer(message.content);
    check_marks("the assistant's text", message.content);
    require(!ends_at_line_, "a line break, which ends answers here, cannot end calls of tools");
}

void ChatEncoder::check_calls(const ChatMessage& message, std::size_t i) const {
    if (!has_tool_calls(message)) return;
    try {
        check_tool_calls(message);
    } catch (const ValueError& error) {
        fail("message {}: {}", i + 1, error.what());
    }
    require(chat_.program.find("tool_calls") != std::string::npos,
            "message {}: the chat template does not write \"tool_calls\", so a model would never "
            "see them",
            i + 1);
}

// The message of --chat-system.
void ChatEncoder::check_system() const {
    const std::string marked = with_other_system(chat_.program, kMark);
    if (marked.empty() || with_other_system(chat_.program, {}) == chat_.program) return;
    const std::vector<ChatMessage> probe{{"user", "a"}};
    const std::string text = run(jinja::Program(marked), {probe, kNoVariables}, true);
    require(text.find(kMark) != text.npos,
            "chat: the template does not write the system message of --chat-system{}", kHint);
}

void ChatEncoder::check_variables(const Conversation& from) const {
    for (const auto& [name, value] : from.variables) {
        require(name == kTools || has_name(chat_.program, name),
                "the chat template has no variable {}", utf8::quoted(name));
        if (name != kTools) continue;
        check_marks("\"tools\"", jinja::to_json(value));
        jinja::Members others = from.variables;
        std::erase_if(others, [](const auto& one) { return one.first == kTools; });
        require(written(from, false) != written({from.messages, others}, false),
                "the chat template does not write \"tools\", so a model would never see them");
    }
}

// The mark tells the content from an equal part of another message. It need not be written as it
// is: Llama 3.1's template writes a tool's as JSON.
void ChatEncoder::check_is_written(const std::string& text, const Conversation& from, std::size_t i,
                                   bool asks) const {
    std::vector<ChatMessage> marked(from.messages.begin(), from.messages.end());
    marked[i].content += kMark;
    const std::string words = jinja::stripped(from.messages[i].content, {}, true, true);
    const bool is_there = written({marked, from.variables}, asks).find(kMark) != std::string::npos;
    require(is_there && (marked[i].role == "tool" || text.find(words) != text.npos),
            "message {}: the chat template does not write it", i + 1);
}

// All but the answers' contents.
void ChatEncoder::check(Messages messages) const {
    for (std::size_t i = 0; i < messages.size(); ++i) {
        const std::string& role = messages[i].role;
        const auto has = [&](char quote) {
            return chat_.program.find(quote + role + quote) != std::string::npos;
        };
        const bool is_known = role == kSystem || role == "user" || role == kAnswer ||
                              ((role == "tool" || role == "developer") && (has('\'') || has('"')));
        require(
            is_known,
            "the role {} is not supported; must be one of system, user, assistant, or tool if the "
            "template knows it",
            utf8::quoted(role));
        require(i == 0 || role != kSystem, "message {}: a system message must be the first", i + 1);
        check_calls(messages[i], i);
        if (role == kAnswer) continue;
        if (const auto flaw = utf8::find_flaw(messages[i].content)) {
            fail("the {}'s text: not UTF-8 at byte {}: {}", role, flaw->byte, flaw->what);
        }
        check_marks(fmt::format("the {}'s text", role), messages[i].content);
        check_marks(fmt::format("the {}'s message", role), jinja::to_json(messages[i].more));
    }
}

// ---- conversations ------------------------------------------------------------------------------

void ChatEncoder::add(const Conversation& from, bool asks, Writer& to) const {
    const Messages messages = from.messages;
    check(messages);
    const std::string text = written(from, asks);
    const std::string_view all = text;
    const bool marks = program_.has_generation() && !asks;
    const std::vector<Part> parts = marks ? generated(text, from) : std::vector<Part>();
    std::size_t done = 0;
    for (std::size_t i = 0; i < messages.size(); ++i) {
        if (messages[i].role != kAnswer) {
            check_is_written(text, from, i, asks);
            continue;
        }
        Answer answer = find(text, from, i, asks);
        require(answer.begin >= done && all.substr(answer.end).starts_with(end_text_),
                "message {}: the chat template does not end it with {}", i + 1,
                utf8::quoted(end_text_));
        if (marks) answer.is_learned = is_generated(parts, answer, i) && answer.is_learned;
        to.written(all.substr(done, answer.begin - done));
        to.answer(all.substr(answer.begin, answer.end - answer.begin), end_, answer.is_learned);
        done = answer.end + end_text_.size();
    }
    if (asks) to.written(all.substr(done));
}

ChatTokens ChatEncoder::encode(Messages messages, const jinja::Members& variables) const {
    bool has_answer = false;
    const auto is_target = [](const ChatMessage& one) {
        return one.role == kAnswer && one.is_learned;
    };
    check(messages);
    while (!messages.empty() && !is_target(messages.back())) {  // nothing follows to learn
        has_answer = has_answer || messages.back().role == kAnswer;
        messages = messages.first(messages.size() - 1);
    }
    require(!messages.empty(), "{}, so there is nothing to learn",
            has_answer ? "all of the assistant's messages have the weight 0"
                       : "no message is the assistant's");
    for (const ChatMessage& message : messages) {
        if (message.role == kAnswer) check_answer(message);
    }
    check_variables({messages, variables});
    Writer writer(tokenizer_);
    add({messages, variables}, false, writer);
    const auto& targets = writer.tokens.is_target;
    require(std::find(targets.begin(), targets.end(), 1) != targets.end(),
            "no answer is in the chat template's {{% generation %}}, so there is nothing to learn");
    return std::move(writer.tokens);
}

ChatTokens ChatEncoder::encode(std::string_view prompt, std::string_view completion) const {
    check_answer(completion);
    Writer writer(tokenizer_);
    writer.text(prompt);
    tokenizer_.begin_text(writer.tokens.ids);
    if (writer.tokens.ids.empty()) writer.tokens.ids.push_back(tokenizer_.beginning());
    writer.tokens.is_target.resize(writer.tokens.ids.size());
    writer.answer(completion, end_, true);
    return std::move(writer.tokens);
}

Ids ChatEncoder::prompt(Messages messages) const {
    Writer writer(tokenizer_);
    add({messages, kNoVariables}, true, writer);
    return std::move(writer.tokens.ids);
}

}  // namespace tapestry
