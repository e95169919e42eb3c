// Replaying every step of a run: with dropout and micro-batches, across a change of settings and a
// crash, from a model's weights; to the run's bits.
#include <tapestry/core/parallel.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/train/begin_run.h>
#include <tapestry/nn/train/bisect.h>
#include <tapestry/nn/train/checkpoint_writer.h>
#include <tapestry/nn/train/training_run.h>
#include <tapestry/tests/nn/small_run.h>
#include <tapestry/tests/skip.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

using namespace tapestry;
using test::check_message;
using test::message_of;
using test::slurp;
using test::spill;

namespace {

namespace fs = std::filesystem;

struct RewindPlace : test::RunPlace {
    TrainingConfig config() const {
        TrainingConfig config = RunPlace::config();
        config.model.dropout = 0.1;
        config.accumulate = 2;
        config.micro_batches = 2;
        config.steps = 40;
        config.warmup = 3;
        config.eval_every = 7;
        return config;
    }

    // To the end or to `stop_after`; resumes if there is a checkpoint.
    void train(const TrainingConfig& config, std::int64_t stop_after = INT64_MAX,
               const ResumeOptions& resume = {}) const {
        // No states but those: where others lie depends on how long a step takes.
        TrainingRunOptions options{
            .report = false, .checkpoints = {.every_steps = 8, .keep = 3, .rewind_budget = 0}};
        options.hash_every = 5;
        test::train_on(out, config, options, stop_after, resume);
    }
};

// Replays the steps of the run, all in sequence and each of `apart` (if empty: all) by itself.
void check_every_step(const fs::path& directory, const std::set<std::int64_t>& apart = {}) {
    const RunHistory history(directory);
    const Replayer replayer(history);
    const std::set<std::int64_t> few{1, 7, 8, 9, 30};
    const std::set<std::int64_t>& single = test::is_short() ? few : apart;
    const auto check = [&](Session& session, std::int64_t k) {
        CAPTURE(k);
        const ReplayedStep step = replay_step(session, k % 6 == 0);
        CHECK_EQ(step.metrics.step, k);
        CHECK_EQ(difference(history.step(k), step.metrics), "");
        CHECK_EQ(history.step(k).grad_xxh3.empty(), k % 5 != 0);
        CHECK_EQ(step.metrics.grad_xxh3.size(), 32);
        CHECK_EQ(step.watched.has_value(), k % 6 == 0);
    };
    for (std::int64_t k = 1; k <= history.last_step(); ++k) {
        if (!single.empty() && !single.contains(k)) continue;
        const ThreadsGuard threads(1 + static_cast<int>(k) % 3);
        check(*replayer.session_before(k), k);
    }
    auto session = replayer.session_before(1);
    for (std::int64_t k = 1; k <= history.last_step(); ++k) {
        replayer.advance(session, k);
        check(*session, k);
    }
}

}  // namespace

TEST_CASE("rewind: every step of a run that was killed and resumed with other settings") {
    const RewindPlace place;
    place.train(place.config(), 12);
    TrainingConfig other = place.config();
    other.lr = 0.01;
    other.clip = 0.5;
    place.train(other, 27, {.wanted = other, .given = {"lr", "clip"}, .overrides = {"lr", "clip"}});
    place.train(other);
    const RunHistory history(place.out);
    CHECK_EQ(history.last_step(), 40);
    REQUIRE_EQ(history.state().segments.size(), 2);
    CHECK_EQ(history.state().segments[1].first_step, 9);
    CHECK_EQ(history.config_of(history.segment_of(8)).lr, 0.001);
    CHECK_EQ(history.config_of(history.segment_of(9)).lr, 0.01);
    check_every_step(place.out);
}

TEST_CASE("rewind: steps across a change of settings, in one go") {
    const RewindPlace place;
    place.train(place.config(), 12);
    TrainingConfig other = place.config();
    other.seed = 7;
    other.batch = 6;
    place.train(other, INT64_MAX,
                {.wanted = other, .given = {"seed", "batch"}, .overrides = {"seed", "batch"}});
    const RunHistory history(place.out);
    const Replayer replayer(history);
    auto session = replayer.session_before(1);
    replayer.advance(session, 20);
    CHECK_EQ(session->config().batch, 6);
    CHECK_EQ(difference(history.step(20), replay_step(*session, false).metrics), "");
}

TEST_CASE("rewind: a run that began with a model's weights") {
    const RewindPlace place;
    {
        const Session model(place.config());
        save_model(place.scratch / "start", model.model(), model.tokenizer());
    }
    TrainingConfig config = place.config();
    config.start = (place.scratch / "start").string();
    config.start_dropout = 0.3;
    config.micro_batches = 1;
    config.train_only = {"blocks"};
    place.train(config);
    check_every_step(place.out);
}

TEST_CASE("rewind: while the run continues, without changing it") {
    const RewindPlace place;
    Session session(place.config());
    TrainingRun* running = nullptr;
    int looks = 0;
    TrainingRunOptions options{.out = place.out, .report = false};
    options.stepped = [&](const StepMetrics& m, const Speed&) {
        running->wait_for_checkpoint();
        if (m.step % 13 == 0) {
            const RunHistory history(place.out);
            const ReplayedStep step =
                replay_step(*Replayer(history).session_before(m.step - 2), true);
            CHECK_EQ(difference(history.step(m.step - 2), step.metrics), "");
            ++looks;
        }
        return true;
    };
    TrainingRun run(session, options);
    running = &run;
    run.to_the_end();
    CHECK_EQ(looks, 3);
    CHECK_EQ(RunHistory(place.out).last_step(), 40);
}

TEST_CASE("rewind: from where, and how long it takes") {
    const RewindPlace place;
    place.train(place.config(), 30);
    const RunHistory history(place.out);
    const auto stored = history.stored();
    REQUIRE(!stored.empty());
    const std::int64_t last = stored.back().step;
    std::vector<ReplayStart> told;
    const Replayer replayer(history, {.told = [&](const ReplayStart& s) { told.push_back(s); }});
    replayer.session_before(1);
    replayer.session_before(last + 1);
    replayer.session_before(last + 3);
    REQUIRE_EQ(told.size(), 3);
    CHECK_EQ(told[0].state, 0);
    CHECK_EQ(told[0].steps, 0);
    CHECK_EQ(told[1].state, last);
    CHECK_EQ(told[1].steps, 0);
    CHECK_EQ(told[2].steps, 2);
    CHECK_GT(told[2].seconds, 0);
}

TEST_CASE("rewind: what cannot be") {
    const RewindPlace place;
    check_message<IoError>([&] { RunHistory history(place.scratch.path()); },
                           "contains no checkpoint of a run");
    place.train(place.config());
    const RunHistory history(place.out);
    const Replayer replayer(history);
    for (const std::int64_t step : {-1, 0, 42, 1000000}) {
        check_message<ValueError>([&] { replayer.session_before(step); },
                                  fmt::format("rewind: step {}: ", step));
        check_message<ValueError>([&] { replayer.session_before(step); }, "has steps 1 to 40");
    }
    const std::string text = slurp(place.text);
    spill(place.text, text + "d");
    check_message<ValueError>([&] { replayer.session_before(36); },
                              "give its path with --text or --data");
    spill(place.scratch / "moved.txt", text);
    const Replayer moved(history, {.text = (place.scratch / "moved.txt").string()});
    CHECK_EQ(difference(history.step(36), replay_step(*moved.session_before(36), false).metrics),
             "");
    REQUIRE_EQ(history.stored().size(), 3);
    const fs::path state = place.out / history.stored()[1].name();
    std::string bytes = slurp(state);
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    spill(state, bytes);
    check_message<IoError>([&] { moved.session_before(40); }, "not what was saved");
}

TEST_CASE("rewind: what differs is named") {
    const StepMetrics then{.loss = 1.25, .lr = 0.5, .grad_norm = 2, .grad_xxh3 = "ab"};
    StepMetrics now = then;
    CHECK_EQ(difference(then, now), "");
    now.loss = std::nextafter(1.25, 2);
    CHECK_EQ(difference(then, now), "loss was 1.25 and is 1.2500000000000002");
    now = then;
    now.grad_norm = 3;
    CHECK_EQ(difference(then, now), "grad_norm was 2 and is 3");
    now = then;
    now.grad_xxh3 = "cd";
    CHECK_EQ(difference(then, now), "grad_xxh3 was ab and is cd");
    now.grad_xxh3 = "";
    CHECK_EQ(difference(then, now), "");
}

TEST_CASE("bisect: invalid conditions") {
    for (const char* text :
         {"", "loss", "loss >", "loss > x", "loss > 1 2", "los > 1", "loss = 1", "> 1",
          "loss > nan", "update_ratio( > 1", "update_ratio() > 1", "loss(a) > 1",
          "update_ratio(a) b > 1", "non_finite > 1", "non_finite x"}) {
        CAPTURE(text);
        check_message<ValueError>([&] { parse_condition(text); }, "is not a condition, such as");
    }
    const StepCondition c = parse_condition(" update_ratio( blocks.0 )>=1e-3 ");
    CHECK_EQ(c.parameter, "blocks.0");
    CHECK(c.quantity == StepCondition::Quantity::update_ratio);
    CHECK(c.holds(1e-3));
    CHECK_FALSE(c.holds(9e-4));
    CHECK_FALSE(c.holds(std::nan("")));
    CHECK(parse_condition("non_finite").quantity == StepCondition::Quantity::non_finite);
    CHECK(parse_condition("loss<-1.5").holds(-2));
    CHECK_FALSE(parse_condition("val_loss <= 2").holds(2.5));
    CHECK_FALSE(parse_condition("loss > 2").holds(2));
}

TEST_CASE("bisect: what metrics.jsonl has is found there, exactly") {
    const RewindPlace place;
    place.train(place.config());
    const RunHistory history(place.out);
    const Replayer replayer(history);
    const auto first = [&](const std::string& text, std::int64_t after = 0) {
        return find_first(history, replayer, parse_condition(text), after);
    };
    const double bound = history.step(20).loss;
    std::int64_t wanted = 1;
    while (history.step(wanted).loss > bound) ++wanted;
    const FoundStep found = first(fmt::format("loss <= {}", bound));
    CHECK_EQ(found.step, wanted);
    CHECK_EQ(found.what, fmt::format("loss {}", history.step(wanted).loss));
    CHECK(found.probed.empty());
    CHECK_EQ(first("val_loss > 0").step, 7);
    CHECK_EQ(first("val_loss > 0", 7).step, 14);
    CHECK_EQ(first("grad_norm > 0", 39).step, 40);
    CHECK_FALSE(first("grad_norm > 1e9").step);
    check_message<ValueError>([&] { first("loss > 0", 40); }, "no step comes after step 40");
}

TEST_CASE("bisect: numbers that metrics.jsonl lacks are found by replaying steps") {
    const RewindPlace place;
    place.train(place.config());
    const RunHistory history(place.out);
    const Replayer replayer(history);
    std::vector<double> ratios;  // the largest of every step
    auto session = replayer.session_before(1);
    for (std::int64_t k = 1; k <= 40; ++k) {
        replayer.advance(session, k);
        double most = 0;
        for (const ParameterFlow& p : replay_step(*session, false).flow) {
            if (std::isfinite(p.ratio())) most = std::max(most, p.ratio());
        }
        ratios.push_back(most);
    }
    const auto wanted = [&](double bound, std::int64_t after) -> std::optional<std::int64_t> {
        for (std::int64_t k = after + 1; k <= 40; ++k) {
            if (ratios[static_cast<std::size_t>(k - 1)] > bound) return k;
        }
        return std::nullopt;
    };
    for (const std::int64_t after : {0, 10, 30, 39}) {
        for (std::size_t k = 0; k < ratios.size(); k += test::is_long() ? 1 : 4) {
            const double bound = ratios[k];
            const auto condition = parse_condition(fmt::format("update_ratio > {}", bound));
            const FoundStep found = find_first(history, replayer, condition, after);
            CAPTURE(after);
            CAPTURE(bound);
            REQUIRE(!found.probed.empty());
            CHECK_EQ(found.probed.front(), after + 1);
            // The first of all, or a later one if the condition held only between two probes.
            const auto exact = wanted(bound, after);
            CHECK_EQ(found.step.has_value() && found.step < exact, false);
            if (found.step) {
                CHECK_GT(ratios[static_cast<std::size_t>(*found.step - 1)], bound);
                if (found.step != exact) CHECK_LT(*exact, found.walk_first);
            }
        }
    }
    const auto none = find_first(history, replayer, parse_condition("non_finite"), 20);
    CHECK_FALSE(none.step);
    CHECK_EQ(none.walk_last, 40);
    check_message<ValueError>(
        [&] { find_first(history, replayer, parse_condition("update_ratio(nothing) > 1")); },
        "bisect: no parameter or module is called 'nothing'");
    CHECK(find_first(history, replayer, parse_condition("update_ratio(blocks.0) > 0")).step == 1);
}

namespace {

std::string losses_of(const fs::path& directory) {
    std::string text;
    const RunHistory history(directory);
    for (const StepMetrics& m : history.steps()) {
        text += fmt::format("{} {} {} {}\n", m.step, m.loss, m.grad_norm, m.val_loss.value_or(0));
    }
    return text;
}

}  // namespace

TEST_CASE("fork: nothing changed gives the run itself, something changed what follows") {
    const RewindPlace place;
    place.train(place.config());
    const RunHistory history(place.out);
    const Replayer replayer(history);
    const auto fork = [&](const char* name, std::int64_t step, const ResumeOptions& changes) {
        Fork made = fork_after(history, replayer, step, changes);
        TrainingRunOptions options{.out = place.scratch / name, .hash_every = 5};
        options.earlier = made.earlier;
        TrainingRun run(*made.session, options);
        run.to_the_end();
        return made;
    };
    const std::set<std::int64_t> some{1, 13, 14, 24, 39, 40};  // forks are after 0, 13 and 39
    for (const std::int64_t step : {0, 13, 39}) {
        CAPTURE(step);
        const std::string name = fmt::format("same-{}", step);
        CHECK(fork(name.c_str(), step, {}).changed.empty());
        CHECK_EQ(losses_of(place.scratch / name), losses_of(place.out));
        CHECK_EQ(slurp(place.scratch / name / "model.safetensors"),
                 slurp(place.out / "model.safetensors"));
        check_every_step(place.scratch / name, some);
    }
    TrainingConfig changed = place.config();
    changed.lr = 0.02;
    changed.steps = 50;
    const Fork other = fork("other", 13, {.wanted = changed, .given = {"lr", "steps"}});
    CHECK_EQ(other.changed, std::vector<std::string>{"steps", "lr"});
    check_every_step(place.scratch / "other");
    const RunHistory forked(place.scratch / "other");
    CHECK_EQ(forked.last_step(), 50);
    REQUIRE_EQ(forked.state().segments.size(), 2);
    CHECK_EQ(forked.state().segments[1].first_step, 14);
    CHECK_EQ(forked.state().segments[1].overrides, other.changed);
    CHECK_EQ(difference(history.step(13), forked.step(13)), "");
    CHECK_NE(difference(history.step(15), forked.step(15)), "");
    CHECK_GE(forked.step(14).seconds, forked.step(13).seconds);
    CHECK(slurp(place.scratch / "other" / "report.html").find("\"finished\"") != std::string::npos);
    // Its initial state is kept, so its steps are near.
    CHECK_EQ(forked.stored().front().step, 13);
    changed.seed = 8;
    fork("seed", 13, {.wanted = changed, .given = {"seed"}});
    CHECK_NE(difference(history.step(14), RunHistory(place.scratch / "seed").step(14)), "");
    check_every_step(place.scratch / "seed", some);
}

TEST_CASE("fork: what cannot be") {
    const RewindPlace place;
    place.train(place.config());
    const RunHistory history(place.out);
    const Replayer replayer(history);
    check_message<ValueError>([&] { fork_after(history, replayer, 41, {}); }, "fork: step 41: ");
    check_message<ValueError>([&] { fork_after(history, replayer, -1, {}); }, "fork: step -1: ");
    check_message<ValueError>(
        [&] { fork_after(history, replayer, 40, {}); },
        "fork: none of the 40 steps is left after step 40; set --steps higher");
    TrainingConfig wanted = place.config();
    wanted.model.dim = 32;
    const std::string message = message_of<IoError>(
        [&] { fork_after(history, replayer, 5, {.wanted = wanted, .given = {"dim"}}); });
    INFO("message: " << message);
    CHECK(message.find("the weights after step 5 and a model of the new settings: the tensors") !=
          std::string::npos);
}
