#include <tapestry/core/file.h>
#include <tapestry/nn/pages/report.h>
#include <tapestry/tests/pages/pages.h>

#include <fmt/core.h>

#include <chrono>
#include <cmath>

namespace tapestry {
namespace {

constexpr double kStarted = 1000;

// Two processes; the first is slower and waits less.
std::vector<ProcessAccount> processes() {
    return {{.host = "alpha</script>",
             .threads = 1,
             .tokens = 120000,
             .flops = 3e12,
             .seconds = 30,
             .waiting = 1.5,
             .travel = 4,
             .travel_waited = 0.1,
             .bytes_sent = 2.5e6,
             .moment_bytes = 65536},
            {.host = "beta",
             .threads = 2,
             .tokens = 110400,
             .flops = 2.76e12,
             .seconds = 30,
             .waiting = 6,
             .travel = 8,
             .travel_waited = 2,
             .bytes_sent = 2.4e6,
             .moment_bytes = 61440}};
}

TrainingRecipe recipe(std::int64_t steps) {
    return {.title = "Training on \u732b</script>.txt",
            .subtitle = "a model that never was",
            .command = "tapestry train --text '\u732b</script>.txt' --out m",
            .rewind = "tapestry rewind '</script>'",
            .options = {{"--steps", std::to_string(steps), "Optimiser steps"},
                        {"--seed", "1337", "Seed for all random numbers"}},
            .expected = {{"guessing", std::log(65.0), "Every character is as likely: ln(65)"},
                         {"counting characters", 3.3, "Knows how often each occurs"},
                         {"counting pairs", 2.4, "Knows which came before"}},
            .steps = steps,
            .tokens_per_step = 768,
            .step_least = 0.05,
            .clip = 1,
            .sentence = {"the", " cat", "</script>", " sat"},
            .name_of = [](std::int64_t id) { return fmt::format("word {}", id); }};
}

// Three tokens and the next one; two heads with uniform attention until the first finds the
// previous token; the first token becomes ever more likely.
SentenceProbe look_at_step(std::int64_t step) {
    const float found = step < 200 ? 0 : 0.8F;
    SentenceProbe look;
    AttentionTrace seen;
    seen.entry = 4;
    seen.module = "blocks.0.attention";
    seen.causal = true;
    seen.heads = 2;
    seen.queries = seen.keys = 3;
    for (const float share : {found, 0.0F}) {
        for (int i = 0; i < 3; ++i) {
            for (int j = 0; j < 3; ++j) {
                const float even = j > i ? 0 : (1 - share) / static_cast<float>(i + 1);
                seen.weights.push_back(even + (i > 0 && j == i - 1 ? share : 0));
            }
        }
        seen.entropy.push_back(share > 0 ? 0.4 : (std::log(2) + std::log(3)) / 3);
    }
    look.attention.push_back(seen);
    // The stream grows by a layer's two additions; the gradient shrinks tenfold at each on its way
    // back.
    const auto s = static_cast<float>(step);
    look.places = {0, 1, 2};
    look.stream = {{0, "embedding", "token_embedding", {1, 1, 1}, {1e-3F, 2e-3F, 3e-3F}},
                   {6, "add", "blocks.0", {2, 2, s / 100}, {1e-2F, 2e-2F, 3e-2F}},
                   {9, "add", "blocks.0", {4, 4, 4}, {0.1F, 0.2F, 0.3F}}};
    const double p = 1 - 10.0 / static_cast<double>(step);
    look.rows.push_back({.right = 1, .loss = -std::log(p), .rank = 1, .likeliest = {{1, p}}});
    look.rows.push_back({.right = 2, .loss = std::log(4), .rank = 2, .likeliest = {{9, 0.5}}});
    look.rows.push_back({.right = 3, .loss = std::log(2), .rank = 1, .likeliest = {{3, 0.5}}});
    return look;
}

// Values spread around 2^-5, gradients around 2^-9; the relative update shrinks.
std::vector<ParameterFlow> flow_at(std::int64_t step) {
    std::vector<ParameterFlow> flow;
    for (const char* name : {"embedding.weight", "blocks.0.norm.weight", "head.bias"}) {
        flow.push_back({.name = name,
                        .shape = {4, 8},
                        .value_rms = 0.5,
                        .gradient_rms = 0.002,
                        .update_rms = 0.1 / static_cast<double>(step),
                        .values = {.first = -7, .counts = {2, 6, 16, 6, 2}},
                        .gradients = {.first = -11, .counts = {4, 8, 4}},
                        .updates = {.first = -14, .counts = {8, 16, 8}}});
    }
    return flow;
}

// Step s: loss 2 + 2 e^(-s / 100), rate s / 10^6, norm 2 - s / steps but 9 at one, 0.1 seconds.
TrainingReport training(std::int64_t steps, std::int64_t planned, std::int64_t eval_every) {
    TrainingReport report(recipe(planned));
    if (steps == 300) report.set_processes(processes());
    for (std::int64_t step = 1; step <= steps; ++step) {
        const auto s = static_cast<double>(step);
        StepMetrics m{.step = step,
                      .loss = 2 + 2 * std::exp(-s / 100),
                      .lr = 1e-6 * s,
                      .grad_norm = step == 350 ? 9 : 2 - s / static_cast<double>(planned),
                      .seconds = 0.1 * s,
                      .step_seconds = 0.1};
        if (step % eval_every == 0) m.val_loss = 2.5 + 1 / s;
        report.add(m);
        if (!m.val_loss) continue;
        report.add({.step = step,
                    .val_loss = m.val_loss,
                    .sample = fmt::format("\u732b\u5750\u5728\u57ab\u5b50\u4e0a </script> {}\n\n"
                                          "  the cat sat",
                                          step),
                    .flow = flow_at(step),
                    .look = look_at_step(step)});
    }
    return report;
}

// A run of 12 layers of 8 heads on 24 tokens: as much as a report draws.
TrainingReport deep_run() {
    constexpr std::int64_t kTokens = 24, kLayers = 12, kHeads = 8;
    TrainingRecipe of = recipe(2000);
    of.sentence.assign(kTokens + 1, "word");
    TrainingReport report(of);
    for (std::int64_t step = 1; step <= 2000; ++step) {
        const auto s = static_cast<double>(step);
        StepMetrics m{
            .step = step, .loss = 1 + 3 * std::exp(-s / 300), .lr = 1e-3, .seconds = s / 10};
        if (step % 100 == 0) m.val_loss = m.loss;
        report.add(m);
        if (!m.val_loss) continue;
        SentenceProbe look;
        for (std::int64_t i = 0; i < kTokens; ++i) {
            look.places.push_back(i);
            look.rows.push_back({.right = 1, .loss = m.loss, .rank = 2, .likeliest = {{i, 0.5}}});
        }
        const auto add = [&](int entry, const char* op, const std::string& module) {
            const auto size = static_cast<float>(1 + entry * s / 2e4);
            look.stream.push_back({entry, op, module, std::vector<float>(kTokens, size),
                                   std::vector<float>(kTokens, 1 / size)});
        };
        add(0, "embedding", "token_embedding");
        for (int layer = 0; layer < kLayers; ++layer) {
            AttentionTrace seen;
            seen.entry = 10 * layer + 2;
            seen.module = fmt::format("blocks.{}.attention", layer);
            seen.causal = true;
            seen.heads = kHeads, seen.queries = seen.keys = kTokens;
            for (std::int64_t i = 0; i < kHeads * kTokens * kTokens; ++i) {
                seen.weights.push_back(i % (kTokens + 1) == 0 ? 0.5F : 0.01F);
            }
            seen.entropy.assign(kHeads, 1.5);
            look.attention.push_back(seen);
            add(10 * layer + 4, "add", fmt::format("blocks.{}", layer));
            add(10 * layer + 8, "add", fmt::format("blocks.{}", layer));
        }
        report.add({.step = step, .val_loss = m.val_loss, .look = look});
    }
    return report;
}

}  // namespace

void write_reports(const std::filesystem::path& directory) {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    const double now = std::chrono::duration<double>(since).count();
    const auto write = [&](const char* name, const TrainingReport& report, ReportStatus status) {
        status.started = kStarted;
        status.cost_seconds = 0.1;
        write_file_atomically(directory / name, to_html(report, status));
    };
    write("report_running.html", training(300, 2000, 100), {.written = now});
    write("report_newer.html", training(400, 2000, 100), {.written = now + 1});
    write("report_finished.html", training(2000, 2000, 100),
          {.state = TrainingState::finished, .written = now + 2});
    write("report_diverged.html", training(0, 2000, 100),
          {.state = TrainingState::diverged, .message = "the loss is nan", .written = now});
    write("report_old.html", training(300, 2000, 100), {.written = now - 7200});
    write("report_long.html", training(100000, 100000, 250),
          {.state = TrainingState::finished, .written = now});
    write("report_deep.html", deep_run(), {.state = TrainingState::finished, .written = now});
}

}  // namespace tapestry
