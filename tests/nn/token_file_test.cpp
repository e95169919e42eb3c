// Token ids from a file, and the text of tokens as they are sampled.
#include <tapestry/nn/data/token_ids.h>
#include <tapestry/nn/generate/sample.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/nn/support.h>

using namespace tapestry;
using test::check_message;
using test::spill;

TEST_CASE("token file: numbers between white space, each of the vocabulary") {
    const test::Scratch scratch;
    const std::string file = (scratch / "ids").string();
    spill(file, "\n 0 12\t7\r\n3 ");
    CHECK(read_token_file(file, 13) == std::vector<std::int64_t>{0, 12, 7, 3});
    const auto refused = [&](const char* text, const char* words) {
        spill(file, text);
        check_message<IoError>([&] { read_token_file(file, 13); }, words);
    };
    refused("1 2 x3", "'x3' at position 2 is not a token id");
    refused("1 2.5", "'2.5' at position 1 is not a token id");
    refused("1 13", "token 13 at position 1 is outside the vocabulary of 13");
    refused("-1 2", "token -1 at position 0 is outside the vocabulary of 13");
    refused("1 99999999999999999999", "at position 1 is outside the vocabulary of 13");
    refused("5", "needs at least 2 tokens, got 1");
    refused("", "needs at least 2 tokens, got 0");
    check_message<IoError>([&] { read_token_file(file + "x", 13); }, "idsx");
}

TEST_CASE("sampled text: a row of the table without a token in the tokenizer is U+FFFD") {
    const CharTokenizer tokenizer = CharTokenizer::from_text("ab\u00e9");
    StreamDecoder drawn(tokenizer);
    std::string text;
    for (const std::int64_t id : {0, 2, 3, 1}) text += drawn.next(id);
    CHECK_EQ(text + drawn.finish(), "a\u00e9\uFFFDb");
}
