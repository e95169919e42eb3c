// Tables from the command: runs that learn classes and numbers, predictions, scores, and bad input.
#include <tapestry/tests/cli/command.h>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

using namespace tapestry::test;
using Json = nlohmann::json;

namespace {

const Arguments kSmall{"--out",     "m", "--steps",      "6", "--batch", "8",   "--dim", "8",
                       "--threads", "1", "--eval-every", "3", "--lr",    "0.02"};

struct TablesPlace : Place {
    TablesPlace() {
        std::string lines = "id,x,colour,kind,size\n";
        for (int i = 0; i < 40; ++i) {
            lines += fmt::format("{},{},{},{},{}\n", i, i % 7 == 0 ? "" : fmt::format("{}", i % 9),
                                 i % 3 == 0 ? "red" : "blue", i % 2 == 0 ? "even" : "odd", i * 0.5);
        }
        spill(*this / "t.csv", lines);
        spill(*this / "new.csv", "x,colour,size,kind\n1,red,2,even\n,green,3,odd\n");
    }
    Outcome train(const Arguments& more) const { return run(Arguments{"train"} + more + kSmall); }
};

}  // namespace

TEST_CASE("cli table: classes are learned, predicted, measured, inspected") {
    const TablesPlace place;
    const Outcome trained = place.train({"--table", "t.csv", "--target", "kind", "--ignore", "id"});
    check_done(trained);
    CHECK(trained.out.find("t.csv: 40 rows, 2 columns of numbers and 1 of categories; predicting "
                           "'kind', one of 2 classes; training on 36, validating on 4") !=
          std::string::npos);
    CHECK(trained.out.find("2 hidden layers, dim 8, 3 numbers and 1 column of categories with 3 "
                           "vectors") != std::string::npos);
    CHECK(trained.out.find("rows/s") != std::string::npos);
    const Outcome found = place.run({"predict", "--model", "m", "--table", "new.csv"});
    CHECK_EQ(found.code, 0);
    CHECK_EQ(lines_of(found.out).size(), 2);
    CHECK_EQ(
        found.err,
        "tapestry: new.csv: 1 of 2 rows have values that the model has not learned: 'colour' 1 "
        "unknown, such as 'green'; an unknown category counts as a rare one, a missing number "
        "as the mean\n");
    const Outcome both =
        place.run({"predict", "--model", "m", "--table", "new.csv", "--top-k", "2"});
    CHECK_EQ(both.code, 0);
    CHECK(both.out.find("\teven\t") + both.out.find("even\t") != 2 * std::string::npos);
    const Outcome measured = place.run({"eval", "--model", "m", "--table", "t.csv", "--json"});
    check_done(measured);
    const Json scores = Json::parse(measured.out);
    CHECK_EQ(scores["rows"], 40);
    CHECK_EQ(scores["baseline_accuracy"], 0.5);
    const Outcome text = place.run({"eval", "--model", "m", "--table", "t.csv"});
    CHECK(text.out.find("\nalways 'even', the most frequent in training: accuracy 0.5000") !=
          std::string::npos);
    spill(place / "one.csv", "x,colour,size,kind\n1,red,2,even\n");
    check_done(place.run({"inspect", "--model", "m", "--prompt", "one.csv"}));
    check_done(place.run({"rewind", "m", "--all"}));
    check_done(place.run({"gradcheck", "--model", "m", "--text", "t.csv", "--certainty", "0.5"}));
    check_done(place.run({"profile", "--model", "m", "--text", "t.csv", "--steps", "1"}));
    check_done(place.train({"--resume"}));
    check_refused(place.run({"inspect", "--model", "m", "--prompt", "t.csv"}),
                  "t.csv' has 40 rows; --prompt names a table with one, its target included");
    check_refused(place.run({"inspect", "--model", "m", "--prompt", "one.csv", "--target", "odd"}),
                  "leave out --target");
}

TEST_CASE("cli table: numbers are learned, predicted, measured") {
    const TablesPlace place;
    const Outcome trained = place.train({"--table", "t.csv", "--target", "size", "--categories",
                                         "id", "--ignore", "id", "--hidden-layers", "0"});
    check_done(trained);
    CHECK(
        trained.out.find("predicting 'size', a number (--categories size would make it a class)") !=
        std::string::npos);
    const Outcome found = place.run({"predict", "--model", "m", "--table", "new.csv"});
    CHECK_EQ(found.code, 0);
    CHECK(found.err.find("'colour' 1 unknown, such as 'green'") != std::string::npos);
    CHECK_EQ(lines_of(found.out).size(), 2);
    CHECK(std::abs(std::stod(found.out)) < 100);
    const Outcome measured = place.run({"eval", "--model", "m", "--table", "t.csv"});
    check_done(measured);
    CHECK(measured.out.starts_with("R2 "));
    CHECK(measured.out.find("\nalways 9.5, the mean in training: R2 ") != std::string::npos);
    check_refused(place.run({"predict", "--model", "m", "--table", "new.csv", "--top-k", "2"}),
                  "predict: m predicts a number, which has no --top-k");
    check_done(place.run({"rewind", "m", "--all"}));
}

TEST_CASE("cli table: bad input is one line that says where and what to do") {
    const TablesPlace place;
    check_refused(place.train({"--table", "t.csv"}),
                  "table: needs --target, the column to predict; the columns of t.csv are id, x, "
                  "colour, kind, size");
    check_refused(place.train({"--table", "t.csv", "--target", "weight"}),
                  "t.csv: has no column 'weight' to predict (--target)");
    check_refused(place.train({"--table", "t.csv", "--target", "kind", "--eval-batches", "3"}),
                  "train: --task table does not read --eval-batches");
    check_refused(place.train({"--table", "t.csv", "--target", "kind", "--heads", "2"}),
                  "a network for tables has no --heads; its options are --target");
    check_refused(place.run({"train", "--text", "t.csv", "--out", "n", "--target", "kind"}),
                  "a GPT has no --target");
    check_refused(place.run({"train", "--task", "table", "--out", "n"}), "--table is required");
    check_done(place.train({"--table", "t.csv", "--target", "kind", "--ignore", "id"}));
    check_refused(place.run({"train", "--out", "m", "--resume", "--target", "x"}),
                  "target was kind and is now x, whose parameters the run's state does not have");
    spill(place / "less.csv", "x,size,kind\n1,2,odd\n");
    check_refused(place.run({"predict", "--model", "m", "--table", "less.csv"}),
                  "less.csv: has no column 'colour', which the model reads");
    spill(place / "more.csv", "x,colour,size,kind\n1,red,2,both\n");
    check_refused(place.run({"eval", "--model", "m", "--table", "more.csv"}),
                  "more.csv:2: 'both' is not one of the model's 2 classes");
    spill(place / "text.csv", "x,colour,size\nwide,red,2\n");
    check_refused(place.run({"predict", "--model", "m", "--table", "text.csv"}),
                  "text.csv:2: column 'x' has 'wide', which is no number as the model reads there");
    check_refused(place.run({"classify", "--model", "m"}), "the model is a network for tables");
    check_refused(place.run({"eval", "--model", "m", "--table", "t.csv", "--beam", "4"}),
                  "eval: m is a network for tables, measured on --table; --beam does not apply");
}
