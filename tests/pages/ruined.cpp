#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/core/file.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/pages/page.h>
#include <tapestry/nn/pages/report.h>
#include <tapestry/tests/pages/pages.h>

#include <cmath>

namespace tapestry {
namespace {

TrainingRecipe recipe(std::int64_t steps, const char* rate) {
    return {.title = "Training on t.txt",
            .subtitle = "a model that never was",
            .command = std::string("tapestry train --text t.txt --lr ") + rate + " --out m",
            .rewind = "tapestry rewind m",
            .options = {{"--lr", rate, "Learning rate"}, {"--out", "m", "Directory"}},
            .expected = {{"guessing", std::log(65.0), "ln(65)"},
                         {"counting characters", 3.3, "frequencies"},
                         {"counting pairs", 2.4, "pairs"}},
            .steps = steps,
            .tokens_per_step = 100,
            .clip = 1,
            .usual_lr = 1e-3,
            .unit = "character"};
}

// Step s: loss 10^(18 s / 60), rate 10, norm 10^(s / 2).
TrainingReport ruined() {
    TrainingReport report(recipe(300, "10"));
    for (int step = 1; step <= 60; ++step) {
        const double loss = step == 1 ? 4.2 : std::pow(10.0, 3 + 15.0 * step / 60);
        report.add(StepMetrics{.step = step,
                               .loss = loss,
                               .lr = 10,
                               .grad_norm = std::pow(10.0, step / 2.0),
                               .seconds = 0.01 * step,
                               .step_seconds = 0.01});
    }
    return report;
}

ParameterFlow flow_of(double ratio) {
    return {.name = "blocks.0.up.weight",
            .shape = {4, 8},
            .value_rms = 0.5,
            .gradient_rms = 0.002,
            .update_rms = 0.5 * ratio,
            .values = {.first = -7, .counts = {2, 6, 16, 6, 2}},
            .gradients = {.first = -11, .counts = {16, 8, 8}},
            .updates = {.first = -14, .counts = {8, 16, 8}}};
}

// The rate falls to 9e-9; losses around 1.3 and 2, but for single ones.
TrainingReport exact() {
    constexpr int kSteps = 200000;
    TrainingReport report(recipe(kSteps, "0.001"));
    for (int step = 1; step <= kSteps; ++step) {
        StepMetrics m{.step = step,
                      .loss = step == kSteps ? 1.111 : 1.3 + 0.01 * (step % 7),
                      .lr = step == kSteps   ? 9e-9
                            : step <= 100000 ? 1e-3
                                             : 4e-4,
                      .grad_norm = 0.5,
                      .seconds = 0.01 * step,
                      .step_seconds = 0.01};
        if (step % 100 == 0) {
            m.val_loss = step == kSteps   ? 1.9884
                         : step == 150000 ? 1.9279
                                          : 1.95 + 0.001 * (step % 3);
        }
        report.add(m);
        if (step % 50000 != 0) continue;
        report.add({.step = step,
                    .val_loss = m.val_loss,
                    .lr = m.lr,
                    .flow = {flow_of(step == kSteps ? 1.3e-8 : 1e-3)}});
    }
    return report;
}

// `factor`: of all queries' and keys' projections.
void write_step(const std::filesystem::path& to, const GPTConfig& config, std::int64_t tokens,
                float factor) {
    Generator generator(5);
    const GPT model(config, generator);
    for (const auto& [name, parameter] : model.named_parameters()) {
        if (name != "blocks.0.attention.qkv.weight") continue;
        float* x = Tensor(parameter).mutable_data<float>();
        for (std::int64_t i = 0; i < parameter.numel(); ++i) x[i] *= factor;
    }
    const Tensor ids = randint(0, 30, {1, tokens}, generator);
    Inspector inspector(model);
    Tape tape;
    tape.backward(model.loss(ids, ids));
    inspector.finish();
    write_file_atomically(to, to_html(inspector, {.title = "One step", .subtitle = "a test"}));
}

}  // namespace

void write_ruined(const std::filesystem::path& directory) {
    write_file_atomically(directory / "report_ruined.html",
                          to_html(ruined(), {.state = TrainingState::diverged,
                                             .message = "train: step 61: the loss is nan",
                                             .started = 1,
                                             .written = 2}));
    write_file_atomically(
        directory / "report_exact.html",
        to_html(exact(), {.state = TrainingState::finished, .started = 1, .written = 2}));
    const GPTConfig usual{.vocab = 30, .context = 48, .layers = 2, .heads = 2, .dim = 16};
    write_step(directory / "overflow.html", usual, 16, 1e21F);
    write_step(directory / "forty.html", usual, 40, 1);
    const GPTConfig fast{
        .vocab = 30, .context = 48, .layers = 1, .heads = 1, .dim = 16, .earlier = 2};
    write_step(directory / "history.html", fast, 8, 1);
}

}  // namespace tapestry
