#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/chat/jinja_functions.h>
#include <tapestry/nn/chat/jinja_parser.h>

#include <fmt/core.h>

#include <algorithm>

namespace tapestry::jinja {
namespace {

using Kind = Token::Kind;

Expression constant(Value value) {
    return [value = std::move(value)](Context&) { return value; };
}

Expression binary(Expression a, Expression b, Operator f) {
    return [a = std::move(a), b = std::move(b), f](Context& context) {
        const Value left = a(context);
        return f(left, b(context));
    };
}

// The first of these operators, if it comes next; it is taken. Otherwise nullptr.
Operator take_operator(TokenReader& from, std::initializer_list<const char*> signs) {
    for (const char* sign : signs) {
        if (from.take_if(sign)) return find_operator(sign);
    }
    return nullptr;
}

Operator take_comparison(TokenReader& from) {
    if (from.next().is("not") && from.after_next().is("in")) {
        from.take();
        from.take();
        return find_operator("not in");
    }
    return take_operator(from, {"==", "!=", "<=", ">=", "<", ">", "in"});
}

Value called(const Value& function, const Arguments& with, Context& context) {
    require<JinjaError>(function.if_function() != nullptr, "{} cannot be called", function.type());
    context.count_step();
    return (*function.if_function())(with);
}

// ---- the parser ---------------------------------------------------------------------------------

// By precedence, the weakest first.
class ExpressionParser {
public:
    explicit ExpressionParser(TokenReader& from) : from_(from) {}

    Expression conditional() {
        Expression all = either();
        while (from_.take_if("if")) {
            count();
            Expression condition = either();
            Expression otherwise = from_.take_if("else")
                                       ? conditional()
                                       : constant(Undefined{"the value without else"});
            all = [condition = std::move(condition), yes = std::move(all),
                   no = std::move(otherwise)](Context& context) {
                return condition(context).truth() ? yes(context) : no(context);
            };
        }
        return all;
    }

    Expression either() {
        Expression all = both();
        while (from_.take_if("or")) {
            count();
            all = [a = std::move(all), b = both()](Context& context) {
                Value first = a(context);
                return first.truth() ? first : b(context);
            };
        }
        return all;
    }

    Expression filtered(Expression input) {
        count();
        const std::string name = from_.name();
        const Filter* filter = find_filter(name);
        if (filter == nullptr)
            from_.refuse(fmt::format("the filter {} is not supported", utf8::quoted(name)));
        Call call = from_.next().is("(") ? parse_call(from_) : Call();
        return [input = std::move(input), filter, call = std::move(call)](Context& context) {
            const Value value = input(context);
            return (*filter)(value, call.values(context));
        };
    }

private:
    void count() { from_.count_operator(); }

    Expression both() {
        Expression all = negation();
        while (from_.take_if("and")) {
            count();
            all = [a = std::move(all), b = negation()](Context& context) {
                Value first = a(context);
                return first.truth() ? b(context) : first;
            };
        }
        return all;
    }

    Expression negation() {
        if (!from_.take_if("not")) return comparison();
        count();
        return [a = negation()](Context& context) { return Value(!a(context).truth()); };
    }

    // a < b < c is a < b and b < c.
    Expression comparison() {
        Expression first = sums();
        std::vector<std::pair<Operator, Expression>> more;
        while (const Operator f = take_comparison(from_)) {
            count();
            more.emplace_back(f, sums());
        }
        if (more.empty()) return first;
        return [first = std::move(first), more = std::move(more)](Context& context) {
            Value left = first(context), result;
            for (const auto& [f, expression] : more) {
                Value right = expression(context);
                result = f(left, right);
                if (!result.truth()) break;
                left = std::move(right);
            }
            return result;
        };
    }

    using Level = Expression (ExpressionParser::*)();

    // Operators of one precedence, from left to right.
    Expression level(Level inner, std::initializer_list<const char*> signs) {
        Expression all = (this->*inner)();
        while (const Operator f = take_operator(from_, signs)) {
            count();
            all = binary(std::move(all), (this->*inner)(), f);
        }
        return all;
    }

    Expression sums() { return level(&ExpressionParser::joins, {"+", "-"}); }
    Expression joins() { return level(&ExpressionParser::products, {"~"}); }
    Expression products() { return level(&ExpressionParser::unary, {"*", "//", "/", "%"}); }

    Expression unary() { return filters_and_tests(signed_value()); }

    Expression signed_value() {
        if (from_.take_if("-")) {
            count();
            return [a = signed_value()](Context& context) { return negative(a(context)); };
        }
        if (from_.take_if("+")) {
            count();
            return signed_value();
        }
        return followed(primary());
    }

    Expression filters_and_tests(Expression value) {
        for (;;) {
            if (from_.take_if("|")) {
                value = filtered(std::move(value));
            } else if (from_.take_if("is")) {
                value = tested(std::move(value));
            } else if (from_.next().is("(")) {
                value = followed(std::move(value));
            } else {
                return value;
            }
        }
    }

    // value is [not] test [argument]
    Expression tested(Expression value) {
        count();
        const bool negates = from_.take_if("not");
        const std::string name = from_.name();
        const Test* test = find_test(name);
        if (test == nullptr)
            from_.refuse(fmt::format("the test {} is not supported", utf8::quoted(name)));
        Call call;
        const Token& next = from_.next();
        const bool is_word = next.is("else") || next.is("or") || next.is("and") || next.is("is") ||
                             next.is("if") || next.is("in") || next.is("not");
        if (next.is("(")) {
            call = parse_call(from_);
        } else if (next.kind == Kind::string || next.kind == Kind::integer ||
                   next.kind == Kind::real || next.is("[") || next.is("{") ||
                   (next.kind == Kind::name && !is_word)) {
            call.positional.push_back(followed(primary()));
        }
        return [value = std::move(value), test, negates, call = std::move(call)](Context& context) {
            const Value tested_value = value(context);
            return Value((*test)(tested_value, call.values(context)) != negates);
        };
    }

    // .name, [index], [from:to], (arguments)
    Expression followed(Expression value) {
        for (;;) {
            if (from_.take_if(".")) {
                count();
                Expression name = constant(Value(from_.take().text));
                value = binary(std::move(value), std::move(name), item);
            } else if (from_.take_if("[")) {
                count();
                value = subscripted(std::move(value));
            } else if (from_.next().is("(")) {
                count();
                value = [f = std::move(value), call = parse_call(from_)](Context& context) {
                    const Value function = f(context);
                    return called(function, call.values(context), context);
                };
            } else {
                return value;
            }
        }
    }

    Expression subscripted(Expression value) {
        std::vector<Expression> parts{constant(None())};
        bool is_slice = false;
        while (!from_.take_if("]")) {
            if (from_.take_if(":")) {
                is_slice = true;
                parts.push_back(constant(None()));
            } else {
                parts.back() = conditional();
            }
        }
        if (!is_slice) return binary(std::move(value), std::move(parts[0]), item);
        if (parts.size() > 3) from_.refuse("a slice of four parts");
        parts.resize(3, constant(None()));
        return [value = std::move(value), parts = std::move(parts)](Context& context) {
            const Value whole = value(context);
            return slice(whole, parts[0](context), parts[1](context), parts[2](context));
        };
    }

    Expression primary() {
        Token token = from_.take();
        switch (token.kind) {
            case Kind::string: {
                while (from_.next().kind == Kind::string) token.text += from_.take().text;
                return constant(std::move(token.text));
            }
            case Kind::integer: return constant(integer(token.text));
            case Kind::real: return constant(number_in(token.text));
            case Kind::name: return named(token.text);
            default: break;
        }
        if (token.is("(")) return tuple();
        if (token.is("[")) return list("]");
        if (token.is("{")) return dictionary();
        from_.refuse(token.text.empty()
                         ? "a tag that ends too soon"
                         : fmt::format("{} in front of a value", utf8::quoted(token.text)));
    }

    Value integer(const std::string& text) const {
        std::int64_t number = 0;
        for (const char digit : text) {
            if (__builtin_mul_overflow(number, 10, &number) ||
                __builtin_add_overflow(number, digit - '0', &number)) {
                from_.refuse(fmt::format("the number {}, beyond 64 bits", text));
            }
        }
        return number;
    }

    static Expression named(const std::string& name) {
        if (name == "true" || name == "True") return constant(true);
        if (name == "false" || name == "False") return constant(false);
        if (name == "none" || name == "None") return constant(None());
        return [name](Context& context) { return context.get(name); };
    }

    // A value in brackets, or several.
    Expression tuple() {
        if (from_.take_if(")")) return constant(List());
        count();
        Expression first = conditional();
        if (from_.take_if(")")) return first;
        std::vector<Expression> all;
        all.push_back(std::move(first));
        while (from_.take_if(",") && !from_.next().is(")")) all.push_back(conditional());
        from_.need(")");
        return of_list(std::move(all));
    }

    Expression list(std::string_view end) {
        count();
        std::vector<Expression> all;
        while (!from_.take_if(end)) {
            if (!all.empty()) from_.need(",");
            if (from_.take_if(end)) break;
            all.push_back(conditional());
        }
        return of_list(std::move(all));
    }

    static Expression of_list(std::vector<Expression> all) {
        return [all = std::move(all)](Context& context) {
            List values;
            for (const Expression& one : all) values.push_back(one(context));
            return Value(std::move(values));
        };
    }

    Expression dictionary() {
        count();
        std::vector<std::pair<Expression, Expression>> all;
        while (!from_.take_if("}")) {
            if (!all.empty()) from_.need(",");
            if (from_.take_if("}")) break;
            Expression name = conditional();
            from_.need(":");
            all.emplace_back(std::move(name), conditional());
        }
        return [all = std::move(all)](Context& context) {
            Members members;
            for (const auto& [name, value] : all) {
                const std::string key = name(context).text();
                std::erase_if(members, [&key](const auto& one) { return one.first == key; });
                members.emplace_back(key, value(context));
            }
            return Value(std::move(members));
        };
    }

    TokenReader& from_;
};

}  // namespace

Expression parse_expression(TokenReader& from, bool with_condition) {
    return with_condition ? ExpressionParser(from).conditional() : ExpressionParser(from).either();
}

Expression parse_filter(TokenReader& from, Expression input) {
    return ExpressionParser(from).filtered(std::move(input));
}

Call parse_call(TokenReader& from) {
    Call call;
    from.need("(");
    while (!from.take_if(")")) {
        if (!call.positional.empty() || !call.named.empty()) from.need(",");
        if (from.take_if(")")) break;
        if (from.next().kind == Kind::name && from.after_next().is("=")) {
            std::string name = from.name();
            from.need("=");
            call.named.emplace_back(std::move(name), parse_expression(from));
        } else {
            call.positional.push_back(parse_expression(from));
        }
    }
    return call;
}

Arguments Call::values(Context& context) const {
    Arguments all;
    for (const Expression& one : positional) all.positional.push_back(one(context));
    for (const auto& [name, one] : named) all.named.emplace_back(name, one(context));
    return all;
}

}  // namespace tapestry::jinja
