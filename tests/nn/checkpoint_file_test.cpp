// Checkpoints: training that another process resumes seamlessly, files that are refused, and
// snapshots that keep their numbers, whatever training changes afterwards.
#include <tapestry/core/cpu.h>
#include <tapestry/core/version.h>
#include <tapestry/nn/io/checkpoint.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/module/freeze.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/optim/sgd.h>
#include <tapestry/tests/core/child.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/nn/support.h>

using namespace tapestry;
namespace fs = std::filesystem;
using test::message_of;
using test::Scratch;

namespace {

constexpr int kHalf = 50;

// A small GPT with dropout, trained on noise: batches and dropout draw, the learning rate changes.
struct Training {
    Generator weights{11}, batches{12};
    GPT model{{.vocab = 13, .context = 8, .layers = 2, .heads = 2, .dim = 16, .dropout = 0.1},
              weights};
    AdamW optimizer{decay_groups(model, 0.1), {.lr = 1e-2, .beta2 = 0.99}};
    std::int64_t step = 0;

    void take_steps(std::int64_t count) {
        for (; count > 0; --count, ++step) {
            const Tensor ids = randint(0, 13, {4, 9}, batches);
            optimizer.zero_grad();
            {
                Tape tape;
                tape.backward(model.loss(views::slice(ids, 1, 0, 8), views::slice(ids, 1, 1, 9)));
            }
            optimizer.set_lr(1e-2 / (1 + 0.1 * static_cast<double>(step)));
            optimizer.step();
        }
    }
    Checkpoint whole() {
        return {.module = model,
                .optimizer = optimizer,
                .generators = {{"dropout", &weights}, {"batches", &batches}},
                .step = step,
                .config = "{\"dim\": 16}"};
    }
    void resume(const fs::path& path) { step = load_checkpoint(path, whole()).step; }
};

// State that a refused file must leave unchanged.
std::string bytes_of(Training& training, const Scratch& scratch) {
    save_checkpoint(scratch / "now", training.whole());
    return test::slurp(scratch / "now");
}

// Replaces text in the checkpoint's metadata.
void spoil(const fs::path& path, const std::string& from, const std::string& to) {
    SafetensorsFile file = read_safetensors(path);
    std::string& text = file.metadata.at("checkpoint");
    const auto at = text.find(from);
    REQUIRE_MESSAGE(at != std::string::npos, from);
    text.replace(at, from.size(), to);
    write_safetensors(path, file.tensors, file.metadata);
}

}  // namespace

TEST_CASE("checkpoint file: second process" * doctest::skip()) {
    test::answer([] {
        const char* const folder = std::getenv("CHECKPOINT_FOLDER");
        if (folder == nullptr) return std::string("no folder");
        Training training;
        training.resume(fs::path(folder) / "half");
        training.take_steps(kHalf);
        save_checkpoint(fs::path(folder) / "resumed", training.whole());
        return fmt::format("step {}", training.step);
    });
}

TEST_CASE("checkpoint file: 50 steps, a new process and 50 more are the bits of 100") {
    const Scratch scratch;
    Training training;
    training.take_steps(kHalf);
    save_checkpoint(scratch / "half", training.whole());
    training.take_steps(kHalf);
    save_checkpoint(scratch / "straight", training.whole());
    const auto answer = test::ask_child("checkpoint file: second process", "CHECKPOINT_FOLDER",
                                        scratch.path().native());
    REQUIRE(answer.has_value());
    CHECK_EQ(*answer, "step 100");
    CHECK(test::slurp(scratch / "straight") == test::slurp(scratch / "resumed"));
    CHECK(test::slurp(scratch / "straight") != test::slurp(scratch / "half"));
}

TEST_CASE("checkpoint file: numbers outside tensors come back as they were") {
    const Scratch scratch;
    Training training;
    training.take_steps(1);
    training.weights.set_state(0xFFFFFFFFFFFFFFFFu, 0x8000000000000001u);
    training.optimizer.set_lr(0.1 + 1e-17 + 0x1p-56);
    training.step = (std::int64_t{1} << 62) - 1;
    save_checkpoint(scratch / "file", training.whole());
    const double lr = training.optimizer.lr();
    training.weights.set_state(1, 2);
    training.optimizer.set_lr(0);

    const CheckpointInfo info = load_checkpoint(scratch / "file", training.whole());
    CHECK_EQ(training.weights.seed(), 0xFFFFFFFFFFFFFFFFu);
    CHECK_EQ(training.weights.offset(), 0x8000000000000001u);
    CHECK_EQ(training.optimizer.lr(), lr);
    CHECK_EQ(info.step, training.step);
    CHECK_EQ(info.config, "{\"dim\": 16}");
    CHECK_EQ(info.version, version());
    CHECK_EQ(info.isa, name_of(current_isa()));
    CHECK_EQ(info.optimizer, "AdamW");
    CHECK(info.frozen.empty());
    CHECK_EQ(checkpoint_info(scratch / "file").config, info.config);
    CHECK_EQ(checkpoint_info(scratch / "file").step, info.step);
}

TEST_CASE("checkpoint file: what was frozen must be frozen") {
    const Scratch scratch;
    Training whole;
    GPT model({.vocab = 13, .context = 8, .layers = 2, .heads = 2, .dim = 16});
    train_only(model, {"blocks.1"});
    AdamW optimizer(model, {});
    const Checkpoint part{.module = model, .optimizer = optimizer};
    save_checkpoint(scratch / "part", part);
    CHECK_EQ(load_checkpoint(scratch / "part", part).frozen, frozen_parameters(model));
    CHECK_EQ(message_of<IoError>([&] {
                 load_checkpoint(scratch / "part",
                                 {.module = whole.model, .optimizer = whole.optimizer});
             }),
             fmt::format("'{}': parameter \"blocks.0.attention.output.bias\" is frozen in the file "
                         "and not in the module",
                         (scratch / "part").native()));
    model.unfreeze("blocks");
    save_checkpoint(scratch / "more", part);
    model.freeze("blocks.0.feed_forward.up.bias");
    CHECK_EQ(
        message_of<IoError>([&] { load_checkpoint(scratch / "more", part); }),
        fmt::format("'{}': parameter \"blocks.0.feed_forward.up.bias\" is frozen in the module "
                    "and not in the file",
                    (scratch / "more").native()));
}

TEST_CASE("checkpoint file: what is refused changes nothing") {
    const Scratch scratch;
    const fs::path path = scratch / "file";
    Training training;
    training.take_steps(2);
    save_checkpoint(path, training.whole());
    training.take_steps(1);
    const std::string before = bytes_of(training, scratch);
    const auto refused = [&](const std::string& words, const Checkpoint& into) {
        const std::string message = message_of<IoError>([&] { load_checkpoint(path, into); });
        CHECK_EQ(message, fmt::format("'{}': {}", path.native(), words));
        CHECK(bytes_of(training, scratch) == before);
    };
    const auto spoiled = [&](const std::string& from, const std::string& to,
                             const std::string& words) {
        const std::string good = test::slurp(path);
        spoil(path, from, to);
        refused(words, training.whole());
        test::spill(path, good);
    };

    SUBCASE("another model, another optimizer, other generators") {
        GPT wider({.vocab = 13, .context = 8, .layers = 1, .heads = 2, .dim = 16});
        AdamW of_wider(decay_groups(wider, 0.1), {});
        const std::string message = message_of<IoError>(
            [&] { load_checkpoint(path, {.module = wider, .optimizer = of_wider}); });
        CHECK(message.find("the tensors do not fit the GPT: unknown: blocks.1.attention.") !=
              std::string::npos);
        SGD sgd(decay_groups(training.model, 0.1), {});
        Checkpoint into = training.whole();
        refused("load_state: the state is of AdamW, this optimizer is SGD",
                {.module = training.model, .optimizer = sgd, .generators = into.generators});
        AdamW ungrouped(training.model, {});
        refused("load_state: 2 groups of parameters in the state, 1 in this AdamW",
                {.module = training.model, .optimizer = ungrouped, .generators = into.generators});
        AdamW of_part(decay_groups(training.model.blocks, 0.1), {});
        refused("load_state: parameter \"0.attention.qkv.weight\" is missing from the state",
                {.module = training.model, .optimizer = of_part, .generators = into.generators});
        into.generators["evaluation"] = &training.batches;
        refused("generator \"evaluation\" is missing", into);
        into.generators.erase("evaluation");
        into.generators.erase("dropout");
        refused("generator \"dropout\" of the file is unknown", into);
        into.generators["dropout"] = nullptr;
        CHECK_EQ(message_of<ValueError>([&] { load_checkpoint(path, into); }),
                 "checkpoint: generator \"dropout\" is null");
    }
    SUBCASE("a file that ends too early, at any place") {
        const std::string good = test::slurp(path);
        for (std::size_t length = 0; length < good.size(); length += good.size() / 23) {
            test::spill(path, std::string_view(good).substr(0, length));
            CHECK_THROWS_AS(load_checkpoint(path, training.whole()), IoError);
            CHECK_THROWS_AS(checkpoint_info(path), IoError);
            CHECK(bytes_of(training, scratch) == before);
        }
    }
    SUBCASE("no checkpoint, or one of tomorrow") {
        spoiled("\"version\":2", "\"version\":3",
                "the checkpoint's metadata: it is of version 3; this Tapestry reads version 2");
        save(path, training.model);
        refused(
            "not a checkpoint: the format in its metadata is 'tapestry-module', not "
            "'tapestry-checkpoint'",
            training.whole());
        write_safetensors(path, {});
        refused(
            "not a checkpoint: the format in its metadata is missing, not "
            "'tapestry-checkpoint'",
            training.whole());
        write_safetensors(path, {}, {{"format", "tapestry-checkpoint"}});
        refused("the checkpoint has no numbers in its metadata", training.whole());
    }
    SUBCASE("metadata that is not what it should be") {
        spoiled("\"step\":2", "\"step\":-2.5",
                "the checkpoint's metadata: \"step\" has an invalid value: -2.5");
        spoiled("\"seed\":11", "\"seed\":-11",
                "the checkpoint's metadata: \"seed\" has an invalid value: -11");
        spoiled("\"lr\":0.", "\"lr\":-0.",
                "load_state: the state's learning rate must be finite and >= 0, got "
                "-0.00909090909090909");
        spoiled("\"beta1\":0.9", "\"beta1\":1.9", "AdamW: beta1 must be in [0, 1), got 1.9");
        const std::string good = test::slurp(path);
        spoil(path, "{", "[");
        CHECK(message_of<IoError>([&] {
                  load_checkpoint(path, training.whole());
              }).find("the checkpoint's metadata: not JSON: ") != std::string::npos);
        test::spill(path, good);
        SafetensorsFile file = read_safetensors(path);
        file.tensors.emplace_back("readme", ones({1}));
        write_safetensors(path, file.tensors, file.metadata);
        refused("unexpected tensor 'readme'", training.whole());
    }
    CHECK(test::slurp(path) != "");
}

TEST_CASE("checkpoint file: a configuration must be text") {
    const Scratch scratch;
    Training training;
    Checkpoint whole = training.whole();
    whole.config = "a\xFFz";
    CHECK(message_of<ValueError>([&] {
              save_checkpoint(scratch / "file", whole);
          }).starts_with("save_checkpoint: the configuration is not UTF-8, byte 1: "));
    CHECK(scratch.names().empty());
}

TEST_CASE("snapshot: the numbers of the moment it was taken, also after one that only referred") {
    Generator generator(1);
    Linear model(3, 2, generator);
    SGD optimizer(model, {.lr = 1});
    const Checkpoint checkpoint{.module = model, .optimizer = optimizer};
    const auto numbers = [](const NamedTensors& tensors) {
        return tensors.at(0).second.to_vector<double>();
    };
    const auto own = [&] { return model.named_parameters().at(0).second; };
    const auto change = [&] {
        const NoGradGuard guard;
        own().mutable_data<float>()[0] += 1;
    };

    Snapshot snapshot;
    snapshot.refer(checkpoint);
    CHECK_EQ(numbers(snapshot.weights()), own().to_vector<double>());
    change();
    CHECK_EQ(numbers(snapshot.weights()), own().to_vector<double>());  // shares memory

    for (int i = 0; i < 2; ++i) {
        snapshot.take(checkpoint);
        const auto taken = own().to_vector<double>();
        change();
        CHECK_EQ(numbers(snapshot.weights()), taken);
        CHECK_NE(own().to_vector<double>(), taken);
    }
}

TEST_CASE("snapshot: frozen parameters are not copied, and are once they train") {
    Generator generator(1);
    Linear model(3, 2, generator);
    model.freeze("bias");
    SGD optimizer(model, {.lr = 1});
    const Checkpoint checkpoint{.module = model, .optimizer = optimizer};
    const auto shares = [](const NamedTensors& tensors, std::size_t i, const Tensor& own) {
        return tensors.at(i).second.storage() == own.storage();
    };
    Snapshot snapshot;
    snapshot.take(checkpoint);
    CHECK_FALSE(shares(snapshot.weights(), 0, model.weight));
    CHECK(shares(snapshot.weights(), 1, model.bias));
    model.unfreeze("bias");
    SGD other(model, {.lr = 1});
    snapshot.take({.module = model, .optimizer = other});
    CHECK_FALSE(shares(snapshot.weights(), 1, model.bias));
    CHECK_EQ(snapshot.weights().at(1).second.to_vector<float>(), model.bias.to_vector<float>());
}
