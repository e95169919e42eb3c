// A task of your own (docs/tutorials/6-your-own-task.md): what register_task, a run and a directory
// refuse, and that the page has the code that is tested. tasks_test runs it as it does the
// library's.
#include <tapestry/nn/train/task.h>
#include <tapestry/tests/nn/small_run.h>
#include <tapestry/tests/nn/spaces_task.h>
#include <tapestry/tests/source_dir.h>

#include <algorithm>
#include <cstdlib>

using namespace tapestry;
using test::check_message;
using test::register_spaces;
using test::spaces_config;

TEST_CASE("own_task: the page on your own task has the code that is tested here") {
    register_spaces();
    const std::string header = test::slurp(test::source_dir() / "tests/nn/spaces_task.h");
    const std::string begin = "// ---- the page's ";
    const auto from = header.find('\n', header.find(begin)) + 2;
    const std::string code = header.substr(from, header.find("\n// ---- end ") - from);
    CHECK(std::count(code.begin(), code.end(), '\n') > 100);
    const std::filesystem::path file = test::source_dir() / "docs/tutorials/6-your-own-task.md";
    std::string page = test::slurp(file);
    const auto at = page.find("/// Reads letters"), end = page.find("\nint main() {", at);
    REQUIRE(end != std::string::npos);
    if (std::getenv("TAPESTRY_UPDATE") != nullptr) {
        return test::spill(file, page.replace(at, end - at, code));
    }
    INFO("the page and tests/nn/spaces_task.h differ: TAPESTRY_UPDATE=1 writes the page");
    CHECK(page.substr(at, end - at) == code);
}

TEST_CASE("own_task: what register_task refuses") {
    register_spaces();
    const auto refused = [](TaskRow row, const char* message) {
        const std::size_t before = task_rows().size();
        check_message<ValueError>([&] { register_task(row); }, message);
        CHECK(task_rows().size() == before);
    };
    const TaskRow spaces = task_row("spaces");
    refused(spaces, "register_task: the name 'spaces' is taken");
    TaskRow row = spaces;
    row.name = "gpt";
    refused(row, "register_task: the name 'gpt' is taken by a kind of model");
    row.name = "";
    refused(row, "register_task: the name is empty");
    row.name = "a\nb";
    refused(row, "register_task: the name 'a\\nb' has characters that cannot be printed");
    row.name = "a\xE9";
    refused(row, "register_task: the name 'a\\xE9' has characters that cannot be printed");
    row.name = "other";
    row.load = nullptr;
    refused(row, "register_task: a task needs a name, a summary, begin and load");
    check_message<ValueError>([] { row_of(CustomConfig{.name = "other"}); },
                              "no task 'other' is registered");
}

TEST_CASE("own_task: a directory of your own task that is not what it says") {
    register_spaces();
    const test::RunPlace place;
    TrainingConfig short_run = spaces_config(place);
    short_run.steps = 12;
    test::train_on(place.out, short_run, {}, 100, {});
    const std::filesystem::path file = place.out / "config.json";
    const std::string written = test::slurp(file);
    CHECK(task_of_model(place.out) == "spaces");
    const auto with = [&](const std::string& from, const std::string& to, const char* message) {
        std::string changed = written;
        REQUIRE(changed.find(from) != changed.npos);
        std::filesystem::remove(place.out / "tapestry-manifest.json");
        test::spill(file, changed.replace(changed.find(from), from.size(), to));
        check_message<IoError>([&] { load_task(place.out); }, message);
    };
    with("\"spaces\"", "\"places\"", "\"model\" is \"places\"; must be one of");
    with("\"spaces\"", "\"places\"", ", or its task is not registered in this program");
    with("\"heads\": 2", "\"heads\": 3", "config.json");
    with("\"dim\": 16", "\"dim\": 32", "parameters, not");
    with("\"parameters\": ", "\"parameters\": 9999999", "the configuration needs");
    with("\"parameters\": ", "\"parameters\": -",
         "config.json: config: parameters must be at least");
    with("\"context\": 8", "\"context\": 0",
         "config.json: config: context must be positive, got 0");
    with("\"dropout\": 0", "\"dropout\": 2, \"was\": 0",
         "config: dropout must be at most 0.99, got 2");
    for (const char* name : {"dim", "layers", "classes"}) {
        const auto at = written.find(fmt::format("\"{}\": ", name));
        const std::string line = written.substr(at, written.find(',', at) - at);
        with(line, fmt::format("\"{}\": 1000000000", name),
             fmt::format("config.json: config: {} is 1000000000, but the model has", name).c_str());
    }
}

TEST_CASE("own_task: your own model's sizes have bounds, also where a run begins") {
    register_spaces();
    const test::RunPlace place;
    TrainingConfig config = spaces_config(place);
    const CustomConfig good = std::get<CustomConfig>(config.model_config());
    const auto refused = [&](CustomConfig changed, const char* message) {
        config.set_model(changed);
        check_message<ValueError>([&] { begin_task(config, {}, default_generator()); }, message);
    };
    CustomConfig bad = good;
    bad.context = 0;
    refused(bad, "config: context must be positive, got 0");
    bad = good;
    bad.dropout = 0.995;
    refused(bad, "config: dropout must be at most 0.99, got 0.995");
    bad = good;
    bad.parameters = -1;
    refused(bad, "config: parameters must be at least 0, got -1");
    bad = good;
    bad.layers = -1;
    refused(bad, "config: layers must be at least 0, got -1");
    config.set_model(good);
    CHECK(begin_task(config, {}, default_generator()) != nullptr);
}

TEST_CASE("own_task: begin and load that return nothing are named") {
    static const bool is_registered = [] {
        register_task(
            {.name = "nothing",
             .summary = "returns nothing",
             .begin = [](TrainingConfig&, TaskStart,
                         Generator&) { return std::unique_ptr<Task>(); },
             .load = [](const std::filesystem::path&) { return std::unique_ptr<Task>(); }});
        return true;
    }();
    CHECK(is_registered);
    const test::RunPlace place;
    TrainingConfig config = place.config();
    config.task = "nothing";
    config.set_model(CustomConfig{.name = "nothing"});
    check_message<ValueError>([&] { begin_task(config, {}, default_generator()); },
                              "`begin` of the task nothing returned null");
    std::filesystem::create_directory(place.scratch / "n");
    test::spill(place.scratch / "n/config.json", "{\"format\": 1, \"model\": \"nothing\"}");
    check_message<ValueError>([&] { load_task(place.scratch / "n"); },
                              "`load` of the task nothing returned null");
}

TEST_CASE("own_task: a text of spaces only, or without any, has no loss of counting") {
    register_spaces();
    const test::RunPlace place;
    const TrainingConfig usual = spaces_config(place);
    const auto losses = [](TrainingConfig config) {
        return begin_task(config, {}, default_generator())->expected_losses();
    };
    CHECK(losses(usual).size() == 2);
    std::string text;
    for (int i = 0; i < 200; ++i) text += "a ";
    test::spill(place.text, text);
    CHECK(losses(usual).size() == 1);
}

TEST_CASE("own_task: the page on your own task names all functions and files") {
    const std::string page = test::slurp(test::source_dir() / "docs/tutorials/6-your-own-task.md");
    const std::string header = test::slurp(test::source_dir() / "nn/train/task.h");
    int functions = 0;
    for (auto at = header.find("    virtual "); at != header.npos;
         at = header.find("    virtual ", at + 1)) {
        const auto open = header.find('(', at);
        const auto name = header.rfind(' ', open) + 1;
        if (header[name] == '~') continue;
        ++functions;
        const std::string function = header.substr(name, open - name);
        CAPTURE(function);
        const bool is_named = page.find("`" + function + "`") != page.npos ||
                              page.find("`" + function + "(") != page.npos ||
                              page.find(" " + function + "`") != page.npos;
        CHECK(is_named);
    }
    CHECK(functions > 20);
    int files = 0;
    for (auto at = page.find("| nn/"); at != page.npos; at = page.find("| nn/", at + 1)) {
        const auto begin = at + 2, end = page.find_first_of(" ,|", begin);
        CAPTURE(page.substr(begin, end - begin));
        CHECK(std::filesystem::exists(test::source_dir() / page.substr(begin, end - begin)));
        ++files;
    }
    CHECK(files >= 5);
}
