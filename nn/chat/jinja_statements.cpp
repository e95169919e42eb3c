#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/chat/jinja.h>
#include <tapestry/nn/chat/jinja_functions.h>
#include <tapestry/nn/chat/jinja_parser.h>

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>

namespace tapestry::jinja {
namespace {

using Kind = Token::Kind;
using Names = std::vector<std::string>;

// Runs `f`; its errors get the line.
template <class F>
auto at_line(std::int64_t line, const F& f) {
    try {
        return f();
    } catch (const JinjaError& error) {
        const std::string text = error.what();
        throw JinjaError(text.starts_with("line ") ? text : fmt::format("line {}: {}", line, text));
    }
}

// One name, or the elements of a list for several.
void assign(Context& context, const Names& names, const Value& value) {
    if (names.size() == 1) return context.set(names[0], value);
    const List all = value.elements();
    require<JinjaError>(all.size() == names.size(), "{} values for {} names", all.size(),
                        names.size());
    for (std::size_t i = 0; i < names.size(); ++i) context.set(names[i], all[i]);
}

Flow run_all(const std::vector<Statement>& all, Context& context, std::string& to) {
    for (const Statement& one : all) {
        const Flow flow = one(context, to);
        if (flow != Flow::next) return flow;
    }
    return Flow::next;
}

void append(std::string& to, const std::string& text) {
    require<JinjaError>(to.size() + text.size() <= kMostText, "more than {} bytes are written",
                        kMostText);
    take_memory(text.size());
    to += text;
}

// The variable `loop` when a loop over `all` is at element i.
Value loop_value(const List& all, std::size_t i) {
    const auto number = [](std::size_t n) { return Value(static_cast<std::int64_t>(n)); };
    Members members{{"index", number(i + 1)},
                    {"index0", number(i)},
                    {"revindex", number(all.size() - i)},
                    {"revindex0", number(all.size() - i - 1)},
                    {"first", i == 0},
                    {"last", i + 1 == all.size()},
                    {"length", number(all.size())}};
    const auto add = [&members](const char* name, const Value& value) {
        if (value.if_namespace() == nullptr) members.emplace_back(name, value);
    };
    if (i > 0) add("previtem", all[i - 1]);
    if (i + 1 < all.size()) add("nextitem", all[i + 1]);
    return members;
}

struct Loop {
    Names names;
    Expression over;
    Expression condition;  // may be empty
    Statement body, otherwise;

    List elements(Context& context) const {
        const List all = over(context).elements();
        if (!condition) return all;
        List some;
        for (const Value& one : all) {
            const Context::Scope scope(context);
            context.count_step();
            assign(context, names, one);
            if (condition(context).truth()) some.push_back(one);
        }
        return some;
    }
    Flow run(Context& context, std::string& to) const {
        const List all = elements(context);
        for (std::size_t i = 0; i < all.size(); ++i) {
            const Context::Scope scope(context);
            context.count_step();
            assign(context, names, all[i]);
            context.set("loop", loop_value(all, i));
            if (body(context, to) == Flow::stops) return Flow::next;
        }
        return all.empty() && otherwise ? otherwise(context, to) : Flow::next;
    }
};

struct Macro {
    std::string name;
    Names names;                        // of its parameters
    std::string parameters;             // the same, as check_arguments() takes them
    std::vector<Expression> otherwise;  // their default values; may be empty functions
    Statement body;

    Value run(const Arguments& from, Context& context) const {
        const Context::Scope scope(context, true);
        check_arguments(name, parameters, from);
        for (std::size_t i = 0; i < names.size(); ++i) {
            const Value missing = otherwise[i] ? otherwise[i](context) : Undefined{names[i]};
            context.set(names[i], from.get(i, names[i], missing));
        }
        std::string text;
        body(context, text);
        return text;
    }
};

class ProgramParser {
public:
    explicit ProgramParser(TokenReader& from) : from_(from) {}
    bool has_generation() const { return has_generation_; }

    Statement program() {
        Statement all = until({});
        if (from_.next().kind != Kind::end) from_.refuse("an end of nothing");
        return all;
    }

private:
    // Statements up to a block that begins with one of these names, which is not taken.
    Statement until(const Names& ends) {
        constexpr int kDeepest = 100;
        if (++depth_ > kDeepest) from_.refuse("blocks of more than 100 levels");
        std::vector<Statement> all;
        while (from_.next().kind != Kind::end) {
            const bool is_block = from_.next().kind == Kind::open_block;
            const std::string& name = from_.after_next().text;
            if (is_block && std::find(ends.begin(), ends.end(), name) != ends.end()) break;
            all.push_back(statement());
        }
        --depth_;
        return [all = std::move(all)](Context& context, std::string& to) {
            return run_all(all, context, to);
        };
    }

    // Takes the block that ended until(), up to its name.
    std::string take_end(const Names& ends) {
        if (from_.next().kind == Kind::end) {
            from_.refuse(fmt::format("the program's end in place of {}", ends.back()));
        }
        from_.take();
        from_.begin_tag();
        return from_.name();
    }
    void close() {
        if (from_.next().kind != Kind::close_block) {
            from_.refuse(utf8::quoted(from_.next().text) + " where %} is needed");
        }
        from_.take();
    }
    // Up to {% end %}.
    Statement body(const char* end) {
        close();
        Statement all = until({end});
        take_end({end});
        close();
        return all;
    }

    Statement statement() {
        const std::int64_t line = from_.next().line;
        Token token = from_.take();
        from_.begin_tag();
        if (token.kind == Kind::text) {
            return [text = std::move(token.text)](Context&, std::string& to) {
                append(to, text);
                return Flow::next;
            };
        }
        if (token.kind == Kind::open_output) {
            Expression value = parse_expression(from_);
            if (from_.next().kind != Kind::close_output) {
                from_.refuse(utf8::quoted(from_.next().text) + " where }} is needed");
            }
            from_.take();
            return [value = std::move(value), line](Context& context, std::string& to) {
                at_line(line, [&] { append(to, value(context).text()); });
                return Flow::next;
            };
        }
        return [inner = block(), line](Context& context, std::string& to) {
            return at_line(line, [&] { return inner(context, to); });
        };
    }

    Statement block() {
        const std::string name = from_.name();
        if (name == "if") return condition();
        if (name == "for") return loop();
        if (name == "set") return setting();
        if (name == "macro") return macro();
        if (name == "filter") return filtered();
        if (name == "generation") return generation();
        if (name == "break" || name == "continue") {
            close();
            const Flow flow = name == "break" ? Flow::stops : Flow::skips;
            return [flow](Context&, std::string&) { return flow; };
        }
        from_.refuse(fmt::format("the block {} is not supported", utf8::quoted(name)));
    }

    Statement generation() {
        has_generation_ = true;
        return [inner = body("endgeneration")](Context& context, std::string& to) {
            if (context.marks_generation()) append(to, std::string(kGenerationBegins));
            const Flow flow = inner(context, to);
            if (context.marks_generation()) append(to, std::string(kGenerationEnds));
            return flow;
        };
    }

    Statement condition() {
        const Names ends{"elif", "else", "endif"};
        std::vector<std::pair<Expression, Statement>> branches;
        for (std::string end = "if"; end != "endif"; end = take_end(ends)) {
            Expression test;
            if (end != "else") test = parse_expression(from_);
            close();
            branches.emplace_back(std::move(test), until(ends));
        }
        close();
        return [branches = std::move(branches)](Context& context, std::string& to) {
            for (const auto& [test, statement] : branches) {
                if (!test || test(context).truth()) return statement(context, to);
            }
            return Flow::next;
        };
    }

    Names names() {
        Names all;
        const bool has_brackets = from_.take_if("(");
        do {
            all.push_back(from_.name());
        } while (from_.take_if(","));
        if (has_brackets) from_.need(")");
        return all;
    }

    Statement loop() {
        Loop all;
        all.names = names();
        from_.need("in");
        all.over = parse_expression(from_, false);
        if (from_.take_if("if")) all.condition = parse_expression(from_);
        if (from_.next().is("recursive")) from_.refuse("a recursive loop is not supported");
        close();
        all.body = until({"else", "endfor"});
        if (take_end({"else", "endfor"}) == "else") {
            close();
            all.otherwise = until({"endfor"});
            take_end({"endfor"});
        }
        close();
        return [all = std::move(all)](Context& context, std::string& to) {
            return all.run(context, to);
        };
    }

    // set a = 1; set a, b = list; set namespace.a = 1; set a ... endset
    Statement setting() {
        Names targets = names();
        if (targets.size() == 1 && from_.take_if(".")) {
            std::string member = from_.name();
            from_.need("=");
            Expression value = parse_expression(from_);
            close();
            return [name = targets[0], member = std::move(member), value = std::move(value)](
                       Context& context, std::string&) {
                context.get(name).set(member, value(context));
                return Flow::next;
            };
        }
        if (from_.take_if("=")) {
            Expression value = listed();
            close();
            return [targets = std::move(targets), value = std::move(value)](Context& context,
                                                                            std::string&) {
                assign(context, targets, value(context));
                return Flow::next;
            };
        }
        Expression value = written("endset");
        return [targets = std::move(targets), value = std::move(value)](Context& context,
                                                                        std::string&) {
            assign(context, targets, value(context));
            return Flow::next;
        };
    }

    // a, b: a list without brackets
    Expression listed() {
        std::vector<Expression> all;
        do {
            all.push_back(parse_expression(from_));
        } while (from_.take_if(","));
        if (all.size() == 1) return std::move(all[0]);
        return [all = std::move(all)](Context& context) {
            List values;
            for (const Expression& one : all) values.push_back(one(context));
            return Value(std::move(values));
        };
    }

    // | filters and then what the block writes, up to `end`, as a value
    Expression written(const char* end) {
        auto text = std::make_shared<Statement>();  // read after its filters
        Expression value = [text](Context& context) {
            const Context::Scope scope(context);
            std::string all;
            (*text)(context, all);
            return Value(std::move(all));
        };
        while (from_.take_if("|")) value = parse_filter(from_, std::move(value));
        *text = body(end);
        return value;
    }

    Statement filtered() {
        auto text = std::make_shared<Statement>();
        Expression value = parse_filter(from_, [text](Context& context) {
            const Context::Scope scope(context);
            std::string all;
            (*text)(context, all);
            return Value(std::move(all));
        });
        while (from_.take_if("|")) value = parse_filter(from_, std::move(value));
        *text = body("endfilter");
        return [value = std::move(value)](Context& context, std::string& to) {
            append(to, value(context).text());
            return Flow::next;
        };
    }

    Statement macro() {
        const std::string name = from_.name();
        auto all = std::make_shared<Macro>();
        all->name = name;
        from_.need("(");
        while (!from_.take_if(")")) {
            if (!all->names.empty()) from_.need(",");
            if (from_.take_if(")")) break;
            all->names.push_back(from_.name());
            all->parameters += " " + all->names.back();
            all->otherwise.push_back(from_.take_if("=") ? parse_expression(from_) : Expression());
        }
        all->body = body("endmacro");
        return [name, all = std::shared_ptr<const Macro>(std::move(all))](Context& context,
                                                                          std::string&) {
            context.set(name, Function([all, &context](const Arguments& from) {
                            return all->run(from, context);
                        }));
            return Flow::next;
        };
    }

    TokenReader& from_;
    int depth_ = 0;
    bool has_generation_ = false;
};

}  // namespace

struct Program::Body {
    Statement statement;
    bool has_generation;
};

Program::Program(std::string_view text) {
    TokenReader tokens(tokens_of(text));
    ProgramParser parser(tokens);
    Statement all = parser.program();
    body_ = std::make_shared<const Body>(Body{std::move(all), parser.has_generation()});
}

bool Program::has_generation() const { return body_->has_generation; }

std::string Program::run(Members variables, bool marks_generation) const {
    Context context(std::move(variables), marks_generation);
    std::string text;
    body_->statement(context, text);
    return text;
}

}  // namespace tapestry::jinja
