// Conversations: their tokens and which of them are learned, bad lines, runs, and a chat. Templates
// are in chat_template_test.cpp.
#include <tapestry/core/views.h>
#include <tapestry/nn/chat/chat_examples.h>
#include <tapestry/nn/generate/chat.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/io/peft.h>
#include <tapestry/nn/train/chat/chat_scores.h>
#include <tapestry/nn/train/chat/chat_task.h>
#include <tapestry/nn/train/replay.h>
#include <tapestry/ops/loss.h>
#include <tapestry/tests/nn/small_run.h>
#include <tapestry/tests/source_dir.h>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

using namespace tapestry;
using test::check_message;
using test::slurp;
using test::spill;
using Json = nlohmann::json;
using Ids = std::vector<std::int64_t>;
namespace fs = std::filesystem;

namespace {

const fs::path kLlama = test::source_dir() / "tests/fixtures/llama";  // with ChatML's marks

ChatTemplate plain(const LoadedModel& loaded) {
    return chosen_template({}, *loaded.tokenizer, "plain");
}

std::string line_of(const std::vector<ChatMessage>& messages) {
    Json list = Json::array();
    for (const ChatMessage& one : messages) {
        list.push_back({{"role", one.role}, {"content", one.content}});
    }
    return Json{{"messages", list}}.dump() + "\n";
}

// A model with rotary positions may have any.
void change_context(const fs::path& directory, std::int64_t context) {
    Json config = Json::parse(slurp(directory / "config.json"));
    config["max_position_embeddings"] = context;
    spill(directory / "config.json", config.dump());
}

// The directory of the fixture with a template, and conversations of which some are too long.
struct ChatPlace : test::RunPlace {
    ChatPlace() {
        fs::create_directory(base);
        for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"}) {
            fs::copy_file(kLlama / name, base / name);
        }
        spill(base / "chat_template.jinja", chat_program(ChatStyle::chatml));
        std::string lines;
        for (int i = 0; i < 40; ++i) {
            const std::string word(static_cast<std::size_t>(i % 5 + 1),
                                   static_cast<char>('a' + i % 7));
            lines += line_of({{"user", word + std::to_string(i)}, {"assistant", word}});
        }
        spill(data, lines);
    }
    TrainingConfig chat_config() const {
        TrainingConfig config;
        config.data = data.string();
        config.start = base.string();
        config.lora = 2;
        config.lora_dropout = 0.1;
        config.steps = 6;
        config.warmup = 0;
        config.eval_every = 3;
        config.batch = 4;
        config.micro_batches = 4;
        return config;
    }
    fs::path base = scratch / "base", data = scratch / "chat.jsonl";
};

const ChatTask& chat_task(const Session& session) {
    return dynamic_cast<const ChatTask&>(session.task());
}

}  // namespace

// ---- tokens -------------------------------------------------------------------------------------

TEST_CASE("chat: ChatML's ids are the tokenizer's of the whole text, and answers are learned") {
    const LoadedModel loaded = load_model(kLlama);
    const ChatEncoder encoder({with_system(chat_program(ChatStyle::chatml), "Be brief.")},
                              *loaded.tokenizer);
    const std::vector<ChatMessage> messages{
        {"user", "Hi 12"}, {"assistant", "Yes"}, {"user", "So?"}, {"assistant", "No."}};
    const ChatTokens tokens = encoder.encode(messages);
    const std::string text =
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi 12<|im_end|>\n"
        "<|im_start|>assistant\nYes<|im_end|>\n<|im_start|>user\nSo?<|im_end|>\n"
        "<|im_start|>assistant\nNo.<|im_end|>";
    CHECK(tokens.ids == loaded.tokenizer->encode(text));
    REQUIRE(tokens.is_target.size() == tokens.ids.size());
    Ids learned;
    for (std::size_t i = 0; i < tokens.ids.size(); ++i) {
        if (tokens.is_target[i] != 0) learned.push_back(tokens.ids[i]);
    }
    CHECK(loaded.tokenizer->decode(learned) == "Yes<|im_end|>No.<|im_end|>");
    // What a model reads before its first answer is the beginning of what it learned from.
    const Ids prompt = encoder.prompt(std::span(messages).first(1));
    REQUIRE(prompt.size() < tokens.ids.size());
    CHECK(std::equal(prompt.begin(), prompt.end(), tokens.ids.begin()));
    CHECK(tokens.is_target[prompt.size()] == 1);
    CHECK(tokens.is_target[prompt.size() - 1] == 0);
    // The user's last words are not learned from.
    std::vector<ChatMessage> more = messages;
    more.push_back({"user", "Thanks"});
    CHECK(encoder.encode(more).ids == tokens.ids);
}

TEST_CASE("chat: a prompt and its completion are taken as they are, and end") {
    const LoadedModel loaded = load_model(kLlama);
    const ChatEncoder encoder(plain(loaded), *loaded.tokenizer);
    const ChatTokens tokens = encoder.encode("2 + 2 =", " 4");
    Ids expected = loaded.tokenizer->encode("2 + 2 =");
    const std::size_t prompt = expected.size();
    for (const std::int64_t id : loaded.tokenizer->encode(" 4")) expected.push_back(id);
    expected.push_back(0);  // <|endoftext|>
    CHECK(tokens.ids == expected);
    for (std::size_t i = 0; i < expected.size(); ++i)
        CHECK((tokens.is_target[i] != 0) == (i >= prompt));
    CHECK(encoder.encode("", "x").is_target.front() == 0);
}

TEST_CASE("chat: the plain form, of characters without an end of text") {
    const CharTokenizer characters = CharTokenizer::from_text("User: Hi\nAssistant: Yo");
    const ChatEncoder encoder({chat_program(ChatStyle::plain)}, characters);
    const std::vector<ChatMessage> messages{{"user", "Hi"}, {"assistant", "Yo"}};
    const ChatTokens tokens = encoder.encode(messages);
    CHECK(characters.decode(tokens.ids) == "User: Hi\nAssistant: Yo\n");
    CHECK(std::count(tokens.is_target.begin(), tokens.is_target.end(), 1) == 4);  // " Yo\n"
    const std::vector<ChatMessage> lines{{"user", "Hi"}, {"assistant", "Yo\nYo"}};
    check_message<ValueError>([&] { encoder.encode(lines); }, "answer has a line break");
    check_message<ValueError>([&] { ChatEncoder({chat_program(ChatStyle::chatml)}, characters); },
                              "the template chatml needs the token '<|im_end|>', which the "
                              "vocabulary lacks");
}

TEST_CASE("chat: an answer of weight 0 is read and not learned") {
    const LoadedModel loaded = load_model(kLlama);
    const test::Scratch scratch;
    const auto tokens = [&](const char* weight) {
        const std::string bad =
            fmt::format(R"({{"role": "assistant", "content": "bad", "weight": {}}})", weight);
        spill(scratch / "c.jsonl",
              R"({"messages": [{"role": "user", "content": "x"}, )" + bad +
                  R"(, {"role": "user", "content": "y"}, )"
                  R"({"role": "assistant", "content": "good", "weight": 1}, )" +
                  bad + "]}");
        const ChatExamples from = read_chat_examples(scratch / "c.jsonl");
        return encoded(from, from.examples.front(), ChatEncoder(plain(loaded), *loaded.tokenizer));
    };
    const auto learned = [&](const ChatTokens& all) {
        Ids ids;
        for (std::size_t i = 0; i < all.ids.size(); ++i) {
            if (all.is_target[i] != 0) ids.push_back(all.ids[i]);
        }
        return loaded.tokenizer->decode(ids);
    };
    const std::string end = "<|endoftext|>";
    const ChatTokens one = tokens("1"), none = tokens("0");
    CHECK(learned(one) == " bad" + end + " good" + end + " bad" + end);
    CHECK(learned(none) == " good" + end);
    // The same tokens, up to the last that is learned.
    REQUIRE(none.ids.size() < one.ids.size());
    CHECK(std::equal(none.ids.begin(), none.ids.end(), one.ids.begin()));
    CHECK(none.is_target.back() == 1);
}

TEST_CASE("chat: an example that is cut has a target behind its first token") {
    for (std::int64_t prompt = 1; prompt < 40; ++prompt) {
        for (std::int64_t answer = 1; answer < 40; answer += 3) {
            for (const std::int64_t most : {2, 3, 8, 33}) {
                ChatTokens tokens{Ids(static_cast<std::size_t>(prompt), 1),
                                  std::vector<std::uint8_t>(static_cast<std::size_t>(prompt), 0)};
                tokens.ids.resize(tokens.ids.size() + static_cast<std::size_t>(answer), 2);
                tokens.is_target.resize(tokens.ids.size(), 1);
                const bool is_long = prompt + answer > most;
                CHECK(cut_to(tokens, most) == is_long);
                CHECK(std::ssize(tokens.ids) == std::min(most, prompt + answer));
                CHECK(tokens.is_target.size() == tokens.ids.size());
                CHECK(std::count(tokens.is_target.begin() + 1, tokens.is_target.end(), 1) > 0);
            }
        }
    }
}

TEST_CASE("chat: bad lines are one message with file and line") {
    const test::Scratch scratch;
    const LoadedModel loaded = load_model(kLlama);
    const ChatEncoder encoder({chat_program(ChatStyle::chatml)}, *loaded.tokenizer);
    const std::string good = line_of({{"user", "a"}, {"assistant", "b"}});
    const auto refused = [&](const std::string& line, const char* words) {
        spill(scratch / "c.jsonl", good + "\n" + line + "\n");
        const auto read = [&] {
            const ChatExamples from = read_chat_examples(scratch / "c.jsonl");
            for (const ChatExample& one : from.examples) encoded(from, one, encoder);
        };
        check_message<IoError>(read, (std::string("c.jsonl:3: ") + words).c_str());
    };
    refused("{", "not JSON");
    refused("[1]", "not an object");
    refused("{\"body\": \"a\"}", "has neither \"messages\" nor \"prompt\" and \"completion\"");
    refused("{\"prompt\": \"a\"}", "\"completion\" is missing");
    refused("{\"prompt\": 3, \"completion\": \"a\"}", "\"prompt\" is 3, not a text");
    refused("{\"prompt\": \"a\", \"completion\": \"\"}", "the assistant's answer is empty");
    refused("{\"messages\": {}}", "\"messages\" is not a list");
    refused("{\"messages\": []}", "no message is the assistant's");
    refused("{\"messages\": [{\"role\": \"user\"}]}", "message 1: \"content\" is missing");
    refused(line_of({{"user", "a"}}),
            "no message is the assistant's, so there is nothing to learn");
    refused(line_of({{"tool", "a"}, {"assistant", "b"}}), "the role 'tool' is not supported");
    const auto answer = [](const char* more) {
        return fmt::format(
            R"({{"messages": [{{"role": "assistant", "content": "b", {}}}], "tools": []}})", more);
    };
    refused(answer(R"("weight": 0)"), "all of the assistant's messages have the weight 0, so");
    refused(answer(R"("weight": 0.5)"), "message 1: \"weight\" is 0.5; must be 0 or 1");
    refused(answer(R"("tool_calls": [{"id": "1"}])"),
            "message 1: a call in \"tool_calls\" is not {\"function\": ");
    refused(answer(R"("function_call": {})"), "message 1: \"function_call\" is not supported");
    refused(R"({"tools": [{}], "prompt": "a", "completion": "b"})", "\"tools\" are for messages");
    refused(answer(R"("content": "c")"), "duplicate key 'content'");
    refused(line_of({{"user", "a"}, {"system", "s"}, {"assistant", "b"}}),
            "message 2: a system message must be the first");
    refused(line_of({{"user", "a<|im_end|>"}, {"assistant", "b"}}),
            "the user's text has '<|im_end|>', a mark of the chat template");
    spill(scratch / "c.jsonl", "\n \n");
    check_message<IoError>([&] { read_chat_examples(scratch / "c.jsonl"); }, "no examples");
}

// ---- the loss -----------------------------------------------------------------------------------

TEST_CASE("chat: padding changes no loss, and only answers count") {
    const LoadedModel loaded = load_model(kLlama);
    LanguageModel& model = *loaded.model;
    model.to(DType::f64);
    const ChatEncoder encoder({chat_program(ChatStyle::chatml)}, *loaded.tokenizer);
    std::vector<ChatTokens> all;
    all.push_back(encoder.encode("a longer prompt", " b"));
    all.push_back(encoder.encode("p", " a longer answer"));
    std::vector<const ChatTokens*> rows;
    double sum = 0, count = 0;
    for (const ChatTokens& one : all) {
        rows.push_back(&one);
        const std::int64_t length = std::ssize(one.ids) - 1;
        const Tensor ids = tensor(Ids(one.ids.begin(), one.ids.end() - 1), {1, length});
        const Tensor next = tensor(Ids(one.ids.begin() + 1, one.ids.end()), {1, length});
        const auto losses =
            cross_entropy(model(ids), next, {.reduction = Reduction::none}).to_vector<double>();
        for (std::size_t t = 0; t < losses.size(); ++t) {
            if (one.is_target[t + 1] == 0) continue;
            sum += losses[t];
            ++count;
        }
    }
    const Batch batch = batch_of(rows);
    CHECK(count_targets(batch.targets) == count);
    CHECK(std::abs(model.loss(batch.inputs, batch.targets).item<double>() - sum / count) < 1e-12);
}

// ---- runs ---------------------------------------------------------------------------------------

TEST_CASE("chat: a run takes the directory's template, says what it learns, and keeps both") {
    const ChatPlace place;
    train_shared(place, place.chat_config(), {});
    const Session session(place.chat_config());
    CHECK(session.config().chat_template == "chatml");
    CHECK(chat_task(session).chat().train.size() == 36);
    CHECK(chat_task(session).chat().held_out.size() == 4);
    CHECK(session.task().data_text().find("40 examples (template chatml), ") != std::string::npos);
    CHECK(session.task().example_text().find(
              " <|im_start|> u s e r \\n a 0 <|im_end|> \\n <|im_start|> a s") !=
          std::string::npos);
    CHECK(session.task().example_text().ends_with(" [a] [<|im_end|>]\n"));
    const TextConventions kept = load_text_conventions(place.out);
    CHECK(kept.chat_template == chat_program(ChatStyle::chatml));
    const Ids end = load_model(place.out).tokenizer->encode("<|im_end|>");
    CHECK(kept.eos == Ids{end.front(), 0});
    TrainingConfig measured;
    measured.start = place.out.string();
    measured.data = place.data.string();
    const ChatScores scores = evaluate_on_chat(measured);
    CHECK(scores.answers == 40);
    CHECK(scores.tokens == chat_task(session).chat().targets);
    CHECK(scores.exact <= scores.answers);
}

TEST_CASE("chat: examples of one question are not split, and the longest are cut") {
    ChatPlace place;
    std::string lines;
    for (int i = 0; i < 30; ++i) {
        lines += line_of({{"user", std::string(1, static_cast<char>('a' + i % 10))},
                          {"assistant", std::string(static_cast<std::size_t>(i + 1), 'x')}});
    }
    spill(place.data, lines);
    const Session session(place.chat_config());
    const ChatData& data = chat_task(session).chat();
    CHECK(data.held_out.size() == 3);  // the tenth question, three times
    CHECK(data.cut > 0);
    CHECK(data.longest == 33);  // the context of 32 and one more to predict
    Generator generator(3);
    for (int i = 0; i < 20; ++i) {
        const Batch batch = session.task().next_batch(generator);
        CHECK(batch.inputs.size(1) <= 32);
        for (std::int64_t row = 0; row < 4; ++row) {
            CHECK(count_targets(views::slice(batch.targets, 0, row, row + 1)) > 0);
        }
        session.task().check_batch(batch);
    }
}

TEST_CASE("chat: the first example is shown where it is learned") {
    ChatPlace place;
    TrainingConfig config = place.chat_config();
    const auto shown = [&](std::size_t before, std::size_t answer) {
        spill(place.data, line_of({{"user", std::string(before, '7')},
                                   {"assistant", std::string(answer, '8')}}) +
                              line_of({{"user", "b"}, {"assistant", "c"}}));
        change_context(place.base, 2000);
        return Session(config).task().example_text();
    };
    const std::string few = shown(20, 3);
    CHECK(few.find("learned in brackets: <|im_start|>") != std::string::npos);
    CHECK(few.ends_with(" [8] [8] [8] [<|im_end|>]\n"));
    const std::string late = shown(500, 3);
    CHECK(late.find("learned in brackets: ... 7 7") != std::string::npos);
    CHECK(late.find(" [8] [8] [8] [<|im_end|>] (") != std::string::npos);
    CHECK(late.ends_with(" tokens)\n"));
    const std::string both = shown(500, 500);
    CHECK(both.find("learned in brackets: ... 7 7") != std::string::npos);
    CHECK(both.find(" [8] [8] ... (") != std::string::npos);
}

TEST_CASE("chat: an empty system message differs from none, also in a resumed run") {
    const ChatPlace place;
    const std::string with_default =
        "{% if messages[0].role != 'system' %}<|im_start|>system\nHelp.<|im_end|>\n{% endif %}" +
        chat_program(ChatStyle::chatml);
    for (const std::string& program : {with_default, chat_program(ChatStyle::chatml)}) {
        spill(place.base / "chat_template.jinja", program);
        fs::remove_all(place.out);
        TrainingConfig config = place.chat_config();
        config.lora_dropout = 0;
        const std::string usual = Session(config).task().example_text();
        config.chat_system_empty = true;
        const std::string empty =
            " <|im_start|> s y s t e m \\n <|im_end|> \\n <|im_start|> u s e r";
        CHECK(usual.find(empty) == std::string::npos);
        CHECK(Session(config).task().example_text().find(empty) != std::string::npos);
        train_shared(place, config, {.last = 3});
        TrainingConfig again = place.chat_config();  // as without options
        train_shared(place, again, {.resume = true});
        const TextConventions kept = load_text_conventions(place.out);
        CHECK(kept.chat_template == with_system(program, ""));
    }
}

TEST_CASE("chat: interrupted, resumed, rewound and by several processes, the same bytes") {
    const auto bytes_in = [](const fs::path& out) {
        return slurp(out / "model.safetensors") + slurp(out / "adapter" / kAdapterWeightsName);
    };
    const ChatPlace whole;
    train_shared(whole, whole.chat_config(), {});
    const std::string expected = bytes_in(whole.out);
    for (const int processes : {1, 3}) {
        CAPTURE(processes);
        const ChatPlace parts;
        train_shared(parts, parts.chat_config(), {.processes = processes, .last = 3});
        CHECK((bytes_in(parts.out) != expected));
        train_shared(parts, parts.chat_config(), {.processes = 4 - processes, .resume = true});
        CHECK((bytes_in(parts.out) == expected));
    }
    const RunHistory history(whole.out);
    const auto session = Replayer(history).session_before(4);
    CHECK(session->steps() == 3);
    while (!session->is_finished()) session->take_step();
    save_task(whole.scratch / "again", session->task());
    CHECK((slurp(whole.scratch / "again/model.safetensors") ==
           slurp(whole.out / "model.safetensors")));
}

TEST_CASE("chat: what a process says that it has computed are examples, not tokens") {
    const ChatPlace place;
    Session session(place.chat_config());
    session.take_step();
    session.take_step();
    CHECK_EQ(session.accounts()[0].tokens, 2 * 4);
    CHECK(processes_text(session.accounts(), session.task().unit()).find(", 8 examples, ") !=
          std::string::npos);
}

TEST_CASE("chat: what a run refuses") {
    const ChatPlace place;
    const auto refused = [&](const std::function<void(TrainingConfig&)>& change,
                             const char* words) {
        TrainingConfig config = place.chat_config();
        change(config);
        check_message<ValueError>([&] { Session session(config); }, words);
    };
    refused([](TrainingConfig& c) { c.start.clear(), c.lora = 0; },
            "for which a trained model is needed (--model)");
    refused([](TrainingConfig& c) { c.chat_template = "zephyr"; }, "the template 'zephyr' is not");
    refused([](TrainingConfig& c) { c.chat_template = "llama3"; },
            "the template llama3 needs the token '<|eot_id|>'");
    refused([](TrainingConfig& c) { c.test_fraction = 0.1; }, "--test-fraction is for a text");
    refused([](TrainingConfig& c) { c.sequence = 33; }, "more than the model's context of 32");
    spill(place.data, line_of({{"user", "a"}, {"assistant", "b"}}));
    spill(place.data, slurp(place.data) + slurp(place.data));
    refused([](TrainingConfig&) {},
            "chat.jsonl: one question only, in 2 examples, so none can be held out for validation; "
            "add an example of another question");
    spill(place.base / "chat_template.jinja", "\n{{ something | else }}");
    refused([](TrainingConfig&) {}, "chat: the template, line 2: the filter 'else' is not");
    const auto begin = [&] {
        begin_run({.config = place.config(),
                   .given = {"chat_system"},
                   .out = (place.scratch / "new").string()});
    };
    check_message<ValueError>(begin, "train: chat_system is a setting of conversations");
}

// ---- a chat -------------------------------------------------------------------------------------

TEST_CASE("chat: an answer ends at the template's end, and is what greedy decoding writes") {
    const ChatPlace place;
    spill(place.data, line_of({{"user", "a"}, {"assistant", "yes"}}) +
                          line_of({{"user", "b"}, {"assistant", "no"}}));
    TrainingConfig config = place.chat_config();
    config.lora = 0;
    config.micro_batches = 1;
    config.steps = 60;
    config.lr = config.min_lr = 0.01;
    train_shared(place, config, {});
    const LoadedModel loaded = load_model(place.out);
    const ChatTemplate form = chosen_template(loaded.conventions, *loaded.tokenizer);
    Generator generator(1);
    Chat chat(*loaded.model, *loaded.tokenizer, form, {.tokens = 12, .temperature = 0});
    std::string streamed;
    const std::string answer = chat.answer("a", generator, [&](const std::string& piece) {
        streamed += piece;
        return true;
    });
    CHECK(answer == "yes");
    CHECK(streamed == "yes");
    CHECK(chat.messages().size() == 2);
    CHECK(chat.messages()[1].content == "yes");
}

TEST_CASE("chat: the oldest exchanges are forgotten when the context is full") {
    const LoadedModel loaded = load_model(kLlama);  // context 32
    Generator generator(1);
    Chat chat(*loaded.model, *loaded.tokenizer, plain(loaded), {.tokens = 4, .temperature = 0});
    for (int i = 0; i < 4; ++i) chat.answer("a", generator);  // "User: a\nAssistant:" is 18 tokens
    CHECK(chat.forgotten() == 6);
    CHECK(chat.messages().size() == 2);
    check_message<ValueError>([&] { chat.answer(std::string(40, 'q'), generator); },
                              "chat: the message has ");
    CHECK(chat.messages().size() == 2);
}
