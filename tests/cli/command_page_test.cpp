// docs/command.md against the command: the help of every subcommand, and the output of an example
// of each. TAPESTRY_UPDATE=1 writes both into the page, between its markers; the rest is written by
// hand.
//
//     <!-- help bench gemm -->            what `tapestry bench gemm --help` prints
//     <!-- example -->                    commands and their output; numbers may differ
//     <!-- example of one machine -->     the same, where more than numbers depends on the machine:
//     run
//     ... <!-- end -->                    only with TAPESTRY_UPDATE=examples
//
// The examples run in one directory, one after the other, with one thread.
#include <tapestry/examples/stories/stories.h>
#include <tapestry/tests/cli/command.h>
#include <tapestry/tests/skip.h>
#include <tapestry/tests/source_dir.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>

using namespace tapestry::test;

namespace {

using Lines = std::vector<std::string>;

constexpr const char* kHelp = "<!-- help ";
constexpr const char* kExample = "<!-- example -->";
constexpr const char* kExampleHere = "<!-- example of one machine -->";
constexpr const char* kEnd = "<!-- end -->";

/// The words of a command; those in '' may contain spaces.
Arguments words_of(const std::string& command) {
    Arguments words;
    std::string word;
    bool quoted = false;
    for (const char c : command + " ") {
        if (c == '\'') {
            quoted = !quoted;
        } else if (c != ' ' || quoted) {
            word += c;
        } else if (!word.empty()) {
            words.push_back(std::exchange(word, ""));
        }
    }
    return words;
}

/// Every word with a digit as #, every unit of sizes as bytes, and single spaces: what has to agree
/// with the page. (A run that takes longer has larger files.)
std::string without_numbers(const std::string& text) {
    const auto is_word = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == ':';
    };
    std::string result;
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t begin = i;
        bool number = false;
        for (; i < text.size() && is_word(text[i]); ++i) {
            number |= std::isdigit(static_cast<unsigned char>(text[i])) != 0;
        }
        if (i > begin) {
            const std::string word = text.substr(begin, i - begin);
            const bool size = word == "KB" || word == "MB" || word == "GB";
            result += number ? "#" : size ? "bytes" : word;
        } else if (const char c = text[i++]; c != ' ' || !result.ends_with(' ')) {
            result += c;
        }
    }
    return result;
}

/// The same, with every row of a drawing as one shade: "1 |@@..|" and "1 |%%..|" agree. Their
/// roundings depend on the instruction set.
std::string without_shades(const std::string& text) {
    constexpr std::string_view kShades = " .:-=+*#%@";
    std::string result;
    for (std::string line : lines_of(text)) {
        const std::size_t bar = line.find('|');
        const bool is_row = bar != std::string::npos && line.size() > bar + 1 &&
                            line.back() == '|' &&
                            line.find_first_not_of(kShades, bar + 1) == line.size() - 1;
        if (is_row) line.replace(bar + 1, line.size() - bar - 2, "@");
        result += line + "\n";
    }
    return result;
}

/// What --help prints, without the line about --help itself.
Lines help_of(const Place& place, const Arguments& subcommand) {
    const Outcome outcome =
        place.run(subcommand + Arguments{"--help"}, {.environment = {{"TMPDIR", "/tmp"}}});
    check_done(outcome);
    Lines lines;
    for (const std::string& line : lines_of(outcome.out + "\n")) {
        const bool empty = line.empty() && !lines.empty() && lines.back() == "Options:";
        if (empty) lines.pop_back();
        if (!empty && !line.starts_with("  -h,--help")) lines.push_back(line);
    }
    while (!lines.empty() && lines.back().empty()) lines.pop_back();
    return lines;
}

/// The names under "Subcommands:", with those of their own: "train", "bench", "bench gemm".
Lines subcommands_of(const Place& place, const std::string& parent = {}) {
    Lines names;
    bool below = false;
    for (const std::string& line : help_of(place, words_of(parent))) {
        if (below && line.starts_with("  ") && line[2] != ' ') {
            names.push_back(parent + words_of(line).at(0));
            const Lines inner = subcommands_of(place, names.back() + " ");
            names.insert(names.end(), inner.begin(), inner.end());
        }
        below |= line == "Subcommands:";
    }
    return names;
}

/// The options that a command of the page uses exist, even if it is not run.
void check_options(const Place& place, const Arguments& command) {
    Arguments subcommand;
    for (const std::string& word : command) {
        if (word.starts_with("--") || subcommand.size() == (command[0] == "bench" ? 2 : 1)) break;
        subcommand.push_back(word);
    }
    std::string help;
    for (const std::string& line : help_of(place, subcommand)) help += line + "\n";
    for (const std::string& word : command) {
        if (!word.starts_with("--")) continue;
        CHECK_MESSAGE(help.find("  " + word + " ") != std::string::npos,
                      command[0] << " has no option " << word);
    }
}

/// The commands of a block with what they print now; unless `run`, the block as it is.
Lines example_of(const Place& place, const Lines& block, bool run) {
    Lines lines;
    for (const std::string& line : block) {
        const bool command = line.starts_with("$ tapestry ");
        if (!run || command) lines.push_back(line);
        if (!command) continue;
        const Arguments words = words_of(line.substr(11));
        check_options(place, words);
        if (!run) continue;
        const Outcome outcome = place.run(words);
        CHECK_MESSAGE(outcome.code <= 1, line << "\n" << outcome.err);
        for (const std::string& text : {outcome.out, outcome.err}) {
            for (const std::string& printed : lines_of(text)) lines.push_back(printed);
        }
    }
    return lines;
}

std::string joined(const Lines& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
}

/// A block of the page, as it is and as it should be.
struct Block {
    std::string marker;
    Lines is, should_be;

    bool agrees() const {
        if (marker.starts_with(kHelp)) return is == should_be;
        const auto rest = [](const Lines& lines) {
            return without_numbers(without_shades(joined(lines)));
        };
        return rest(is) == rest(should_be);
    }
};

Block block_of(const Place& place, const std::string& marker, const Lines& text, bool all) {
    Block block{.marker = marker, .is = text, .should_be = {}};
    if (marker.starts_with(kHelp)) {
        const std::size_t begin = std::string_view(kHelp).size();
        block.should_be = help_of(place, words_of(marker.substr(begin, marker.size() - begin - 4)));
    } else {
        block.should_be = example_of(place, text, marker == kExample || all);
    }
    return block;
}

}  // namespace

TEST_CASE("docs/command.md: every subcommand's help, and an example of each") {
    const std::filesystem::path path = source_dir() / "docs/command.md";
    const char* update = std::getenv("TAPESTRY_UPDATE");
    const bool all = update != nullptr && std::string_view(update) == "examples";
    const Place place;
    spill(place / "stories.txt", tapestry::examples::write_stories(1, 30'000).text);
    std::string mail;
    for (int i = 0; i < 100; ++i) {
        const bool spam = i % 3 == 0;
        mail += fmt::format("__label__{} {} offer{} {} {}\n", spam ? "spam" : "ham",
                            spam ? "buy this" : "thanks for the", i % 7, spam ? "now" : "we sent",
                            i % 2 == 0 ? "today" : "soon");
    }
    spill(place / "mail.txt", mail);
    spill(place / "new.txt", "buy it now\nthanks for today\n");
    std::string pairs;  // numbers, and their digits backwards
    for (int i = 0; i < 400; ++i) {
        std::string number = std::to_string(i * 7919 % 99991);
        pairs += number + "\t";
        std::reverse(number.begin(), number.end());
        pairs += number + "\n";
    }
    spill(place / "numbers.tsv", pairs);
    const char* const colours[] = {"red", "blue", "green", "white", "black"};
    const char* const rooms[] = {"old box", "garden", "car", "small room", "big bag", "kitchen"};
    std::string questions = "passage\tquestion\tanswer\n";
    for (int i = 0; i < 300; ++i) {
        const int first = i % 5, second = (i % 5 + 1 + i % 4) % 5;
        const int here = i % 6, there = (i % 6 + 1 + i % 3) % 6, asked = i * 7 % 3 % 2;
        questions += fmt::format(
            "the {} ball is in the {} . the {} ball is in the {} .\twhere is the {} ball ?\tthe "
            "{}\n",
            colours[first], rooms[here], colours[second], rooms[there],
            colours[asked == 0 ? first : second], rooms[asked == 0 ? here : there]);
    }
    spill(place / "questions.tsv", questions);
    spill(place / "passage.txt",
          "the white ball is in the garden . the red ball is in the small room .\n");
    std::string flowers = "length,width,colour,kind\n";
    for (int i = 0; i < 200; ++i) {
        const bool is_rose = i * 7 % 3 == 0;
        flowers += fmt::format("{},{},{},{}\n", i % 17 == 0 ? "" : std::to_string(20 + i % 13),
                               (is_rose ? 12 : 8) + i % 5, i % 4 == 0 ? "red" : "white",
                               is_rose ? "rose" : "daisy");
    }
    spill(place / "flowers.csv", flowers);
    spill(place / "new.csv", "length,width,colour\n25,16,red\n,8,white\n");
    if (place.run({"experiment", "--help"}).code != 0) return skip("a build without the school");

    std::string page;
    std::multiset<std::string> helped;
    int examples = 0;
    const Lines lines = lines_of(slurp(path));
    for (std::size_t i = 0; i < lines.size(); ++i) {
        page += lines[i] + "\n";
        const bool example = lines[i] == kExample || lines[i] == kExampleHere;
        if (!example && !lines[i].starts_with(kHelp)) continue;
        REQUIRE_LT(i + 1, lines.size());
        Lines text;
        const std::string& marker = lines[i];
        for (++i; i < lines.size() && lines[i] != kEnd; ++i) {
            if (!lines[i].starts_with("```")) text.push_back(lines[i]);
        }
        REQUIRE_MESSAGE(i < lines.size(), marker << " has no " << kEnd);
        const Block block = block_of(place, marker, text, all);
        examples += example ? 1 : 0;
        if (!example) helped.insert(marker);
        CHECK_MESSAGE((block.agrees() || update != nullptr),
                      "docs/command.md is old: run TAPESTRY_UPDATE=1 build/release/tests/test_cli "
                      "--test-case='docs/command.md*', and read git diff. Below \""
                          << marker << "\" should be:\n"
                          << joined(block.should_be));
        const bool kept = block.agrees() && !(example && all);
        page += "```text\n" + joined(kept ? block.is : block.should_be) + "```\n" + kEnd + "\n";
    }
    if (update != nullptr) spill(path, page);

    const Lines names = subcommands_of(place);
    CHECK_GE(names.size(), 20);
    for (const std::string& name : names) {
        CHECK_MESSAGE(helped.count(kHelp + name + " -->") == 1,
                      "docs/command.md: one block \"" << kHelp << name << " -->\" is missing");
    }
    CHECK_EQ(helped.size(), names.size());
    CHECK_EQ(examples + 1, static_cast<int>(names.size()));  // none for bench by itself
}

TEST_CASE("docs/command.md: the words of a command, and what may differ in its output") {
    CHECK_EQ(words_of("sample --prompt 'One day'  --tokens 3"),
             Arguments{"sample", "--prompt", "One day", "--tokens", "3"});
    CHECK_EQ(without_numbers("loss 3.05 in  0:01, 8% (f32) of 3e4904cc"),
             "loss # in #, #% (#) of #");
    CHECK_EQ(without_numbers("saved in gpt2"), "saved in #");
    CHECK_EQ(without_numbers("(761.1 KB)"), without_numbers("(1.1 MB)"));
}
