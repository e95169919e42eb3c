// A step on a custom text: inputs and targets for both kinds of model.
#include <tapestry/core/create.h>
#include <tapestry/nn/inspect/inspector.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/io/transformer_directory.h>
#include <tapestry/nn/train/step_on_text.h>
#include <tapestry/tests/core/scratch.h>

#include <cmath>

using namespace tapestry;
using test::check_message;

namespace {

struct Models {
    Models() {
        Generator generator(1);
        const CharTokenizer tokenizer = CharTokenizer::from_text("abcde ");
        save_model(gpt,
                   GPT({.vocab = 6, .context = 8, .layers = 1, .heads = 2, .dim = 16}, generator),
                   tokenizer);
        save_model(both,
                   Transformer({.source_vocab = 9,
                                .target_vocab = 9,
                                .dim = 16,
                                .heads = 2,
                                .layers = 1,
                                .padding_id = 0},
                               generator),
                   tokenizer);
    }

    test::Scratch scratch;
    std::string gpt = (scratch / "gpt").string();
    std::string both = (scratch / "both").string();
};

}  // namespace

TEST_CASE("step on text: a GPT predicts each from those before it") {
    const Models models;
    const StepOnText step = step_on_text(models.gpt, "bad cab");
    CHECK_EQ(step.predicted, "6 characters predicted, each from those before it");
    REQUIRE_EQ(step.texts.size(), 1);
    CHECK_EQ(step.texts[0].queries, std::vector<std::string>{"b", "a", "d", " ", "c", "a"});
    const WatchedStep watched(*step.model, step.loss);
    CHECK(watched.inspector().entries().back().name.starts_with("cross_entropy"));

    // The loss is the model's loss on the text's ids.
    const LoadedModel loaded = load_model(models.gpt);
    const auto ids = loaded.tokenizer->encode("bad cab", "text");
    const Tensor inputs = tensor(std::vector<std::int64_t>(ids.begin(), ids.end() - 1), {1, 6});
    const Tensor targets = tensor(std::vector<std::int64_t>(ids.begin() + 1, ids.end()), {1, 6});
    CHECK_EQ(watched.loss(), loaded.model->loss(inputs, targets).item());

    const PageOptions page = step.page(1.23456);
    CHECK_EQ(page.title, "One step of " + std::filesystem::path(models.gpt).filename().string());
    CHECK(page.subtitle.ends_with(
        " parameters; 6 characters predicted, each from those before it; loss 1.2346"));
}

// Which of the two is decided when the library is built (TAPESTRY_WASM).
TEST_CASE("step on text: the page of a GPT answers, or says which build does") {
    const Models models;
    const auto page_of = [](const StepOnText& step) {
        const WatchedStep watched(*step.model, step.loss);
        return to_html(watched.inspector(), step.page(watched.loss()));
    };
    const auto has = [](const std::string& page, const char* text) {
        return page.find(text) != std::string::npos;
    };
    const std::string gpt = page_of(step_on_text(models.gpt, "bad cab"));
    CHECK(has(gpt, "\"prompt\":\"bad cab\""));
    CHECK(has(gpt, "id=\"live-wasm\""));
    CHECK_EQ(has(gpt, "id=\"live-model\""), has(gpt, "id=\"live-worker\""));
    CHECK_EQ(has(gpt, " 'wasm-unsafe-eval'; worker-src blob:;"), has(gpt, "id=\"live-worker\""));
    CHECK(has(gpt, "a build with live pages takes others"));
    const std::string both = page_of(step_on_text(models.both, "abc", "de"));
    CHECK_FALSE(has(both, "id=\"live-"));
    CHECK_FALSE(has(both, "wasm-unsafe-eval"));
}

TEST_CASE("step on text: an encoder-decoder reads and writes") {
    const Models models;
    const StepOnText step = step_on_text(models.both, "abc", "de");
    CHECK_EQ(step.predicted,
             "3 characters read, 2 and the end predicted, each from those before it");
    CHECK(std::isfinite(step.loss().item()));
    bool begins = false;
    for (const PageText& text : step.texts) {
        begins = begins || text.queries == std::vector<std::string>{"[begin]", "d", "e"};
    }
    CHECK(begins);
}

TEST_CASE("step on text: what cannot be predicted") {
    const Models models;
    const auto refused = [](const std::string& directory, const std::string& prompt,
                            const std::optional<std::string>& target, const std::string& words) {
        check_message<ValueError>([&] { step_on_text(directory, prompt, target); }, words);
    };
    refused(models.gpt, "a", {},
            "inspect: the prompt has 1 character; it needs at least 2, to predict each from");
    refused(models.gpt, "abcdeabcde", {},
            "inspect: the prompt has 10 characters; the model looks at 8 and predicts one more, so "
            "at most 9 are allowed");
    refused(models.gpt, "ab", "c", "is a GPT, which continues the prompt; --target is for an");
    refused(models.both, "ab", {}, "is an encoder-decoder; it needs --target, the text to write");
    refused(models.both, "", "c", "inspect: the prompt has no characters");
    refused(models.both, "a", "", "inspect: the target has no characters");
    refused(models.gpt, "ax", {}, "prompt: character 'x'");
}

TEST_CASE("step on text: tokens as text, each by itself") {
    const CharTokenizer tokenizer = CharTokenizer::from_text("aé");
    const std::vector<std::int64_t> ids{1, 0, 1};
    CHECK_EQ(token_texts(tokenizer, ids), std::vector<std::string>{"é", "a", "é"});
    CHECK(token_texts(tokenizer, {}).empty());
}
