// inspect: a page about what the model did with the prompt, checked by its data, or the same in the
// terminal. GPTs and encoder-decoders.
#include <tapestry/nn/io/transformer_directory.h>
#include <tapestry/tests/cli/command.h>

#include <nlohmann/json.hpp>

using namespace tapestry::test;
using Json = nlohmann::json;

namespace {

Json data_of(const std::string& page) { return Json::parse(data_of_page(page)); }

// An untrained encoder-decoder of two layers whose vocabulary is a to e and the space.
void put_encoder_decoder(const std::filesystem::path& to,
                         tapestry::Positions positions = tapestry::Positions::sinusoidal) {
    using namespace tapestry;
    Generator generator(3);
    const Transformer model({.source_vocab = 9,
                             .target_vocab = 9,
                             .dim = 16,
                             .heads = 2,
                             .layers = 2,
                             .positions = positions,
                             .max_length = 6,
                             .padding_id = 0},
                            generator);
    save_model(to, model, CharTokenizer::from_text("abcde "));
}

}  // namespace

TEST_CASE("cli inspect: a page of the step that was taken") {
    const Place place;
    put_model(place / "m");
    const std::string before = slurp(place / "m" / "model.safetensors");
    const Outcome outcome =
        place.run({"inspect", "--model", "m", "--prompt", "The cat sat", "--out", "p.html"});
    check_done(outcome);
    CHECK(outcome.out.starts_with("'p.html': "));
    CHECK(outcome.out.find(" 2 heads, ") != std::string::npos);
    CHECK_EQ(slurp(place / "m" / "model.safetensors"), before);

    const std::string page = slurp(place / "p.html");
    CHECK(page.starts_with("<!doctype html>"));
    CHECK(page.find("default-src 'none'") != std::string::npos);
    const Json data = data_of(page);
    CHECK(data.at("subtitle").get<std::string>().find("10 characters predicted") !=
          std::string::npos);
    REQUIRE_EQ(data.at("attention").size(), 1);
    const Json& attention = data.at("attention").at(0);
    CHECK_EQ(attention.at("queryTexts"), (Json{"T", "h", "e", " ", "c", "a", "t", " ", "s", "a"}));
    CHECK_EQ(attention.at("heads"), 2);
    CHECK_EQ(attention.at("dim"), 8);
    CHECK_EQ(data.at("entries").back().at("op"), "cross_entropy");
    CHECK_EQ(data.at("walk").size(), data.at("entries").size());
    for (const Json& parameter : data.at("parameters")) {
        INFO(parameter.at("name"));
        CHECK_FALSE(parameter.at("grad").is_null());
    }
}

TEST_CASE("cli inspect: what makes no sense is refused, and leaves no page") {
    const Place place;
    put_model(place / "m");
    const auto refused = [&](const Arguments& arguments, const std::string& words) {
        const Outcome outcome = place.run(Arguments{"inspect"} + arguments);
        check_refused(outcome, words);
        CHECK_FALSE(std::filesystem::exists(place / "page.html"));
    };
    refused({"--model", "m"}, "--prompt is required");
    refused({"--prompt", "The"}, "--model is required");
    refused({"--model", "nowhere", "--prompt", "The"}, "nowhere");
    refused({"--model", "m", "--prompt", ""}, "the prompt has 0 characters");
    refused({"--model", "m", "--prompt", "T"}, "the prompt has 1 character; it needs at least 2");
    refused({"--model", "m", "--prompt", "The \xe7\x8c\xab"}, "prompt");
    refused({"--model", "m", "--prompt", "The cat sat on the mat"},
            "the prompt has 22 characters; the model looks at 16 and predicts one more, so at most "
            "17 are allowed");
    refused({"--model", "m", "--prompt", "The", "--out", "no/p.html"}, "no/p.html");
}

TEST_CASE("cli inspect --print: the tape and all heads, no page") {
    const Place place;
    put_model(place / "m");
    const Arguments print{"inspect", "--model", "m", "--prompt", "The cat sat", "--print"};
    const Outcome outcome = place.run(print);
    check_done(outcome);
    CHECK_FALSE(std::filesystem::exists(place / "page.html"));
    const auto lines = lines_of(outcome.out);
    CHECK_EQ(lines[0], "One step of m");
    CHECK(lines[1].find("10 characters predicted, each from those before it; loss ") !=
          std::string::npos);
    CHECK(lines[3].find(" kept for backward; ") != std::string::npos);
    CHECK(lines[4].find("module ") != std::string::npos);
    const auto has = [&](const std::string& words) {
        INFO("wanted: " << words);
        CHECK(outcome.out.find(words) != std::string::npos);
    };
    has(" linear ");
    has("  blocks.0.attention.qkv  ");
    has("cross_entropy (");
    has("layer 0: blocks.0.attention, causal self-attention, 10 queries, 10 keys\n0: ");
    has(" nats        1: ");
    has("|@@              |  |@@              |\n");
    has("weights from . 0.01  : 0.04  - 0.09  = 0.16  + 0.25  * 0.36  # 0.49  % 0.64  @ 0.81\n");

    const Outcome fine = place.run(print, {.environment = {{"TAPESTRY_FUSE", "0"}}});
    check_done(fine);
    CHECK(fine.out.find("no attention on the tape as one operation\n") != std::string::npos);
    check_refused(place.run(print + Arguments{"--layer", "0", "--head", "0"},
                            {.environment = {{"TAPESTRY_FUSE", "0"}}}),
                  "there is no layer 0 of attention; there are 0");
    const Outcome page = place.run({"inspect", "--model", "m", "--prompt", "The"},
                                   {.environment = {{"TAPESTRY_FUSE", "0"}}});
    check_done(page);
    CHECK(page.out.find(" entries, 0 heads, ") != std::string::npos);
}

TEST_CASE("cli inspect --print: one head, large") {
    const Place place;
    put_model(place / "m");
    const Arguments print{"inspect", "--model", "m", "--prompt", "The cat sat", "--print"};
    const Outcome outcome = place.run(print + Arguments{"--layer", "0", "--head", "1"});
    check_done(outcome);
    const auto lines = lines_of(outcome.out);
    CHECK_EQ(lines[3],
             "layer 0, head 1: blocks.0.attention, causal self-attention, 10 queries, 10 keys");
    CHECK(lines[4].find(" nats of entropy, looks ") != std::string::npos);
    CHECK_EQ(lines[6], "   T h e _ c a t _ s a");
    CHECK_EQ(lines[7], "T |@@                  |");
    CHECK(lines[10].starts_with("_ |"));
    const Outcome narrow = place.run({"inspect", "--model", "m", "--prompt", "The cat sat on the",
                                      "--print", "--layer", "0", "--head", "0", "--width", "40"});
    check_refused(narrow, "the prompt has 18 characters");

    check_refused(place.run(print + Arguments{"--layer", "1", "--head", "0"}),
                  "inspect: there is no layer 1 of attention; there are 1");
    check_refused(place.run(print + Arguments{"--layer", "0", "--head", "2"}),
                  "inspect: layer 0 has no head 2; it has 2");
    check_refused(place.run(print + Arguments{"--layer", "0"}), "--layer requires --head");
    check_refused(place.run({"inspect", "--model", "m", "--prompt", "The", "--width", "60"}),
                  "--width requires --print");
    check_refused(place.run(print + Arguments{"--out", "p.html"}), "--out excludes --print");
    check_refused(
        place.run({"inspect", "--model", "m", "--prompt", "The", "--layer", "0", "--head", "0"}),
        "requires --print");
}

TEST_CASE("cli inspect: an encoder-decoder, with the texts on both sides") {
    const Place place;
    put_encoder_decoder(place / "m");
    const Arguments inspect{"inspect", "--model", "m", "--prompt", "abc de", "--target", "bad"};
    const Outcome outcome = place.run(inspect + Arguments{"--out", "p.html"});
    check_done(outcome);
    CHECK(outcome.out.find(" 12 heads, ") != std::string::npos);
    const Json data = data_of(slurp(place / "p.html"));
    CHECK(
        data.at("subtitle")
            .get<std::string>()
            .find("6 characters read, 3 and the end predicted, each from those before it; loss ") !=
        std::string::npos);
    REQUIRE_EQ(data.at("attention").size(), 6);
    const Json read{"a", "b", "c", " ", "d", "e"}, written{"[begin]", "b", "a", "d"};
    for (const Json& a : data.at("attention")) {
        const auto module = a.at("module").get<std::string>();
        CAPTURE(module);
        const bool encoder = module.starts_with("encoder.");
        const bool cross = module.find("cross") != std::string::npos;
        CHECK_EQ(a.at("queryTexts"), encoder ? read : written);
        CHECK_EQ(a.at("keyTexts"), encoder || cross ? read : written);
        CHECK_EQ(a.at("cross"), cross);
        CHECK_EQ(a.at("causal"), !encoder && !cross);
    }
    const Outcome printed = place.run(inspect + Arguments{"--print"});
    check_done(printed);
    for (const char* words : {"encoder.0.attention, self-attention, 6 queries, 6 keys\n",
                              "decoder.1.attention, causal self-attention, 4 queries, 4 keys\n",
                              "decoder.1.cross_attention, cross-attention, 4 queries, 6 keys\n"}) {
        INFO(words);
        CHECK(printed.out.find(words) != std::string::npos);
    }
    const Outcome head = place.run(inspect + Arguments{"--print", "--layer", "3", "--head", "1"});
    check_done(head);
    CHECK(head.out.find("\n         a b c _ d e\n[begin] |") != std::string::npos);
    CHECK(head.out.find("places away") == std::string::npos);
}

TEST_CASE("cli inspect: an encoder-decoder and what it is not given, or cannot read") {
    const Place place;
    put_encoder_decoder(place / "m");
    put_encoder_decoder(place / "learned", tapestry::Positions::learned);
    put_model(place / "gpt");
    spill(place / "t.txt", simple_text());
    const auto refused = [&](const Arguments& arguments, const std::string& words) {
        check_refused(place.run(Arguments{"inspect"} + arguments), words);
        CHECK_FALSE(std::filesystem::exists(place / "page.html"));
    };
    refused({"--model", "m", "--prompt", "abc"},
            "inspect: 'm' is an encoder-decoder; it needs --target, the text to write");
    refused({"--model", "gpt", "--prompt", "The cat", "--target", "The"},
            "inspect: 'gpt' is a GPT, which continues the prompt; --target is for an encoder-d");
    refused({"--model", "m", "--prompt", "abx", "--target", "a"},
            "prompt: character 'x' (U+0078) at position 2 is not in the model's vocabulary");
    refused({"--model", "m", "--prompt", "ab", "--target", "a\xe7"}, "target: not UTF-8 at byte 1");
    refused({"--model", "m", "--prompt", "", "--target", "a"}, "the prompt has no characters");
    refused({"--model", "m", "--prompt", "a", "--target", ""}, "the target has no characters");
    refused({"--model", "learned", "--prompt", "abcabca", "--target", "a"},
            "the prompt has 7 characters; the model has positions for 6");
    refused({"--model", "learned", "--prompt", "abcabc", "--target", "abcabc"},
            "the target has 6 characters; the model has positions for 5");
    check_done(place.run({"inspect", "--model", "learned", "--prompt", "abcabc", "--target",
                          "abcab", "--out", "p.html"}));

    const std::string words = "m/config.json: the model is an encoder-decoder, expected a GPT";
    check_refused(place.run({"sample", "--model", "m"}), words);
    check_refused(place.run({"eval", "--model", "m", "--text", "t.txt"}),
                  "t.txt:1: has no tab between source and target");
    check_refused(place.run({"export", "--model", "m", "--out", "e"}), words);
    check_refused(place.run({"train", "--model", "m", "--text", "t.txt", "--out", "n"}), words);
}
