// Names and marks with which an encoder tries a template. Internal to nn/chat.
#pragma once

#include <tapestry/nn/chat/jinja_value.h>

#include <cstddef>
#include <string_view>

namespace tapestry {

inline constexpr std::string_view kAnswer = "assistant";  ///< the role of answers

/// At an end of a content, to find it in a text: two private characters.
inline constexpr std::string_view kMark = "\uE0F3\uE0F4";

/// The variables of a conversation that has none of its own.
inline const jinja::Members kNoVariables;

/// The length of <|a mark|>, </s> or [INST] at the beginning; 0: there is none.
std::size_t mark_length(std::string_view text);

}  // namespace tapestry
