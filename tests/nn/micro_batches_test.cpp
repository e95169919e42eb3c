// Micro-batches: parts of a batch whose gradients are summed in a tree that depends only on their
// number.
#include <tapestry/core/file.h>
#include <tapestry/core/parallel.h>
#include <tapestry/nn/data_parallel/gradient_sum.h>
#include <tapestry/nn/optim/sgd.h>
#include <tapestry/nn/train/replay.h>
#include <tapestry/nn/train/session.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/optimizer_step.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/nn/support.h>

#include <cmath>
#include <numeric>

using namespace tapestry;
using doctest::Approx;
using test::check_message;
using test::check_throws;

namespace {

using Numbers = std::vector<float>;

// ---- the sum ------------------------------------------------------------------------------------

// Numbers whose sum differs in nearly every other order.
std::vector<Numbers> leaves(std::size_t count) {
    std::vector<Numbers> all;
    for (std::size_t i = 0; i < count; ++i) {
        all.push_back(test::random({64}, 100 + i, DType::f32).to_vector<float>());
    }
    return all;
}

// The definition: all leaves at once, top down.
Numbers tree_sum(const std::vector<Numbers>& all, std::size_t begin, std::size_t end) {
    if (end - begin == 1) return all[begin];
    std::size_t left = 1;
    while (2 * left < end - begin) left *= 2;
    Numbers sum = tree_sum(all, begin, begin + left);
    const Numbers right = tree_sum(all, begin + left, end);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += right[i];
    return sum;
}

Numbers summed(const std::vector<Numbers>& all, std::int64_t micro_batches) {
    Tensor parameter = tensor(Numbers(64), {64}).set_requires_grad();
    GradientSum sum({parameter}, micro_batches);
    for (const Numbers& leaf : all) {
        if (parameter.grad().defined()) {  // not in a tree, but as tapes add them
            parameter.set_grad(parameter.grad() + tensor(leaf, {64}));
        } else {
            parameter.set_grad(tensor(leaf, {64}));
        }
        sum.add(0);
    }
    sum.finish();
    return parameter.grad().to_vector<float>();
}

// ---- training runs ------------------------------------------------------------------------------

struct Place {
    Place() {
        std::string text;
        for (int i = 0; i < 60; ++i) text += fmt::format("The cat sat on mat {}.\n", i * i % 17);
        write_file_atomically(scratch / "t.txt", text);
    }
    TrainingConfig config(std::int64_t micro_batches, double dropout = 0.1) const {
        return {.text = (scratch / "t.txt").string(),
                .model = {.context = 8, .layers = 2, .heads = 2, .dim = 16, .dropout = dropout},
                .batch = 8,
                .micro_batches = micro_batches,
                .steps = 6,
                .warmup = 2,
                .eval_every = 0};
    }
    test::Scratch scratch;
};

std::vector<Numbers> gradients_of(const Module& model) {
    std::vector<Numbers> all;
    for (const Tensor& p : model.parameters()) all.push_back(p.grad().to_vector<float>());
    return all;
}

double distance(const std::vector<Numbers>& a, const std::vector<Numbers>& b) {
    double squares = 0, size = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        for (std::size_t j = 0; j < a[i].size(); ++j) {
            squares += std::pow(a[i][j] - b[i][j], 2);
            size += std::pow(b[i][j], 2);
        }
    }
    return std::sqrt(squares / size);
}

// The parts of a step, as an observer receives them.
std::vector<std::vector<std::int64_t>> parts_of_a_step(const TrainingConfig& config) {
    std::vector<std::vector<std::int64_t>> parts;
    Session session(config);
    session.watch({.batch = [&](const Batch& b) {
        parts.push_back(b.inputs.to_vector<std::int64_t>());
        const auto targets = b.targets.to_vector<std::int64_t>();
        parts.back().insert(parts.back().end(), targets.begin(), targets.end());
    }});
    session.take_step();
    return parts;
}

}  // namespace

TEST_CASE("micro-batches: the sum of n leaves is that of the tree, for every n") {
    for (std::size_t n = 1; n <= 33; ++n) {
        INFO(n);
        CHECK(summed(leaves(n), 2) == tree_sum(leaves(n), 0, n));
    }
    CHECK(summed(leaves(16), 2) != summed(leaves(16), 1));  // otherwise the test shows nothing
}

TEST_CASE("micro-batches: a subtree's sum depends only on its leaves, not on who adds them") {
    const std::vector<Numbers> all = leaves(13);
    const auto part = [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
        return summed({all.begin() + begin, all.begin() + end}, 2);
    };
    // Three processes with leaves 0-7, 8-11 and 12; joins the sums they send from the right.
    const Numbers last = tree_sum({part(8, 12), part(12, 13)}, 0, 2);
    CHECK(tree_sum({part(0, 8), last}, 0, 2) == summed(all, 2));
}

TEST_CASE("micro-batches: what was there before is added to, and a leaf may reach no parameter") {
    Tensor used = tensor(Numbers{0, 0}, {2}).set_requires_grad();
    Tensor unused = tensor(Numbers{0, 0}, {2}).set_requires_grad();
    Tensor sometimes = tensor(Numbers{0, 0}, {2}).set_requires_grad();
    const Tensor before = tensor(Numbers{1, 2}, {2});
    used.set_grad(before);
    GradientSum sum({used, unused, sometimes}, 4);
    CHECK_FALSE(used.grad().defined());
    for (int i = 1; i <= 4; ++i) {
        used.set_grad(full({2}, i));
        if (i == 3) sometimes.set_grad(full({2}, i));
        sum.add(i);
    }
    CHECK_EQ(sum.finish(), 10);
    CHECK(used.grad().to_vector<float>() == Numbers{11, 12});
    CHECK_FALSE(unused.grad().defined());
    CHECK(sometimes.grad().to_vector<float>() == Numbers{3, 3});
    CHECK(before.to_vector<float>() == Numbers{1, 2});  // the caller's tensor, not changed in place
}

TEST_CASE("micro-batches: gradients of bf16 are summed in f32 and rounded once") {
    Tensor w = tensor<float>({0, 0});
    w = cast(w, DType::bf16).set_requires_grad();
    for (const std::int64_t micro_batches : {1, 200}) {  // as whole batches too
        w.clear_grad();
        GradientSum sum({w}, micro_batches);
        for (int leaf = 0; leaf < 200; ++leaf) {  // bf16 cannot represent 256 + 1
            w.set_grad(cast(tensor<float>({leaf == 0 ? 256.0F : 1.0F, 1}), DType::bf16));
            sum.add(0);
        }
        sum.finish();
        CHECK(w.grad().dtype() == DType::bf16);
        CHECK(w.grad().to_vector<float>() == std::vector<float>{456, 200});  // instead of 455
    }
}

TEST_CASE("micro-batches: few sets of gradients exist at a time") {
    CHECK_EQ(GradientSum::gradient_sets(100, 1), 1);
    for (const auto& [count, sets] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {2, 2}, {4, 3}, {64, 7}}) {
        Tensor w = zeros({1 << 18}).set_requires_grad();  // 1 MiB
        GradientSum sum({w}, 2);
        release_cached_memory();
        reset_peak_memory();
        const auto at_first = memory_statistics().peak;
        for (std::int64_t i = 0; i < count; ++i) {
            w.set_grad(full({1 << 18}, 1));
            sum.add(0);
        }
        sum.finish();
        CHECK_EQ(GradientSum::gradient_sets(count, 2), sets);
        CHECK_EQ(memory_statistics().peak - at_first, static_cast<std::size_t>(sets) << 20);
        CHECK_EQ(w.grad().at({5}), count);
    }
}

TEST_CASE("micro-batches: one step, whose parts and their mean are those of the sum") {
    Tensor w = tensor(std::vector<double>{0.5}, {1}).set_requires_grad();
    SGD optimizer({{.parameters = {w}}}, {});
    const std::vector<double> factors{1, 2, 4, 8, 16, 32};
    std::size_t next = 0;
    const auto loss = [&] { return sum(w * factors[next++]); };
    TrainStep step(optimizer, {.accumulate = 3, .micro_batches = 2, .clip = 0});
    const StepResult result = step.take(1, 0.1, loss);
    CHECK_EQ(next, 6);
    CHECK_EQ(result.loss, Approx(0.5 * 63 / 6));
    CHECK_EQ(result.grad_norm, Approx(63.0 / 6));
    check_throws<ValueError>([&] { TrainStep(optimizer, {.micro_batches = 0}); },
                             "train: micro_batches must be at least 1, got 0");
}

TEST_CASE("micro-batches: the same bits for any number of threads, with dropout") {
    const Place place;
    for (const std::int64_t parts : {2, 4}) {
        std::vector<std::vector<Numbers>> learned;
        for (const int threads : {1, 2, 3}) {
            const ThreadsGuard guard(threads);
            Session session(place.config(parts));
            while (!session.is_finished()) session.take_step();
            learned.push_back(test::numbers_of<float>(session.model()));
        }
        CHECK(learned[0] == learned[1]);
        CHECK(learned[0] == learned[2]);
    }
}

TEST_CASE("micro-batches: the batches are those without, cut into parts") {
    const Place place;
    TrainingConfig config = place.config(1);
    config.accumulate = 2;
    const auto whole = parts_of_a_step(config);
    config.micro_batches = 4;
    const auto parts = parts_of_a_step(config);
    REQUIRE_EQ(whole.size(), 2);
    REQUIRE_EQ(parts.size(), 8);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::size_t half = parts[i].size() / 2;  // inputs, then targets
        REQUIRE_EQ(half, 2 * 8);
        for (std::size_t j = 0; j < half; ++j) {
            const auto& batch = whole[i / 4];
            CHECK_EQ(parts[i][j], batch[i % 4 * half + j]);
            CHECK_EQ(parts[i][half + j], batch[64 + i % 4 * half + j]);
        }
    }
}

TEST_CASE("micro-batches: without dropout gradients are the whole batch's, but for rounding") {
    const Place place;
    std::vector<std::vector<Numbers>> gradients;
    std::vector<double> losses;
    for (const std::int64_t parts : {1, 2, 8}) {
        Session session(place.config(parts, 0));
        losses.push_back(session.take_step().loss);
        gradients.push_back(gradients_of(session.model()));
    }
    for (const std::size_t i : {1U, 2U}) {
        CHECK_EQ(losses[i], Approx(losses[0]).epsilon(1e-6));
        CHECK_LT(distance(gradients[i], gradients[0]), 1e-5);
    }
    CHECK(gradients[1] != gradients[0]);
}

// The seed suffices to compute leaf 5 of step 3: it does not depend on earlier draws.
TEST_CASE("micro-batches: a step is its leaves, each computed alone, summed in the tree") {
    const Place place;
    TrainingConfig config = place.config(2);
    config.accumulate = 3;
    Session session(config);
    std::vector<Batch> batches;
    for (int i = 0; i < 2; ++i) session.take_step();
    session.watch({.batch = [&](const Batch& b) { batches.push_back(b); }});
    const std::vector<Numbers> before = test::numbers_of<float>(session.model());
    const StepMetrics metrics = session.take_step();
    const auto taken = gradients_of(session.model());
    REQUIRE_EQ(batches.size(), 6);

    Generator dropout(0);
    GPT model(session.config().model, dropout);
    Tensors parameters = model.parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        parameters[i].copy_(tensor(before[i], parameters[i].shape()));
    }
    std::vector<std::vector<Numbers>> alone(6);  // by leaf
    std::vector<double> losses(6);
    for (const std::size_t i : {5U, 2U, 0U, 4U, 1U, 3U}) {
        model.zero_grad();
        dropout = stream(config.seed, "dropout", 3, i);
        losses[i] =
            add_gradients([&] { return model.loss(batches[i].inputs, batches[i].targets); }, 6);
        alone[i] = gradients_of(model);
    }
    for (std::size_t p = 0; p < parameters.size(); ++p) {
        std::vector<Numbers> all;
        for (const auto& leaf : alone) all.push_back(leaf[p]);
        CHECK(tree_sum(all, 0, 6) == taken[p]);
    }
    const auto two = [&](std::size_t i) { return losses[i] + losses[i + 1]; };
    CHECK_EQ(metrics.loss, (two(0) + two(2) + two(4)) / 6);
}

TEST_CASE("micro-batches: a session saved between steps continues with the same bits") {
    const Place place;
    const auto file = place.scratch / "c.safetensors";
    Session whole(place.config(4));
    for (int i = 0; i < 3; ++i) whole.take_step();
    whole.save(file);
    const std::unique_ptr<Session> second = Session::resume(file);
    CHECK_EQ(second->config().micro_batches, 4);
    while (!whole.is_finished()) CHECK_EQ(second->take_step().loss, whole.take_step().loss);
    CHECK(test::numbers_of<float>(second->model()) == test::numbers_of<float>(whole.model()));
}

TEST_CASE("micro-batches: a step recorded by the trap is taken again with the same bits") {
    const Place place;
    TrainingConfig config = place.config(2);
    config.accumulate = 2;
    Session session(config);
    Trap trap(session.model(), session.weights_generator(), session.tokenizer(),
              place.scratch / "trap", config.micro_batches);
    session.watch({.batch = [&](const Batch& b) { trap.note(b); }});
    trap.stepped(session.take_step().step);
    session.take_step();  // its gradients must be reproduced
    const auto gradients = gradients_of(session.model());
    check_message<DivergedError>(
        [&] { trap.guard([] { fail<DivergedError>("as if it had diverged"); }); },
        "; `tapestry replay ");
    // The saved weights are those after the step's update, so not the ones it used. Its batches,
    // seeds and tree are checked with the weights it started from.
    RecordedOutcome outcome;
    const RecordedStep step = read_step(place.scratch / "trap", session.config().model, outcome);
    CHECK_EQ(step.micro_batches, 2);
    REQUIRE_EQ(step.batches.size(), 4);
    CHECK_EQ(name_of_batch(step, 2), "micro-batch 3 of 4");
    Session again(config);
    again.take_step();
    replay_gradients(again.model(), step, again.weights_generator());
    CHECK(gradients_of(again.model()) == gradients);
    RecordedStep in_turn = step;
    in_turn.micro_batches = 1;
    replay_gradients(again.model(), in_turn, again.weights_generator());
    CHECK(gradients_of(again.model()) != gradients);
}

TEST_CASE("micro-batches: what is refused") {
    const Place place;
    const auto refused = [&](std::int64_t parts, const char* words) {
        check_message<ValueError>([&] { Session session(place.config(parts)); }, words);
    };
    refused(3, "train: micro_batches 3 does not divide batch 8; all parts must have the same size");
    refused(16, "train: micro_batches 16 does not divide batch 8");
    refused(0, "train: micro_batches must be at least 1, got 0");
}
