// From conversations to a model's ids: the template writes the text, and the encoder finds the
// answers in it. Read next: chat_examples.h, conversations to learn from; nn/generate/chat.h, which
// answers.
#pragma once

#include <tapestry/nn/chat/chat_template.h>
#include <tapestry/nn/chat/jinja.h>
#include <tapestry/nn/chat/jinja_value.h>
#include <tapestry/nn/data/tokenizer.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

/// A message of a conversation.
struct ChatMessage {
    std::string role;        ///< "system", "user" or "assistant", or another that the template has
    std::string content;     ///< its text
    bool is_learned = true;  ///< if it is the assistant's; false: only read
    /// false: the template gets none instead of a text, as for a message that only calls tools.
    bool has_content = true;
    jinja::Members more = {};  ///< what else the template gets: "tool_calls", "name", ...
};

/// Tokens, and which of them a model learns to write.
struct ChatTokens {
    std::vector<std::int64_t> ids;        ///< of the whole conversation
    std::vector<std::uint8_t> is_target;  ///< 1 for those of an answer and its end
};

/// Writes conversations in a template's form as a tokenizer's ids.
///
/// An answer begins where the template asks for one (add_generation_prompt) after the messages
/// before it, and ends with its first token behind the content: what a model writes when it
/// answers, with an empty block of thoughts if the template writes one there. Templates of models
/// that think may ask with the beginning of a thought and write answers without thoughts: such an
/// answer begins behind what both have, the role. Calls of tools are a part of an answer, which
/// then ends with its token behind the last call. A conversation that begins with an answer has no
/// messages before it; this answer begins behind what the template asks with after a user's
/// message. If a template has {% generation %}, only answers inside of it are learned. Text and
/// answers are encoded separately, so a token never covers the end of a prompt and the beginning of
/// its answer.
class ChatEncoder {
public:
    /// The tokenizer must outlive it. Throws ValueError for a program that is not supported or
    /// fails, if it leaves out with_system()'s message, and if the vocabulary lacks the token that
    /// it ends answers with.
    ChatEncoder(ChatTemplate chat, const Tokenizer& tokenizer);

    const ChatTemplate& chat() const { return chat_; }  ///< its template

    /// The id that ends an answer.
    std::int64_t end() const { return end_; }
    /// Ids after which an answer is over: the end, the template's other marks, the end of text, and
    /// those that the model's directory declares.
    const std::vector<std::int64_t>& ends() const { return ends_; }
    /// Whether the template writes a blank in front of answers.
    bool begins_with_blank() const { return begins_with_blank_; }

    /// A conversation up to its last answer to learn; the template gets these variables, such as
    /// "tools". Throws ValueError for a role that is not known or a system message that is not the
    /// first; for a content, a call or tools with a mark of the template; for an answer that is
    /// empty, or has a line break if that is the end; for messages without an answer to learn; and
    /// if the template refuses them, leaves the tools, another variable, a message or its calls
    /// out, or writes an answer otherwise than it asks for it.
    ChatTokens encode(std::span<const ChatMessage> messages,
                      const jinja::Members& variables = {}) const;

    /// A text and its continuation, neither with any mark but the end. Throws as encode() does.
    ChatTokens encode(std::string_view prompt, std::string_view completion) const;

    /// A conversation up to where the next answer begins. Throws as encode() does for the
    /// messages of the user; earlier answers may be anything.
    std::vector<std::int64_t> prompt(std::span<const ChatMessage> messages) const;

private:
    struct Conversation {
        std::span<const ChatMessage> messages;
        const jinja::Members& variables;
        Conversation first(std::size_t count) const { return {messages.first(count), variables}; }
    };
    // Where an answer and its end are in a text.
    struct Answer {
        std::size_t begin, end;
        bool is_learned;
    };
    class Writer;

    // What {% generation %} wrote in a text.
    struct Part {
        std::size_t begin, end;
    };

    std::string run(const jinja::Program& program, const Conversation& from, bool asks,
                    bool marks_generation = false) const;
    std::string written(const Conversation& from, bool asks) const {
        return run(program_, from, asks);
    }
    std::string header_of_answers() const;
    std::optional<std::string> question() const;
    std::size_t begin_of_first(const std::string& text, const Conversation& from, bool asks) const;
    std::size_t begin_behind_role(const std::string& asked, const Conversation& from, std::size_t i,
                                  bool asks) const;
    std::vector<Part> generated(const std::string& text, const Conversation& from) const;
    bool is_generated(const std::vector<Part>& parts, const Answer& answer, std::size_t i) const;
    Answer find(const std::string& text, const Conversation& from, std::size_t i, bool asks) const;
    std::size_t end_of_content(const std::string& text, std::size_t begin, const Conversation& from,
                               std::size_t i, bool asks) const;
    std::size_t end_of_calls(const std::string& text, std::size_t begin, const Conversation& from,
                             std::size_t i, bool asks) const;
    void add(const Conversation& from, bool asks, Writer& to) const;
    void find_end(std::string_view behind_answer);
    void find_marks(std::string_view text);
    void check_system() const;
    void check_variables(const Conversation& from) const;
    void check_is_written(const std::string& text, const Conversation& from, std::size_t i,
                          bool asks) const;
    void check(std::span<const ChatMessage> messages) const;
    void check_calls(const ChatMessage& message, std::size_t i) const;
    void check_marks(std::string_view what, std::string_view text) const;
    void check_answer(std::string_view content) const;
    void check_answer(const ChatMessage& message) const;

    ChatTemplate chat_;
    jinja::Program program_;
    const Tokenizer& tokenizer_;
    std::string header_;  // what asks for an answer if the template itself does not
    std::optional<std::string> question_;  // what does behind a user's message, if that is known
    std::int64_t end_ = 0;
    std::string end_text_;
    std::vector<std::string> marks_;  // tokens of the template, which contents may not have
    std::vector<std::int64_t> ends_;
    bool ends_at_line_ = false;  // the end is a line break
    bool begins_with_blank_ = false;
};

}  // namespace tapestry
