// The predictions that the Inspector reports, against forward passes without an Inspector.
#include <tapestry/core/create.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/inspect/inspector.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/models/masked_language_model.h>
#include <tapestry/nn/models/transformer.h>
#include <tapestry/nn/models/vision_transformer.h>
#include <tapestry/nn/pages/page.h>
#include <tapestry/ops/loss.h>
#include <tapestry/ops/softmax.h>
#include <tapestry/tests/nn/plain.h>
#include <tapestry/tests/nn/support.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <functional>
#include <numeric>

using namespace tapestry;

namespace {

// The step's predictions, after backward.
std::optional<PredictionTrace> traced(const Module& model, const std::function<Tensor()>& loss) {
    Inspector inspector(model);
    {
        Tape tape;
        tape.backward(loss());
        inspector.finish();
    }
    return inspector.predictions();
}

// Checks the row against results computed naively from the logits.
void check_row(const Prediction& row, const std::vector<double>& logits, std::int64_t right,
               double epsilon) {
    double sum = 0;
    for (const double x : logits) sum += std::exp(x);
    std::vector<std::int64_t> order(logits.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
        return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)];
    });
    REQUIRE_EQ(row.likeliest.size(), std::min<std::size_t>(5, logits.size()));
    for (std::size_t i = 0; i < row.likeliest.size(); ++i) {
        CHECK_EQ(row.likeliest[i].id, order[i]);
        const double logit = logits[static_cast<std::size_t>(order[i])];
        CHECK_EQ(row.likeliest[i].probability,
                 doctest::Approx(std::exp(logit) / sum).epsilon(epsilon));
    }
    CHECK_EQ(row.right, right);
    if (right < 0) return;
    const double own = logits[static_cast<std::size_t>(right)];
    CHECK_EQ(row.loss, doctest::Approx(std::log(sum) - own).epsilon(epsilon));
    CHECK_EQ(order[static_cast<std::size_t>(row.rank - 1)], right);
}

void check_rows(const std::vector<Prediction>& rows, const std::vector<double>& logits,
                const Tensor& targets, double epsilon = 1e-5) {
    const auto right = targets.to_vector<std::int64_t>();
    REQUIRE_EQ(rows.size(), right.size());
    const std::size_t classes = logits.size() / rows.size();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto from = logits.begin() + static_cast<std::ptrdiff_t>(i * classes);
        const std::vector<double> row(from, from + static_cast<std::ptrdiff_t>(classes));
        check_row(rows[i], row, right[i] == -100 ? -1 : right[i], epsilon);
    }
}

double mean_loss(const std::vector<Prediction>& rows) {
    double sum = 0;
    int counted = 0;
    for (const Prediction& row : rows) {
        if (row.right < 0) continue;
        sum += row.loss;
        ++counted;
    }
    return sum / counted;
}

std::vector<std::string> layers_of(const PredictionTrace& trace) {
    std::vector<std::string> names;
    for (const LayerPredictions& each : trace.layers) names.push_back(each.layer);
    return names;
}

}  // namespace

TEST_CASE("predictions: a GPT's and each layer's equal those of plain loops in doubles") {
    Generator generator(21);
    const GPT model(
        {.vocab = 13, .context = 8, .layers = 3, .heads = 2, .dim = 8, .deviation = 0.4},
        generator);
    const Tensor ids = randint(0, 13, {1, 6}, generator), next = randint(0, 13, {1, 6}, generator);
    const auto trace = traced(model, [&] { return model.loss(ids, next); });
    REQUIRE(trace.has_value());
    CHECK_EQ(trace->classes, 13);
    CHECK_EQ(trace->module, "blocks.2");
    check_rows(trace->rows, test::plain::gpt(ids, model).data, next);
    CHECK_EQ(mean_loss(trace->rows), doctest::Approx(model.loss(ids, next).item()).epsilon(1e-6));
    CHECK_EQ(layers_of(*trace), std::vector<std::string>{"blocks.0", "blocks.1", "blocks.2"});
    for (std::size_t layer = 0; layer < 3; ++layer) {
        check_rows(trace->layers[layer].rows, test::plain::gpt(ids, model, layer).data, next);
    }
}

TEST_CASE("predictions: of a batch the first sequence's; the head may be capped, or in bf16") {
    Generator generator(22);
    GPT model({.vocab = 13,
               .context = 8,
               .layers = 2,
               .heads = 2,
               .dim = 8,
               .deviation = 0.4,
               .softcap = 3},
              generator);
    const Tensor ids = randint(0, 13, {3, 5}, generator);
    const auto trace = traced(model, [&] { return model.loss(ids, ids); });
    REQUIRE(trace.has_value());
    REQUIRE_EQ(trace->layers.size(), 2);
    const Tensor first = views::slice(ids, 0, 0, 1);
    check_rows(trace->rows, model(first).to_vector<double>(), first);
    model.compute_in(ComputeType::bf16);
    const auto narrow = traced(model, [&] { return model.loss(first, first); });
    REQUIRE(narrow.has_value());
    check_rows(narrow->rows, model(first).to_vector<double>(), first);
    CHECK_EQ(narrow->layers.size(), 2);
}

TEST_CASE("predictions: hidden words alone count; the head may be more than a norm") {
    Generator generator(23);
    const MaskedLanguageModel model(
        {.vocab = 11, .dim = 8, .heads = 2, .layers = 2, .dropout = 0, .deviation = 0.4},
        generator);
    const Tensor ids = randint(0, 11, {1, 6}, generator);
    const Tensor targets = tensor(std::vector<std::int64_t>{-100, 3, -100, -100, 7, -100}, {1, 6});
    const auto trace = traced(model, [&] { return model.loss(ids, targets); });
    REQUIRE(trace.has_value());
    check_rows(trace->rows, model(ids).to_vector<double>(), targets);
    CHECK_EQ(mean_loss(trace->rows), doctest::Approx(model.loss(ids, targets).item()));
    CHECK_EQ(layers_of(*trace), std::vector<std::string>{"encoder.0", "encoder.1"});
}

TEST_CASE("predictions: a decoder's layers, not the encoder's; an image's classes") {
    Generator generator(24);
    const Transformer pair({.source_vocab = 9,
                            .target_vocab = 10,
                            .dim = 8,
                            .heads = 2,
                            .layers = 2,
                            .dropout = 0,
                            .padding_id = 0,
                            .label_smoothing = 0.1},
                           generator);
    const Tensor source = randint(1, 9, {1, 4}, generator),
                 read = randint(1, 10, {1, 3}, generator);
    const Tensor next = randint(1, 10, {1, 3}, generator);
    const auto trace = traced(pair, [&] { return pair.loss(source, read, next); });
    REQUIRE(trace.has_value());
    CHECK_EQ(layers_of(*trace), std::vector<std::string>{"decoder.0", "decoder.1"});
    CHECK_EQ(trace->label_smoothing, 0.1);
    check_rows(trace->rows, pair(source, read).to_vector<double>(), next);

    const VisionTransformer vision(
        {.height = 8, .width = 8, .patch = 4, .classes = 3, .dim = 8, .heads = 2, .layers = 2},
        generator);
    const Tensor images = randn({2, 1, 8, 8}, generator), labels = randint(0, 3, {2}, generator);
    const auto seen = traced(vision, [&] { return vision.loss(images, labels); });
    REQUIRE(seen.has_value());
    check_rows(seen->rows, vision(images).to_vector<double>(), labels);
    REQUIRE_EQ(seen->layers.size(), 2);
    CHECK_EQ(seen->layers[1].rows.size(), 2);
}

TEST_CASE("predictions: none without a cross-entropy; without layers only the model's") {
    Generator generator(25);
    const Linear layer(4, 3, true, generator);
    const Tensor x = randn({2, 4}, generator);
    CHECK_FALSE(traced(layer, [&] { return mse_loss(layer(x), zeros({2, 3})); }).has_value());
    const auto trace = traced(layer, [&] {
        return cross_entropy(layer(x), tensor<std::int64_t>({2, 0}));
    });
    REQUIRE(trace.has_value());
    CHECK_EQ(trace->rows.size(), 2);
    CHECK_EQ(trace->layers.size(), 0);
    CHECK_EQ(trace->module, "");
}

TEST_CASE("predictions: the page's data names classes, and says whether they come next") {
    Generator generator(26);
    const GPT model({.vocab = 5, .context = 8, .layers = 1, .heads = 2, .dim = 8}, generator);
    const Tensor ids = tensor(std::vector<std::int64_t>{1, 2, 3}, {1, 3});
    Inspector inspector(model);
    {
        Tape tape;
        tape.backward(model.loss(ids, ids));
        inspector.finish();
    }
    const PageOptions options{
        .title = "letters",
        .texts = {{.queries = {"a", "b", "c"}}},
        .name_of = [](std::int64_t id) { return std::string(1, static_cast<char>(97 + id)); }};
    const auto json = nlohmann::json::parse(to_json(inspector, options)).at("predictions");
    CHECK_EQ(json.at("next"), true);
    CHECK_EQ(json.at("read"), (nlohmann::json{"a", "b", "c"}));
    CHECK_EQ(json.at("names").at("3"), "d");
    CHECK_EQ(json.at("rows").size(), 3);
    CHECK_EQ(json.at("rows").at(1).at(0), 2);
    CHECK_EQ(json.at("rows").at(1).at(3).size(), 5);
    CHECK_EQ(json.at("layers").at(0).at("layer"), "blocks.0");
}
