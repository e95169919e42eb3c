// Masked tokens from the command: a run, masks filled in, scores, and bad input.
#include <tapestry/tests/cli/command.h>

#include <nlohmann/json.hpp>

#include <algorithm>

using namespace tapestry::test;
using Json = nlohmann::json;

TEST_CASE("cli mask: trained on a text, filled in, measured, inspected") {
    const Place place;
    spill(place / "t.txt", simple_text());
    const Outcome trained =
        place.run({"train", "--task",    "mask", "--text",       "t.txt", "--out",
                   "m",     "--steps",   "4",    "--batch",      "4",     "--layers",
                   "1",     "--heads",   "2",    "--dim",        "16",    "--max-length",
                   "16",    "--threads", "1",    "--eval-every", "2",     "--eval-batches",
                   "2"});
    check_done(trained);
    CHECK(trained.out.find("1 layer, 2 heads, dim 16, sequences of up to 16, of which 15 % are "
                           "predicted") != std::string::npos);
    const std::string text = slurp(place / "t.txt").substr(0, 6);
    const std::string masked = text.substr(0, 2) + "[MASK]" + text.substr(3);
    const Outcome filled = place.run({"fill", "--model", "m", masked, "--top-k", "2"});
    check_done(filled);
    CHECK(filled.out.starts_with(text.substr(0, 2)));
    CHECK_EQ(std::count(filled.out.begin(), filled.out.end(), '\t'), 3);
    const Outcome measured =
        place.run({"eval", "--model", "m", "--text", "t.txt", "--batches", "2", "--json"});
    check_done(measured);
    CHECK_EQ(Json::parse(measured.out)["masked"], 2 * 12 * 2);
    check_done(place.run({"inspect", "--model", "m", "--prompt", masked, "--target", text}));
    check_done(place.run({"rewind", "m", "--all"}));
    check_refused(place.run({"fill", "--model", "m", text}), "the text has no [MASK]");
    check_refused(place.run({"inspect", "--model", "m", "--prompt", masked}),
                  "m' predicts masked tokens; it needs --target, the text without [MASK]");
    check_refused(place.run({"eval", "--model", "m"}),
                  "eval: m is a model of masked tokens; it needs --text or --data");
    check_refused(place.run({"train", "--task", "mask", "--text", "t.txt", "--out", "n",
                             "--max-length", "5000"}),
                  "a sequence of 5000 needs more than 5000 in each (a longer text, or a smaller "
                  "sequence)");
    check_refused(place.run({"sample", "--model", "m"}), "the model is a model of masked tokens");
    check_refused(place.run({"classify", "--model", "m"}), "the model is a model of masked tokens");
}
