#include <tapestry/tests/fuzz/mutate.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <vector>

namespace tapestry::fuzz {
namespace {

constexpr std::array<std::string_view, 40> kHostile{
    "../outside/private/notes.txt",
    "../../outside/private/notes.txt",
    "../../outside/private/model.safetensors",
    "../../outside/new.txt",
    "../../home/.profile",
    "@ROOT@/outside/private/notes.txt",
    "@ROOT@/outside/private/checkpoints/step-1000.safetensors",
    "best/../../../outside/private/notes.txt",
    "best/../config.json",
    "checkpoints/../../../outside/private/notes.txt",
    "checkpoints/step-1000.safetensors",
    "checkpoints/step-00000002.safetensors",
    "checkpoints/step-00000004.safetensors",
    "checkpoints/step-99999999999999999999.safetensors",
    "checkpoints/step--0000001.safetensors",
    "rewind/step-00000001.safetensors",
    "best/model.safetensors",
    "best/tapestry-manifest.json",
    "trap/model.safetensors",
    "trap/step.json",
    "tapestry-manifest.json",
    "model.safetensors",
    "model.safetensors/",
    "./model.safetensors",
    "metrics.jsonl",
    "notes.txt",
    ".lock",
    "",
    ".",
    "..",
    "/",
    "//",
    "a/../../../outside/private/notes",
    "0123456789abcdef",
    "0123456789ABCDEF",
    "../outside/text.txt",
    "D",
    "\\u0000",
    "\\u001b[31mred\\u001b[0m",
    "\\n../../outside/private/notes.txt"};

constexpr std::array<std::string_view, 30> kNumbers{"0",
                                                    "1",
                                                    "-1",
                                                    "2",
                                                    "3",
                                                    "4",
                                                    "7",
                                                    "8",
                                                    "64",
                                                    "255",
                                                    "256",
                                                    "65535",
                                                    "65536",
                                                    "2147483647",
                                                    "2147483648",
                                                    "-2147483649",
                                                    "4294967295",
                                                    "4294967296",
                                                    "4611686018427387904",
                                                    "9223372036854775807",
                                                    "9223372036854775808",
                                                    "18446744073709551615",
                                                    "18446744073709551616",
                                                    "1e308",
                                                    "1e400",
                                                    "-0.0",
                                                    "0.5",
                                                    "1e-30",
                                                    "null",
                                                    "true"};

struct Token {
    std::size_t begin, size;
};

bool is_of_number(char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '+' ||
           c == 'e';
}

// The text between the quotes, the first of which is at `at`.
Token string_at(std::string_view text, std::size_t at) {
    std::size_t end = at + 1;
    while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
    return {at + 1, std::min(end, text.size()) - at - 1};
}

struct Tokens {
    std::vector<Token> numbers = {}, strings = {};
};

Tokens tokens_of(std::string_view text) {
    Tokens tokens;
    for (std::size_t at = 0; at < text.size();) {
        Token token{at, 1};
        if (text[at] == '"') {
            token = string_at(text, at);
            tokens.strings.push_back(token);
            ++token.size;
        } else if (std::isdigit(static_cast<unsigned char>(text[at])) != 0 || text[at] == '-') {
            while (at + token.size < text.size() && is_of_number(text[at + token.size]))
                ++token.size;
            tokens.numbers.push_back(token);
        }
        at = token.begin + token.size;
    }
    return tokens;
}

std::string other_number(std::string_view now, Chance& chance) {
    if (chance.one_in(2) || now.size() > 15 || now.find_first_not_of("0123456789") != now.npos) {
        return std::string(chance.pick(kNumbers));
    }
    std::int64_t value = 0;
    for (const char c : now) value = 10 * value + (c - '0');
    switch (chance.below(4)) {
        case 0: return fmt::format("{}", value + 1);
        case 1: return fmt::format("{}", value - 1);
        case 2: return fmt::format("{}", value * 2);
        default: return fmt::format("{}", value / 2);
    }
}

std::string other_string(const std::string& text, const Tokens& tokens, const Token& now,
                         Chance& chance) {
    if (chance.one_in(3)) return std::string(hostile_text(chance));
    if (chance.one_in(2)) {
        const Token& other = chance.pick(tokens.strings);
        return text.substr(other.begin, other.size);
    }
    std::string changed = text.substr(now.begin, now.size);
    if (changed.empty()) return "x";
    char& c = changed[chance.below(changed.size())];
    c = chance.one_in(2) ? static_cast<char>(c ^ 1) : '/';
    return changed;
}

std::string in_quotes(std::string_view text) {
    std::string all;
    for (const char c : text) {
        if (c == '"' || c == '\\' || c == '\n') all += '\\';
        all += c == '\n' ? 'n' : c;
    }
    return all;
}

std::string unquoted(std::string_view text) {
    std::string all;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool escaped = text[i] == '\\' && i + 1 < text.size();
        if (escaped) ++i;
        all += escaped && text[i] == 'n' ? '\n' : text[i];
    }
    return all;
}

// The member or element around `at`, delimited by commas and braces.
Token member_around(const std::string& text, std::size_t at) {
    const std::size_t before = text.find_last_of(",{[", at);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    const std::size_t end = std::min(text.find_first_of(",]}", at), text.size());
    return {begin, end - begin};
}

std::string mutate_structure(std::string text, std::size_t at, Chance& chance) {
    const Token member = member_around(text, at);
    const std::string copy = text.substr(member.begin, member.size);
    switch (chance.below(4)) {
        case 0:
            text.erase(member.begin, std::min(member.size + 1, text.size() - member.begin));
            break;
        case 1: text.insert(member.begin, copy + ","); break;
        case 2: {
            const std::size_t depth = chance.one_in(8) ? 20000 : 3;
            text.replace(at, 1, std::string(depth, '[') + "1" + std::string(depth, ']'));
            break;
        }
        default: text.replace(at, 1, chance.one_in(2) ? "{}" : "[]");
    }
    return text;
}

void change_data(std::string& file, std::size_t begin, Chance& chance) {
    constexpr std::array<std::uint32_t, 7> kFloats{0,          0x7fc00000, 0x7f800000, 0xff800000,
                                                   0x7f7fffff, 0x00000001, 0x3f800000};
    if (begin + 4 > file.size()) return;
    const std::size_t at = begin + chance.below((file.size() - begin) / 4) * 4;
    std::memcpy(file.data() + at, &chance.pick(kFloats), 4);
}

std::uint64_t header_size(const std::string& file) {
    std::uint64_t size = 0;
    if (file.size() >= 8) std::memcpy(&size, file.data(), 8);
    return std::min<std::uint64_t>(size, file.size() < 8 ? 0 : file.size() - 8);
}

}  // namespace

std::string_view hostile_text(Chance& chance) { return chance.pick(kHostile); }

std::string mutate_json(std::string text, Chance& chance) {
    const Tokens tokens = tokens_of(text);
    if (!tokens.numbers.empty() && chance.one_in(2)) {
        const Token& token = chance.pick(tokens.numbers);
        if (chance.one_in(6)) return mutate_structure(std::move(text), token.begin, chance);
        const std::string other = other_number(text.substr(token.begin, token.size), chance);
        return text.replace(token.begin, token.size, other);
    }
    if (tokens.strings.empty()) return text + "{}";
    const Token& token = chance.pick(tokens.strings);
    if (chance.one_in(6)) return mutate_structure(std::move(text), token.begin - 1, chance);
    const std::string inner = text.substr(token.begin, token.size);
    const bool is_json =
        inner.find("\\\"") != std::string::npos;  // JSON within a string, as in checkpoints
    const std::string other = is_json && !chance.one_in(8)
                                  ? in_quotes(mutate_json(unquoted(inner), chance))
                                  : other_string(text, tokens, token, chance);
    return text.replace(token.begin, token.size, other);
}

std::string mutate_safetensors(std::string file, Chance& chance) {
    const std::size_t header = static_cast<std::size_t>(header_size(file));
    if (header == 0 || chance.one_in(5)) {
        change_data(file, header + 8, chance);
        return file;
    }
    std::string text = mutate_json(file.substr(8, header), chance);
    const std::uint64_t size = text.size() + (chance.one_in(20) ? chance.below(9) : 0);
    std::string length(8, '\0');
    std::memcpy(length.data(), &size, 8);
    return length + text + file.substr(8 + header);
}

std::string mutate_contents(std::string_view name, std::string contents, Chance& chance) {
    if (name.ends_with(".safetensors")) return mutate_safetensors(std::move(contents), chance);
    const bool is_binary = name.ends_with(".bin") || name.ends_with(".npy") ||
                           name.ends_with(".npz") || name.ends_with("ubyte");
    if (!is_binary && !contents.empty() && !chance.one_in(10)) {
        return mutate_json(std::move(contents), chance);
    }
    if (contents.empty()) return std::string(chance.below(20), 'x');
    if (chance.one_in(3)) return contents.substr(0, chance.below(contents.size()));
    contents[chance.below(contents.size())] = static_cast<char>(chance.below(256));
    return contents;
}

}  // namespace tapestry::fuzz
