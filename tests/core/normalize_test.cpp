// Normal forms against Python's unicodedata: all characters, and texts drawn as
// tests/fixtures/make_normal_forms.py draws them.
#include <doctest/doctest.h>
#include <tapestry/core/text/normalize.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/source_dir.h>

#include <array>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

using namespace tapestry;
using unicode::NormalForm;

namespace {

std::string hash(const std::vector<std::string>& texts, NormalForm form) {
    std::uint64_t value = 0xCBF29CE484222325;  // FNV-1a
    for (const std::string& text : texts) {
        for (const char c : unicode::normalize(text, form) + "\n") {
            value = (value ^ static_cast<unsigned char>(c)) * 0x100000001B3;
        }
    }
    return fmt::format("{:016x}", value);
}

std::vector<std::string> block_of(char32_t first) {
    std::vector<std::string> texts;
    for (char32_t code = first; code < first + 0x1000; ++code) {
        if (code < 0xD800 || code >= 0xE000) texts.push_back(utf8::encode(code));
    }
    return texts;
}

std::vector<std::string> drawn(std::uint64_t state) {
    constexpr std::array<std::pair<char32_t, unsigned>, 20> kRanges{
        {{0x41, 26},      {0xC0, 0x140},   {0x300, 0x70},  {0x370, 0x90},   {0x5B0, 0x20},
         {0x915, 0x40},   {0x9BE, 0x20},   {0xB3E, 0x20},  {0xDCF, 0x10},   {0x1100, 0x100},
         {0x1B05, 0x40},  {0x1E00, 0x200}, {0x2126, 0x10}, {0x3046, 0x60},  {0xAC00, 0x300},
         {0xF900, 0x100}, {0xFB1D, 0x30},  {0x11131, 4},   {0x1D15E, 0x80}, {0x2F800, 0x100}}};
    const auto draw = [&state](std::uint64_t below) {
        state = state * 6364136223846793005 + 1442695040888963407;
        return static_cast<unsigned>((state >> 33) % below);
    };
    std::vector<std::string> texts(2000);
    for (std::string& text : texts) {
        for (unsigned left = 1 + draw(12); left > 0; --left) {
            const auto& range = kRanges[draw(kRanges.size())];
            utf8::append(text, range.first + draw(range.second));
        }
    }
    return texts;
}

}  // namespace

TEST_CASE("normal forms are those of Python's unicodedata") {
    std::istringstream lines(test::slurp(test::source_dir() / "tests/fixtures/normal_forms.txt"));
    std::string name, nfc, nfd;
    int blocks = 0;
    while (lines >> name >> nfc >> nfd) {
        CAPTURE(name);
        const bool is_drawn = name.starts_with("drawn");
        const auto texts = is_drawn
                               ? drawn(std::stoull(name.substr(5)))
                               : block_of(static_cast<char32_t>(std::stoul(name, nullptr, 16)));
        CHECK(hash(texts, NormalForm::nfc) == nfc);
        CHECK(hash(texts, NormalForm::nfd) == nfd);
        ++blocks;
    }
    CHECK(blocks == 0x110 + 32);
}

TEST_CASE("normal forms: texts are cut where segments begin, and what is surely normal is normal") {
    for (const NormalForm form : {NormalForm::nfc, NormalForm::nfd}) {
        for (const std::string& text : drawn(99)) {
            CAPTURE(text);
            const std::string whole = unicode::normalize(text, form);
            CHECK(unicode::normalize(whole, form) == whole);
            if (unicode::is_surely_normal(text, form)) CHECK(whole == text);
            for (std::size_t at = 0; at < text.size(); at += utf8::step(text, at).bytes) {
                if (!unicode::begins_segment(utf8::step(text, at).code, form)) continue;
                CHECK(unicode::normalize(text.substr(0, at), form) +
                          unicode::normalize(text.substr(at), form) ==
                      whole);
            }
        }
        CHECK(unicode::is_surely_normal("plain text, \u732b\u8ffd", form));
        CHECK(unicode::normalize("", form).empty());
    }
    CHECK(unicode::is_surely_normal("\u00e9", NormalForm::nfc));
    CHECK_FALSE(unicode::is_surely_normal("\u00e9", NormalForm::nfd));
    CHECK_FALSE(unicode::is_surely_normal("e\u0301", NormalForm::nfc));
}
