// Training that is killed, or loses power, at any moment resumes to the same bits. The moments are
// its file operations. Here a sample of them, drawn by seed; with TAPESTRY_TESTS=long all of them,
// and thousands of kills at random times (.ci/long survival).
#include <tapestry/core/parallel.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/terminal/run_text.h>
#include <tapestry/nn/train/run_directory.h>
#include <tapestry/nn/train/training_run.h>
#include <tapestry/tests/cli/command.h>
#include <tapestry/tests/hostile/tree_hash.h>
#include <tapestry/tests/nn/small_run.h>
#include <tapestry/tests/skip.h>
#include <tapestry/tests/survival/disk.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <string_view>
#include <thread>

using namespace tapestry;
using test::Disk;
using test::FileEvent;
using test::is_long;
using test::slurp;
using test::spill;

namespace {

namespace fs = std::filesystem;

// Used in rotation.
constexpr std::array kThreads{1, 2, 3, 8};

struct SurvivalPlace : test::Place {
    SurvivalPlace() {
        spill(*this / "t.txt", test::simple_text());
        test::check_done(run(training("whole")));
        whole = state_of(*this / "whole");
    }

    // The same training for the command, and for the library, which is faster.
    static test::Arguments training(const std::string& out, bool resumed = true) {
        test::Arguments arguments{
            "train", "--text",       "t.txt", "--out",          out,          "--layers",
            "1",     "--heads",      "2",     "--dim",          "16",         "--context",
            "8",     "--batch",      "2",     "--dropout",      "0.1",        "--steps",
            "40",    "--eval-every", "10",    "--eval-batches", "1",          "--checkpoint-every",
            "8",     "--keep",       "2",     "--best",         "--no-report"};
        arguments.emplace_back(resumed ? "--resume" : "--overwrite");
        return arguments;
    }

    // Resumes to the end.
    void go_on(const fs::path& out) const {
        RunDirectory directory(out);
        const std::string text = (path() / "t.txt").string();
        auto session = directory.resume({.wanted = {.text = text}, .given = {"text"}});
        if (!session) {
            session = std::make_unique<Session>(TrainingConfig{
                .text = text,
                .model = {.context = 8, .layers = 1, .heads = 2, .dim = 16, .dropout = 0.1},
                .batch = 2,
                .steps = 40,
                .eval_every = 10,
                .eval_batches = 1});
        }
        if (session->is_finished()) return directory.put_in_order();
        TrainingRun(*session, directory,
                    {.report = false, .checkpoints = {.every_steps = 8, .keep = 2, .best = true}})
            .to_the_end();
    }

    // Parameters, moments, generator offsets, metrics without times, and the model files.
    static std::string state_of(const fs::path& out) {
        const auto stored = stored_checkpoints(out);
        if (stored.empty()) return "no checkpoint";
        std::string all = slurp(out / "model.safetensors") + slurp(out / "config.json") +
                          slurp(out / "tokenizer.json") + slurp(out / "best" / "model.safetensors");
        const SafetensorsFile file = read_safetensors(out / stored.back().name());
        for (const auto& [name, tensor] : file.tensors) {
            all += fmt::format("{} {}\n", name, fmt::join(tensor.to_vector<double>(), " "));
        }
        const std::string& text = file.metadata.at("checkpoint");
        all += text.substr(text.find("\"generators\""), text.find("\"optimizer\""));
        // A run that go_on() began has the text's whole path in its configuration.
        std::string lines = test::without_times(slurp(out / "metrics.jsonl"));
        const std::string whole_path = (out.parent_path() / "t.txt").string();
        const std::size_t at = lines.find(whole_path);
        if (at != std::string::npos) lines.replace(at, whole_path.size(), "t.txt");
        return all + lines;
    }

    // Files listed in the manifest are readable after any kill, and reading changes nothing.
    static void check_readable(const fs::path& out) {
        const test::Tree before = test::tree_of(out);
        if (const auto manifest = read_manifest(out)) {
            CHECK_NOTHROW(load_model(out));
            std::vector<std::string> names;
            for (const auto& [name, digest] : manifest->files) {
                if (!grows(name)) names.push_back(name);
            }
            CHECK_NOTHROW(SavedFiles(out).check(names));
            const bool has_best = manifest->files.contains("best/model.safetensors");
            if (has_best) CHECK_NOTHROW(load_model(out / "best"));
            if (!stored_checkpoints(out).empty()) {
                CHECK_NOTHROW(RunHistory{out});
                CHECK_FALSE(loss_curves(out, false).curves.empty());
            }
        }
        CHECK_EQ(test::difference(before, test::tree_of(out)), "");
    }

    // The directory holds a complete model, or none yet, and resumes to the result of the
    // uninterrupted run.
    void check_survives(const fs::path& out, int threads) const {
        const ThreadsGuard guard(threads);
        check_readable(out);
        CHECK_NOTHROW(go_on(out));
        const bool same = state_of(out) == whole;
        CHECK(same);
        check_model_is_whole(out);
    }

    void check_model_is_whole(const fs::path& out) const {
        CHECK_NOTHROW(load_model(out));
        CHECK_NOTHROW(load_model(out / "best"));
        for (const auto& entry : fs::recursive_directory_iterator(out)) {
            CHECK_FALSE(entry.path().filename().native().starts_with(".saving-"));
            CHECK_FALSE(entry.path().filename().native().ends_with(".tmp"));
        }
    }

    // Puts another run's directory in place, for training to overwrite.
    void put_another() const {
        clear();
        fs::copy(*this / "another", *this / "m", fs::copy_options::recursive);
    }

    test::TraceOptions traced(const test::Arguments& arguments = training("m")) const {
        test::TraceOptions options{.arguments = {TAPESTRY_COMMAND}, .folder = path()};
        options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
        return options;
    }

    void clear() const {
        std::error_code ignored;
        fs::remove_all(*this / "m", ignored);
    }

    std::string whole;
};

}  // namespace

TEST_CASE("survival: killed before and after any call that changes a file") {
    const SurvivalPlace place;
    const test::TraceResult all = test::trace(place.traced());
    if (!all.possible) return test::skip("no process can be traced here");
    REQUIRE_EQ(all.status, 0);
    CHECK_EQ(SurvivalPlace::state_of(place / "m"), place.whole);
    const auto moments = 2 * static_cast<std::int64_t>(all.events.size());
    CHECK_GT(moments, 300);
    Generator chance(1);
    const std::int64_t trials = is_long() ? moments : 24;
    for (std::int64_t i = 0; i < trials; ++i) {
        const std::int64_t moment =
            is_long()
                ? i
                : static_cast<std::int64_t>(chance.below(static_cast<std::uint64_t>(moments)));
        CAPTURE(moment);
        place.clear();
        test::TraceOptions options = place.traced();
        options.kill = [moment](std::int64_t number, bool returned) {
            return 2 * number + (returned ? 1 : 0) == moment;
        };
        const test::TraceResult killed = test::trace(options);
        // Two threads' calls are not always in the same order: the last moments may not occur.
        CHECK((killed.status == -SIGKILL || killed.status == 0));
        place.check_survives(place / "m", kThreads[static_cast<std::size_t>(i) % kThreads.size()]);
    }
    MESSAGE(trials << " of " << moments << " moments");
}

TEST_CASE("survival: killed while it takes another's place, one of the two is there, whole") {
    const SurvivalPlace place;
    const test::Arguments again = SurvivalPlace::training("m", false);
    spill(place / "u.txt", "no letter of theirs: 0123456789 0123456789\n" + test::simple_text());
    test::check_done(place.run(test::tiny_training({"--text", "u.txt", "--out", "another"})));
    const std::string another = slurp(place / "another" / "tokenizer.json");
    place.put_another();
    const test::TraceResult all = test::trace(place.traced(again));
    if (!all.possible) return test::skip("no process can be traced here");
    REQUIRE_EQ(all.status, 0);
    CHECK_EQ(SurvivalPlace::state_of(place / "m"), place.whole);
    // The moments until its first commit is in place, and some more.
    const auto first = std::find_if(all.events.begin(), all.events.end(), [](const FileEvent& e) {
        return e.call == test::FileCall::rename && e.to == "m/tokenizer.json";
    });
    REQUIRE(first != all.events.end());
    const auto moments = 2 * (first - all.events.begin() + 20);
    bool old_was_there = false, new_was_there = false;
    for (std::int64_t moment = is_long() ? 0 : 1; moment < moments; moment += is_long() ? 1 : 9) {
        CAPTURE(moment);
        place.put_another();
        test::TraceOptions options = place.traced(again);
        options.kill = [moment](std::int64_t number, bool returned) {
            return 2 * number + (returned ? 1 : 0) == moment;
        };
        test::trace(options);
        CHECK_NOTHROW(load_model(place / "m"));
        const bool is_old = slurp(place / "m" / "tokenizer.json") == another;
        (is_old ? old_was_there : new_was_there) = true;
        test::check_done(place.run(again));
        const bool same = SurvivalPlace::state_of(place / "m") == place.whole;
        CHECK(same);
    }
    CHECK(old_was_there);
    CHECK(new_was_there);
}

TEST_CASE(
    "survival: the power fails after any call, and what was not synced is lost, or a part of it") {
    const SurvivalPlace place;
    const test::TraceResult all = test::trace(place.traced());
    if (!all.possible) return test::skip("no process can be traced here");
    const std::uint64_t events = all.events.size();
    Generator chance(2);
    const std::uint64_t trials = is_long() ? 10 * events : 60;
    for (std::uint64_t i = 0; i < trials; ++i) {
        // Favours the end, where no later commit would repair what is missing.
        const std::uint64_t drawn = i < 15 ? events - 1 - i : chance.below(events);
        const std::uint64_t last = is_long() ? i / 10 : drawn;
        CAPTURE(last);
        CAPTURE(i);
        Disk disk;
        disk.apply({.call = test::FileCall::make_directory, .path = "m"});
        disk.apply({.call = test::FileCall::sync, .path = ""});
        for (std::uint64_t j = 0; j <= last; ++j) {
            const FileEvent& event = all.events[j];
            if (event.path != "m" || event.call == test::FileCall::sync) disk.apply(event);
        }
        place.clear();
        Generator selection(i);
        disk.leave(place.path(), i % 10 == 0 ? nullptr : &selection);
        fs::create_directories(place / "m");
        place.check_survives(place / "m", kThreads[i % kThreads.size()]);
    }
    MESSAGE(trials << " disks after " << events << " calls");
}

TEST_CASE("survival: killed at any time, again and again, with other numbers of threads") {
    const SurvivalPlace place;
    Generator chance(3);
    const int wanted = is_long() ? 10000 : 15;
    int kills = 0, finished = 0;
    while (kills < wanted) {
        test::Process process(
            SurvivalPlace::training("m"), place.path(),
            {.environment = {{"TAPESTRY_THREADS",
                              std::to_string(kThreads[static_cast<std::size_t>(kills) % 4])}}});
        std::this_thread::sleep_for(std::chrono::microseconds(chance.below(120000)));
        process.send(SIGKILL);
        const test::Outcome outcome = process.wait();
        if (outcome.code == -SIGKILL) {
            ++kills;
            continue;
        }
        REQUIRE_EQ(outcome.code, 0);
        const bool same = SurvivalPlace::state_of(place / "m") == place.whole;
        CHECK(same);
        place.check_model_is_whole(place / "m");
        place.clear();
        ++finished;
    }
    place.check_survives(place / "m", 2);
    MESSAGE(kills << " kills, " << finished << " trainings that came to their end between");
}
