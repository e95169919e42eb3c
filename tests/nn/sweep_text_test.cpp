// Comparing runs: which options differ, and their results.
#include <tapestry/nn/terminal/run_text.h>
#include <tapestry/tests/core/scratch.h>

using namespace tapestry;
using test::spill;

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
