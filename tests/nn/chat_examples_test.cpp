// Lines of conversations as people's files have them: which are read as what, and which are
// refused, in one line that says what to do; conversations with tools.
// tests/fixtures/make_chat_tools.py has made the latter, with Python's jinja2.
#include <doctest/doctest.h>
#include <tapestry/nn/chat/chat_examples.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/source_dir.h>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

using namespace tapestry;
using test::check_message;
using test::slurp;
using test::spill;
using Json = nlohmann::json;

namespace {

// Reads lines for the fixture with ChatML's marks.
struct Reader {
    explicit Reader(const std::string& program = chat_program(ChatStyle::chatml))
        : encoder({program}, *loaded.tokenizer) {}

    ChatExamples read(const std::string& lines) const {
        spill(scratch / "c.jsonl", lines);
        return read_chat_examples(scratch / "c.jsonl");
    }
    // The text of a line's tokens, or of those that are learned.
    std::string text(const std::string& line, bool only_learned = false) const {
        const ChatExamples all = read(line);
        const ChatTokens tokens = encoded(all, all.examples.front(), encoder);
        std::vector<std::int64_t> ids;
        for (std::size_t i = 0; i < tokens.ids.size(); ++i) {
            if (!only_learned || tokens.is_target[i] != 0) ids.push_back(tokens.ids[i]);
        }
        return loaded.tokenizer->decode(ids);
    }
    // Each answer's.
    std::vector<std::string> answers(const std::string& line) const {
        const ChatExamples all = read(line);
        const ChatTokens tokens = encoded(all, all.examples.front(), encoder);
        std::vector<std::string> texts;
        std::vector<std::int64_t> ids;
        for (std::size_t i = 0; i < tokens.ids.size(); ++i) {
            if (tokens.is_target[i] != 0) ids.push_back(tokens.ids[i]);
            const bool ends = i + 1 == tokens.ids.size() || tokens.is_target[i + 1] == 0;
            if (!ids.empty() && ends) texts.push_back(loaded.tokenizer->decode(ids)), ids.clear();
        }
        return texts;
    }
    std::string learned(const std::string& line) const { return text(line, true); }
    void refuses(const std::string& line, const std::string& words) const {
        CAPTURE(line);
        check_message<IoError>([&] { text(line); }, "c.jsonl:1: " + words);
    }

    test::Scratch scratch;
    LoadedModel loaded = load_model(test::source_dir() / "tests/fixtures/llama");
    ChatEncoder encoder;
};

const std::string kPlain =
    R"({"messages": [{"role": "user", "content": "a b"}, {"role": "assistant", "content": "c"}]})";

}  // namespace

TEST_CASE("chat examples: a content of parts is their texts, and other parts are refused") {
    const Reader reader;
    const auto line = [](const std::string& parts) {
        return fmt::format(
            R"({{"messages": [{{"role": "user", "content": [{}]}}, )"
            R"({{"role": "assistant", "content": [{{"type": "text", "text": "c"}}]}}]}})",
            parts);
    };
    const std::string a = R"({"type": "text", "text": "a", "image_url": null})";
    CHECK(reader.text(line(a + R"(, {"type": "text", "text": " b"})")) == reader.text(kPlain));
    reader.refuses(line(a + R"(, {"type": "image_url", "image_url": {"url": "x"}})"),
                   "message 1: part 2 of \"content\" is \"image_url\"; only parts of the type "
                   "\"text\" are supported; a line is {\"messages\": ");
    reader.refuses(line(R"({"type": "input_audio"})"),
                   "message 1: part 1 of \"content\" is \"input_audio\"; only parts");
    reader.refuses(line(R"({"text": "a"})"), "message 1: part 1 of \"content\" has no \"type\"");
    reader.refuses(line(R"("a")"), "message 1: part 1 of \"content\" has no \"type\"");
    reader.refuses(line(R"({"type": "text", "text": 1})"), "message 1: \"text\" is 1, not a text");
}

TEST_CASE("chat examples: members that are null are as if they were not there") {
    const Reader reader;
    const std::string nulls =
        R"({"messages": [{"role": "user", "content": "a b", "name": null, "weight": null}, )"
        R"({"role": "assistant", "content": "c", "tool_calls": null, "function_call": null}], )"
        R"("tools": null, "prompt": null})";
    CHECK(reader.text(nulls) == reader.text(kPlain));
    CHECK(reader.learned(nulls) == "c<|im_end|>");
    CHECK(reader.learned(R"({"messages": null, "prompt": "a", "completion": "b"})") ==
          "b<|im_end|>");
    reader.refuses(R"({"messages": [{"role": "user", "content": null}]})",
                   "message 1: \"content\" is null; only a message with \"tool_calls\" may");
    reader.refuses(R"({"messages": [{"role": "assistant"}]})", "message 1: \"content\" is missing");
    reader.refuses(R"({"messages": [{"role": null, "content": "a"}]})",
                   "message 1: \"role\" is null");
    reader.refuses(R"({"prompt": "a", "completion": null})", "\"completion\" is null");
}

TEST_CASE("chat examples: of a prompt and a completion of messages, the completion is learned") {
    const Reader reader;
    const std::string before =
        R"({"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, )"
        R"({"role": "user", "content": "c"})";
    const std::string answer = R"({"role": "assistant", "content": "d"})";
    const auto line = [](const std::string& prompt, const std::string& completion) {
        return fmt::format(R"({{"prompt": {}, "completion": {}}})", prompt, completion);
    };
    const std::string both = line("[" + before + "]", "[" + answer + "]");
    CHECK(reader.text(both) == reader.text("{\"messages\": [" + before + ", " + answer + "]}"));
    CHECK(reader.learned(both) == "d<|im_end|>");
    CHECK(question_of(reader.read(both).examples.front()) ==
          question_of(reader.read("{\"messages\": [" + before + "]}").examples.front()));
    const std::string more = R"([{"role": "assistant", "content": "d", "weight": 0}, )"
                             R"({"role": "user", "content": "e"}, )" +
                             answer + "]";
    CHECK(reader.learned(line("[" + before + "]", more)) == "d<|im_end|>");
    const std::string mixed =
        "of \"prompt\" and \"completion\" only one is a list of messages; a line is";
    reader.refuses(line("[" + before + "]", "\"d\""), mixed);
    reader.refuses(line("\"a\"", "[" + answer + "]"), mixed);
    reader.refuses(line("[" + before + "]", "null"), mixed);
    reader.refuses(line("[" + answer + "]", "[" + before.substr(0, before.find(", {")) + "]"),
                   "no message of \"completion\" is the assistant's");
    reader.refuses(line("[{}]", "[" + answer + "]"),
                   "message 1 of \"prompt\": \"role\" is missing");
}

TEST_CASE("chat examples: other forms are called by their names, with the forms that are read") {
    const Reader reader;
    const std::string wanted =
        R"(; a line is {"messages": [{"role": ..., "content": ...}]} or {"prompt": ..., )"
        R"("completion": ...})";
    reader.refuses(
        R"({"instruction": "a", "input": "", "output": "b"})",
        "the form is Alpaca's (\"instruction\", \"output\"), which is not supported" + wanted);
    reader.refuses(R"({"conversations": [{"from": "human", "value": "a"}]})",
                   "the form is ShareGPT's (\"conversations\"), which is not supported" + wanted);
    reader.refuses(R"({"messages": [{"from": "human", "value": "a"}]})",
                   "message 1: \"role\" is missing" + wanted);
    reader.refuses(R"({"text": "a"})",
                   "a document (\"text\"), which --text reads in place of --data" + wanted);
}

// ---- tools --------------------------------------------------------------------------------------

namespace {

const std::string kTool =
    R"({"type": "function", "function": {"name": "clock", "parameters": {}}})";
const std::string kCall =
    R"({"role": "assistant", "tool_calls": [{"function": {"name": "clock", "arguments": {}}}]})";

std::string line_with_tools(const std::string& messages, const std::string& tools = kTool) {
    return fmt::format(R"({{"tools": [{}], "messages": [{}]}})", tools, messages);
}

Json tools_fixture() {
    return Json::parse(slurp(test::source_dir() / "tests/fixtures/chat_tools.json"));
}

}  // namespace

TEST_CASE(
    "chat examples: tools and calls are written as Python's jinja2 writes them, and learned") {
    const Json all = tools_fixture();
    const Reader reader(all["template"]);
    for (const Json& one : all["cases"]) {
        const auto line = one["line"].get<std::string>();
        CAPTURE(line);
        CHECK(reader.text(line) == one["text"].get<std::string>());
        CHECK(reader.answers(line) == one["learned"].get<std::vector<std::string>>());
    }
    // Tools as the text of a list, and empty lists of them.
    const std::string user = R"({"role": "user", "content": "a"})";
    const std::string answer = R"({"role": "assistant", "content": "b", "tool_calls": []})";
    const std::string usual = line_with_tools(user + ", " + answer);
    Json as_text = Json::parse(usual);
    as_text["tools"] = "[" + kTool + "]";
    CHECK(reader.text(as_text.dump()) == reader.text(usual));
    CHECK(reader.text(line_with_tools(user + ", " + answer, "")).starts_with("<|im_start|>user"));
    // A tool's content that the template writes as JSON, as Llama 3.1's does.
    auto as_json = all["template"].get<std::string>();
    const std::string place = "+ message.content }}\n        {{- '\\n</tool_response>'";
    REQUIRE(as_json.find(place) != as_json.npos);
    as_json.replace(as_json.find(place), 20, "+ (message.content | tojson) }}");
    CHECK(Reader(as_json).text(all["cases"][0]["line"]).find(R"(weather: "{\"t\": 31}")") !=
          std::string::npos);
    // Of weight 0: read, and not learned.
    const std::string result = R"({"role": "tool", "content": "12:00"})";
    Json unlearned =
        Json::parse(line_with_tools(user + ", " + kCall + ", " + result + ", " + answer));
    unlearned["messages"][1]["weight"] = 0;
    CHECK(reader.answers(unlearned.dump()).size() == 1);
    unlearned["messages"][1].erase("weight");
    CHECK(reader.answers(unlearned.dump()).size() == 2);
}

TEST_CASE("chat examples: variables of the template are given to it, and must be some") {
    const std::string messages =
        R"("messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])";
    const auto line = [&](const std::string& variables) {
        return fmt::format(R"({{{}, "chat_template_kwargs": {}}})", messages, variables);
    };
    const Reader reader(
        "{% if enable_thinking is defined and not enable_thinking %}<|im_start|>"
        "{% endif %}" +
        chat_program(ChatStyle::chatml));
    const std::string usual = reader.text("{" + messages + "}");
    CHECK(reader.text(line(R"({"enable_thinking": false})")) == "<|im_start|>" + usual);
    CHECK(reader.text(line(R"({"enable_thinking": true})")) == usual);
    CHECK(reader.text(line(R"({"enable_thinking": null})")) == usual);
    CHECK(reader.text(line("null")) == usual);
    reader.refuses(line(R"({"enable_thinkin": 1})"),
                   "the chat template has no variable 'enable_thinkin'");
    reader.refuses(line("[1]"), "\"chat_template_kwargs\" is a list, not an object");
    reader.refuses(line(R"({"add_generation_prompt": true})"),
                   "\"chat_template_kwargs\" has 'add_generation_prompt', which is not a variable "
                   "to set");
    reader.refuses(R"({"prompt": "a", "completion": "b", "chat_template_kwargs": {"x": 1}})",
                   "\"chat_template_kwargs\" are for messages, not for a prompt that is a text");
}

TEST_CASE("chat examples: tools that a template leaves out, and calls that are none, are refused") {
    const std::string user = R"({"role": "user", "content": "a"})";
    const std::string answer = R"({"role": "assistant", "content": "b"})";
    const std::string with_call = line_with_tools(user + ", " + kCall);
    const std::string never = ", so a model would never see them";
    const Reader chatml;
    chatml.refuses(line_with_tools(user + ", " + answer),
                   "the chat template does not write \"tools\"" + never);
    chatml.refuses(with_call, "message 2: the chat template does not write \"tool_calls\"" + never);

    const auto program = tools_fixture()["template"].get<std::string>();
    const auto changed = [&](const std::string& from, const std::string& to) {
        const std::size_t at = program.find(from);
        REQUIRE(at != program.npos);
        return Reader(std::string(program).replace(at, from.size(), to));
    };
    changed("if message.tool_calls", "if false")
        .refuses(with_call, "message 2: the chat template does not write \"tool_calls\"" + never);
    changed("message.content is string", "not message.tool_calls")
        .refuses(line_with_tools(
                     user + ", " +
                     Json::parse(kCall)
                         .patch(Json::parse(R"([{"op": "add", "path": "/content", "value": "x"}])"))
                         .dump()),
                 "message 2: the chat template writes its calls of tools without its content");
    changed("{{- '<|im_end|>' }}", "{{- '' if message.tool_calls else '<|im_end|>' }}")
        .refuses(with_call,
                 "message 2: the chat template does not end its calls of tools with "
                 "'<|im_end|>'");
    const Reader needs_content = changed("message.content is string", "message.content.strip()");
    check_message<IoError>([&] { needs_content.text(with_call); },
                           "; message 2 has no \"content\", which it may need: \"\" is a text");
    changed("message in messages", "message in messages if not message.tool_calls")
        .refuses(with_call, "message 2: the chat template ");

    const Reader reader(program);
    const auto call = [&](const std::string& role, const std::string& calls) {
        return line_with_tools(user +
                               fmt::format(R"(, {{"role": "{}", "content": "c", )"
                                           R"("tool_calls": {}}}, )",
                                           role, calls) +
                               answer);
    };
    reader.refuses(call("user", "[{}]"), "message 2: \"tool_calls\" are for the assistant's");
    reader.refuses(call("assistant", "{}"),
                   "message 2: \"tool_calls\" is a dictionary, not a list");
    reader.refuses(call("assistant", "[{\"function\": {}}]"),
                   "message 2: a call in \"tool_calls\" is not {\"function\": {\"name\": ...");
    reader.refuses(call("assistant", R"([{"name": "a", "arguments": "<|im_end|>"}])"),
                   "the assistant's message has '<|im_end|>', a mark of the chat template");
    reader.refuses(line_with_tools(user + ", " + answer, R"({"name": "<|im_end|>"})"),
                   "\"tools\" has '<|im_end|>', a mark of the chat template");
    reader.refuses(line_with_tools(user + ", " + answer, "1"),
                   "\"tools\" is a list of other values, not a list of functions");
    reader.refuses(R"({"tools": "[", "messages": []})", "\"tools\": not JSON");
    reader.refuses(R"({"tools": [{}], "prompt": "a", "completion": "b"})",
                   "\"tools\" are for messages, not for a prompt that is a text");
    for (const char* number : {"12345678901234567890", "123456789012345678901234567890"}) {
        const std::string words = fmt::format("the integer {} is beyond 64 bits", number);
        reader.refuses(call("assistant",
                            fmt::format(R"([{{"name": "a", "arguments": {{"i": {}}}}}])", number)),
                       words);
    }
    reader.refuses(R"({"functions": [{}], "messages": []})",
                   "\"functions\" is not supported; its new form is \"tools\"");
}
