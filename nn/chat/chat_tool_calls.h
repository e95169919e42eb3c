// Calls of tools in an assistant's message: OpenAI's and Hugging Face's "tool_calls". Internal to
// nn/chat.
#pragma once

#include <tapestry/nn/chat/chat_encoder.h>

#include <string>
#include <string_view>

namespace tapestry {

/// Whether a message has calls.
bool has_tool_calls(const ChatMessage& message);

/// Throws ValueError unless its calls are a list of {"function": {"name": "..."}} or {"name":
/// "..."}; they may have other members.
void check_tool_calls(const ChatMessage& message);

/// The message with `mark` behind the name of its last call.
ChatMessage with_marked_call(ChatMessage message, std::string_view mark);

/// Without the marks.
std::string without_marks(std::string text, std::string_view mark);

}  // namespace tapestry
