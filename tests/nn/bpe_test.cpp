// GPT-2's tokenizer: against ids from the Python definition (tests/fixtures/gpt2), against a naive
// implementation on random vocabularies, and every way in which its files can be wrong.
#include <doctest/doctest.h>
#include <tapestry/core/random.h>
#include <tapestry/core/text/unicode.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/data/bpe.h>
#include <tapestry/nn/data/words.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/source_dir.h>

#include <nlohmann/json.hpp>

#include <ctime>
#include <set>

using namespace tapestry;
using test::check_message;
using test::message_of;
using test::slurp;
using Ids = std::vector<std::int64_t>;
using Strings = std::vector<std::string>;

namespace {

const std::filesystem::path kFixture = test::source_dir() / "tests/fixtures/gpt2";

const BytePairTokenizer& fixture() {
    static const auto tokenizer = BytePairTokenizer::from_text(slurp(kFixture / "vocab.json"),
                                                               slurp(kFixture / "merges.txt"));
    return tokenizer;
}

Strings words_of(const std::string& text) {
    Strings words;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = word_end(text, at);
        words.push_back(text.substr(at, end - at));
        at = end;
    }
    return words;
}

/// The character that stands for a byte.
std::string symbol(unsigned byte) {
    const auto visible = [](unsigned b) {
        return (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || (b >= 0xAE && b <= 0xFF);
    };
    if (visible(byte)) return utf8::encode(byte);
    unsigned hidden = 0;
    for (unsigned b = 0; b < byte; ++b) hidden += visible(b) ? 0 : 1;
    return utf8::encode(256 + hidden);
}

/// The 256 bytes with their own values as ids, then `more`.
std::string vocab_with(const Strings& more) {
    nlohmann::ordered_json json;
    for (unsigned byte = 0; byte < 256; ++byte) json[symbol(byte)] = byte;
    for (const std::string& token : more) json[token] = json.size();
    return json.dump();
}

struct Merging {
    Strings merges;  // "a b", in order
    Strings tokens;  // "ab", each once
};

std::string merges_text(const Strings& merges) {
    std::string text = "#version: 0.2\n";
    for (const std::string& merge : merges) text += merge + "\n";
    return text;
}

/// Random merges over the letters a, b, c: any two known tokens, in an order that training would
/// not give, so a merge may come before the merges that make its parts.
Merging random_merging(Generator& generator) {
    Merging result;
    Strings known{"a", "b", "c"};
    const auto pick = [&] {
        const double r = generator.uniform() * static_cast<double>(known.size());
        return known[static_cast<std::size_t>(r)];
    };
    for (int i = 0; i < 12; ++i) {
        const std::string left = pick(), right = pick();
        const std::string merge = left + " " + right, token = left + right;
        const auto is_in = [](const Strings& list, const std::string& x) {
            return std::find(list.begin(), list.end(), x) != list.end();
        };
        if (is_in(result.merges, merge)) continue;
        const auto place = generator.uniform() * static_cast<double>(result.merges.size() + 1);
        result.merges.insert(result.merges.begin() + static_cast<std::ptrdiff_t>(place), merge);
        if (is_in(known, token)) continue;
        result.tokens.push_back(token);
        known.push_back(token);
    }
    return result;
}

/// The definition: merges all occurrences of the lowest-rank pair from left to right, and repeats.
Strings merged_plainly(const std::string& word, const Strings& merges) {
    Strings symbols;
    for (const char c : word) symbols.emplace_back(1, c);
    while (true) {
        std::size_t best = merges.size();
        for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
            const auto found =
                std::find(merges.begin(), merges.end(), symbols[i] + " " + symbols[i + 1]);
            best = std::min(best, static_cast<std::size_t>(found - merges.begin()));
        }
        if (best == merges.size()) return symbols;
        Strings next;
        for (std::size_t i = 0; i < symbols.size(); ++i) {
            const bool here =
                i + 1 < symbols.size() && symbols[i] + " " + symbols[i + 1] == merges[best];
            next.push_back(here ? symbols[i] + symbols[i + 1] : symbols[i]);
            if (here) ++i;
        }
        symbols = next;
    }
}

/// Characters of one to four bytes that share bytes, drawn.
std::string mixed_text(Generator& generator, std::size_t characters) {
    const std::array<const char32_t*, 2> kinds{U"日旦曰本末未木的三中丰",
                                               U"aé的日\U0001F600\U0001F601ก"};
    std::string text;
    for (std::size_t i = 0; i < characters; ++i) {
        const std::u32string_view kind = kinds[generator.below(8) == 0 ? 1 : 0];
        utf8::append(text, kind[generator.below(kind.size())]);
    }
    return text;
}

/// Merges of any tokens that are neighbours in a text, within and across characters.
BytePairTokenizer::Merges merges_within(const std::string& text, Generator& generator, int count) {
    BytePairTokenizer::Merges merges;
    std::set<std::string> known;
    for (const char byte : text) known.emplace(1, byte);
    for (int tries = 0; tries < 100 * count && static_cast<int>(merges.size()) < count; ++tries) {
        const std::size_t at = generator.below(text.size() - 1);
        const std::size_t first = 1 + generator.below(7), second = 1 + generator.below(7);
        const std::string left = text.substr(at, first);
        if (at + first >= text.size()) continue;
        const std::string right = text.substr(at + first, second);
        if (!known.contains(left) || !known.contains(right)) continue;
        if (known.emplace(left + right).second) merges.emplace_back(left, right);
    }
    return merges;
}

}  // namespace

TEST_CASE("unicode: the kinds of characters") {
    using unicode::Kind;
    using unicode::kind_of;
    for (const char32_t c :
         U"aZ\u00AA\u00B5\u00DF\u02B0\u0416\u05D0\u0645\u0E01\u4E00\uAC00\uFF21"
         U"\U0001D400\U00020000\U0002A6D6") {
        if (c != 0) CHECK(kind_of(c) == Kind::letter);
    }
    for (const char32_t c : U"09\u00B2\u00BD\u0663\u096A\u2167\u2460\u3007\U0001D7CE\U00010107") {
        if (c != 0) CHECK(kind_of(c) == Kind::number);
    }
    for (const char32_t c :
         U"\t\n\v\f\r \u0085\u00A0\u1680\u2000\u200A\u2028\u2029\u202F\u205F"
         U"\u3000") {
        if (c != 0) CHECK(kind_of(c) == Kind::space);
    }
    // Controls, marks, joiners, emoji, private use, unassigned, beyond Unicode.
    for (const std::uint32_t c :
         {0x00u,   0x1Cu,   0x1Fu,    0x7Fu,    0x21u,   0x5Fu,     0x180Eu,
          0x200Bu, 0x200Du, 0x0301u,  0x093Fu,  0x20DDu, 0xFE0Fu,   0xFEFFu,
          0xFFFDu, 0xE000u, 0x1F600u, 0x1F3FDu, 0x378u,  0x10FFFFu, 0x110000u}) {
        CHECK(kind_of(char32_t{c}) == Kind::other);
    }
    CHECK(kind_of(0xFFFFFFFF) == Kind::other);
}

TEST_CASE("unicode: general categories") {
    using unicode::Category;
    const std::pair<char32_t, const char*> known[]{
        {U'A', "Lu"},   {U'a', "Ll"},     {0x1C5, "Lt"},    {0x2B0, "Lm"},    {0x4E00, "Lo"},
        {0x301, "Mn"},  {0x903, "Mc"},    {0x20DD, "Me"},   {U'7', "Nd"},     {0x2167, "Nl"},
        {0xBD, "No"},   {U'_', "Pc"},     {U'-', "Pd"},     {U'(', "Ps"},     {U')', "Pe"},
        {0xAB, "Pi"},   {0xBB, "Pf"},     {U'!', "Po"},     {U'+', "Sm"},     {U'$', "Sc"},
        {U'^', "Sk"},   {0x1F600, "So"},  {U' ', "Zs"},     {0x2028, "Zl"},   {0x2029, "Zp"},
        {U'\n', "Cc"},  {0x200D, "Cf"},   {0xD800, "Cs"},   {0xE000, "Co"},   {0x378, "Cn"},
        {0x9FFF, "Lo"}, {0x10FFFD, "Co"}, {0x10FFFF, "Cn"}, {0x110000, "Cn"}, {0xE0100, "Mn"}};
    for (const auto& one : known) {
        CAPTURE(one.second);
        CHECK(unicode::category_of(one.first) == unicode::category_named(one.second));
    }
    CHECK(unicode::categories_named("Lu") == 2);
    CHECK(unicode::categories_named("L") == 62);
    CHECK(unicode::categories_named("") == 0);
    CHECK(unicode::categories_named("Lul") == 0);
    CHECK_FALSE(unicode::category_named("L").has_value());
    CHECK_FALSE(unicode::category_named("nL").has_value());
    std::array<int, 4> kinds{};
    for (char32_t c = 0; c < 0x110000; ++c) ++kinds[static_cast<std::size_t>(unicode::kind_of(c))];
    CHECK(kinds[1] == 136'104);  // Unicode 15.0: DerivedGeneralCategory.txt, PropList.txt
    CHECK(kinds[2] == 1'831);
    CHECK(kinds[3] == 25);
}

TEST_CASE("words: where GPT-2's pattern cuts") {
    CHECK_EQ(words_of("Hello world"), Strings{"Hello", " world"});
    CHECK_EQ(words_of("it's we'll don't I'm he'd you've they're"),
             Strings{"it", "'s", " we", "'ll", " don", "'t", " I", "'m", " he", "'d", " you", "'ve",
                     " they", "'re"});
    // Upper case is not a contraction, nor is one after a space, nor a longer word.
    CHECK_EQ(words_of("IT'S"), Strings{"IT", "'", "S"});
    CHECK_EQ(words_of("a 's"), Strings{"a", " '", "s"});
    CHECK_EQ(words_of("'llama"), Strings{"'ll", "ama"});
    CHECK_EQ(words_of("''s"), Strings{"''", "s"});
    CHECK_EQ(words_of("x1 22 3y"), Strings{"x", "1", " 22", " 3", "y"});
    CHECK_EQ(words_of("a+b, c!?"), Strings{"a", "+", "b", ",", " c", "!?"});
    // A run of white space leaves its last character to the next word.
    CHECK_EQ(words_of("a   b"), Strings{"a", "  ", " b"});
    CHECK_EQ(words_of("a\n\nb"), Strings{"a", "\n", "\n", "b"});
    CHECK_EQ(words_of("a \n b"), Strings{"a", " \n", " b"});
    CHECK_EQ(words_of("a\r\nb"), Strings{"a", "\r", "\n", "b"});
    CHECK_EQ(words_of("a  "), Strings{"a", "  "});
    CHECK_EQ(words_of(" "), Strings{" "});
    CHECK_EQ(words_of("\t\tx"), Strings{"\t", "\t", "x"});
    CHECK_EQ(words_of("\u00A0x"), Strings{"\u00A0", "x"});
    CHECK_EQ(words_of("\u3000\u3000 \u5B57"), Strings{"\u3000\u3000", " \u5B57"});
    // A combining mark is not a letter: "e" and an acute accent are two words.
    CHECK_EQ(words_of("e\u0301t\u00E9"), Strings{"e", "\u0301", "t\u00E9"});
    CHECK_EQ(words_of(" \U0001F600\U0001F3FD\u200D!"), Strings{" \U0001F600\U0001F3FD\u200D!"});
    CHECK_EQ(words_of(std::string("a\0\0b", 4)), Strings{"a", std::string("\0\0", 2), "b"});
}

TEST_CASE("bpe: the ids that the definition in Python gives") {
    const auto cases = nlohmann::json::parse(slurp(kFixture / "bpe_cases.json"));
    REQUIRE_GT(cases.size(), 150);
    for (const auto& entry : cases) {
        const std::string text = entry[0];
        const Ids ids = fixture().encode(text);
        INFO("text: " << utf8::quoted(text, 200));
        CHECK_EQ(ids, entry[1].get<Ids>());
        CHECK_EQ(fixture().decode(ids), text);
    }
}

// Run by tests/npm/bpe_reference.sh, a separate test: GPT-2's real vocabulary is made outside this
// project.
TEST_CASE("bpe: the ids that another implementation gives" * doctest::skip()) {
    const char* directory = std::getenv("TAPESTRY_BPE_REFERENCE");
    REQUIRE(directory != nullptr);
    const std::filesystem::path reference = directory;
    const auto tokenizer = BytePairTokenizer::from_text(slurp(reference / "encoder.json"),
                                                        slurp(reference / "vocab.bpe"));
    CHECK_EQ(tokenizer.vocab_size(), 50257);
    CHECK_EQ(tokenizer.end_of_text(), std::optional<std::int64_t>(50256));
    const auto cases = nlohmann::json::parse(slurp(reference / "cases.json"));
    REQUIRE_GT(cases.size(), 1000);
    for (const auto& entry : cases) {
        const std::string text = entry[0];
        INFO("text: " << utf8::quoted(text, 200));
        REQUIRE_EQ(tokenizer.encode(text), entry[1].get<Ids>());
        REQUIRE_EQ(tokenizer.decode(entry[1].get<Ids>()), text);
    }
}

TEST_CASE("bpe: any merges in any order, as the definition has it") {
    Generator generator(3);
    for (int round = 0; round < 100; ++round) {
        const Merging merging = random_merging(generator);
        const auto tokenizer =
            BytePairTokenizer::from_text(vocab_with(merging.tokens), merges_text(merging.merges));
        for (int i = 0; i < 10; ++i) {
            std::string word;
            // Words of up to 128 bytes are merged in another way than longer ones.
            const auto length = static_cast<int>(generator.uniform() * (i < 7 ? 30 : 300));
            for (int j = 0; j < length; ++j) {
                word += static_cast<char>('a' + static_cast<int>(generator.uniform() * 3));
            }
            Strings tokens;
            for (const std::int64_t id : tokenizer.encode(word)) {
                tokens.push_back(tokenizer.decode(Ids{id}));
            }
            INFO("word " << word << ", merges " << merges_text(merging.merges));
            CHECK_EQ(tokens, merged_plainly(word, merging.merges));
        }
    }
}

TEST_CASE("bpe: long words are cut only where no token continues") {
    Generator generator(71);
    int cut = 0, whole = 0;
    for (int round = 0; round < 60; ++round) {
        const auto merges = merges_within(mixed_text(generator, 60), generator, 60);
        Strings written;
        TokenBoundaries boundaries;
        for (const auto& [left, right] : merges) {
            written.push_back(left + " " + right);
            boundaries.add(left + right);
        }
        const auto tokenizer = BytePairTokenizer::from_merges(merges);
        for (int i = 0; i < 10; ++i) {
            const std::string word = mixed_text(generator, 1 + generator.below(60));
            Strings tokens, expected;
            for (const std::int64_t id : tokenizer.encode(word)) {
                tokens.push_back(tokenizer.decode(Ids{id}));
            }
            for (const std::string& part : words_of(word)) {
                const Strings more = merged_plainly(part, written);
                expected.insert(expected.end(), more.begin(), more.end());
                const bool is_cut = boundaries.next(part, 0) < part.size();
                ++(is_cut ? cut : whole);
            }
            INFO("word " << utf8::quoted(word) << ", round " << round);
            CHECK_EQ(tokens, expected);
        }
    }
    CHECK_GT(cut, 300);
    CHECK_GT(whole, 300);
}

TEST_CASE("bpe: where tokens join characters") {
    TokenBoundaries boundaries;
    boundaries.add("日本");
    boundaries.add("\xAC\xE5\xA4");  // the end of 本 (E6 9C AC) and the beginning of 大 (E5 A4 A7)
    const std::string word = "日本大日本中é中é";
    CHECK_EQ(boundaries.next(word, 0), 9);  // after 本大, which the second token may join
    CHECK_EQ(boundaries.next(word, 9), 15);
    CHECK_EQ(boundaries.next(word, 15), 20);  // é has two bytes: none before it
    CHECK_EQ(boundaries.next(word, 20), word.size());
    // Half of a character next to it: left whole.
    for (const std::string_view text : {"\x80\xE4\xB8\xAD", "日\xE4\xB8", "日\xE4"}) {
        CHECK_EQ(boundaries.next(text, 0), text.size());
    }
    CHECK_EQ(boundaries.next("", 0), 0);
}

TEST_CASE("bpe: the separator of documents is one token") {
    const BytePairTokenizer& t = fixture();
    const std::int64_t end = t.end_of_text().value();
    CHECK_EQ(end, t.vocab_size() - 1);
    CHECK_EQ(t.beginning(), end);
    CHECK_EQ(t.encode("<|endoftext|>"), Ids{end});
    CHECK_EQ(t.encode("<|endoftext|><|endoftext|>"), Ids{end, end});
    // The text before it ends there: its white space is not split.
    Ids wanted = t.encode("a  ");
    wanted.push_back(end);
    for (const std::int64_t id : t.encode("b")) wanted.push_back(id);
    CHECK_EQ(t.encode("a  <|endoftext|>b"), wanted);
    CHECK_EQ(t.decode(wanted), "a  <|endoftext|>b");
    // A vocabulary without it spells it out.
    const auto without = BytePairTokenizer::from_text(vocab_with({}), "");
    CHECK_FALSE(without.end_of_text().has_value());
    CHECK_EQ(without.beginning(), '\n');
    CHECK_EQ(without.encode("<|endoftext|>").size(), 13);
}

TEST_CASE("bpe: every byte that occurs in UTF-8, and every id, there and back") {
    std::string text;
    for (char32_t code = 0; code <= 0x10FFFF; code += code < 0x3000 ? 1 : 97) {
        if (code < 0xD800 || code > 0xDFFF) utf8::append(text, code);
    }
    CHECK(fixture().decode(fixture().encode(text)) == text);
    const auto plain = BytePairTokenizer::from_text(vocab_with({}), "");
    CHECK(plain.decode(plain.encode(text)) == text);
    CHECK_EQ(plain.encode(text).size(), text.size());
    CHECK_EQ(plain.decode(Ids{0, 10, 32, 255, 128}), std::string("\0\n \xFF\x80", 5));
    CHECK_EQ(plain.encode("aB \n"), Ids{'a', 'B', ' ', '\n'});
    CHECK(plain.encode("").empty());
    CHECK(plain.decode(Ids{}).empty());
}

TEST_CASE("bpe: long words take no square of their length") {
    const std::clock_t start = std::clock();  // of the processor
    // Merges of a with a, aa with aa, ...: every merge affects the whole word again.
    Strings merges, tokens;
    for (std::string a = "a"; a.size() < 64; a += a) {
        merges.push_back(a + " " + a);
        tokens.push_back(a + a);
    }
    const auto tokenizer = BytePairTokenizer::from_text(vocab_with(tokens), merges_text(merges));
    const std::string word(1 << 20, 'a');
    CHECK_EQ(tokenizer.encode(word).size(), word.size() / 64);
    CHECK_EQ(tokenizer.encode(std::string(1 << 20, ' ')).size(), 1 << 20);
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    CHECK_LT(seconds, 30);  // takes half a second; quadratic time would take hours
}

TEST_CASE("bpe: a text without a cut is encoded in pieces, in linear time and bounded memory") {
    const auto tokenizer = BytePairTokenizer::from_text(vocab_with({"aa"}), merges_text({"a a"}));
    const std::size_t size = std::size_t{7} << 19;
    for (const char* unit : {"a", " ", "\xC3\xA9", "'s", "\n\t", "0"}) {
        INFO(unit);
        std::string text;
        while (text.size() < size) text += unit;
        const Ids whole = tokenizer.encode(text);
        Ids parts;
        std::string waiting;
        for (std::size_t at = 0; at < text.size(); at += 1'000'000) {
            waiting += text.substr(at, 1'000'000);
            const bool is_last = at + 1'000'000 >= text.size();
            std::size_t known = waiting.size();  // whole characters, as a reader gives them
            if (!is_last) known -= known % std::string_view(unit).size();
            const std::size_t end =
                is_last ? known : tokenizer.piece_end(std::string_view(waiting).substr(0, known));
            tokenizer.encode_piece({.text = std::string_view(waiting).substr(0, end)}, parts);
            waiting.erase(0, end);
            CHECK_LT(waiting.size(), std::size_t{3} << 20);
        }
        CHECK(parts == whole);
    }
}

TEST_CASE("bpe: its files there and back") {
    const auto again =
        BytePairTokenizer::from_text(fixture().vocab_json(), fixture().merges_text());
    CHECK_EQ(again.vocab_json(), fixture().vocab_json());
    CHECK_EQ(again.merges_text(), slurp(kFixture / "merges.txt"));
    CHECK_EQ(nlohmann::json::parse(fixture().vocab_json()),
             nlohmann::json::parse(slurp(kFixture / "vocab.json")));
    CHECK_EQ(again.encode("the café's"), fixture().encode("the café's"));
    // From another writer: escapes, any order, no version, Windows line ends, none at the end.
    const std::string vocab = vocab_with({"ab", "abc"});
    const auto reversed = [&] {
        const auto json = nlohmann::ordered_json::parse(vocab);
        nlohmann::ordered_json result;
        for (auto entry = json.rbegin(); entry != json.rend(); ++entry) {
            result[entry.key()] = entry.value();
        }
        return result.dump(4, ' ', true);
    }();
    for (const char* merges : {"a b\nab c", "a b\r\nab c\r\n", "#version: 0.2\r\na b\nab c\n"}) {
        CHECK_EQ(BytePairTokenizer::from_text(reversed, merges).encode("abcab"), Ids{257, 256});
    }
}

TEST_CASE("bpe: invalid texts and ids") {
    check_message<ValueError>([] { fixture().encode("caf\xE9 ", "prompt"); },
                              "prompt: not UTF-8 at byte 3: byte 0xE9 lacks its continuation");
    check_message<ValueError>([] { fixture().encode("\xED\xA0\x80"); },
                              "text: not UTF-8 at byte 0");
    check_message<IndexError>(
        [] {
            fixture().decode(Ids{0, 377});
        },
        "decode: id 377 at position 1 is outside the vocabulary of 377");
    check_message<IndexError>([] { fixture().decode(Ids{-1}); }, "decode: id -1 at position 0");
}

TEST_CASE("bpe: invalid vocabularies") {
    const auto with = [](const std::string& from, const std::string& to) {
        std::string vocab = vocab_with({"ab"});
        const std::size_t at = vocab.find(from);
        REQUIRE(at != std::string::npos);
        return vocab.replace(at, from.size(), to);
    };
    struct Bad {
        std::string vocab, message;
    };
    const std::vector<Bad> cases{
        {"", "vocabulary: not JSON: error at byte 1"},
        {"{", "vocabulary: not JSON"},
        {"rubbish", "vocabulary: not JSON"},
        {"[]", "vocabulary: expected an object of tokens and ids, got a list"},
        {"7", "vocabulary: expected an object of tokens and ids, got a number"},
        {"\"a\"", "vocabulary: expected an object of tokens and ids, got 'a'"},
        {"{}", "vocabulary: the byte 0x00 has no token: '\u0100' is missing"},
        {vocab_with({}) + "x", "vocabulary: not JSON"},
        {std::string("{}\0", 3), "vocabulary: byte 2 is 0"},
        {"{\"\xFF\":0}", "vocabulary: not UTF-8 at byte 2"},
        {with("\"ab\":256", "\"ab\":257"),
         "vocabulary: token 'ab' has the id 257; 257 tokens have the ids 0 .. 256"},
        {with("\"ab\":256", "\"ab\":97"), "vocabulary: 'a' and 'ab' have the same id 97"},
        {with("\"ab\":256", "\"ab\":256,\"ab\":257"), "vocabulary: token 'ab' appears twice"},
        {with("\"ab\":256", "\"ab\":-1"), "vocabulary: the id of 'ab' is -1"},
        {with("\"ab\":256", "\"ab\":2.5"), "vocabulary: the id of 'ab' is 2.5"},
        {with("\"ab\":256", "\"ab\":\"256\""), "vocabulary: the id of 'ab' is '256'"},
        {with("\"ab\":256", "\"ab\":null"), "vocabulary: the id of 'ab' is null"},
        {with("\"ab\":256", "\"ab\":[256]"), "vocabulary: the id of 'ab' is a list"},
        {with("\"ab\":256", "\"ab\":{}"), "vocabulary: the id of 'ab' is an object"},
        {with("\"ab\":256", "\"\":256"), "vocabulary: id 256 is an empty token"},
        {with("\"ab\":256", "\"a b\":256"),
         "vocabulary: id 256: 'a b' has the character ' ' (U+0020), which does not represent a "
         "byte"},
        {with("\"ab\":256", "\"\u4E00\":256"), "(U+4E00), which does not represent a byte"},
        {with("\"a\":97", "\"aa\":97"), "vocabulary: the byte 0x61 has no token: 'a' is missing"},
    };
    for (const Bad& bad : cases) {
        const std::string message =
            message_of<ValueError>([&] { BytePairTokenizer::from_text(bad.vocab, ""); });
        INFO("message: " << message);
        INFO("wanted:  " << bad.message);
        CHECK(message.find(bad.message) != std::string::npos);
    }
    check_message<ValueError>(
        [] { BytePairTokenizer::from_text("{\"a\":" + std::string(1'000'000, '['), ""); },
        "the id of 'a' is a list");
}

TEST_CASE("bpe: invalid merges") {
    const std::string vocab = vocab_with({"ab", "abc"});
    const auto refused = [&](const std::string& merges, const std::string& words) {
        check_message<ValueError>(
            [&] {
                BytePairTokenizer::from_text(vocab, merges, {.vocab = "v.json", .merges = "m.txt"});
            },
            words);
    };
    refused("#version: 0.2\na\n", "m.txt: line 2: 'a' is not two tokens with a space between");
    refused("a b c\n", "m.txt: line 1: 'a b c' is not two tokens");
    refused("a  b\n", "m.txt: line 1: 'a  b' is not two tokens");
    refused(" ab\n", "m.txt: line 1");
    refused("ab \n", "m.txt: line 1");
    refused("a b\n\nab c\n", "m.txt: line 2: '' is not two tokens");
    refused("a b\n#version: 0.2\n", "m.txt: line 2: '#version:' is not in v.json");
    refused("a zz\n", "m.txt: line 1: 'zz' is not in v.json");
    refused("b c\n", "m.txt: line 1: 'bc' is not in v.json");
    refused("a b\nab c\na b\n", "m.txt: line 3: the pair 'a b' appears twice");
    refused("a \u4E00\n", "m.txt: line 1: '\u4E00' has the character '\u4E00' (U+4E00)");
    refused("a \xFF\n", "m.txt: not UTF-8 at byte 2");
    refused(std::string("a b\0\n", 5), "m.txt: byte 3 is 0");
}
