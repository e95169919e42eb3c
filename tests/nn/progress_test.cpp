// Progress lines of runs and of files: their exact text, and when they are printed.
#include <tapestry/nn/terminal/progress.h>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace tapestry;

namespace {

struct Written {
    std::vector<std::string> lines;

    ProgressOutput to(bool is_terminal) {
        return {.write = [this](const std::string& text) { lines.push_back(text); },
                .is_terminal = is_terminal};
    }
};

StepMetrics step(std::int64_t number, double seconds, std::optional<double> val_loss = {}) {
    StepMetrics m;
    m.step = number;
    m.loss = 1.25;
    m.val_loss = val_loss;
    m.seconds = seconds;
    m.step_seconds = 0.5;
    return m;
}

// 100 tokens per step, with a quarter of a second of arithmetic.
Speed speed_after(const StepMetrics& metrics) {
    Speed speed(100, 0.25);
    speed.add(metrics);
    return speed;
}

void show(TrainingProgress& progress, const StepMetrics& metrics) {
    progress.show(metrics, speed_after(metrics));
}

}  // namespace

TEST_CASE("progress: time as a clock has it") {
    CHECK_EQ(clock_text(0.4), "0:00");
    CHECK_EQ(clock_text(64.6), "1:05");
    CHECK_EQ(clock_text(3599.4), "59:59");
    CHECK_EQ(clock_text(7380), "2:03:00");
    for (const double seconds : {1e19, double{INFINITY}, double{NAN}}) {
        CHECK_EQ(clock_text(seconds), "?");
    }
}

TEST_CASE("progress: of a run, elsewhere than on a terminal, a line if there is news") {
    Written written;
    {
        TrainingProgress progress(20, written.to(false));
        show(progress, step(1, 0.5));
        show(progress, step(2, 1));
        show(progress, step(5, 2.5, 1.5));
        show(progress, step(6, 3));
        show(progress, step(20, 10));
    }
    CHECK_EQ(written.lines,
             std::vector<std::string>{
                 "step      1/20  loss 1.2500      200 tokens/s, 50% of the peak  0:10 left\n",
                 "step      5/20  loss 1.2500  val 1.5000      200 tokens/s, 50% of the peak  "
                 "0:08 left\n",
                 "step     20/20  loss 1.2500  val 1.5000      200 tokens/s, 50% of the peak  "
                 "0:00 left\n"});
}

TEST_CASE("progress: of a run, on a terminal one line, ten times a second") {
    Written written;
    {
        TrainingProgress progress(20, written.to(true));
        progress.finish();  // nothing was shown
        show(progress, step(1, 1));
        show(progress, step(2, 1.05));  // too soon
        show(progress, step(3, 1.06, 1.5));
        show(progress, step(4, 1.2));
    }
    REQUIRE_EQ(written.lines.size(), 4);
    for (int i = 0; i < 3; ++i) {
        const std::string& line = written.lines[static_cast<std::size_t>(i)];
        CHECK(line.starts_with("\rstep "));
        CHECK(line.ends_with(" left\033[K"));
    }
    CHECK(written.lines[2].find("step      4/20  loss 1.2500  val 1.5000") != std::string::npos);
    CHECK_EQ(written.lines[3], "\n");  // so later output starts on a new line
}

TEST_CASE("progress: of a run, on a terminal never so wide that it wraps") {
    for (const int columns : {40, 80, 100}) {
        Written written;
        ProgressOutput output = written.to(true);
        output.columns = columns;
        TrainingProgress progress(100'000, output);
        show(progress, step(99'999, 1e5, 12.25));
        REQUIRE_EQ(written.lines.size(), 1);
        const std::string& line = written.lines[0];
        CHECK_LT(line.size() - std::string("\r\033[K").size(), columns);
        CHECK_NE(line.find("loss 1.2500"), std::string::npos);
        CHECK_EQ(line.find("of the peak") != std::string::npos, columns == 100);
        CHECK_EQ(line.find("200 tokens/s") != std::string::npos, columns > 40);
    }
}

TEST_CASE("progress: of files, only on a terminal") {
    Written elsewhere;
    {
        ByteProgress progress(elsewhere.to(false));
        progress.begin("counting");
        progress.show(1, 2);
    }
    CHECK(elsewhere.lines.empty());

    Written written;
    ByteProgress progress(written.to(true));
    progress.begin("counting");
    progress.show(500'000, 2'000'000);
    progress.show(500'001, 2'000'000);  // too soon
    REQUIRE_EQ(written.lines.size(), 1);
    CHECK(written.lines[0].starts_with("\rcounting [######                  ]  25% of 2.0 MB  "));
    progress.begin("encoding");  // erases the line
    progress.finish();
    REQUIRE_EQ(written.lines.size(), 2);
    CHECK_EQ(written.lines[1], "\r\033[K");
    progress.show(2'000'000, 2'000'000);
    CHECK(written.lines.back().starts_with("\rencoding [########################] 100% "));
    const auto told = [&](std::uint64_t done, std::uint64_t all) {
        progress.begin("encoding");
        progress.show(done, all);
        return written.lines.back();
    };
    CHECK(told(0, 0).starts_with("\rencoding [########################] 100% of 0.0 MB  0 MB/s"));
    CHECK(told(0, 0).ends_with("  0:00 left\033[K"));
    CHECK(told(0, 1'000'000).ends_with("]   0% of 1.0 MB  0 MB/s  ? left\033[K"));
    CHECK(told(3, 2).ends_with("  0:00 left\033[K"));
}

TEST_CASE("progress: of empty files, and of one that has grown") {
    const auto line_of = [](std::uint64_t done, std::uint64_t all) {
        Written written;
        ByteProgress progress(written.to(true));
        progress.show(done, all);
        return written.lines.at(0);
    };
    CHECK(line_of(0, 2'000'000).ends_with("  ? left\033[K"));
    CHECK(line_of(0, 0).starts_with("\r [########################] 100% of 0.0 MB"));
    CHECK(line_of(3'000'000, 2'000'000).starts_with("\r [########################] 100% of 3.0"));
    CHECK(line_of(3'000'000, 2'000'000).ends_with("  0:00 left\033[K"));
}
