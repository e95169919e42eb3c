// Conversations at the command line: fine-tuned, measured, answered, merged, exported; bad input.
#include <tapestry/tests/cli/command.h>
#include <tapestry/tests/source_dir.h>

#include <nlohmann/json.hpp>

using namespace tapestry::test;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr const char* kChatml =
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] "
    "+ '<|im_end|>' + '\\n'}}{% endfor %}";

// A Llama's directory with ChatML's marks and another end than the tokenizer's, and two lines.
struct ChatPlace : Place {
    ChatPlace() {
        const fs::path llama = source_dir() / "tests/fixtures/llama";
        fs::create_directory(*this / "m");
        for (const char* name : {"model.safetensors", "tokenizer.json"}) {
            fs::copy_file(llama / name, *this / "m" / name);
        }
        Json config = Json::parse(slurp(llama / "config.json"));
        config["eos_token_id"] = 2;
        config["bos_token_id"] = 1;
        spill(*this / "m/config.json", config.dump());
        spill(*this / "m/tokenizer_config.json", Json{{"chat_template", kChatml}}.dump());
        spill(*this / "c.jsonl",
              "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}, {\"role\": \"assistant\", "
              "\"content\": \"yes\"}]}\n"
              "{\"messages\": [{\"role\": \"user\", \"content\": \"b\"}, {\"role\": \"assistant\", "
              "\"content\": \"no\"}]}\n");
    }
    Arguments training(const Arguments& more) const {
        return Arguments{"train", "--model",  "m", "--data",     "c.jsonl", "--steps",
                         "60",    "--batch",  "2", "--lr",       "0.01",    "--min-lr",
                         "0.01",  "--warmup", "0", "--no-report"} +
               more;
    }
};

}  // namespace

TEST_CASE("cli chat: a model learns answers, gives them, and takes its template along") {
    const ChatPlace place;
    const Outcome trained = place.run(place.training({"--out", "r"}));
    check_done(trained);
    for (const char* words :
         {"c.jsonl: 2 examples (template of the model)",
          "first example, what is learned in brackets: <|im_start|>", " [<|im_end|>]\n",
          "before training: validation loss ", "examples/s"}) {
        CAPTURE(words);
        CHECK(trained.out.find(words) != std::string::npos);
    }
    spill(place / "in.txt", "a\r\n\r\na\n");
    const Arguments chat{"chat", "--model", "r", "--temperature", "0", "--tokens", "12"};
    const Outcome answered = place.run(chat, {.stdin_from = (place / "in.txt").string()});
    check_done(answered);
    CHECK(answered.out.starts_with("yes\n"));
    spill(place / "in.txt", "\xEF\xBB\xBF\r\na\r\n\r\na\n");  // a byte order mark is no message
    CHECK_EQ(place.run(chat, {.stdin_from = (place / "in.txt").string()}).out, answered.out);
    const Outcome measured = place.run({"eval", "--model", "r", "--data", "c.jsonl", "--json"});
    check_done(measured);
    CHECK(Json::parse(measured.out)["answers"] == 2);
    CHECK(Json::parse(measured.out)["exact"].get<int>() >= 1);
    check_done(place.run({"export", "--model", "r", "--out", "e"}));
    const Json config = Json::parse(slurp(place / "e/config.json"));
    CHECK(config["eos_token_id"] == 2);
    CHECK(config["bos_token_id"] == 1);
    const Json settings = Json::parse(slurp(place / "e/tokenizer_config.json"));
    CHECK(settings["chat_template"] == kChatml);
    CHECK(settings["eos_token"] == "<|im_end|>");
    CHECK(settings["bos_token"] == "<|im_start|>");
    Arguments exported = chat;
    exported[2] = "e";
    CHECK(place.run(exported, {.stdin_from = (place / "in.txt").string()}).out == answered.out);
}

TEST_CASE("cli chat: an adapter answers as the merged model does") {
    const ChatPlace place;
    check_done(place.run(place.training(
        {"--out", "r", "--lora", "8", "--lora-targets", "query", "value", "up", "down"})));
    check_done(place.run({"merge", "--model", "m", "--adapter", "r/adapter", "--out", "g"}));
    spill(place / "in.txt", "a\nb");
    const auto answers = [&](const Arguments& more) {
        const Outcome outcome =
            place.run(Arguments{"chat", "--temperature", "0", "--tokens", "8"} + more,
                      {.stdin_from = (place / "in.txt").string()});
        check_done(outcome);
        return outcome.out;
    };
    const std::string merged = answers({"--model", "r"});
    CHECK(answers({"--model", "m", "--adapter", "r/adapter"}) == merged);
    CHECK(answers({"--model", "g"}) == merged);
    check_done(place.run(Arguments{"chat", "--model", "r", "--weights", "int8"}));  // nothing said
}

TEST_CASE("cli chat: an adapter has its run's template, system message and ends") {
    const ChatPlace place;
    Json config = Json::parse(slurp(place / "m/config.json"));
    config["eos_token_id"] = 0;
    spill(place / "m/config.json", config.dump());
    const std::string mine = std::string("{# mine #}") + kChatml;
    spill(place / "my.jinja", mine);
    const auto training = [&](const Arguments& more) {
        return place.training(Arguments{"--out", "r", "--lora", "4", "--best"} + more);
    };
    check_done(place.run(training({"--chat-template", "my.jinja", "--chat-system", "Be brief."})));
    const Json of_run = Json::parse(slurp(place / "r/config.json"));
    for (const std::string folder : {"r/adapter", "r/best/adapter"}) {
        CAPTURE(folder);
        fs::remove_all(place / "g");
        const Outcome merged =
            place.run({"merge", "--model", "m", "--adapter", folder, "--out", "g"});
        check_done(merged);
        CHECK(
            merged.out.starts_with("chat template, end of texts '<|im_end|>': those next to the "
                                   "adapter, " +
                                   folder + "\n"));
        const Json now = Json::parse(slurp(place / "g/config.json"));
        CHECK(now["chat_template"] == of_run["chat_template"]);
        CHECK(now["chat_template"].get<std::string>().find("Be brief.") != std::string::npos);
        CHECK(now["eos_token_id"] == of_run["eos_token_id"]);
    }
    // The same file is the same template; another is refused without its whole program.
    check_done(place.run(
        training({"--chat-template", "my.jinja", "--chat-system", "Be brief.", "--resume"})));
    spill(place / "other.jinja", mine + std::string(500, ' '));
    const Outcome other = place.run(training({"--chat-template", "other.jinja", "--resume"}));
    check_refused(other, "chat_template was the program '{# mine #}{% for");
    CHECK(other.err.size() < 500);
}

TEST_CASE("cli chat: activations computed again and weights in int8, as the options say") {
    const ChatPlace place;
    const auto trained = [&](const char* out, const Arguments& more) {
        check_done(place.run(place.training(Arguments{"--out", out} + more)));
        return slurp(place / out / "model.safetensors");
    };
    CHECK((trained("p", {}) == trained("r", {"--recompute", "yes"})));
    const Arguments frozen{"--lora", "4", "--weights", "int8"};
    CHECK((trained("i", frozen) != trained("j", {"--lora", "4"})));
    const Outcome run = place.run(place.training(Arguments{"--out", "h"} + frozen));
    CHECK(run.out.find("context 32: 18808 parameters;") != std::string::npos);
    check_done(place.run({"sample", "--model", "i", "--prompt", "a", "--tokens", "2"}));
    const Outcome sum =
        place.run({"merge", "--model", "m", "--adapter", "i/adapter", "--out", "g"});
    check_done(sum);
    CHECK(sum.out.find("; it was trained over these weights in int8") != std::string::npos);
    check_refused(place.run(place.training({"--out", "x", "--weights", "int8"})),
                  "train: --weights int8 is for the weights that --lora freezes");
    check_refused(place.run(Arguments{"train", "--data", "c.jsonl", "--out", "j", "--resume",
                                      "--steps", "900"} +
                            frozen),
                  "--weights was f32 and is now int8");
    CHECK_FALSE(fs::exists(place / "x/model.safetensors"));
}

TEST_CASE("cli chat: an empty system message is written") {
    const ChatPlace place;
    const std::string empty = " <|im_start|> s y s t e m \\n <|im_end|> \\n <|im_start|> u s e r";
    const auto first = [&](const Arguments& more) {
        const Outcome outcome = place.run(place.training(more));
        check_done(outcome);
        return outcome.out;
    };
    CHECK(first({"--out", "a"}).find(empty) == std::string::npos);
    CHECK(first({"--out", "b", "--chat-system", ""}).find(empty) != std::string::npos);
    const auto loss = [&](const Arguments& more) {
        const Outcome outcome =
            place.run(Arguments{"eval", "--model", "a", "--data", "c.jsonl", "--json"} + more);
        check_done(outcome);
        return Json::parse(outcome.out)["loss"].get<double>();
    };
    CHECK(loss({}) != loss({"--chat-system", ""}));
    check_refused(place.run(place.training({"--out", "a", "--resume", "--chat-system", ""})),
                  "chat_system_empty was no and is now yes");
    spill(place / "in.txt", std::string(2, 'x') + "\n");
    check_done(place.run({"chat", "--model", "m", "--chat-system", "", "--tokens", "2"},
                         {.stdin_from = (place / "in.txt").string()}));
}

TEST_CASE("cli chat: bad input is one line") {
    const ChatPlace place;
    const auto refused = [&](const Arguments& more, const std::string& words) {
        check_refused(place.run(place.training(Arguments{"--out", "x"} + more)), words);
        CHECK_FALSE(fs::exists(place / "x/model.safetensors"));
    };
    refused({"--chat-template", "zephyr"}, "the template 'zephyr' is not known");
    refused({"--chat-template", "llama3"}, "needs the token '<|eot_id|>'");
    spill(place / "c.jsonl",
          "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}]}\n"
          "{\"prompt\": \"a\", \"completion\": \"b\"}\n");
    refused({}, "c.jsonl:1: no message is the assistant's");
    spill(place / "m/tokenizer_config.json", Json{{"chat_template", "[INST]"}}.dump());
    refused({},
            "chat: tried on messages of user, assistant and user: message 2: the chat template");
    check_refused(place.run({"chat", "--model", "m"}),
                  "the chat template does not write it; --chat-template takes");
    spill(place / "t.txt", simple_text());
    check_refused(place.run({"train", "--text", "t.txt", "--out", "x", "--chat-system", "s"}),
                  "chat_system is a setting of conversations");
    check_refused(
        place.run({"eval", "--model", "m", "--text", "t.txt", "--chat-template", "plain"}),
        "m is a language model, measured on --text or --data or --tokens; --chat-template does "
        "not apply");
    check_refused(
        place.run({"eval", "--model", "m", "--data", "no.jsonl", "--chat-template", "plain"}),
        "no.jsonl");
    check_refused(place.run({"eval", "--model", "m", "--data", "c.jsonl", "--batches", "3"}),
                  "--data are conversations, measured on --data; --batches does not apply");
    put_model(place / "letters");  // of characters, without a U
    spill(place / "in.txt", "the cat\n");
    check_refused(
        place.run({"chat", "--model", "letters"}, {.stdin_from = (place / "in.txt").string()}),
        "the conversation, as its template writes it: character 'U' (U+0055)");
    spill(place / "in.txt", std::string(200, 'x') + "\n");
    check_refused(place.run({"chat", "--model", "m", "--chat-template", "plain"},
                            {.stdin_from = (place / "in.txt").string()}),
                  "chat: the message has ");
}
