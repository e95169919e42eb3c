// metrics.jsonl: written line by line, read back, and never next to a model of another run.
#include <tapestry/nn/train/metrics_file.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/core/size_limit.h>
#include <tapestry/tests/nn/support.h>

using namespace tapestry;
using test::check_message;
using test::slurp;
using test::spill;

namespace fs = std::filesystem;

TEST_CASE("metrics file: every line is there as soon as it is written") {
    const test::Scratch scratch;
    MetricsFile file(scratch.path());
    CHECK_EQ(slurp(scratch / kMetricsName), "");
    file.write("{\"step\":1,\"loss\":2}");
    CHECK_EQ(slurp(scratch / kMetricsName), "{\"step\":1,\"loss\":2}\n");
    file.put_in_place();
    file.write("{\"step\":2,\"loss\":null,\"val_loss\":1.5}");
    const Metrics metrics = read_metrics(scratch / kMetricsName);
    CHECK(metrics.steps == std::vector<double>{1, 2});
    CHECK_EQ(metrics.losses[0], 2);
    CHECK(metrics.losses[1] != metrics.losses[1]);
    CHECK(metrics.val_losses == std::vector<double>{1.5});
    CHECK_EQ(scratch.names().size(), 1);
}

TEST_CASE("metrics file: a model's metrics stay until the next one is saved") {
    const test::Scratch scratch;
    spill(scratch / "config.json", "{}");
    spill(scratch / kMetricsName, "{\"step\":7,\"loss\":1}\n");
    {  // A run that ends before it has saved.
        MetricsFile file(scratch.path());
        file.write("{\"step\":1,\"loss\":3}");
    }
    CHECK_EQ(read_metrics(scratch / kMetricsName).steps.front(), 7);
    CHECK_EQ(latest_metrics(scratch.path()), scratch / kNewMetricsName);
    {  // A run that saves.
        MetricsFile file(scratch.path());
        file.write("{\"step\":1,\"loss\":2}");
        CHECK_EQ(read_metrics(scratch / kMetricsName).steps.front(), 7);
        fs::rename(scratch / kNewMetricsName, scratch / kMetricsName);
        file.put_in_place();
        file.write("{\"step\":2,\"loss\":1}");
    }
    CHECK(read_metrics(scratch / kMetricsName).losses == std::vector<double>{2, 1});
    CHECK_FALSE(fs::exists(scratch / kNewMetricsName));
    CHECK_EQ(latest_metrics(scratch.path()), scratch / kMetricsName);
}

TEST_CASE("metrics file: continues after the checkpoint's lines, and drops the rest") {
    const test::Scratch scratch;
    FileDigest written;
    {
        MetricsFile file(scratch.path());
        file.write("{\"step\":1,\"loss\":3}");
        written = file.digest();
        file.write("{\"step\":2,\"loss\":2}");
    }
    CHECK_EQ(digest_of_file(scratch / kMetricsName, written.bytes), written);
    {
        MetricsFile file(scratch.path(), written);
        CHECK_EQ(slurp(scratch / kMetricsName), "{\"step\":1,\"loss\":3}\n");
        file.write("{\"step\":2,\"loss\":1}");
        CHECK_EQ(file.digest(), digest_of_file(scratch / kMetricsName));
    }
    CHECK(read_metrics(scratch / kMetricsName).losses == std::vector<double>{3, 1});
    check_message<IoError>(
        [&] {
            MetricsFile file(scratch.path(), FileDigest{written.bytes, checksum_of("other")});
        },
        "metrics.jsonl': not what was saved: its first 20 bytes have checksum ");
    CHECK(read_metrics(scratch / kMetricsName).losses == std::vector<double>{3, 1});
}

TEST_CASE("metrics file: the end of a run is not in its last checkpoint") {
    const test::Scratch scratch;
    const std::string steps = "{\"step\":1,\"loss\":3}\n", end = "{\"event\":\"end\"}";
    FileDigest written;
    {
        MetricsFile file(scratch.path());
        file.write("{\"step\":1,\"loss\":3}");
        file.write_end(end);
        written = file.digest();
        CHECK_EQ(written.bytes, steps.size());
        file.flush();
        CHECK_EQ(slurp(scratch / kMetricsName), steps + end + "\n");
    }
    {
        const test::SizeLimit limit(steps.size() + 5);
        MetricsFile file(scratch.path(), written);
        file.write_end(end);
        CHECK(file.problem());
    }
    MetricsFile file(scratch.path(), written);
    CHECK_EQ(slurp(scratch / kMetricsName), steps);
    file.write("{\"step\":2,\"loss\":1}");
    CHECK(read_metrics(scratch / kMetricsName).losses == std::vector<double>{3, 1});
}

TEST_CASE("metrics file: lines that find no room come with the next") {
    const test::Scratch scratch;
    MetricsFile file(scratch.path());
    {
        const test::SizeLimit limit(30);
        file.write("{\"step\":1,\"loss\":3}");
        CHECK_FALSE(file.problem());
        file.write("{\"step\":2,\"loss\":2}");
        CHECK(file.problem().message.find("metrics.jsonl': File too large") != std::string::npos);
        CHECK_EQ(slurp(scratch / kMetricsName).size(), 30);
        CHECK_EQ(file.digest().bytes, 40);  // as it will be
    }
    file.write("{\"step\":3,\"loss\":1}");
    CHECK_FALSE(file.problem());
    CHECK(read_metrics(scratch / kMetricsName).losses == std::vector<double>{3, 2, 1});
    CHECK_EQ(file.digest(), digest_of_file(scratch / kMetricsName));
}

TEST_CASE("metrics file: what is refused") {
    const test::Scratch scratch;
    check_message<IoError>([&] { MetricsFile file(scratch / "nowhere"); },
                           "nowhere/metrics.jsonl': No such file");
    spill(scratch / "m", "{\"event\":\"end\"}\n");
    check_message<IoError>([&] { read_metrics(scratch / "m"); }, "m': contains no steps yet");
    spill(scratch / "m", "{\"step\":1,\"loss\":2}\n{\"step\":2}\n");
    check_message<IoError>([&] { read_metrics(scratch / "m"); }, "line 2: \"loss\" is missing");
}
