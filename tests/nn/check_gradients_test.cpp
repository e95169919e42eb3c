// The checker over the catalogue: which checks an op, a module or a custom loss gets, and how they
// are counted.
#include <tapestry/nn/catalog/check_gradients.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/ops/loss.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/nn/support.h>

#include <nlohmann/json.hpp>

using namespace tapestry;
using catalog::CheckedGradients;
using test::check_message;

namespace {

std::vector<std::string> checks_of(const CheckedGradients& checked) {
    std::vector<std::string> checks;
    for (const auto& one : checked) {
        if (one.what.find("sample 0") != std::string::npos || checked.size() == 1) {
            checks.push_back(one.check);
        }
    }
    return checks;
}

}  // namespace

TEST_CASE("check gradients: both orders of an op, or the one that is asked for") {
    const CheckedGradients both = catalog::check_op("exp");
    CHECK_EQ(checks_of(both).size(), 2);
    CHECK_EQ(catalog::count_of(both, Verdict::fail), 0);
    CHECK_EQ(checks_of(catalog::check_op("exp", {.order = 1})),
             std::vector<std::string>{checks_of(both)[0]});
    CHECK_EQ(checks_of(catalog::check_op("exp", {.order = 2})),
             std::vector<std::string>{checks_of(both)[1]});
    CHECK_EQ(checks_of(catalog::check_op("exp", {.dtype = DType::f32})),
             std::vector<std::string>{"f32"});
    CHECK_EQ(checks_of(catalog::check_op("exp", {.dtype = DType::bf16})),
             std::vector<std::string>{"bf16"});
    CHECK_EQ(both.front().what, "exp, sample 0");
    check_message<ValueError>([] { catalog::check_op("nosuch"); }, "unknown op \"nosuch\"");
    check_message<ValueError>([] { catalog::check_module("nosuch"); },
                              "unknown module \"nosuch\"; must be one of linear");
}

TEST_CASE("check gradients: a custom module and loss") {
    const CheckedGradients module = catalog::check_module("linear");
    REQUIRE_EQ(module.size(), 2);
    CHECK_EQ(module[0].check, "order 1");
    CHECK_EQ(module[1].check, "order 2");
    CHECK_EQ(catalog::count_of(module, Verdict::pass), 2);

    Generator generator(1);
    Linear model(3, 2, true, generator);
    model.to(DType::f64);
    const Tensor x = test::random({4, 3}, 1), y = test::random({4, 2}, 2);
    const TwoPrecisions loss{[&](DType dtype) {
                                 model.to(dtype);
                                 return model.named_parameters();
                             },
                             [&] {
                                 const DType dtype = model.weight.dtype();
                                 return mse_loss(model(cast(x, dtype)), cast(y, dtype));
                             }};
    for (const DType dtype : {DType::f64, DType::f32}) {
        const CheckedGradients mine = catalog::check_loss("mine", loss, {.dtype = dtype});
        REQUIRE_EQ(mine.size(), 1);
        CHECK_EQ(mine[0].what, "mine");
        CHECK_EQ(mine[0].verdict, Verdict::pass);
    }
    CHECK_EQ(catalog::curves_of(loss.value, loss.leaves(DType::f64), 1).size(), 2);
}

TEST_CASE("check gradients: the text names what did not pass, the JSON everything") {
    const CheckedGradients checked{{"right", "gradcheck", Verdict::pass, "fine", R"({"a":1})"},
                                   {"wrong", "gradcheck", Verdict::fail, "not so", R"({"a":2})"}};
    CHECK_EQ(catalog::to_text(checked, false),
             "FAIL          wrong gradcheck\nnot so\n"
             "2 gradients checked: 1 PASS, 1 FAIL, 0 INCONCLUSIVE\n");
    CHECK_EQ(catalog::to_text(checked, true),
             "right\nfine\nwrong\nnot so\n2 gradients checked: 1 PASS, 1 FAIL, 0 INCONCLUSIVE\n");
    CHECK_EQ(catalog::to_text({checked.front()}, false),
             "1 gradient checked: 1 PASS, 0 FAIL, 0 INCONCLUSIVE\n");
    const auto json = nlohmann::json::parse(catalog::to_json(checked));
    CHECK_EQ(json.at("checked"), 2);
    CHECK_EQ(json.at("failed"), 1);
    CHECK_EQ(json.at("results")[1].at("what"), "wrong");
    CHECK_EQ(json.at("results")[1].at("a"), 2);
}

TEST_CASE("check gradients: curves of an op and of a module") {
    CHECK_EQ(catalog::curves_of_op("exp", 1).size(), 1);
    CHECK_EQ(catalog::curves_of_module("linear", 1).size(), 3);  // weight, bias, input
}

TEST_CASE("check gradients: a trained model on a text, dropout and all") {
    const test::Scratch scratch;
    const std::string text = (scratch / "t.txt").string(), model = (scratch / "m").string();
    test::spill(text, "abcabdacbdabcdabdcabdcabcadbcadbcabdcabc");
    Generator generator(1);
    const GPTConfig config{
        .vocab = 4, .context = 6, .layers = 1, .heads = 2, .dim = 8, .dropout = 0.2};
    save_model(model, GPT(config, generator), CharTokenizer::from_text("abcd"));
    const catalog::ModelOnText on = catalog::model_on_text(model, text, 2, 3);
    CHECK(on.model->is_training());
    CHECK_EQ(on.loss.leaves(DType::f32).size(), on.model->named_parameters().size());
    CHECK(on.loss.value().dtype() == DType::f32);
    CHECK(on.loss.leaves(DType::f64).front().second.dtype() == DType::f64);
    const auto checked = catalog::check_loss(model, on.loss, {.certainty = 0.5});
    CHECK_EQ(catalog::count_of(checked, Verdict::pass), 1);
    // The same seed gives the same pieces of the text.
    const catalog::ModelOnText again = catalog::model_on_text(model, text, 2, 3);
    on.model->eval();
    again.model->eval();
    CHECK_EQ(on.loss.value().item(), again.loss.value().item());
    const catalog::ModelOnText other = catalog::model_on_text(model, text, 2, 4);
    other.model->eval();
    CHECK_NE(on.loss.value().item(), other.loss.value().item());
}
