// The token that a tokenizer.json puts before each text: "post_processor", of which only the tokens
// before the text count here. Internal to nn. Read next: json_tokenizer.h.
#pragma once

#include <tapestry/core/text/json_tree.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tapestry {

/// The id that the templates of a tokenizer.json put before a single text; none without templates.
/// Throws ValueError, naming `what`, for more than one, and JsonError for an ill-formed template.
std::optional<std::int64_t> first_id_in(const JsonNode& root, const std::string& what);

/// A token of a post-processor's template.
struct TemplateToken {
    std::string text;     ///< "<s>"
    std::int64_t id = 0;  ///< its id
};

/// The tokenizer.json whose templates begin with this token only or, if it is empty, with none; the
/// tokens after the text stay. The order of names may change. Throws JsonError for invalid JSON.
std::string with_first_token(std::string_view json, const std::optional<TemplateToken>& first);

}  // namespace tapestry
