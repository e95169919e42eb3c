#include <tapestry/nn/data/chat_template.h>

#include <tapestry/core/error.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/data/jinja_pieces.h>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace tapestry {
namespace {

using Ids = std::vector<std::int64_t>;

constexpr std::string_view kSystem = "system";
constexpr std::string_view kAnswer = "assistant";

// ---- forms --------------------------------------------------------------------------------------

// What is written around a message.
struct ChatForm {
    std::string_view beginning;             // of a conversation
    std::string_view before_role;           // and then the role
    std::string_view after_role;            // and then the content
    std::string_view after_text;            // of a message other than an answer
    std::string_view end;                   // of an answer; empty: the vocabulary's end of text
    std::string_view after_answer;          // behind its end
    std::array<std::string_view, 3> marks;  // which contents may not have; empty ones are none
};

const ChatForm& form_of(ChatStyle style) {
    static constexpr ChatForm kPlain{.beginning = "",
                                     .before_role = "",
                                     .after_role = ": ",
                                     .after_text = "\n",
                                     .end = "",
                                     .after_answer = "",
                                     .marks = {}};
    static constexpr ChatForm kChatml{.beginning = "",
                                      .before_role = "<|im_start|>",
                                      .after_role = "\n",
                                      .after_text = "<|im_end|>\n",
                                      .end = "<|im_end|>",
                                      .after_answer = "\n",
                                      .marks = {"<|im_start|>", "<|im_end|>"}};
    static constexpr ChatForm kLlama3{
        .beginning = "<|begin_of_text|>",
        .before_role = "<|start_header_id|>",
        .after_role = "<|end_header_id|>\n\n",
        .after_text = "<|eot_id|>",
        .end = "<|eot_id|>",
        .after_answer = "",
        .marks = {"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"}};
    switch (style) {
        case ChatStyle::plain: return kPlain;
        case ChatStyle::chatml: return kChatml;
        case ChatStyle::llama3: return kLlama3;
    }
    return kPlain;
}

// "user" -> "User", in the plain form
std::string role_text(const std::string& role, ChatStyle style) {
    if (style != ChatStyle::plain) return role;
    std::string text = role;
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
    return text;
}

// Llama 3's template removes blanks around a content.
std::string_view content_text(std::string_view content, ChatStyle style) {
    if (style != ChatStyle::llama3) return content;
    constexpr std::string_view kBlanks = " \t\n\r\v\f";
    const std::size_t begin = content.find_first_not_of(kBlanks);
    if (begin == content.npos) return {};
    return content.substr(begin, content.find_last_not_of(kBlanks) + 1 - begin);
}

// The plain form's prompt ends with a colon, and the blank after it belongs to the answer, as in
// byte pairs.
std::string header_of(const std::string& role, ChatStyle style) {
    const ChatForm& form = form_of(style);
    std::string text =
        fmt::format("{}{}{}", form.before_role, role_text(role, style), form.after_role);
    if (role == kAnswer && style == ChatStyle::plain) text.pop_back();
    return text;
}

std::int64_t single_token(const Tokenizer& tokenizer, std::string_view mark, ChatStyle style) {
    const Ids ids = tokenizer.kind() == "char" ? Ids() : tokenizer.encode(mark);
    require(ids.size() == 1, "chat: the template {} needs the token {}, which the vocabulary lacks",
            name_of_value(style), utf8::quoted(mark));
    return ids.front();
}

void check_marks(std::string_view role, std::string_view content, ChatStyle style) {
    for (const std::string_view mark : form_of(style).marks) {
        require(mark.empty() || content.find(mark) == content.npos,
                "the {}'s text has {}, a mark of the chat template", role, utf8::quoted(mark));
    }
}

// ---- Jinja --------------------------------------------------------------------------------------

std::string first_line(std::string_view text) {
    return utf8::quoted(text.substr(0, text.find('\n')), 60);
}

constexpr std::string_view kHint = "; --chat-template names one of chatml, llama3 and plain";

// As in a literal in single quotes.
std::string escaped(std::string_view text) {
    std::string all;
    for (const char c : text) {
        if (c == '\'' || c == '\\') all += '\\';
        c == '\n' ? all += "\\n" : all += c;
    }
    return all;
}

std::string jinja_text(std::string_view text) { return fmt::format("'{}'", escaped(text)); }

using Pieces = std::vector<JinjaPiece>;

std::string default_system(const Pieces& pieces, ChatStyle style) {
    return written_system(pieces, header_of(std::string(kSystem), style), form_of(style).end);
}

// Refuses a program that writes conversations otherwise than the form.
void check_form(const Pieces& pieces, ChatStyle style) {
    using Kind = JinjaPiece::Kind;
    const ChatForm& form = form_of(style);
    const auto any = [&pieces](const auto& f) {
        return std::any_of(pieces.begin(), pieces.end(), f);
    };
    const auto names = [&any](std::string_view name) {
        return any([=](const JinjaPiece& x) { return x.kind == Kind::name && x.text == name; });
    };
    const auto refuse = [style](std::string_view what) {
        fail("chat: the directory's template is like {}'s and {}, which is not supported{}",
             style == ChatStyle::chatml ? "ChatML" : "Llama 3", what, kHint);
    };
    for (const char* role : {"human", "gpt", "bot", "model"}) {
        const std::string header = fmt::format("{}{}", form.before_role, role);
        const auto has_role = [&](const JinjaPiece& x) {
            return x.is_written() && (x.text == role || x.text.find(header) != x.text.npos);
        };
        if (any(has_role)) refuse(fmt::format("has the role '{}'", role));
    }
    const std::string user = header_of("user", style),
                      answer = header_of(std::string(kAnswer), style);
    const auto ends_role = [&](const JinjaPiece& x) {
        const auto has = [&x](std::string_view part) { return x.text.find(part) != x.text.npos; };
        return x.is_written() && (x.text.starts_with(form.after_role) || has(user) || has(answer));
    };
    if (!any(ends_role)) refuse("ends roles otherwise");
    const bool trims = names("trim");
    if (style == ChatStyle::chatml && trims) refuse("removes blanks around contents (trim)");
    if (style == ChatStyle::llama3 && !trims) refuse("keeps blanks around contents (no trim)");
    if (style == ChatStyle::chatml && names("eos_token")) refuse("writes eos_token");
}

// Begins the programs that are written here for models without a template.
constexpr std::string_view kPlainMark = "{# plain #}";

}  // namespace

ChatTemplate recognised_template(std::string_view jinja) {
    const Pieces pieces = without_tools(jinja_pieces(jinja));
    const auto has = [jinja](std::string_view mark) { return jinja.find(mark) != jinja.npos; };
    if (has("<|start_header_id|>") && has("<|eot_id|>")) {
        require(!has("Cutting Knowledge Date") && !has("date_string"),
                "chat: the directory's template, Llama 3.1's, writes dates, which is not "
                "supported{}",
                kHint);
        check_form(pieces, ChatStyle::llama3);
        return {ChatStyle::llama3, default_system(pieces, ChatStyle::llama3)};
    }
    if (has("<|im_start|>") && has("<|im_end|>")) {
        for (const char* other : {"bos_token", "<|im_sep|>", "<think>", "strftime_now"}) {
            require(!has(other),
                    "chat: the directory's template is like ChatML's and has {}, which is not "
                    "supported{}",
                    other, kHint);
        }
        check_form(pieces, ChatStyle::chatml);
        return {ChatStyle::chatml, default_system(pieces, ChatStyle::chatml)};
    }
    if (jinja.starts_with(kPlainMark)) {
        return {ChatStyle::plain, default_system(pieces, ChatStyle::plain)};
    }
    fail("chat: the directory's template is neither ChatML's nor Llama 3's, it begins {}{}",
         first_line(jinja), kHint);
}

ChatStyle chat_style_of(std::string_view name) {
    for (const auto& [style, text] : NamesOf<ChatStyle>::list) {
        if (name == text) return style;
    }
    fail("chat: the template {} is not known; must be one of plain, chatml, llama3",
         utf8::quoted(name));
}

std::string jinja_of(const ChatTemplate& chat) {
    const ChatForm& form = form_of(chat.style);
    const bool plain = chat.style == ChatStyle::plain;
    const std::string trim = chat.style == ChatStyle::llama3 ? " | trim" : "";
    std::string text(plain ? kPlainMark : "");
    if (!form.beginning.empty()) text += fmt::format("{{{{ {} }}}}", jinja_text(form.beginning));
    if (!chat.system.empty()) {
        const std::string system =
            fmt::format("{}{}{}", header_of(std::string(kSystem), chat.style),
                        content_text(chat.system, chat.style), form.after_text);
        text += fmt::format("{{% if messages[0]['role'] != 'system' %}}{{{{ {} }}}}{{% endif %}}",
                            jinja_text(system));
    }
    const std::string end = form.end.empty()
                                ? "eos_token"
                                : jinja_text(fmt::format("{}{}", form.end, form.after_answer));
    text += fmt::format(
        "{{% for message in messages %}}{{{{ {} + message['role']{} + {} + (message['content']{}) "
        "+ "
        "({} if message['role'] == 'assistant' else {}) }}}}{{% endfor %}}"
        "{{% if add_generation_prompt %}}{{{{ {} }}}}{{% endif %}}",
        jinja_text(form.before_role), plain ? ".capitalize()" : "", jinja_text(form.after_role),
        trim, end, jinja_text(form.after_text),
        jinja_text(header_of(std::string(kAnswer), chat.style)));
    return text;
}

// ---- the encoder --------------------------------------------------------------------------------

// Collects text, which is encoded when an answer begins.
class ChatEncoder::Writer {
public:
    explicit Writer(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

    void text(std::string_view more) { waiting_ += more; }
    void flush() { append(waiting_, 0, "the prompt"), waiting_.clear(); }
    void answer(std::string_view content, std::int64_t end, bool is_target = true) {
        flush();
        append(content, is_target ? 1 : 0, "the answer");
        tokens.ids.push_back(end);
        tokens.is_target.push_back(is_target ? 1 : 0);
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
    std::string waiting_;
};

ChatEncoder::ChatEncoder(ChatTemplate chat, const Tokenizer& tokenizer)
    : chat_(std::move(chat)), tokenizer_(tokenizer) {
    const ChatForm& form = form_of(chat_.style);
    for (const std::string_view mark : form.marks) {
        if (!mark.empty()) ends_.push_back(single_token(tokenizer, mark, chat_.style));
    }
    const std::optional<std::int64_t> of_text = tokenizer.end_of_text();
    if (of_text) ends_.push_back(*of_text);
    const Ids& declared = tokenizer.declared_ends();
    ends_.insert(ends_.end(), declared.begin(), declared.end());
    if (!form.end.empty()) {
        end_ = single_token(tokenizer, form.end, chat_.style);
        return;
    }
    ends_at_line_ = !of_text;
    end_ = of_text ? *of_text : tokenizer.encode("\n", "chat: the end of an answer").front();
    if (ends_at_line_) ends_.push_back(end_);
}

void ChatEncoder::check(const ChatMessage& message) const {
    const bool is_known =
        message.role == kSystem || message.role == "user" || message.role == kAnswer;
    require(is_known, "the role {} is not supported; must be one of system, user, assistant",
            utf8::quoted(message.role));
    if (message.role == kAnswer) return;
    check_marks(message.role, message.content, chat_.style);
}

// One to learn.
void ChatEncoder::check_answer(std::string_view content) const {
    check_marks(kAnswer, content, chat_.style);
    require(!content_text(content, chat_.style).empty(), "the assistant's answer is empty");
    require(!ends_at_line_ || content.find('\n') == content.npos,
            "the assistant's answer has a line break, which ends answers here because the "
            "vocabulary has no end of text");
}

void ChatEncoder::add(const ChatMessage& message, Writer& to) const {
    check(message);
    const ChatForm& form = form_of(chat_.style);
    const std::string_view content = content_text(message.content, chat_.style);
    to.text(header_of(message.role, chat_.style));
    if (message.role != kAnswer) {
        to.text(content);
        to.text(form.after_text);
        return;
    }
    const bool plain = chat_.style == ChatStyle::plain;
    to.answer(plain ? fmt::format(" {}", content) : std::string(content), end_, message.is_learned);
    to.text(form.after_answer);
}

void ChatEncoder::add_all(std::span<const ChatMessage> messages, Writer& to) const {
    to.text(form_of(chat_.style).beginning);
    const bool has_system = !messages.empty() && messages.front().role == kSystem;
    if (!has_system && !chat_.system.empty()) add({std::string(kSystem), chat_.system}, to);
    for (std::size_t i = 0; i < messages.size(); ++i) {
        require(i == 0 || messages[i].role != kSystem,
                "message {}: a system message must be the "
                "first",
                i + 1);
        add(messages[i], to);
    }
}

ChatTokens ChatEncoder::encode(std::span<const ChatMessage> messages) const {
    bool has_answer = false;
    const auto is_target = [](const ChatMessage& one) {
        return one.role == kAnswer && one.is_learned;
    };
    while (!messages.empty() && !is_target(messages.back())) {  // nothing follows to learn
        check(messages.back());
        has_answer = has_answer || messages.back().role == kAnswer;
        messages = messages.first(messages.size() - 1);
    }
    require(!messages.empty(), "{}, so there is nothing to learn",
            has_answer ? "all of the assistant's messages have the weight 0"
                       : "no message is the assistant's");
    for (const ChatMessage& message : messages) {
        if (message.role == kAnswer) check_answer(message.content);
    }
    Writer writer(tokenizer_);
    add_all(messages, writer);
    return std::move(writer.tokens);
}

ChatTokens ChatEncoder::encode(std::string_view prompt, std::string_view completion) const {
    check_answer(completion);
    Writer writer(tokenizer_);
    writer.text(form_of(chat_.style).beginning);
    writer.text(prompt);
    writer.flush();
    tokenizer_.begin_text(writer.tokens.ids);
    if (writer.tokens.ids.empty()) writer.tokens.ids.push_back(tokenizer_.beginning());
    writer.tokens.is_target.resize(writer.tokens.ids.size());
    writer.answer(completion, end_);
    return std::move(writer.tokens);
}

Ids ChatEncoder::prompt(std::span<const ChatMessage> messages) const {
    Writer writer(tokenizer_);
    add_all(messages, writer);
    writer.text(header_of(std::string(kAnswer), chat_.style));
    writer.flush();
    return std::move(writer.tokens.ids);
}

}  // namespace tapestry
