// From the tokens of a program in Jinja to functions that compute it. Internal to nn/chat. Read
// next: jinja_statements.cpp; jinja_expressions.cpp; jinja_functions.h, filters, tests and methods.
#pragma once

#include <tapestry/nn/chat/jinja_tokens.h>
#include <tapestry/nn/chat/jinja_value.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapestry::jinja {

/// The variables of a running program.
class Context {
public:
    explicit Context(Members globals, bool marks_generation = false);

    /// Whether blocks {% generation %} are marked.
    bool marks_generation() const { return marks_generation_; }

    /// The value of a name, innermost first: the program's own, then the language's.
    Value get(const std::string& name) const;
    /// In the innermost scope.
    void set(const std::string& name, Value value);

    /// A scope, while it lives. A macro's sees only the outermost.
    class Scope {
    public:
        explicit Scope(Context& context, bool is_macro = false);
        ~Scope();
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

    private:
        Context& context_;
        std::size_t first_;
    };

    /// Counts a turn of a loop or a call. Throws JinjaError after 200,000.
    void count_step();

private:
    CountedMemory memory_;
    std::vector<Members> frames_;
    bool marks_generation_;
    std::size_t first_ = 1;  // of those that are seen in addition to frame 0
    std::int64_t steps_ = 0;
    std::uintptr_t stack_;  // address of the frame that made it
};

using Expression = std::function<Value(Context& context)>;

/// How a statement ends: as usual, or by break or continue.
enum class Flow { next, stops, skips };

/// Appends what it writes.
using Statement = std::function<Flow(Context& context, std::string& to)>;

/// Reads tokens in order. Its errors have the line.
class TokenReader {
public:
    explicit TokenReader(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

    const Token& next() const { return tokens_[at_]; }
    const Token& after_next() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
    Token take();
    bool take_if(std::string_view sign_or_name);
    void need(std::string_view sign_or_name);
    std::string name();

    [[noreturn]] void refuse(const std::string& what) const;
    /// Counts an operator of the tag; with too many, evaluation would be too deep.
    void count_operator();
    void begin_tag() { operators_ = 0; }

private:
    std::vector<Token> tokens_;
    std::size_t at_ = 0;
    int operators_ = 0;
};

/// An expression. Without a condition, `if` does not belong to it.
Expression parse_expression(TokenReader& from, bool with_condition = true);

/// Names and default values of a macro's parameters, or values of a call: ( ... ).
struct Call {
    std::vector<Expression> positional;
    std::vector<std::pair<std::string, Expression>> named;
    Arguments values(Context& context) const;
};
Call parse_call(TokenReader& from);

/// A filter behind its |, of this input.
Expression parse_filter(TokenReader& from, Expression input);

}  // namespace tapestry::jinja
