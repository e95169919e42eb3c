// report.html of `tapestry train`: written, updated, correct, and without effect on training.
#include <tapestry/core/clock.h>
#include <tapestry/tests/cli/command.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <csignal>

using namespace tapestry::test;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

struct ReportPlace : Place {
    ReportPlace() { spill(*this / "t.txt", simple_text()); }

    /// What the page holds.
    Json report() const { return Json::parse(data_of_page(slurp(*this / "m" / "report.html"))); }
    std::vector<Json> metrics() const {
        std::vector<Json> rows;
        for (const std::string& line : lines_of(slurp(*this / "m" / "metrics.jsonl"))) {
            rows.push_back(Json::parse(line));
        }
        rows.erase(rows.begin());  // the configuration
        return rows;
    }
};

// The page rounds to six digits.
void check_close(const Json& shown, double exact) {
    CHECK_EQ(shown.get<double>(), doctest::Approx(exact).epsilon(1e-5));
}

}  // namespace

TEST_CASE("cli train: the report has the numbers of the metrics, samples, and the recipe") {
    const ReportPlace place;
    const Outcome outcome = place.run(
        tiny_training({"--steps", "25", "--eval-every", "10", "--lr", "1e-2", "--clip", "0.5"}));
    check_done(outcome);
    CHECK_NE(outcome.out.find("report in m/report.html; it took "), std::string::npos);
    const Json report = place.report();
    const std::vector<Json> rows = place.metrics();
    CHECK_EQ(report.at("title"), "Training on t.txt");
    CHECK_EQ(report.at("status").at("state"), "finished");
    CHECK_EQ(report.at("status").at("step"), 25);
    CHECK_GT(report.at("status").at("cost").get<double>(), 0);
    CHECK_GT(rows.back().at("report_seconds").get<double>(), 0);
    const Json& curves = report.at("curves");
    REQUIRE_EQ(curves.at("loss").at("mean").size(), 25);
    for (std::size_t i = 0; i < 25; ++i) {
        check_close(curves.at("loss").at("mean")[i], rows[i].at("loss"));
        check_close(curves.at("lr").at("mean")[i], rows[i].at("lr"));
        check_close(curves.at("norm").at("mean")[i], rows[i].at("grad_norm"));
    }
    CHECK_EQ(curves.at("val").at("last"), Json({10, 20, 25}));
    check_close(curves.at("val").at("mean")[2], rows[24].at("val_loss"));
    // The last evaluation is always inspected; the others if time permits.
    const Json& last = report.at("evaluations").back();
    CHECK_EQ(last.at("step"), 25);
    CHECK_FALSE(last.at("sample").get<std::string>().empty());
    REQUIRE_EQ(last.at("flow").size(), report.at("parameters").size());
    for (const Json& flow : last.at("flow")) CHECK_GT(flow.at("update").get<double>(), 0);
    const Json& recipe = report.at("recipe");
    CHECK_NE(recipe.at("command").get<std::string>().find("--clip 0.5"), std::string::npos);
    CHECK_EQ(recipe.at("clip"), 0.5);
    std::map<std::string, std::string> options;
    for (const Json& line : recipe.at("options")) options[line.at("name")] = line.at("value");
    CHECK_EQ(options.at("--lr"), "0.01");
    CHECK_FALSE(options.contains("--momentum"));  // AdamW has none
    CHECK_FALSE(options.contains("--muon-lr"));
    CHECK_EQ(options.at("--beta2"), "0.99");  // was not given
    CHECK_EQ(options.at("--seed"), "1337");
    const std::string help = place.run({"train", "--help"}).out;  // which takes each of them
    for (const auto& option : options) {
        const std::string& name = option.first;
        INFO(name);
        const bool taken = !name.starts_with("--") || help.find(name + " ") != std::string::npos ||
                           help.find(name + "\n") != std::string::npos;
        CHECK(taken);
    }
    REQUIRE_EQ(recipe.at("expected").size(), 3);
    const Json config = Json::parse(slurp(place / "m" / "config.json"));
    check_close(recipe.at("expected")[0].at("loss"), std::log(config.at("vocab").get<double>()));
    CHECK_LT(recipe.at("expected")[1].at("loss"), recipe.at("expected")[0].at("loss"));
    CHECK_LT(recipe.at("expected")[2].at("loss"), recipe.at("expected")[1].at("loss"));
}

TEST_CASE("cli train: with the report and without, the same bits") {
    const ReportPlace place;
    const Arguments training =
        tiny_training({"--steps", "30", "--eval-every", "3", "--dropout", "0.1"});
    const auto losses = [&] {
        std::vector<double> all;
        for (const Json& row : place.metrics()) {
            all.push_back(row.at("loss"));
            if (row.contains("val_loss")) all.push_back(row.at("val_loss"));
        }
        return all;
    };
    const Outcome without = place.run(training + Arguments{"--no-report"});
    check_done(without);
    CHECK_EQ(without.out.find("report"), std::string::npos);
    CHECK_FALSE(fs::exists(place / "m" / "report.html"));
    CHECK_FALSE(place.metrics().back().contains("report_seconds"));
    const std::string weights = slurp(place / "m" / "model.safetensors");
    const std::vector<double> before = losses();
    check_done(place.run(training));
    CHECK(fs::exists(place / "m" / "report.html"));
    CHECK(weights == slurp(place / "m" / "model.safetensors"));
    CHECK(before == losses());
}

TEST_CASE("cli train: a report that cannot be written is said once, and nothing else happens") {
    const Arguments training = tiny_training({"--steps", "20", "--eval-every", "5"});
    const auto check_said = [](const Place& place, const Outcome& outcome, const char* reason) {
        CHECK_EQ(outcome.code, 0);
        const auto lines = lines_of(outcome.err);
        REQUIRE_EQ(lines.size(), 1);
        CHECK(lines[0].starts_with("tapestry: the report: cannot write "));
        CHECK(lines[0].ends_with(reason));
        CHECK_EQ(outcome.out.find("report in"), std::string::npos);
        CHECK(samples(place, "m"));
    };
    const ReportPlace directory;
    fs::create_directories(directory / "m" / "report.html");
    check_said(directory, directory.run(training), "it is a directory, not a file");
    const ReportPlace limited;  // the model is smaller than a page
    check_said(
        limited,
        limited.run(training + Arguments{"--checkpoint-every", "0"}, {.file_size_limit = 40000}),
        "File too large");
    CHECK_FALSE(fs::exists(limited / "m" / "report.html"));
}

TEST_CASE("cli train: the report is renewed while the training runs, and says how it ended") {
    const ReportPlace place;
    Json first;
    // The next page appears when the report's total time is below 1% of the run's: after a few
    // seconds, but much later if the process had to wait for a processor while it wrote the first.
    // Then another run is tried.
    bool is_renewed = false;
    for (int tries = 0; tries < 10 && !is_renewed; ++tries) {
        // Its output is not read and would block when the pipe is full, so it prints few lines.
        Process process(tiny_training({"--steps", "100000000", "--eval-every", "5000"}),
                        place.path());
        CHECK(wait_until([&] { return fs::exists(place / "m" / "report.html"); }));
        first = place.report();
        CHECK_EQ(first.at("status").at("state"), "running");
        const auto began = tapestry::Clock::now();
        CHECK(wait_until([&] {
            is_renewed = place.report().at("status").at("step") > first.at("status").at("step");
            return is_renewed || tapestry::seconds_since(began) > 30;
        }));
        process.send(SIGINT);
        CHECK_EQ(process.wait().code, 130);
        if (!is_renewed) fs::remove_all(place / "m");
    }
    CHECK(is_renewed);
    const Json last = place.report();
    CHECK_EQ(last.at("status").at("state"), "interrupted");
    CHECK_EQ(last.at("status").at("started"), first.at("status").at("started"));
    CHECK_EQ(last.at("status").at("step"), place.metrics().back().at("step"));
}

TEST_CASE("cli train: the report of a diverged run shows that it diverged") {
    const ReportPlace place;
    const Outcome outcome = place.run(
        tiny_training({"--steps", "500", "--lr", "1000", "--warmup", "0", "--eval-every", "0"}));
    check_refused(outcome, "a lower learning rate", 1);
    const Json status = place.report().at("status");
    CHECK_EQ(status.at("state"), "diverged");
    CHECK_NE(outcome.err.find(status.at("message").get<std::string>()), std::string::npos);
    CHECK(place.report().at("evaluations").empty());
}
