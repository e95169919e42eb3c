// Directories of Hugging Face's families at the command line: every command that takes a model
// opens them, trains them further, and writes them back.
#include <tapestry/tests/cli/command.h>
#include <tapestry/tests/source_dir.h>

#include <nlohmann/json.hpp>

using namespace tapestry::test;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

const fs::path kFixtures = source_dir() / "tests/fixtures";

// A copy of a family's fixture in m, with a tokenizer as such models have it, and a text.
struct FamilyPlace : Place {
    explicit FamilyPlace(const std::string& family) {
        fs::create_directory(*this / "m");
        for (const char* name : {"config.json", "model.safetensors"}) {
            fs::copy_file(kFixtures / family / name, *this / "m" / name);
        }
        if (family == "gpt_neo") {
            for (const char* name : {"vocab.json", "merges.txt"}) {
                fs::copy_file(kFixtures / "gpt2" / name, *this / "m" / name);
            }
        } else {
            Json rules = Json::parse(slurp(kFixtures / "llama/tokenizer.json"));
            rules["normalizer"] = {{"type", "NFC"}};
            spill(*this / "m/tokenizer.json", rules.dump());
        }
        spill(*this / "t.txt", simple_text());
    }
    double loss_of(const char* model) const {
        const Outcome outcome = run({"eval", "--model", model, "--text", "t.txt", "--json"});
        check_done(outcome);
        return Json::parse(outcome.out).at("loss").get<double>();
    }
};

}  // namespace

TEST_CASE("cli decoder families: every command opens them, and an export computes the same") {
    for (const char* family : {"qwen3", "gpt_neox", "gpt_neo"}) {
        CAPTURE(family);
        const FamilyPlace place(family);
        check_done(place.run({"sample", "--model", "m", "--prompt", "the cat", "--tokens", "4"}));
        check_done(
            place.run({"inspect", "--model", "m", "--prompt", "the cat", "--out", "p.html"}));
        check_done(place.run({"profile", "--model", "m", "--text", "t.txt", "--steps", "1"}));
        check_done(
            place.run({"gradcheck", "--model", "m", "--text", "t.txt", "--certainty", "0.5"}));
        check_done(place.run({"train", "--model", "m", "--text", "t.txt", "--out", "r", "--steps",
                              "6", "--batch", "2", "--lr", "0.003", "--no-report"}));
        const double trained = place.loss_of("r");
        CHECK(trained < place.loss_of("m"));
        check_done(place.run({"export", "--model", "r", "--out", "e"}));
        CHECK(place.loss_of("e") == trained);
        const Json config = Json::parse(slurp(place / "e/config.json"));
        CHECK(config.at("model_type") == family);
        CHECK(fs::exists(place / "e/tokenizer.json") == fs::exists(place / "m/tokenizer.json"));
        if (fs::exists(place / "m/tokenizer.json")) {
            CHECK(slurp(place / "e/tokenizer.json") == slurp(place / "m/tokenizer.json"));
        }
        // A new one, with the options of all kinds.
        check_done(place.run({"train", "--kind",     family, "--text",     "t.txt", "--out",
                              "n",     "--steps",    "3",    "--layers",   "2",     "--heads",
                              "2",     "--dim",      "16",   "--context",  "8",     "--batch",
                              "2",     "--head-dim", "16",   "--no-report"}));
        const Json made = Json::parse(slurp(place / "n/config.json"));
        CHECK(made.at("model") == family);
        CHECK(made.at("head_dim") == 16);
    }
}
