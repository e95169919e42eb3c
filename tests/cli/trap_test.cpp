// train --trap-nan: names the planted numbers, and the step replays with the same bits.
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/tests/cli/command.h>

#include <nlohmann/json.hpp>

#include <algorithm>

using namespace tapestry::test;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

// The text between two others, at the first match.
std::string between(const std::string& text, const std::string& before, const std::string& after) {
    const auto at = text.find(before);
    if (at == std::string::npos) return "";
    const auto begin = at + before.size();
    return text.substr(begin, text.find(after, begin) - begin);
}

struct TrapPlace : Place {
    TrapPlace() {
        spill(*this / "t.txt", simple_text());
        put_model(*this / "start");
    }

    // Sets all elements of a parameter of the initial model, or only one.
    void plant(const std::string& name, float value, std::int64_t only = -1) const {
        const fs::path path = *this / "start" / "model.safetensors";
        auto tensors = tapestry::read_safetensors(path).tensors;
        for (auto& [each, tensor] : tensors) {
            if (each != name) continue;
            float* numbers = tensor.mutable_data<float>();
            if (only >= 0)
                numbers[only] = value;
            else
                std::fill_n(numbers, tensor.numel(), value);
        }
        tapestry::write_safetensors(path, tensors, {{"format", "tapestry-gpt"}});
    }

    Arguments training(const Arguments& more) const {
        Arguments arguments{"train",    "--overwrite", "--text",     "t.txt",          "--out",
                            "m",        "--model",     "start",      "--batch",        "2",
                            "--warmup", "0",           "--trap-nan", "--eval-batches", "2"};
        for (const Arguments& option : {Arguments{"--steps", "30"}, {"--eval-every", "0"}}) {
            const bool given = std::find(more.begin(), more.end(), option[0]) != more.end();
            if (!given) arguments = arguments + option;
        }
        return arguments + more;
    }

    // Training stops with these words, and replay reports the same with the same bits.
    std::string trapped(const Arguments& more, const std::string& words) const {
        const Outcome outcome = run(training(more));
        check_refused(outcome, words, 1);
        check_refused(outcome, "`tapestry replay m/trap` shows it", 1);
        const std::string finding = between(outcome.err, "replayed, ", "; `tapestry replay");
        const Outcome again = run({"replay", "m/trap", "--out", "r.html", "--threads", "2"});
        check_done(again);
        INFO(again.out);
        CHECK(again.out.find(", the same bits as then\n" + finding + "\n") != std::string::npos);
        CHECK_EQ(again.out.find("then:"), std::string::npos);
        const std::string page = slurp(*this / "r.html");
        CHECK(page.starts_with("<!doctype html>"));
        CHECK(page.find("\"headline\":\"first ") != std::string::npos);
        // The replayed loss is the one that train reported.
        if (outcome.err.find("the loss is ") != std::string::npos) {
            const std::string loss = between(outcome.err, "the loss is ", " and");
            if (loss.find("nan") == std::string::npos &&
                std::find(more.begin(), more.end(), "--accumulate") == more.end()) {
                CHECK_EQ(between(again.out, "loss ", ","), loss);
            }
        }
        return outcome.err;
    }
};

}  // namespace

TEST_CASE("cli trap: a parameter that was not finite from the start is named") {
    const TrapPlace place;
    place.plant("blocks.0.feed_forward.up.bias", NAN, 3);
    const std::string said = place.trapped({}, "train: step 1: the loss is ");
    CHECK(said.find("first NaN: parameter blocks.0.feed_forward.up.bias, read by linear (#") !=
          std::string::npos);
    CHECK(said.find("in blocks.0.feed_forward.up, forward; ") != std::string::npos);
    CHECK(said.find(": 1 NaN of 64") != std::string::npos);
    CHECK(said.find("; the run started with weights that are not finite;") != std::string::npos);
}

TEST_CASE("cli trap: an overflow inside the model, forward, with dropout and accumulation") {
    const TrapPlace place;
    place.plant("final_norm.weight", 3e38F);
    place.plant("token_embedding.weight", 3e38F, 5);
    const Arguments noisy{"--dropout", "0.2", "--accumulate", "2"};
    const std::string said = place.trapped(noisy, "batch 1 of 2: first ");
    CHECK(said.find("forward") != std::string::npos);
    CHECK(said.find("; input 0 (") != std::string::npos);
    const Json step = Json::parse(slurp(place / "m" / "trap" / "step.json"));
    CHECK_EQ(step.at("step"), 1);
    CHECK_EQ(step.at("batches").size(), 2);
    CHECK_EQ(step.at("batches").at(0).at("inputs").at(1).size(), 16);
    CHECK_GT(step.at("batches").at(1).at("offset"), step.at("batches").at(0).at("offset"));
}

TEST_CASE("cli trap: in bf16, where the step comes again in bf16") {
    const TrapPlace place;
    place.plant("blocks.0.feed_forward.up.bias", 3.4e38F, 3);  // exceeds the largest bf16
    const std::string said = place.trapped({"--compute", "bf16"}, "train: step 1: the loss is ");
    CHECK(said.find("first infinity: to (#") != std::string::npos);
    CHECK(said.find("(blocks.0.feed_forward.up.bias) ") != std::string::npos);
    CHECK_EQ(Json::parse(slurp(place / "m" / "trap" / "step.json")).at("compute"), "bf16");
}

TEST_CASE("cli trap: with weights of bf16, which replay rounds as the training did") {
    const TrapPlace place;
    place.plant("final_norm.weight", 3e38F);
    place.plant("token_embedding.weight", 3e38F, 5);
    place.trapped({"--weights", "bf16", "--dropout", "0.2"}, "train: step 1: the loss is ");
    CHECK_EQ(Json::parse(slurp(place / "m" / "trap" / "step.json")).at("weights"), "bf16");
}

TEST_CASE("cli trap: a learning rate beyond all reason") {
    const TrapPlace place;
    const std::string said = place.trapped({"--lr", "1000"}, "replayed, first ");
    CHECK(said.find("[") != std::string::npos);
}

TEST_CASE("cli trap: backward, and the loss is train's own, dropout as it fell then") {
    // Values are 0, so the forward pass is harmless; the gradient that reaches them is huge, and so
    // are the norm's weights, which scaled the inputs of their projection.
    const TrapPlace place;
    place.plant("blocks.0.attention_norm.weight", 1e8F);
    place.plant("blocks.0.attention.qkv.weight", 0);
    place.plant("blocks.0.attention.qkv.bias", 0);
    place.plant("blocks.0.attention.output.weight", 1e36F);
    const std::string said = place.trapped({"--dropout", "0.2"}, "train: step 1: the loss is ");
    CHECK(said.find("in blocks.0.attention.qkv, backward, in the gradient for input 1 "
                    "(blocks.0.attention.qkv.weight); ") != std::string::npos);
    const double loss = std::stod(between(said, "the loss is ", " and"));
    CHECK_GT(loss, 1);
    CHECK_LT(loss, 10);
    // With other dropout the loss differs, and replay reports that.
    Json step = Json::parse(slurp(place / "m" / "trap" / "step.json"));
    Json& offset = step["batches"][0]["offset"];
    offset = offset.get<std::uint64_t>() + 1;
    spill(place / "m" / "trap" / "step.json", step.dump());
    const Outcome outcome = place.run({"replay", "m/trap"});
    check_done(outcome);
    CHECK(outcome.out.find(", then " + between(said, "the loss is ", " and")) != std::string::npos);
}

TEST_CASE("cli trap: NaN from an update is distinguished from NaN in the step") {
    // Values are 0, so the huge number in the projection after them is harmless until weight decay
    // multiplies it by 1 - 1000 * 1000.
    const auto planted = [](const TrapPlace& place) {
        place.plant("blocks.0.attention.qkv.weight", 0);
        place.plant("blocks.0.attention.qkv.bias", 0);
        place.plant("blocks.0.attention.output.weight", 1e34F, 7);
    };
    const Arguments rates{"--lr", "1000", "--weight-decay", "1000"};
    const std::string culprit =
        "first infinity: parameter blocks.0.attention.output.weight, read by linear";
    {
        const TrapPlace place;
        planted(place);
        const std::string said = place.trapped(rates, culprit);
        CHECK(said.find("train: step 2: ") != std::string::npos);
        CHECK(said.find("; the update of step 1 made it;") != std::string::npos);
    }
    {  // An evaluation finds it at once.
        const TrapPlace place;
        planted(place);
        const std::string said = place.trapped(rates + Arguments{"--eval-every", "1"}, culprit);
        CHECK(said.find("train: step 1: the weights") != std::string::npos);
        CHECK(said.find("; the update of step 1 made it;") != std::string::npos);
        CHECK_EQ(Json::parse(slurp(place / "m" / "trap" / "step.json")).at("updated"), true);
    }
}

TEST_CASE("cli trap: rewind takes the same step again, and finds the same") {
    const TrapPlace place;
    const Arguments beyond_reason =
        tiny_training({"--steps", "400", "--warmup", "300", "--lr", "1000", "--clip", "0",
                       "--checkpoint-every", "10"});
    const Outcome diverged = place.run(beyond_reason + Arguments{"--trap-nan"});
    check_refused(diverged, "replayed, ", 1);
    const std::string finding = between(diverged.err, "replayed, ", "; `tapestry replay");
    const std::string step = between(diverged.err, "train: step ", ":");
    const Outcome rewound = place.run({"rewind", "m", "--step", step, "--inspect", "p.html"});
    check_done(rewound);
    CHECK(rewound.out.starts_with("train: step " + step + ": the loss is "));
    CHECK_EQ(between(rewound.out, "replayed, ", "\n"), finding);
    CHECK(rewound.out.find("metrics.jsonl ends with step ") != std::string::npos);
    CHECK(slurp(place / "p.html").ends_with("</html>\n"));
    const std::string next = std::to_string(std::stoi(step) + 1);
    check_refused(place.run({"rewind", "m", "--step", next}), "has steps 1 to ");
}

TEST_CASE("cli trap: it does not change a run that goes well") {
    const TrapPlace place;
    const Arguments noisy{"--steps", "10", "--dropout", "0.1", "--eval-every", "4"};
    check_done(place.run(place.training(noisy)));
    CHECK_FALSE(fs::exists(place / "m" / "trap"));
    const std::string with = slurp(place / "m" / "model.safetensors");
    Arguments without = place.training(noisy);
    without.erase(std::find(without.begin(), without.end(), "--trap-nan"));
    check_done(place.run(without));
    CHECK(with == slurp(place / "m" / "model.safetensors"));
}

TEST_CASE("cli trap: no room for the step does not hide the finding") {
    const TrapPlace place;
    place.plant("final_norm.bias", INFINITY, 0);
    fs::create_directories(place / "m" / "trap" / "step.json" / "in the way");
    const Outcome outcome = place.run(place.training({}));
    check_refused(outcome, "parameter final_norm.bias", 1);
    check_refused(outcome, "; not saved: ", 1);
}

TEST_CASE("cli replay: refuses a directory without a recorded step") {
    const TrapPlace place;
    const auto refused = [&](const std::string& words) {
        check_refused(place.run({"replay", "start"}), words);
        CHECK_FALSE(fs::exists(place / "page.html"));
    };
    check_refused(place.run({"replay"}), "directory is required");
    check_refused(place.run({"replay", "nowhere"}), "nowhere");
    refused("start/step.json");
    const fs::path path = place / "start" / "step.json";
    spill(path, "{");
    refused("start/step.json: not a recorded step");
    Json step{{"step", 1},      {"updated", false}, {"began_finite", true},    {"finding", ""},
              {"loss_bits", 0}, {"built", "here"},  {"batches", Json::array()}};
    const auto with_batch = [&](const Json& inputs, const Json& targets) {
        step["batches"] = {{{"inputs", inputs}, {"targets", targets}, {"seed", 1}, {"offset", 0}}};
        spill(path, step.dump());
    };
    step["format"] = 2;
    spill(path, step.dump());
    refused("start/step.json: it is of format 2; this Tapestry reads format 1");
    step.erase("format");
    spill(path, step.dump());
    refused("start/step.json: no batches");
    with_batch({{1, 2}}, {{1, 2}, {1, 2}});
    refused("start/step.json: inputs [1, 2], but targets [2, 2]");
    with_batch({{1, 2}, {1}}, {{1, 2}});
    refused("sequences of 2 and 1 tokens");
    with_batch({{1, 1000}}, {{1, 2}});
    refused("token 1000; the vocabulary has ");
    with_batch({{1, "a"}}, {{1, 2}});
    refused("not a recorded step");
    with_batch({std::vector<int>(17, 1)}, {std::vector<int>(17, 1)});
    refused("17 tokens in a sequence; the model looks at 16");
}
