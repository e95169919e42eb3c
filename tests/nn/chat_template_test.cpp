// Chat templates: which programs in Jinja are recognised, what they write by themselves, and which
// are refused.
#include <doctest/doctest.h>
#include <tapestry/nn/data/chat_template.h>
#include <tapestry/tests/core/scratch.h>

#include <string>
#include <utility>
#include <vector>

using namespace tapestry;
using test::check_message;

namespace {

// SmolLM2's, as its tokenizer_config.json has it.
constexpr const char* kSmolTemplate =
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ "
    "'<|im_start|>system\\nYou are a helpful AI assistant named SmolLM, trained by Hugging "
    "Face<|im_end|>\\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\\n' + "
    "message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}{{ "
    "'<|im_start|>assistant\\n' }}{% endif %}";

}  // namespace

TEST_CASE("chat: templates are recognised, written, and others named") {
    const ChatTemplate smol = recognised_template(kSmolTemplate);
    CHECK(smol.style == ChatStyle::chatml);
    CHECK(smol.system == "You are a helpful AI assistant named SmolLM, trained by Hugging Face");
    std::string broken = kSmolTemplate;  // as read from JSON: with real line breaks
    for (std::size_t at = 0; (at = broken.find("\\n", at)) != broken.npos;)
        broken.replace(at, 2, "\n");
    CHECK(recognised_template(broken) == smol);
    for (const char* other : {"{{ bos_token }}", "<|im_sep|>", "<think>", "{{ strftime_now }}"}) {
        check_message<ValueError>([&] { recognised_template(other + broken); },
                                  "the directory's template is like ChatML's and has ");
    }
    for (const ChatStyle style : {ChatStyle::plain, ChatStyle::chatml, ChatStyle::llama3}) {
        for (const char* system :
             {"", "Be brief.", "It's a \"quote\" \\ and\na line", "Answer {\"a\": 1}",
              "{{ 1 + 1 }} {% if %} {# no #}", "a\ttab, \\n and \u00e9"}) {
            CAPTURE(name_of_value(style));
            CAPTURE(system);
            const ChatTemplate chat{style, system};
            CHECK(recognised_template(jinja_of(chat)) == chat);
        }
    }
    check_message<ValueError>([] { recognised_template("{{ bos_token }}[INST] {{ x }} [/INST]"); },
                              "the directory's template is neither ChatML's nor Llama 3's, it "
                              "begins '{{ bos_token }}[INST] {{ x }} [/INST]'");
    check_message<ValueError>(
        [] {
            recognised_template(
                "<|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: "
                "December 2023<|eot_id|>");
        },
        "Llama 3.1's, writes dates");
    check_message<ValueError>([] { chat_style_of("mistral"); },
                              "the template 'mistral' is not known; must be one of plain, chatml, "
                              "llama3");
}

// Rows: a program, and the system message that it writes for a conversation without one.
TEST_CASE("chat: a template's own system message is found in literals, text and variables") {
    const std::string turns =
        "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' "
        "}}{% endfor %}";
    const std::vector<std::pair<std::string, std::string>> rows{
        // a message of the conversation, in either kind of quotes, with + and with ~
        {R"({{ "<|im_start|>system\n" + messages[0].content + "<|im_end|>\n" }})", ""},
        {R"({{ '<|im_start|>system\n' ~ messages[0]['content'] ~ '<|im_end|>\n' }})", ""},
        {R"({{ "<|im_start|>system\n" + system_message + "<|im_end|>\n" }})", ""},
        {R"({{ "<|im_start|>system\nBe \"brief\".<|im_end|>\n" }})", "Be \"brief\"."},
        {R"({{- '<|im_start|>system\nIt\'s\t\u00e9<|im_end|>\n' -}})", "It's\t\u00e9"},
        {"<|im_start|>system\nIt's {brief}.<|im_end|>\n", "It's {brief}."},
        {R"({# <|im_start|>system\nNo.<|im_end|> #})", ""},
        // a variable that begins as a literal
        {R"({% set s = 'Be kind.' %}{% if messages[0].role == 'system' %}{% set s = )"
         R"(messages[0].content %}{% endif %}{{ '<|im_start|>system\n' + s + '<|im_end|>\n' }})",
         "Be kind."},
        {"<|im_start|>system\n{{ system or 'You are X' }}<|im_end|>\n", "You are X"},
        {"{% set s = 'Hm.' %}<|im_start|>system\n{{ s }}<|im_end|>\n", "Hm."},
        // only for tools, or without them
        {R"({%- if tools %}{{- '<|im_start|>system\nTools.<|im_end|>\n' }}{%- endif %})", ""},
        {R"({%- if tools %}{% if x %}{{ '<|im_start|>system\nA<|im_end|>' }}{% else %}{% endif %})"
         R"({%- else %}{{ '<|im_start|>system\nNone.<|im_end|>\n' }}{% endif %})",
         "None."}};
    for (const auto& row : rows) {
        CAPTURE(row.first);
        CHECK(recognised_template(row.first + turns) ==
              ChatTemplate{ChatStyle::chatml, row.second});
    }
    const auto refused = [](const std::string& program, const char* words) {
        check_message<ValueError>([&] { recognised_template(program); }, words);
    };
    refused(turns + "{% if role == 'human' %}{% endif %}",
            "like ChatML's and has the role 'human', which is not supported; --chat-template");
    refused(turns + "{{ '<|im_start|>gpt\\n' }}", "has the role 'gpt'");
    refused("{{'<|im_start|>' + m.role + ' ' + m.content + '<|im_end|>'}}", "ends roles otherwise");
    refused(turns + "{{ m.content | trim }}", "removes blanks around contents (trim)");
    refused(turns + "{{ eos_token }}", "writes eos_token");
    refused(
        "{{ '<|start_header_id|>' + m.role + '<|end_header_id|>\\n\\n' + m.content + "
        "'<|eot_id|>' }}",
        "like Llama 3's and keeps blanks around contents (no trim)");
    refused("{{ '<|im_start|>", "is neither ChatML's nor Llama 3's");  // nothing is closed
}
