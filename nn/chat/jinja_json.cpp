#include <tapestry/nn/chat/jinja_value.h>

#include <tapestry/core/text/json_tree.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/chat/jinja_functions.h>

#include <fmt/core.h>

#include <set>
#include <utility>

namespace tapestry::jinja {
namespace {

class JsonText {
public:
    explicit JsonText(std::int64_t indent) : indent_(indent) {}

    std::string of(const Value& value, int depth = 0) const {
        if (const auto* text = value.if_is<std::string>()) return json_text(*text);
        if (const auto* truth = value.if_is<bool>()) return *truth ? "true" : "false";
        if (value.is_none()) return "null";
        if (value.is_number()) return value.text();
        std::vector<std::string> parts;
        if (const List* list = value.if_list()) {
            for (const Value& one : *list) parts.push_back(of(one, depth + 1));
            return joined(parts, '[', ']', depth);
        }
        const Members* members = value.if_members();
        require<JinjaError>(members != nullptr, "tojson: {} has no form in JSON", value.type());
        for (const auto& [name, one] : *members) {
            parts.push_back(fmt::format("{}: {}", json_text(name), of(one, depth + 1)));
        }
        return joined(parts, '{', '}', depth);
    }

private:
    std::string joined(const std::vector<std::string>& parts, char open, char close,
                       int depth) const {
        std::string text(1, open);
        const auto line = [&](std::int64_t level) {
            if (indent_ < 0) return;
            text += '\n';
            text.append(static_cast<std::size_t>(indent_ * level), ' ');
        };
        for (std::size_t i = 0; i < parts.size(); ++i) {
            if (i > 0) text += indent_ < 0 ? ", " : ",";
            line(depth + 1);
            text += parts[i];
        }
        if (!parts.empty()) line(depth);
        return checked(text + close);
    }

    std::int64_t indent_;
};

// The opposite: values from the innermost outwards.
class JsonValues final : public JsonHandler {
public:
    void null() override { add(None()); }
    void boolean(bool value) override { add(value); }
    void number(std::uint64_t value) override {
        constexpr auto kMost = static_cast<std::uint64_t>(INT64_MAX);
        if (value > kMost) refuse_number(std::to_string(value));
        add(static_cast<std::int64_t>(value));
    }
    void negative_number(std::int64_t value) override { add(value); }
    void real_number(const std::string& text) override {
        if (text.find_first_of(".eE") == text.npos) refuse_number(text);
        add(number_in(text));
    }
    void string(const std::string& value) override { add(value); }
    void begin_array() override { open(); }
    void end_array() override {
        List list = std::move(open_.back().list);
        open_.pop_back();
        add(std::move(list));
    }
    void begin_object() override { open(); }
    void name(const std::string& name) override {
        require<JsonError>(open_.back().names.insert(name).second, "duplicate key {}",
                           utf8::quoted(name));
        open_.back().name = name;
    }
    void end_object() override {
        Members members = std::move(open_.back().members);
        open_.pop_back();
        add(std::move(members));
    }

    Value root;

private:
    // An array or object without its end. A value belongs to the members if a name came before it.
    struct Open {
        List list;
        Members members;
        std::string name;
        std::set<std::string> names;
    };

    // Rounded, it would be written as another number.
    [[noreturn]] static void refuse_number(const std::string& text) {
        fail<JsonError>("the integer {} is beyond 64 bits", utf8::printable(text));
    }
    void open() {
        require<JsonError>(open_.size() < kMostLevels, "nested deeper than {} levels", kMostLevels);
        open_.emplace_back();
    }
    void add(Value value) {
        if (open_.empty()) {
            root = std::move(value);
        } else if (Open& to = open_.back(); to.names.empty()) {
            to.list.push_back(std::move(value));
        } else {
            to.members.emplace_back(to.name, std::move(value));
        }
    }

    std::vector<Open> open_;
};

}  // namespace

std::string to_json(const Value& value, std::int64_t indent) {
    require<JinjaError>(indent <= kMostLevels, "tojson: an indent of {}", indent);
    return JsonText(indent).of(value);
}

Value from_json(std::string_view text) {
    JsonValues values;
    handle_json(text, values);
    return std::move(values.root);
}

}  // namespace tapestry::jinja
