// Every row of the table of tasks: a run that is killed and resumed with other threads, replayed,
// shared by processes, recorded by the trap, in bf16; its report, its directory. An added task is
// tested by its row and its examples, below.
#include <tapestry/nn/inspect/inspector.h>
#include <tapestry/nn/terminal/replay_text.h>
#include <tapestry/nn/terminal/run_text.h>
#include <tapestry/nn/train/bisect.h>
#include <tapestry/nn/train/replay.h>
#include <tapestry/nn/train/step_on_text.h>
#include <tapestry/nn/train/training_run.h>
#include <tapestry/tests/nn/small_run.h>

#include <cmath>
#include <functional>
#include <map>

using namespace tapestry;
using test::check_message;

namespace {

// A short run of a task, on examples that are written into the place.
struct SmallTask {
    std::function<TrainingConfig(const test::RunPlace&)> config;
    std::string prompt;  ///< for a step on a text
    std::optional<std::string> target = {};
};

TrainingConfig text_config(const test::RunPlace& place) { return place.config(); }

TrainingConfig classify_config(const test::RunPlace& place) {
    std::string lines;
    for (int i = 0; i < 80; ++i) {
        const char* const label = i % 3 == 0 ? "odd" : "even";
        lines += fmt::format("__label__{} {} number {} of {}\n", label, label, i, i * i % 7);
    }
    test::spill(place.text, lines);
    TrainingConfig config = place.config();
    config.task = "classify";
    config.set_model(
        BagConfig{.buckets = 400, .dim = 6, .word_ngrams = 2, .shortest = 2, .longest = 3});
    return config;
}

const std::map<std::string, SmallTask>& small_tasks() {
    static const std::map<std::string, SmallTask> all{
        {"text", {.config = text_config, .prompt = "abc d"}},
        {"classify", {.config = classify_config, .prompt = "odd number", .target = "odd"}}};
    return all;
}

TrainingConfig config_of(const TaskRow& row, const test::RunPlace& place) {
    TrainingConfig config = small_tasks().at(row.name).config(place);
    config.visit_model([](auto& model) { model.dropout = 0.1; });
    config.micro_batches = 4;
    config.steps = 12;
    config.warmup = 2;
    config.lr = 0.02;
    config.eval_every = 4;
    return config;
}

TrainingRunOptions options() {
    return {.report = true,
            .hash_every = 1,
            .checkpoints = {.every_steps = 3, .keep = 4, .rewind_budget = 0}};
}

// The results of a run, without times.
std::string left_in(const std::filesystem::path& directory) {
    return test::slurp(directory / "model.safetensors") + test::slurp(directory / "config.json") +
           test::without_times(test::slurp(directory / "metrics.jsonl"));
}

}  // namespace

TEST_CASE("tasks: each is found by its name, and has a kind of model") {
    for (const TaskRow& row : task_rows()) {
        CHECK_EQ(&task_row(row.name), &row);
        CHECK_EQ(model_row(kind_for_task(row.name)).task, std::string(row.name));
        CHECK(small_tasks().contains(row.name));
    }
    check_message<ValueError>([] { task_row("sing"); }, "unknown task sing; must be one of text, ");
    const test::RunPlace place;
    TrainingConfig config = place.config();
    config.set_model(BagConfig{});
    check_message<ValueError>([&] { Session{config}; },
                              "the task is text, but a bag of n-grams is for classify");
}

TEST_CASE("tasks: a run learns, says what it is, and evaluates to the same number every time") {
    for (const TaskRow& row : task_rows()) {
        CAPTURE(row.name);
        const test::RunPlace place;
        Session session(config_of(row, place));
        CHECK(description_of(session).find(place.text.string()) != std::string::npos);
        const double before = session.evaluate();
        while (!session.is_finished()) session.take_step();
        CHECK(session.evaluate() < before);
        CHECK_EQ(session.evaluate(), session.evaluate());
        CHECK_FALSE(session.sample(8).empty());
        CHECK(session.task().expected_losses().size() >= 2);
        CHECK_EQ(session.look().rows.empty(), session.sentence().empty());
    }
}

TEST_CASE("tasks: a run that is killed and resumed with other threads leaves the same bytes") {
    for (const TaskRow& row : task_rows()) {
        CAPTURE(row.name);
        const test::RunPlace place;
        const TrainingConfig config = config_of(row, place);
        const auto whole = place.scratch / "whole";
        test::train_on(whole, config, options(), 100, {});
        for (const std::int64_t last : {4, 7, 100}) {
            const ThreadsGuard guard(last == 7 ? 3 : 1);
            test::train_on(place.out, config, options(), last, {});
        }
        CHECK(left_in(place.out) == left_in(whole));
        CHECK(test::slurp(place.out / "report.html").size() > 1000);
    }
}

TEST_CASE("tasks: every step is replayed to the same bits, and a page shows it") {
    for (const TaskRow& row : task_rows()) {
        CAPTURE(row.name);
        const test::RunPlace place;
        test::train_on(place.out, config_of(row, place), options(), 100, {});
        const RunHistory history(place.out);
        const Replayer replayer(history);
        const RunComparison all = compare_all(history, replayer, [](auto step, const auto& what) {
            FAIL_CHECK("step " << step << ": " << what);
        });
        CHECK_EQ(all.with_gradients, 12);
        const auto session = replayer.session_before(5);
        const ReplayedStep step = replay_step(*session, true);
        const std::string said = to_text(step, history, replayer.start_of(5), session->task(), 80);
        CHECK(said.find("the same bits as metrics.jsonl") != std::string::npos);
        const PageOptions page =
            page_of(step.recorded, *step.watched, session->task(), place.out.string());
        CHECK_FALSE(to_html(*step.watched->inspector, page).empty());
        CHECK(find_first(history, replayer, parse_condition("update_ratio > 0")).step == 1);
    }
}

TEST_CASE("tasks: processes take the steps of one") {
    for (const TaskRow& row : task_rows()) {
        CAPTURE(row.name);
        std::string alone;
        const test::RunPlace place;
        for (const int processes : {1, 3}) {
            std::filesystem::remove_all(place.out);
            TrainingConfig config = config_of(row, place);
            config.order = BatchOrder::epoch;
            test::train_shared(place, config, {.processes = processes});
            const std::string left = left_in(place.out);
            if (alone.empty()) alone = left;
            CHECK(left == alone);
        }
    }
}

TEST_CASE("tasks: bf16 computes other numbers, and a directory gives back its model") {
    for (const TaskRow& row : task_rows()) {
        CAPTURE(row.name);
        const test::RunPlace place;
        TrainingConfig config = config_of(row, place);
        const double full = Session(config).take_step().grad_norm;
        config.visit_model([](auto& model) { model.compute = ComputeType::bf16; });
        const double half = Session(config).take_step().grad_norm;
        CHECK(half != full);
        CHECK(half == doctest::Approx(full).epsilon(0.05));

        test::train_on(place.out, config, options(), 100, {});
        const std::unique_ptr<Task> task = load_task(place.out);
        CHECK_EQ(row_of(task->model_config()).task, std::string(row.name));
        const SmallTask& small = small_tasks().at(row.name);
        const StepOnText step = step_on_text(place.out.string(), small.prompt, small.target);
        const WatchedStep watched(*step.model, step.loss);
        CHECK(std::isfinite(watched.loss()));
        CHECK_FALSE(to_html(watched.inspector(), step.page(watched.loss())).empty());

        TrainingConfig again = config;  // from its weights
        again.start = place.out.string();
        Session session(again);
        CHECK(test::numbers_of(session.module()) == test::numbers_of(task->model()));
    }
}

TEST_CASE("tasks: a trap records the step that diverged, and it is replayed to the same bits") {
    for (const TaskRow& row : task_rows()) {
        CAPTURE(row.name);
        const test::RunPlace place;
        Session session(config_of(row, place));
        session.module().parameters().front().fill_(INFINITY);
        TrainingRun run(session, {.out = place.out, .trap_nan = true});
        test::message_of<DivergedError>([&] { run.to_the_end(); });
        const std::unique_ptr<Task> task = load_task(place.out / "trap");
        RecordedOutcome then;
        const RecordedStep step = read_step(place.out / "trap", *task, then);
        task->model().train();
        const ReplayedGradients again = replay_gradients(*task, step, default_generator());
        CHECK_EQ(finding_text(step, again), then.finding);
        RecordedStep wrong = step;
        wrong.batches[0].batch.inputs.fill_(1000000);
        write_step(place.out / "trap", wrong, then);
        check_message<IoError>([&] { read_step(place.out / "trap", *task, then); }, "1000000");
    }
}

TEST_CASE("tasks: a run of one task is not resumed as another") {
    const test::RunPlace place;
    const TrainingConfig config = config_of(task_row("text"), place);
    test::train_on(place.out, config, options(), 5, {});
    TrainingConfig wanted;
    wanted.task = "classify";
    RunDirectory directory(place.out);
    check_message<ValueError>(
        [&] { directory.resume({.wanted = wanted, .given = {"task"}}); },
        "--task classify cannot continue from the state of a run whose task is text");
}
