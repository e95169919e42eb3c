// The diagnosis of a run and of a step: every rule with numbers that it is made for, silence
// without them, and the next command.
#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/core/random.h>
#include <tapestry/nn/inspect/diagnosis.h>
#include <tapestry/nn/inspect/inspector.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/nn/support.h>

#include <functional>

using namespace tapestry;

namespace {

// A run of `steps` steps with these losses by the share of the run, and a validation loss at the
// end; guessing gives ln(65), counting characters 3.3 and counting pairs 2.4.
RunFacts facts(std::int64_t steps, const std::function<double(double)>& loss,
               std::optional<double> val = {}) {
    RunWatch watch(steps, 1, std::log(65.0));
    for (std::int64_t step = 1; step <= steps; ++step) {
        const double noise = step % 2 == 0 ? 0.03 : -0.03;
        const double t = static_cast<double>(step) / static_cast<double>(steps);
        StepMetrics m{.step = step, .loss = loss(t) + noise, .lr = 1e-3, .grad_norm = 0.5};
        if (step == steps) m.val_loss = val;
        watch.add(m);
    }
    RunFacts f = watch.facts();
    f.usual_lr = 1e-3;
    f.ratio = 1e-3;
    f.counting = 3.3;
    f.pairs = 2.4;
    f.unit = "character";
    f.command = "tapestry train --text 'a b.txt' --lr 0.001 --out m";
    return f;
}

double falling(double t) { return 4.2 - 2.4 * std::min(1.0, 2 * t); }

std::string rule_of(const RunFacts& f) { return diagnose(f).rule; }

}  // namespace

TEST_CASE("diagnosis: a run that goes well") {
    const Diagnosis d = diagnose(facts(400, falling, 1.9));
    CHECK_EQ(d.rule, "good");
    CHECK(d.verdict == DiagnosisVerdict::good);
    CHECK_EQ(d.text,
             "the run went well: the validation loss is 1.9000, counting pairs gives 2.4000");
    CHECK_EQ(d.command, "tapestry sample --model m");
    CHECK_EQ(to_text(d), d.text + "; next: tapestry sample --model m");
    CHECK_EQ(rule_of(facts(
                 400, [](double t) { return falling(t) + (t > 0.6 && t < 0.62); }, 1.9)),
             "good");
}

TEST_CASE("diagnosis: silent without a clear sign") {
    CHECK_EQ(rule_of(facts(5, [](double) { return 4.2; })), "");
    CHECK_EQ(rule_of(facts(200, [](double) { return 4.15; })), "");  // unknown why
    CHECK_EQ(rule_of(facts(400, [](double t) { return 4.2 - t; })), "needs_steps");
    CHECK_EQ(rule_of(facts(400, [](double t) { return 4.2 - 1.4 * std::min(1.0, 2 * t); })), "");
    CHECK_EQ(to_text(Diagnosis{}), "");
    CHECK_EQ(rule_of(RunFacts{}), "");
    RunFacts running = facts(400, falling, 1.9);
    running.running = true;
    CHECK_EQ(rule_of(running), "");
    RunFacts clipped = facts(400, falling, 1.9);
    clipped.clipped = 1;  // common in runs that go well
    CHECK_EQ(rule_of(clipped), "good");
}

TEST_CASE("diagnosis: worse than the model that a run began from") {
    RunFacts f = facts(
        400, [](double t) { return 0.9 + t; }, 1.9);
    f.command = "tapestry train --model base --text t.txt --lr 0.01 --out m";
    f.lr = 0.01;
    CHECK_EQ(rule_of(f), "worse_than_its_start");
    CHECK_EQ(diagnose(f).text.substr(0, 52),
             "the validation loss is 1.9000, above the 0.8725 of t");
    CHECK_EQ(diagnose(f).command, "tapestry train --model base --text t.txt --lr 0.001 --out m-2");
    f = facts(
        400, [](double t) { return 0.9 - 0.1 * t; }, 0.85);
    f.command = "tapestry train --model base --text t.txt --out m";
    CHECK_EQ(rule_of(f), "good");
}

TEST_CASE("diagnosis: the model that a run began from is judged on the held-out examples, too") {
    RunFacts f = facts(
        400, [](double t) { return 0.9 - 0.2 * t; }, 1.9);  // these are harder
    f.command = "tapestry train --model base --data c.jsonl --out m";
    f.val_at_start = 2.6;
    CHECK_EQ(rule_of(f), "good");
    f.val_at_start = 1.5;
    CHECK_EQ(rule_of(f), "worse_than_its_start");
    CHECK_EQ(diagnose(f).text,
             "the validation loss is 1.9000, above the 1.5000 of the model it began from");
}

TEST_CASE("diagnosis: a learning rate that is too high") {
    RunFacts f = facts(100, [](double t) { return t < 0.02 ? 4.2 : 9.5; });
    f.lr = 10;
    f.clipped = 1;
    CHECK_EQ(
        diagnose(f).text,
        "the learning rate of 10 is too high: the loss was 9.53 at step 2, while guessing gives "
        "4.174, and 9.502 now; 100% of the steps were clipped");
    CHECK_EQ(diagnose(f).command, "tapestry train --text 'a b.txt' --lr 0.001 --out m-2");
    f.diverged = true;
    const std::string text = diagnose(f).text;
    CHECK(text.find("and step 101 was not finite") != std::string::npos);
    // Stuck at counting characters, by the rate or by the size of updates.
    RunFacts flat = facts(400, [](double t) { return std::max(3.32, 4.2 - 10 * t); });
    CHECK_EQ(rule_of(flat), "");
    flat.lr = 0.3;
    CHECK_EQ(rule_of(flat), "rate_too_high");
    flat.lr = 1e-3;
    flat.ratio = 0.4;
    CHECK_EQ(rule_of(flat), "rate_too_high");
    CHECK_EQ(diagnose(flat).advice, "try 0.0001");
    // Few steps are enough to see a loss far above guessing.
    CHECK_EQ(rule_of(facts(
                 5, [](double t) { return t < 0.3 ? 4.2 : 1e9 * t; }, 4e12)),
             "rate_too_high");
    // A run that learned its data by heart has learned.
    RunFacts heart = facts(
        400, [](double t) { return std::max(0.05, 4.2 - 10 * t); }, 4.15);
    heart.lr = 0.3;
    CHECK_EQ(rule_of(heart), "memorises");
    // A high rate with which the model learns is fine.
    RunFacts fine = facts(400, falling, 1.9);
    fine.lr = 0.3;
    CHECK_EQ(rule_of(fine), "good");
}

TEST_CASE("diagnosis: a validation loss that is not a number is not the lowest") {
    RunWatch watch(3, 1, std::log(65.0));
    for (const double val : std::vector<double>{NAN, 2.5, 3.0, NAN}) {
        watch.add({.step = watch.facts().last.step + 1, .loss = 3, .val_loss = val});
    }
    CHECK_EQ(watch.facts().lowest_val.step, 2);
    CHECK_EQ(watch.facts().lowest_val.value, 2.5);
    CHECK_EQ(watch.facts().val.step, 4);
}

TEST_CASE("diagnosis: the next run's directory lies beside one that was named with a slash") {
    RunFacts f = facts(100, falling);
    f.diverged = true;
    const auto next_of = [&f](const std::string& out) {
        f.command = "tapestry train --out " + out;
        return diagnose(f).command;
    };
    CHECK_EQ(next_of("m/"), "tapestry train --out m-2 --trap-nan");
    CHECK_EQ(next_of("'my run'"), "tapestry train --out 'my run-2' --trap-nan");
    CHECK_EQ(next_of("'my run/'"), "tapestry train --out 'my run-2' --trap-nan");
    CHECK_EQ(next_of(R"('it'\''s/')"), R"(tapestry train --out 'it'\''s-2' --trap-nan)");
}

TEST_CASE("diagnosis: divergence without a sign of the rate") {
    RunFacts f = facts(100, falling);
    f.diverged = true;
    CHECK_EQ(rule_of(f), "diverged");
    CHECK_EQ(diagnose(f).command,
             "tapestry train --text 'a b.txt' --lr 0.001 --out m-2 --trap-nan");
    RunFacts start{.diverged = true};
    CHECK_EQ(rule_of(start), "bad_start");
    CHECK_EQ(diagnose(start).command, "");
}

TEST_CASE("diagnosis: other ruins") {
    RunFacts low = facts(300, [](double) { return 4.19; });
    low.ratio = 1e-6;
    CHECK_EQ(rule_of(low), "rate_too_low");
    low.lr = 1e-7;  // a warm-up that the run has not left: the same rate again would not help
    CHECK_NE(rule_of(low), "rate_too_low");
    low.command = "tapestry train --text a --lr 1e-07 --out m/ --overwrite";
    CHECK_EQ(diagnose(low).advice, "try 0.001");
    low.lr = 6e-8;  // the run ended within its warm-up
    CHECK_NE(diagnose(low).text.find("the learning rate of 1e-07 is too low: "), std::string::npos);
    CHECK_EQ(diagnose(low).command, "tapestry train --text a --lr 0.001 --out m-2");
    const RunFacts risen = facts(1000, [](double t) { return t < 0.6 ? falling(t) : 3.0; });
    CHECK_EQ(rule_of(risen), "unstable");
    RunFacts heart = facts(
        1000, [](double t) { return 4.2 - 4.1 * std::min(1.0, 2 * t); }, 5.1);
    heart.lowest_val = {200, 3.1};
    CHECK_EQ(rule_of(heart), "memorises");
    CHECK_EQ(diagnose(heart).command,
             "tapestry train --text 'a b.txt' --lr 0.001 --out m-2 --steps 200");
    heart.lowest_val.value = 4.9;  // worse than guessing: no place to stop
    CHECK_EQ(rule_of(heart), "memorises");
    CHECK_EQ(diagnose(heart).command, "");
    CHECK_EQ(diagnose(heart).advice, "use more text or dropout");
    RunFacts constant = facts(300, [](double) { return 0.01; });
    constant.counting = 0.01;
    CHECK_EQ(rule_of(constant), "constant_text");
    RunFacts noise = facts(300, [](double) { return 4.18; });
    noise.counting = noise.pairs = 4.174;
    CHECK_EQ(rule_of(noise), "no_pattern");
}

TEST_CASE("diagnosis: initial weights that are too large") {
    RunFacts f = facts(100, [](double t) { return 800 - 100 * t; });
    f.command = "tapestry train --text a --deviation 100 --out m";
    CHECK_EQ(rule_of(f), "weights_too_large");
    CHECK_EQ(diagnose(f).text,
             "the initial weights are too large: the loss was 799 at step 1, before any update, "
             "while guessing gives 4.174");
    CHECK_EQ(diagnose(f).command, "tapestry train --text a --deviation 0.02 --out m-2");
    f.command = "tapestry train --text a --out m";
    CHECK_EQ(diagnose(f).command, "");
    f.diverged = true;
    CHECK_EQ(rule_of(f), "weights_too_large");
    f.command += " --model other";  // its loss on this text may begin anywhere
    CHECK_NE(rule_of(f), "weights_too_large");
    const RunFacts counts = facts(
        300, [](double t) { return t < 0.05 ? 20 : 3.4; }, 3.4);  // no rate would have helped
    CHECK_EQ(rule_of(counts), "weights_too_large");
    const RunFacts recovered = facts(
        400, [](double t) { return t < 0.01 ? 20 : falling(t); }, 1.9);
    CHECK_EQ(rule_of(recovered), "good");
}

TEST_CASE("diagnosis: a clip that leaves nothing of the gradient") {
    RunFacts f = facts(300, [](double) { return 4.19; });
    f.ratio = 1e-9;
    CHECK_EQ(rule_of(f), "rate_too_low");
    f.clip = 1e-9;
    f.clipped = 1;
    CHECK_EQ(f.norm, doctest::Approx(0.5));
    CHECK_EQ(rule_of(f), "clip_too_small");
    CHECK_EQ(diagnose(f).text,
             "clipping leaves almost nothing of the gradient: its norm is 0.5, clipped to 1e-09 in "
             "100% of the steps, and the loss went from 4.1600 to 4.1910 only");
    CHECK_EQ(diagnose(f).command, "tapestry train --text 'a b.txt' --lr 0.001 --out m-2 --clip 1");
    RunFacts learns = facts(400, falling, 1.9);  // SGD with a sum for a loss, for example
    learns.clip = 1e-9;
    learns.clipped = 1;
    CHECK_EQ(rule_of(learns), "good");
}

TEST_CASE("diagnosis: a run that is perfect, or has nothing to be compared with, went well") {
    RunFacts f = facts(
        400, [](double t) { return 4.2 * std::max(0.0, 1 - 2 * t) + 0.03; }, 0.0004);
    f.pairs = 0;  // the text is periodic
    CHECK_EQ(rule_of(f), "learned");
    CHECK(diagnose(f).verdict == DiagnosisVerdict::good);
    CHECK_EQ(diagnose(f).text,
             "the model has learned: the validation loss is 0.0004, guessing gives 4.1744");
    CHECK_EQ(diagnose(f).command, "tapestry sample --model m");
    f.pairs = f.counting = NAN;  // a task without tokens to count
    CHECK_EQ(rule_of(f), "learned");
    f = facts(
        400, [](double t) { return 4.2 - 1.4 * std::min(1.0, 2 * t); }, 2.9);
    f.pairs = f.counting = NAN;  // better than guessing, but is it good?
    CHECK_EQ(rule_of(f), "");
}

TEST_CASE("diagnosis: options in a command") {
    CHECK_EQ(with_option("t --lr 9 --out 'a b'", "--lr", "1"), "t --lr 1 --out 'a b'");
    CHECK_EQ(with_option("t --out 'a b'", "--out", "'a b'-2"), "t --out 'a b'-2");
    CHECK_EQ(with_option("t", "--trap-nan", ""), "t --trap-nan");
    CHECK_EQ(with_option("t --trap-nan", "--trap-nan", ""), "t --trap-nan");
    CHECK_EQ(option_in("t --text 'it'\\''s --out x' --out y", "--out"), "y");
    CHECK_EQ(option_in("t", "--out"), "");
    RunFacts resumed = facts(100, [](double t) { return t < 0.02 ? 4.2 : 9.5; });
    resumed.lr = 10;
    resumed.command = "tapestry train --resume --out m";
    CHECK_EQ(rule_of(resumed), "rate_too_high");
    CHECK_EQ(diagnose(resumed).command, "");
}

TEST_CASE("diagnosis: one step of a model") {
    Generator generator(3);
    GPT model({.vocab = 20, .context = 32, .layers = 2, .heads = 2, .dim = 16}, generator);
    const Tensor ids = randint(0, 20, {1, 24}, generator);
    const auto look = [&] {
        Inspector inspector(model);
        Tape tape;
        tape.backward(model.loss(ids, ids));
        inspector.finish();
        model.zero_grad();
        return diagnose(inspector, "next");
    };
    CHECK_EQ(look().rule, "");  // untrained: near guessing
    for (const auto& [name, parameter] : model.named_parameters()) {
        if (name == "blocks.0.attention.qkv.weight")
            Tensor(parameter).mutable_data<float>()[5] = NAN;
    }
    const Diagnosis planted = look();
    CHECK_EQ(planted.rule, "not_finite");
    CHECK(planted.text.find("blocks.0.attention.qkv.weight") != std::string::npos);
    CHECK_EQ(planted.command, "");
}

TEST_CASE("diagnosis: a step of a model that only counts is not said to be good") {
    Generator generator(5);
    GPT model({.vocab = 20, .context = 32, .layers = 1, .heads = 2, .dim = 16}, generator);
    // Eight of twenty tokens, in no order or in turn.
    const auto text = [&](bool ordered) {
        return ordered ? reshape(expand(arange(8), {3, 8}), {24}) : randint(0, 8, {24}, generator);
    };
    for (const bool ordered : {false, true}) {
        Adam optimizer(model, {.lr = 1e-2});
        for (int step = 0; step < 150; ++step) {
            const Tensor ids = reshape(text(ordered), {1, 24});
            optimizer.zero_grad();
            Tape tape;
            tape.backward(model.loss(slice(ids, 1, 0, 23), slice(ids, 1, 1, 24)));
            optimizer.step();
        }
        const Tensor ids = reshape(text(ordered), {1, 24});
        Inspector inspector(model);
        Tape tape;
        const Tensor loss = model.loss(slice(ids, 1, 0, 23), slice(ids, 1, 1, 24));
        tape.backward(loss);
        inspector.finish();
        CHECK_LT(loss.item(), 0.8 * std::log(20.0));
        CHECK_EQ(diagnose(inspector, "next").rule, ordered ? "good" : "");
    }
}
