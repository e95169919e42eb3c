// Conversations, and prompts with their completions, from a file of JSON Lines: what a language
// model is fine-tuned on. Read next: chat_encoder.h, how they are written for a model;
// nn/train/chat/chat_task.h, which trains one.
#pragma once

#include <tapestry/nn/chat/chat_encoder.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

/// A line of the file.
struct ChatExample {
    bool is_chat = false;                    ///< a conversation, or a prompt
    std::vector<ChatMessage> messages = {};  ///< of a conversation
    jinja::Members variables = {};           ///< what else its template gets: "tools", ...
    std::string prompt = {};                 ///< a text
    std::string completion = {};             ///< and its continuation
    std::int64_t line = 0;                   ///< in the file, counted from 1
};

/// The examples of a file, in its order.
struct ChatExamples {
    std::string file;                   ///< its name, for messages
    std::vector<ChatExample> examples;  ///< in order
    std::string hash;                   ///< XXH3 of the file
};

/// Reads a file whose lines are objects of one of these forms, and skips empty lines:
///   {"messages": [{"role": "user", "content": "..."}, {"role": "assistant", "content": "..."}]}
///   {"prompt": "...", "completion": "..."}
/// The prompt and the completion may also be two lists of messages: one conversation, of which only
/// the completion is learned. A content may be a list of parts, {"type": "text", "text": "..."},
/// which are joined. A message may have a "weight", 0 (ChatMessage::is_learned) or 1; its other
/// members are ChatMessage::more. An assistant's message with "tool_calls" may lack a content. A
/// conversation may have "tools", a list of functions or its text in JSON, and
/// "chat_template_kwargs", other variables of the template. "functions" and
/// "function_call" must be null or empty. Other members are ignored, and so are those that are
/// null. Throws IoError as read_text does; with file and line, for a line of another form or with a
/// message without role or content; and for a file without examples.
ChatExamples read_chat_examples(const std::filesystem::path& file);

/// The example's tokens. Throws IoError, with file and line where ChatEncoder::encode() throws.
ChatTokens encoded(const ChatExamples& from, const ChatExample& example,
                   const ChatEncoder& encoder);

/// At most `most` tokens, two or more. A longer example keeps its beginning or, if no answer begins
/// there, the tokens around the beginning of its first answer, half of them before it: so it always
/// has a target behind its first token. Returns whether it was cut.
bool cut_to(ChatTokens& tokens, std::int64_t most);

/// What comes before the first answer: examples with equal ones are not split between training and
/// validation.
std::string question_of(const ChatExample& example);

}  // namespace tapestry
