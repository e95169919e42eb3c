// A run stopped anywhere and resumed: the bits of an uninterrupted run, with its metrics, best
// model and report; and settings that must not change silently.
#include <tapestry/core/parallel.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/train/checkpoint_writer.h>
#include <tapestry/nn/train/metrics_file.h>
#include <tapestry/nn/train/run_directory.h>
#include <tapestry/nn/train/training_run.h>
#include <tapestry/tests/core/size_limit.h>
#include <tapestry/tests/nn/small_run.h>
#include <tapestry/tests/skip.h>

#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <optional>

using namespace tapestry;
using test::check_message;
using test::message_of;
using test::slurp;
using test::spill;

namespace {

namespace fs = std::filesystem;

struct ResumePlace : test::RunPlace {
    TrainingConfig config() const {
        TrainingConfig config = RunPlace::config();
        config.model.dropout = 0.1;
        config.steps = 12;
        config.warmup = 3;
        config.eval_every = 3;
        return config;
    }

    // Runs in the directory, new or resumed, to the end or to `killed_after`.
    void train(const fs::path& directory, const TrainingConfig& config,
               const CheckpointOptions& checkpoints, std::int64_t killed_after = INT64_MAX,
               const ResumeOptions& resume = {}) const {
        test::train_on(directory, config, {.checkpoints = checkpoints}, killed_after, resume);
    }
};

// metrics.jsonl without clock values.
std::string metrics_of(const fs::path& directory) {
    return test::without_times(slurp(directory / kMetricsName));
}

// The latest checkpoint's tensors, including moments, as bytes.
std::string state_of(const fs::path& directory) {
    const fs::path file = directory / stored_checkpoints(directory).back().name();
    std::string all;
    for (const auto& [name, tensor] : read_safetensors(file).tensors) {
        all += fmt::format("{} {}\n", name, fmt::join(tensor.to_vector<double>(), " "));
    }
    return all;
}

void check_same(const fs::path& a, const fs::path& b) {
    for (const char* name : {"model.safetensors", "config.json", "tokenizer.json"}) {
        CHECK_EQ(slurp(a / name), slurp(b / name));
    }
    CHECK_EQ(metrics_of(a), metrics_of(b));
    CHECK_EQ(state_of(a), state_of(b));
}

std::vector<std::int64_t> steps_in(const fs::path& directory) {
    std::vector<std::int64_t> steps;
    for (const StoredCheckpoint& one : stored_checkpoints(directory)) steps.push_back(one.step);
    return steps;
}

}  // namespace

TEST_CASE("resume: killed after any step, the same bits with any number of threads") {
    const ResumePlace place;
    place.train(place.scratch / "whole", place.config(), {});
    for (const std::int64_t killed : {1, 3, 4, 7, 11}) {
        if (test::is_short() && killed != 3 && killed != 11) continue;
        CAPTURE(killed);
        const fs::path out = place.scratch / fmt::format("killed-{}", killed);
        {
            const ThreadsGuard threads(1 + static_cast<int>(killed) % 3);
            place.train(out, place.config(), {.every_steps = 2}, killed);
        }
        const ThreadsGuard threads(1 + static_cast<int>(killed + 1) % 3);
        place.train(out, place.config(), {.every_steps = 5});
        check_same(place.scratch / "whole", out);
        CHECK(slurp(out / "report.html").find("\"finished\"") != std::string::npos);
    }
}

TEST_CASE("resume: killed again and again, at every step") {
    const ResumePlace place;
    place.train(place.scratch / "whole", place.config(), {});
    for (std::int64_t step = 1; step <= 11; step += test::is_short() ? 5 : 1) {
        place.train(place.scratch / "parts", place.config(), {.every_steps = 1}, step);
    }
    place.train(place.scratch / "parts", place.config(), {.every_steps = 1});
    check_same(place.scratch / "whole", place.scratch / "parts");
    CHECK_EQ(steps_in(place.scratch / "parts"), std::vector<std::int64_t>{12});
}

TEST_CASE("resume: the clock, the best loss and all segments continue") {
    const ResumePlace place;
    const fs::path out = place.out;
    place.train(out, place.config(), {.best = true}, 7);
    const auto state = [&] {
        const fs::path file = out / stored_checkpoints(out).back().name();
        return run_state_from_json(checkpoint_info(file).run, "it");
    };
    const RunState before = state();
    CHECK_EQ(stored_checkpoints(out).back().step, 6);
    CHECK_GT(before.seconds, 0);
    REQUIRE(before.best.has_value());
    REQUIRE_EQ(before.segments.size(), 1);
    TrainingConfig faster = place.config();
    faster.lr = 0.01;
    place.train(out, place.config(), {.best = true}, INT64_MAX,
                {.wanted = faster, .given = {"lr"}, .overrides = {"lr"}});
    const RunState after = state();
    CHECK_GT(after.seconds, before.seconds);
    CHECK_LE(after.best->val_loss, before.best->val_loss);
    REQUIRE_EQ(after.segments.size(), 2);
    CHECK_EQ(after.segments[1].first_step, 7);
    CHECK_EQ(after.segments[1].overrides, std::vector<std::string>{"lr"});
    CHECK_EQ(training_config_from_json(after.segments[1].config, "it").lr, 0.01);
    const Metrics metrics = read_metrics(out / kMetricsName);
    CHECK_EQ(metrics.steps.size(), 12);
    CHECK_EQ(*std::min_element(metrics.val_losses.begin(), metrics.val_losses.end()),
             after.best->val_loss);
    // Its model exists and is the one of that step.
    CHECK(load_model(out / "best").model != nullptr);
    const auto kept = steps_in(out);
    CHECK(std::find(kept.begin(), kept.end(), after.best->step) != kept.end());
}

TEST_CASE("resume: a run that keeps its best model keeps it without being told") {
    const ResumePlace place;
    place.train(place.scratch / "whole", place.config(), {.best = true});
    place.train(place.out, place.config(), {.best = true}, 4);
    place.train(place.out, place.config(), {});
    CHECK_EQ(slurp(place.out / "best" / "model.safetensors"),
             slurp(place.scratch / "whole" / "best" / "model.safetensors"));
    CHECK_EQ(steps_in(place.out), steps_in(place.scratch / "whole"));
}

TEST_CASE("resume: a finished run made longer, and killed before its next checkpoint") {
    const ResumePlace place;
    TrainingConfig longer = place.config();
    longer.steps = 20;
    const ResumeOptions resume{.wanted = longer, .given = {"steps"}, .overrides = {"steps"}};
    const auto finished = [&](const char* name) {
        place.train(place.scratch / name, place.config(), {});
        return place.scratch / name;
    };
    const fs::path straight = finished("straight"), killed = finished("killed");
    place.train(straight, longer, {}, INT64_MAX, resume);
    for (const std::int64_t step : {13, 14}) place.train(killed, longer, {}, step, resume);
    place.train(killed, longer, {}, INT64_MAX, resume);
    check_same(straight, killed);
    CHECK_EQ(read_metrics(killed / kMetricsName).steps.size(), 20);
}

TEST_CASE("resume: the best checkpoint stays where that is asked for, and nowhere else") {
    const ResumePlace place;
    TrainingConfig still = place.config();
    still.lr = still.min_lr = 0;
    place.train(place.scratch / "without", still, {});
    CHECK_EQ(steps_in(place.scratch / "without"), std::vector<std::int64_t>{12});
    place.train(place.scratch / "with", still, {.best = true});
    CHECK_EQ(steps_in(place.scratch / "with"), std::vector<std::int64_t>{3, 12});
}

TEST_CASE("resume: a setting that differs must be allowed, and is reported with both values") {
    const ResumePlace place;
    const fs::path out = place.out;
    place.train(out, place.config(), {}, 7);
    const auto refused = [&](const std::vector<std::string>& given,
                             const std::vector<std::string>& overrides,
                             const std::function<void(TrainingConfig&)>& change) {
        TrainingConfig wanted = place.config();
        change(wanted);
        RunDirectory directory(out);
        return message_of<ValueError>(
            [&] { directory.resume({.wanted = wanted, .given = given, .overrides = overrides}); });
    };
    const auto says = [](const std::string& message, const std::string& words) {
        INFO("message: " << message);
        CHECK(message.find(words) != std::string::npos);
    };
    says(refused({"lr"}, {}, [](auto& c) { c.lr = 0.5; }),
         "lr was 0.001 and is now 0.5; --override lr continues anyway");
    says(refused({"seed"}, {}, [](auto& c) { c.seed = 2; }), "seed was 1337 and is now 2");
    says(refused({"batch"}, {"lr"}, [](auto& c) { c.batch = 5; }), "batch was 4 and is now 5");
    says(refused({"dim"}, {}, [](auto& c) { c.model.dim = 32; }), "dim was 16 and is now 32");
    says(
        refused({"lora"}, {}, [](auto& c) { c.lora = 4; }),
        "lora was 0 and is now 4, whose parameters the run's state does not have; start a new run");
    says(
        refused({"lora"}, {"lora"}, [](auto& c) { c.lora = 4; }),
        "lora was 0 and is now 4, whose parameters the run's state does not have; start a new run");
    says(refused({"lora_targets"}, {}, [](auto& c) { c.lora_targets = {"query"}; }),
         "lora_targets was empty and is now query, whose parameters");
    using Names = std::vector<std::string>;
    for (const Names& overrides : {Names{}, Names{"recipe", "start", "deviation"}}) {
        says(refused({"recipe"}, overrides, [](auto& c) { c.recipe = Recipe::fast; }),
             "recipe was standard and is now fast, but a recipe only says what a run begins with; "
             "name the options to change");
        says(refused({"start"}, overrides, [](auto& c) { c.start = "other"; }),
             "--model was empty and is now other, but the weights are those of the run's state");
        says(refused({"deviation"}, overrides, [](auto& c) { c.model.deviation = 1; }),
             "deviation was 0.02 and is now 1, but the weights are those of the run's state");
    }
    says(refused({}, {"speed"}, [](auto&) {}), "--override speed: unknown name");
    CHECK_EQ(refused({"lr", "batch"}, {}, [](auto&) {}), "no error");
    CHECK_EQ(refused({}, {}, [](auto& c) { c.lr = 0.5; }), "no error");  // not given
    CHECK_EQ(refused({"lr"}, {"lr"}, [](auto& c) { c.lr = 0.5; }), "no error");

    const std::string text = slurp(place.text);
    spill(place.text, text + "d");
    const std::string other = refused({}, {}, [](auto&) {});
    const std::string learned = checkpoint_info(out / stored_checkpoints(out).back().name()).data;
    says(other, fmt::format("data was {} and is now ", learned));
    says(other, "; --override data continues anyway");
    CHECK_EQ(other.find(learned), other.rfind(learned));
    CHECK_EQ(refused({}, {"data"}, [](auto&) {}), "no error");
    // The same text at another path is the same.
    spill(place.scratch / "moved.txt", text);
    CHECK_EQ(
        refused({"text"}, {}, [&](auto& c) { c.text = (place.scratch / "moved.txt").string(); }),
        "no error");
}

TEST_CASE("resume: with recomputation from then on, the same bits") {
    const ResumePlace place;
    place.train(place.scratch / "whole", place.config(), {});
    place.train(place.out, place.config(), {}, 7);
    ResumeOptions options{.wanted = place.config(), .given = {"recompute"}};
    options.wanted.model.recompute = true;
    CHECK(as<GPT>(RunDirectory(place.out).resume(options)->model()).config().recompute);
    place.train(place.out, options.wanted, {}, INT64_MAX, options);
    CHECK_EQ(state_of(place.out), state_of(place.scratch / "whole"));
    CHECK_EQ(metrics_of(place.out), metrics_of(place.scratch / "whole"));
}

TEST_CASE("resume: an overridden setting of the optimiser is the one that it continues with") {
    const ResumePlace place;
    const fs::path out = place.out;
    place.train(out, place.config(), {}, 7);
    TrainingConfig wanted = place.config();
    wanted.beta2 = 0.5;
    wanted.weight_decay = 0.25;
    RunDirectory directory(out);
    const auto session = directory.resume({.wanted = wanted,
                                           .given = {"beta2", "weight_decay"},
                                           .overrides = {"beta2", "weight_decay"}});
    const OptimizerState state = session->optimizer().state();
    CHECK_EQ(state.settings.at("beta2"), 0.5);
    CHECK_EQ(state.groups[0].weight_decay, 0.25);
    CHECK_EQ(state.groups[1].weight_decay, 0);
    CHECK_EQ(state.steps, 6);
}

TEST_CASE("resume: a directory that another used keeps that one's files until the first commit") {
    const ResumePlace place;
    const fs::path out = place.out;
    place.train(out, place.config(), {.keep = 3, .best = true});
    const std::string weights = slurp(out / "model.safetensors"), metrics = metrics_of(out);
    CHECK_EQ(steps_in(out).size(), 3);
    TrainingConfig other = place.config();
    other.seed = 7;
    const auto anew = [&](std::int64_t killed_after) {
        Session session(other);
        TrainingRun* running = nullptr;
        TrainingRun run(session, {.out = out, .stepped = [&](const StepMetrics& m, const Speed&) {
                                      if (m.step > killed_after) throw test::Killed();
                                      running->wait_for_checkpoint();
                                      return true;
                                  }});
        running = &run;
        CHECK_THROWS_AS(run.to_the_end(), test::Killed);
    };
    anew(2);
    CHECK_EQ(slurp(out / "model.safetensors"), weights);
    CHECK_EQ(metrics_of(out), metrics);
    CHECK_EQ(steps_in(out), std::vector<std::int64_t>{6, 9, 12});
    CHECK_EQ(common_settings(load_model(out).model->model_config()).dim, 16);
    anew(4);
    CHECK_NE(slurp(out / "model.safetensors"), weights);
    CHECK_EQ(steps_in(out), std::vector<std::int64_t>{3});
    CHECK_FALSE(fs::exists(out / "best"));
    CHECK_EQ(read_metrics(out / kMetricsName).steps.front(), 1);
    place.train(out, place.config(), {});  // resumes from the other
    place.train(place.scratch / "other", other, {});
    check_same(place.scratch / "other", out);
}

TEST_CASE("resume: the metrics of a run that began anew and never saved go") {
    const ResumePlace place;
    place.train(place.out, place.config(), {}, 7);
    Session other(place.config());
    {
        TrainingRun run(other, {.out = place.out,
                                .report = false,
                                .stepped = [](const StepMetrics&, const Speed&) -> bool {
                                    throw test::Killed();
                                }});
        CHECK_THROWS_AS(run.to_the_end(), test::Killed);
    }
    CHECK_EQ(latest_metrics(place.out), place.out / kNewMetricsName);
    place.train(place.out, place.config(), {});
    CHECK_EQ(latest_metrics(place.out), place.out / kMetricsName);
    CHECK_EQ(read_metrics(latest_metrics(place.out)).steps.size(), 12);
}

TEST_CASE("resume: one at a time in a directory") {
    const ResumePlace place;
    const fs::path out = place.out;
    const RunDirectory first(out);
    CHECK(first.is_locked());
    check_message<BusyError>([&] { RunDirectory second(out); }, "in use by another process, ");
    Session session(place.config());
    check_message<BusyError>([&] { TrainingRun run(session, {.out = out}); }, "in use by another");
    check_message<BusyError>([&] { save_model(out, session.model(), session.tokenizer()); },
                             "in use by another process, ");
}

TEST_CASE("resume: leftovers of killed runs go, what is the user's stays") {
    const ResumePlace place;
    const fs::path out = place.out;
    place.train(out, place.config(), {}, 7);
    // No process can have this id.
    spill(out / ".tapestry-1999999999-3.tmp", "half a file");
    spill(out / "checkpoints" / ".tapestry-1999999999-4.tmp", "half a file");
    spill(out / "checkpoints" / "step-00000099.safetensors", "of no commit");
    spill(out / "notes.txt", "mine");
    spill(out / "checkpoints" / "notes.txt", "mine");
    RunDirectory directory(out);
    CHECK(fs::exists(out / ".tapestry-1999999999-3.tmp"));  // nothing has been written yet
    const auto session = directory.resume({});
    std::vector<std::string> said;
    TrainingRunOptions options{.report = false};
    options.warn = [&said](const std::string& message) { said.push_back(message); };
    TrainingRun(*session, directory, options).to_the_end();
    CHECK_FALSE(fs::exists(out / ".tapestry-1999999999-3.tmp"));
    CHECK_FALSE(fs::exists(out / "checkpoints" / ".tapestry-1999999999-4.tmp"));
    for (const std::string name :
         {"notes.txt", "checkpoints/notes.txt", "checkpoints/step-00000099.safetensors"}) {
        CHECK_EQ(slurp(out / name), name.ends_with("txt") ? "mine" : "of no commit");
    }
    REQUIRE_EQ(said.size(), 1);
    CHECK(said[0].ends_with(
        "checkpoints/notes.txt' and 1 more: not written by this run; left unchanged"));
}

TEST_CASE("resume: an unlisted state of a name that is needed") {
    const ResumePlace place;
    const fs::path out = place.out;
    place.train(out, place.config(), {}, 7);
    const std::string name = "checkpoints/step-00000009.safetensors";
    spill(out / name, "of no commit");
    SUBCASE("stops a run that takes the directory over") {
        Session anew(place.config());
        check_message<IoError>([&] { TrainingRun(anew, {.out = out, .report = false}); },
                               "step-00000009.safetensors': a state that tapestry-manifest.json "
                               "does not list is in the way of this run; move it away");
        CHECK_EQ(slurp(out / name), "of no commit");
    }
    SUBCASE("is set aside by the resumed run, which a script may start repeatedly") {
        spill(out / (name + ".unlisted"), "of an earlier time");
        place.train(out, place.config(), {});
        CHECK_EQ(steps_in(out), std::vector<std::int64_t>{12});
        CHECK_EQ(slurp(out / (name + ".unlisted")), "of an earlier time");
        CHECK_EQ(slurp(out / (name + ".unlisted-2")), "of no commit");
    }
}

TEST_CASE("resume: another's best model costs the best model, and no checkpoint") {
    const ResumePlace place;
    const fs::path out = place.out;
    Session session(place.config());
    RunDirectory directory(out);
    std::vector<std::string> said;
    TrainingRunOptions options{.report = false, .checkpoints = {.best = true}};
    options.warn = [&said](const std::string& message) { said.push_back(message); };
    TrainingRun* running = nullptr;
    options.stepped = [&](const StepMetrics& m, const Speed&) {
        running->wait_for_checkpoint();
        if (m.step == 4) spill(out / "best" / "model.safetensors", "mine");
        return true;
    };
    TrainingRun run(session, directory, options);
    running = &run;
    run.to_the_end();
    CHECK_EQ(slurp(out / "best" / "model.safetensors"), "mine");
    CHECK_EQ(steps_in(out).back(), 12);
    REQUIRE_EQ(said.size(), 1);
    CHECK(said[0].starts_with("the best model is not saved: cannot write "));
    Session anew(place.config());
    check_message<IoError>(
        [&] { TrainingRun(anew, {.out = out, .report = false, .checkpoints = {.best = true}}); },
        "in use by another process");
}

TEST_CASE("resume: without its manifest, a run continues from the latest state") {
    const ResumePlace place;
    const fs::path out = place.out;
    place.train(place.scratch / "whole", place.config(), {});
    place.train(out, place.config(), {}, 7);
    fs::remove(out / kManifestName);
    const std::string state = slurp(out / stored_checkpoints(out).back().name());
    {
        Session anew(place.config());
        check_message<IoError>([&] { TrainingRun(anew, {.out = out, .report = false}); },
                               "move it away, or resume from it (--resume)");
        CHECK_EQ(slurp(out / stored_checkpoints(out).back().name()), state);
    }
    RunDirectory directory(out);
    const auto session = directory.resume({});
    REQUIRE(session != nullptr);
    CHECK_EQ(session->steps(), 6);
    TrainingRun(*session, directory, {.report = false}).to_the_end();
    check_same(place.scratch / "whole", out);
    CHECK_EQ(steps_in(out), std::vector<std::int64_t>{12});
    CHECK_FALSE(fs::exists(out / "checkpoints" / "step-00000006.safetensors"));
    CHECK(read_manifest(out)->files.contains("config.json"));
}

TEST_CASE("resume: damage is an error naming the file") {
    const ResumePlace place;
    const fs::path out = place.out;
    place.train(out, place.config(), {}, 7);
    const auto with_flip = [&](const fs::path& file, std::size_t byte) {
        const std::string good = slurp(file);
        std::string bad = good;
        bad[byte % bad.size()] = static_cast<char>(bad[byte % bad.size()] ^ 4);
        spill(file, bad);
        const std::string message = message_of<IoError>([&] {
            RunDirectory directory(out);
            const auto session = directory.resume({});
            TrainingRun run(*session, directory, {});
        });
        spill(file, good);
        return message;
    };
    const fs::path checkpoint = out / stored_checkpoints(out).back().name();
    for (std::size_t i = 0; i < 40; ++i) {
        const std::string message = with_flip(checkpoint, i * 977);
        INFO("message: " << message);
        CHECK(message.find("step-00000006.safetensors': not what was saved") != std::string::npos);
    }
    const std::string message = with_flip(out / kMetricsName, 20);
    INFO("message: " << message);
    CHECK(message.find("metrics.jsonl': not what was saved: its first ") != std::string::npos);
    fs::remove(checkpoint);
    check_message<IoError>([&] { RunDirectory(out).resume({}); }, "No such file");
}

TEST_CASE("resume: a disk that is full for a while costs nothing but the wait") {
    const ResumePlace place;
    const fs::path out = place.out;
    place.train(place.scratch / "whole", place.config(), {});
    Session session(place.config());
    RunDirectory directory(out);
    std::optional<test::SizeLimit> full;
    std::vector<std::string> said;
    int retries = 0;
    TrainingRunOptions options{.report = false, .checkpoints = {.every_steps = 3}};
    options.warn = [&](const std::string& message) { said.push_back(message); };
    options.retry = [&](const SaveProblem& problem) {
        CHECK_FALSE(problem.disk_is_full);  // but over a limit
        if (++retries == 3) full.reset();
        return retries <= 3;
    };
    TrainingRun* running = nullptr;
    options.stepped = [&](const StepMetrics& m, const Speed&) {
        running->wait_for_checkpoint();  // or its error may come after the last step
        if (m.step == 4) full.emplace(rlim_t{1000});
        return true;
    };
    TrainingRun run(session, directory, options);
    running = &run;
    run.to_the_end();
    CHECK_EQ(retries, 3);
    REQUIRE_EQ(said.size(), 1);
    CHECK(said[0].find("File too large; training continues and will retry") != std::string::npos);
    check_same(place.scratch / "whole", out);
}

TEST_CASE("resume: a best model that found no room is written as soon as there is some") {
    const ResumePlace place;
    TrainingConfig config = place.config();
    config.eval_every = 4;
    config.lr = 20;  // soon too high during warm-up: the first evaluation is the best
    config.warmup = 100;
    TrainingRunOptions options{.report = false, .checkpoints = {.best = true}};
    options.out = place.scratch / "whole";
    Session alone(config);
    TrainingRun(alone, options).to_the_end();
    const std::string best = slurp(options.out / "best" / "model.safetensors");
    const std::vector<double> losses = read_metrics(options.out / kMetricsName).val_losses;
    REQUIRE_EQ(losses[0], *std::min_element(losses.begin(), losses.end()));
    for (const rlim_t room :
         {rlim_t{1000}, rlim_t{100}}) {  // too small for the model; too small for the metrics
        CAPTURE(room);
        options.out = place.scratch / fmt::format("m{}", room);
        std::optional<test::SizeLimit> full;
        TrainingRun* running = nullptr;
        options.stepped = [&](const StepMetrics& m, const Speed&) {
            if (m.step == 4) full.emplace(room);
            if (m.step == 6) {
                running->wait_for_checkpoint();
                full.reset();
            }
            return true;
        };
        Session session(config);
        TrainingRun run(session, options);
        running = &run;
        run.to_the_end();
        CHECK(slurp(options.out / "best" / "model.safetensors") == best);
        check_same(place.scratch / "whole", options.out);
    }
}

TEST_CASE("resume: a disk that stays full is an error, and the last checkpoint holds") {
    const ResumePlace place;
    const fs::path out = place.out;
    {
        Session session(place.config());
        RunDirectory directory(out);
        std::optional<test::SizeLimit> full;
        TrainingRunOptions options{.checkpoints = {.every_steps = 3}};
        TrainingRun* running = nullptr;
        options.stepped = [&](const StepMetrics& m, const Speed&) {
            running->wait_for_checkpoint();
            if (m.step == 5) full.emplace(rlim_t{1000});
            return true;
        };
        TrainingRun run(session, directory, options);
        running = &run;
        check_message<IoError>([&] { run.to_the_end(); }, "File too large");
    }
    CHECK_EQ(steps_in(out), std::vector<std::int64_t>{3});
    load_model(out);
    place.train(out, place.config(), {});
    place.train(place.scratch / "whole", place.config(), {});
    check_same(place.scratch / "whole", out);
}

TEST_CASE("resume: something else in the place of metrics is not written to") {
    const ResumePlace place;
    const fs::path out = place.out;
    fs::create_directories(out);
    spill(place.scratch / "precious", "precious");
    fs::create_symlink(place.scratch / "precious", out / kMetricsName);
    place.train(out, place.config(), {});
    CHECK_EQ(slurp(place.scratch / "precious"), "precious");
    CHECK_FALSE(fs::is_symlink(out / kMetricsName));
    const fs::path pipe = place.scratch / "n";
    fs::create_directories(pipe);
    REQUIRE_EQ(::mkfifo((pipe / kMetricsName).c_str(), 0600), 0);
    check_message<IoError>([&] { place.train(pipe, place.config(), {}); }, "it is a pipe");
}
