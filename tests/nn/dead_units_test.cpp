// Dead units in a handmade model, where they are known.
#include <tapestry/core/create.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/pages/page.h>
#include <tapestry/ops/activation.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/nn/support.h>

using namespace tapestry;

namespace {

constexpr std::int64_t kUnits = 8;

// 3 units far below 0 for any input, 2 that the output ignores, 1 with both.
class Hidden : public Module {
public:
    Linear up, down;
    explicit Hidden(Generator& generator)
        : Module("Hidden"), up(4, kUnits, true, generator), down(kUnits, 2, true, generator) {
        register_module("up", up);
        register_module("down", down);
        float* bias = up.bias.mutable_data<float>();
        for (const int unit : {0, 3, 5, 7}) bias[unit] = -1000;
        for (const int unit : {1, 2, 4, 6}) bias[unit] = 10;  // active in every row
        float* weight = down.weight.mutable_data<float>();    // [2, units]
        for (const int unit : {1, 2, 7}) weight[unit] = weight[kUnits + unit] = 0;
    }
};

UnitCounts counts_of(const Hidden& model, const std::function<Tensor(const Tensor&)>& activation) {
    const Tensor x = test::random({5, 3, 4}, 2, DType::f32);
    Inspector inspector(model);
    Tape tape;
    tape.backward(sum(square(model.down(activation(model.up(x))))));
    inspector.finish();
    for (const InspectedEntry& entry : inspector.entries()) {
        CHECK_EQ(entry.units.has_value(),
                 entry.name != "linear" && entry.name != "square" && entry.name != "sum");
    }
    REQUIRE_EQ(inspector.entries().size(), 5);
    return inspector.entries()[1].units.value();
}

}  // namespace

TEST_CASE("dead units: counted by their inputs and outputs") {
    Generator generator(3);
    const Hidden model(generator);
    const auto check = [&](const char* name, const std::function<Tensor(const Tensor&)>& f) {
        INFO(name);
        const UnitCounts c = counts_of(model, f);
        CHECK_EQ(c.rows, 15);
        CHECK_EQ(c.units, kUnits);
        CHECK_EQ(c.dead, 3);
        CHECK_EQ(c.unreached, 3);
    };
    check("relu", [](const Tensor& x) { return relu(x); });
    check("relu_squared", [](const Tensor& x) { return relu_squared(x); });
    check("gelu, tanh", [](const Tensor& x) { return gelu(x, Gelu::tanh); });
    check("gelu, erf", [](const Tensor& x) { return gelu(x, Gelu::erf); });
    check("silu", [](const Tensor& x) { return silu(x); });
    check("softplus", [](const Tensor& x) { return softplus(x); });
    check("sigmoid", [](const Tensor& x) { return sigmoid(x); });
}

TEST_CASE("dead units: one active row is enough, NaN is not dead, and there need be no axis") {
    const Tensor came = tensor<float>({1, 1, 0, 1, 1, 0}, {2, 3});
    const Tensor went = tensor<float>({0, 1, 0, NAN, 0, 0}, {2, 3});
    const UnitCounts c = count_units(came, went);
    CHECK_EQ(c.rows, 2);
    CHECK_EQ(c.units, 3);
    CHECK_EQ(c.dead, 0);
    CHECK_EQ(c.unreached, 1);
    CHECK_EQ(count_units(tensor<float>({1}, {}), tensor<float>({0}, {})).dead, 1);
    CHECK_EQ(count_units(zeros({2, 0}), zeros({2, 0})).units, 0);
    const Tensor view = transpose(tensor<float>({1, 0, 0, 0}, {2, 2}), 0, 1);  // [[1, 0], [0, 0]]
    CHECK_EQ(count_units(ones({2, 2}), view).dead, 1);
}
