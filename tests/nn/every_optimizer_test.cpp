// Every row of the table of optimisers: what it declares is what the optimiser does, it trains,
// goes on after a kill, rewinds, forks, and is shared among processes, to the same bits.
#include <tapestry/core/create.h>
#include <tapestry/core/file.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/distributed/thread_group.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/module/freeze.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/optim/optimizer_registry.h>
#include <tapestry/nn/train/begin_run.h>
#include <tapestry/nn/train/replay.h>
#include <tapestry/tests/nn/small_run.h>
#include <tapestry/tests/source_dir.h>

#include <fmt/ranges.h>

#include <set>

using namespace tapestry;
using test::check_message;
using test::check_throws;
using test::slurp;

namespace {

namespace fs = std::filesystem;

struct Killed {};

struct EveryPlace : test::RunPlace {
    TrainingConfig config(const OptimizerRow& row) const {
        TrainingConfig config = RunPlace::config();
        config.model.dropout = 0.1;
        config.micro_batches = 4;
        config.steps = 12;
        config.warmup = 2;
        config.eval_every = 4;
        config.clip = 0.5;
        set_optimizer(config, row.name);
        return config;
    }

    // Resumes the run in the directory, or starts one, and takes it to its end or to
    // `killed_after`.
    void train(const fs::path& directory, const TrainingConfig& config, int processes = 1,
               std::int64_t killed_after = INT64_MAX) const {
        const RunRequest request{.config = config, .out = directory.string(), .resume = true};
        run_in_threads(processes, [&](Communicator& c) {
            BegunRun begun = begin_shared_run(c, request);
            if (c.rank() != 0) return begun.shared->follow();
            TrainingRunOptions options{.report = false, .checkpoints = {.every_steps = 2}};
            TrainingRun* running = nullptr;
            options.stepped = [&](const StepMetrics& m, const Speed&) {
                if (m.step > killed_after) throw Killed();
                running->wait_for_checkpoint();
                return true;
            };
            TrainingRun run(*begun.session, *begun.directory, options);
            running = &run;
            try {
                run.to_the_end();
            } catch (const Killed&) {
            }
            begun.shared->dismiss();
        });
    }
};

std::string weights_in(const fs::path& directory) { return slurp(directory / "model.safetensors"); }

// A vector, its gradient in each step, and what three steps make of it; as a whole, or in two parts
// with an optimiser each.
std::vector<double> stepped(const OptimizerRow& row, bool in_parts) {
    constexpr std::int64_t kSize = 37, kCut = 11;
    Tensor whole = test::random({kSize}, 1, DType::f32);
    std::vector<Range> ranges{{0, kSize}};
    if (in_parts) ranges = {{0, kCut}, {kCut, kSize}};
    Tensors parts;
    std::vector<std::unique_ptr<Optimizer>> optimizers;
    for (const Range& range : ranges) {
        parts.push_back(views::slice(whole, 0, range.begin, range.end).set_requires_grad());
        optimizers.push_back(row.make_for(Tensors{parts.back()}));
    }
    for (std::uint64_t step = 0; step < 3; ++step) {
        const Tensor gradient = test::random({kSize}, 10 + step, DType::f32);
        for (std::size_t i = 0; i < parts.size(); ++i) {
            parts[i].set_grad(views::slice(gradient, 0, ranges[i].begin, ranges[i].end));
            optimizers[i]->step(0.7);
        }
    }
    return whole.to_vector<double>();
}

// Every number of the gradient of a linear layer's weight is one.
void give_gradients(const Module& model) {
    for (Tensor& p : model.parameters()) p.set_grad(ones(p.shape(), p.dtype()));
}

}  // namespace

TEST_CASE("every optimizer: the names that PyTorch's users know") {
    const std::vector<std::string> names = optimizer_names();
    const std::set<std::string> there(names.begin(), names.end());
    CHECK_EQ(there.size(), names.size());
    for (const char* name : {"sgd", "rmsprop", "adam", "adamw", "lion", "muon"}) {
        CHECK(there.contains(name));
    }
    check_throws<ValueError>([] { optimizer_row("nadam"); },
                             fmt::format("optimizer: unknown optimizer 'nadam'; must be one of {}",
                                         fmt::join(names, ", ")));
    const EveryPlace place;
    TrainingConfig config = place.RunPlace::config();
    config.optimizer = "nadam";
    check_message<ValueError>([&] { Session{config}; }, "unknown optimizer 'nadam'");
    check_throws<IoError>([&] { training_config_from_json(to_json(config), "c"); },
                          fmt::format("c: \"optimizer\" is \"nadam\"; must be one of \"{}\"",
                                      fmt::join(names, "\", \"")));
}

TEST_CASE("every optimizer: a row declares what its optimiser does") {
    for (const OptimizerRow& row : optimizer_rows()) {
        CAPTURE(row.name);
        Generator generator(1);
        const Linear model(3, 2, generator);
        const auto optimizer = make_optimizer(model, row.name);
        CHECK_EQ(find_row(*optimizer), &row);
        CHECK_EQ(optimizer->lr(), row.defaults.at("lr"));
        give_gradients(model);
        optimizer->step();
        const std::vector<std::string> moments = row.moments(row.defaults);
        std::set<std::string> kept;
        for (const auto& [name, tensor] : optimizer->state().tensors) {
            const std::string moment = name.substr(0, name.find('.'));
            if (moment != "steps") kept.insert(moment);
        }
        CHECK((kept == std::set<std::string>(moments.begin(), moments.end())));
        CHECK_EQ(row.make_for != nullptr, row.elementwise);
        if (row.elementwise) CHECK_EQ(stepped(row, true), stepped(row, false));
        check_throws<ValueError>(
            [&] {
                make_optimizer(model, row.name, {{"temperature", 1}});
            },
            fmt::format("optimizer: {} has no 'temperature'", row.name));
        CHECK_EQ(make_optimizer(model, row.name, {{"lr", 0.25}})->lr(), 0.25);
    }
    const auto count = [](const char* name, const OptimizerOptions& options) {
        return optimizer_row(name).moments(options).size();
    };
    CHECK_EQ(count("sgd", {{"momentum", 0}}), 0);
    CHECK_EQ(count("rmsprop", {{"momentum", 0.5}, {"centered", 1}}), 3);
}

TEST_CASE("every optimizer: a custom one is in no row, and steps whole") {
    class Mine : public AdamW {
    public:
        using AdamW::AdamW;
    };
    const Mine mine(Tensors{ones({2}).set_requires_grad()});
    CHECK_EQ(find_row(mine), nullptr);
}

TEST_CASE("every optimizer: its options are fields of a training's configuration") {
    std::set<std::string> fields;
    for_each_field<TrainingConfig>([&](const auto& one) { fields.insert(one.name); });
    for (const OptimizerRow& row : optimizer_rows()) {
        CAPTURE(row.name);
        for (const auto& one : row.defaults) {  // clang 14 captures no structured bindings
            const std::string& option = one.first;
            CAPTURE(option);
            CHECK((option == "rounding_seed" || fields.contains(option)));
        }
        TrainingConfig config;
        set_optimizer(config, row.name);
        OptimizerOptions options = optimizer_options(config);
        if (row.defaults.contains("rounding_seed")) options["rounding_seed"] = 0;
        CHECK_EQ(options, row.defaults);
        CHECK(optimizers_text().find(fmt::format("\n           --lr {}", config.lr)) !=
              std::string::npos);
    }
}

TEST_CASE("every optimizer: options given and not, with either recipe") {
    TrainingConfig config{.optimizer = "lion", .beta2 = 0.5};
    fill_in_recipe(config, {"optimizer", "beta2"});
    CHECK_EQ(config.lr, 3e-4);
    CHECK_EQ(config.min_lr, 3e-5);
    CHECK_EQ(config.weight_decay, 0.3);
    CHECK_EQ(config.beta2, 0.5);
    config = {.recipe = Recipe::fast, .optimizer = "sgd", .momentum = 0};
    fill_in_recipe(config, {"optimizer", "momentum"});
    CHECK_EQ(config.lr, doctest::Approx(0.6));
    CHECK_EQ(config.momentum, 0);
    CHECK_EQ(config.steps, settings_of(Recipe::fast).steps);
    // As it was before there was a table.
    config = {.recipe = Recipe::fast, .optimizer = "adamw"};
    fill_in_recipe(config, {"optimizer"});
    CHECK_EQ(config.lr, 6e-3);
    CHECK_EQ(config.min_lr, 0);
    CHECK_EQ(config.beta2, 0.99);
    CHECK_EQ(config.weight_decay, 0.1);
}

TEST_CASE("every optimizer: options of others are refused, new, resumed or forked") {
    const char* const words =
        "train: --optimizer lion has no --momentum, --nesterov; its options are --lr, "
        "--weight-decay, --beta1, --beta2";
    const std::vector<std::string> given{"optimizer", "momentum", "lr", "nesterov"};
    check_throws<ValueError>([&] { check_options_given("lion", given); }, words);
    check_options_given("sgd", given);
    const EveryPlace place;
    RunRequest request{.config = place.config(optimizer_row("lion")),
                       .given = given,
                       .out = place.out.string(),
                       .resume = true};
    check_throws<ValueError>([&] { begin_run(request); }, words);
    place.train(place.out, request.config, 1, 4);
    check_throws<ValueError>([&] { begin_run(request); }, words);
    request.resume = false;
    request.fork = place.out.string();
    request.out = (place.scratch / "forked").string();
    request.step = 2;
    check_throws<ValueError>([&] { begin_run(request); }, words);
    request.given = {"lr"};
    CHECK_EQ(begin_run(request).session->steps(), 2);
    request.given = {"optimizer"};
    request.config.optimizer = "sgd";
    check_message<ValueError>([&] { begin_run(request); },
                              "--optimizer sgd cannot continue from the state of lion");
}

TEST_CASE("every optimizer: trains, and killed and resumed has the same bits") {
    for (const OptimizerRow& row : optimizer_rows()) {
        CAPTURE(row.name);
        const EveryPlace place;
        TrainingConfig config = place.config(row);
        SUBCASE("in f32") {}
        SUBCASE("computed in bf16") { config.model.compute = ComputeType::bf16; }
        const double before = Session(config).evaluate();
        place.train(place.scratch / "whole", config);
        for (const std::int64_t step : {3, 4, 7}) place.train(place.out, config, 1, step);
        place.train(place.out, config);
        CHECK((weights_in(place.out) == weights_in(place.scratch / "whole")));
        CHECK_EQ(test::without_times(slurp(place.out / "metrics.jsonl")),
                 test::without_times(slurp(place.scratch / "whole" / "metrics.jsonl")));
        const std::unique_ptr<Session> last = RunDirectory(place.out).resume({});
        CHECK_EQ(last->steps(), config.steps);
        CHECK_LT(last->evaluate(), before);
    }
}

TEST_CASE("every optimizer: any number of processes has the bits of one") {
    for (const OptimizerRow& row : optimizer_rows()) {
        CAPTURE(row.name);
        const EveryPlace place;
        const TrainingConfig config = place.config(row);
        place.train(place.scratch / "one", config);
        place.train(place.scratch / "three", config, 3);
        CHECK((weights_in(place.scratch / "three") == weights_in(place.scratch / "one")));
        place.train(place.out, config, 2, 3);
        place.train(place.out, config, 3);
        CHECK((weights_in(place.out) == weights_in(place.scratch / "one")));
    }
}

TEST_CASE("every optimizer: a slice has its own moments only, where the step can be cut") {
    for (const OptimizerRow& row : optimizer_rows()) {
        CAPTURE(row.name);
        const EveryPlace place;
        const RunRequest request{.config = place.config(row), .out = place.out.string()};
        std::vector<double> bytes;
        std::size_t whole = 0;
        run_in_threads(2, [&](Communicator& c) {
            const BegunRun begun = begin_shared_run(c, request);
            if (c.rank() != 0) return begun.shared->follow();
            begun.session->take_step();
            for (const ProcessAccount& one : begun.session->accounts()) {
                bytes.push_back(one.moment_bytes);
            }
            for (const Tensor& p : begun.session->optimizer().parameters()) whole += p.bytes();
            begun.shared->dismiss();
        });
        REQUIRE_EQ(bytes.size(), 2);
        const auto all = static_cast<double>(whole * row.moments(row.defaults).size());
        if (row.elementwise) {
            CHECK_EQ(bytes[0] + bytes[1], all);
        } else {
            CHECK_EQ(bytes[0], bytes[1]);
            CHECK_LE(bytes[0], all);
        }
    }
}

TEST_CASE("every optimizer: its steps come again, and a fork that changes nothing is the run") {
    for (const OptimizerRow& row : optimizer_rows()) {
        CAPTURE(row.name);
        const EveryPlace place;
        place.train(place.out, place.config(row));
        const RunHistory history(place.out);
        const Replayer replayer(history);
        const RunComparison all = compare_all(
            history, replayer, [](std::int64_t k, const std::string& what) { FAIL(k, what); });
        CHECK_EQ(all.same, 12);
        const Fork fork = fork_after(history, replayer, 5, {});
        while (!fork.session->is_finished()) fork.session->take_step();
        const std::unique_ptr<Session> last = RunDirectory(place.out).resume({});
        const Tensors forked = fork.session->model().parameters();
        const Tensors run = last->model().parameters();
        for (std::size_t i = 0; i < run.size(); ++i) {
            CHECK_EQ(forked[i].to_vector<double>(), run[i].to_vector<double>());
        }
    }
}

TEST_CASE("every optimizer: weights of bf16 for those that round by chance") {
    for (const OptimizerRow& row : optimizer_rows()) {
        CAPTURE(row.name);
        const EveryPlace place;
        TrainingConfig config = place.config(row);
        config.model.weights = ComputeType::bf16;
        if (!row.rounds_bf16) {
            check_message<ValueError>(
                [&] { Session{config}; },
                fmt::format("which {} does not support; --optimizer must be sgd or adam "
                            "or adamw",
                            row.name));
            continue;
        }
        const double before = Session(config).evaluate();
        place.train(place.scratch / "whole", config);
        place.train(place.out, config, 3, 5);
        place.train(place.out, config);
        CHECK((weights_in(place.out) == weights_in(place.scratch / "whole")));
        CHECK_LT(RunDirectory(place.out).resume({})->evaluate(), before);
    }
}

// A file of the library or the command that names two of them knows a list that the table has.
TEST_CASE("every optimizer: no other list of names, and no cast to a class of optimisers") {
    int files = 0;
    for (const char* room : {"nn", "examples/cli", "examples/options"}) {
        for (const auto& entry : fs::recursive_directory_iterator(test::source_dir() / room)) {
            const std::string name = entry.path().filename().string();
            if (!name.ends_with(".h") && !name.ends_with(".cpp")) continue;
            CAPTURE(entry.path());
            const std::string source = slurp(entry.path());
            ++files;
            CHECK_EQ(source.find("dynamic_cast<const Adam"), source.npos);
            if (name.starts_with("optimizer_registry.")) continue;
            int names = 0;
            for (const std::string& one : optimizer_names()) {
                names += source.find('"' + one + '"') != source.npos ? 1 : 0;
            }
            CHECK_LE(names, 1);
        }
    }
    CHECK_GT(files, 100);
}
