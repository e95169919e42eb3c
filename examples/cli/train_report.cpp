#include <tapestry/core/cpu.h>
#include <tapestry/core/file.h>
#include <tapestry/core/parallel.h>
#include <tapestry/core/version.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/cli/train_report.h>
#include <tapestry/nn/data/ngram_baseline.h>

#include <algorithm>
#include <cmath>

namespace tapestry::cli {
namespace {

constexpr double kShare = 0.01;    // of the training's time
constexpr double kLeastGap = 4.0;  // seconds between pages

double now_since_1970() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::round(1e3 * std::chrono::duration<double>(now).count()) / 1e3;
}

// As a shell reads it back.
std::string quoted_for_shell(const std::string& text) {
    const auto plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("_./=:,+-").find(c) != std::string_view::npos;
    };
    if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
    std::string quoted = "'";
    for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
    return quoted + "'";
}

}  // namespace

TrainingRecipe recipe_of(const Options& options) {
    TrainingRecipe recipe{.command = "tapestry " + options.name()};
    for (const OptionValue& option : options.values()) {
        if (option.given) recipe.command += " " + option.name;
        if (option.given && !option.is_flag) recipe.command += " " + quoted_for_shell(option.value);
        if (!option.value.empty()) {
            recipe.options.push_back({option.name, option.value, option.description});
        }
    }
    recipe.options.push_back({"directory", std::filesystem::current_path().string(),
                              "Where the command ran: paths begin here"});
    recipe.options.push_back({"tapestry", fmt::format("{}, {}", version(), compiler()),
                              "The same seed gives the same bits in the same build, on the same "
                              "instruction set, for any number of threads"});
    recipe.options.push_back(
        {"instruction set", std::string(name_of(current_isa())), "Chosen by the processor"});
    return recipe;
}

void set_option(TrainingRecipe& recipe, const std::string& name, const std::string& value) {
    for (RecipeLine& line : recipe.options) {
        if (line.name == name) line.value = value;
    }
}

std::vector<ExpectedLoss> expected_losses(const TextData& data, const Tokenizer& tokenizer) {
    const CountingLosses losses = counting_losses(
        data.ids(Split::train), data.ids(Split::validation), tokenizer.vocab_size());
    const std::string unit = unit_of(tokenizer);
    std::vector<ExpectedLoss> expected{
        {"guessing", losses.uniform,
         fmt::format("Every one of the {} {}s is as likely as any other: ln({}). An untrained "
                     "model's is about this.",
                     tokenizer.vocab_size(), unit, tokenizer.vocab_size())},
        {fmt::format("counting {}s", unit), losses.unigram,
         fmt::format("Knows how often each {} occurs in the training text, and nothing of what "
                     "came before.",
                     unit)}};
    if (losses.bigram) {
        expected.push_back(
            {"counting pairs", *losses.bigram,
             fmt::format("Knows how often each {} follows the one before it. To do better, a "
                         "model has to look further back.",
                         unit)});
    }
    return expected;
}

TrainReport::TrainReport(std::filesystem::path path, const Module& model, Hooks hooks)
    : path_(std::move(path)), hooks_(std::move(hooks)), flow_(model), started_(now_since_1970()) {
    timed([this] { report_ = TrainingReport(hooks_.recipe()); });
}

// Runs f, and no more than that is needed of it: the seconds count, and an error is told once.
template <class F>
double TrainReport::timed(const F& f) {
    const auto start = Clock::now();
    try {
        f();
    } catch (const Error& error) {
        if (!warned_) hooks_.warn(error.what());
        warned_ = true;
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    spent_ += seconds;
    return seconds;
}

bool TrainReport::affords(double seconds) const { return spent_ + seconds <= kShare * elapsed_; }

void TrainReport::before_evaluated_update(bool last) {
    last_evaluation_ = last;
    if (!last && !affords(flow_cost_)) return;
    watches_update_ = true;
    flow_cost_ = timed([this] { flow_.before_update(); });
}

void TrainReport::add(const StepMetrics& metrics) {
    elapsed_ = metrics.seconds;
    timed([&] { report_.add(metrics); });
    if (metrics.val_loss) evaluate(metrics);
    const bool first = metrics.step == 1;
    const bool due = metrics.val_loss || elapsed_ - last_written_ >= kLeastGap;
    const bool end_follows = metrics.val_loss && last_evaluation_;
    if (first || (due && !end_follows && affords(page_cost_))) write(TrainingState::running);
}

void TrainReport::evaluate(const StepMetrics& metrics) {
    ReportedEvaluation evaluation{.step = metrics.step, .val_loss = metrics.val_loss};
    if (watches_update_) {
        flow_cost_ += timed([&] { evaluation.flow = flow_.after_update(); });
    }
    watches_update_ = false;
    if (last_evaluation_ || affords(sample_cost_)) {
        sample_cost_ = timed([&] { evaluation.sample = hooks_.sample(); });
    }
    if (evaluation.flow.empty() && evaluation.sample.empty()) return;
    timed([&] { report_.add(std::move(evaluation)); });
}

void TrainReport::end(TrainingState state, const std::string& message) { write(state, message); }

void TrainReport::write(TrainingState state, const std::string& message) {
    is_written_ = false;
    page_cost_ = timed([&] {
        const ReportStatus status{.state = state,
                                  .message = message,
                                  .cost_seconds = spent_,
                                  .started = started_,
                                  .written = now_since_1970()};
        write_file_atomically(path_, to_html(report_, status));
        is_written_ = true;
    });
    last_written_ = elapsed_;
}

std::string TrainReport::summary() const {
    if (!is_written_) return {};
    return fmt::format("report in {}; it took {:.1f}% of the time\n", path_.string(),
                       elapsed_ > 0 ? 100 * spent_ / elapsed_ : 0);
}

}  // namespace tapestry::cli
