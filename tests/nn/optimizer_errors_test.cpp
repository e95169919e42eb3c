// Runs that would silently go wrong fail in their first step; correct ones stay quiet.
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/optim/sgd.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/tests/nn/support.h>

#include <optional>

using namespace tapestry;
using test::check_throws;

namespace {

// Two layers; the second may be missing from the optimiser.
class Two : public Module {
public:
    Linear first, second;
    explicit Two(bool forgetful = false) : Module("Two"), first(2, 3), second(3, 1) {
        register_module("first", first);
        if (!forgetful) register_module("second", second);
    }
    Tensor operator()(const Tensor& x) const { return second(first(x)); }
};

void walk_back(const Two& model) {
    Tape tape;
    tape.backward(sum(square(model(ones({4, 2})))));
}

const char* const kReplaced =
    "was replaced (assigned to, or converted by Module::to) after this optimizer was made; make it "
    "afterwards";

void check_replaced(Optimizer& optimizer, const std::string& name) {
    const std::int64_t steps = optimizer.steps();
    check_throws<ValueError>([&] { optimizer.step(); },
                             "optimizer: parameter " + name + " " + kReplaced);
    CHECK_EQ(optimizer.steps(), steps);
}

}  // namespace

TEST_CASE("optimizer errors: no parameters") {
    const char* const words =
        "optimizer: it has no parameters; a module's parameters must be registered "
        "(register_parameter, register_module) and not frozen";
    AdamW nothing({}, {});
    check_throws<ValueError>([&] { nothing.step(); }, words);
    CHECK_EQ(nothing.steps(), 0);
    Two model;
    for (auto& [name, parameter] : model.named_parameters()) parameter.set_requires_grad(false);
    AdamW frozen(model, {});
    check_throws<ValueError>([&] { frozen.step(); }, words);
}

TEST_CASE("optimizer errors: no gradient") {
    const Two model;
    AdamW optimizer(model, {});
    const char* const words =
        "optimizer: none of its 4 parameters has a gradient: no backward pass since zero_grad "
        "reached them";
    check_throws<ValueError>([&] { optimizer.step(); }, words);
    walk_back(model);
    optimizer.step();
    optimizer.zero_grad();
    check_throws<ValueError>([&] { optimizer.step(); }, words);
    CHECK_EQ(optimizer.steps(), 1);
}

TEST_CASE("optimizer errors: a parameter that was replaced") {
    Two model;
    const Tensor kept = model.first.weight;  // keeps it alive
    AdamW named(model, {});
    AdamW listed({{.parameters = model.parameters()}}, {});
    walk_back(model);
    named.step();
    listed.step();
    model.first.weight = ones({3, 2}).set_requires_grad();
    check_replaced(named, "\"first.weight\" [3, 2]");
    check_replaced(listed, "\"0\" [3, 2]");
    model.first.weight = kept;
    named.step();
    model.second.bias = Tensor();
    check_replaced(named, "\"second.bias\" [1]");
}

TEST_CASE("optimizer errors: a module that was converted, or is gone") {
    std::optional<Two> model;
    model.emplace();
    AdamW optimizer(*model, {});
    model->to(DType::f64);
    check_replaced(optimizer, "\"first.weight\" [3, 2]");
    AdamW again(*model, {});
    model->first.weight.set_grad(ones({3, 2}, DType::f64));
    again.step();
    model.reset();
    check_replaced(again, "\"first.weight\" [3, 2]");
}

TEST_CASE("optimizer errors: a tensor that has been replaced") {
    Tensor w = ones({2}).set_requires_grad();
    SGD optimizer({{.parameters = {{"w", w}}}}, {});
    w.set_grad(ones({2}));
    optimizer.step();
    w = ones({2}).set_requires_grad();
    check_replaced(optimizer, "\"w\" [2]");
}

TEST_CASE("optimizer errors: a weight assigned before the optimizer was made is as good as any") {
    Two model;
    model.first.weight = full({3, 2}, 0.5).set_requires_grad();
    AdamW optimizer(model, {});
    walk_back(model);
    optimizer.step();
    model.first.weight = ones({3, 2}).set_requires_grad();
    check_replaced(optimizer, "\"first.weight\" [3, 2]");
}

TEST_CASE("optimizer errors: a parameter that no optimizer holds") {
    Two model;
    SGD part(model.first, {});
    walk_back(model);
    check_throws<ValueError>([&] { part.step(); },
                             "optimizer: parameter \"second.weight\" [1, 3] got a gradient, but no "
                             "optimizer holds it: give it to one, or freeze it");
    CHECK_EQ(part.steps(), 0);
    {
        SGD other(model.second, {});  // now one does, though it was made after backward
        part.step();
    }
    walk_back(model);  // and now none again
    CHECK_THROWS_AS(part.step(), ValueError);
    for (auto& [name, parameter] : model.second.named_parameters()) {
        parameter.set_requires_grad(false);
    }
    part.step();
    walk_back(model);
    part.step();
    CHECK_EQ(part.steps(), 3);
}

TEST_CASE("optimizer errors: a module that was never registered") {
    const Two model(true);
    AdamW optimizer(model, {});
    walk_back(model);
    check_throws<ValueError>(
        [&] { optimizer.step(); },
        "optimizer: parameter \"weight\" [1, 3] of a Linear that is registered in no module got a "
        "gradient, but no optimizer holds it: register the module (register_module), give it to "
        "one, or freeze it");
}

TEST_CASE("optimizer errors: right loops stay quiet") {
    SUBCASE("two optimizers, as in a generative adversarial network") {
        const Linear generator(2, 2), discriminator(2, 1);
        AdamW of_generator(generator, {}), of_discriminator(discriminator, {});
        for (int step = 0; step < 3; ++step) {
            const Tensor noise = test::random({4, 2}, 1, DType::f32);
            {
                Tape tape;  // through both, one of them an optimised parameter
                tape.backward(mean(discriminator(generator(noise))));
                of_discriminator.step();
                of_discriminator.zero_grad();
                of_generator.zero_grad();
            }
            Tape tape;
            tape.backward(-mean(discriminator(generator(noise))));
            of_generator.step();
        }
        CHECK_EQ(of_generator.steps(), 3);
    }
    SUBCASE("inputs that ask for their gradients") {
        const Two model;
        AdamW optimizer(model, {});
        const Tensor x = ones({4, 2}).set_requires_grad();
        Tape tape;
        tape.backward(sum(square(model(x))));
        optimizer.step();
        CHECK(x.grad().defined());
    }
    SUBCASE("another model whose gradients are looked at and never used") {
        const Two studied, trained;
        AdamW optimizer(trained, {});
        walk_back(studied);
        walk_back(trained);
        optimizer.step();
        walk_back(studied);
        optimizer.step();
        CHECK_EQ(optimizer.steps(), 2);
    }
    SUBCASE("tied weights, and a tie that is cut before the optimizer is made") {
        Two model;
        Linear other(2, 3);
        model.first.weight = other.weight;
        {
            AdamW optimizer(model, {});
            walk_back(model);
            optimizer.step();
        }
        other.weight = ones({3, 2}).set_requires_grad();
        AdamW optimizer(model, {});
        walk_back(model);
        optimizer.step();
        CHECK_EQ(optimizer.steps(), 1);
    }
    SUBCASE("gradients of several walks, added up") {
        const Two model;
        AdamW optimizer(model, {});
        for (int part = 0; part < 3; ++part) walk_back(model);
        optimizer.step();
        CHECK_EQ(optimizer.steps(), 1);
    }
}
