// A JSON text read: as a tree, each value asked for with the type it must have, or value by value,
// for texts whose tree nobody needs (JsonHandler, at the end). Internal to Tapestry.
// json_tree.cpp is the only object of the library that compiles nlohmann-json, which takes seconds.
//
//     const JsonTree tree(text);
//     const auto step = tree.root().get<std::int64_t>("step");
//     for (const JsonNode& group : tree.root().at("groups").elements()) ...
//
// Read next: nn/io/config_file.h, for the settings of a file; json_writer.h, the other way round.
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

/// What is wrong with a JSON text, or with what stands in it.
class JsonError : public ValueError {
public:
    using ValueError::ValueError;
};

enum class JsonKind { null, boolean, number, string, array, object };

/// "null", "boolean", "number", "string", "array", "object".
std::string_view name_of(JsonKind kind);

/// One place in a JsonTree, which outlives it. What is not as asked for is a JsonError.
class JsonNode {
public:
    JsonKind kind() const;
    bool is(JsonKind wanted) const { return kind() == wanted; }
    /// As it may stand in a message: the value itself, but "array" and "object".
    std::string shown() const;
    /// The value as JSON, in one line.
    std::string text() const;

    /// A member of an object; nothing where there is none of that name, or no object.
    std::optional<JsonNode> find(const std::string& name) const;
    JsonNode at(const std::string& name) const;
    std::vector<std::pair<std::string, JsonNode>> members() const;
    std::vector<JsonNode> elements() const;

    /// T is bool, std::int64_t, std::uint64_t, double, std::string or a vector of std::int64_t or
    /// of std::string.
    template <class T>
    T get() const;
    /// Whether get<T>() returns a value.
    template <class T>
    bool holds() const;
    /// The member `name`.
    template <class T>
    T get(const std::string& name) const;
    /// The member `name`, a count: 0 or more, and small enough that the sum of two is a number
    /// still.
    std::int64_t count(const std::string& name) const;

private:
    friend class JsonTree;
    explicit JsonNode(const void* value) : value_(value) {}

    const void* value_;  // nlohmann's
};

/// Destroyed without asking for memory. (nlohmann's destructor puts children on a list of its own,
/// lest deep trees overflow the stack; where there is no memory for the list, it ends the process.
/// Trees here are shallow: they are taken apart from the leaves, and only what is nested deeper
/// than any file of ours is left to nlohmann. Nor is it an ordered_json, which copies and destroys
/// all its members whenever it grows: what is written in order, json_writer.h writes.)
class JsonTree {
public:
    /// Throws JsonError: "not JSON: error at byte 7"; also for a text nested deeper than 100
    /// levels, which copying and printing a tree would overflow the stack for.
    explicit JsonTree(std::string_view text);
    /// A copy of what stands there.
    explicit JsonTree(const JsonNode& node);
    ~JsonTree();
    JsonTree(const JsonTree&) = delete;
    JsonTree& operator=(const JsonTree&) = delete;

    JsonNode root() const;

private:
    struct Root;
    std::unique_ptr<Root> root_;
};

/// Throws JsonError for a name that comes twice in the object that the text is, of which a JsonTree
/// has the last: one thing said twice is two things.
void check_names_once(std::string_view text);

/// `text` as JSON writes it, between quotes. Bytes that are not UTF-8 become U+FFFD.
std::string json_text(std::string_view text);

// ---- value by value -----------------------------------------------------------------------------

/// A text that is not JSON, or that holds a number too large for a double.
class JsonSyntaxError : public JsonError {
public:
    JsonSyntaxError(const std::string& message, std::size_t place, std::string broken);

    std::size_t byte;  ///< counted from 1
    std::string rule;  ///< the parser's words: what it expected and what it found
};

/// Receives a JSON text value by value, in the order of the text, without a tree in memory: members
/// in their order, and names that come twice. handle_json calls it; an exception ends the reading
/// and reaches the caller of handle_json.
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
