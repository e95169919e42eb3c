// Every row of nn/models/model_registry.h: its cost, decoding with a cache, its directory, a step
// on a text, and a run that is resumed and rewound to the same bits. An added kind is tested by its
// row.
#include <tapestry/nn/generate/sample.h>
#include <tapestry/nn/inspect/inspector.h>
#include <tapestry/nn/io/hugging_face.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/terminal/run_text.h>
#include <tapestry/nn/train/replay.h>
#include <tapestry/nn/train/step_on_text.h>
#include <tapestry/nn/train/training_run.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/nn/small_run.h>

#include <functional>

using namespace tapestry;
using test::check_message;

namespace {

std::vector<std::reference_wrapper<const ModelRow>> language_models() {
    std::vector<std::reference_wrapper<const ModelRow>> rows;
    for (const ModelRow& row : model_rows()) {
        if (row.make != nullptr) rows.emplace_back(row);
    }
    return rows;
}

ModelConfig small(const ModelRow& row, std::int64_t vocab = 6) {
    ModelConfig config = row.defaults;
    std::visit(
        [vocab](auto& c) {
            if constexpr (requires {
                              c.vocab;
                              c.context;
                          }) {
                c.vocab = vocab;
                c.context = 8;
                c.layers = 2;
                c.heads = 2;
                c.dim = 16;
            }
        },
        config);
    return config;
}

std::unique_ptr<LanguageModel> made(const ModelRow& row, std::uint64_t seed = 1) {
    Generator generator(seed);
    auto model = make_model(small(row), generator);
    model->eval();
    return model;
}

TrainingConfig config_of(const test::RunPlace& place, const ModelRow& row) {
    TrainingConfig config = place.config();
    config.set_model(small(row, 0));
    config.visit_model([](auto& model) { model.dropout = 0.1; });
    config.steps = 12;
    config.warmup = 2;
    config.eval_every = 4;
    return config;
}

const Tensor& some_ids() {
    static const Tensor ids = tensor<std::int64_t>({{0, 5, 2, 3, 1, 1, 4}});
    return ids;
}

}  // namespace

TEST_CASE("language models: each row is found by its name and by its configuration") {
    for (const ModelRow& row : language_models()) {
        CHECK_EQ(&model_row(row.name), &row);
        CHECK_EQ(&row_of(row.defaults), &row);
        CHECK_EQ(&row_of(made(row)->model_config()), &row);
        CHECK_EQ(made(row)->kind(), row.title);
    }
    check_message<ValueError>(
        [] { model_row("gtp"); },
        "unknown kind of model gtp; must be one of gpt, llama, qwen3, gpt_neox, gpt_neo, bag");
    check_message<ValueError>([] { as<GPT>(*made(model_row("llama"))); },
                              "the model is a Llama, which cannot be used here");
}

TEST_CASE("language models: parameters are counted from the configuration") {
    for (const ModelRow& row : language_models()) {
        ModelConfig config = small(row);
        for (const std::int64_t hidden : {0, 24}) {
            std::visit(
                [&](auto& c) {
                    if constexpr (requires { c.kv_heads; }) {
                        c.hidden = hidden;
                        c.kv_heads = hidden == 0 ? 0 : 1;
                    }
                },
                config);
            CHECK_EQ(parameter_count(config),
                     static_cast<double>(make_model(config)->parameter_count()));
            CHECK(training_bytes(config, 2) > 16 * parameter_count(config));
            CHECK(step_flops(config, 2) == 2 * step_flops(config, 1));
        }
    }
}

TEST_CASE("language models: a cache gives the logits of the whole sequence") {
    for (const ModelRow& row : language_models()) {
        CAPTURE(row.name);
        const auto model = made(row);
        const NoGradGuard no_grad;
        const Tensor whole = (*model)(some_ids());
        LanguageModelDecoding decoding(*model);
        decoding.read(slice(some_ids(), 1, 0, 3));
        for (std::int64_t t = 3; t < 7; ++t) {
            const Tensor next = decoding.read(slice(some_ids(), 1, t, t + 1));
            const Tensor wanted = squeeze(slice(whole, 1, t, t + 1), 1);
            const auto a = next.to_vector<double>(), b = wanted.to_vector<double>();
            for (std::size_t i = 0; i < a.size(); ++i)
                CHECK_EQ(a[i], doctest::Approx(b[i]).epsilon(1e-4));
        }
        CHECK_THROWS_AS((*model)(tensor<std::int64_t>({{0, 0, 0, 0, 0, 0, 0, 0, 0}})), ShapeError);
        std::vector<AttentionRecord> records;
        (*model)(some_ids(), {.records = &records});
        CHECK_EQ(records.size(), 2);
        CHECK_EQ(records.back().weights.shape(), Shape{1, 2, 7, 7});
    }
}

TEST_CASE("language models: a directory gives back the same bits, and the kind") {
    const test::Scratch scratch;
    const CharTokenizer tokenizer = CharTokenizer::from_text("abcde ");
    for (const ModelRow& row : language_models()) {
        CAPTURE(row.name);
        const auto model = made(row);
        const auto directory = scratch / row.name;
        save_model(directory, *model, tokenizer);
        const LoadedModel loaded = load_model(directory);
        CHECK_EQ(&row_of(loaded.model->model_config()), &row);
        CHECK(model_kind(directory) == ModelKind::language_model);
        CHECK_EQ((*loaded.model)(some_ids()).to_vector<float>(),
                 (*model)(some_ids()).to_vector<float>());

        const StepOnText step = step_on_text(directory.string(), "bad cab");
        const WatchedStep watched(*step.model, step.loss);
        CHECK(std::isfinite(watched.loss()));
        CHECK_FALSE(to_html(watched.inspector(), step.page(watched.loss())).empty());
        check_message<ValueError>([&] { step_on_text(directory.string(), "bad", "cab"); },
                                  fmt::format("is {}, which continues the prompt", row.phrase));
    }
}

TEST_CASE("language models: a run is resumed and rewound to the same bits") {
    for (const ModelRow& row : language_models()) {
        CAPTURE(row.name);
        const test::RunPlace place;
        const TrainingConfig config = config_of(place, row);
        Session whole(config);
        CHECK(description_of(whole).find(fmt::format("\n{}: 2 layers, 2 heads", row.title)) !=
              std::string::npos);
        const double before = whole.evaluate();
        while (!whole.is_finished()) whole.take_step();
        CHECK_LT(whole.evaluate(), before);

        TrainingRunOptions options{
            .report = true, .checkpoints = {.every_steps = 3, .keep = 4, .rewind_budget = 0}};
        test::train_on(place.out, config, options, 7, {});
        test::train_on(place.out, config, options, 100, {});
        CHECK(test::numbers_of(*load_model(place.out).model) == test::numbers_of(whole.model()));
        CHECK_EQ(whole.sample(10).size(), 11);

        const RunHistory history(place.out);
        const Replayer replayer(history);
        const auto session = replayer.session_before(5);
        CHECK_EQ(&row_of(session->config().model_config()), &row);
        const ReplayedStep step = replay_step(*session, true);
        CHECK_EQ(difference(history.step(5), step.metrics), "");
    }
}

TEST_CASE("language models: a configuration is stored with its kind, that of a GPT as ever") {
    for (const ModelRow& row : language_models()) {
        TrainingConfig config;
        config.set_model(small(row));
        const std::string json = to_json(config);
        CHECK_EQ(json.find("\"kind\"") == std::string::npos, row.name == model_rows()[0].name);
        const TrainingConfig read = training_config_from_json(json, "c");
        CHECK_EQ(to_json(read), json);
        CHECK_EQ(&row_of(read.model_config()), &row);
    }
    check_message<IoError>([] { training_config_from_json(R"({"kind":"gtp","model":{}})", "c"); },
                           "c: \"kind\" is \"gtp\"");
}

TEST_CASE("language models: options are shared by name, and foreign ones refused") {
    std::vector<ModelConfig> models;
    for (const ModelRow& row : model_rows()) models.push_back(row.defaults);
    std::get<GPTConfig>(models[0]).layers = 7;
    std::get<GPTConfig>(models[0]).heads = 8;
    const ModelConfig llama = model_of_kind("llama", models, {"layers"});
    CHECK_EQ(std::get<LlamaConfig>(llama).layers, 7);
    CHECK_EQ(std::get<LlamaConfig>(llama).heads, 4);
    check_model_options_given(llama, {"layers", "kind", "lr", "kv_heads"});
    check_message<ValueError>(
        [&] {
            check_model_options_given(llama, {"bias", "layers", "softcap"});
        },
        "train: a Llama has no --bias, --softcap; its options are --context");
    check_message<ValueError>([&] { check_model_options_given(llama, {"form"}); },
                              "train: a Llama has no --attention (its format, which transformers "
                              "reads, has softmax only, over all positions or the last --window of "
                              "them); its options are --context");
}

TEST_CASE("language models: resuming keeps the kind") {
    const test::RunPlace place;
    const TrainingConfig config = config_of(place, model_row("llama"));
    test::train_on(place.out, config,
                   {.report = false, .checkpoints = {.every_steps = 3, .rewind_budget = 0}}, 7, {});
    TrainingConfig wanted;  // of a command line without --kind
    wanted.model.dropout = 0.2;
    const auto resumed = [&](const std::vector<std::string>& given) {
        RunDirectory directory(place.out);
        return directory.resume({.wanted = wanted, .given = given, .overrides = {"dropout"}});
    };
    CHECK_EQ(std::get<LlamaConfig>(resumed({"dropout"})->config().model_config()).dropout, 0.2);
    check_message<ValueError>([&] { resumed({"bias"}); }, "a Llama has no --bias");
    check_message<ValueError>([&] { resumed({"kind"}); },
                              "--kind gpt cannot continue from the state of a Llama");
}
