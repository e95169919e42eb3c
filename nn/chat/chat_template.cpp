#include <tapestry/nn/chat/chat_template.h>

#include <tapestry/core/error.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/chat/chat_system.h>

#include <fmt/core.h>

namespace tapestry {
namespace {

// Begins the plain program, whose end is that of a vocabulary.
constexpr std::string_view kPlainMark = "{# plain #}";

// Around a system message; the program's first line break stays.
constexpr std::string_view kBeforeSystem =
    "{% if not messages or messages[0]['role'] != 'system' %}"
    "{% set messages = [{'role': 'system', 'content': '";
constexpr std::string_view kAfterSystem = "'}] + messages %}{% endif +%}";

// As in a literal in single quotes.
std::string escaped(std::string_view text) {
    std::string all;
    for (const char c : text) {
        if (c == '\'' || c == '\\') all += '\\';
        c == '\n' ? all += "\\n" : all += c;
    }
    return all;
}

// A conversation whose messages are all written as `message`, an expression.
std::string program_of(std::string_view message, std::string_view answer_begins) {
    return fmt::format(
        "{{% for message in messages %}}{{{{ {} }}}}{{% endfor %}}"
        "{{% if add_generation_prompt %}}{{{{ '{}' }}}}{{% endif %}}",
        message, answer_begins);
}

}  // namespace

ChatStyle chat_style_of(std::string_view name) {
    for (const auto& [style, text] : NamesOf<ChatStyle>::list) {
        if (name == text) return style;
    }
    fail(
        "chat: the template {} is not known; must be one of plain, chatml, llama3, or a file "
        "*.jinja",
        utf8::quoted(name));
}

std::string chat_program(ChatStyle style, std::string_view begin, std::string_view end) {
    switch (style) {
        case ChatStyle::plain: break;
        case ChatStyle::chatml:
            return program_of(
                "'<|im_start|>' + message['role'] + '\\n' + message['content'] + "
                "'<|im_end|>\\n'",
                "<|im_start|>assistant\\n");
        case ChatStyle::llama3:
            return "{{ '<|begin_of_text|>' }}" +
                   program_of(
                       "'<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' "
                       "+ (message['content'] | trim) + '<|eot_id|>'",
                       "<|start_header_id|>assistant<|end_header_id|>\\n\\n");
    }
    // The blank after the colon belongs to the answer, as in byte pairs.
    const std::string message = fmt::format(
        "message['role'].capitalize() + ': ' + message['content'] + ('{}' if message['role'] == "
        "'assistant' else '\\n')",
        end.empty() ? "\\n" : escaped(end));
    const std::string before =
        begin.empty() ? std::string() : fmt::format("{{{{ '{}' }}}}", escaped(begin));
    return std::string(kPlainMark) + before + program_of(message, "Assistant:");
}

std::string with_system(const std::string& program, std::string_view system) {
    const std::string before = fmt::format("{}{}{}", kBeforeSystem, escaped(system), kAfterSystem);
    return program.starts_with(before) ? program : before + program;
}

std::string_view without_system(std::string_view program) {
    if (!program.starts_with(kBeforeSystem)) return program;
    const std::size_t end = program.find(kAfterSystem);
    return end == program.npos ? program : program.substr(end + kAfterSystem.size());
}

std::string with_other_system(const std::string& program, std::string_view system) {
    const std::string_view rest = without_system(program);
    return rest.size() == program.size() ? "" : with_system(std::string(rest), system);
}

std::string_view name_of_program(std::string_view program) {
    const std::string_view rest = without_system(program);
    if (rest.starts_with(kPlainMark)) return "plain";
    for (const auto& [style, name] : NamesOf<ChatStyle>::list) {
        if (rest == chat_program(style)) return name;
    }
    return {};
}

}  // namespace tapestry
