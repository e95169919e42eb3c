// The first NaN or infinity of a step: planted in every possible place, it is named; without one,
// none is found, masks included.
#include <tapestry/core/create.h>
#include <tapestry/nn/catalog/checked_modules.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/models/transformer.h>
#include <tapestry/nn/pages/page.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/attention.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/fusion.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/masking.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/softmax.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/nn/support.h>

#include <nlohmann/json.hpp>

#include <limits>

using namespace tapestry;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

class Weights : public Module {
public:
    Tensor w;
    explicit Weights(const std::vector<float>& numbers)
        : Module("Weights"), w(tensor(numbers, {static_cast<std::int64_t>(numbers.size())})) {
        register_parameter("w", w);
    }
};

std::optional<NonFinite> found_in(const Module& model, const std::function<Tensor()>& loss) {
    Inspector inspector(model);
    Tape tape;
    tape.backward(loss());
    inspector.finish();
    return inspector.non_finite();
}

// Searches in sum(f(w)).
std::optional<NonFinite> found_in(const std::vector<float>& w,
                                  const std::function<Tensor(const Tensor&)>& f) {
    const Weights model(w);
    return found_in(model, [&] { return sum(f(model.w)); });
}

Tensor ids_of(const std::vector<std::int64_t>& ids) {
    return tensor(ids, {1, static_cast<std::int64_t>(ids.size())});
}

}  // namespace

TEST_CASE("non-finite: forward, the operation that made it of finite numbers") {
    const auto f = found_in({1, 0, 2}, [](const Tensor& w) { return log(w * 2.0) * 3.0; });
    REQUIRE(f.has_value());
    CHECK(f->origin == NonFiniteOrigin::operation);
    CHECK_FALSE(f->backward);
    CHECK_EQ(f->entry, 1);
    CHECK_EQ(to_text(*f),
             "first infinity: log (#1), forward; output [3]: 1 -inf of 3, the others from 0.693 to "
             "1.39; input 0 (#0 mul) [3]: from 0 to 4");

    const auto overflow = found_in({1e30F, 1}, [](const Tensor& w) { return square(w) - 1.0; });
    REQUIRE(overflow.has_value());
    CHECK_EQ(overflow->op, "square");
    CHECK_EQ(overflow->tensors.front().values.infinities, 1);
    CHECK_EQ(overflow->tensors.front().values.negative_infinities, 0);

    const auto nan = found_in({-1, 4}, [](const Tensor& w) { return sqrt(w); });
    REQUIRE(nan.has_value());
    CHECK(
        to_text(*nan).starts_with("first NaN: sqrt (#0), forward; output [2]: 1 NaN of 2, the "
                                  "others from 2 to 2; input 0 (w) [2]: from -1 to 4"));
}

TEST_CASE("non-finite: it was in a parameter or in an input before, and these are named") {
    const auto parameter = found_in({1, INFINITY, NAN}, [](const Tensor& w) { return exp(w * w); });
    REQUIRE(parameter.has_value());
    CHECK(parameter->origin == NonFiniteOrigin::parameter);
    CHECK_EQ(parameter->name, "w");
    CHECK(to_text(*parameter)
              .starts_with("first NaN: parameter w, read by mul (#0), forward; input 0 (w) [3]: 1 "
                           "NaN, 1 inf of 3, "
                           "the others from 1 to 1; "));

    const auto constant = found_in({1, 2}, [](const Tensor& w) {
        return w * tensor<float>({1, -INFINITY});
    });
    REQUIRE(constant.has_value());
    CHECK(constant->origin == NonFiniteOrigin::input);
    CHECK(headline(*constant).starts_with("first infinity: input 1 (a constant) that mul (#0)"));

    const Tensor leaf = tensor<float>({1, NAN}).set_requires_grad();
    const auto other = found_in({1, 2}, [&](const Tensor& w) { return w + leaf; });
    REQUIRE(other.has_value());
    CHECK(other->origin == NonFiniteOrigin::input);
    CHECK_EQ(headline(*other),
             "first NaN: input 1 (a leaf) that add (#0) read, forward; it was there before");
    CHECK_FALSE(
        found_in({1, 2},
                 [](const Tensor& w) {  // harmless
                     return where(gt(tensor<float>({1, 1}), 0), w, tensor<float>({NAN, NAN}));
                 })
            .has_value());
}

TEST_CASE("non-finite: backward, the rule, the input whose gradient it is, what came to it") {
    const auto f = found_in({0, 4}, [](const Tensor& w) { return sqrt(w) * 2.0; });
    REQUIRE(f.has_value());
    CHECK(f->origin == NonFiniteOrigin::rule);
    CHECK(f->backward);
    CHECK_EQ(to_text(*f),
             "first infinity: sqrt (#0), backward, in the gradient for input 0 (w); gradient for "
             "input 0 (w) [2]: 1 inf of 2, the others from 0.5 to 0.5; gradient of output [2]: "
             "from 2 to 2; output [2]: from 0 to 2; input 0 (w) [2]: from 0 to 4");
    // 0 * inf in backward only: `where` discards the value, but not its gradient.
    const auto chosen =
        found_in({0, 4}, [](const Tensor& w) { return where(gt(w, 0), sqrt(w), zeros({2})); });
    REQUIRE(chosen.has_value());
    CHECK(headline(*chosen).starts_with("first NaN: sqrt (#0), backward"));
}

TEST_CASE("non-finite: backward, a sum of finite gradients, at an entry and at a parameter") {
    const auto inner = found_in({1e-30F}, [](const Tensor& w) {
        const Tensor x = w * 1.0;
        return x * 3e38 + x * 3e38;
    });
    REQUIRE(inner.has_value());
    CHECK(inner->origin == NonFiniteOrigin::sum);
    CHECK_EQ(headline(*inner),
             "first infinity: the gradient that came to mul (#0), backward: a sum of finite ones");
    const auto leaf = found_in({1e-30F}, [](const Tensor& w) { return w * 3e38 + w * 3e38; });
    REQUIRE(leaf.has_value());
    CHECK_EQ(leaf->entry, -1);
    CHECK_EQ(to_text(*leaf),
             "first infinity: the gradient of parameter w, backward: a sum of finite ones; "
             "gradient of w [1]: 1 inf of 1");
}

TEST_CASE("non-finite: backward, what was given as a cotangent or by a hook") {
    const Weights model({1, 2});
    Inspector inspector(model);
    Tape tape;
    const Tensor y = exp(model.w);
    tape.backward(y, {.cotangent = tensor<float>({1, NAN})});
    inspector.finish();
    REQUIRE(inspector.non_finite().has_value());
    CHECK(inspector.non_finite()->origin == NonFiniteOrigin::given);
    CHECK(to_text(*inspector.non_finite())
              .starts_with("first NaN: the gradient that came to exp (#0), backward: given as a "
                           "cotangent or by a hook; gradient of output [2]: 1 NaN of 2, the "
                           "others from 1 to 1; output [2]: "));
    const auto hooked = found_in({1, 2}, [](const Tensor& w) {
        const Tensor x = w * 2.0;
        register_hook(x, [](const Tensor& g) { return g / 0.0; });
        return exp(x);
    });
    REQUIRE(hooked.has_value());
    CHECK(hooked->origin == NonFiniteOrigin::given);
    CHECK_EQ(hooked->op, "mul");
}

TEST_CASE("non-finite: -inf of a mask is none, and what is made of it is") {
    const Tensor mask = tensor<float>({0, -INFINITY, 0});
    const Tensor masked = gt(tensor<float>({0, 1, 0}), 0);
    const std::vector<std::function<Tensor(const Tensor&)>> good{
        [&](const Tensor& w) { return softmax(w + mask); },
        [&](const Tensor& w) { return softmax(masked_fill(w, masked, -kInf) * 0.5); },
        [&](const Tensor& w) {
            const Tensor x = masked_fill(w, masked, -kInf);
            return exp(x - max(x).detach());
        },
        [&](const Tensor& w) { return softmax(pad(w, {{.before = 1, .after = 2}}, -kInf)); },
        [&](const Tensor& w) {
            return softmax(concat({w, full({2}, -kInf)}, 0));
        },
        [&](const Tensor& w) { return softmax(masked_fill(w, ones({3}, DType::boolean), -kInf)); },
        [&](const Tensor& w) { return exp(log_softmax(w + mask)); }};
    for (std::size_t i = 0; i < good.size(); ++i) {
        const auto f = found_in({1, 2, 3}, good[i]);
        CHECK_MESSAGE(!f.has_value(), i << ": " << (f ? to_text(*f) : ""));
    }
    // Everything masked, with a handwritten softmax: -inf - -inf.
    const auto all = found_in({1, 2, 3}, [&](const Tensor& w) {
        const Tensor x = masked_fill(w, ones({3}, DType::boolean), -kInf);
        return exp(x - max(x));
    });
    REQUIRE(all.has_value());
    CHECK(all->origin == NonFiniteOrigin::operation);
    CHECK_EQ(all->op, "sub");
    CHECK(to_text(*all).find("input 0 (#0 where) [3]: 3 -inf of 3") != std::string::npos);
    // A masked target: the loss is +inf, which no mask produces.
    const auto forbidden = found_in({1, 2, 3}, [&](const Tensor& w) {
        return log_softmax(masked_fill(w, masked, -kInf)) * tensor<float>({0, -1, 0});
    });
    REQUIRE(forbidden.has_value());
    CHECK_EQ(forbidden->op, "mul");
}

TEST_CASE("non-finite: none in models that are well, masked, recomputed, dropped, unfused") {
    for (const bool fused : {true, false}) {
        const FusionGuard guard(fused);
        Generator generator(5);
        const auto well = [&](const Module& model, const std::function<Tensor()>& loss) {
            const auto f = found_in(model, loss);
            CHECK_MESSAGE(!f.has_value(), model.kind() << ": " << (f ? to_text(*f) : ""));
        };
        const Tensor ids = ids_of({1, 5, 3, 7, 2});
        const GPT gpt({.vocab = 11,
                       .context = 8,
                       .layers = 2,
                       .heads = 2,
                       .dim = 8,
                       .dropout = 0.3,
                       .positions = Positions::rotary,
                       .recompute = true},
                      generator);
        well(gpt, [&] { return gpt.loss(ids, ids); });
        const Transformer transformer({.source_vocab = 9,
                                       .target_vocab = 9,
                                       .dim = 8,
                                       .heads = 2,
                                       .layers = 1,
                                       .dropout = 0.1,
                                       .padding_id = 0},
                                      generator);
        well(transformer, [&] {  // padding, and a source of padding only
            return transformer.loss(tensor<std::int64_t>({3, 4, 0, 0, 0, 0}, {2, 3}),
                                    tensor<std::int64_t>({1, 2, 3, 1, 2, 3}, {2, 3}),
                                    tensor<std::int64_t>({2, 3, 4, 2, 3, 4}, {2, 3}));
        });
        const Weights scores({0.1F, 0.2F, 0.3F, 0.4F});
        const Tensor added = tensor<float>({0, -INFINITY, -INFINITY, -INFINITY}, {2, 2});
        well(scores, [&] {  // an added mask, whose second query sees nothing
            const Tensor q = reshape(scores.w, {1, 2, 2});
            return sum(scaled_dot_product_attention(q, q, q, {.mask = added}));
        });
        well(scores, [&] {
            const Tensor q = reshape(scores.w, {1, 2, 2});
            return sum(attention_weights(q, q, {.causal = true, .mask = added}));
        });
    }
}

TEST_CASE("non-finite: none in any module") {
    for (const bool fused : {true, false}) {
        const FusionGuard guard(fused);
        for (const std::string& name : catalog::checked_module_names()) {
            const catalog::CheckedModule checked = catalog::checked_module(name);
            const auto f = found_in(*checked.module, [&] { return sum(checked.value()); });
            CHECK_MESSAGE(!f.has_value(), name << ": " << (f ? to_text(*f) : ""));
        }
    }
}

TEST_CASE("non-finite: the page says it, and holds it in its data") {
    const Weights model({0, 4});
    Inspector inspector(model);
    Tape tape;
    const Tensor loss = sum(log(model.w));
    tape.backward(loss);
    inspector.finish();
    const auto json = nlohmann::json::parse(to_json(inspector, {.title = "t"}));
    const auto& finding = json.at("nonFinite");
    CHECK_EQ(finding.at("headline"), "first infinity: log (#0), forward");
    CHECK_EQ(finding.at("entry"), 0);
    CHECK_EQ(finding.at("tensors").at(0).at("what"), "output");
    CHECK_EQ(finding.at("tensors").at(0).at("values").at("infs"), 1);
    CHECK_EQ(finding.at("tensors").at(1).at("shape"), nlohmann::json{2});

    const Weights well({1, 4});
    Inspector quiet(well);
    Tape other;
    const Tensor fine = sum(log(well.w));
    quiet.finish();
    CHECK(nlohmann::json::parse(to_json(quiet, {})).at("nonFinite").is_null());
}
