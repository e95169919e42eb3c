// Text about runs, read from their metrics.jsonl: their losses as curves, and a table of several.
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

TEST_CASE("sweep: the lowest validation loss comes first, runs without one or a checkpoint last") {
    const test::Scratch scratch;
    const auto run_of = [&](const char* name, const std::string& lines) {
        std::filesystem::create_directory(scratch / name);
        spill(scratch / name / "metrics.jsonl", lines);
        return (scratch / name).string();
    };
    const std::string a = run_of("a", "{\"step\":1,\"loss\":4.5}\n");
    const std::string b = run_of("b",
                                 "{\"step\":1,\"loss\":4,\"val_loss\":3.5}\n"
                                 "{\"step\":2,\"loss\":3,\"val_loss\":3.75}\n");
    const std::string text = sweep_text({a, b});
    CHECK(text.starts_with("run "));
    const std::size_t second = text.find("/b "), third = text.find("/a ");
    REQUIRE(second != std::string::npos);
    REQUIRE(third != std::string::npos);
    CHECK_LT(second, third);
    CHECK(text.find("3.0000  3.5000 at step 1        unfinished at step 2  71 B\n") !=
          std::string::npos);
    CHECK(text.ends_with("4.5000  none                    unfinished at step 1  22 B\n"));
}
