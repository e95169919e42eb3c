// The losses of a run as curves, read from its metrics.jsonl.
#include <tapestry/nn/terminal/run_text.h>
#include <tapestry/tests/core/scratch.h>

using namespace tapestry;
using test::check_message;
using test::spill;

namespace {

// Writes a directory whose metrics.jsonl has these lines.
std::string run_of(const test::Scratch& scratch, const char* name, const std::string& lines) {
    std::filesystem::create_directory(scratch / name);
    spill(scratch / name / "metrics.jsonl", lines);
    return (scratch / name).string();
}

}  // namespace

TEST_CASE("loss curves: losses, and validation losses where they were taken") {
    const test::Scratch scratch;
    const LossCurves run = loss_curves(run_of(scratch, "m",
                                              "{\"step\":1,\"loss\":4.5}\n"
                                              "{\"step\":2,\"loss\":3.25,\"val_loss\":3.5}\n"
                                              "{\"step\":3,\"loss\":3}\n"));
    CHECK(run.summary.ends_with("m: step 3, loss 3.0000, validation loss 3.5000 at step 2"));
    REQUIRE_EQ(run.curves.size(), 2);
    CHECK_EQ(run.curves[0].name, "loss");
    CHECK_EQ(run.curves[0].x, std::vector<double>{1, 2, 3});
    CHECK_EQ(run.curves[0].y, std::vector<double>{4.5, 3.25, 3});
    CHECK_EQ(run.curves[1].name, "validation loss");
    CHECK_EQ(run.curves[1].x, std::vector<double>{2});
    CHECK_EQ(run.curves[1].y, std::vector<double>{3.5});
}

TEST_CASE("loss curves: of one run among several they are named") {
    const test::Scratch scratch;
    const LossCurves run = loss_curves(run_of(scratch, "n", "{\"step\":1,\"loss\":4.5}\n"), true);
    CHECK(run.summary.ends_with("n: step 1, loss 4.5000"));
    REQUIRE_EQ(run.curves.size(), 1);
    CHECK(run.curves[0].name.ends_with("n: loss"));
    check_message<IoError>([&] { loss_curves((scratch / "none").string()); }, "none");
}
