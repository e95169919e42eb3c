// Byte pairs learned from a text: against a naive implementation, and as other programs read the
// files.
#include <doctest/doctest.h>
#include <tapestry/core/random.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/data/bpe_training.h>
#include <tapestry/nn/data/documents.h>
#include <tapestry/tests/core/scratch.h>

#include <map>

using namespace tapestry;
using test::check_message;
using Merges = BytePairTokenizer::Merges;
using Strings = std::vector<std::string>;

namespace {

WordCounts counted(const std::string& text) {
    WordCounts words;
    words.add(text);
    return words;
}

/// The definition: recounts all pairs of all words for every merge.
Merges merged_plainly(const WordCounts& counts, std::size_t tokens) {
    std::vector<std::pair<Strings, std::int64_t>> words;
    for (const auto& [word, count] : counts) {
        Strings symbols;
        for (const char c : word) symbols.emplace_back(1, c);
        words.emplace_back(symbols, count);
    }
    std::map<std::string, int> ids;
    for (int byte = 0; byte < 256; ++byte)
        ids.emplace(std::string(1, static_cast<char>(byte)), byte);
    Merges merges;
    while (ids.size() < tokens) {
        std::map<std::pair<int, int>, std::pair<std::int64_t, std::pair<std::string, std::string>>>
            pairs;
        for (const auto& [symbols, count] : words) {
            for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
                auto& pair = pairs[{ids.at(symbols[i]), ids.at(symbols[i + 1])}];
                pair.first += count;
                pair.second = {symbols[i], symbols[i + 1]};
            }
        }
        std::pair<std::int64_t, std::pair<std::string, std::string>> best;
        for (const auto& [key, pair] : pairs) {
            if (pair.first > best.first) best = pair;
        }
        if (best.first < 2) break;
        const auto& [left, right] = best.second;
        merges.push_back(best.second);
        ids.emplace(left + right, static_cast<int>(ids.size()));
        for (auto& [symbols, count] : words) {
            Strings next;
            for (std::size_t i = 0; i < symbols.size(); ++i) {
                const bool here =
                    i + 1 < symbols.size() && symbols[i] == left && symbols[i + 1] == right;
                next.push_back(here ? left + right : symbols[i]);
                if (here) ++i;
            }
            symbols = next;
        }
    }
    return merges;
}

/// Chinese, as it were: runs of 1 to 20 characters, few of them frequent, between commas.
std::string chinese(std::size_t bytes, std::uint64_t characters) {
    Generator generator(42);
    std::string text;
    while (text.size() < bytes) {
        for (std::uint64_t left = 1 + generator.below(20); left > 0; --left) {
            const std::uint64_t of = 1 + generator.below(characters);
            utf8::append(text, static_cast<char32_t>(0x4E00 + generator.below(of)));
        }
        text += "，";
    }
    return text;
}

std::string merges_text(const Merges& merges) {
    return BytePairTokenizer::from_merges(merges).merges_text();
}

}  // namespace

TEST_CASE("bpe training: words are GPT-2's, each with how often it comes") {
    const WordCounts words =
        counted("the cat, the cat's hat. the <|endoftext|>the" + std::string(300, 'x'));
    CHECK_EQ(words.of("the"), 1);
    CHECK_EQ(words.of(" the"), 2);
    CHECK_EQ(words.of(" cat"), 2);
    CHECK_EQ(words.of("'s"), 1);
    CHECK_EQ(words.of(" "), 1);
    CHECK_EQ(words.of("endoftext"), 0);
    // Cut, and counted: "the" and 253 letters, then the rest.
    CHECK_EQ(words.of("the" + std::string(253, 'x')), 1);
    CHECK_EQ(words.of(std::string(47, 'x')), 1);
    CHECK_EQ(words.cut_share(), doctest::Approx(303 / 331.0));
}

TEST_CASE("bpe training: text without spaces is learned from") {
    // Each of these gave only the 257 tokens of the bytes, for any size that was requested.
    Generator generator(3);
    const auto drawn = [&](const std::vector<std::string>& units) {
        std::string text;
        while (text.size() < 40'000) text += units[generator.below(units.size())];
        return text;
    };
    std::vector<std::string> identifiers;
    for (int i = 0; i < 300; ++i) identifiers.push_back(fmt::format("name{}Of", i * i));
    for (const std::string& text :
         {drawn({"A", "C", "G", "T"}), drawn({"MKV", "LAT", "W", "SG"}),
          drawn({"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "a", "f"}),
          drawn({"3", "1", "41", "592"}), drawn({"春", "眠", "不", "觉晓"}), drawn(identifiers)}) {
        INFO(text.substr(0, 20));
        const BytePairTokenizer tokenizer = train_byte_pairs(counted(text), 512);
        CHECK_EQ(tokenizer.vocab_size(), 512);
        CHECK_EQ(tokenizer.decode(tokenizer.encode(text)), text);
        CHECK_LT(tokenizer.encode(text).size(), 3 * text.size() / 4);
    }
    CHECK_EQ(train_byte_pairs(counted(std::string(400, ' ')), 300).vocab_size(), 264);
}

TEST_CASE("bpe training: beyond its limit the table of words is a sample, the same each time") {
    // 3,000 words that come once or twice, and two frequent ones, in random order.
    Generator generator(6);
    std::string text;
    double rare = 0;
    for (int i = 0; i < 30'000; ++i) {
        const std::uint64_t kind = generator.below(10);
        text += kind < 5   ? " often"
                : kind < 7 ? " now"
                           : fmt::format(" w{}", generator.next() >> 40);
        rare += kind < 7 ? 0 : 1;
    }
    WordCounts all, few(20'000), again(20'000);
    all.add(text);
    for (const std::size_t cut : {text.size() / 3, text.size()}) {
        few.add(std::string_view(text).substr(0, cut));
        again.add(std::string_view(text).substr(0, cut));
    }
    CHECK_EQ(all.sampling(), 1);
    CHECK_GE(few.sampling(), 4);
    const auto size_of_all = [](const WordCounts& words) {
        std::size_t bytes = 0;
        for (const auto& [word, count] : words) bytes += word.size();
        return bytes;
    };
    CHECK_LE(size_of_all(few), 20'000);
    CHECK_GT(size_of_all(few), 5'000);
    CHECK_GT(size_of_all(all), 60'000);

    WordCounts whole;
    whole.add(std::string_view(text).substr(0, text.size() / 3));
    whole.add(text);
    const auto near = [&](const std::string& word, double share) {
        CHECK_EQ(static_cast<double>(few.of(word)),
                 doctest::Approx(static_cast<double>(whole.of(word))).epsilon(share));
    };
    near(" often", 0.01);
    near(" now", 0.02);
    double counted_rare = 0;  // an estimate without bias
    for (const auto& [word, count] : few) {
        if (word.starts_with(" w")) counted_rare += static_cast<double>(count);
    }
    CHECK_EQ(counted_rare, doctest::Approx(rare * 4 / 3).epsilon(0.15));
    CHECK_EQ(train_byte_pairs(few, 400).merges_text(), train_byte_pairs(again, 400).merges_text());
    check_message<ValueError>([] { WordCounts(255); },
                              "word counts: the limit must be at least 256 bytes, got 255");
}

TEST_CASE("bpe training: it can be cancelled") {
    std::string text;
    Generator generator(5);
    for (int i = 0; i < 400'000; ++i)
        text += generator.below(3) == 0 ? ' ' : 'a' + static_cast<char>(generator.below(26));
    struct Enough {};
    int calls = 0;
    CHECK_THROWS_AS(train_byte_pairs(counted(text), 5000,
                                     [&] {
                                         if (++calls == 2) throw Enough{};
                                     }),
                    Enough);
}

TEST_CASE("bpe training: the merges of the definition, with any words") {
    Generator generator(1);
    for (int round = 0; round < 60; ++round) {
        std::string text;
        const std::uint64_t letters = 1 + generator.below(4), length = 50 + generator.below(400);
        while (text.size() < length) {
            text +=
                generator.below(4) == 0 ? ' ' : static_cast<char>('a' + generator.below(letters));
        }
        const WordCounts words = counted(text);
        const std::size_t tokens = 256 + generator.below(60);
        const auto tokenizer = train_byte_pairs(words, static_cast<std::int64_t>(tokens) + 1);
        CHECK_EQ(tokenizer.merges_text(), merges_text(merged_plainly(words, tokens)));
        CHECK_EQ(tokenizer.decode(tokenizer.encode(text)), text);
    }
}

TEST_CASE("bpe training: the merges of the definition, where pairs overlap and give known tokens") {
    Generator generator(9);
    for (int round = 0; round < 40; ++round) {
        std::string text;
        while (text.size() < 400) {  // long runs; tokens that come about in several ways
            const auto letter = static_cast<char>('a' + generator.below(2));
            text += std::string(1 + generator.below(9), letter);
            if (generator.below(12) == 0) text += ' ';
        }
        const WordCounts words = counted(text);
        const auto tokenizer = train_byte_pairs(words, 300);
        CHECK_EQ(tokenizer.merges_text(), merges_text(merged_plainly(words, 299)));
    }
}

TEST_CASE("bpe training: the merges of the definition, of characters of several bytes") {
    // Short runs repeat, so words have many different counts.
    for (const std::uint64_t characters : {3U, 30U, 300U}) {
        const WordCounts words = counted(chinese(6000, characters));
        const auto tokenizer = train_byte_pairs(words, 400);
        CHECK_EQ(tokenizer.merges_text(), merges_text(merged_plainly(words, 399)));
    }
}

TEST_CASE("bpe training: the same merges as when words were searched for a pair") {
    const std::string text = chinese(1'000'000, 3000);
    CHECK_EQ(train_byte_pairs(counted(text), 4000).hash(), "658d5fa0df77c9be2f3eb3a0b6ac92bc");
}

TEST_CASE("bpe training: ties go to lower ids, and what comes once is not learned") {
    // ab, cd and ef twice each; xy once.
    const auto tokenizer = train_byte_pairs(counted("ef\nab\ncd\nef\ncd\nab\nxy"), 5000);
    CHECK_EQ(tokenizer.merges_text(), "#version: 0.2\na b\nc d\ne f\n");
    CHECK_EQ(tokenizer.vocab_size(), 256 + 3 + 1);
    CHECK_EQ(tokenizer.end_of_text(), std::optional<std::int64_t>(259));
    CHECK(tokenizer.encode("abx<|endoftext|>") == std::vector<std::int64_t>{256, 'x', 259});
    CHECK_EQ(train_byte_pairs(counted("abab"), 257).vocab_size(), 257);
    check_message<ValueError>([] { train_byte_pairs({}, 256); },
                              "the vocabulary must be at least 257");
    check_message<ValueError>(
        [] {
            BytePairTokenizer::from_merges({{"a", "bc"}});
        },
        "byte pairs: 'a' and 'bc' are not both tokens");
}

TEST_CASE("bpe training: the two files say all of it") {
    const auto tokenizer =
        train_byte_pairs(counted("the theme of the thesis, thematic; the end"), 290);
    const auto again =
        BytePairTokenizer::from_text(tokenizer.vocab_json(), tokenizer.merges_text());
    CHECK_EQ(again.vocab_json(), tokenizer.vocab_json());
    CHECK_EQ(again.hash(), tokenizer.hash());
    CHECK(again.encode("the thesis of them") == tokenizer.encode("the thesis of them"));
    CHECK(again.hash() != BytePairTokenizer::from_merges({}).hash());
}

TEST_CASE("bpe training: a sample comes from all over the text") {
    const test::Scratch scratch;
    std::string text;  // a block of a, a block of b, ...
    for (char letter = 'a'; letter <= 'm'; ++letter) {
        for (int i = 0; i < 1 << 19; ++i) text += {letter, ' '};
    }
    test::spill(scratch / "t", text);
    const auto letters = [&](std::uint64_t sample) {
        DocumentReader reader({scratch / "t"});
        const WordCounts words = words_of(reader, sample);
        std::string seen;
        for (char letter = 'a'; letter <= 'm'; ++letter) {
            if (words.of(std::string{' ', letter}) > 1000) seen += letter;
        }
        return seen;
    };
    CHECK_EQ(letters(1'000'000'000), "abcdefghijklm");
    CHECK_EQ(letters(1), "a");
    const std::string few = letters(5'000'000);
    CHECK_GE(few.size(), 5);
    CHECK_LE(few.size(), 7);
    CHECK_GE(few.back(), 'j');
}
