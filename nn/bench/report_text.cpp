#include <tapestry/core/cpu.h>
#include <tapestry/core/parallel.h>
#include <tapestry/core/text/message.h>
#include <tapestry/nn/bench/profile.h>
#include <tapestry/nn/bench/report.h>

#include <fmt/format.h>

namespace tapestry::bench {
namespace {

// "-" for 0, so a value that does not apply does not look measured.
std::string number(double value, int decimals) {
    return value > 0 ? fmt::format("{:.{}f}", value, decimals) : "-";
}

double megabytes(std::size_t bytes) { return static_cast<double>(bytes) / 1e6; }

// Tables are at most 80 columns wide. Times are in ms.
std::string profile_head(const std::string& title) {
    return fmt::format("\n{:<26}{:>6}{:>9}{:>9}{:>8}{:>7}{:>7}{:>8}\n", title + ", in ms", "calls",
                       "forward", "backward", "GFLOP", "MB", "least", "of peak");
}

std::string profile_line(const std::string& name, const ProfileRow& row) {
    const ProfiledWork all = row.total();
    return fmt::format("{:<26}{:>6}{:>9}{:>9}{:>8}{:>7}{:>7}{:>8}\n", name,
                       row.forward.calls > 0 ? row.forward.calls : row.backward.calls,
                       number(1e3 * row.forward.seconds, 3), number(1e3 * row.backward.seconds, 3),
                       number(all.flops / 1e9, 3), number(all.bytes / 1e6, 1),
                       number(1e3 * all.least, 3), percent(all.of_peak()));
}

std::string profile_tables(const StepProfile& profile, int depth) {
    std::string text = profile_head("by operation");
    for (const ProfileRow& row : by_op(profile.rows)) text += profile_line(row.op, row);
    text += profile_line("all", sum_of(profile.rows));
    text += profile_head("by module");
    for (const ProfileRow& row : by_module(profile.rows, depth)) {
        text += profile_line(row.module.empty() ? "(the model itself)" : row.module, row);
    }
    text += profile_head("outside of the tape");
    for (const ProfileRow& row : by_op(profile.outside)) text += profile_line(row.op, row);
    const auto impossible = [](const ProfileRow& row) { return row.total().of_peak() > 1.05; };
    if (std::ranges::any_of(profile.rows, impossible)) {
        text += "\nabove 100% of the peak: other programs ran while it was measured\n";
    }
    return text;
}

}  // namespace

std::string peak_text(const MachinePeak& peak) {
    constexpr int kPerLine = 3;
    std::string levels;
    int count = 0;
    for (const MachinePeak::Level& level : peak.levels) {
        const char* before = count == 0 ? "" : count % kPerLine == 0 ? ",\n      " : ", ";
        levels += fmt::format("{}{:.0f} GB/s in {:.1f} MB", before, level.bytes_per_second / 1e9,
                              megabytes(level.bytes));
        ++count;
    }
    return fmt::format("peak: {:.1f} GFLOP/s in {} ({}, {});\n      {}",
                       peak.flops_per_second / 1e9, name_of(peak.dtype), name_of(current_isa()),
                       pluralize(num_threads(), "thread"), levels);
}

std::string percent(double x) { return x > 0 ? fmt::format("{:.0f}%", 100 * x) : "-"; }

std::string table_head() {
    return fmt::format("{:<29}{:>10}{:>10}{:>8}{:>7}{:>8}{:>8}", "", "median ms", "min ms",
                       "GFLOP/s", "GB/s", "of peak", "peak MB");
}

std::string table_row(const Measurement& m, const MachinePeak& peak) {
    return fmt::format("{:<29}{:>10.4f}{:>10.4f}{:>8}{:>7}{:>8}{:>8.1f}",
                       m.backward ? "  backward" : m.what, 1e3 * m.times.median, 1e3 * m.times.min,
                       number(m.flops / m.times.median / 1e9, 1),
                       number(m.bytes / m.times.median / 1e9, 1), percent(m.of_peak(peak)),
                       megabytes(m.peak_bytes));
}

std::string to_text(const StepRow& row, const MachinePeak& peak) {
    const Measurement& m = row.measurement;
    return fmt::format(
        "{} parameters, {}: median {:.2f} ms, fastest {:.2f} ms per step\n"
        "{:.0f} tokens/s, {:.1f} GFLOP/s ({} of the peak), at most {:.0f} MB",
        row.parameters, pluralize(num_threads(), "thread"), 1e3 * m.times.median, 1e3 * m.times.min,
        row.tokens_per_second, m.flops / m.times.median / 1e9, percent(m.of_peak(peak)),
        megabytes(m.peak_bytes));
}

std::string to_text(const BusyRow& row) {
    std::string text =
        fmt::format("{} parameters, {}\n{:<34}{:>11}{:>11}{:>11}\n", row.parameters,
                    pluralize(num_threads(), "thread"), "", "median ms", "95% in ms", "min ms");
    const auto line = [&text](const char* what, const Times& t) {
        text += fmt::format("{:<34}{:>11.3f}{:>11.3f}{:>11.3f}\n", what, 1e3 * t.median,
                            1e3 * t.p95, 1e3 * t.min);
    };
    line("steps", row.quiet);
    line("with a spinning loop", row.busy);
    return text + fmt::format("{:<34}{:>11.2f}{:>11.2f}{:>11.2f}", "times as long",
                              row.busy.median / row.quiet.median, row.busy.p95 / row.quiet.p95,
                              row.busy.min / row.quiet.min);
}

std::string to_text(const SamplingRow& row) {
    return fmt::format(
        "{} parameters, {}: {:.0f} tokens/s ({:.1f} GB/s of weights);\n"
        "without the cache {:.0f} tokens/s, {} tokens\n"
        "median {:.3f} ms, fastest {:.3f} ms per token, at most {:.0f} MB\n"
        "{} of the peak: the weights can be read at {:.1f} GB/s",
        row.parameters, pluralize(num_threads(), "thread"), 1 / row.token.median,
        row.bytes_per_second() / 1e9, row.tokens_per_second_without_cache,
        row.same_tokens ? "the same" : "other", 1e3 * row.token.median, 1e3 * row.token.min,
        megabytes(row.peak_bytes), percent(row.of_peak()), row.read_speed / 1e9);
}

std::string to_text(const DataRow& row) {
    const auto line = [&row](const std::string& what, const Times& times) {
        return fmt::format("{:<34}{:>9.1f} MB/s\n", what, row.bytes_per_second(times) / 1e6);
    };
    return fmt::format("{:.1f} MB of text, one thread\n", row.bytes / 1e6) +
           line("characters, found and encoded", row.characters) +
           line(fmt::format("learning {} byte pairs", row.vocab), row.learning) +
           line("byte pairs, encoded", row.byte_pairs) +
           fmt::format("{:<34}{:>9.2f} us", "drawing a batch", 1e6 * row.batch.median);
}

std::string to_text(const CheckpointRow& row) {
    std::string text = fmt::format("{} parameters, {:.1f} MB a checkpoint, one every {:g} s\n",
                                   row.parameters, row.bytes / 1e6, row.interval);
    text += fmt::format("{:<9}{:>9}{:>10}{:>13}{:>13}{:>13}{:>13}\n", "", "seconds", "step, ms",
                        "longest, ms", "checkpoints", "waited, ms", "writer, ms");
    const auto line = [&text](const char* what, const CheckpointTraining& one) {
        text += fmt::format("{:<9}{:>9.2f}{:>10.2f}{:>13.2f}{:>13}{:>13.2f}{:>13.2f}\n", what,
                            one.seconds, 1e3 * one.median, 1e3 * one.longest, one.checkpoints,
                            1e3 * one.waited, 1e3 * one.writer_seconds);
    };
    for (std::size_t i = 0; i < row.with.size(); ++i) {
        line("without", row.without[i]);
        line("with", row.with[i]);
    }
    return text + fmt::format(
                      "steps were blocked for {:.2f}% of the time, the writer took {:.2f}%;\n"
                      "the longest step was {:.2f} times the median, {:.2f} without",
                      100 * row.waited_share(), 100 * row.writer_share(),
                      row.longest_share(row.with), row.longest_share(row.without));
}

// The predicted time of the same step on other networks: common speeds, with 0.2 ms latency.
std::string to_text(const Messages& m) {
    std::string text = fmt::format(
        "process 0 of {} sent {:.2f} MB a step: gradients {:.2f} ms under way,\n"
        "of which {:.2f} ms were waited for ({} hidden); parameters {:.2f} ms\n",
        m.processes, m.bytes / 1e6, 1e3 * m.gradients, 1e3 * m.waited, percent(m.hidden_share()),
        1e3 * m.parameters);
    text +=
        fmt::format("{:.2f} ms a step without waiting; by the model of docs/distributed.md,\nwith",
                    1e3 * m.step.compute);
    for (const double gbit : {1.0, 10.0, 25.0}) {
        const NetworkCost cost = network_cost(m.step, {.bytes_per_second = gbit * 125e6});
        text +=
            fmt::format("{} {:g} Gbit/s {:.2f} ms", gbit == 1 ? "" : ",", gbit, 1e3 * cost.total);
    }
    return text + "\n";
}

std::string to_text(const ModelProfile& p, int depth) {
    const ProfileTotals t(p);
    const CommonSettings c = common_settings(p.config);
    std::string text = fmt::format(
        "{}\n{}: {}, {}, dim {}, context {},\n  vocabulary {}, batch {}, {} parameters\n",
        peak_text(p.profile.peak), p.what, pluralize(c.layers, "layer"), pluralize(c.heads, "head"),
        c.dim, c.context, c.vocab, p.batch, p.parameters);
    text += fmt::format("{}: median {:.3f} ms, fastest {:.3f} ms; {:.1f} GFLOP/s,\n",
                        pluralize(std::ssize(p.profile.step_seconds), "step"), 1e3 * t.step.median,
                        1e3 * t.step.min, t.flops / t.step.median / 1e9);
    text += fmt::format("  {} of the peak; at most {:.0f} MB\n", percent(t.of_peak),
                        megabytes(p.profile.peak_bytes));
    if (p.profile.messages.processes > 1) text += to_text(p.profile.messages);
    text += profile_tables(p.profile, depth);
    text += fmt::format("\nleast {:.3f} ms of {:.3f} ms in the fastest step: {} of the peak;\n",
                        1e3 * t.all.least, 1e3 * t.all.seconds, percent(t.all.of_peak()));
    return text + fmt::format("{:.3f} ms on the tape, {:.3f} ms outside of it",
                              1e3 * t.tape.seconds, 1e3 * t.outside.seconds);
}

}  // namespace tapestry::bench
