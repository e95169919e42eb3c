// The character tokenizer: text -> ids -> text in several scripts, its JSON form, and its errors.
#include <doctest/doctest.h>
#include <tapestry/nn/data/tokenizer.h>
#include <tapestry/tests/core/scratch.h>

#include <numeric>

using namespace tapestry;
using test::check_message;
using Ids = std::vector<std::int64_t>;

TEST_CASE("tokenizer: the vocabulary is sorted by code point") {
    const auto tokenizer = CharTokenizer::from_text("hello\nworld");
    CHECK(tokenizer.vocab() == U"\ndehlorw");
    CHECK_EQ(tokenizer.vocab_size(), 8);
    CHECK(tokenizer.encode("hold\n") == Ids{3, 5, 4, 1, 0});
    CHECK_EQ(tokenizer.decode(Ids{3, 5, 4, 1, 0}), "hold\n");
    CHECK(tokenizer.encode("").empty());
    CHECK(tokenizer.decode(Ids{}).empty());
}

TEST_CASE("tokenizer: any script, one id per code point") {
    const std::string text =
        "\xE4\xB8\xAD\xE6\x96\x87\xEF\xBC\x8C caf\xC3\xA9 \xF0\x9F\x98\x80 "
        "\xE4\xB8\xAD\r\n";
    const auto tokenizer = CharTokenizer::from_text(text);
    CHECK_EQ(tokenizer.encode(text).size(), 14);
    CHECK_EQ(tokenizer.decode(tokenizer.encode(text)), text);
    CHECK_EQ(tokenizer.vocab().back(), U'\U0001F600');
    const std::string with_zero("a\0b", 3);
    const auto zero = CharTokenizer::from_text(with_zero);
    CHECK_EQ(zero.decode(zero.encode(with_zero)), with_zero);
    CHECK_EQ(CharTokenizer::from_json(zero.to_json()).vocab(), zero.vocab());
}

TEST_CASE("tokenizer: JSON there and back") {
    const std::string text = "\n \"\\a\xC3\xA9\xE4\xB8\xAD\x01";
    const auto tokenizer = CharTokenizer::from_text(text);
    const auto again = CharTokenizer::from_json(tokenizer.to_json());
    CHECK(again.vocab() == tokenizer.vocab());
    CHECK_EQ(again.to_json(), tokenizer.to_json());
    CHECK(again.encode(text) == tokenizer.encode(text));
    CHECK_EQ(CharTokenizer::from_text("\n a\xC3\xA9").to_json(),
             "{\"type\":\"char\",\"vocab\":[\"\\n\",\" \",\"a\",\"\xC3\xA9\"]}");
    // From another writer: any order, escapes, extra keys.
    const auto other = CharTokenizer::from_json(
        R"({"version": 1, "vocab": ["b", "\u00e9", "\ud83d\ude00"], "type": "char"})");
    CHECK(other.vocab() == U"b\u00E9\U0001F600");
    CHECK(other.encode("\xC3\xA9"
                       "b") == Ids{1, 0});
}

TEST_CASE("tokenizer: the whole of Unicode is a vocabulary") {
    std::string text;
    for (char32_t code = 0x4E00; code < 0xA000; ++code) {  // CJK unified ideographs
        for (const unsigned part :
             {0xE0u | code >> 12, 0x80u | (code >> 6 & 0x3Fu), 0x80u | (code & 0x3Fu)}) {
            text.push_back(static_cast<char>(part));
        }
    }
    const auto tokenizer = CharTokenizer::from_text(text);
    CHECK_EQ(tokenizer.vocab_size(), 0xA000 - 0x4E00);
    Ids expected(0xA000 - 0x4E00);
    std::iota(expected.begin(), expected.end(), 0);
    CHECK(tokenizer.encode(text) == expected);
    CHECK_EQ(CharTokenizer::from_json(tokenizer.to_json()).decode(expected), text);
}

TEST_CASE("tokenizer: errors of texts") {
    const auto tokenizer = CharTokenizer::from_text("caf prompt");
    check_message<ValueError>(
        [&] { tokenizer.encode("caf\xC3\xA9", "prompt"); },
        "prompt: character '\xC3\xA9' (U+00E9) at position 3 is not in the model's vocabulary");
    check_message<ValueError>([&] { tokenizer.encode("a\tb", "prompt"); },
                              "prompt: character '\\t' (U+0009) at position 1 is not in");
    check_message<ValueError>([&] { tokenizer.encode("a\x1B[2J"); },
                              "text: character '\\u{1B}' (U+001B) at position 1 is not in");
    check_message<ValueError>([&] { tokenizer.encode("a\xF0\x9F\x98\x80"); }, "(U+1F600)");
    check_message<ValueError>([&] { tokenizer.encode("caf\xE9 "); },
                              "text: not UTF-8 at byte 3: byte 0xE9 lacks its continuation bytes");
    check_message<ValueError>([] { CharTokenizer::from_text(""); }, "the text is empty");
    check_message<ValueError>([] { CharTokenizer::from_text("ab\xFF"); },
                              "tokenizer: the text is not UTF-8 at byte 2: byte 0xFF cannot begin");
}

TEST_CASE("tokenizer: ids outside the vocabulary") {
    const auto tokenizer = CharTokenizer::from_text("abc");
    check_message<IndexError>(
        [&] {
            tokenizer.decode(Ids{0, 3});
        },
        "decode: id 3 at position 1 is outside the vocabulary of 3");
    check_message<IndexError>([&] { tokenizer.decode(Ids{-1}); }, "decode: id -1 at position 0");
    check_message<IndexError>([&] { tokenizer.decode(Ids{INT64_MAX}); }, "is outside");
    check_message<IndexError>([&] { tokenizer.decode(Ids{INT64_MIN}); }, "is outside");
}

TEST_CASE("tokenizer: broken JSON") {
    struct Bad {
        std::string json;
        std::string message;
    };
    const std::vector<Bad> cases{
        {"", "tokenizer: not JSON: error at byte 1"},
        {"{", "not JSON"},
        {R"({"type":"char","vocab":["a"]} x)", "not JSON"},
        {R"({"type":"char","vocab":["a",]})", "not JSON"},
        {std::string(R"({"type":"char","vocab":["a"]})") + '\0' + "x", "byte 29 of the JSON is 0"},
        {"{\"type\":\"char\",\"vocab\":[\"\xFF\"]}", "not JSON"},
        {R"({"type":"char","vocab":["\ud800"]})", "not JSON"},
        {R"({"type":"char","n":1e999,"vocab":["a"]})", "not JSON: a number is too large"},
        {"[]", "the JSON is array, not an object"},
        {"7", "the JSON is number, not an object"},
        {R"({"vocab":["a"]})", "no \"type\""},
        {R"({"type":1,"vocab":["a"]})", "no \"type\""},
        {R"({"type":"bpe","vocab":["a"]})", "type is 'bpe'; only 'char' is supported"},
        {R"({"type":"char"})", "no \"vocab\""},
        {R"({"type":"char","vocab":"abc"})", "no \"vocab\""},
        {R"({"type":"char","vocab":{"a":0}})", "no \"vocab\""},
        {R"({"type":"char","vocab":[]})", "the vocabulary is empty"},
        {R"({"type":"char","vocab":["a",1]})", "vocab entry 1 is number, not a string"},
        {R"({"type":"char","vocab":["a",null]})", "vocab entry 1 is null, not a string"},
        {R"({"type":"char","vocab":["a","bc"]})", "vocab entry 1 is 'bc', 2 characters instead"},
        {R"({"type":"char","vocab":[""]})", "vocab entry 0 is '', 0 characters instead of one"},
        {R"({"type":"char","vocab":["a","b","a"]})", "character 'a' (U+0061) appears twice"},
        {R"({"type":"char","vocab":["a"],"vocab":["b"]})", "duplicate key 'vocab'"},
    };
    for (const Bad& bad : cases) {
        INFO(bad.json);
        check_message<ValueError>([&] { CharTokenizer::from_json(bad.json); }, bad.message);
    }
    // Nested deeper than any stack.
    const std::string deep =
        R"({"type":"char","vocab":)" + std::string(1'000'000, '[') + std::string(1'000'000, ']');
    check_message<ValueError>([&] { CharTokenizer::from_json(deep + "}"); },
                              "tokenizer: nested deeper than 100 levels");
}
