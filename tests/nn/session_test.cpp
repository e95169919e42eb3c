// Session: a training run as an object, stepped explicitly, against its parts assembled by hand.
#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/core/file.h>
#include <tapestry/nn/models/llama/llama_config.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/train/evaluate.h>
#include <tapestry/nn/train/session.h>
#include <tapestry/nn/train/training_config.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/nn/support.h>

#include <algorithm>
#include <map>

using namespace tapestry;
using test::check_message;

namespace {

std::string sentences() {
    std::string text;
    for (int i = 0; i < 40; ++i) text += "The cat sat on mat " + std::to_string(i * i % 17) + ".\n";
    return text;
}

struct Trained {
    Trained() { write_file_atomically(scratch / "t.txt", sentences()); }

    TrainingConfig config() const {
        return {.text = (scratch / "t.txt").string(),
                .model = {.context = 8, .layers = 1, .heads = 2, .dim = 16, .dropout = 0.1},
                .batch = 4,
                .accumulate = 2,
                .steps = 6,
                .warmup = 2,
                .eval_every = 4,
                .eval_batches = 2};
    }

    test::Scratch scratch;
};

bool recomputes(const TrainingConfig& config) {
    bool is_on = false;
    config.visit_model([&](const auto& model) {
        if constexpr (requires { model.recompute; }) is_on = model.recompute;
    });
    return is_on;
}

}  // namespace

TEST_CASE("session: the same bits as its parts put together by hand") {
    const Trained t;
    const TrainingConfig config = t.config();
    Session session(config);
    CHECK_EQ(session.config().model.vocab, session.tokenizer().vocab_size());

    const std::string text = sentences();
    const CharTokenizer tokenizer = CharTokenizer::from_text(text);
    const TextData data(tokenizer.encode(text));
    Generator weights = stream(config.seed, Stream::weights);
    Generator batches = stream(config.seed, Stream::batches);
    GPTConfig shape = config.model;
    shape.vocab = tokenizer.vocab_size();
    GPT model(shape, weights);
    AdamW optimizer(decay_groups(model, config.weight_decay),
                    {.lr = config.lr, .beta1 = 0.9, .beta2 = config.beta2});
    train(optimizer, config.loop(),
          {.loss =
               [&] {
                   const Batch b = data.random_batch(Split::train, 4, 8, batches);
                   return model.loss(b.inputs, b.targets);
               },
           .evaluate =
               [&] {
                   Generator evaluation = stream(config.seed, Stream::evaluation);
                   return evaluate(model, data, Split::validation, {.batches = 2, .batch = 4},
                                   evaluation);
               },
           .report =
               [&](const StepMetrics& m) {
                   const StepMetrics own = session.take_step();
                   CHECK_EQ(own.step, m.step);
                   CHECK_EQ(own.loss, m.loss);
                   CHECK_EQ(own.lr, m.lr);
                   CHECK_EQ(own.grad_norm, m.grad_norm);
                   CHECK(own.val_loss == m.val_loss);
                   CHECK_EQ(session.steps(), m.step);
                   return true;
               }});
    CHECK(session.is_finished());
    CHECK(test::numbers_of(model) == test::numbers_of(session.model()));
}

TEST_CASE("session: a sentence of the validation text is looked at, and nothing changes") {
    const Trained t;
    Session session(t.config()), other(t.config());
    const std::vector<std::string> sentence = session.sentence();
    CHECK_EQ(sentence.size(), 9);  // the context and the token after it
    std::string text;
    for (const std::string& token : sentence) text += token;
    CHECK_NE(sentences().find(text), std::string::npos);
    double first = 0;
    while (!session.is_finished()) {
        const SentenceProbe look = session.look();
        REQUIRE_EQ(look.attention.size(), 1);
        CHECK_EQ(look.attention[0].weights.size(), 2 * 8 * 8);
        CHECK(look.attention[0].q.empty());
        REQUIRE_EQ(look.rows.size(), 8);
        double loss = 0;
        for (const Prediction& row : look.rows) loss += row.loss / 8;
        if (first == 0) first = loss;
        // The embedding, positions, and what the layer adds: all tokens, forward and back.
        REQUIRE_GE(look.stream.size(), 3);
        CHECK_EQ(look.places.size(), 8);
        for (const StreamLengths& at : look.stream) {
            CHECK_EQ(at.lengths.size(), 8);
            CHECK_EQ(at.gradients.size(), 8);
            CHECK_GT(at.lengths.front(), 0);
            CHECK_GT(at.gradients.front(), 0);
        }
        CHECK_LT(look.attention[0].entry, look.stream.back().entry);
        CHECK_EQ(first, doctest::Approx(std::log(session.config().model.vocab)).epsilon(0.1));
        CHECK_EQ(session.take_step().loss, other.take_step().loss);
    }
    CHECK_EQ(test::numbers_of(session.model()), test::numbers_of(other.model()));
    CHECK(session.model().is_training());
}

TEST_CASE("session: looking at it changes nothing of what it learns") {
    const Trained t;
    Session watched(t.config()), alone(t.config());
    std::int64_t batches = 0;
    std::vector<std::int64_t> updates;
    watched.watch({.batch = [&](const Batch& b) { batches += b.inputs.size(0); },
                   .before_update = [&](std::int64_t step) { updates.push_back(step); }});
    while (!watched.is_finished()) {
        const double before = watched.evaluate();
        CHECK_EQ(watched.evaluate(), before);
        const std::string text = watched.sample(12);
        CHECK_EQ(watched.sample(12), text);
        CHECK_EQ(text.front(), 'T');
        watched.take_step();
        alone.take_step();
    }
    CHECK_EQ(batches, 6 * 2 * 4);
    CHECK(updates == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6});
    CHECK(test::numbers_of(watched.model()) == test::numbers_of(alone.model()));
}

TEST_CASE("session: from a model's weights, with its shape, and the dropout that is asked for") {
    const Trained t;
    const auto start = t.scratch / "start";
    {
        Session first(t.config());
        first.take_step();
        save_model(start, first.model(), first.tokenizer());
    }
    TrainingConfig config = t.config();
    config.start = start.string();
    config.model = {.layers = 7};  // ignored
    Session session(config);
    CHECK_EQ(session.config().model.layers, 1);
    CHECK_EQ(session.config().model.dropout, 0.1);
    CHECK(test::numbers_of(session.model()) == test::numbers_of(*load_model(start).model));
    config.start_dropout = 0.3;
    CHECK_EQ(Session(config).config().model.dropout, 0.3);
}

TEST_CASE("session: a start's own dropouts are kept, and one that is given replaces all") {
    const Trained t;
    const auto start = t.scratch / "start";
    TrainingConfig first = t.config();
    first.model.embedding_dropout = 0;
    first.model.attention_dropout = 0.2;
    save_task(start, Session(first).task());
    TrainingConfig config = t.config();
    config.start = start.string();
    const auto attention = [&] { return Session(config).config().model.attention_dropout; };
    CHECK_EQ(attention(), 0.2);
    config.start_dropout = 0.3;
    CHECK_EQ(attention(), -1);
    CHECK_EQ(Session(config).config().model.embedding_dropout, -1);
    config.model.attention_dropout = 0.2;  // of a run that is replayed
    CHECK_EQ(attention(), 0.2);
}

TEST_CASE("session: a model's activations can be recomputed, which gives the same bits") {
    for (const bool is_llama : {false, true}) {
        CAPTURE(is_llama);
        const Trained t;
        const auto start = t.scratch / "start";
        TrainingConfig first = t.config();
        if (is_llama)
            first.set_model(LlamaConfig{.context = 8, .layers = 2, .heads = 2, .dim = 16});
        save_task(start, Session(first).task());
        TrainingConfig config = t.config();
        config.start = start.string();
        Session plain(config);
        config.model.recompute = true;
        Session again(config);
        CHECK_FALSE(recomputes(plain.config()));
        CHECK(recomputes(again.config()));
        for (int i = 0; i < 3; ++i) {
            const StepMetrics a = plain.take_step(), b = again.take_step();
            CHECK_EQ(b.loss, a.loss);
            CHECK_EQ(b.grad_norm, a.grad_norm);
        }
        CHECK(test::numbers_of(again.model()) == test::numbers_of(plain.model()));
        const auto entries = [](Session& session) {
            Tape tape;
            const Tensor ids = tensor<std::int64_t>({1, 2, 3, 4}, {1, 4});
            const Tensor loss = session.model().loss(ids, ids);
            const auto all = tape.entries();
            return std::count_if(all.begin(), all.end(),
                                 [](const auto& e) { return e->name() == "recompute"; });
        };
        CHECK_EQ(entries(plain), 0);
        CHECK_EQ(entries(again), is_llama ? 2 : 1);
    }
}

TEST_CASE("session: a large model's steps are planned, a small one's only on request") {
    const Trained t;
    TrainingConfig config = t.config();
    CHECK(Session(config).planned_memory() == nullptr);
    config.sequence = config.model.context;
    config.model.context = 70'000;  // 256 numbers for each position: 72 MB
    config.model.dim = 256;
    Session large(config);
    REQUIRE(large.planned_memory() != nullptr);
    for (int i = 0; i < 6; ++i) large.take_step();
    CHECK(large.planned_memory()->report().blocks > 0);
}

TEST_CASE("session: saved after three steps, resumed elsewhere, the same bits") {
    const Trained t;
    const auto file = t.scratch / "c.safetensors";
    Session whole(t.config());
    {
        Session first(t.config());
        for (int i = 0; i < 3; ++i) first.take_step();
        first.save(file);
    }
    const std::unique_ptr<Session> second = Session::resume(file);
    CHECK_EQ(second->steps(), 3);
    CHECK_EQ(to_json(second->config()), to_json(whole.config()));
    for (int i = 0; i < 3; ++i) whole.take_step();
    while (!whole.is_finished()) {
        const StepMetrics a = whole.take_step(), b = second->take_step();
        CHECK_EQ(b.step, a.step);
        CHECK_EQ(b.loss, a.loss);
        CHECK_EQ(b.lr, a.lr);
        CHECK_EQ(b.grad_norm, a.grad_norm);
        CHECK(b.val_loss == a.val_loss);
    }
    CHECK(second->is_finished());
    CHECK(test::numbers_of(second->model()) == test::numbers_of(whole.model()));
    test::spill(file, "{}");
    CHECK_THROWS_AS(Session::resume(file), IoError);
    save_checkpoint(file, {.module = whole.model(), .optimizer = whole.optimizer()});
    check_message<IoError>([&] { Session::resume(file); },
                           "c.safetensors: configuration: not JSON");
}

TEST_CASE("session: the fast recipe, saved after three steps and resumed, gives the same bits") {
    const Trained t;
    TrainingConfig config = t.config();
    config.recipe = Recipe::fast;
    fill_in_recipe(config, {"text", "layers", "heads", "dim", "context", "batch", "steps",
                            "eval_every", "eval_batches"});
    config.model.pairs = 40;  // and options that it does not use
    config.model.softcap = 10;
    const auto file = t.scratch / "c.safetensors";
    Session whole(config);
    for (int i = 0; i < 3; ++i) whole.take_step();
    whole.save(file);
    const std::unique_ptr<Session> second = Session::resume(file);
    CHECK_EQ(to_json(second->config()), to_json(whole.config()));
    CHECK_EQ(std::string(second->optimizer().kind()), std::string(whole.optimizer().kind()));
    while (!whole.is_finished()) {
        const StepMetrics a = whole.take_step(), b = second->take_step();
        CHECK_EQ(b.loss, a.loss);
        CHECK_EQ(b.lr, a.lr);
        CHECK(b.val_loss == a.val_loss);
    }
    CHECK(test::numbers_of(second->model()) == test::numbers_of(whole.model()));
    CHECK_EQ(second->sample(20), whole.sample(20));
    TrainingConfig other = config;
    other.muon_lr = 3;
    const auto overridden =
        Session::resume(file, {.wanted = other, .given = {"muon_lr"}, .overrides = {"muon_lr"}});
    CHECK_EQ(overridden->optimizer().state().groups[0].lr_factor, 3);
}

TEST_CASE("session: a part of the model is trained, and the rest stays, also after a checkpoint") {
    const Trained t;
    const auto file = t.scratch / "c.safetensors";
    TrainingConfig config = t.config();
    config.train_only = {"blocks.0.attention", "final_norm"};
    Session session(config);
    const auto is_trained = [](const std::string& name) {
        return name.starts_with("blocks.0.attention.") || name.starts_with("final_norm.");
    };
    std::map<std::string, std::vector<double>> before;
    std::size_t trained = 0;
    for (const auto& [name, parameter] : session.model().named_parameters()) {
        before[name] = parameter.to_vector<double>();
        trained += is_trained(name);
    }
    CHECK_EQ(session.optimizer().parameters().size(), trained);
    for (int i = 0; i < 3; ++i) session.take_step();
    session.save(file);
    const std::unique_ptr<Session> second = Session::resume(file);
    while (!session.is_finished()) {
        CHECK_EQ(second->take_step().loss, session.take_step().loss);
    }
    for (const Session* each : {&session, second.get()}) {
        for (const auto& named : each->model().named_parameters()) {
            INFO(named.first);
            CHECK_EQ(named.second.to_vector<double>() != before[named.first],
                     is_trained(named.first));
        }
    }
    CHECK(test::numbers_of(second->model()) == test::numbers_of(session.model()));
}

TEST_CASE("session: what is refused") {
    const Trained t;
    const auto refused = [&](const auto& change, const char* words) {
        TrainingConfig config = t.config();
        change(config);
        check_message<Error>([&] { Session session(config); }, words);
    };
    refused([](TrainingConfig& c) { c.text += "x"; }, "t.txtx");
    refused([](TrainingConfig& c) { c.start = "nowhere"; }, "'nowhere': no such directory");
    refused([](TrainingConfig& c) { c.model.context = 100000; }, "100000");
    refused([](TrainingConfig& c) { c.model.heads = 3; }, "3 heads do not divide dim 16");
    refused([](TrainingConfig& c) { c.train_only = {"block"}; },
            "train_only: no parameter has the prefix \"block\"; the module has token_embedding, ");
    refused([](TrainingConfig& c) { c.train_only = {"head"}; },
            "train_only: \"head.weight\" and \"token_embedding.weight\" share one tensor");
    refused([](TrainingConfig& c) { c.accumulate = 0; },
            "train: accumulate must be at least 1, got 0");
    refused([](TrainingConfig& c) { c.model.layers = 1000000; },
            "training this model would need about ");
}
