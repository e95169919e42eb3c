// Chat templates: how a conversation is written for a language model. Tapestry does not interpret
// the Jinja programs of Hugging Face's directories. It recognises those of two families (ChatML:
// Qwen, SmolLM2; Llama 3) and has a plain form for models without one. Read next: chat_examples.h,
// conversations to learn from; nn/generate/chat.h, which answers.
#pragma once

#include <tapestry/nn/data/tokenizer.h>
#include <tapestry/nn/module/config_fields.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

/// The form of a conversation.
enum class ChatStyle {
    plain,   ///< "User: Hi\nAssistant: Hello", then the end of text
    chatml,  ///< "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello<|im_end|>\n"
    llama3   ///< "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>..."
};

template <>
struct NamesOf<ChatStyle> {
    static constexpr EnumNames<ChatStyle, 3> list{{{ChatStyle::plain, "plain"},
                                                   {ChatStyle::chatml, "chatml"},
                                                   {ChatStyle::llama3, "llama3"}}};
};

/// A form, and the message that begins conversations without a system message.
struct ChatTemplate {
    ChatStyle style = ChatStyle::plain;  ///< how messages are written
    std::string system = {};             ///< empty: none
    bool operator==(const ChatTemplate&) const = default;
};

/// The template that a Jinja program of a directory stands for. Recognised by its
/// marks; its default system message is found in the text. Throws ValueError, naming what it found,
/// for another one and for those that write the date (Llama 3.1).
ChatTemplate recognised_template(std::string_view jinja);

/// The style of this name. Throws ValueError, with the names there are, for another one.
ChatStyle chat_style_of(std::string_view name);

/// A program in Jinja for transformers that writes the same.
std::string jinja_of(const ChatTemplate& chat);

/// A message of a conversation.
struct ChatMessage {
    std::string role;        ///< "system", "user" or "assistant"
    std::string content;     ///< its text
    bool is_learned = true;  ///< if it is the assistant's; false: only read
};

/// Tokens, and which of them a model learns to write.
struct ChatTokens {
    std::vector<std::int64_t> ids;        ///< of the whole conversation
    std::vector<std::uint8_t> is_target;  ///< 1 for those of an answer and its end
};

/// Writes conversations in a template's form as a tokenizer's ids.
///
/// Text and answers are encoded separately, as they are when the model answers: a token never
/// covers the end of a prompt and the beginning of its answer.
class ChatEncoder {
public:
    /// The tokenizer must outlive it. Throws ValueError if the vocabulary lacks a mark of the
    /// template.
    ChatEncoder(ChatTemplate chat, const Tokenizer& tokenizer);

    const ChatTemplate& chat() const { return chat_; }  ///< its template

    /// The id that ends an answer.
    std::int64_t end() const { return end_; }
    /// Ids after which an answer is over: the end, the template's other marks, the end of text, and
    /// those that the model's directory declares.
    const std::vector<std::int64_t>& ends() const { return ends_; }

    /// A conversation, with the template's system message if it has none. Throws ValueError for a
    /// role that is not known or a system message that is not the first; for a content with a
    /// mark of the template; for an answer that is empty, or has a line break if that is the end;
    /// and for messages without an answer to learn.
    ChatTokens encode(std::span<const ChatMessage> messages) const;

    /// A text and its continuation, neither with any mark but the end. Throws as encode() does.
    ChatTokens encode(std::string_view prompt, std::string_view completion) const;

    /// A conversation up to where the next answer begins. Throws as encode() does for the
    /// messages of the user; earlier answers may be anything.
    std::vector<std::int64_t> prompt(std::span<const ChatMessage> messages) const;

private:
    class Writer;

    void check(const ChatMessage& message) const;
    void check_answer(std::string_view content) const;
    void add(const ChatMessage& message, Writer& to) const;
    void add_all(std::span<const ChatMessage> messages, Writer& to) const;

    ChatTemplate chat_;
    const Tokenizer& tokenizer_;
    std::int64_t end_ = 0;
    std::vector<std::int64_t> ends_;
    bool ends_at_line_ = false;  // the end is a line break
};

}  // namespace tapestry
