// Where a requested run starts: from scratch, where it stopped, or at a step of another run; and
// the lines printed before and after.
#include <tapestry/core/parallel.h>
#include <tapestry/nn/io/manifest.h>
#include <tapestry/nn/terminal/run_text.h>
#include <tapestry/nn/train/begin_run.h>
#include <tapestry/nn/train/recipe.h>
#include <tapestry/tests/nn/small_run.h>

#include <fmt/core.h>
#include <sys/stat.h>

#include <fstream>

using namespace tapestry;
using test::check_message;
using test::slurp;

namespace {

namespace fs = std::filesystem;

struct BegunPlace : test::RunPlace {
    RunRequest request(const char* name) const {
        RunRequest request{.config = config(), .out = (scratch / name).string()};
        request.config.steps = 6;
        request.config.warmup = 0;
        return request;
    }
    // Into "n", forked after the fourth step of another run.
    RunRequest fork_of(const RunRequest& first) const {
        RunRequest request = this->request("n");
        request.fork = first.out;
        request.step = 4;
        return request;
    }

    BegunRun begin(const RunRequest& request) {
        told.clear();
        return begin_run(request, nullptr, [this](const std::string& line) { told += line; });
    }
    // To the end, or until `stop_after` steps have been taken.
    TrainingResult train(const RunRequest& request, std::int64_t stop_after = 1000) {
        BegunRun run = begin(request);
        TrainingRunOptions options{.report = false, .checkpoints = {.every_steps = 2}};
        options.earlier = run.earlier;
        options.stepped = [&](const StepMetrics& m, const Speed&) { return m.step < stop_after; };
        return TrainingRun(*run.session, *run.directory, options).to_the_end();
    }

    std::string told;
};

}  // namespace

TEST_CASE("begin run: anew, without a word; nothing is there, with one") {
    BegunPlace place;
    RunRequest request = place.request("m");
    CHECK_EQ(place.begin(request).session->steps(), 0);
    CHECK_EQ(place.told, "");
    request.resume = true;
    CHECK_EQ(place.begin(request).session->steps(), 0);
    CHECK_EQ(place.told, "no checkpoint in " + request.out + ": starting at step 0\n");
    CHECK_EQ(begin_run(request).session->steps(), 0);  // without a callback
}

TEST_CASE("begin run: where it was left, and what differs") {
    BegunPlace place;
    RunRequest request = place.request("m");
    place.train(request, 3);
    request.resume = true;
    request.config.lr = 0.01;
    request.given = {"lr"};
    request.overrides = {"lr"};
    CHECK_EQ(place.begin(request).session->steps(), 3);
    CHECK_EQ(place.told, "resuming in " + request.out +
                             " after step 3 of 6\n"
                             "lr differs from before (--override)\n");
    request.config.text.clear();  // it is the checkpoint's
    CHECK_EQ(place.train(request).last.step, 6);
    CHECK(place.begin(request).session->is_finished());
}

TEST_CASE("begin run: after a step of another") {
    BegunPlace place;
    const RunRequest first = place.request("m");
    place.train(first);
    const RunRequest second = place.fork_of(first);
    const BegunRun same = place.begin(second);
    CHECK_EQ(same.session->steps(), 4);
    REQUIRE(same.earlier.has_value());
    CHECK_EQ(same.earlier->step, 4);
    CHECK_EQ(place.told, "continuing in " + second.out + " after step 4 of " + first.out + "\n");
}

TEST_CASE("begin run: a setting without effect is refused where a run continues, too") {
    BegunPlace place;
    const RunRequest first = place.request("m");
    place.train(first, 3);
    RunRequest resumed = first, forked = place.fork_of(first);
    resumed.resume = true;
    forked.step = 2;
    const auto refused = [&](const char* name, const char* message, const auto& change) {
        for (RunRequest request : {resumed, forked}) {
            change(request.config);
            request.given = {name};
            if (request.resume) request.overrides = {name};
            check_message<ValueError>([&] { place.begin(request); }, message);
        }
    };
    refused("min_lr", "train: --min-lr must be at most --lr 0.001, got 1",
            [](TrainingConfig& c) { c.min_lr = 1; });
    refused("cooldown", "train: --cooldown 0.2 is for --schedule trapezoid",
            [](TrainingConfig& c) { c.cooldown = 0.2; });
    refused("lora_alpha", "train: lora_alpha is a setting of LoRA, which --lora turns on",
            [](TrainingConfig& c) { c.lora_alpha = 4; });
    refused("chat_system", "train: chat_system is a setting of conversations",
            [](TrainingConfig& c) { c.chat_system = "s"; });
    CHECK_FALSE(fs::exists(place.scratch / "n"));
}

TEST_CASE("begin run: a fork that changes nothing ends as the run did") {
    BegunPlace place;
    const RunRequest first = place.request("m");
    place.train(first);
    place.train(place.fork_of(first));
    CHECK(slurp(place.scratch / "n" / "model.safetensors") ==
          slurp(place.scratch / "m" / "model.safetensors"));
}

TEST_CASE("begin run: a new run replaces nothing unasked") {
    BegunPlace place;
    RunRequest request = place.request("m");
    const RunRequest fork = place.fork_of(request);
    place.train(request, 4);
    const std::string before = slurp(place.scratch / "m" / "model.safetensors");
    check_message<IoError>([&] { place.begin(request); },
                           request.out +
                               "': already contains a run, saved after step 4; --resume continues "
                               "it, --overwrite replaces it");
    place.train(fork);
    check_message<IoError>([&] { place.begin(fork); }, "already contains a run");
    CHECK(slurp(place.scratch / "m" / "model.safetensors") == before);
    request.overwrite = true;
    CHECK_EQ(place.train(request).last.step, 6);

    // Only a model, without checkpoints; a run killed before it saved; another program's model.
    fs::remove_all(place.scratch / "m" / "checkpoints");
    fs::remove(place.scratch / "m" / kManifestName);
    request.overwrite = false;
    request.resume = true;
    check_message<IoError>([&] { place.begin(request); },
                           request.out + "': already contains a model; --overwrite replaces it");
    fs::create_directory(place.scratch / "tokens");
    test::spill(place.scratch / "tokens" / "added_tokens.json", "{}");
    check_message<IoError>([&] { place.begin(place.request("tokens")); },
                           "tokens': already contains a tokenizer; --overwrite replaces it");
    fs::create_directory(place.scratch / "killed");
    std::ofstream(place.scratch / "killed" / "metrics.jsonl") << "";
    CHECK_EQ(place.begin(place.request("killed")).session->steps(), 0);
    request.resume = false;
    request.overwrite = true;
    fs::remove(place.scratch / "m" / "metrics.jsonl");
    CHECK_EQ(place.begin(request).session->steps(), 0);
    std::ofstream(place.scratch / "m" / "config.json") << R"({"model_type": "gpt2"})";
    check_message<IoError>([&] { place.begin(request); },
                           "contains a model that another program wrote");
    fs::create_directory(place.scratch / "m" / "checkpoints");  // empty: no run's
    check_message<IoError>([&] { place.begin(request); },
                           "contains a model that another program wrote");
}

TEST_CASE("begin run: numbers that no run wrote are kept, whatever was asked for") {
    BegunPlace place;
    RunRequest request = place.request("mine");
    fs::create_directory(place.scratch / "mine");
    const fs::path metrics = place.scratch / "mine" / "metrics.jsonl";
    std::ofstream(metrics) << "precious";
    for (const bool overwrite : {false, true}) {
        request.overwrite = overwrite;
        check_message<IoError>([&] { place.begin(request); },
                               "contains a metrics.jsonl that no run wrote; choose another "
                               "directory");
    }
    CHECK(slurp(metrics) == "precious");
    fs::remove(metrics);
    REQUIRE_EQ(::mkfifo(metrics.c_str(), 0600), 0);  // opening it would wait for a writer
    check_message<IoError>([&] { place.train(request); },
                           "metrics.jsonl': it is a pipe, not a file");
}

TEST_CASE("begin run: not among the texts that it learns from, which would be others then") {
    BegunPlace place;
    fs::create_directory(place.scratch / "texts");
    test::spill(place.scratch / "texts" / "a.txt", slurp(place.text));
    for (const char* name : {"texts", "texts/run", "texts/../texts/runs/a"}) {
        RunRequest request = place.request(name);
        request.config.text = (place.scratch / "texts").string();
        check_message<ValueError>([&] { place.begin(request); }, "is in the directory of texts '");
    }
    CHECK_FALSE(fs::exists(place.scratch / "texts" / "run"));
    for (const char* name : {"texts.run", "texts/.runs/a"}) {
        RunRequest request = place.request(name);
        request.config.text = (place.scratch / "texts").string();
        CHECK_EQ(place.begin(request).session->steps(), 0);
    }
}

TEST_CASE("begin run: what cannot begin leaves no directory behind") {
    BegunPlace place;
    RunRequest request = place.request("n");
    request.config.text.clear();
    request.resume = true;
    check_message<ValueError>([&] { place.begin(request); },
                              "--resume: no checkpoint in " + request.out +
                                  "; to start at step 0, give the options of the run again, with "
                                  "what it learns from (--text, --data, ");
    const RunRequest first = place.request("m");
    place.train(first);
    request = place.request("n");
    request.fork = first.out;
    request.step = 7;
    check_message<ValueError>([&] { place.begin(request); }, "fork: step 7: ");
    request.config.text = "none.txt";
    request.fork.clear();
    check_message<IoError>([&] { place.begin(request); }, "none.txt");
    fs::create_symlink(place.scratch / "loop", place.scratch / "loop");
    RunRequest images = place.request("n");
    images.config.task = "image";
    images.config.text = (place.scratch / "loop").string();
    images.config.set_model(VisionTransformerConfig{});
    check_message<IoError>([&] { place.begin(images); }, "loop': ");
    CHECK_FALSE(fs::exists(place.scratch / "n"));
    RunRequest onto_itself = first;
    onto_itself.fork = first.out;
    check_message<ValueError>(
        [&] { place.begin(onto_itself); },
        "--fork: " + first.out + " is also --out; the new run needs another directory");
}

TEST_CASE("run text: what a session is about to learn, from what") {
    const BegunPlace place;
    RunRequest request = place.request("m");
    const auto characters = fs::file_size(request.config.text);
    Session plain(request.config);
    const ThreadsGuard one(1);
    const std::string text = description_of(plain);
    CHECK(text.starts_with(
        fmt::format("{}: {} characters, {} different; training on {}, "
                    "validating on {}\nGPT: 1 layer, 2 heads, dim 16, context "
                    "8: {} parameters; 1 thread\n",
                    request.config.text, characters, plain.tokenizer().vocab_size(),
                    plain.data().size(Split::train), plain.data().size(Split::validation),
                    plain.model().parameter_count())));
    CHECK_EQ(text.find("frozen"), std::string::npos);
    const TrainingRecipe recipe = recipe_of(plain, {}, 0);  // the path is among the options
    CHECK_EQ(recipe.title, "Training on " + fs::path(request.config.text).filename().native());
    CHECK(recipe.subtitle.ends_with("held out; 1 thread"));

    request.config.test_fraction = 0.05;
    request.config.train_only = {"blocks.0"};
    const Session frozen(request.config);
    const std::string more = description_of(frozen);
    CHECK_NE(more.find(fmt::format(", {} for testing\n", frozen.data().size(Split::test))),
             std::string::npos);
    CHECK_NE(more.find("\nfrozen: "), std::string::npos);
    CHECK(more.ends_with(" parameter tensors\n"));
}

TEST_CASE("run text: how a training went") {
    TrainingResult result;
    result.last.step = 500;
    result.last.loss = 1.46321;
    result.last.seconds = 65;
    result.tokens_per_second = 61031;
    result.of_peak = 0.481;
    CHECK_EQ(
        to_text(result, "m"),
        "500 steps in 1:05 (61031 tokens/s, 48% of the peak): loss 1.4632, validation loss not "
        "taken\nsaved in m\n");
    result.val_loss = 1.52;
    result.concern = "it is no better than guessing";
    result.report = "report in m/report.html\n";
    CHECK(to_text(result, "m")
              .ends_with("validation loss 1.5200\nsaved in m, but it is no better "
                         "than guessing\nreport in m/report.html\n"));
}
