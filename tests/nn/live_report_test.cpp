// The live report of a run: when its page is written, and how much time it may take.
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/pages/live_report.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/nn/support.h>

#include <chrono>
#include <new>
#include <thread>

using namespace tapestry;
using test::slurp;

namespace {

namespace fs = std::filesystem;

// A report of a run without training, with a simulated clock. What it measures itself is real: the
// runs are long enough (1e7 s) for a hundredth and a thousandth of them to contain any pause of
// this machine.
struct Watched {
    explicit Watched(std::chrono::milliseconds recipe_takes = {})
        : report(page, model,
                 {.recipe =
                      [recipe_takes] {
                          std::this_thread::sleep_for(recipe_takes);
                          return TrainingRecipe{.title = "a title"};
                      },
                  .sample =
                      [this] {
                          ++samples;
                          if (memory_ends) throw std::bad_alloc();
                          return "a sample";
                      },
                  .warn = [this](const std::string& message) { warnings.push_back(message); },
                  .look =
                      [this] {
                          ++looks;
                          return SentenceProbe{.rows = {{.likeliest = {{7, 0.5}}}}};
                      }}) {}

    // Returns whether the page was written.
    bool written_after(const StepMetrics& metrics) {
        fs::remove(page);
        report.add(metrics);
        return fs::exists(page);
    }

    test::Scratch scratch;
    fs::path page = scratch / "report.html";
    Linear model{2, 1};
    int samples = 0, looks = 0;
    bool memory_ends = false;
    std::vector<std::string> warnings;
    LiveReport report;
};

}  // namespace

TEST_CASE("live report: a page after the first step, then every few seconds within a hundredth") {
    Watched w(std::chrono::milliseconds(60));
    CHECK_GE(w.report.seconds(), 0.06);
    CHECK(w.written_after({.step = 1, .loss = 3, .seconds = 0.01}));
    CHECK(slurp(w.page).find("a title") != std::string::npos);
    // After 5 seconds the budget is 0.05 s, and the report has taken more.
    CHECK_FALSE(w.written_after({.step = 2, .loss = 2, .seconds = 5}));
    CHECK(w.written_after({.step = 3, .loss = 1, .seconds = 1e7}));
    CHECK_FALSE(w.written_after({.step = 4, .loss = 1, .seconds = 1e7 + 3}));  // 3 seconds later
    w.report.end(TrainingState::finished);
    CHECK(slurp(w.page).find("\"finished\"") != std::string::npos);
    CHECK(w.report.summary().starts_with("report in " + w.page.string() + "; it took 0.0%"));
    CHECK(w.warnings.empty());
}

TEST_CASE("live report: the last evaluation is always shown, others as time allows") {
    Watched w(std::chrono::milliseconds(60));
    w.report.before_evaluated_update(false);
    w.report.add({.step = 1, .val_loss = 2, .seconds = 0.01});
    CHECK_EQ(w.samples, 0);
    CHECK_EQ(w.looks, 0);
    w.report.before_evaluated_update(false);
    w.report.add({.step = 2, .val_loss = 2, .seconds = 1e7});
    CHECK_EQ(w.samples, 1);
    CHECK_EQ(w.looks, 1);
    Watched late(std::chrono::milliseconds(60));
    late.report.before_evaluated_update(true);
    CHECK(late.written_after({.step = 1, .val_loss = 2, .seconds = 0.01}));
    CHECK_EQ(late.samples, 1);
    late.report.end(TrainingState::diverged, "it blew up");
    const std::string page = slurp(late.page);
    CHECK(page.find("a sample") != std::string::npos);
    CHECK(page.find("\"rows\":[[0.0,0,7,0.5]]") != std::string::npos);
    CHECK(page.find("it blew up") != std::string::npos);
}

TEST_CASE("live report: what it cannot do is said once and ends nothing") {
    Watched w;
    fs::create_directories(w.page);
    w.report.add({.step = 1, .seconds = 1});
    w.report.add({.step = 2, .seconds = 1e7});
    w.report.end(TrainingState::finished);
    REQUIRE_EQ(w.warnings.size(), 1);
    CHECK(w.warnings[0].find("it is a directory, not a file") != std::string::npos);
    CHECK_EQ(w.report.summary(), "");
}

TEST_CASE("live report: where there is no memory for a part, the rest is there, and that is said") {
    Watched w;
    w.memory_ends = true;
    w.report.before_evaluated_update(true);
    w.report.add({.step = 1, .loss = 3, .val_loss = 2, .seconds = 1});
    w.report.end(TrainingState::finished);
    CHECK_EQ(w.samples, 1);
    CHECK(w.warnings == std::vector<std::string>{"std::bad_alloc"});
    CHECK(slurp(w.page).find("\"finished\"") != std::string::npos);
}
