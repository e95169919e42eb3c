// A JSON text as a tree that is destroyed without asking for memory. Internal to nn.
//
// nlohmann's destructor puts children on a list of its own, lest deep trees overflow the stack;
// where there is no memory for the list, it ends the process. Trees here are shallow: they are
// taken apart from the leaves, and only what is nested deeper than any file of ours is left to
// nlohmann. Nor is it an ordered_json, which copies and destroys all its members whenever it grows:
// what is written in order, json_writer.h writes.
#pragma once

#include <nlohmann/json.hpp>

#include <string_view>
#include <utility>

namespace tapestry {

class JsonTree {
public:
    using Json = nlohmann::json;

    JsonTree() = default;
    explicit JsonTree(Json root) : root_(std::move(root)) {}
    ~JsonTree() { take_apart(root_, 0); }
    JsonTree(const JsonTree&) = delete;
    JsonTree& operator=(const JsonTree&) = delete;

    /// In place of what it holds; a tree half read goes the same way. Throws nlohmann's exceptions.
    void parse(std::string_view text) {
        nlohmann::detail::json_sax_dom_parser<Json> parser(root_);
        Json::sax_parse(text, &parser);
    }

    Json& root() { return root_; }
    const Json& root() const { return root_; }

private:
    static constexpr int kDepth = 100;

    static void take_apart(Json& tree, int depth) noexcept {
        if (!tree.is_structured() || depth == kDepth) return;
        for (Json& child : tree) take_apart(child, depth + 1);
        tree.clear();
    }

    Json root_;
};

}  // namespace tapestry
