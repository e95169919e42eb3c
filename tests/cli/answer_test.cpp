// Questions about passages from the command: a run, answers, scores, and bad input.
#include <tapestry/tests/cli/command.h>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>

using namespace tapestry::test;
using Json = nlohmann::json;

namespace {

const Arguments kSmall{"--out",        "m",  "--steps",   "4", "--batch",      "4",
                       "--layers",     "1",  "--heads",   "2", "--dim",        "16",
                       "--max-length", "40", "--threads", "1", "--eval-every", "2"};

struct QuestionsPlace : Place {
    QuestionsPlace() {
        std::string lines = "passage\tquestion\tanswer\n";
        for (int i = 0; i < 30; ++i) {
            lines += fmt::format("ball {} is in box {} .\twhere is ball {} ?\tbox {}\n", i, i % 4,
                                 i, i % 4);
        }
        spill(*this / "q.tsv", lines);
        spill(*this / "p.txt", "ball 3 is in box 2 .\n");
    }
    Outcome train(const Arguments& more) const { return run(Arguments{"train"} + more + kSmall); }
};

}  // namespace

TEST_CASE("cli answer: trained on questions, asked, measured, inspected") {
    const QuestionsPlace place;
    const Outcome trained = place.train({"--text", "q.tsv"});
    check_done(trained);
    CHECK(trained.out.find("q.tsv has the columns passage and question: --task answer (--task text "
                           "reads it as a text)") != std::string::npos);
    CHECK(trained.out.find("q.tsv: 30 questions about 30 passages, ") != std::string::npos);
    CHECK(trained.out.find("training on 27, validating on 3, of other passages") !=
          std::string::npos);
    CHECK(trained.out.find("questions/s") != std::string::npos);
    CHECK(trained.out.find("1 layer, 2 heads, dim 16, rotary positions, question and passage of up "
                           "to 40 tokens") != std::string::npos);

    const Outcome one =
        place.run({"answer", "--model", "m", "--passage", "p.txt", "where is ball 3 ?"});
    check_done(one);
    CHECK_EQ(lines_of(one.out).size(), 1);
    CHECK(std::string("ball 3 is in box 2 .").find(lines_of(one.out)[0]) != std::string::npos);
    const Outcome some = place.run({"answer", "--model", "m", "--passage", "p.txt", "--top-k", "3",
                                    "--probabilities", "where is ball 3 ?"});
    check_done(some);
    CHECK_EQ(std::count(some.out.begin(), some.out.end(), '\t'), 5);
    spill(place / "in.txt", "\xEF\xBB\xBFwhere is ball 3 ?\r\n where is ball 3 ?\n");
    const Outcome lines = place.run(
        {"answer", "--model", "m", "--passage", "p.txt", "--top-k", "3", "--probabilities"},
        {.stdin_from = (place / "in.txt").string()});
    check_done(lines);
    CHECK_EQ(lines.out, some.out + some.out);
    const Outcome all = place.run({"answer", "--model", "m", "--questions", "q.tsv"});
    check_done(all);
    CHECK_EQ(lines_of(all.out).size(), 30);

    const Outcome measured = place.run({"eval", "--model", "m", "--questions", "q.tsv", "--json"});
    check_done(measured);
    CHECK_EQ(Json::parse(measured.out)["questions"], 30);
    const Outcome text = place.run({"eval", "--model", "m", "--questions", "q.tsv"});
    CHECK(text.out.find(" over 30 questions of q.tsv") != std::string::npos);
    check_done(place.run({"inspect", "--model", "m", "--prompt",
                          "ball 3 is in box 2 .\twhere is ball 3 ?", "--target", "box 2"}));
    check_done(place.run({"rewind", "m", "--all"}));
    check_done(place.run({"gradcheck", "--model", "m", "--text", "q.tsv", "--certainty", "0.5"}));
    check_done(place.run({"profile", "--model", "m", "--text", "q.tsv", "--steps", "1"}));
    check_done(place.train({"--resume"}));
}

TEST_CASE("cli answer: bad input is one line that says where and what to do") {
    const QuestionsPlace place;
    spill(place / "bad.tsv", "a b\tq?\tc\n");
    check_refused(place.train({"--questions", "bad.tsv"}),
                  "bad.tsv:1: the answer 'c' is not in the passage");
    check_refused(place.train({"--questions", "q.tsv", "--task", "text"}),
                  "train: --questions is for --task answer, got text");
    check_refused(place.train({"--questions", "q.tsv", "--text", "p.txt"}), "--text");
    check_refused(place.train({"--questions", "q.tsv", "--test-fraction", "0.1"}),
                  "train: --task answer does not read --test-fraction; its examples are those of "
                  "--questions, a file of questions");
    check_refused(place.train({"--questions", "q.tsv", "--positions", "circular"}), "--positions");
    check_refused(place.train({"--questions", "q.tsv", "--buckets", "7"}),
                  "a model that points at answers has no --buckets");
    check_refused(place.train({"--task", "answer"}), "--questions is required");
    check_done(place.train({"--questions", "q.tsv"}));
    check_refused(place.run({"answer", "--model", "m"}), "--passage is required");
    check_refused(place.run({"answer", "--model", "m", "--questions", "q.tsv", "who?"}),
                  "answer: --questions has questions; leave out 'who?'");
    check_refused(place.run({"answer", "--model", "m", "--passage", "none.txt", "who?"}),
                  "none.txt");
    check_refused(place.run({"answer", "--model", "m", "--passage", "p.txt"}, {.stdin_from = "."}),
                  "stdin: cannot be read");
    spill(place / "long.txt", std::string(400, 'x') + " y\n");
    check_refused(place.run({"answer", "--model", "m", "--passage", "long.txt", "who?"}),
                  "the model reads 40 (--max-length)");
    check_refused(place.run({"eval", "--model", "m", "--text", "p.txt"}),
                  "eval: m is a model that points at answers, measured on --questions; --text does "
                  "not apply");
    check_refused(place.run({"eval", "--model", "m"}),
                  "eval: m is a model that points at answers; it needs --questions");
    check_refused(place.run({"inspect", "--model", "m", "--prompt", "where?", "--target", "x"}),
                  "--prompt is the passage and, after a tab or in the last line, the question");
    check_refused(place.run({"inspect", "--model", "m", "--prompt", "a\tq"}),
                  "m' answers questions; it needs --target, the answer");
    check_refused(place.run({"sample", "--model", "m"}), "the model is a model that points at");
}
