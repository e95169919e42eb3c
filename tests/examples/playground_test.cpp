// A training that is changed while it goes on, and its digest.
#include <doctest/doctest.h>
#include <tapestry/core/error.h>
#include <tapestry/examples/playground/playground.h>
#include <tapestry/examples/playground/sha256.h>
#include <tapestry/examples/stories/stories.h>
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
    // The standard's own examples, and lengths about the end of a block (printed by sha256sum).
    CHECK_EQ(sha256_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK_EQ(sha256_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK_EQ(sha256_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
             "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    CHECK_EQ(sha256_of(std::string(55, 'a')),
             "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
    CHECK_EQ(sha256_of(std::string(64, 'a')),
             "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}

TEST_CASE("playground: unchanged it is the training of its configuration") {
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
        // Looking and asking change nothing.
        CHECK(playground.look("Once upon a time").find("\"attention\"") != std::string::npos);
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
    other.change(1e-3, 0);  // to what it was
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

TEST_CASE("playground: what it cannot read") {
    const test::Scratch scratch;
    CHECK_THROWS_AS(Playground("abcabc", config_in(scratch)), ValueError);
    Playground playground(examples::write_stories(3, 20'000).text, config_in(scratch));
    CHECK_THROWS_AS(playground.look(""), ValueError);
    CHECK_THROWS_AS(playground.look(std::string(40, 'a')), ValueError);
    CHECK_THROWS_AS(playground.look("\xe6\xbc\xa2"), ValueError);
    CHECK_THROWS_AS(playground.sample("\xe6\xbc\xa2", 3, 1), ValueError);
}
