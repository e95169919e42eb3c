// Every row of the table of tasks, and the task of docs/tutorials/6-your-own-task.md: a run that is
// killed and resumed with other threads, replayed, shared by processes, recorded by the trap, in
// bf16; its report, its directory, its gradients. An added task is tested by its row and its
// examples, below. The table of docs/training.md has what held: TAPESTRY_UPDATE=1 writes it.
#include <tapestry/nn/bench/report.h>
#include <tapestry/nn/catalog/check_gradients.h>
#include <tapestry/nn/inspect/inspector.h>
#include <tapestry/nn/terminal/replay_text.h>
#include <tapestry/nn/terminal/run_text.h>
#include <tapestry/nn/train/bisect.h>
#include <tapestry/nn/train/replay.h>
#include <tapestry/nn/train/step_on_text.h>
#include <tapestry/nn/train/training_run.h>
#include <tapestry/tests/nn/small_run.h>
#include <tapestry/tests/nn/spaces_task.h>
#include <tapestry/tests/skip.h>
#include <tapestry/tests/source_dir.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>

using namespace tapestry;
using test::check_message;
using test::register_spaces;
using test::spaces_config;

namespace {

// A short run of a task, on examples that are written into the place.
struct SmallTask {
    std::string task;   ///< TaskRow::name
    std::string title;  ///< of its column in the table
    std::function<TrainingConfig(const test::RunPlace&)> config;
    std::string prompt;  ///< for a step on a text; @ is the place of the examples
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

// Numbers, and their digits in words' form: "27" is "2 7".
TrainingConfig translate_config(const test::RunPlace& place) {
    std::string lines;
    for (int i = 0; i < 80; ++i) {
        const std::string number = std::to_string(i * i * (i % 4 + 1));
        std::string digits;
        for (const char c : number) digits += fmt::format("{}{}", digits.empty() ? "" : " ", c);
        lines += fmt::format("{}\t{}\n", number, digits);
    }
    test::spill(place.text, lines);
    TrainingConfig config = place.config();
    config.task = "translate";
    config.set_model(TransformerConfig{.dim = 16,
                                       .heads = 2,
                                       .layers = 1,
                                       .norm_first = true,
                                       .max_length = 16,
                                       .share_embeddings = true});
    return config;
}

// Bars across images and down them, in a folder each.
TrainingConfig image_config(const test::RunPlace& place) {
    std::filesystem::remove_all(place.text);
    for (int i = 0; i < 40; ++i) {
        std::string across = "P2 6 4 9\n", down = across;
        for (int pixel = 0; pixel < 24; ++pixel) {
            const int noise = (i + 1) * (pixel + 3) % 7 % 3;
            across += fmt::format("{} ", pixel / 6 == i % 4 ? 9 - noise : noise);
            down += fmt::format("{} ", pixel % 6 == i % 6 ? 9 - noise : noise);
        }
        for (const auto& [name, image] : {std::pair{"across", across}, {"down", down}}) {
            std::filesystem::create_directories(place.text / name);
            test::spill(place.text / name / fmt::format("{}.pgm", i), image);
        }
    }
    TrainingConfig config = place.config();
    config.task = "image";
    config.set_model(VisionTransformerConfig{.patch = 2, .dim = 16, .heads = 2, .layers = 1});
    return config;
}

TrainingConfig mask_config(const test::RunPlace& place) {
    TrainingConfig config = place.config();
    config.task = "mask";
    config.set_model(
        MaskedLanguageModelConfig{.max_length = 12, .dim = 16, .heads = 2, .layers = 1});
    return config;
}

// Where one of two balls is.
TrainingConfig answer_config(const test::RunPlace& place) {
    const char* const colours[] = {"red", "blue", "green"};
    const char* const places[] = {"box", "old car", "room", "bag"};
    std::string lines;
    for (int i = 0; i < 80; ++i) {
        const char* const where = places[i * 3 % 4];
        lines +=
            fmt::format("{} of {} is in the {} , {} is not\twhere is {} of {} ?\t{}\n",
                        colours[i % 3], i, where, colours[(i + 1) % 3], colours[i % 3], i, where);
    }
    test::spill(place.text, lines);
    TrainingConfig config = place.config();
    config.task = "answer";
    config.set_model(SpanConfig{
        .max_length = 40, .max_answer = 8, .dim = 16, .heads = 2, .layers = 1, .pieces = 300});
    return config;
}

// Two numbers, one of which is missing at times, and a category: what kind of row it is. One row is
// in a file of its own.
TrainingConfig table_config(const test::RunPlace& place) {
    std::string lines = "x,size,colour,kind\n";
    for (int i = 0; i < 90; ++i) {
        const int kind = i * 7 % 3;
        lines += fmt::format("{},{},{},{}\n", kind + i % 10 / 8.0,
                             i % 6 == 0 ? "" : std::to_string(i * i % 17),
                             (i + kind) % 4 == 0 ? "red" : "blue", kind == 2 ? "odd" : "even");
    }
    test::spill(place.text, lines);
    test::spill(place.text.string() + ".one.csv", "x,size,colour,kind\n1.5,,red,even\n");
    TrainingConfig config = place.config();
    config.task = "table";
    config.set_model(
        TableConfig{.target = "kind", .dim = 16, .hidden_layers = 1, .category_dim = 3});
    return config;
}

// The classifier with an encoder on top.
TrainingConfig layers_config(const test::RunPlace& place) {
    TrainingConfig config = classify_config(place);
    config.set_model(
        BagConfig{.buckets = 400, .dim = 8, .shortest = 2, .longest = 3, .layers = 1, .heads = 2});
    return config;
}

// A column of the table each.
const std::vector<SmallTask>& small_tasks() {
    register_spaces();
    static const std::vector<SmallTask> all{
        {"text", "`text`", text_config, "abc d"},
        {"classify", "`classify`", classify_config, "odd number", "odd"},
        {"classify", "`classify --layers 1`", layers_config, "odd number", "odd"},
        {"translate", "`translate`", translate_config, "27", "2 7"},
        {"image", "`image`", image_config, "@/down/7.pgm", "down"},
        {"mask", "`mask`", mask_config, "ab[MASK] d", "abc d"},
        {"answer", "`answer`", answer_config,
         "red of 3 is in the bag , blue is not\twhere is red of 3 ?", "bag"},
        {"table", "`table`", table_config, "@.one.csv"},
        {"spaces", "[your own](tutorials/6-your-own-task.md)", spaces_config, "abcdef1abc"}};
    return all;
}

TrainingConfig config_of(const SmallTask& small, const test::RunPlace& place) {
    TrainingConfig config = small.config(place);
    config.visit_model([](auto& model) { model.dropout = 0.1; });
    config.micro_batches = 4;
    config.steps = 12;
    config.warmup = 2;
    config.lr = 0.02;
    config.eval_every = 4;
    return config;
}

bool sees_images(const SmallTask& small) { return small.task == "image"; }

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

// ---- the checks, a row of the table each --------------------------------------------------------

int failures = 0;

void hold(bool is_true, const char* what) {
    if (!is_true) ++failures;
    INFO(std::string(what));
    CHECK(is_true);
}
#define HOLDS(...) hold(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__)

void learns(const SmallTask& small) {
    const test::RunPlace place;
    Session session(config_of(small, place));
    HOLDS(description_of(session).find(place.text.string()) != std::string::npos);
    const double before = session.evaluate();
    while (!session.is_finished()) session.take_step();
    HOLDS(session.evaluate() < before);
    HOLDS(session.evaluate() == session.evaluate());
}

void resumes(const SmallTask& small) {
    const auto number = &small - small_tasks().data();
    if (test::is_short() && number % 3 != 0) return;
    const test::RunPlace place;
    const TrainingConfig config = config_of(small, place);
    const auto whole = place.scratch / "whole";
    test::train_on(whole, config, options(), 100, {});
    for (const std::int64_t last : {4, 7, 100}) {
        const ThreadsGuard guard(last == 7 ? 3 : 1);
        test::train_on(place.out, config, options(), last, {});
    }
    HOLDS(left_in(place.out) == left_in(whole));
}

void is_replayed(const SmallTask& small) {
    const test::RunPlace place;
    test::train_on(place.out, config_of(small, place), options(), 100, {});
    const RunHistory history(place.out);
    const Replayer replayer(history);
    const RunComparison all = compare_all(history, replayer, [](auto step, const auto& what) {
        hold(false, fmt::format("step {}: {}", step, what).c_str());
    });
    HOLDS(all.with_gradients == 12);
    const auto session = replayer.session_before(5);
    const ReplayedStep step = replay_step(*session, true);
    const std::string said = to_text(step, history, replayer.start_of(5), session->task(), 80);
    HOLDS(said.find("the same bits as metrics.jsonl") != std::string::npos);
    const PageOptions page =
        page_of(step.recorded, *step.watched, session->task(), place.out.string());
    HOLDS(!to_html(*step.watched->inspector, page).empty());
    HOLDS(page.image.has_value() == sees_images(small));
    HOLDS(find_first(history, replayer, parse_condition("update_ratio > 0")).step == 1);
}

void is_shared(const SmallTask& small) {
    std::string alone;
    const test::RunPlace place;
    for (const int processes : {1, 3}) {
        std::filesystem::remove_all(place.out);
        TrainingConfig config = config_of(small, place);
        config.order = BatchOrder::epoch;
        test::train_shared(place, config, {.processes = processes});
        const std::string left = left_in(place.out);
        if (alone.empty()) alone = left;
        HOLDS(left == alone);
    }
}

void computes_in_bf16(const SmallTask& small) {
    const test::RunPlace place;
    TrainingConfig config = config_of(small, place);
    const double full = Session(config).take_step().grad_norm;
    config.visit_model([](auto& model) { model.compute = ComputeType::bf16; });
    const double half = Session(config).take_step().grad_norm;
    HOLDS(half != full);
    HOLDS(half == doctest::Approx(full).epsilon(0.05));
}

void reports(const SmallTask& small) {
    const test::RunPlace place;
    const TrainingConfig config = config_of(small, place);
    test::train_on(place.out, config, options(), 100, {});
    HOLDS(test::slurp(place.out / "report.html").size() > 1000);
    Session session(config);
    HOLDS(!session.sample(8).empty());
    HOLDS(session.task().expected_losses().size() >= 2);
    HOLDS(session.look().rows.empty() == session.sentence().empty());
    HOLDS(session.sentence().empty() ||
          session.look().rows.size() + 1 == session.sentence().size());
}

void opens(const SmallTask& small) {
    const test::RunPlace place;
    const TrainingConfig config = config_of(small, place);
    test::train_on(place.out, config, options(), 100, {});
    const std::unique_ptr<Task> task = load_task(place.out);
    HOLDS(row_of(task->model_config()).task == small.task);
    std::string prompt = small.prompt;
    if (prompt.starts_with('@')) prompt.replace(0, 1, place.text.string());
    const StepOnText step = step_on_text(place.out.string(), prompt, small.target);
    const WatchedStep watched(*step.model, step.loss);
    HOLDS(std::isfinite(watched.loss()));
    const PageOptions page = step.page(watched.loss());
    HOLDS(!to_html(watched.inspector(), page).empty());
    HOLDS(page.image.has_value() == sees_images(small));

    TrainingConfig again = config;
    again.start = place.out.string();
    Session session(again);
    HOLDS(test::numbers_of(session.module()) == test::numbers_of(task->model()));
}

void is_trapped(const SmallTask& small) {
    const test::RunPlace place;
    Session session(config_of(small, place));
    session.module().parameters().front().fill_(INFINITY);
    TrainingRun run(session, {.out = place.out, .trap_nan = true});
    test::message_of<DivergedError>([&] { run.to_the_end(); });
    const std::unique_ptr<Task> task = load_task(place.out / "trap");
    RecordedOutcome then;
    const RecordedStep step = read_step(place.out / "trap", *task, then);
    task->model().train();
    const ReplayedGradients again = replay_gradients(*task, step, default_generator());
    HOLDS(finding_text(step, again) == then.finding);
    RecordedStep wrong = step;
    wrong.batches[0].batch.inputs.fill_(1000000);
    write_step(place.out / "trap", wrong, then);
    check_message<IoError>([&] { read_step(place.out / "trap", *task, then); }, "1000000");
}

void is_checked(const SmallTask& small) {
    const test::RunPlace place;
    test::train_on(place.out, config_of(small, place), options(), 100, {});
    const std::string model = place.out.string(), text = place.text.string();
    if (small.task == "text") {
        const catalog::ModelOnText on = catalog::model_on_text(model, text, 2);
        HOLDS(catalog::count_of(catalog::check_loss(model, on.loss, {.certainty = 0.5}),
                                Verdict::pass) == 1);
    } else {
        const std::unique_ptr<Task> task = task_on_examples(model, text, 2);
        Generator generator(1);
        const Batch batch = task->next_batch(generator);
        const TwoPrecisions loss =
            catalog::loss_on(task->model(), [&] { return task->loss(batch).mean; });
        HOLDS(catalog::count_of(catalog::check_loss(model, loss, {.certainty = 0.5}),
                                Verdict::pass) == 1);
    }
    const bench::ModelProfile profile =
        bench::profile_on_text(model, text, 4, {.steps = 2, .warm_up = 1, .micro_batches = 2});
    HOLDS(profile.flops > 0);
    HOLDS(!profile.profile.rows.empty());
    HOLDS(bench::to_text(profile, 3).find("parameters") != std::string::npos);
}

struct TaskCheck {
    const char* name;  ///< in the table
    void (*run)(const SmallTask& small);
};

constexpr TaskCheck kChecks[] = {
    {"learns, says what it is, evaluates to the same number every time", learns},
    {"killed and resumed with other threads: the same bytes", resumes},
    {"`rewind --all`: every step to the same bits; its page; `bisect`", is_replayed},
    {"one process and three: the same bytes", is_shared},
    {"`--compute bf16`", computes_in_bf16},
    {"report, with samples of its work", reports},
    {"a directory that opens, from whose weights a run begins; the page of `inspect`", opens},
    {"`--trap-nan` and `replay`", is_trapped},
    {"`gradcheck` and `profile` of the trained model", is_checked}};

// The ticks of a check, run once: a cell per task.
const std::string& cells_of(const TaskCheck& check) {
    static std::map<std::string, std::string> all;
    std::string& cells = all[check.name];
    if (!cells.empty()) return cells;
    for (const SmallTask& small : small_tasks()) {
        CAPTURE(small.title);
        const int before = failures;
        try {
            check.run(small);
        } catch (const std::exception& error) {
            hold(false, error.what());
        }
        cells += failures == before ? " yes |" : " no |";
    }
    return cells;
}

void holds_for_all(void (*run)(const SmallTask& small)) {
    for (const TaskCheck& check : kChecks) {
        if (check.run == run) CHECK(cells_of(check).find("no") == std::string::npos);
    }
}

}  // namespace

TEST_CASE("tasks: each is found by its name, and has a kind of model") {
    const std::vector<SmallTask>& small = small_tasks();
    for (const TaskRow& row : task_rows()) {
        if (std::string(row.name) == "nothing") continue;  // own_task_test may have registered it
        CHECK_EQ(&task_row(row.name), &row);
        CHECK_EQ(model_row(kind_for_task(row.name)).task, std::string(row.name));
        CHECK(std::any_of(small.begin(), small.end(),
                          [&](const SmallTask& each) { return each.task == row.name; }));
    }
    check_message<ValueError>([] { task_row("sing"); }, "unknown task sing; must be one of text, ");
    const test::RunPlace place;
    TrainingConfig config = place.config();
    config.set_model(BagConfig{});
    check_message<ValueError>([&] { Session{config}; },
                              "the task is text, but a bag of n-grams is for classify");
}

TEST_CASE("tasks: a run learns, says what it is, and evaluates to the same number every time") {
    holds_for_all(learns);
}

TEST_CASE("tasks: a run that is killed and resumed with other threads leaves the same bytes") {
    holds_for_all(resumes);
}

TEST_CASE("tasks: every step is replayed to the same bits, and a page shows it") {
    holds_for_all(is_replayed);
}

TEST_CASE("tasks: processes take the steps of one") { holds_for_all(is_shared); }

TEST_CASE("tasks: bf16 computes other numbers") { holds_for_all(computes_in_bf16); }

TEST_CASE("tasks: a report shows the work of the model") { holds_for_all(reports); }

TEST_CASE("tasks: a directory gives back its model, for inspect and for a run") {
    holds_for_all(opens);
}

TEST_CASE("tasks: a trap records the step that diverged, and it is replayed to the same bits") {
    holds_for_all(is_trapped);
}

TEST_CASE("tasks: the gradients of a trained model are right, and its step is profiled") {
    holds_for_all(is_checked);
}

TEST_CASE("tasks: a run of one task is not resumed as another") {
    const test::RunPlace place;
    const TrainingConfig config = config_of(small_tasks().front(), place);
    test::train_on(place.out, config, options(), 5, {});
    TrainingConfig wanted;
    wanted.task = "classify";
    RunDirectory directory(place.out);
    check_message<ValueError>(
        [&] { directory.resume({.wanted = wanted, .given = {"task"}}); },
        "--task classify cannot continue from the state of a run whose task is text");
}

TEST_CASE("tasks: the table of docs/training.md has what holds") {
    std::string table = "| |", line = "|---|";
    for (const SmallTask& small : small_tasks()) {
        table += fmt::format(" {} |", small.title);
        line += "---|";
    }
    table += "\n" + line + "\n";
    for (const TaskCheck& check : kChecks) {
        table += fmt::format("| {} |{}\n", check.name, cells_of(check));
    }
    const std::filesystem::path file = test::source_dir() / "docs/training.md";
    std::string page = test::slurp(file);
    const std::string begin = "<!-- tasks: made by tests/nn/tasks_test.cpp -->\n";
    const auto from = page.find(begin);
    const auto to = page.find("<!-- end -->", from);
    REQUIRE(to != std::string::npos);
    const std::string wanted = page.replace(from + begin.size(), to - from - begin.size(), table);
    if (std::getenv("TAPESTRY_UPDATE") != nullptr) return test::spill(file, wanted);
    INFO(
        "docs/training.md is old: TAPESTRY_UPDATE=1 build/release/tests/test_nn "
        "--test-case='tasks*'");
    CHECK(test::slurp(file) == wanted);
}

TEST_CASE("tasks: a recorded step of a shape that its file cannot have is refused") {
    const test::Scratch scratch;
    const auto refused = [&](const Shape& inputs, const Shape& targets, const char* message) {
        RecordedStep step{.step = 1};
        step.batches.push_back({.batch = {zeros(inputs, DType::i64), zeros(targets, DType::i64)}});
        check_message<ValueError>([&] { write_step(scratch / "", step, {}); }, message);
    };
    refused({2, 3}, {2}, "a recorded step has targets of 2 axes, got [2]");
    refused({2}, {2, 1}, "a recorded step has inputs of 2 or 3 axes, got [2]");
    refused({2, 1, 3, 3}, {2, 1}, "a recorded step has inputs of 2 or 3 axes, got [2, 1, 3, 3]");
}
