// Tables: the files and their columns, scores, runs that learn classes and numbers, and what is
// refused.
#include <tapestry/nn/data/table.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/train/session.h>
#include <tapestry/nn/train/table/table_task.h>
#include <tapestry/nn/train/training_run.h>
#include <tapestry/tests/nn/small_run.h>

#include <cmath>

using namespace tapestry;
using doctest::Approx;
using test::check_message;
using Strings = std::vector<std::string>;

namespace {

struct TablePlace : test::RunPlace {
    std::filesystem::path csv = scratch / "t.csv";

    Table read(const std::string& lines, const TableOptions& options = {}) const {
        test::spill(csv, lines);
        return read_table(csv, options);
    }
    TrainingConfig config(const std::string& target, std::int64_t classes_of = 0) const {
        TrainingConfig config{.task = "table", .text = csv.string()};
        TableConfig model{.target = target, .dim = 16, .hidden_layers = 1, .category_dim = 4};
        if (classes_of > 0) model.categories = {target};
        config.set_model(model);
        config.batch = 32;
        config.steps = 300;
        config.warmup = 10;
        config.lr = 0.01;
        config.eval_every = 300;
        return config;
    }
};

// y = 3 x + 5 where kind is "up", and 5 - 3 x where it is "down"; 8 where x is missing.
std::string slopes() {
    std::string text = "x,kind,y\n";
    for (int i = 0; i < 400; ++i) {
        const double x = (i * 37 % 101) / 50.0 - 1;
        const bool up = i * 7 % 3 != 0;
        const bool is_missing = i % 10 == 3;
        text += fmt::format("{},{},{}\n", is_missing ? "" : fmt::format("{}", x),
                            up ? "up" : "down", is_missing ? 8 : 5 + (up ? 3 : -3) * x);
    }
    return text;
}

}  // namespace

TEST_CASE("tables: columns of numbers and of categories, with missing values") {
    const TablePlace place;
    const Table table = place.read(
        "name,size, kind ,code\n\"Smith, A.\",1.5,b,1\nx,NA,,2\n\ny,-2e3,\"say \"\"b\"\"\",?\n",
        {.categories = {"code"}});
    REQUIRE_EQ(table.columns.size(), 4);
    CHECK_EQ(table.rows(), 3);
    CHECK_EQ(table.find("name")->texts, Strings{"Smith, A.", "x", "y"});
    const TableColumn& size = *table.find("size");
    CHECK(size.is_number);
    CHECK_EQ(size.numbers[0], 1.5);
    CHECK(std::isnan(size.numbers[1]));
    CHECK_EQ(size.numbers[2], -2000);
    CHECK_EQ(table.find("kind")->texts, Strings{"b", "", "say \"b\""});
    CHECK_EQ(table.find("code")->texts, Strings{"1", "2", ""});
    CHECK_EQ(table.place(2), (place.csv.string() + ":5"));
    CHECK(table.find("none") == nullptr);
    CHECK_EQ(place.read("a,b\n1e-999,2\n").find("a")->numbers[0], 0);
    CHECK_EQ(place.read("a;b\n1;2\n").find("b")->numbers[0], 2);
    CHECK_EQ(place.read("a\n1\n\n3\n").rows(), 3);  // one column: an empty line is a missing value
    const Table some = place.read("a,b,c\n1,2,3\n", {.ignore = {"b"}});
    CHECK_EQ(some.columns.size(), 2);
    const Table known =
        place.read("c,b,a\n1,2,x\n", {.known = {{"a", false}, {"c", true}, {"d", true, true}}});
    REQUIRE_EQ(known.columns.size(), 2);
    CHECK_EQ(known.columns[0].name, "c");
    for (const char* missing : {"", "?", "NA", "n/a", "NaN", "NULL"}) {
        CHECK(is_missing_value(missing));
    }
    for (const char* value : {"0", "none", "nano", "nulls", "-"}) {
        CHECK_FALSE(is_missing_value(value));
    }
}

TEST_CASE("tables: dates are days, and tables are written as they are read") {
    const TablePlace place;
    const Table table = place.read(
        "sold,name,size\n2026-11-27,\"a, \"\"b\"\"\",0.1\n,\" c\",\n1969-12-31 "
        "06:00,d,1e-9\n2024-02-29T12:00:30,,-3\n");
    const TableColumn& sold = *table.find("sold");
    CHECK(sold.is_number);
    CHECK(sold.is_date);
    CHECK_EQ(sold.numbers[0], 20784);
    CHECK(std::isnan(sold.numbers[1]));
    CHECK_EQ(sold.numbers[2], -0.75);
    CHECK_EQ(sold.numbers[3], Approx(19782 + 0.5 + 30.0 / 86400).epsilon(1e-14));
    write_table(place.scratch / "w.csv", table);
    CHECK_EQ(test::slurp(place.scratch / "w.csv"),
             "sold,name,size\n2026-11-27,\"a, \"\"b\"\"\",0.1\n,c,\n1969-12-31 "
             "06:00:00,d,1e-09\n2024-02-29 12:00:30,,-3\n");
    const Table again = read_table(place.scratch / "w.csv");
    CHECK_EQ(again.hash, table.hash);
    const Table some = select_rows(table, tensor<std::int64_t>({3, 0}));
    CHECK_EQ(some.find("name")->texts, Strings{"", "a, \"b\""});
    CHECK_EQ(some.find("size")->numbers, std::vector<double>{-3, 0.1});
    CHECK_EQ(some.place(0), place.csv.string() + ":5");
    check_message<IndexError>([&] { select_rows(table, tensor<std::int64_t>({4})); },
                              "select_rows: row 4 of 4");
    Table uneven = table;
    uneven.columns[2].numbers.pop_back();
    check_message<ValueError>([&] { write_table(place.scratch / "w.csv", uneven); },
                              "write_table: column 'size' has 3 rows, and the table 4");
    for (const char* other :
         {"2026-11-31", "2026-1-1", "26-11-27", "2026-11-27 ", "2026-11-27 24:00", "2026-11-27 10",
          "2026-11-27Z", "2026-11-27 10:00:00.", "2026-11-27 10:00.5", "2026-11-27 10:00:00+02:00",
          "2026-11-27x", "2026/11/27", ""}) {
        CAPTURE(other);
        CHECK(!days_of_date(other));
    }
    // What read_table would not give back is not written.
    const auto refused = [&](const char* file, const std::string& name, const std::string& text,
                             double x, const std::string& message) {
        CAPTURE(message);
        Table bad = table;
        bad.columns[1].name = name;
        bad.columns[1].texts[0] = text;
        bad.columns[2].numbers[0] = x;
        check_message<ValueError>([&] { write_table(place.scratch / file, bad); }, message);
    };
    refused("w.tsv", "name", "a", 1, "would hold commas; name it .csv");
    refused("w.csv", "", "a", 1, "write_table: the name '' is empty, given twice");
    refused("w.csv", "size", "a", 1, "write_table: the name 'size' is empty, given twice");
    refused("w.csv", "name", " b ", 1, "read_table would read ' b ' in column 'name' as another");
    refused("w.csv", "name", "NA", 1, "read_table would read 'NA' in column 'name' as another");
    refused("w.csv", "name", "a", 1e200, "write_table: 1e+200 in column 'size' is above 1e150");
    CHECK_EQ(date_of_days(-719528), "0000-01-01");
    check_message<ValueError>([&] { date_of_days(2932896.9999999995); },
                              "outside the years 0 to 9999");
    CHECK_EQ(date_of_days(-0.5), "1969-12-31 12:00:00");
    CHECK_EQ(date_of_days(19782.99999999999), "2024-03-01");
    // Fractions of seconds, and Z, which is Greenwich's time.
    CHECK_EQ(*days_of_date("2024-03-01T06:00:00.25Z"), 19783 + (6 * 3600 + 0.25) / 86400);
    CHECK_EQ(*days_of_date("2024-03-01 06:00Z"), 19783.25);
    CHECK_EQ(*days_of_date("2024-03-01T06:00:00,5"), 19783 + (6 * 3600 + 0.5) / 86400);
    CHECK_EQ(date_of_days(*days_of_date("2024-03-01T23:59:59.999Z")), "2024-03-01 23:59:59.999");
    check_message<IoError>(
        [&] { place.read("d\n2026-11-27\n2026-11-28\nlate\n"); },
        "t.csv:4: column 'd' has 'late', which is no date (2026-11-27) as most of the column are; "
        "leave it empty if it is missing");
}

TEST_CASE("table: a model reads dates, and says what it has not learned") {
    const TablePlace place;
    std::string text = "day,kind,x,y\n";
    for (int i = 0; i < 200; ++i) {
        text += fmt::format("{},{},{},{}\n", date_of_days(20000 + i % 40), i % 3 == 0 ? "a" : "b",
                            i % 7, 2 * (i % 40));
    }
    test::spill(place.csv, text);
    Session session(place.config("y"));
    TrainingRun(session, {.out = place.out, .report = false}).to_the_end();
    const auto task = load_table_task(place.out);
    CHECK(task->columns().numbers[0].is_date);
    CHECK_GT(task->regression_scores(task->read(place.csv, true)).r2(), 0.95);
    CHECK_EQ(task->unknown_values(task->read(place.csv, true)), "");
    CHECK(session.task().texts(session.task().validation_batch(0, default_generator()), 0)[0] ==
          "day 2024-10-13");
    test::spill(place.csv, "day,kind,x\n2024-10-13,c,1\n2024-10-14,,\n2024-10-15,a,\n,b,1\n");
    CHECK_EQ(task->unknown_values(task->read(place.csv, false)),
             place.csv.string() +
                 ": 4 of 4 rows have values that the model has not learned: 'day' 1 missing; 'x' 2 "
                 "missing; 'kind' 1 unknown, such as 'c', 1 missing; an unknown category counts as "
                 "a rare one, a missing number as the mean");
    // A model saved by a version that did not write which categories were missing: not known, so
    // nothing is said of them.
    std::string config = test::slurp(place.out / "config.json");
    const auto from = config.find("\"categories_with_missing\"");
    REQUIRE(from != config.npos);
    config.erase(from, config.find("\"category_counts\"") - from);
    std::filesystem::remove(place.out / "tapestry-manifest.json");
    test::spill(place.out / "config.json", config);
    CHECK_EQ(load_table_task(place.out)->unknown_values(task->read(place.csv, false)),
             place.csv.string() +
                 ": 4 of 4 rows have values that the model has not learned: 'day' 1 missing; 'x' 2 "
                 "missing; 'kind' 1 unknown, such as 'c'; an unknown category counts as a rare "
                 "one, a missing number as the mean");
    test::spill(place.csv, "day,kind,x\nsoon,a,1\n");
    check_message<IoError>([&] { task->read(place.csv, false); },
                           "t.csv:2: column 'day' has 'soon', which is no date (2026-11-27) as the "
                           "model reads there");
    test::spill(place.csv, text);
    check_message<IoError>([&] { Session{place.config("day")}; },
                           "the target 'day' has dates; predict a number made of them");
}

TEST_CASE("tables: what is refused, with file and line") {
    const TablePlace place;
    const auto refused = [&](const std::string& text, const char* message,
                             const TableOptions& options = {}) {
        check_message<IoError>([&] { place.read(text, options); }, message);
    };
    refused("a,b\n1,2\n3\n", "t.csv:3: has 1 field, expected 2 as in the first line");
    refused("1,2\n3,4\n", "t.csv:1: names no columns; the first line must have a name for each");
    refused("a,,c\n1,2,3\n", "t.csv:1: column 2 has no name");
    refused("a,b,a\n1,2,3\n", "t.csv:1: two columns have the name 'a'");
    refused("a\n1\n2\nx\n",
            "t.csv:4: column 'a' has 'x', which is no number as most of the column are; leave it "
            "empty if it is missing, or give --categories a");
    refused("a\n1\n2\ninf\n",
            "t.csv:4: column 'a' has 'inf'; a number must be finite and at most 1e150");
    refused("a\n1\n2\n-1e151\n", "has '-1e151'; a number must be finite and at most 1e150");
    refused("a\n1\n2\n1e999\n",
            "t.csv:4: column 'a' has '1e999'; a number must be finite and at most 1e150");
    refused("a;b\nx;1\ny;-0,5\nz;2,25\n",
            "t.csv:3: column 'b' has '-0,5'; a number has a decimal point and no commas "
            "(--categories b reads these as names)");
    refused("a,b\nx,\"1,234\"\n", "t.csv:2: column 'b' has '1,234'; a number has");
    refused("a,b\r1,2\r", "t.csv: its lines end with CR only; tr '\\r' '\\n' <FILE >NEW");
    refused("a,b\n", "t.csv: has no rows below the names of its columns");
    refused("a,b\n\"1,2\n", "t.csv:2: a quote is not closed");
    refused("a,b\n3,4\n\"1\"2 ,5\n",
            "t.csv:3: '2' is behind a closing quote; a quote within a field is written twice");
    refused("a,b\n1,2\n", "t.csv: has no column 'c' (--categories); its columns are a, b",
            {.categories = {"c"}});
    refused("a,b\n1,2\n", "has no column 'c' (--ignore)", {.ignore = {"c"}});
    refused("a,b\n1,2\n", "t.csv: has no column 'c', which the model reads",
            {.known = {{"c", true}}});
    refused("a\nx\n", "column 'a' has 'x', which is no number as the model reads there",
            {.known = {{"a", true}}});
    test::spill(place.scratch / "t.tsv", "a\tb\n\"1\t2,\n");  // no quotes there
    CHECK_EQ(read_table(place.scratch / "t.tsv").find("a")->texts, Strings{"\"1"});
    test::spill(place.scratch / "t.txt", "a\tb\n1\t2\n");
    CHECK_EQ(read_table(place.scratch / "t.txt").columns.size(), 2);
}

TEST_CASE("tables: commas in names of categories are no numbers") {
    const TablePlace place;
    const std::string text = "a;b\n1,2;1\n1,5;2\n";
    CHECK_EQ(place.read(text, {.categories = {"a"}}).find("a")->texts, Strings{"1,2", "1,5"});
    CHECK_EQ(place.read(text, {.ignore = {"a"}}).columns.size(), 1);
    const Table table = place.read("a;b\n1,2 m;1\n,5;2\n1,;3\n1,,2;4\n");
    CHECK_EQ(table.find("a")->texts, Strings{"1,2 m", ",5", "1,", "1,,2"});
}

TEST_CASE("tables: blanks behind a closing quote, and separators within quoted names") {
    const TablePlace place;
    CHECK_EQ(place.read("a,b\n\"x, y\" ,\"1\"\t\r\nz,2\r\n").find("a")->texts,
             Strings{"x, y", "z"});
    const Table table = place.read("\"length, cm\";\"a,\"\"\nb\";c\n1;x;2\n3;x;4\n");
    REQUIRE_EQ(table.columns.size(), 3);
    CHECK_EQ(table.columns[0].name, "length, cm");
    CHECK_EQ(table.find("c")->numbers, std::vector<double>{2, 4});
}

TEST_CASE("table: a number is learned from numbers, categories and what is missing") {
    const TablePlace place;
    test::spill(place.csv, slopes());
    Session session(place.config("y"));
    const auto losses = session.task().expected_losses();
    REQUIRE_EQ(losses.size(), 2);
    CHECK_EQ(session.evaluate(), Approx(losses[0].loss).epsilon(1e-6));  // the mean, at the start
    CHECK_LT(losses[1].loss, losses[0].loss);
    TrainingRun(session, {.out = place.out, .report = false}).to_the_end();
    CHECK_LT(session.evaluate(), 0.02);
    CHECK(model_kind(place.out) == ModelKind::table);
    const auto task = load_table_task(place.out);
    CHECK(task->labels().empty());
    REQUIRE_EQ(task->columns().numbers.size(), 1);
    CHECK(task->columns().numbers[0].has_missing);

    test::spill(place.csv, "kind,more,x\nup,7,0.5\ndown,7,0.5\nup,7,\nup,7,1e150\n");
    const auto found = task->predict(task->read(place.csv, false), 1);
    REQUIRE_EQ(found.size(), 4);
    CHECK(std::isfinite(found[3].number));
    CHECK_EQ(found[0].number, Approx(6.5).epsilon(0.1));
    CHECK_EQ(found[1].number, Approx(3.5).epsilon(0.1));
    CHECK_EQ(found[2].number, Approx(8).epsilon(0.1));
    test::spill(place.csv, slopes());
    const RegressionScores scores = task->regression_scores(task->read(place.csv, true));
    CHECK_EQ(scores.rows, 400);
    CHECK_GT(scores.r2(), 0.98);
    check_message<IoError>([&] { load_model(place.out); },
                           "the model is a network for tables, expected");
    // A column of numbers that is one of categories, too; and a target that the model reads.
    const std::string saved = test::slurp(place.out / "config.json");
    std::filesystem::remove(place.out / "tapestry-manifest.json");
    for (const auto& [from, to] :
         {std::pair{"\"kind\"", "\"x\""}, std::pair{"\"target\": \"y\"", "\"target\": \"kind\""}}) {
        std::string changed = saved;
        const auto at = changed.find(from);
        REQUIRE(at != changed.npos);
        test::spill(place.out / "config.json",
                    changed.replace(at, std::string_view(from).size(), to));
        check_message<IoError>([&] { load_table_task(place.out); },
                               "config.json: a column occurs twice");
    }
    for (Tensor p : task->model().parameters()) p.fill_(NAN);
    check_message<DivergedError>([&] { task->predict(task->read(place.csv, false), 1); },
                                 "the model's outputs contain nan: it has diverged");
}

TEST_CASE("table: a class is learned, and numbers can be names of classes") {
    const TablePlace place;
    std::string text = "x,kind,id\n";
    for (int i = 0; i < 300; ++i) {
        const int kind = i * 7 % 3;
        text += fmt::format("{},{},r{}\n", kind + (i * 13 % 10) / 20.0, kind, i);
    }
    test::spill(place.csv, text);
    TrainingConfig config = place.config("kind", 1);
    check_message<IoError>([&] { Session{config}; },
                           "column 'id' has 270 different values in 270 rows, so it names rows; "
                           "leave it out by --ignore id");
    std::get<TableConfig>(*config.other_model).ignore = {"id"};
    Session session(config);
    CHECK_EQ(session.evaluate(), Approx(std::log(3.0)).epsilon(1e-4));
    TrainingRun(session, {.out = place.out, .report = false}).to_the_end();
    const auto task = load_table_task(place.out);
    CHECK_EQ(task->labels(), Strings{"0", "1", "2"});
    const Table table = task->read(place.csv, true);
    const ClassificationScores scores = task->classification_scores(table);
    CHECK_GT(scores.accuracy(), 0.97);
    CHECK_EQ(scores.of_baseline().accuracy(), Approx(1.0 / 3));
    CHECK(to_text(scores, "t.csv")
              .find("\nalways '0', the most frequent in training: accuracy "
                    "0.3333, macro F1 0.1667\n") != std::string::npos);
    CHECK(to_json(scores).find("\"baseline_accuracy\":0.33") != std::string::npos);
    const auto found = task->predict(table, 2);
    REQUIRE_EQ(found[0].labels.size(), 2);
    CHECK_EQ(found[0].labels[0].label, "0");

    test::spill(place.csv, "x,kind\n1,1\n2,\n");
    check_message<IoError>([&] { task->read(place.csv, true); },
                           "t.csv:3: the target 'kind' is missing; remove the row");
    test::spill(place.csv, "x,kind\n1,1\n2,7\n");
    check_message<IoError>([&] { task->read(place.csv, true); },
                           "t.csv:3: '7' is not one of the model's 3 classes");
    test::spill(place.csv, "y,kind\n1,1\n");
    check_message<IoError>([&] { task->read(place.csv, false); }, "has no column 'x'");
}

TEST_CASE("table: targets and tables that cannot be learned") {
    const TablePlace place;
    const auto refused = [&](const std::string& text, const std::string& target,
                             const char* message) {
        test::spill(place.csv, text);
        try {
            Session session(place.config(target));
            FAIL("it was accepted");
        } catch (const Error& error) {
            CAPTURE(error.what());
            CHECK(std::string(error.what()).find(message) != std::string::npos);
        }
    };
    refused("a,b\n1,2\n", "", "table: needs --target, the column to predict; the columns of ");
    refused("a,b\n1,2\n", "c", "has no column 'c' to predict (--target); its columns are a, b");
    refused("a,b\n1,2\n3,\n", "b", "t.csv:3: the target 'b' is missing; remove the row");
    refused("a,b\n1,x\n2,\n", "b", "t.csv:3: the target 'b' is missing; remove the row");
    refused("a,b\n1,x\n2,x\n", "b", "the target 'b' has one class, so there is nothing to learn");
    refused("a,b\n1,x\n2,y\n", "b", "too few rows to hold some out");
    refused("a,b\n1,2\n", "b", "too few rows to hold some out");
    refused("a,b\n1,2\n2,2\n3,2\n", "b", "is 2 in every row to learn from");
    refused("b\n1\n2\n3\n", "b", "has no column apart from the target 'b'");
    std::string names = "a,b\n";
    for (int i = 0; i < 30; ++i) names += fmt::format("{},n{}\n", i, i);
    refused(names, "b", "the target 'b' has 30 different values in 30 rows, so it names rows");
}

TEST_CASE("table: scores of numbers, by hand") {
    RegressionScores scores{.baseline = 2};
    scores.add(1, 1);
    scores.add(3, 2);
    scores.add(3, 6);
    CHECK_EQ(scores.rmse(), Approx(std::sqrt(10.0 / 3)));
    CHECK_EQ(scores.mae(), Approx(4.0 / 3));
    CHECK_EQ(scores.r2(), Approx(1 - 10.0 / 14));  // of the distances from 3: 4 + 1 + 9
    CHECK_EQ(to_text(scores, "t.csv"),
             "R2 0.2857, RMSE 1.8257, MAE 1.3333 over 3 rows of t.csv\n"
             "always 2, the mean in training: R2 -0.2143, RMSE 2.3805, MAE 1.6667\n");
    CHECK(to_json(scores).find("\"baseline_mae\":1.66") != std::string::npos);
    RegressionScores same;
    same.add(1, 2);
    CHECK(std::isnan(same.r2()));
    CHECK(to_text(same, "t").find("R2 undefined, since all numbers are the same") == 0);
    CHECK(to_json(same).find("\"r2\":null") != std::string::npos);
}

TEST_CASE("table: parameters are counted from the configuration") {
    for (const std::int64_t layers : {0, 1, 3}) {
        for (const std::int64_t columns : {0, 2}) {
            const TableConfig config{.numbers = 3,
                                     .columns = columns,
                                     .values = columns * 5,
                                     .classes = layers,
                                     .dim = 7,
                                     .hidden_layers = layers,
                                     .category_dim = 4};
            CHECK_EQ(parameter_count(config),
                     static_cast<double>(TableNetwork(config).parameter_count()));
            CHECK(training_bytes(config, 2, 1, 2) > 16 * parameter_count(config));
            CHECK(step_flops(config, 2) == 2 * step_flops(config, 1));
        }
    }
    check_message<ValueError>([] { TableNetwork({}); }, "there is no column to read");
}
