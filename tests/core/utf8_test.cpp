// The UTF-8 decoder against RFC 3629: round trips of every character, rejection of every kind of
// error.
#include <doctest/doctest.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/text_table.h>
#include <tapestry/core/text/unicode.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/tests/core/scratch.h>

using namespace tapestry;
using test::check_message;

TEST_CASE("utf8: every character is encoded and decoded") {
    std::string all;
    std::u32string expected;
    for (char32_t code = 0; code <= 0x10FFFF; ++code) {
        if (code >= 0xD800 && code <= 0xDFFF) continue;
        utf8::append(all, code);
        expected.push_back(code);
    }
    CHECK_EQ(all.size(), 0x80 + 2 * 0x780 + 3 * (0xF800 - 0x800) + 4 * 0x100000);
    CHECK(utf8::decode("all", all) == expected);
}

TEST_CASE("utf8: known encodings") {
    CHECK_EQ(utf8::encode(U'A'), "A");
    CHECK_EQ(utf8::encode(U'\u00E9'), "\xC3\xA9");
    CHECK_EQ(utf8::encode(U'\u4E2D'), "\xE4\xB8\xAD");
    CHECK_EQ(utf8::encode(U'\U0001F600'), "\xF0\x9F\x98\x80");
    CHECK_EQ(utf8::encode(0), std::string(1, '\0'));
    CHECK(utf8::decode("text", "").empty());
    check_message<ValueError>([] { utf8::encode(0xD800); }, "utf8: U+D800 is not a character");
    check_message<ValueError>([] { utf8::encode(0x110000); }, "utf8: U+110000 is not a character");
}

TEST_CASE("utf8: a byte order mark counts at the beginning, once") {
    CHECK_EQ(utf8::mark_bytes("\xEF\xBB\xBFone"), 3);
    CHECK_EQ(utf8::mark_bytes("\xEF\xBB\xBF\xEF\xBB\xBF"), 3);
    for (const char* text : {"", "one", "\xEF\xBB", "one\xEF\xBB\xBF"}) {
        CAPTURE(text);
        CHECK_EQ(utf8::mark_bytes(text), 0);
    }
}

TEST_CASE("utf8: flaws are refused with place and reason") {
    struct Bad {
        std::string text;
        std::string message;
    };
    const std::vector<Bad> cases{
        {"ab\x80", "t: not UTF-8 at byte 2: byte 0x80 is an unexpected continuation byte"},
        {"\xBF", "byte 0: byte 0xBF is an unexpected continuation byte"},
        {"caf\xE9!", "byte 3: byte 0xE9 lacks its continuation bytes"},  // Latin-1
        {"\xC3", "byte 0: byte 0xC3 begins a character that the end of the text cuts off"},
        {"a\xE4\xB8", "byte 1: byte 0xE4 begins a character that the end of the text cuts off"},
        {"\xF0\x9F\x98", "byte 0: byte 0xF0 begins a character that the end of the text cuts off"},
        {"\xE4\xB8z", "byte 0: byte 0xE4 lacks its continuation bytes"},
        {"\xC0\x80", "byte 0: byte 0xC0 begins an overlong form"},
        {"\xC1\xBF", "byte 0: byte 0xC1 begins an overlong form"},
        {"\xE0\x80\x80", "byte 0xE0 begins an overlong form"},
        {"\xE0\x9F\xBF", "byte 0xE0 begins an overlong form"},
        {"\xF0\x80\x80\x80", "byte 0xF0 begins an overlong form"},
        {"\xF0\x8F\xBF\xBF", "byte 0xF0 begins an overlong form"},
        {"\xED\xA0\x80", "byte 0xED begins a surrogate"},
        {"\xED\xBF\xBF", "byte 0xED begins a surrogate"},
        {"\xF4\x90\x80\x80", "byte 0xF4 begins a number beyond U+10FFFF"},
        {"\xF5\x80\x80\x80", "byte 0xF5 begins a number beyond U+10FFFF"},
        {"\xF8\x88\x80\x80\x80", "byte 0xF8 cannot begin a character"},
        {"\xFE", "byte 0xFE cannot begin a character"},
        {"\xFF\xFE", "byte 0xFF cannot begin a character"},
    };
    for (const Bad& bad : cases) {
        check_message<ValueError>([&] { utf8::decode("t", bad.text); }, bad.message);
        CHECK(utf8::find_flaw(bad.text).has_value());
    }
}

TEST_CASE("utf8: the edges of what is allowed") {
    for (const char* good :
         {"\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
          "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
        CHECK_FALSE(utf8::find_flaw(good).has_value());
        CHECK_EQ(utf8::encode(utf8::decode("t", good).at(0)), good);
    }
}

TEST_CASE("utf8: every pair of bytes decodes or is refused, never read past") {
    int good = 0;
    for (int first = 0; first < 256; ++first) {
        for (int second = 0; second < 256; ++second) {
            const std::string text{static_cast<char>(first), static_cast<char>(second)};
            if (!utf8::find_flaw(text)) ++good;
        }
    }
    CHECK_EQ(good, 128 * 128 + 30 * 64);  // two ASCII characters, or one of two bytes (C2 .. DF)
}

TEST_CASE("utf8: what is shown cannot command a terminal") {
    CHECK_EQ(utf8::printable(U'a'), "a");
    CHECK_EQ(utf8::printable(U'\u00E9'), "\xC3\xA9");
    CHECK_EQ(utf8::printable(U'\n'), "\\n");
    CHECK_EQ(utf8::printable(U'\x1B'), "\\u{1B}");
    CHECK_EQ(utf8::printable(U'\u200B'), "\\u{200B}");
    CHECK_EQ(utf8::printable(U'\u202E'), "\\u{202E}");
    CHECK_EQ(utf8::printable(0xD800), "\\u{D800}");
    CHECK_EQ(utf8::printable(0x110000), "\\u{110000}");
    CHECK_EQ(utf8::quoted("a\x1B[31m\n\xFF"), "'a\\u{1B}[31m\\n\\xFF'");
    CHECK_EQ(utf8::quoted(std::string(100, 'x'), 3), "'xxx...'");
    CHECK_EQ(utf8::quoted("xxx", 3), "'xxx'");
    CHECK_EQ(utf8::quoted(""), "''");
}

TEST_CASE("utf8: a terminal is sent text as it is, but for what commands it") {
    const std::vector<std::string> harmless{
        "",
        "two lines\n\tand a tab",
        "\u0939\u093F\u0928\u094D\u0926\u0940",                        // Hindi: marks, virama
        "\u0E17\u0E35\u0E48",                                          // Thai
        "\u0645\u06CC\u200C\u062E\u0648\u0627\u0647\u0645",            // Persian: U+200C
        "\u05E9\u05DC\u05D5\u05DD",                                    // Hebrew letters
        "\U0001F468\u200D\U0001F469\u200D\U0001F467\u200D\U0001F466",  // a family: U+200D
        "\u2764\uFE0F \U0001F44D\U0001F3FD \U0001F1E9\U0001F1EA",      // selector, tone, flag
        "e\u0301 \u4E2D\u6587 \u00A0\u3000\u200B\u00AD\uFEFF\uFFFD\uE0B0",
    };
    for (const std::string& text : harmless) CHECK_EQ(utf8::for_terminal(text), text);

    CHECK_EQ(utf8::for_terminal("\x1B[2J\x1B]0;title\x07"), "\\u{1B}[2J\\u{1B}]0;title\\u{7}");
    CHECK_EQ(utf8::for_terminal("a\r\nb\b\x7F"), "a\\r\nb\\u{8}\\u{7F}");
    CHECK_EQ(utf8::for_terminal(std::string("\0", 1)), "\\u{0}");
    CHECK_EQ(utf8::for_terminal("caf\xE9 \x9B"
                                "2J"),
             "caf\\xE9 \\x9B2J");
    CHECK_EQ(utf8::for_terminal("\xED\xA0\x80"), "\\xED\\xA0\\x80");
    for (char32_t code = 0; code <= 0x10FFFF; ++code) {
        if (code >= 0xD800 && code <= 0xDFFF) continue;
        const bool commands = (code < 0x20 && code != U'\n' && code != U'\t') ||
                              (code >= 0x7F && code <= 0x9F) || code == 0x61C || code == 0x200E ||
                              code == 0x200F || (code >= 0x2028 && code <= 0x202E) ||
                              (code >= 0x2066 && code <= 0x206F);
        const std::string text = utf8::encode(code);
        if ((utf8::for_terminal(text) == text) == commands) FAIL(static_cast<unsigned>(code));
    }
}

TEST_CASE("utf8: a string within a line cannot begin a new line") {
    CHECK_EQ(utf8::printable("a b\n$ \t\x1B\xFF\u4E2D"), "a b\\n$ \\t\\u{1B}\\xFF\u4E2D");
    CHECK_EQ(utf8::printable(""), "");
}

TEST_CASE("utf8: JSON for a terminal stays JSON") {
    const std::string good = "{\"a\": [1, \"\\u001b\\n\u0939\u200D\"]}\n";
    CHECK_EQ(utf8::json_for_terminal(good), good);
    CHECK_EQ(utf8::json_for_terminal("[\"\x7F\u009B\u202E\u2028\"]"),
             "[\"\\u007f\\u009b\\u202e\\u2028\"]");
    CHECK_EQ(utf8::json_for_terminal("\"\xE9\""), "\"\uFFFD\"");
}

TEST_CASE("utf8: a stream hands on whole characters") {
    const std::string text = "a\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x98\x80\n";
    for (std::size_t step = 1; step <= text.size(); ++step) {
        utf8::Stream stream;
        std::string all;
        for (std::size_t at = 0; at < text.size(); at += step) {
            const std::string piece = stream.push(text.substr(at, step));
            CHECK_FALSE(utf8::find_flaw(piece).has_value());
            all += piece;
        }
        CHECK_EQ(all, text);  // nothing is held back longer than necessary
        CHECK_EQ(stream.finish(), "");
    }
    utf8::Stream stream;
    CHECK_EQ(stream.push("x\xE4\xB8"), "x");
    CHECK_EQ(stream.push(""), "");
    CHECK_EQ(stream.push("y"), "\uFFFDy");
    CHECK_EQ(stream.push("\xFF\x80z\xF0"), "\uFFFD\uFFFDz");
    CHECK_EQ(stream.finish(), "\uFFFD");
    CHECK_EQ(stream.finish(), "");
    CHECK_EQ(stream.push("\xED\xA0\x80"), "\uFFFD");  // a surrogate
}

TEST_CASE("utf8: a path of any bytes in a message, cut if it is long") {
    CHECK_EQ(shown("a b/é.txt"), "'a b/é.txt'");
    CHECK_EQ(shown(std::filesystem::path("a\n\xE9")), "'a\\n\\xE9'");
    const std::string name(299, 'x');
    CHECK_EQ(shown(name + "y"), "'" + name + "y'");
    CHECK_EQ(shown(name + "yz"), utf8::quoted(name + "yz", 300));
    CHECK_EQ(shown(name + "yz").find('z'), std::string::npos);
}

TEST_CASE("text table: columns are as wide as their widest cell on a terminal") {
    CHECK_EQ(terminal::columns_of("a\u00E9\u4E2D"), 4);
    CHECK_EQ(terminal::text_table({{"#", "name", "note"}, {"10", "\u4E2D\u6587"}, {"7", "x", ""}},
                                  "rll", "  "),
             "   #  name  note\n  10  \u4E2D\u6587\n   7  x\n");
    CHECK_EQ(terminal::text_table({}, "r"), "");
}

TEST_CASE("small letters: the table is Unicode's, and what depends on other letters Python's") {
    std::int64_t capitals = 0, distance = 0;
    for (char32_t code = 0; code <= 0x10FFFF; ++code) {
        const char32_t small = unicode::lower_of(code);
        if (small == code) continue;
        ++capitals;
        distance += static_cast<std::int64_t>(small) - static_cast<std::int64_t>(code);
        CHECK_EQ(unicode::lower_of(small), small);
    }
    CHECK_EQ(capitals, 1433);  // fields 0 and 13 of UnicodeData.txt, 15.0
    CHECK_EQ(distance, 2691860);
    CHECK(unicode::lower_case(U"ΟΔΟΣ ΣΑΣ, Σ'Σ' Σ.") == U"οδος σας, σ'ς' σ.");
    // Ordinal indicators, Roman numerals and letters in circles have case; a digit has none.
    CHECK(unicode::lower_case(U"ªΣ ΑΣº ⅣΣ ΑΣⅳ ⒶΣ 🄰Σ 4Σ ΑΣ4") == U"ªς ασº ⅳς ασⅳ ⓐς 🄰ς 4σ ας4");
    CHECK(unicode::lower_case(U"İI") == U"i\u0307i");
    CHECK(unicode::lower_case(U"\u1E9E\uA7F5\U00010400 Ǆ北1") == U"\u00DF\uA7F6\U00010428 ǆ北1");
    CHECK(unicode::lower_case(U"").empty());
}
