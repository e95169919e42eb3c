// JsonHandler: receives a JSON text value by value, in the order of the text, without a tree in
// memory: members in their order, and names that come twice. Internal to Tapestry. The source is
// json_tree.cpp, the only object of the library that compiles nlohmann-json. Read next:
// json_tree.h.
#pragma once

#include <tapestry/core/text/json_tree.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tapestry {

/// A text that is not JSON, or that holds a number too large for a double.
class JsonSyntaxError : public JsonError {
public:
    JsonSyntaxError(const std::string& message, std::size_t place, std::string broken);

    std::size_t byte;  ///< counted from 1
    std::string rule;  ///< the parser's words: what it expected and what it found
};

/// What handle_json calls. An exception ends the reading and reaches the caller of handle_json.
class JsonHandler {
public:
    virtual ~JsonHandler() = default;

    virtual void null() = 0;
    virtual void boolean(bool value) = 0;
    virtual void number(std::uint64_t value) = 0;           ///< without a sign
    virtual void negative_number(std::int64_t value) = 0;   ///< with a minus sign; also -0
    virtual void real_number(const std::string& text) = 0;  ///< all others, as written
    virtual void string(const std::string& value) = 0;
    virtual void begin_array() = 0;
    virtual void end_array() = 0;
    virtual void begin_object() = 0;
    virtual void name(const std::string& name) = 0;  ///< of the member whose value comes next
    virtual void end_object() = 0;
};

/// Reads `text` to its end. Nesting has no limit here: the handler sets it. Throws JsonSyntaxError.
void handle_json(std::string_view text, JsonHandler& handler);

}  // namespace tapestry
