// Training that succeeds, is interrupted, or diverges, and whether runs that should be identical
// are.
#include <tapestry/core/cpu.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/tests/cli/command.h>
#include <tapestry/tests/skip.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <map>

using namespace tapestry::test;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

struct TrainingPlace : Place {
    TrainingPlace() { spill(*this / "t.txt", simple_text()); }

    std::string weights() const { return slurp(*this / "m" / "model.safetensors"); }
    std::string trained(const Arguments& more, const Surroundings& surroundings = {}) const {
        check_done(run(tiny_training(more), surroundings));
        return weights();
    }
    std::vector<Json> metrics() const {
        std::vector<Json> rows;
        for (const std::string& line : lines_of(slurp(*this / "m" / "metrics.jsonl"))) {
            rows.push_back(Json::parse(line));  // throws unless each line is JSON
        }
        rows.erase(rows.begin());  // the configuration
        return rows;
    }
};

}  // namespace

TEST_CASE("cli train: its files, and a line of metrics for every step") {
    const TrainingPlace place;
    const Outcome outcome =
        place.run(tiny_training({"--steps", "25", "--eval-every", "10", "--lr", "1e-2"}));
    check_done(outcome);
    auto names = std::vector<std::string>{};
    for (const auto& entry : fs::directory_iterator(place / "m")) {
        names.push_back(entry.path().filename().native());
    }
    std::sort(names.begin(), names.end());
    CHECK_EQ(names, std::vector<std::string>{"checkpoints", "config.json", "metrics.jsonl",
                                             "model.safetensors", "report.html",
                                             "tapestry-manifest.json", "tokenizer.json"});

    const std::vector<Json> rows = place.metrics();
    REQUIRE_EQ(rows.size(), 26);
    double seconds = 0;
    for (int i = 0; i < 25; ++i) {
        const Json& row = rows[static_cast<std::size_t>(i)];
        CHECK_EQ(row.at("step"), i + 1);
        for (const char* field : {"loss", "lr", "grad_norm", "tokens_per_s", "seconds"}) {
            CHECK(row.at(field).is_number());
            CHECK_GT(row.at(field).get<double>(), 0);
        }
        CHECK_EQ(row.contains("val_loss"), i + 1 == 10 || i + 1 == 20 || i + 1 == 25);
        CHECK_GE(row.at("seconds").get<double>(), seconds);
        seconds = row.at("seconds");
    }
    const Json& end = rows.back();
    CHECK_EQ(end.at("event"), "end");
    CHECK_EQ(end.at("step"), 25);
    CHECK_EQ(end.at("interrupted"), false);
    CHECK_LT(rows[24].at("loss").get<double>(), rows[0].at("loss").get<double>());

    const Json config = Json::parse(slurp(place / "m" / "config.json"));
    CHECK_EQ(config.at("dim"), 16);
    CHECK_EQ(config.at("heads"), 2);
    CHECK(samples(place, "m"));
}

TEST_CASE("cli train: plain lines where there is no terminal") {
    const TrainingPlace place;
    const Outcome plain = place.run(tiny_training({"--steps", "30", "--eval-every", "10"}));
    check_done(plain);
    CHECK_EQ(plain.out.find('\r'), std::string::npos);
    CHECK_EQ(plain.out.find('\033'), std::string::npos);
    const auto lines = lines_of(plain.out);
    CHECK_EQ(std::count_if(lines.begin(), lines.end(),
                           [](const std::string& line) { return line.starts_with("step "); }),
             4);  // the first, and each with an evaluation
    CHECK(plain.out.find("/30  loss ") != std::string::npos);
    CHECK(plain.out.find("tokens/s") != std::string::npos);
    CHECK(plain.out.find(" left") != std::string::npos);
}

TEST_CASE("cli train: one line rewritten on a terminal") {
    if (!has_terminals()) return skip("no pseudo-terminals here");
    const TrainingPlace place;
    const Outcome terminal =
        place.run(tiny_training({"--steps", "30", "--eval-every", "10"}), {.terminal = true});
    CHECK_EQ(terminal.code, 0);
    CHECK(terminal.out.find("\rstep ") != std::string::npos);
    CHECK(terminal.out.find("saved in m") != std::string::npos);
    const Outcome diverged = place.run(
        tiny_training({"--steps", "500", "--lr", "1000", "--warmup", "0", "--eval-every", "1"}),
        {.terminal = true});
    CHECK_EQ(diverged.code, 1);
    CHECK(diverged.out.find("\ntapestry: train: ") != std::string::npos);
}

TEST_CASE("cli train: same seed, same bits, for any number of threads") {
    const TrainingPlace place;
    // 50 steps of a model large enough for several threads.
    Arguments training{"train",     "--overwrite", "--text",       "t.txt", "--out",   "m",
                       "--layers",  "1",           "--heads",      "2",     "--dim",   "64",
                       "--context", "32",          "--batch",      "8",     "--steps", "50",
                       "--warmup",  "5",           "--eval-every", "0"};
    const auto trained = [&](const Arguments& more) {
        check_done(place.run(training + more));
        return place.weights();
    };
    const std::string one = trained({"--threads", "1"});
    CHECK(one == trained({"--threads", "2"}));
    CHECK(one == trained({"--threads", "1"}));
    CHECK(one == trained({"--threads", "3"}));
    CHECK(one != trained({"--threads", "1", "--seed", "1338"}));
}

TEST_CASE("cli train: so with dropout and accumulation, and on every instruction set") {
    const TrainingPlace place;
    for (const tapestry::Isa isa : tapestry::available_isas()) {
        if (parent_of(isa) != isa) continue;  // the same kernels of f32
        const Surroundings with{.environment = {{"TAPESTRY_ISA", std::string(name_of(isa))}}};
        INFO(name_of(isa));
        const std::string plain = place.trained({"--steps", "50", "--threads", "1"}, with);
        CHECK(plain == place.trained({"--steps", "50", "--threads", "2"}, with));
        const Arguments noisy{"--steps", "50", "--dropout", "0.1", "--accumulate", "2"};
        const std::string dropped = place.trained(noisy + Arguments{"--threads", "1"}, with);
        CHECK(dropped == place.trained(noisy + Arguments{"--threads", "2"}, with));
        CHECK(dropped != plain);
        CHECK(dropped != place.trained(noisy + Arguments{"--seed", "7"}, with));
    }
}

TEST_CASE("cli train: evaluating more often does not change what is learned") {
    const TrainingPlace place;
    const std::string seldom = place.trained({"--eval-every", "0"});
    CHECK(seldom == place.trained({"--eval-every", "3", "--eval-batches", "5"}));
}

TEST_CASE("cli train: with planned memory, by option or variable, the same weights") {
    const TrainingPlace place;
    const Arguments noisy{"--dropout", "0.1", "--accumulate", "2", "--eval-every", "5"};
    const std::string eager = place.trained(noisy);
    const Outcome planned = place.run(tiny_training(noisy + Arguments{"--plan", "--no-report"}));
    check_done(planned);
    CHECK(eager == place.weights());
    CHECK(planned.out.find("plan: the ") != std::string::npos);
    CHECK(planned.out.find("; 17 steps followed it\n") != std::string::npos);  // of 20
    const Outcome reported = place.run(tiny_training(noisy + Arguments{"--plan"}));
    check_done(reported);
    CHECK(eager == place.weights());
    // In its last step the report copies the parameters.
    CHECK(reported.out.find(" blocks that were planned)\n") != std::string::npos);
    const Surroundings with{.environment = {{"TAPESTRY_PLAN", "1"}}};
    CHECK(eager == place.trained(noisy, with));
    check_refused(place.run(tiny_training(), {.environment = {{"TAPESTRY_PLAN", "on"}}}),
                  "TAPESTRY_PLAN=on: must be 0 or 1");
}

TEST_CASE("cli train: an interrupt saves, and ends with 130") {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
        const TrainingPlace place;
        Process process(tiny_training({"--steps", "100000000", "--eval-every", "0"}), place.path());
        const auto metrics = place / "m" / "metrics.jsonl";
        CHECK(wait_until([&] {
            std::error_code ignored;
            return fs::exists(metrics) && fs::file_size(metrics, ignored) > 300;
        }));
        process.send(signal);
        const Outcome outcome = process.wait();
        CHECK_EQ(outcome.code, 130);
        CHECK_EQ(outcome.err, "");
        const std::vector<Json> rows = place.metrics();
        REQUIRE_FALSE(rows.empty());
        CHECK_EQ(rows.back().at("event"), "end");
        CHECK_EQ(rows.back().at("interrupted"), true);
        CHECK_EQ(rows.back().at("step"), rows.size() - 1);
        CHECK(samples(place, "m"));
    }
}

TEST_CASE("cli train: a model that is there stays until there is a better one") {
    const TrainingPlace place;
    put_model(place / "m");
    const std::string before = place.weights();
    const std::string metrics_before = "{\"step\":1,\"loss\":4}\n";
    spill(place / "m" / "metrics.jsonl", metrics_before);
    // Diverges before the first evaluation.
    check_refused(place.run(tiny_training(
                      {"--steps", "500", "--lr", "1000", "--warmup", "0", "--eval-every", "0"})),
                  "a lower learning rate", 1);
    CHECK(place.weights() == before);
    CHECK(samples(place, "m"));
    // Killed during training.
    {
        Process process(tiny_training({"--steps", "100000000", "--eval-every", "0"}), place.path());
        const auto metrics = place / "m" / "metrics.new.jsonl";
        CHECK(wait_until([&] { return slurp(metrics).find("\"step\":9,") != std::string::npos; }));
        // It can be plotted while it trains.
        CHECK(place.run({"curve", "m"}).out.find("m: step ") != std::string::npos);
    }
    CHECK(place.weights() == before);
    CHECK(slurp(place / "m" / "metrics.jsonl") == metrics_before);
    CHECK(samples(place, "m"));
}

TEST_CASE("cli train: a run that diverges saves nothing") {
    const TrainingPlace place;
    for (const char* decay : {"0.1", "1000"}) {
        put_model(place / "m");
        const Outcome outcome =
            place.run(tiny_training({"--steps", "500", "--lr", "1000", "--warmup", "0",
                                     "--weight-decay", decay, "--eval-every", "1"}));
        check_refused(outcome, "a lower learning rate", 1);
        CHECK(samples(place, "m"));  // from an earlier step, with finite weights
    }
}

TEST_CASE("cli train: positions, shared keys and norms of attention, and writing with them") {
    const TrainingPlace place;
    place.trained({"--steps", "3", "--positions", "rotary", "--rotary-base", "500",
                   "--rotary-share", "0.5", "--kv-heads", "1", "--qk-norm", "rms"});
    const Json config = Json::parse(slurp(place / "m" / "config.json"));
    CHECK_EQ(config.at("positions"), "rotary");
    CHECK_EQ(config.at("rotary_base"), 500);
    CHECK_EQ(config.at("rotary_share"), 0.5);
    CHECK_EQ(config.at("rotary_pairs"), "interleaved");
    CHECK_EQ(config.at("kv_heads"), 1);
    CHECK_EQ(config.at("qk_norm"), "rms");
    check_done(place.run({"sample", "--model", "m", "--tokens", "5"}));
    check_refused(place.run(tiny_training({"--positions", "spiral"})), "spiral");
    check_refused(place.run(tiny_training({"--kv-heads", "3"})),
                  "MultiHeadAttention: 3 heads of keys and values do not divide 2 heads");
    check_refused(place.run(tiny_training({"--positions", "rotary", "--rotary-share", "0.03"})),
                  "rotary: numbers are rotated in pairs, but a share of 0.03 of a head's");
}

TEST_CASE("cli train: a recipe, and options that override it") {
    const TrainingPlace place;
    const Outcome outcome = place.run(
        tiny_training({"--recipe", "fast", "--steps", "4", "--bias", "yes", "--eval-every", "2"}));
    check_done(outcome);
    CHECK(outcome.out.find("; recipe fast\n") != std::string::npos);
    const Json config = Json::parse(slurp(place / "m" / "config.json"));
    CHECK_EQ(config.at("positions"), "rotary");
    CHECK_EQ(config.at("bias"), true);
    CHECK_EQ(config.at("layers"), 1);
    check_done(place.run({"sample", "--model", "m", "--tokens", "5"}));
    Arguments again = tiny_training({"--recipe", "standard", "--steps", "4", "--resume"});
    check_refused(place.run(again), "recipe was fast and is now standard");
    check_refused(place.run(tiny_training({"--recipe", "slow"})), "slow");
    check_refused(place.run(tiny_training({"--bias", "maybe"})), "maybe");
}

TEST_CASE("cli train: a recipe says what its model cannot be exported to, and --exportable can") {
    const Place place;
    spill(place / "t.txt", simple_text());
    const Arguments fast{"train", "--text",    "t.txt", "--recipe", "fast", "--steps",
                         "3",     "--dim",     "16",    "--layers", "1",    "--heads",
                         "2",     "--threads", "1",     "--batch",  "2"};
    const Outcome plain = place.run(fast + Arguments{"--out", "a"});
    check_done(plain);
    CHECK(plain.out.find("`tapestry export` cannot write this model: GPT-2's format supports "
                         "learned positions only, but this model's are rotary; --exportable trains "
                         "one that it can\n") != std::string::npos);
    check_refused(place.run({"export", "--model", "a", "--out", "x"}),
                  "export: GPT-2's format supports learned positions only, but this model's are "
                  "rotary");
    const Outcome other = place.run(fast + Arguments{"--out", "b", "--exportable"});
    check_done(other);
    CHECK(other.out.find("cannot write") == std::string::npos);
    check_done(place.run({"export", "--model", "b", "--out", "y"}));
    check_refused(
        place.run(fast + Arguments{"--out", "c", "--exportable", "--earlier", "1"}),
        "--exportable: GPT-2's format has no tables of earlier tokens, but this model has");
    const Outcome listed = place.run(fast + Arguments{"--out", "c", "--patch", "2"});
    check_refused(listed, "a GPT has no --patch; its options are --context, --layers");
    CHECK(listed.err.find("form") == std::string::npos);  // not an option: only programs have one
    check_refused(place.run({"train", "--task", "table", "--table", "t.txt", "--target", "x",
                             "--out", "c", "--exportable"}),
                  "--exportable: is for a GPT, and this model is a network for tables");
}

TEST_CASE("cli train: --train-only trains a part of a model, and says what is frozen") {
    const TrainingPlace place;
    put_model(place / "start");
    const Arguments from_start{"train",    "--overwrite", "--text",         "t.txt", "--out",   "m",
                               "--model",  "start",       "--steps",        "4",     "--batch", "2",
                               "--warmup", "0",           "--eval-batches", "1"};
    const Outcome outcome = place.run(
        from_start + Arguments{"--train-only", "blocks.0.attention", "--train-only", "final_norm"});
    check_done(outcome);
    CHECK_NE(outcome.out.find("\nfrozen: "), std::string::npos);
    std::map<std::string, tapestry::Tensor> before;
    for (auto& [name, tensor] :
         tapestry::read_safetensors(place / "start" / "model.safetensors").tensors) {
        before.emplace(name, tensor);
    }
    const Json frozen = place.metrics().back().at("frozen");
    std::size_t kept = 0;
    for (const auto& named :
         tapestry::read_safetensors(place / "m" / "model.safetensors").tensors) {
        const std::string& name = named.first;
        INFO(name);
        const bool trained =
            name.starts_with("blocks.0.attention.") || name.starts_with("final_norm.");
        CHECK_EQ(named.second.to_vector<double>() != before.at(name).to_vector<double>(), trained);
        CHECK_EQ(std::find(frozen.begin(), frozen.end(), name) == frozen.end(), trained);
        kept += trained ? 0 : 1;
    }
    CHECK_EQ(frozen.size(), kept);
    const std::string page = slurp(place / "m" / "report.html");
    CHECK_NE(page.find("\"frozen\""), std::string::npos);
    CHECK_NE(page.find("\"token_embedding.weight (frozen)\""), std::string::npos);
    CHECK_NE(page.find("--train-only blocks.0.attention final_norm"), std::string::npos);

    check_refused(place.run(from_start + Arguments{"--train-only", "block"}),
                  "train_only: no parameter has the prefix \"block\"; the module has "
                  "token_embedding, position_embedding, blocks, final_norm, head");
    check_refused(place.run(from_start + Arguments{"--train-only", "head"}),
                  "\"head.weight\" and \"token_embedding.weight\" share one tensor");
}
