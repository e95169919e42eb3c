#include <tapestry/core/text/unicode.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/chat/jinja_functions.h>

#include <algorithm>

namespace tapestry::jinja {
namespace {

// Python's str.isspace
bool is_space(char32_t code) {
    return (code >= 9 && code <= 13) || (code >= 28 && code <= 32) || code == 0x85 ||
           code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 ||
           code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

bool is_space(std::string_view character) {
    return is_space(utf8::decode("text", character).front());
}

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

std::string lower_case(std::string_view text) {
    std::string all;
    for (const char32_t code : unicode::lower_case(utf8::decode("text", text))) {
        utf8::append(all, code);
    }
    return all;
}

// The first letter of each word, or of the text, and the others small.
std::string capitalized(std::string_view text, bool all_words) {
    std::string all = lower_case(text);
    bool begins = true;
    for (char& c : all) {
        const char changed = upper(c);
        const bool is_letter = changed != c || (c >= 'A' && c <= 'Z') || (c & 0x80) != 0;
        if (begins) c = changed;
        begins = all_words && !is_letter;
    }
    return all;
}

std::string replaced(const std::string& text, const Arguments& from) {
    const std::string old = from.get(0, "old", Undefined{"the text to replace"}).string();
    const std::string by = from.get(1, "new", Undefined{"the replacement"}).string();
    std::int64_t left = from.get(2, "count", std::int64_t{-1}).integer();
    if (old.empty()) return text;
    std::string all;
    std::size_t begin = 0;
    for (std::size_t at = text.find(old); at != text.npos && left != 0; --left) {
        all = checked(std::move(all) + text.substr(begin, at - begin) + by);
        begin = at + old.size();
        at = text.find(old, begin);
    }
    return checked(std::move(all) + text.substr(begin));
}

// At white space, without empty parts.
List words_of(const std::string& text, std::int64_t most) {
    List all;
    std::string word;
    for (const std::string_view c : characters(text)) {
        const bool is_rest = most >= 0 && std::ssize(all) == most && !word.empty();
        if (!is_space(c) || is_rest) {
            word += c;
        } else if (!word.empty()) {
            all.emplace_back(std::exchange(word, {}));
        }
    }
    if (!word.empty()) all.emplace_back(std::move(word));
    return all;
}

List split(const std::string& text, const Arguments& from) {
    const Value between = from.get(0, "sep", None());
    std::int64_t left = from.get(1, "maxsplit", std::int64_t{-1}).integer();
    if (between.is_none()) return words_of(text, left);
    const std::string& sign = between.string();
    require<JinjaError>(!sign.empty(), "split: an empty separator");
    List all;
    std::size_t begin = 0;
    for (std::size_t at = text.find(sign); at != text.npos && left != 0; --left) {
        all.emplace_back(text.substr(begin, at - begin));
        begin = at + sign.size();
        at = text.find(sign, begin);
    }
    all.emplace_back(text.substr(begin));
    return all;
}

List lines_of(const std::string& text) {
    List all;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        all.emplace_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return all;
}

// One text, or one of a list.
template <class F>
bool any_of(const Arguments& from, const F& f) {
    const Value wanted = from.get(0, "prefix", Undefined{"the text to look for"});
    if (wanted.if_list() == nullptr) return f(wanted.string());
    return std::any_of(wanted.if_list()->begin(), wanted.if_list()->end(),
                       [&f](const Value& one) { return f(one.string()); });
}

Value position(const std::string& text, const Arguments& from) {
    const std::size_t at = text.find(from.get(0, "sub", "").string());
    if (at == text.npos) return std::int64_t{-1};
    return std::int64_t{std::ssize(characters(std::string_view(text).substr(0, at)))};
}

Value number_of(const std::string& text, const Arguments& from) {
    const std::string part = from.get(0, "sub", "").string();
    std::int64_t count = 0;
    if (part.empty()) return std::int64_t{std::ssize(characters(text)) + 1};
    for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size()))
        ++count;
    return count;
}

Value joined(const std::string& text, const Arguments& from) {
    std::string all;
    bool is_first = true;
    for (const Value& one : from.get(0, "iterable", Undefined{}).elements()) {
        if (!std::exchange(is_first, false)) all += text;
        all = checked(std::move(all) + one.string());
    }
    return all;
}

using TextMethod = Named<Value, const std::string&>;

template <bool begin, bool end>
Value strip(const std::string& text, const Arguments& from) {
    const Value signs = from.get(0, "chars", None());
    return stripped(text, signs.is_none() ? std::string() : signs.string(), begin, end);
}

constexpr TextMethod kTextMethods[] = {
    {"strip", "chars", strip<true, true>},
    {"lstrip", "chars", strip<true, false>},
    {"rstrip", "chars", strip<false, true>},
    {"split", "sep maxsplit",
     [](const std::string& text, const Arguments& a) { return Value(split(text, a)); }},
    {"splitlines", "",
     [](const std::string& text, const Arguments&) { return Value(lines_of(text)); }},
    {"startswith", "prefix",
     [](const std::string& text, const Arguments& from) {
         return Value(any_of(from, [&](const std::string& x) { return text.starts_with(x); }));
     }},
    {"endswith", "prefix",
     [](const std::string& text, const Arguments& from) {
         return Value(any_of(from, [&](const std::string& x) { return text.ends_with(x); }));
     }},
    {"removeprefix", "prefix",
     [](const std::string& text, const Arguments& from) {
         const std::string part = from.get(0, "prefix", "").string();
         return Value(text.starts_with(part) ? text.substr(part.size()) : text);
     }},
    {"removesuffix", "suffix",
     [](const std::string& text, const Arguments& from) {
         const std::string part = from.get(0, "suffix", "").string();
         return Value(text.ends_with(part) ? text.substr(0, text.size() - part.size()) : text);
     }},
    {"replace", "old new count",
     [](const std::string& text, const Arguments& a) { return Value(replaced(text, a)); }},
    {"lower", "",
     [](const std::string& text, const Arguments&) { return Value(lower_case(text)); }},
    {"upper", "",
     [](const std::string& text, const Arguments&) {
         std::string all = text;
         std::transform(all.begin(), all.end(), all.begin(), upper);
         return Value(std::move(all));
     }},
    {"title", "",
     [](const std::string& text, const Arguments&) { return Value(capitalized(text, true)); }},
    {"capitalize", "",
     [](const std::string& text, const Arguments&) { return Value(capitalized(text, false)); }},
    {"isdigit", "",
     [](const std::string& text, const Arguments&) {
         return Value(!text.empty() && text.find_first_not_of("0123456789") == text.npos);
     }},
    {"find", "sub", position},
    {"count", "sub", number_of},
    {"join", "iterable", joined}};

Value member_function(const Value& value, std::string_view name) {
    if (name == "get") {
        return Function([value](const Arguments& from) {
            check_arguments("get", "key default", from);
            const Value* found = value.find(from.get(0, "key", "").text());
            return found != nullptr ? *found : from.get(1, "default", None());
        });
    }
    const bool with_names = name != "values", with_values = name != "keys";
    return Function(
        [value, with_names, with_values, name = std::string(name)](const Arguments& from) {
            check_arguments(name, "", from);
            List all;
            for (const auto& [key, one] : *value.if_members()) {
                all.push_back(with_names && with_values ? Value(List{key, one})
                              : with_names              ? Value(key)
                                                        : one);
            }
            return Value(std::move(all));
        });
}

}  // namespace

std::string stripped(std::string_view text, std::string_view signs, bool begin, bool end) {
    const std::vector<std::string_view> removed = characters(signs);
    const auto continues = [&text](std::size_t at) {
        return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
    };
    const auto goes = [&](std::size_t at, std::size_t size) {
        const std::string_view c = text.substr(at, size);
        return signs.empty() ? is_space(c)
                             : std::find(removed.begin(), removed.end(), c) != removed.end();
    };
    std::size_t first = 0, last = text.size();
    for (std::size_t size = 1; begin && first < last; first += size, size = 1) {
        while (first + size < last && continues(first + size)) ++size;
        if (!goes(first, size)) break;
    }
    for (std::size_t size = 1; end && last > first; last -= size, size = 1) {
        while (size < last - first && continues(last - size)) ++size;
        if (!goes(last - size, size)) break;
    }
    return std::string(text.substr(first, last - first));
}

Value method(const Value& value, std::string_view name) {
    if (value.if_is<std::string>() != nullptr) {
        if (const TextMethod* found = find_in(kTextMethods, name)) {
            return Function(
                [value, found](const Arguments& from) { return (*found)(value.string(), from); });
        }
    }
    const bool of_members = name == "get" || name == "items" || name == "keys" || name == "values";
    if (value.if_members() != nullptr && of_members) return member_function(value, name);
    return Undefined{std::string(name)};
}

}  // namespace tapestry::jinja
