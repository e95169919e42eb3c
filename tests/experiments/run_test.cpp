// Running several experiments: where their figures and page are written.
#include <tapestry/core/error.h>
#include <tapestry/core/file.h>
#include <tapestry/examples/school/experiments/page_verdicts.h>
#include <tapestry/examples/school/experiments/registry.h>
#include <tapestry/examples/school/experiments/run_experiments.h>
#include <tapestry/tests/core/scratch.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

using namespace tapestry::experiments;
using namespace tapestry::test;

namespace {

std::string told_of(const RunOptions& options) {
    std::string told;
    run_experiments(options, [&](const std::string& text) { told += text; });
    return told;
}

bool has(const std::string& text, const std::string& words) {
    return text.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("experiments run: a page with its pictures next to it") {
    const Scratch scratch;
    const auto page = scratch / "page.md";
    const std::string told =
        told_of({.names = {"by_hand"}, .setting = {.quick = true}, .markdown = page});
    CHECK(has(told, find_experiment("by_hand").question));
    CHECK(has(told, "\npicture: " + (scratch / "page" / "by_hand-").native()));
    CHECK(
        told.ends_with(" s\n\n3 of 3 verdicts are those of docs/experiments.md, 0 are reversed\n"));
    const std::string markdown = slurp(page);
    CHECK(markdown.starts_with("# Experiments\n\n"));
    CHECK(has(markdown, " tapestry experiment by_hand --quick --seed 1 --seeds 10 --markdown " +
                            page.native() + "\n"));
    CHECK(has(markdown, "](page/by_hand-"));
}

TEST_CASE("experiments run: which verdicts of quick runs are not those of the page") {
    const auto found_in = [](const std::string& name) {
        Found found{.name = name, .report = {}, .outcomes = {}};
        for (const Claim& claim : find_experiment(name).claims) {
            found.report.decided[claim.name] = exactly(1e-13);
        }
        return found;
    };
    // Three of the five claims of word_order hold on the page because a number is above 0.001.
    Found words = found_in("word_order");
    words.report.undecided["order_is_lost"] = "the rate is not tuned";
    const std::string text = against_page({words});
    CHECK(text.starts_with("1 of 5 verdicts are those of docs/experiments.md, 3 are reversed\n"));
    CHECK(has(text, "This is the short form"));
    const auto reversed = text.find("word_order: rotations_tell"),
               open = text.find("word_order: order_is_lost");
    CHECK(reversed < open);  // though a later claim
    CHECK(open != std::string::npos);
    CHECK_FALSE(has(text, "shift_is_rotation"));
    CHECK_EQ(against_page({found_in("speedrun")}), "");  // which is not on the page
}

TEST_CASE("experiments run: pictures where they are wanted, and no page") {
    const Scratch scratch;
    told_of({.names = {"by_hand"}, .setting = {.quick = true}, .out = scratch / "pictures"});
    CHECK_EQ(scratch.names(), std::vector<std::string>{"pictures"});
}

TEST_CASE("experiments run: what is none, or has no place, is said before anything runs") {
    const Scratch scratch;
    check_message<tapestry::ValueError>([] { told_of({.names = {"nothing"}}); },
                                        "no experiment is called 'nothing'");
    const auto nowhere = scratch / "none" / "page.md";
    check_message<tapestry::IoError>([&] { told_of({.names = {"sqrt_dk"}, .markdown = nowhere}); },
                                     nowhere.native() + ": there is no directory ");
    CHECK(scratch.names().empty());
}

TEST_CASE("experiments run: several, with a plan; an interrupted run continues") {
    const Scratch scratch;
    const RunOptions options{.names = {"by_hand", "word_order"},
                             .setting = {.quick = true, .seeds = 2},
                             .out = scratch / "pictures",
                             .json = scratch / "found.json"};
    const auto partial = scratch / "found.json.partial";
    const std::string whole = told_of(options);
    CHECK(whole.starts_with("2 experiments with 2 seeds from 1\n\n"));
    CHECK(has(whole, "1 of 2 experiments done, 0.0 minutes since the start\n"));
    CHECK_FALSE(std::filesystem::exists(partial));
    const std::string numbers = slurp(scratch / "found.json");
    std::filesystem::remove(scratch / "found.json");
    // Interrupted when it tells of the first: that is kept, and the rest is run.
    const auto interrupt = [&](const RunOptions& run) {
        run_experiments(run, [](const std::string& text) {
            if (has(text, "picture: ")) throw tapestry::Error("interrupted");
        });
    };
    CHECK_THROWS_AS(interrupt(options), tapestry::Error);
    CHECK_FALSE(std::filesystem::exists(scratch / "found.json"));
    REQUIRE(std::filesystem::exists(partial));
    const std::string rest = told_of(options);
    CHECK(rest.starts_with("2 experiments with 2 seeds from 1, 1 of them done before\n\n"));
    CHECK_FALSE(has(rest, find_experiment("by_hand").question));
    CHECK(has(rest, find_experiment("word_order").question));
    CHECK_FALSE(std::filesystem::exists(partial));
    const auto verdicts = [](const std::string& json) {
        return to_text(table_of_claims(results_from_json(json).found));
    };
    CHECK_EQ(verdicts(slurp(scratch / "found.json")), verdicts(numbers));
    // Other seeds, and another program, begin again.
    CHECK_THROWS_AS(interrupt(options), tapestry::Error);
    RunOptions other = options;
    other.setting.seed = 5;
    const std::string kept = slurp(partial), old = partial.native() + ".old";
    CHECK(told_of(other).starts_with(partial.native() +
                                     ": of another command, so it is not used, and is now " + old));
    CHECK_EQ(slurp(old), kept);
    CHECK_THROWS_AS(interrupt(options), tapestry::Error);
    std::string text = slurp(partial);
    const std::size_t program = text.find("\"program\": \"") + 12;
    text[program] = text[program] == '0' ? '1' : '0';
    tapestry::write_file_atomically(partial, text);
    CHECK(told_of(options).starts_with(partial.native() + ": of another program, so it is not"));
    tapestry::write_file_atomically(partial, "");
    check_message<tapestry::ValueError>([&] { told_of(options); },
                                        partial.native() + ": not the results of experiments");
}

TEST_CASE("experiments run: a run that continues has all figures") {
    const Scratch scratch;
    RunOptions options{.names = {"by_hand", "word_order"},
                       .setting = {.quick = true, .seeds = 2},
                       .out = scratch / "pictures",
                       .markdown = scratch / "found.md",
                       .json = scratch / "found.json"};
    // The first figure cannot be written; then it can.
    const auto figure = options.out / "by_hand-weights.svg";
    std::filesystem::create_directories(figure / "in the way");
    CHECK_THROWS_AS(told_of(options), tapestry::IoError);
    std::filesystem::remove_all(figure);
    told_of(options);
    CHECK(std::filesystem::is_regular_file(figure));
    CHECK(std::filesystem::exists(options.out / "word_order-words.svg"));
    CHECK(std::filesystem::exists(options.out / "word_order-seeds.svg"));
    // Interrupted after the first: its figure is removed, or others are wanted elsewhere.
    const auto interrupted = [&] {
        run_experiments(options, [](const std::string& text) {
            if (has(text, "picture: ")) throw tapestry::Error("interrupted");
        });
    };
    CHECK_THROWS_AS(interrupted(), tapestry::Error);
    std::filesystem::remove(figure);
    CHECK(told_of(options).starts_with("2 experiments with 2 seeds from 1\n"));
    CHECK(std::filesystem::exists(figure));
    CHECK_THROWS_AS(interrupted(), tapestry::Error);
    options.out = scratch / "elsewhere";
    CHECK(has(told_of(options), ".partial: of another command, so it is not used"));
    CHECK(std::filesystem::exists(options.out / "by_hand-weights.svg"));
}

TEST_CASE("experiments run: figures in a file are refused before anything runs") {
    const Scratch scratch;
    const RunOptions options{.names = {"by_hand", "word_order"},
                             .setting = {.quick = true, .seeds = 2},
                             .out = scratch / "file",
                             .json = scratch / "found.json"};
    tapestry::write_file_atomically(options.out, "");
    check_message<tapestry::IoError>([&] { told_of(options); },
                                     options.out.native() + ": not a directory");
    CHECK_EQ(scratch.names(), std::vector<std::string>{"file"});
}

TEST_CASE("experiments run: the plan has the minutes of each and the sum of what is left") {
    const std::vector<Experiment> some{find_experiment("sqrt_dk"), find_experiment("who_is_it")};
    const std::string plan = plan_of(some, {.seed = 7, .seeds = 20}, 2);
    CHECK(plan.starts_with(
        "2 experiments with 20 seeds from 7: about 51.0 minutes of CPU, 25.5 minutes on 2 "
        "threads\n"));
    CHECK(has(plan, "sqrt_dk            36.3"));
    const std::vector<Found> done{{.name = "sqrt_dk", .report = {}, .outcomes = {}}};
    const std::string rest = plan_of(some, {.seed = 7, .seeds = 20}, 1, done);
    CHECK(has(rest, ", 1 of them done before: about 14.7 minutes of CPU, 14.7 minutes on 1 "));
    CHECK(has(rest, "36.3  done"));
    // Every experiment that trains something has an estimate.
    std::istringstream rows(plan_of(all_experiments(), {}, 1));
    std::string without;
    for (std::string row; std::getline(rows, row);) {
        if (row.find(" 0.0") != std::string::npos) without += row.substr(0, row.find("  ", 2));
    }
    CHECK_EQ(without, "  by_hand  word_order");
}

TEST_CASE("experiments run: names that do not go together") {
    CHECK_THROWS_WITH_AS(told_of({.names = {"all", "by_hand"}}),
                         "all experiments, or some by name: got all, by_hand",
                         tapestry::ValueError);
    CHECK_THROWS_WITH_AS(told_of({.names = {"by_hand", "by_hand"}}),
                         "experiment by_hand is named twice", tapestry::ValueError);
}

TEST_CASE("experiments run: the list names every one") {
    const std::string list = list_of_experiments();
    CHECK_EQ(std::count(list.begin(), list.end(), '\n'),
             std::ssize(all_experiments()) + std::ssize(experiments_apart()));
    for (const auto* some : {&all_experiments(), &experiments_apart()}) {
        for (const Experiment& e : *some) {
            INFO(e.name);
            CHECK(has(list, "  " + e.question + "\n"));
        }
    }
}
