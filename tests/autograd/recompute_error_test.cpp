// Errors of functions that cannot be recomputed.
#include <tapestry/autograd/recompute.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/autograd/support.h>

#include <cmath>

using namespace tapestry;
using test::check_throws;
using test::leaf;
using test::values;

namespace {

using Function = std::function<Tensors(const Tensors&)>;
using OneFunction = std::function<Tensor(const Tensor&)>;

}  // namespace

TEST_CASE("recompute: a tensor from outside must be an input") {
    const Tensor x = leaf({1, 2});
    Tape tape;
    const Tensor outside = exp(x);
    const std::string message =
        "recompute: the function uses a tensor [2] that was computed outside of it and is not "
        "among its inputs; pass it as one";
    check_throws<AutogradError>(
        [&] { recompute(OneFunction([&](const Tensor& z) { return z * outside; }), x); }, message);
    const OneFunction nested = [](const Tensor& z) {
        const Tensor h = z * z;
        return recompute(OneFunction([&h](const Tensor& inner) { return inner * h; }), z);
    };
    check_throws<AutogradError>([&] { recompute(nested, x); }, message);
    // Allowed as an input, as a constant, or from a destroyed tape.
    const Tensor stale = [&] {
        const Tape other;
        return exp(x);
    }();
    const Function f = [&](const Tensors& in) {
        return Tensors{in[0] * in[1] + outside.detach() * stale};
    };
    const Tensor y = recompute(f, {x, outside})[0];
    CHECK_EQ(values(tape.gradient(sum(y), {x})[0]), values(outside + x * outside));
}

TEST_CASE("recompute: a tensor from inside is of no use unless returned") {
    const Tensor x = leaf({1, 2});
    Tape tape;
    Tensor kept;
    const OneFunction f = [&kept](const Tensor& z) {
        kept = exp(z);
        return kept * z;
    };
    const Tensor y = recompute(f, x);
    const std::string message =
        "recompute: the tensor [2] was computed inside and is no longer on the tape; return it "
        "from the function";
    check_throws<AutogradError>([&] { exp(kept); }, message);
    check_throws<AutogradError>([&] { tape.gradient(sum(y), {kept}); }, message);
    tape.gradient(sum(y), {x});  // which created another one
    check_throws<AutogradError>([&] { exp(kept); }, message);
    CHECK_EQ(values(exp(kept.detach()))[0], doctest::Approx(std::exp(std::exp(1.0))));
}

TEST_CASE("recompute: a function that does something else the second time is noticed") {
    const std::string message =
        "recompute (#0): the function recorded different operations when it ran again";
    const Tensor x = leaf({1, 2}), w = leaf({3, 4}), v = leaf({5, 6});
    const std::vector<std::function<Tensors(const Tensor& z)>> second{
        [](const Tensor& z) { return Tensors{exp(z * 2.0)}; },  // one more operation
        [](const Tensor&) { return Tensors{}; },                // none
        [&](const Tensor& z) { return Tensors{z * v}; },        // another parameter
        [&](const Tensor& z) {
            return Tensors{reshape(z, {2, 1})};
        },  // another shape
        [&](const Tensor& z) {
            const Tensor y = z * w;
            return Tensors{z};
        },  // another result
    };
    for (const auto& other : second) {
        bool again = false;
        const Function f = [&](const Tensors& in) {
            return std::exchange(again, true) ? other(in[0]) : Tensors{in[0] * w};
        };
        Tape tape;
        const Tensor y = recompute(f, {x})[0];
        check_throws<AutogradError>([&] { tape.gradient(sum(y), {x}); }, message);
    }
}

TEST_CASE("recompute: what has changed in place since is noticed") {
    const OneFunction f = [](const Tensor& z) { return z + 1.0; };  // saves nothing
    Tensor x = leaf({1, 2}), w = leaf({3, 4});
    {
        Tape tape;
        const Tensor y = recompute(f, x);
        x.fill_(0);
        check_throws<AutogradError>([&] { tape.gradient(sum(y), {x}); },
                                    "recompute (#0): a tensor [2] it saved for backward has been "
                                    "changed in place since (version 1, now 2)");
    }
    Tape tape;
    const Tensor y = recompute(OneFunction([&](const Tensor& z) { return f(z) + w; }), x);
    w.fill_(0);
    check_throws<AutogradError>([&] { tape.gradient(sum(y), {x}); },
                                "recompute (#0): a parameter [2] has been changed in place since");
}
