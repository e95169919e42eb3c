// Running several experiments: where their figures and page are written.
#include <tapestry/core/error.h>
#include <tapestry/examples/school/experiments/registry.h>
#include <tapestry/tests/core/scratch.h>

#include <algorithm>

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
        told_of({.name = "by_hand", .setting = {.quick = true}, .markdown = page});
    CHECK(has(told, find_experiment("by_hand").question));
    CHECK(has(told, "\npicture: " + (scratch / "page" / "by_hand-").native()));
    CHECK(told.ends_with(" s\n\n"));
    const std::string markdown = slurp(page);
    CHECK(markdown.starts_with("# Experiments\n\n"));
    CHECK(has(markdown, " tapestry experiment by_hand --quick --seed 1 --seeds 10 --markdown " +
                            page.native() + "\n"));
    CHECK(has(markdown, "](page/by_hand-"));
}

TEST_CASE("experiments run: pictures where they are wanted, and no page") {
    const Scratch scratch;
    told_of({.name = "by_hand", .setting = {.quick = true}, .out = scratch / "pictures"});
    CHECK_EQ(scratch.names(), std::vector<std::string>{"pictures"});
}

TEST_CASE("experiments run: what is none, or has no place, is said before anything runs") {
    const Scratch scratch;
    check_message<tapestry::ValueError>([] { told_of({.name = "nothing"}); },
                                        "no experiment is called 'nothing'");
    const auto nowhere = scratch / "none" / "page.md";
    check_message<tapestry::IoError>([&] { told_of({.name = "sqrt_dk", .markdown = nowhere}); },
                                     nowhere.native() + ": there is no directory ");
    CHECK(scratch.names().empty());
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
