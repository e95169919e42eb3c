// Runs in a directory tree: which are found, and their numbers; the configuration in metrics.jsonl.
#include <tapestry/nn/terminal/run_text.h>
#include <tapestry/nn/train/begin_run.h>
#include <tapestry/nn/train/metrics_file.h>
#include <tapestry/nn/train/run_list.h>
#include <tapestry/tests/nn/small_run.h>

#include <nlohmann/json.hpp>

#include <algorithm>

using namespace tapestry;
using test::check_message;
using test::slurp;
using test::spill;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

struct ListPlace : test::RunPlace {
    TrainingConfig config() const {
        TrainingConfig config = RunPlace::config();
        config.steps = 6;
        config.warmup = 1;
        config.eval_every = 3;
        return config;
    }
    // A run in out/NAME without checkpoints.
    std::string train(const std::string& name, TrainingConfig config,
                      std::int64_t last = INT64_MAX) const {
        Session session(config);
        TrainingRunOptions options{.out = scratch / name, .report = false};
        options.checkpoints.written = false;
        options.stepped = [last](const StepMetrics& m, const Speed&) { return m.step < last; };
        TrainingRun(session, options).to_the_end();
        return (scratch / name).string();
    }
};

}  // namespace

TEST_CASE("metrics: the first line is the configuration, and every reader copes with it") {
    const ListPlace place;
    const fs::path run = place.train("runs/a", place.config());
    const std::string text = slurp(run / kMetricsName);
    const Json first = Json::parse(text.substr(0, text.find('\n')));
    CHECK_EQ(first.at("event"), "start");
    CHECK_EQ(first.at("after"), 0);
    CHECK_FALSE(first.at("version").get<std::string>().empty());
    CHECK_EQ(first.at("config").at("steps"), 6);
    CHECK_EQ(first.at("config").at("model").at("dim"), 16);
    const TrainingConfig read =
        training_config_from_json(read_run_config(run / kMetricsName), "metrics");
    CHECK_EQ(read.steps, 6);
    CHECK_EQ(read.text, place.config().text);
    CHECK_EQ(read_metrics(run / kMetricsName).steps.size(), 6);
    CHECK_EQ(read_steps(run / kMetricsName, 1).front().step, 1);
    CHECK_EQ(lines_of_steps(run / kMetricsName, 2).find("event"), std::string::npos);
    const auto end = read_run_end(run / kMetricsName);
    REQUIRE(end.has_value());
    CHECK_FALSE(end->interrupted);
    CHECK(loss_curves(run.string()).summary.find("step 6, loss ") != std::string::npos);
    // A file from before has none.
    spill(run / kMetricsName, text.substr(text.find('\n') + 1));
    CHECK_EQ(read_run_config(run / kMetricsName), "");
    CHECK_EQ(read_metrics(run / kMetricsName).steps.size(), 6);
}

TEST_CASE("metrics: a fork has its own line first, a resumed run one only if settings changed") {
    const ListPlace place;
    const auto events_in = [](const fs::path& run) {
        std::vector<std::string> events;
        std::string text = slurp(run / kMetricsName);
        for (std::size_t at = 0; (at = text.find("{\"event\":\"", at)) != text.npos; ++at) {
            events.push_back(text.substr(at + 10, text.find('"', at + 10) - at - 10));
        }
        return events;
    };
    using Events = std::vector<std::string>;
    const auto train = [&](const RunRequest& request, std::int64_t last) {
        BegunRun begun = begin_run(request);
        TrainingRunOptions options{.report = false, .earlier = std::move(begun.earlier)};
        options.stepped = [last](const StepMetrics& m, const Speed&) { return m.step < last; };
        TrainingRun(*begun.session, *begun.directory, options).to_the_end();
    };
    RunRequest request{.config = place.config(), .out = place.out.string()};
    train(request, 2);
    CHECK_EQ(events_in(place.out), Events{"start", "end"});
    request.resume = true;
    train(request, 4);
    CHECK_EQ(events_in(place.out), Events{"start", "end"});
    request.config.lr = 5e-4;
    request.given = request.overrides = {"lr"};
    train(request, 6);
    CHECK_EQ(events_in(place.out), Events{"start", "resume", "end"});
    CHECK_EQ(training_config_from_json(read_run_config(place.out / kMetricsName), "m").lr, 5e-4);
    const RunRequest fork{.config = place.config(),
                          .out = (place.scratch / "fork").string(),
                          .fork = place.out.string(),
                          .step = 3};
    train(fork, 5);
    CHECK_EQ(events_in(place.scratch / "fork"), Events{"start", "end"});
    const std::string text = slurp(place.scratch / "fork" / kMetricsName);
    CHECK_EQ(Json::parse(text.substr(0, text.find('\n'))).at("after"), 3);
    CHECK_EQ(read_metrics(place.scratch / "fork" / kMetricsName).steps.size(), 5);
}

TEST_CASE("runs: found below a directory, with options and results, without any checkpoint") {
    const ListPlace place;
    TrainingConfig config = place.config();
    const std::string a = place.train("runs/deep/a", config);
    config.lr = 0.05;
    const std::string b = place.train("runs/b", config, 4);
    fs::create_directories(place.scratch / "runs/.hidden");
    spill(place.scratch / "runs/.hidden/metrics.jsonl", "{\"step\":1,\"loss\":1}\n");
    fs::create_directories(place.scratch / "runs/old");
    spill(place.scratch / "runs/old/metrics.jsonl", "{\"step\":1,\"loss\":9.5}\n");
    fs::create_symlink(place.scratch / "runs/b", place.scratch / "runs/link");
    const auto found = find_runs({(place.scratch / "runs").string(), b});
    CHECK_EQ(found, std::vector<fs::path>{b, a, place.scratch / "runs/old"});
    const auto runs = run_summaries(found);
    REQUIRE_EQ(runs.size(), 3);
    CHECK_EQ(runs[2].name, (place.scratch / "runs/old").string());  // no validation loss
    CHECK_EQ(runs[2].state, "unfinished");
    CHECK_EQ(runs[2].option("--lr"), "?");
    CHECK_LE(runs[0].lowest.value, runs[1].lowest.value);
    const RunSummary& first = runs[0].name == a ? runs[0] : runs[1];
    const RunSummary& second = runs[0].name == a ? runs[1] : runs[0];
    CHECK_EQ(first.state, "finished");
    CHECK_EQ(second.state, "interrupted");
    CHECK_EQ(first.steps, 6);
    CHECK_EQ(second.steps, 4);
    CHECK_EQ(first.option("--lr"), "0.001");
    CHECK_EQ(second.option("--lr"), "0.05");
    CHECK_GT(first.tokens_per_second, 0);
    CHECK_EQ(differing_options(runs), std::vector<std::string>{"--lr"});
    double bytes = 0;
    for (const auto& entry : fs::recursive_directory_iterator(a)) {
        if (entry.is_regular_file()) bytes += static_cast<double>(entry.file_size());
    }
    CHECK_EQ(first.bytes, bytes);
    const std::string text = sweep_text({a, b});
    CHECK(text.starts_with("run "));
    CHECK(text.find("--lr") != std::string::npos);
    CHECK(text.find("0.05") != std::string::npos);
    CHECK(text.find("interrupted at step 4") != std::string::npos);
    const Json json = Json::parse(to_json(runs));
    CHECK_EQ(json.size(), 3);
    CHECK_EQ(json[2].at("loss"), 9.5);
    CHECK_FALSE(json[2].contains("lowest_val_loss"));
    CHECK_EQ(json[0].at("options").at("--dim"), "16");
    const std::string csv = to_csv(runs);
    CHECK(
        csv.starts_with("run,state,steps,loss,lowest_val_loss,lowest_step,seconds,tokens_per_s,"
                        "bytes,--"));
    CHECK_EQ(std::count(csv.begin(), csv.end(), '\n'), 4);
    CHECK(csv.find((place.scratch / "runs/old").string() +
                   std::string(",unfinished,1,9.5,,,0,0,")) != std::string::npos);
    check_message<IoError>([&] { find_runs({place.text.string()}); }, "not a directory");
    check_message<IoError>(
        [&] { find_runs({(place.scratch / "runs/.hidden/..").string() + "/deep/a/x"}); },
        "not a directory");
    fs::create_directory(place.scratch / "none");
    check_message<IoError>([&] { find_runs({(place.scratch / "none").string()}); }, "no run there");
}

TEST_CASE("runs: one of a task that is not registered here is listed with the others") {
    const ListPlace place;
    const fs::path a = place.train("runs/a", place.config());
    const fs::path other = place.train("runs/other", place.config());
    std::string text = slurp(other / kMetricsName);
    const std::string task = "\"text\"";
    const auto at = text.find(task, text.find("\"task\""));
    REQUIRE(at != std::string::npos);
    spill(other / kMetricsName, text.replace(at, task.size(), "\"elsewhere\""));
    const auto runs = run_summaries({a, other});
    REQUIRE_EQ(runs.size(), 2);
    const RunSummary& own = runs[0].name == a ? runs[0] : runs[1];
    const RunSummary& foreign = runs[0].name == a ? runs[1] : runs[0];
    CHECK_EQ(own.option("--task"), "text");
    CHECK_EQ(own.option("--lr"), "0.001");
    CHECK_EQ(foreign.option("--task"), "elsewhere");
    CHECK_EQ(foreign.option("--lr"), "?");
    CHECK_EQ(foreign.steps, 6);
    CHECK_EQ(foreign.state, "finished");
    CHECK_EQ(foreign.lowest.value, own.lowest.value);
    CHECK_EQ(foreign.tokens_per_second, 0);
    CHECK(sweep_text({a.string(), other.string()}).find("elsewhere") != std::string::npos);
}

TEST_CASE("runs: a step that no run can take is refused with its line") {
    const ListPlace place;
    const fs::path run = place.scratch / "run";
    fs::create_directory(run);
    for (const char* step : {"1e300", "-1", "9007199254740992"}) {
        spill(run / kMetricsName, fmt::format("{{\"step\":{},\"loss\":1}}\n", step));
        check_message<IoError>([&] { run_summaries({run}); },
                               "line 1: \"step\" must be from 0 to 2^53, got ");
    }
}

TEST_CASE("run: its last words say how to go on and what it weighs") {
    const ListPlace place;
    Session session(place.config());
    TrainingRunOptions options{.out = place.out, .report = false};
    options.stepped = [](const StepMetrics& m, const Speed&) { return m.step < 4; };
    const TrainingResult result = TrainingRun(session, options).to_the_end();
    CHECK_EQ(result.steps, 6);
    const double bytes = directory_bytes(place.out);
    CHECK_GE(result.bytes, bytes);
    CHECK_LE(result.bytes, bytes + 30);  // .lock
    const std::string text = to_text(result, "m");
    CHECK(text.starts_with("interrupted at step 4 of 6; --resume continues\n4 steps in "));
    CHECK(text.find("saved in m (") != std::string::npos);
    TrainingResult other = result;
    other.resumable = false;
    CHECK(to_text(other, "m").find("of 6; it has no checkpoint (--checkpoint-every 0)") !=
          std::string::npos);
    other = result;
    other.interrupted = false;
    other.bytes = 3e6;
    CHECK(to_text(other, "m").find("saved in m (3.0 MB)") != std::string::npos);
    CHECK(to_text(other, "m").starts_with("4 steps in "));
}
