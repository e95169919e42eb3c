// Runs with bf16 activations, or bf16 weights: interrupted and resumed with other numbers of
// threads and processes, replayed step by step, and as the inspector and the files show them.
#include <tapestry/core/cpu.h>
#include <tapestry/nn/catalog/check_gradients.h>
#include <tapestry/nn/distributed/thread_group.h>
#include <tapestry/nn/io/hugging_face.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/pages/page.h>
#include <tapestry/nn/train/begin_run.h>
#include <tapestry/nn/train/replay.h>
#include <tapestry/ops/activation.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/tests/nn/small_run.h>
#include <tapestry/tests/settings.h>
#include <tapestry/tests/skip.h>

#include <algorithm>
#include <optional>

using namespace tapestry;

namespace {

// A place whose runs compute in bf16, or also keep all weights in it.
struct Place : test::RunPlace {
    explicit Place(bool weights) : of_weights(weights) {}
    bool of_weights;
};

TrainingConfig config_of(const Place& place) {
    TrainingConfig config = place.config();
    (place.of_weights ? config.model.weights : config.model.compute) = ComputeType::bf16;
    config.model.dropout = 0.1;
    config.batch = 6;
    config.micro_batches = 6;
    config.steps = 6;
    config.warmup = 2;
    config.eval_every = 3;
    return config;
}

// Resumes to the end, or to step `last`.
void train(const Place& place, const TrainingConfig& config, int processes, int threads,
           bool resume, std::int64_t last = 1000) {
    train_shared(place, config, {processes, threads, resume, last, 1});
}

void train(const Place& place, int processes, int threads, bool resume, std::int64_t last = 1000) {
    train(place, config_of(place), processes, threads, resume, last);
}

std::string model_in(const Place& place) { return test::slurp(place.out / "model.safetensors"); }

// An instruction set that uses another's f32 kernels, with an instruction for bf16 products.
std::optional<Isa> half_isa() {
    for (const Isa isa : available_isas()) {
        if (parent_of(isa) != isa) return isa;
    }
    return {};
}

GPTConfig small() {
    return {.vocab = 11,
            .context = 8,
            .layers = 2,
            .heads = 2,
            .dim = 16,
            .compute = ComputeType::bf16};
}

}  // namespace

TEST_CASE("compute run: the same bits interrupted or not, from one thread and process or several") {
    for (const bool of_weights : {false, true}) {
        CAPTURE(of_weights);
        const Place whole(of_weights), parts(of_weights);
        train(whole, 1, 1, false);
        train(parts, 2, 1, false, 1);
        train(parts, 1, 3, true, 3);
        train(parts, 3, 2, true);
        CHECK((model_in(whole) == model_in(parts)));

        const char* const field = of_weights ? "weights" : "compute";
        const auto refused = [&] {
            RunDirectory place(whole.out);
            place.resume({.wanted = whole.config(), .given = {field}});
        };
        test::check_message<ValueError>(refused, field);
    }
}

TEST_CASE("compute run: weights of bf16 are bf16 in every file, and the report shows it") {
    const Place place(true);
    train(place, 1, 2, false);
    for (const auto& entry : read_safetensors(place.out / "model.safetensors").tensors) {
        CHECK_MESSAGE(entry.second.dtype() == DType::bf16, entry.first);
    }
    RunDirectory directory(place.out);
    const auto session = directory.resume({});
    int moments = 0;
    for (const auto& entry : session->optimizer().state().tensors) {
        if (entry.first.starts_with("steps.")) continue;
        ++moments;
        CHECK_MESSAGE(entry.second.dtype() == DType::bf16, entry.first);
    }
    CHECK_EQ(moments, 2 * session->model().parameters().size());
    CHECK(session->config().model.compute == ComputeType::bf16);
    const std::string report = test::slurp(place.out / "report.html");
    CHECK(report.find(R"("--weights","value":"bf16")") != std::string::npos);

    // For sampling and as initial weights it is a model like any other.
    const LoadedModel read = load_model(place.out);
    CHECK(as<GPT>(*read.model).head.weight.dtype() == DType::f32);
    TrainingConfig after = config_of(place);
    after.start = place.out.string();
    Session next(after);
    CHECK(as<GPT>(next.model()).head.weight.to_vector<float>() ==
          as<GPT>(session->model()).head.weight.to_vector<float>());
    CHECK(std::isfinite(next.take_step().loss));
    export_hugging_face(place.scratch / "hf", session->model(), nullptr);
    CHECK(test::slurp(place.scratch / "hf/config.json").find("\"bfloat16\"") != std::string::npos);
}

TEST_CASE("compute run: the instruction that multiplied is recorded, and matters only in bf16") {
    const std::optional<Isa> half = half_isa();
    if (!half) return test::skip("this processor has no instruction for products of bf16");
    const test::SettingsGuard restored;
    for (const char* type : {"f32", "compute", "weights"}) {
        CAPTURE(type);
        const Place place(type == std::string("weights"));
        TrainingConfig config = config_of(place);
        if (type == std::string("f32")) config.model.compute = ComputeType::f32;
        set_isa(*half);
        train(place, config, 1, 1, false, 3);
        const std::string name(name_of(*half)), parent(name_of(parent_of(*half)));
        const std::string report = test::slurp(place.out / "report.html");
        CHECK(report.find(fmt::format(R"("instruction set","value":"{}")", name)) != report.npos);
        if (type == std::string("compute")) {
            CHECK(report.find(R"("--compute","value":"bf16")") != report.npos);
        }
        set_isa(parent_of(*half));
        const auto resumed = [&](const ResumeOptions& options) {
            return RunDirectory(place.out).resume(options)->steps();
        };
        if (type == std::string("f32")) {
            CHECK_EQ(resumed({}), 3);
        } else {
            test::check_message<ValueError>([&] { resumed({}); }, name);
            test::check_message<ValueError>([&] { resumed({}); }, parent);
            CHECK_EQ(resumed({.overrides = {"isa"}}), 3);
        }
    }
}

TEST_CASE(
    "compute run: the gradients of a model that trained in bf16 are right, in f64 and in bf16") {
    for (const bool of_weights : {false, true}) {
        CAPTURE(of_weights);
        const Place place(of_weights);
        train(place, 1, 1, false, 3);
        for (const DType dtype : {DType::f64, DType::bf16}) {
            const auto [model, loss] =
                catalog::model_on_text(place.out.string(), place.text.string(), 1);
            const auto checked = catalog::check_loss("a model", loss, {.dtype = dtype});
            REQUIRE_EQ(checked.size(), 1);
            CAPTURE(checked[0].text);
            CHECK(checked[0].verdict == Verdict::pass);
        }
    }
}

TEST_CASE("compute run: weights of bf16 are Adam's and AdamW's; chance follows from the seed") {
    const Place place(true);
    TrainingConfig config = config_of(place);
    config.optimizer = "muon";
    test::check_message<ValueError>(
        [&] { Session{config}; },
        "which muon does not support; --optimizer must be sgd or adam or adamw");
    config.optimizer = "adamw";
    const auto rounding = [&](std::uint64_t seed) {
        config.seed = seed;
        return Session(config).optimizer().state().settings.at("rounding_seed");
    };
    CHECK_EQ(rounding(1), rounding(1));
    CHECK_NE(rounding(1), rounding(2));
}

TEST_CASE("compute run: every step comes again, to the bits of the run") {
    bool of_weights = false;
    SUBCASE("of activations") {}
    SUBCASE("of weights") { of_weights = true; }
    const Place place(of_weights);
    train(place, 1, 2, false);
    const RunHistory history(place.out);
    const Replayer replayer(history);
    const auto check = [&](Session& session, std::int64_t k, bool watch) {
        CAPTURE(k);
        const ReplayedStep step = replay_step(session, watch);  // observed, it draws batches twice
        CHECK_EQ(difference(history.step(k), step.metrics), "");
        CHECK_FALSE(history.step(k).grad_xxh3.empty());
        if (!watch) return;
        const auto& entries = step.watched->inspector->entries();
        const auto half = [](const InspectedEntry& e) { return e.outputs[0].dtype == DType::bf16; };
        CHECK(std::any_of(entries.begin(), entries.end(), half));
    };
    for (std::int64_t k = 1; k <= history.last_step(); ++k) {
        check(*replayer.session_before(k), k, false);
    }
    auto session = replayer.session_before(1);
    for (std::int64_t k = 1; k <= history.last_step(); ++k) {
        replayer.advance(session, k);
        check(*session, k, k % 2 == 1);
    }
}

TEST_CASE("compute run: the inspector names types, counts bins and dead units, and finds a NaN") {
    bool of_weights = false;
    SUBCASE("of activations") {}
    SUBCASE("of weights") { of_weights = true; }
    Generator generator(3);
    GPT model(small(), generator);
    if (of_weights) model.to(DType::bf16);
    const Tensor ids = tensor(std::vector<std::int64_t>{1, 2, 3, 4, 5, 6}, {1, 6});
    const auto inspected = [&](const auto& check) {
        Inspector inspector(model);
        Tape tape;
        tape.backward(model.loss(ids, ids));
        inspector.finish();
        check(inspector);
    };
    inspected([](const Inspector& inspector) {
        CHECK_FALSE(inspector.non_finite().has_value());
        CHECK(to_json(inspector, {.title = "t"}).find("\"dtype\":\"bf16\"") != std::string::npos);
        for (const InspectedParameter& p : inspector.parameters()) {
            REQUIRE(p.gradient.has_value());
            CHECK_GT(p.gradient_histogram.counts.size(), 0);
        }
        int activations = 0;
        for (const InspectedEntry& entry : inspector.entries()) {
            if (entry.name != "gelu") continue;
            ++activations;
            CHECK(entry.outputs[0].dtype == DType::bf16);
            REQUIRE(entry.units.has_value());
            CHECK_EQ(entry.units->units, 64);
            CHECK_EQ(entry.units->dead, 0);
        }
        CHECK_EQ(activations, 2);
    });
    // 3.4e38 fits f32, but exceeds the largest bf16: it becomes infinity when converted or, with
    // bf16 weights, when stored.
    model.blocks.layers[1]->feed_forward.up.bias.fill_(3.4e38);
    const std::string first = of_weights ? "parameter blocks.1.feed_forward.up.bias" : "to (#";
    inspected([&](const Inspector& inspector) {
        REQUIRE(inspector.non_finite().has_value());
        const std::string found = to_text(*inspector.non_finite());
        CAPTURE(found);
        CHECK(found.find("first infinity: " + first) == 0);
        CHECK(found.find("up.bias") != std::string::npos);
    });
}

TEST_CASE("compute run: units that bf16 leaves below 0 are dead") {
    const Tensor x = to(test::random({5, 4}, 2, DType::f32), DType::bf16);
    const Tensor w = tensor<float>({-1000, 10, 10}).set_requires_grad();
    Tape tape;
    const Tensor came = to(w, DType::bf16) + sum(x, {1}, true);
    const Tensor y = relu(came);
    const Tensors gradients = tape.gradient(sum(y * y), {y, came});
    const UnitCounts counts = count_units(gradients[0], gradients[1]);
    CHECK_EQ(counts.units, 3);
    CHECK_EQ(counts.dead + counts.unreached, 1);
}

TEST_CASE("compute run: a model of bf16 goes out under Hugging Face's names, and comes back") {
    const test::Scratch scratch;
    Generator generator(3);
    GPT model(small(), generator);
    export_hugging_face(scratch / "wide", model, nullptr);
    quantize_weights(model, WeightType::bf16);
    export_hugging_face(scratch / "half", model, nullptr);
    CHECK(test::slurp(scratch / "half/config.json").find("\"bfloat16\"") != std::string::npos);
    const auto all = read_safetensors(scratch / "half/model.safetensors").tensors;
    for (const auto& one : all) CHECK(one.second.dtype() == DType::bf16);
    CHECK_EQ(all.size(), read_safetensors(scratch / "wide/model.safetensors").tensors.size());
    CHECK_EQ(all.front().first.substr(0, 12), "transformer.");
    const LoadedModel back = load_hugging_face(scratch / "half");
    const NamedTensors ours = model.named_parameters(), theirs = back.model->named_parameters();
    REQUIRE_EQ(ours.size(), theirs.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
        CHECK(theirs[i].second.dtype() == DType::f32);
        CHECK(ours[i].second.to_vector<float>() == theirs[i].second.to_vector<float>());
    }
}
