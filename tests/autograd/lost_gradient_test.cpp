// Lost gradients: each cause has its own error, thrown at the first request that cannot be
// satisfied. Intended constants cause no error.
#include <tapestry/ops/activation.h>
#include <tapestry/tests/autograd/support.h>

using namespace tapestry;
using test::check_throws;
using test::leaf;
using test::scalar_leaf;
using test::values;
using test::Values;

namespace {

// Checks for the same cause whether backward starts at y or a gradient with respect to y is
// requested.
void check_refused(Tape& tape, const Tensor& y, const std::string& why) {
    const std::string shape = fmt::format("{}", y.shape());
    check_throws<AutogradError>([&] { tape.backward(y); },
                                "backward: the tensor " + shape + " " + why);
    check_throws<AutogradError>([&] { tape.gradient(leaf({1}), {y}); },
                                "gradient: x " + shape + " " + why);
}

const std::string kNothingAsked =
    "depends on nothing that requires a gradient; ask for one with set_requires_grad() before "
    "computing";
const std::string kNoTape =
    "was computed while no tape was recording; make the Tape before computing";
const std::string kOtherTape =
    "was recorded by another tape; only that tape can run backward from it, while it exists";
const std::string kThroughConstant =
    "depends on a leaf only through a tensor that this tape did not record; make the Tape before "
    "computing, and change a leaf in place, as in w.copy_(w - lr * g), because w = w - lr * g "
    "makes "
    "another tensor";

}  // namespace

TEST_CASE("lost gradient: nothing asked for one") {
    const Tensor c = tensor<double>({3, 4});
    Tape tape;
    check_refused(tape, sum(c * c), kNothingAsked);
    check_refused(tape, c, kNothingAsked);
    const Tensor x = leaf({1, 2});
    check_refused(tape, sum(x.detach() * c), kNothingAsked);
    CHECK(tape.entries().empty());
}

TEST_CASE("lost gradient: no tape was recording") {
    const Tensor x = leaf({1, 2});
    const Tensor early = sum(x * x);
    Tape tape;
    check_refused(tape, early, kNoTape);
    const Tensor guarded = [&] {
        const NoGradGuard no_grad;
        return sum(x * x);
    }();
    check_refused(tape, guarded, kNoTape);
    const Tensor unrecorded_view = [&] {
        const NoGradGuard no_grad;
        return exp(x * 2.0);  // through several ops
    }();
    check_refused(tape, unrecorded_view, kNoTape);
}

TEST_CASE("lost gradient: another tape recorded it") {
    const Tensor x = leaf({1, 2});
    Tensor old;
    {
        const Tape gone;
        old = sum(x * x);
    }
    Tape tape;
    check_refused(tape, old, kOtherTape);
    const Tensor here = sum(x * x);
    {
        Tape inner;
        check_refused(inner, here, kOtherTape);
    }
    tape.backward(here);
    CHECK_EQ(values(x.grad()), Values{2, 4});
}

TEST_CASE("lost gradient: the model ran before the tape, the loss on it") {
    const Tensor w = leaf({1, 2});
    const Tensor prediction = w * 3.0;
    Tape tape;
    check_refused(tape, sum(square(prediction)), kThroughConstant);
}

TEST_CASE("lost gradient: w = w - lr * g") {
    const Tensor x = tensor<double>({1, 2});
    const std::string no_leaf =
        "grad: the tensor [2] was computed, and gradients are kept for leaf tensors only; get it "
        "from Tape::gradient, and change a leaf in place, as in w.copy_(w - lr * g), because w = w "
        "- lr * g makes another tensor";
    Tensor w = leaf({1, 2});
    Tensor b = leaf({0, 0});
    SUBCASE("on the tape: the next backward") {
        {
            Tape tape;
            tape.backward(sum(square(w * x)));
            w = w - 0.1 * w.grad();
        }
        Tape tape;
        check_refused(tape, sum(square(w * x)), kThroughConstant);
    }
    SUBCASE("off the tape: the next backward") {
        {
            Tape tape;
            tape.backward(sum(square(w * x)));
        }
        w = w - 0.1 * w.grad();
        Tape tape;
        check_refused(tape, sum(square(w * x)), kThroughConstant);
    }
    SUBCASE("next to a leaf that stays: the next time its gradient is requested") {
        {
            Tape tape;
            tape.backward(sum(square(w * x + b)));
            w = w - 0.1 * w.grad();
        }
        Tape tape;
        const Tensor loss = sum(square(w * x + b));
        check_throws<AutogradError>(
            [&] {
                tape.gradient(loss, {w, b});
            },
            "gradient: x [2] " + kOtherTape);
        tape.backward(loss);
        CHECK(b.grad().defined());
        check_throws<AutogradError>([&] { w.grad(); }, no_leaf);
    }
    SUBCASE("in place, or asked for again, it trains") {
        for (int step = 0; step < 100; ++step) {
            Tape tape;
            tape.backward(sum(square(w * x + b - 1.0)));
            w.copy_(w - 0.05 * w.grad());
            w.clear_grad();
            b = b - 0.05 * b.grad();
            b.set_requires_grad();
        }
        const Tensor error = w * x + b - 1.0;
        CHECK(sum(square(error)).item() < 1e-6);
    }
}

TEST_CASE("lost gradient: right loops hear nothing") {
    const Tensor x = tensor<double>({1, 2});
    Tensor w = leaf({0.5, -0.5});
    const auto descend = [&w](const Tensor& g) { w.copy_(w - 0.1 * g); };
    SUBCASE("a state carried over, its past cut off") {
        Tensor state = zeros({2}, DType::f64);
        for (int step = 0; step < 3; ++step) {
            Tape tape;
            const Tensor next = tanh(state * w + x);
            descend(tape.gradient(sum(next), {w})[0]);
            state = next;
        }
        CHECK_FALSE(state.requires_grad());
    }
    SUBCASE("a state that begins as a leaf") {
        const Tensor start = leaf({0.1, 0.2});
        Tape tape;
        Tensor state = start;
        for (int t = 0; t < 3; ++t) state = tanh(state * w + x);
        tape.backward(sum(state));
        CHECK(start.grad().defined());
    }
    SUBCASE("weights averaged over steps, as a teacher") {
        Tensor average = w.clone();
        for (int step = 0; step < 3; ++step) {
            Tape tape;
            descend(tape.gradient(sum(square(w * x - average * x)) + sum(w), {w})[0]);
            average = 0.9 * average + 0.1 * w;
        }
        CHECK_FALSE(values(average) == values(w));
    }
    SUBCASE("a generator and who judges it, a tape each") {
        const Tensor judge = leaf({1, 1});
        for (int step = 0; step < 3; ++step) {
            Tape making;
            const Tensor made = w * x;
            {
                Tape judging;  // the earlier result is a constant here
                judging.backward(sum(judge * made) - sum(judge * x));
            }
            descend(making.gradient(sum(judge * made), {w})[0]);
        }
        CHECK(judge.grad().defined());
        CHECK_FALSE(w.grad().defined());
    }
    SUBCASE("examples moved along their gradient, then trained on") {
        Tensor example = x.clone().set_requires_grad();
        {
            Tape tape;
            example = example + 0.1 * tape.gradient(sum(square(w * example)), {example})[0];
        }
        Tape tape;
        descend(tape.gradient(sum(square(w * example)), {w})[0]);
        CHECK(tape.entries().size() > 0);
    }
    SUBCASE("inputs that require a gradient, with their gradient in the loss") {
        for (int step = 0; step < 3; ++step) {
            const Tensor t = x.clone().set_requires_grad();
            Tape tape;
            const Tensor u = exp(w * t);
            const Tensor slope = tape.gradient(sum(u), {t}, {.create_graph = true})[0];
            tape.backward(sum(square(slope - u)));
            descend(w.grad());
            w.clear_grad();
        }
    }
    SUBCASE("a step taken on the tape, and a gradient through it") {
        Tape tape;
        const Tensor inner = tape.gradient(sum(square(w * x)), {w}, {.create_graph = true})[0];
        const Tensor stepped = w - 0.1 * inner;
        const Tensor grad = tape.gradient(sum(square(stepped * x)), {w})[0];
        CHECK_FALSE(values(grad) == Values{0, 0});
    }
}
