// A run that is changed while it trains, saved, opened and inspected; and its digest.
#include <doctest/doctest.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/core/error.h>
#include <tapestry/core/file.h>
#include <tapestry/examples/school/playground/op_trace.h>
#include <tapestry/examples/school/playground/playground.h>
#include <tapestry/examples/school/playground/sha256.h>
#include <tapestry/examples/stories/stories.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/train/begin_run.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/tests/core/scratch.h>

using namespace tapestry;
using examples::Playground;
using examples::Sha256;

namespace {

std::string sha256_of(std::string_view text) {
    Sha256 digest;
    digest.add(std::as_bytes(std::span(text.data(), text.size())));
    return digest.hex();
}

TrainingConfig config_in(const test::Scratch& scratch) {
    return {.text = (scratch / "text.txt").native(),
            .model = {.context = 16, .layers = 2, .heads = 2, .dim = 16},
            .batch = 4,
            .steps = 12,
            .warmup = 4,
            .eval_every = 6,
            .eval_batches = 2};
}

}  // namespace

TEST_CASE("playground: SHA-256 of known texts") {
    // The standard's own examples, and lengths around a block's end (from sha256sum).
    CHECK_EQ(sha256_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK_EQ(sha256_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK_EQ(sha256_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
             "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    CHECK_EQ(sha256_of(std::string(55, 'a')),
             "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
    CHECK_EQ(sha256_of(std::string(64, 'a')),
             "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}

TEST_CASE("playground: unchanged, it is the run of its configuration") {
    const test::Scratch scratch;
    const std::string text = examples::write_stories(3, 20'000).text;
    Playground playground(text, config_in(scratch));
    Session session(config_in(scratch));
    while (!session.is_finished()) {
        REQUIRE_FALSE(playground.is_finished());
        const StepMetrics there = session.take_step();
        const StepMetrics here = playground.step();
        CHECK_EQ(here.step, there.step);
        CHECK_EQ(here.loss, there.loss);
        CHECK_EQ(here.val_loss, there.val_loss);
        // Inspecting and sampling change nothing.
        const std::string look = playground.look("Once upon a time");
        CHECK(look.find("\"attention\"") != std::string::npos);
        CHECK(look.find("\"names\"") != std::string::npos);  // of what it predicts
        CHECK_FALSE(playground.sample("Tom", 5, 0.5).empty());
    }
    CHECK(playground.is_finished());
    const auto end = [](const Session& s) {
        return s.model().parameters().front().to_vector<float>();
    };
    CHECK(end(playground.session()) == end(session));
    const std::string report = playground.report(TrainingState::finished);
    CHECK(report.find("\"state\":\"finished\"") != std::string::npos);
    CHECK(report.find("\"flow\":[{") != std::string::npos);
}

TEST_CASE("playground: changed on the way") {
    const test::Scratch scratch;
    const std::string text = examples::write_stories(3, 20'000).text;
    Playground one(text, config_in(scratch)), other(text, config_in(scratch));
    for (int i = 0; i < 5; ++i) CHECK_EQ(one.step().loss, other.step().loss);
    CHECK_EQ(one.digest(), other.digest());
    other.change(1e-3, 0);  // back to the original
    CHECK_EQ(one.step().loss, other.step().loss);
    CHECK_EQ(one.digest(), other.digest());
    other.change(5e-3, 0.2);
    CHECK_EQ(other.session().config().min_lr, doctest::Approx(5e-4));
    const StepMetrics changed = other.step();
    CHECK_EQ(changed.step, 7);
    CHECK_EQ(changed.lr, doctest::Approx(5 * one.step().lr));
    CHECK_NE(one.digest(), other.digest());
    const std::string before = other.digest();
    CHECK_THROWS_AS(other.change(-1, 0), Error);
    CHECK_THROWS_AS(other.change(1e-3, 1.5), Error);
    CHECK_EQ(other.digest(), before);
    CHECK_EQ(other.step().step, 8);
}

TEST_CASE("playground: more steps than it was to take") {
    const test::Scratch scratch;
    const std::string text = examples::write_stories(3, 20'000).text;
    Playground playground(text, config_in(scratch));
    const std::int64_t planned = playground.session().config().steps;
    while (!playground.is_finished()) playground.step();
    const std::string before = playground.digest();
    CHECK_THROWS_AS(playground.take_more(0), ValueError);
    CHECK(playground.is_finished());
    playground.take_more(3);
    CHECK_EQ(playground.digest(), before);
    CHECK_FALSE(playground.is_finished());
    CHECK(
        playground.report(TrainingState::running).find(fmt::format("\"steps\":{}", planned + 3)) !=
        std::string::npos);
    CHECK_EQ(playground.step().step, planned + 1);
    CHECK_NE(playground.digest(), before);
    playground.step();
    playground.step();
    CHECK(playground.is_finished());
    const auto saved = scratch / "saved";
    playground.save(saved);
    CHECK_EQ(Playground(examples::open_run(saved, scratch / "text.txt")).digest(),
             playground.digest());
}

TEST_CASE("playground: what it cannot read") {
    const test::Scratch scratch;
    CHECK_THROWS_AS(Playground("abcabc", config_in(scratch)), ValueError);
    Playground playground(examples::write_stories(3, 20'000).text, config_in(scratch));
    CHECK_THROWS_AS(playground.look(""), ValueError);
    CHECK_THROWS_AS(playground.look(std::string(40, 'a')), ValueError);
    CHECK_THROWS_AS(playground.look("\xe6\xbc\xa2"), ValueError);
    CHECK_THROWS_AS(playground.sample("\xe6\xbc\xa2", 3, 1), ValueError);
}

TEST_CASE("playground: `tapestry train` resumes what it saved, and the reverse, bit for bit") {
    const test::Scratch scratch;
    const TrainingConfig config = config_in(scratch);
    const std::string text = examples::write_stories(3, 20'000).text;
    Playground whole(text, config), part(text, config);
    const auto change = [](Playground& playground) { playground.change(2e-3, 0.1); };
    for (int i = 0; i < 12; ++i) {
        if (i == 3) change(whole);
        whole.step();
    }
    for (int i = 0; i < 5; ++i) {
        if (i == 3) change(part);
        part.step();
    }
    part.save(scratch / "saved");
    part.save(scratch / "saved");  // over the previous files

    SUBCASE("by the command") {
        {
            BegunRun begun = begin_run({.out = (scratch / "saved").native(), .resume = true});
            CHECK_EQ(begun.session->steps(), 5);
            TrainingRun(*begun.session, *begun.directory, {}).to_the_end();
        }
        const auto opened = examples::open_run(scratch / "saved", config.text);
        CHECK_EQ(Playground({.session = Session::resume(
                                 scratch / "saved/checkpoints/step-00000012.safetensors")})
                     .digest(),
                 whole.digest());
        CHECK_EQ(opened.run.steps.size(), 12);
        CHECK_EQ(opened.run.state.segments.size(), 2);
        CHECK(opened.differs.empty());
    }
    SUBCASE("by a playground, with the text elsewhere") {
        write_file_atomically(scratch / "moved.txt", text);
        std::filesystem::remove(config.text);
        Playground opened(examples::open_run(scratch / "saved", (scratch / "moved.txt").native()));
        CHECK(opened.report(TrainingState::interrupted).find("\"step\":5") != std::string::npos);
        while (!opened.is_finished()) opened.step();
        CHECK_EQ(opened.digest(), whole.digest());
    }
    SUBCASE("and nothing else") {
        CHECK_THROWS_AS(examples::open_run(scratch / "empty", config.text), IoError);
        write_file_atomically(scratch / "other.txt", examples::write_stories(4, 20'000).text);
        CHECK_THROWS_AS(examples::open_run(scratch / "saved", (scratch / "other.txt").native()),
                        ValueError);
    }
}

TEST_CASE("playground: a run that began from a model is changed where that model is not") {
    const test::Scratch scratch;
    const std::string text = examples::write_stories(3, 20'000).text;
    TrainingConfig config = config_in(scratch);
    config.start = (scratch / "base").native();
    const CharTokenizer tokenizer = CharTokenizer::from_text(text);
    Generator generator(4);
    save_model(
        scratch / "base",
        GPT({.vocab = tokenizer.vocab_size(), .context = 16, .layers = 2, .heads = 2, .dim = 16},
            generator),
        tokenizer);
    Playground part(text, config);
    part.step();
    part.save(scratch / "saved");
    std::filesystem::remove_all(scratch / "base");
    Playground opened(examples::open_run(scratch / "saved", config.text));
    opened.change(2e-3, 0);
    CHECK_EQ(opened.session().config().lr, 2e-3);
    CHECK_EQ(opened.step().step, 2);
}

TEST_CASE("playground: a run of another kind of model is refused") {
    const test::Scratch scratch;
    TrainingConfig config = config_in(scratch);
    config.set_model(LlamaConfig{.context = 16, .layers = 1, .heads = 2, .dim = 16});
    write_file_atomically(config.text, examples::write_stories(3, 20'000).text);
    Session session(config);
    const StepMetrics first = session.take_step();
    examples::save_run(
        session, {.state = {.segments = {{.config = to_json(session.config())}}}, .steps = {first}},
        scratch / "saved");
    CHECK_THROWS_AS(examples::open_run(scratch / "saved", config.text), ValueError);
}

TEST_CASE("playground: a sample that is refused leaves the model in training mode") {
    const test::Scratch scratch;
    Playground playground(examples::write_stories(3, 20'000).text, config_in(scratch));
    CHECK_THROWS_AS(playground.sample({}, 3, -1), ValueError);
    CHECK(playground.session().model().is_training());
}

TEST_CASE("playground: parts of the model taken away") {
    Generator generator(2);
    GPT model({.vocab = 7, .context = 4, .layers = 2, .heads = 2, .dim = 8}, generator);
    model.eval();
    const Tensor ids = tensor<std::int64_t>({{3, 1, 6, 2}});
    const auto values = [&] { return model(ids).to_vector<float>(); };
    const auto same = [](const std::vector<float>& one, const Tensor& other) {
        const std::vector<float> two = other.to_vector<float>();
        REQUIRE_EQ(one.size(), two.size());
        for (std::size_t i = 0; i < one.size(); ++i) {
            CHECK_EQ(one[i], doctest::Approx(two[i]).epsilon(1e-4));
        }
    };
    const std::vector<float> before = values();
    const Tensor known = model.token_embedding(ids);
    const auto placed = [&] { return (*model.position_embedding)(known, 0); };
    const auto answer = [&](const Tensor& x) { return model.head(model.final_norm(x)); };
    const TransformerBlock &first = *model.blocks.layers[0], &second = *model.blocks.layers[1];

    SUBCASE("positions") {
        const Tensor expected = answer(second(first(known)));
        const examples::TakenAway gone(model, {.positions = true});
        same(values(), expected);
    }
    SUBCASE("a layer") {
        const Tensor expected = answer(second(placed()));
        const examples::TakenAway gone(model, {.layers = {0}});
        same(values(), expected);
    }
    SUBCASE("norms") {
        const auto bare = [](const TransformerBlock& block, const Tensor& x) {
            const Tensor h = x + block.attention(x);
            return h + block.feed_forward(h);
        };
        const Tensor expected = model.head(bare(second, bare(first, placed())));
        const examples::TakenAway gone(model, {.norms = true});
        same(values(), expected);
    }
    SUBCASE("residuals, with the norms and without") {
        const auto bare = [](const TransformerBlock& block, const Tensor& x, bool norms) {
            const Tensor h = block.attention(norms ? block.attention_norm(x) : x);
            return block.feed_forward(norms ? block.feed_forward_norm(h) : h);
        };
        for (const bool norms : {true, false}) {
            const Tensor x = bare(second, bare(first, placed(), norms), norms);
            const Tensor expected = norms ? answer(x) : model.head(x);
            const examples::TakenAway gone(model, {.norms = !norms, .residuals = true});
            same(values(), expected);
        }
    }
    SUBCASE("heads: all of a layer's, and what is left is the bias") {
        const auto without = [&](const Tensor& x) {
            const Tensor h = x + first.attention.output.bias;
            return h + first.feed_forward(first.feed_forward_norm(h));
        };
        const Tensor expected = answer(second(without(placed())));
        {
            const examples::TakenAway one(model, {.heads = {1}});
            CHECK_NE(values(), before);
        }
        const examples::TakenAway gone(model, {.heads = {0, 1}});
        same(values(), expected);
    }
    SUBCASE("what is not there") {
        CHECK_THROWS_AS(examples::TakenAway(model, {.layers = {2}}), ValueError);
        CHECK_THROWS_AS(examples::TakenAway(model, {.heads = {4}}), ValueError);
        GPT turned({.vocab = 7,
                    .context = 4,
                    .layers = 1,
                    .heads = 2,
                    .dim = 8,
                    .positions = Positions::rotary});
        CHECK_THROWS_AS(examples::TakenAway(turned, {.positions = true}), ValueError);
    }
    CHECK_EQ(values(), before);
}

TEST_CASE("playground: a part taken away stays away, and comes back") {
    const test::Scratch scratch;
    const std::string text = examples::write_stories(3, 20'000).text;
    Playground one(text, config_in(scratch)), other(text, config_in(scratch));
    other.take_away({.residuals = true, .heads = {0}});
    other.change(1e-3, 0);
    CHECK_NE(one.step().loss, other.step().loss);
    CHECK_THROWS_AS(other.take_away({.layers = {9}}), ValueError);
    other.take_away({});
    Playground anew(text, config_in(scratch));
    other.save(scratch / "saved");
    CHECK_EQ(
        other.step().loss,
        Playground(examples::open_run(scratch / "saved", config_in(scratch).text)).step().loss);
}

TEST_CASE("playground: heads, updates and losses while it trains, which change nothing") {
    const test::Scratch scratch;
    const std::string text = examples::write_stories(3, 20'000).text;
    Playground one(text, config_in(scratch)), other(text, config_in(scratch));
    CHECK(other.flow().empty());
    for (int i = 0; i < 3; ++i) {
        CHECK_EQ(one.step().loss, other.step().loss);
        const Tensors heads = other.heads("Once upon");
        REQUIRE_EQ(heads.size(), 2);
        CHECK_EQ(heads[1].shape(), Shape{2, 9, 9});
        CHECK_EQ(sum(heads[1]).item<float>(), doctest::Approx(2 * 9));
        CHECK_EQ(other.flow().size(), one.session().model().named_parameters().size());
        CHECK_GT(other.flow().front().update_rms, 0);
        CHECK_EQ(other.losses().whole, other.losses().as_it_stands);
    }
    other.take_away({.layers = {0, 1}});
    CHECK_NE(other.losses().whole, other.losses().as_it_stands);
    CHECK_EQ(one.losses().whole, other.losses().whole);
    other.take_away({});
    CHECK_EQ(one.step().loss, other.step().loss);
    CHECK_EQ(one.digest(), other.digest());
    CHECK_THROWS_AS(other.heads(""), ValueError);
    CHECK_THROWS_AS(other.heads(std::string(17, 'a')), ValueError);
}

TEST_CASE("playground: a broken rule is found") {
    const GPTConfig config{.layers = 1, .heads = 2, .dim = 64};
    CHECK_EQ(examples::check_build(config).verdict, Verdict::pass);
    const auto rules = examples::breakable_rules(config);
    const auto weight = std::find_if(rules.begin(), rules.end(), [](const auto& rule) {
        return rule.op == "layer_norm" && rule.what == "weight";
    });
    REQUIRE(weight != rules.end());
    for (const auto flaw : {examples::Flaw::sign, examples::Flaw::twice, examples::Flaw::zero}) {
        const examples::RuleBreaker broken(examples::BrokenRule{weight->op, weight->operand, flaw});
        const GradcheckReport report = examples::check_build(config);
        CHECK_EQ(report.verdict, Verdict::fail);
        REQUIRE(report.first_wrong);
        CHECK_EQ(report.first_wrong->op, "layer_norm");
        CHECK_EQ(report.first_wrong->operand, weight->operand);
    }
    const examples::RuleBreaker broken(
        examples::BrokenRule{"linear", 1, examples::Flaw::transposed});
    CHECK_EQ(examples::check_build(config).first_wrong->op, "linear");
}

TEST_CASE("playground: a rule that is broken spoils the training until it is mended") {
    const test::Scratch scratch;
    const std::string text = examples::write_stories(3, 20'000).text;
    Playground one(text, config_in(scratch)), other(text, config_in(scratch));
    other.break_rule(examples::BrokenRule{"cross_entropy", 0, examples::Flaw::sign});
    const auto both = [&] { return std::pair(one.step().loss, other.step().loss); };
    const auto [first, same] = both();
    CHECK_EQ(first, same);
    for (int i = 0; i < 3; ++i) both();
    const auto [right, wrong] = both();
    CHECK_GT(wrong, right + 0.01);
    CHECK_EQ(other.check_gradients().first_wrong->op, "cross_entropy");
    other.break_rule({});
    CHECK(other.check_gradients());
}

TEST_CASE("playground: one step, operation by operation") {
    const test::Scratch scratch;
    const std::string text = examples::write_stories(3, 20'000).text;
    Playground one(text, config_in(scratch)), other(text, config_in(scratch));
    const double loss = one.step().loss;
    const std::string told = other.step_by_operations();
    CHECK_EQ(one.digest(), other.digest());
    CHECK(told.find("\"op\":\"cross_entropy\"") != std::string::npos);
    CHECK(told.find("blocks.1.attention.qkv.weight") != std::string::npos);

    const Tensor x = tensor<float>({{1, 2, 3}, {4, 5, 6}});
    Generator generator(1);
    Linear named(3, 2, false, generator);
    const examples::OpTrace trace(named);
    Tape tape;
    tape.backward(sum(named(x) * 2));
    const auto& all = trace.all();
    REQUIRE_EQ(all.size(), 6);
    CHECK_EQ(all[0].op, "linear");
    CHECK_EQ(all[0].given[0].values, std::vector<double>{1, 2, 3, 4, 5, 6});
    CHECK_EQ(all[0].given[1].of, "weight");
    CHECK_EQ(all[0].made[0].shape, Shape{2, 2});
    CHECK_EQ(all[1].given[0].of, "#0 linear");
    CHECK(all[3].back);
    CHECK_EQ(all[3].given[0].values, std::vector<double>{1});
    CHECK_EQ(all[5].number, 0);
    CHECK_EQ(all[5].made[0].of, "weight");
    CHECK_EQ(all[5].made[0].values, std::vector<double>{10, 14, 18, 10, 14, 18});
    CHECK(std::isfinite(loss));
}

TEST_CASE("playground: numbers of a trace that are not finite, as a page reads them") {
    Generator generator(2);
    const Linear model(1, 1, false, generator);
    const examples::OpTrace trace(model);
    Tape tape;
    const Tensor x = tensor<float>({{NAN, INFINITY, -INFINITY}}).set_requires_grad();
    tape.backward(sum(x * 1));
    CHECK(trace.to_json().find("\"values\":[\"NaN\",\"Infinity\",\"-Infinity\"]") !=
          std::string::npos);
}
