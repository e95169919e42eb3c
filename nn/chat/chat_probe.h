// Names and marks with which an encoder tries a template. Internal to nn/chat.
#pragma once

#include <tapestry/nn/chat/jinja_value.h>

#include <string_view>

namespace tapestry {

inline constexpr std::string_view kAnswer = "assistant";  ///< the role of answers

/// At an end of a content, to find it in a text: two private characters.
inline constexpr std::string_view kMark = "\uE0F3\uE0F4";

/// A conversation without tools has these.
inline const jinja::Value kNoTools = jinja::None();

}  // namespace tapestry
