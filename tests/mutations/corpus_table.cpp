#include <tapestry/tests/mutations/corpus_table.h>
#include <tapestry/tests/mutations/judge.h>

#include <chrono>

namespace tapestry::test {
namespace {

template <class Key, class Counts>
Counts total(const std::map<Key, Counts>& by) {
    Counts sum;
    for (const auto& [key, counts] : by) sum += counts;
    return sum;
}

void print_right(const std::string& name, const RightCounts& c) {
    fmt::print("{:<24} {:>7} {:>7} {:>13} {:>6} {:>7} {:>10} {:>13}\n", name, c.cases, c.passed,
               c.inconclusive, c.failed, c.threw, c.must_pass, c.must_pass_inconclusive);
}

void print_wrong(const std::string& name, const WrongCounts& c) {
    fmt::print("{:<24} {:>7} {:>7} {:>13} {:>6} {:>7} {:>7} {:>8} {:>11} {:>7} {:>7}\n", name,
               c.cases, c.failed, c.inconclusive, c.passed, c.threw, c.named, c.unknown,
               c.misleading, c.placed, c.placed_right);
}

void print_figures(Table& table, const RightCounts& right, const WrongCounts& wrong) {
    const auto share = [&table](const std::string& what, int part, int whole, double most) {
        table.row(what, percent(part, whole), of(part, whole), percent(part, whole) <= most,
                  fmt::format("up to {} %", most));
    };
    const auto none = [&table](const std::string& what, int count, int cases) {
        table.row(what, count, fmt::format("of {}", cases), count == 0, "0");
    };
    none("right: FAIL", right.failed, right.cases);
    none("right: thrown", right.threw, right.cases);
    share("right, to be resolved: INCONCLUSIVE", right.must_pass_inconclusive, right.must_pass, 10);
    none("wrong: PASS, off by more than max(1e-6, r)", wrong.passed_beyond, wrong.cases);
    table.row("wrong: PASS, the worst that one is off, over max(1e-6, r)", wrong.gap, "",
              wrong.gap <= 1, "up to 1");
    none("wrong: thrown", wrong.threw, wrong.cases);
    share("wrong, to be seen: INCONCLUSIVE", wrong.must_fail_inconclusive, wrong.must_fail, 5);
    share("cause misleading", wrong.misleading, wrong.nameable, 1);
    share("cause not named", wrong.unknown + wrong.misleading, wrong.nameable, 15);
    share("place named wrongly, or not", wrong.failed - wrong.placed_right, wrong.failed, 5);
}

}  // namespace

bool print_corpus(int cases, std::uint64_t seed, bool verbose, Format format) {
    const auto started = std::chrono::steady_clock::now();
    const Found found = [verbose](const std::string& line) {
        if (verbose) fmt::print("{}\n", line);
    };
    // The right ones have their own formats.
    const auto right = try_right(format == Format::f64 ? cases : 0, seed, found);
    const auto wrong = try_wrong(cases, seed, found, format);
    fmt::print("{:<24} {:>7} {:>7} {:>13} {:>6} {:>7} {:>10} {:>13}\n", "right, by template",
               "cases", "PASS", "INCONCLUSIVE", "FAIL", "thrown", "must PASS", "INCONCLUSIVE");
    for (const auto& [name, counts] : right) print_right(name, counts);
    print_right("all", total(right));
    fmt::print("\n{:<24} {:>7} {:>7} {:>13} {:>6} {:>7} {:>7} {:>8} {:>11} {:>7} {:>7}\n",
               "wrong, by mistake", "cases", "FAIL", "INCONCLUSIVE", "PASS", "thrown", "named",
               "unknown", "misleading", "placed", "right");
    for (const auto& [name, counts] : wrong) print_wrong(name, counts);
    print_wrong("all", total(wrong));
    fmt::print("\n");
    Table table;
    print_figures(table, total(right), total(wrong));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
    fmt::print("wrong: {:.0f} evaluations each\n{:.0f} s\n",
               static_cast<double>(total(wrong).evaluations) / std::max(1, cases), took.count());
    return table.all_hold();
}

}  // namespace tapestry::test
