// Tokenizers read from tokenizer.json: the ids of Hugging Face's own engine (recorded by
// tests/fixtures/make_llama_fixture.py; tests/npm/tokenizer_json.sh asks it anew, with vocabularies
// of real models), pieces of texts, patterns against all they could match, and what is refused.
#include <doctest/doctest.h>
#include <tapestry/core/text/json_tree.h>
#include <tapestry/core/text/normalize.h>
#include <tapestry/nn/data/documents.h>
#include <tapestry/nn/data/token_ids.h>
#include <tapestry/nn/tokenizers/json_tokenizer.h>
#include <tapestry/nn/tokenizers/split_pattern.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/source_dir.h>

#include <nlohmann/json.hpp>

#include <ctime>
#include <functional>

using namespace tapestry;
using test::check_message;
using test::Scratch;
using test::slurp;
using test::spill;
using Ids = std::vector<std::int64_t>;
using Json = nlohmann::ordered_json;
using Strings = std::vector<std::string>;

namespace {

std::string fixture(const char* name) {
    return slurp(test::source_dir() / "tests/fixtures/llama" / name);
}

JsonTokenizer fixture_tokenizer() { return JsonTokenizer::from_json(fixture("tokenizer.json")); }

Strings matches(const std::string& pattern, std::string_view text) {
    const SplitPattern compiled(pattern, "test");
    PatternMatcher matcher(compiled, text);
    Strings found;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = matcher.match(at);
        if (end == PatternMatcher::kNone || end == at) {
            ++at;
            continue;
        }
        found.emplace_back(text.substr(at, end - at));
        at = end;
    }
    return found;
}

// Of this process: a busy machine takes no more of them.
double processor_seconds_since(std::clock_t begin) {
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

std::string repeated(const std::string& text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
}

// The ids of a text that arrives in pieces of about `step` bytes.
Ids ids_in_pieces(const JsonTokenizer& tokenizer, const std::string& text, std::size_t step) {
    Ids ids;
    std::size_t begin = 0, end = 0;
    while (end < text.size()) {
        end = std::min(text.size(), end + step);
        while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
        const std::string_view piece = std::string_view(text).substr(begin, end - begin);
        const std::size_t cut = end == text.size() ? piece.size() : tokenizer.piece_end(piece);
        tokenizer.encode_piece({piece.substr(0, cut)}, ids);
        begin += cut;
    }
    return ids;
}

constexpr const char* kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

}  // namespace

TEST_CASE("tokenizer.json: the ids of Hugging Face's engine, and the text again") {
    const JsonTokenizer tokenizer = fixture_tokenizer();
    const Json cases = Json::parse(fixture("tokenizer_cases.json"));
    CHECK(cases.size() > 300);
    for (const auto& one : cases) {
        const auto text = one[0].get<std::string>();
        CAPTURE(text);
        const Ids ids = tokenizer.encode(text);
        CHECK(ids == one[1].get<Ids>());
        std::string kept = text;  // without the character whose byte has no token
        std::erase(kept, '\x01');
        CHECK(tokenizer.decode(ids) == kept);
    }
    CHECK(tokenizer.kind() == "json");
    CHECK(tokenizer.end_of_text() == 0);
    CHECK(tokenizer.beginning() == 0);
}

TEST_CASE("tokenizer.json: a text in pieces has the same ids") {
    const JsonTokenizer tokenizer = fixture_tokenizer();
    for (const auto& one : Json::parse(fixture("tokenizer_cases.json"))) {
        const auto text = one[0].get<std::string>();
        CAPTURE(text);
        for (std::size_t step = 1; step < 9; step += 3) {
            CHECK(ids_in_pieces(tokenizer, text, step) == one[1].get<Ids>());
        }
    }
    // It does cut: a long text is not kept whole.
    const std::string text = repeated("the cat, the hat. ", 1000);
    CHECK(tokenizer.piece_end(text) > text.size() - 20);
}

// As make_llama_fixture.py makes it: marks that are found before and after normalization.
TEST_CASE("tokenizer.json: NFC as Hugging Face's engine has it, whole and in pieces") {
    Json rules = Json::parse(fixture("tokenizer.json"));
    rules["normalizer"] = {{"type", "NFC"}};
    const std::vector<std::pair<const char*, bool>> marks{
        {"tx", true}, {"e\u0301", true}, {"d>", false}};
    for (const auto& one : marks) {
        Json mark = rules["added_tokens"][0];
        mark["id"] = rules["model"]["vocab"].size() + rules["added_tokens"].size() - 3;
        mark["content"] = one.first;
        mark["normalized"] = one.second;
        rules["added_tokens"].push_back(mark);
    }
    const JsonTokenizer tokenizer = JsonTokenizer::from_json(rules.dump());
    const Json cases = Json::parse(fixture("nfc_cases.json"));
    CHECK(cases.size() == 400);
    for (const auto& one : cases) {
        const auto text = one[0].get<std::string>();
        CAPTURE(text);
        const Ids wanted = one[1].get<Ids>();
        CHECK(tokenizer.encode(text) == wanted);
        for (std::size_t step = 1; step < 9; step += 3) {
            CHECK(ids_in_pieces(tokenizer, text, step) == wanted);
        }
    }
    // It does cut, in normal text and in others.
    for (const char* words : {"the cat, the hat. ", "the wa\u0308ll, the hat. "}) {
        const std::string text = repeated(words, 1000);
        CHECK(tokenizer.piece_end(text) > text.size() - 40);
        const Ids whole = tokenizer.encode(text);
        CHECK(ids_in_pieces(tokenizer, text, 1000) == whole);
        const bool is_same =
            tokenizer.decode(whole) == unicode::normalize(text, unicode::NormalForm::nfc);
        CHECK(is_same);
    }
    // The last of a sequence decides; NFD has more tokens.
    rules["normalizer"] = {{"type", "Sequence"},
                           {"normalizers", {{{"type", "NFC"}}, {{"type", "NFD"}}}}};
    const JsonTokenizer other = JsonTokenizer::from_json(rules.dump());
    CHECK(other.decode(other.encode("a\u00e4")) == "aa\u0308");
    CHECK(tokenizer.decode(tokenizer.encode("aa\u0308")) == "a\u00e4");
}

// add_tokens() of transformers also marks tokens of the vocabulary, whose merges stay.
TEST_CASE("tokenizer.json: an added token of the vocabulary may have merges") {
    Json rules = Json::parse(fixture("tokenizer.json"));
    const JsonTokenizer before = JsonTokenizer::from_json(rules.dump());
    const Ids the = before.encode("the"), he = before.encode("he");
    REQUIRE_EQ(the.size(), 1);
    REQUIRE_EQ(he.size(), 1);
    rules["added_tokens"].push_back(rules["added_tokens"][0]);
    rules["added_tokens"].back()["content"] = "he";
    rules["added_tokens"].back()["id"] = he[0];
    const JsonTokenizer tokenizer = JsonTokenizer::from_json(rules.dump());
    const Ids t = tokenizer.encode("t");
    CHECK(tokenizer.encode("the") == Ids{t[0], he[0]});
    CHECK(tokenizer.decode(tokenizer.encode("on the path")) == "on the path");
}

TEST_CASE("tokenizer.json: pieces by other rules") {
    const auto split = [](const char* pattern) {
        return Json{{"type", "Split"},
                    {"pattern", {{"Regex", pattern}}},
                    {"behavior", "Removed"},
                    {"invert", true}};
    };
    const Json level{{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
    const auto with = [&](const std::vector<Json>& steps, const Strings& marks) {
        Json json = Json::parse(fixture("tokenizer.json"));
        json["pre_tokenizer"]["pretokenizers"] = steps;
        for (const std::string& mark : marks) {
            json["added_tokens"].push_back(json["added_tokens"][0]);
            json["added_tokens"].back()["content"] = mark;
            json["added_tokens"].back()["id"] = 1000 + std::ssize(json["added_tokens"]);
        }
        return JsonTokenizer::from_json(json.dump());
    };
    const Json usual = Json::parse(fixture("tokenizer.json"))["pre_tokenizer"]["pretokenizers"][1];
    Json digits{{"type", "Digits"}, {"individual_digits", false}};
    const std::vector<std::pair<JsonTokenizer, std::string>> cases{
        {with({digits, usual}, {}), repeated("the  12", 30)},
        {with({digits, usual}, {"1<", "<s>"}), repeated("a1<s>bc", 30)},
        {with({split("a(?=b)|b+|c"), level}, {}), repeated("abbbb", 30) + "c"},
        {with({split(R"(\s+(?!\S)|\s+|\S)"), level}, {}), repeated("a   b \n ", 30)},
        {with({level}, {"ab", "abc", "bcd"}), repeated("abcdabxbc", 30)}};
    for (const auto& one : cases) {
        CAPTURE(one.second);
        const Ids whole = one.first.encode(one.second);
        CHECK(one.first.decode(whole) == one.second);
        for (std::size_t step = 1; step < 12; ++step) {
            CHECK(ids_in_pieces(one.first, one.second, step) == whole);
        }
    }
    // An empty match splits what does not match.
    CHECK(with({Json{{"type", "Split"},
                     {"pattern", {{"Regex", "(?=[eh])"}}},
                     {"behavior", "Isolated"},
                     {"invert", false}},
                level},
               {})
              .encode("the") == Ids{118, 106, 103});
}

TEST_CASE("tokenizer.json: text without a cut is encoded in linear time") {
    const JsonTokenizer tokenizer = fixture_tokenizer();
    const Scratch scratch;
    spill(scratch / "t.txt", std::string(6'000'000, 'a'));  // pieces of a MiB
    DocumentReader documents({(scratch / "t.txt").string()}, {});
    const std::clock_t begin = std::clock();
    const EncodedDocuments encoded =
        encode_documents(documents, tokenizer, IdType::u16, [](std::span<const std::byte>) {});
    CHECK(encoded.ids > 200'000);
    CHECK(processor_seconds_since(begin) < 60);  // squares take minutes
}

TEST_CASE("tokenizer.json: letters and marks without a space are looked through a few times") {
    Json rules = Json::parse(fixture("tokenizer.json"));
    rules["normalizer"] = {{"type", "NFC"}};
    const JsonTokenizer tokenizer = JsonTokenizer::from_json(rules.dump());
    std::string text;
    while (text.size() < 200'000) text += "x\u0301";  // has no composed form
    const std::clock_t begin = std::clock();
    CHECK(tokenizer.piece_end(text) < text.size());
    CHECK(processor_seconds_since(begin) < 6);  // each time: minutes
}

TEST_CASE("split patterns: alternatives in order, classes, repetitions, look-ahead") {
    CHECK(
        matches(kLlama3, "Hello world, it'S 12345  x\n  y") ==
        Strings{"Hello", " world", ",", " it", "'S", " ", "123", "45", " ", " x", "\n", " ", " y"});
    CHECK(matches("a|ab", "ab") == Strings{"a"});
    CHECK(matches("ab|a", "aab") == Strings{"a", "ab"});
    CHECK(matches("a{2,3}", "aaaaaa a aa") == Strings{"aaa", "aaa", "aa"});
    CHECK(matches("a{2,}?b?", "aaab") == Strings{"aa"});
    CHECK(matches("a++ab|.", "aab") == Strings{"a", "a", "b"});
    CHECK(matches("x(?=y)", "xxy") == Strings{"x"});
    CHECK(matches("(?:ab|c)?d", "abdcdd") == Strings{"abd", "cd", "d"});
    CHECK(matches(R"([^\W\d_]+|\x{4E00}|\u8FFD)", "ab_1\u4E00\u8FFD") ==
          Strings{"ab", "\u4E00\u8FFD"});
    CHECK(matches(R"([\p{Lu}\p{Lt}]+[\p{Ll}]*)", "HELLOworld \u01C5x") ==
          Strings{"HELLOworld", "\u01C5x"});
    CHECK(matches("(?i:k's)", "K'\u017F \u212A'S k'x") == Strings{"K'\u017F", "\u212A'S"});
    CHECK(matches(R"(\P{L}+)", "a1-b") == Strings{"1-"});
    CHECK(matches(R"(\w+)", "a\u2167\u24D0_-") == Strings{"a\u2167\u24D0_"});
    CHECK(matches(R"([\]\-a]+)", "x]-a") == Strings{"]-a"});
    CHECK(matches("[a-c\xC3\xA9]+", "xbc\xC3\xA9") == Strings{"bc\xC3\xA9"});
    CHECK(matches(".+", "ab\ncd") == Strings{"ab", "cd"});
}

// Each would take the square of the text's length, or an exponential of the pattern's, in an engine
// that tries again what has failed.
TEST_CASE("split patterns: no text takes more than linear time") {
    std::string optional;
    for (int i = 0; i < 30; ++i) optional += "(a?)?";
    for (const std::string& pattern :
         {std::string("a*b|a"), std::string("a*?b|a"), std::string("a{2,}b|a"),
          std::string("a*a*a*b|a"), std::string("(?:aa*|a)(?:a*b|c)|a"), std::string("[^b]*+b|a"),
          optional + "b|a", std::string(R"(\s*[\r\n]+|\s+(?!\S)|\s+|a)")}) {
        CAPTURE(pattern);
        const std::string text(100'000, 'a');
        const std::clock_t begin = std::clock();
        CHECK(matches(pattern, text).size() == text.size());
        CHECK(processor_seconds_since(begin) < 6);  // 0.1 to 2; tens of seconds otherwise
    }
}

TEST_CASE("split patterns: what is not supported is named") {
    for (const auto& one : std::vector<std::pair<std::string, std::string>>{
             {"(a", "without ')'"},
             {"a)", "')' without '('"},
             {"(a|b)+", "a repeated group"},
             {"a{3,1}", "repetition"},
             {"a{2000}", "repetitions"},
             {R"(\bx)", R"('\b')"},
             {"[a-z", "its end"},
             {R"(\p{Greek})", "'Greek'"},
             {"a**", "two repetitions"},
             {"(?<=a)b", "'(?<='"},
             {"^a", "'^'"},
             {"(?=a*b)a", "in a look-ahead"},
             {"a{1,3}+", "repetition of a repetition"},
             {"a{2}?", "repetition of a repetition"},
             {R"(\xE9)", "a byte beyond ASCII"},
             {R"((?i:\p{Lu}))", "(?i:) with a property"},
             {"[z-a]", "ill-formed range"},
             {"[a[b]]", "a class in a class"},
             {R"(\x{110000000})", "ill-formed code point"},
             {"(?i:\xC3\xA9)", "beyond ASCII"},
             {std::string(20'000, 'a'), "20000 bytes"}}) {
        const std::string &pattern = one.first, &part = one.second;
        CAPTURE(pattern);
        check_message<ValueError>([&] { SplitPattern(pattern, "here"); }, part);
    }
}

TEST_CASE("tokenizer.json: what would change the ids and is not known is named") {
    const std::vector<std::pair<std::function<void(Json&)>, std::string>> changes{
        {[](Json& t) {
             t["normalizer"] = {{"type", "Lowercase"}};
         },
         "'Lowercase'"},
        {[](Json& t) {
             t["normalizer"] = {{"type", "Sequence"}, {"normalizers", {{{"type", "NFKC"}}}}};
         },
         "'NFKC'"},
        {[](Json& t) {
             t["pre_tokenizer"] = {{"type", "Metaspace"}};
         },
         "'Metaspace'"},
        {[](Json& t) {
             t["pre_tokenizer"] = {{"type", "Digits"}};
         },
         "without ByteLevel"},
        {[](Json& t) { t["pre_tokenizer"] = nullptr; }, "pre-tokenizer"},
        {[](Json& t) { t["pre_tokenizer"]["pretokenizers"][1]["add_prefix_space"] = true; },
         "add_prefix_space"},
        {[](Json& t) {
             t["pre_tokenizer"]["pretokenizers"][0] = {{"type", "Split"},
                                                       {"pattern", {{"String", "x"}}},
                                                       {"behavior", "MergedWithPrevious"}};
         },
         "'MergedWithPrevious'"},
        {[](Json& t) {
             auto& steps = t["pre_tokenizer"]["pretokenizers"];
             for (int i = 0; i < 40; ++i) steps.insert(steps.begin(), steps[0]);
         },
         "more than 32 steps"},
        {[](Json& t) { t["model"]["vocab"]["zzz"] = 16'000'000; }, "16000000"},
        {[](Json& t) { t["added_tokens"][2]["id"] = 500; },
         "has the id 500, and 2 in the vocabulary"},
        {[](Json& t) {
             t["post_processor"] = {{"type", "BertProcessing"}};
         },
         "'BertProcessing'"},
        {[](Json& t) {
             t["decoder"] = {{"type", "WordPiece"}};
         },
         "'WordPiece'"},
        {[](Json& t) { t["model"]["type"] = "Unigram"; }, "'Unigram'"},
        {[](Json& t) { t["model"]["dropout"] = 0.1; }, "dropout"},
        {[](Json& t) { t["model"]["byte_fallback"] = true; }, "byte_fallback"},
        {[](Json& t) { t["model"]["unk_token"] = "<|endoftext|>"; }, "unk_token"},
        {[](Json& t) { t["model"]["merges"].push_back("t zzz"); }, "not all tokens"},
        {[](Json& t) { t["model"]["merges"].push_back(t["model"]["merges"][0]); }, "appears twice"},
        {[](Json& t) { t["model"]["merges"].push_back("t"); }, "two tokens"},
        {[](Json& t) { t["model"]["vocab"]["zzz"] = 5; }, "the same id 5"},
        {[](Json& t) { t["model"]["vocab"]["zzz"] = -1; }, "-1"},
        {[](Json& t) { t["model"]["vocab"]["zzz"] = 1LL << 40; }, "1099511627776"},
        {[](Json& t) { t["added_tokens"][0]["lstrip"] = true; }, "lstrip"},
        {[](Json& t) { t["added_tokens"][1]["id"] = 0; }, "the same id 0"},
        {[](Json& t) { t.erase("model"); }, "not a tokenizer"}};
    const Json usual = Json::parse(fixture("tokenizer.json"));
    for (const auto& one : changes) {
        const std::string& part = one.second;
        CAPTURE(part);
        Json json = usual;
        one.first(json);
        check_message<ValueError>([&] { JsonTokenizer::from_json(json.dump(), "t.json"); }, part);
        check_message<ValueError>([&] { JsonTokenizer::from_json(json.dump(), "t.json"); },
                                  "t.json: ");
    }
    check_message<ValueError>([&] { JsonTokenizer::from_json("{", "t.json"); }, "t.json: not JSON");
    check_message<ValueError>([&] { fixture_tokenizer().encode("a\xFF"); }, "not UTF-8 at byte 1");
}

TEST_CASE("tokenizer.json: merges as pairs, whole words, marks that are also tokens") {
    Json json = Json::parse(fixture("tokenizer.json"));
    const Ids usual = JsonTokenizer::from_json(json.dump()).encode("the cat, the hat 12");
    for (auto& merge : json["model"]["merges"]) {
        const auto text = merge.get<std::string>();
        const std::size_t space = text.find(' ');
        merge = {text.substr(0, space), text.substr(space + 1)};
    }
    CHECK(JsonTokenizer::from_json(json.dump()).encode("the cat, the hat 12") == usual);

    json["model"]["vocab"]["xyzzy"] = 5000;  // no merges lead to it
    CHECK(JsonTokenizer::from_json(json.dump()).encode("xyzzy").size() > 1);
    json["model"]["ignore_merges"] = true;
    const JsonTokenizer whole = JsonTokenizer::from_json(json.dump());
    CHECK(whole.encode("xyzzy") == Ids{5000});
    CHECK(whole.vocab_size() == 5001);
    CHECK(whole.decode(Ids{5000}) == "xyzzy");

    json["added_tokens"].push_back(json["added_tokens"][0]);  // two spaces, as GPT-NeoX has
    json["added_tokens"].back()["content"] = "  ";
    json["added_tokens"].back()["id"] = 6000;
    const JsonTokenizer spaces = JsonTokenizer::from_json(json.dump());
    CHECK(spaces.encode("a  b")[1] == 6000);
    CHECK(spaces.decode(spaces.encode("a  b")) == "a  b");
}
