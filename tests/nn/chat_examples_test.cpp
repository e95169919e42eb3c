// Lines of conversations as people's files have them: which are read as what, and which are
// refused, in one line that says what to do.
#include <doctest/doctest.h>
#include <tapestry/nn/chat/chat_examples.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/source_dir.h>

#include <fmt/core.h>

#include <string>
#include <vector>

using namespace tapestry;
using test::check_message;
using test::spill;

namespace {

// Reads lines for the fixture with ChatML's marks.
struct Reader {
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
    std::string learned(const std::string& line) const { return text(line, true); }
    void refuses(const std::string& line, const std::string& words) const {
        CAPTURE(line);
        check_message<IoError>([&] { text(line); }, "c.jsonl:1: " + words);
    }

    test::Scratch scratch;
    LoadedModel loaded = load_model(test::source_dir() / "tests/fixtures/llama");
    ChatEncoder encoder{ChatTemplate{chat_program(ChatStyle::chatml)}, *loaded.tokenizer};
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
                   "message 1: \"content\" is null");
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
}
