// Chat templates: what programs write, where their answers are, and which are refused.
#include <doctest/doctest.h>
#include <tapestry/nn/chat/chat_encoder.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/source_dir.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

using namespace tapestry;
using test::check_message;
using Ids = std::vector<std::int64_t>;

namespace {

// SmolLM2's, as its tokenizer_config.json has it.
constexpr const char* kSmolTemplate =
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ "
    "'<|im_start|>system\\nYou are a helpful AI assistant named SmolLM, trained by Hugging "
    "Face<|im_end|>\\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\\n' + "
    "message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}{{ "
    "'<|im_start|>assistant\\n' }}{% endif %}";

// Its last answer begins with an empty block of thoughts; of those before, only what follows one.
constexpr const char* kThinking =
    "{%- for m in messages %}\n"
    "    {%- if m.role == 'assistant' %}\n"
    "        {{- '<|im_start|>assistant\\n' }}\n"
    "        {%- if loop.last %}\n"
    "            {{- '<think>\\n' + (m.content.split('</think>')[0].split('<think>')[-1].strip() "
    "if '</think>' in m.content else '') + '\\n</think>\\n\\n' }}\n"
    "        {%- endif %}\n"
    "        {{- m.content.split('</think>')[-1].lstrip() + '<|im_end|>\\n' }}\n"
    "    {%- else %}\n"
    "        {{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}\n"
    "    {%- endif %}\n"
    "{%- endfor %}\n"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}\n";

// Renames roles, ends answers with eos_token and removes blanks around contents.
constexpr const char* kRenamed =
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'assistant' %}{{ '<|bot|>\\n' + "
    "(m.content | trim) + eos_token + '\\n' }}{% else %}{{ '<|human|>\\n' + (m.content | trim) + "
    "'\\n' }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|bot|>\\n' }}{% endif %}";

// Asks with the beginning of a thought, and writes answers without thoughts, as R1's.
constexpr const char* kAsksToThink =
    "{% for m in messages %}{% if m.role == 'assistant' %}{{ '<|im_start|>assistant\n' + "
    "m.content.split('</think>')[-1] + '<|im_end|>' }}{% else %}{{ '<|im_start|>user\n' + "
    "m.content + '<|im_end|>' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n<think>\n' }}{% endif %}";

// The fixture with ChatML's marks.
struct Place {
    LoadedModel loaded = load_model(test::source_dir() / "tests/fixtures/llama");
    const Tokenizer& tokenizer = *loaded.tokenizer;

    std::string text(const ChatTokens& tokens, bool only_learned = false) const {
        Ids ids;
        for (std::size_t i = 0; i < tokens.ids.size(); ++i) {
            if (!only_learned || tokens.is_target[i] != 0) ids.push_back(tokens.ids[i]);
        }
        return tokenizer.decode(ids);
    }
    std::string prompt(const ChatEncoder& encoder, const std::vector<ChatMessage>& messages) const {
        return tokenizer.decode(encoder.prompt(messages));
    }
};

const std::vector<ChatMessage> kTwo{
    {"user", " Hi"}, {"assistant", "Yes "}, {"user", "So?"}, {"assistant", "No"}};

}  // namespace

TEST_CASE("chat: a directory's program is run, with the system message it writes") {
    const Place place;
    const ChatEncoder encoder({kSmolTemplate}, place.tokenizer);
    const std::string expected =
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging "
        "Face<|im_end|>\n<|im_start|>user\n Hi<|im_end|>\n<|im_start|>assistant\nYes <|im_end|>\n"
        "<|im_start|>user\nSo?<|im_end|>\n<|im_start|>assistant\nNo<|im_end|>";
    CHECK(place.text(encoder.encode(kTwo)) == expected);
    CHECK(place.text(encoder.encode(kTwo), true) == "Yes <|im_end|>No<|im_end|>");
    // With a message of the system's, from the conversation or from the settings.
    const ChatMessage system{"system", "Be {{brief}}: it's \\n"};
    const ChatEncoder given({with_system(kSmolTemplate, system.content)}, place.tokenizer);
    const std::vector<ChatMessage> own{system, kTwo[0], kTwo[1]};
    const std::vector<ChatMessage> none{kTwo[0], kTwo[1]};
    CHECK(given.encode(none).ids == encoder.encode(own).ids);
    CHECK(given.encode(own).ids == encoder.encode(own).ids);
    CHECK(with_system(given.chat().program, system.content) == given.chat().program);
    // An empty one is written, too.
    const ChatEncoder empty({with_system(kSmolTemplate, "")}, place.tokenizer);
    CHECK(place.text(empty.encode(none)) ==
          "<|im_start|>system\n<|im_end|>\n<|im_start|>user\n Hi<|im_end|>\n"
          "<|im_start|>assistant\nYes <|im_end|>");
    const TextConventions directory{.chat_template = kSmolTemplate};
    CHECK(chosen_template(directory, place.tokenizer, "", "").program == empty.chat().program);
    CHECK(chosen_template(directory, place.tokenizer).program == kSmolTemplate);
}

TEST_CASE("chat: answers are what a model writes behind the template's prompt, thoughts included") {
    const Place place;
    const ChatEncoder encoder({kThinking}, place.tokenizer);
    const std::vector<ChatMessage> two{{"user", "a"},
                                       {"assistant", "<think>\nb\n</think>\n\nc"},
                                       {"user", "d"},
                                       {"assistant", "e"}};
    const ChatTokens tokens = encoder.encode(two);
    CHECK(place.text(tokens) ==
          "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\nc<|im_end|>\n<|im_start|>user\n"
          "d<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\ne<|im_end|>");
    CHECK(place.text(tokens, true) == "c<|im_end|><think>\n\n</think>\n\ne<|im_end|>");
    const std::vector<ChatMessage> one(two.begin(), two.begin() + 2);
    CHECK(place.text(encoder.encode(one), true) == "<think>\nb\n</think>\n\nc<|im_end|>");
    const std::vector<ChatMessage> asked(two.begin(), two.begin() + 3);
    CHECK(place.prompt(encoder, asked) ==
          "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\nc<|im_end|>\n<|im_start|>user\n"
          "d<|im_end|>\n<|im_start|>assistant\n");
}

TEST_CASE("chat: a template that asks with a thought that it does not write") {
    const Place place;
    const ChatEncoder encoder({kAsksToThink}, place.tokenizer);
    const std::vector<ChatMessage> two{
        {"user", "a"}, {"assistant", "b\n</think>c"}, {"user", "d"}, {"assistant", "e"}};
    const ChatTokens tokens = encoder.encode(two);
    CHECK(place.text(tokens) ==
          "<|im_start|>user\na<|im_end|><|im_start|>assistant\nc<|im_end|><|im_start|>user\n"
          "d<|im_end|><|im_start|>assistant\ne<|im_end|>");
    CHECK(place.text(tokens, true) == "c<|im_end|>e<|im_end|>");
    const std::vector<ChatMessage> asked(two.begin(), two.begin() + 3);
    CHECK(place.prompt(encoder, asked) ==
          "<|im_start|>user\na<|im_end|><|im_start|>assistant\nc<|im_end|><|im_start|>user\n"
          "d<|im_end|><|im_start|>assistant\n<think>\n");
    // Another text that it asks with and does not write stays an error.
    std::string other = kAsksToThink;
    other.replace(other.find("<think>"), 7, "think");
    check_message<ValueError>([&] { ChatEncoder({other}, place.tokenizer); },
                              "message 2: the chat template asks for an answer otherwise than it "
                              "writes one");
}

TEST_CASE("chat: roles of other names, eos_token, and blanks that the template removes") {
    const Place place;
    const ChatEncoder encoder({kRenamed, "<|im_start|>", "<|endoftext|>"}, place.tokenizer);
    const ChatTokens tokens = encoder.encode(kTwo);
    CHECK(place.text(tokens) ==
          "<|im_start|><|human|>\nHi\n<|bot|>\nYes<|endoftext|>\n<|human|>\nSo?\n<|bot|>\n"
          "No<|endoftext|>");
    CHECK(place.text(tokens, true) == "Yes<|endoftext|>No<|endoftext|>");
    // Any white space, not only ASCII's.
    const std::vector<ChatMessage> wide{{"user", "\u3000Hi"}, {"assistant", "Yes\u3000"}};
    CHECK(place.text(encoder.encode(wide), true) == "Yes<|endoftext|>");
    CHECK(encoder.end() == place.tokenizer.end_of_text());
    const auto is_end = [&encoder](std::int64_t id) {
        return std::count(encoder.ends().begin(), encoder.ends().end(), id) > 0;
    };
    CHECK(is_end(encoder.end()));
    CHECK(is_end(place.tokenizer.encode("<|im_start|>").front()));
}

TEST_CASE("chat: a template without a prompt for answers gets what it writes in front of them") {
    const Place place;
    const ChatEncoder encoder({"{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + "
                               "m.content + '<|im_end|>\\n' }}"
                               "{% endfor %}"},
                              place.tokenizer);
    CHECK(place.text(encoder.encode(kTwo), true) == "Yes <|im_end|>No<|im_end|>");
    CHECK(place.prompt(encoder, {kTwo[0]}) ==
          "<|im_start|>user\n Hi<|im_end|>\n<|im_start|>assistant\n");
}

TEST_CASE("chat: the programs of styles have names, also with a system message") {
    for (const ChatStyle style : {ChatStyle::plain, ChatStyle::chatml, ChatStyle::llama3}) {
        const std::string program = chat_program(style, "<s>", "<|end|>");
        CHECK(name_of_program(program) == name_of_value(style));
        CHECK(name_of_program(with_system(program, "It's a\n'quote' {% if %}")) ==
              name_of_value(style));
    }
    CHECK(name_of_program(kSmolTemplate).empty());
    CHECK(name_of_program("").empty());
    check_message<ValueError>([] { chat_style_of("mistral"); },
                              "the template 'mistral' is not known; must be one of plain, chatml, "
                              "llama3");
}

TEST_CASE("chat: programs that are refused, and conversations that a program refuses") {
    const Place place;
    const auto refused = [&](const std::string& program, const char* words,
                             const std::vector<ChatMessage>& messages = kTwo) {
        check_message<ValueError>([&] { ChatEncoder({program}, place.tokenizer).encode(messages); },
                                  words);
    };
    const std::string smol = kSmolTemplate;
    refused("{{ messages | shuffle }}", "chat: the template, line 1: the filter 'shuffle' is not");
    refused("{{ 1 // 0 }}", "the chat template, line 1: division by 0");
    refused(
        "{% for m in messages %}{{ '<|im_start|>' + m.content + '<|im_end|>' }}{% endfor %}"
        "{% if add_generation_prompt %}answer{% endif %}",
        "message 2: the chat template asks for an answer otherwise than it writes one");
    refused("{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}",
            "message 2: the chat template does not write it");
    refused(
        "{% for m in messages %}{{ m.role + m.content + '</end>' }}{% endfor %}"
        "{% if add_generation_prompt %}assistant{% endif %}",
        "needs the token '</end>', which the vocabulary lacks; --chat-template takes");
    refused(
        "{% for m in messages %}{{ m.role + m.content }}{% endfor %}"
        "{% if add_generation_prompt %}assistant{% endif %}",
        "needs the token 'userc");
    refused(smol + "{% if messages[0].content == 'x' %}{{ raise_exception('No x.') }}{% endif %}",
            "line 1: the template refuses this: No x.", {{"user", "x"}, {"assistant", "b"}});
    refused("{% set messages = messages | rejectattr('role', 'eq', 'system') | list %}" + smol,
            "message 1: the chat template does not write it",
            {{"system", "left out"}, {"user", "a"}, {"assistant", "b"}});
    refused(smol, "the role 'tool' is not supported", {{"tool", "x"}, {"assistant", "b"}});
    const ChatEncoder tools({smol + "{# 'tool' #}"}, place.tokenizer);
    CHECK(place.text(tools.encode(std::vector<ChatMessage>{{"tool", "x"}, {"assistant", "b"}}))
              .ends_with("<|im_start|>tool\nx<|im_end|>\n<|im_start|>assistant\nb<|im_end|>"));
}

// ---- answers and messages that are hard to find -------------------------------------------------

namespace {

// The line of a message, and the prompt, which comes with the last message as in Zephyr's.
constexpr const char* kWithLast =
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}"
    "{% if loop.last and add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
    "{% endfor %}";

// Without messages of the system's, as Phi-3's.
constexpr const char* kWithoutSystem =
    "{% for m in messages if m.role != 'system' %}{{ '<|im_start|>' + m.role + '\\n' + m.content + "
    "'<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

}  // namespace

TEST_CASE("chat: an answer that begins the conversation is learned without its header") {
    const Place place;
    const std::vector<ChatMessage> first{{"assistant", "Hi"}, {"user", "a"}, {"assistant", "b"}};
    // The second cannot write an empty conversation, as Qwen's.
    for (const std::string& before : {std::string(), std::string("{{ messages[0].role[:0] }}")}) {
        const ChatEncoder encoder({before + kWithLast}, place.tokenizer);
        CHECK(place.text(encoder.encode(first), true) == "Hi<|im_end|>b<|im_end|>");
        CHECK(place.text(encoder.encode(first)) ==
              "<|im_start|>assistant\nHi<|im_end|>\n<|im_start|>user\na<|im_end|>\n"
              "<|im_start|>assistant\nb<|im_end|>");
    }
    // Another header there than behind a user's message.
    check_message<ValueError>(
        [&] {
            ChatEncoder({std::string("{% if messages[0].role == 'assistant' %}{% set messages = "
                                     "[{'role': 'bot', 'content': messages[0].content}] %}"
                                     "{% endif %}") +
                         kWithLast},
                        place.tokenizer)
                .encode(std::vector<ChatMessage>{first[0]});
        },
        "message 1: the chat template asks for an answer otherwise than it writes one");
}

TEST_CASE("chat: a system message that the template leaves out is refused") {
    const Place place;
    check_message<ValueError>(
        [&] { ChatEncoder({with_system(kWithoutSystem, "Be brief.")}, place.tokenizer); },
        "chat: the template does not write the system message of --chat-system");
    const ChatEncoder encoder({with_system(kWithoutSystem, "")}, place.tokenizer);
    const std::vector<ChatMessage> same{
        {"system", "Be brief."}, {"user", "Be brief. Why?"}, {"assistant", "b"}};
    check_message<ValueError>([&] { encoder.encode(same); },
                              "message 1: the chat template does not write it");
}

TEST_CASE("chat: a tool's content may be written as JSON, with its last line break") {
    const Place place;
    const ChatEncoder encoder(
        {"{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + (m.content | tojson if "
         "m.role "
         "== 'tool' else m.content) + '<|im_end|>\\n' }}{% endfor %}"
         "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"},
        place.tokenizer);
    const std::vector<ChatMessage> messages{
        {"user", "a"}, {"assistant", "b"}, {"tool", "{\"t\": 3}\n"}, {"assistant", "c"}};
    CHECK(place.text(encoder.encode(messages)).find(R"("{\"t\": 3}\n")") != std::string::npos);
}

TEST_CASE("chat: of a template with generation, what is inside is learned") {
    const Place place;
    const auto encoder = [&](const std::string& condition, const std::string& end) {
        return ChatEncoder(
            {"{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' }}{% if " + condition +
             " %}{% generation %}{{ m.content" + end + " }}{% endgeneration %}{{ '" +
             (end.empty() ? "<|im_end|>" : "") +
             "\\n' }}{% else %}{{ m.content + '<|im_end|>\\n' }}{% endif %}{% endfor %}"
             "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"},
            place.tokenizer);
    };
    const std::string whole = " + '<|im_end|>'", answers = "m.role == 'assistant'";
    CHECK(place.text(encoder(answers, whole).encode(kTwo), true) == "Yes <|im_end|>No<|im_end|>");
    CHECK(place.text(encoder(answers + " and loop.last", whole).encode(kTwo), true) ==
          "No<|im_end|>");
    CHECK(place.prompt(encoder(answers, whole), {kTwo[0]}) ==
          "<|im_start|>user\n Hi<|im_end|>\n<|im_start|>assistant\n");
    check_message<ValueError>([&] { encoder("false", whole).encode(kTwo); },
                              "no answer is in the chat template's {% generation %}, so");
    check_message<ValueError>([&] { encoder(answers, "").encode(kTwo); },
                              "message 2: the chat template's {% generation %} has only a part of "
                              "the answer and its end '<|im_end|>', which is not supported");
}

TEST_CASE("chat: the place of what is not UTF-8 is that in the message") {
    const Place place;
    const ChatEncoder encoder({kSmolTemplate}, place.tokenizer);
    const std::vector<ChatMessage> messages{{"user", "a\xFF"}};
    check_message<ValueError>([&] { encoder.prompt(messages); },
                              "the user's text: not UTF-8 at byte 1: byte 0xFF");
}

TEST_CASE("chat: a blank between an answer and its end is called so") {
    const Place place;
    check_message<ValueError>(
        [&] {
            ChatEncoder(
                {"{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + ' "
                 "<|im_end|>\\n' }}{% endfor %}"
                 "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"},
                place.tokenizer);
        },
        "chat: the template writes a blank between an answer and its end, '<|im_end|>', so the end "
        "is not the first token behind the answer; --chat-template");
}
