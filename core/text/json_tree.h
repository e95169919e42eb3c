// Reads JSON: as a tree whose values are requested with the type that they must have, or value by
// value, for texts that need no tree (JsonHandler, at the end). Internal to Tapestry. json_tree.cpp
// is the only object of the library that compiles nlohmann-json, which takes seconds.
//
//     const JsonTree tree(text);
//     const auto step = tree.root().get<std::int64_t>("step");
//     for (const JsonNode& group : tree.root().at("groups").elements()) ...
//
// Read next: nn/io/config_file.h, for the settings in a file; json_writer.h, the opposite
// direction.
#pragma once

#include <tapestry/core/error.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapestry {

/// A text is not JSON, or its contents are not as required.
class JsonError : public ValueError {
public:
    using ValueError::ValueError;
};

enum class JsonKind { null, boolean, number, string, array, object };

/// "null", "boolean", "number", "string", "array", "object".
std::string_view name_of(JsonKind kind);

/// One value in a JsonTree, which must outlive it. Throws JsonError for anything that is not as
/// requested.
class JsonNode {
public:
    JsonKind kind() const;
    bool is(JsonKind wanted) const { return kind() == wanted; }
    /// For messages: the value itself, or "array" or "object".
    std::string shown() const;
    /// The value as JSON, on one line.
    std::string text() const;

    /// The member `name`; nullopt if there is none, or if this is not an object.
    std::optional<JsonNode> find(const std::string& name) const;
    JsonNode at(const std::string& name) const;
    std::vector<std::pair<std::string, JsonNode>> members() const;
    std::vector<JsonNode> elements() const;

    /// T is bool, std::int64_t, std::uint64_t, double, std::string or a vector of std::int64_t, of
    /// double or of std::string.
    template <class T>
    T get() const;
    /// Whether get<T>() returns a value.
    template <class T>
    bool holds() const;
    /// The member `name`.
    template <class T>
    T get(const std::string& name) const;
    /// The member `name`, a count: 0 or more, and small enough that the sum of two does not
    /// overflow.
    std::int64_t count(const std::string& name) const;

private:
    friend class JsonTree;
    explicit JsonNode(const void* value) : value_(value) {}

    const void* value_;  // nlohmann's
};

/// A JSON document, which is destroyed without allocating memory. (nlohmann's destructor moves
/// children to a list because deep trees might overflow the stack; if there is no
/// memory for the list, it terminates the process. Trees here are shallow: they are dismantled from
/// the leaves, and only levels deeper than any file of ours are left to nlohmann. It is not an
/// ordered_json, which copies and destroys all its members whenever it grows: json_writer.h writes
/// text that needs an order.)
class JsonTree {
public:
    /// Throws JsonError: "not JSON: error at byte 7"; also for a name that occurs twice in the
    /// outermost object, where a tree would keep the last, and for a text nested deeper than 100
    /// levels, because copying or printing such a tree would overflow the stack.
    explicit JsonTree(std::string_view text);
    /// Copies `node` and everything below it.
    explicit JsonTree(const JsonNode& node);
    ~JsonTree();
    JsonTree(const JsonTree&) = delete;
    JsonTree& operator=(const JsonTree&) = delete;

    JsonNode root() const;

private:
    struct Root;
    std::unique_ptr<Root> root_;
};

/// `text` as a JSON string, with quotes. Bytes that are not UTF-8 become U+FFFD.
std::string json_text(std::string_view text);

// ---- value by value -----------------------------------------------------------------------------

/// A text that is not JSON, or that holds a number too large for a double.
class JsonSyntaxError : public JsonError {
public:
    JsonSyntaxError(const std::string& message, std::size_t place, std::string broken);

    std::size_t byte;  ///< counted from 1
    std::string rule;  ///< in the parser's words: what it expected and what it found
};

/// Receives a JSON text value by value, in the order of the text, without a tree in memory: members
/// in their order, including names that occur twice. handle_json calls it; an exception ends the
/// parsing and reaches the caller of handle_json.
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
    virtual void name(const std::string& name) = 0;  ///< of the member whose value follows
    virtual void end_object() = 0;
};

/// Parses `text` to its end. The nesting is unlimited here: the handler limits it. Throws
/// JsonSyntaxError.
void handle_json(std::string_view text, JsonHandler& handler);

}  // namespace tapestry
