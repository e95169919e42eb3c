// write_stories: the stories as a text file, what their pronouns refer to as JSON lines, and
// summaries of those with a plot.
//
// The example GPT reads the text; programs in other languages use the JSON lines to compare its
// attention with each pronoun's referent.
// Read next: stories.h.
#include <tapestry/core/file.h>
#include <tapestry/examples/options/options.h>
#include <tapestry/examples/options/output.h>
#include <tapestry/examples/stories/stories.h>

#include <fmt/core.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace {

void write_file(const std::string& path, std::string_view text) {
    if (path == "-") {
        tapestry::cli::print_text(text);
    } else {
        tapestry::write_file_atomically(path, text);
    }
}

/// One JSON line per reference; words are letters and spaces, so nothing needs escaping.
std::string truth_lines(const tapestry::examples::Stories& stories) {
    const std::string_view text = stories.text;
    std::string lines;
    for (const auto& r : stories.references) {
        lines += fmt::format(
            R"({{"pronoun":[{},{}],"antecedent":[{},{}],"word":"{}","refers_to":"{}"}})",
            r.pronoun_begin, r.pronoun_end, r.antecedent_begin, r.antecedent_end,
            text.substr(r.pronoun_begin, r.pronoun_end - r.pronoun_begin),
            text.substr(r.antecedent_begin, r.antecedent_end - r.antecedent_begin));
        lines += '\n';
    }
    return lines;
}

/// For `tapestry train --pairs`: a story in a line, a tab, its summary.
std::string summary_lines(const tapestry::examples::Stories& stories) {
    std::string lines = "source\ttarget\n";
    for (const auto& one : stories.summaries) {
        std::string story = stories.text.substr(one.begin, one.end - one.begin);
        for (char& c : story) {
            if (c == '\n') c = ' ';
        }
        lines += story + '\t' + one.text + '\n';
    }
    return lines;
}

}  // namespace

int main(int argc, char** argv) {
    using namespace tapestry;
    std::uint64_t seed = 1;
    std::int64_t bytes = 1'000'000;
    std::string out = "-", truth, summaries;
    cli::Options options("write_stories",
                         "Writes children's stories, and what each of their pronouns refers to.");
    options.seed(seed, "Seed for the stories");
    options.count("--bytes", bytes, "Minimum size of the text, rounded up to whole stories");
    options.text("--out", out, "File for the text; - for the standard output");
    options.text("--truth", truth, "File for the references, as JSON lines");
    options.text("--summaries", summaries, "File for stories and their summaries, as pairs (TSV)");
    options.run([&] {
        const auto stories = examples::write_stories(seed, static_cast<std::size_t>(bytes));
        write_file(out, stories.text);
        if (!truth.empty()) write_file(truth, truth_lines(stories));
        if (!summaries.empty()) write_file(summaries, summary_lines(stories));
        return cli::kSuccess;
    });
    return options.main(argc, argv);
}
