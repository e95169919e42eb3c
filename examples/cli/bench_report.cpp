#include <tapestry/core/cpu.h>
#include <tapestry/core/parallel.h>
#include <tapestry/core/team.h>
#include <tapestry/examples/cli/bench_report.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>

namespace tapestry::cli {
namespace {

using Json = nlohmann::ordered_json;

// "-" for nothing, so that what does not apply does not look like a measurement.
std::string number(double value, int decimals) {
    return value > 0 ? fmt::format("{:.{}f}", value, decimals) : "-";
}

}  // namespace

Times times_of(std::vector<double> seconds) {
    std::sort(seconds.begin(), seconds.end());
    return {seconds[seconds.size() / 2], seconds.front()};
}

double seconds_of(const std::function<void()>& f) {
    const auto start = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Times repeated(double budget, const std::function<double()>& f) {
    constexpr std::size_t kLeast = 5;
    std::vector<double> seconds;
    Team::run([&] {  // as in training
        f();
        const auto start = std::chrono::steady_clock::now();
        const auto spent = [start] {
            return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        };
        while (seconds.size() < kLeast || spent() < budget) seconds.push_back(f());
    });
    return times_of(std::move(seconds));
}

Times timed(double budget, const std::function<void()>& f) {
    return repeated(budget, [&f] { return seconds_of(f); });
}

std::string peak_text(const MachinePeak& peak, DType dtype) {
    std::string levels;
    for (const MachinePeak::Level& level : peak.levels) {
        levels += fmt::format("{}{:.0f} GB/s in {:.1f} MB", levels.empty() ? "" : ", ",
                              level.bytes_per_second / 1e9, static_cast<double>(level.bytes) / 1e6);
    }
    return fmt::format("peak: {:.1f} GFLOP/s in {} ({}, {} thread{});\n      {}",
                       peak.flops_per_second / 1e9, dtype, name_of(current_isa()), num_threads(),
                       num_threads() == 1 ? "" : "s", levels);
}

std::string peak_json(const MachinePeak& peak, DType dtype) {
    Json levels = Json::array();
    for (const MachinePeak::Level& level : peak.levels) {
        levels.push_back({{"bytes", level.bytes}, {"gb_per_s", level.bytes_per_second / 1e9}});
    }
    return Json{{"dtype", name_of(dtype)},
                {"isa", name_of(current_isa())},
                {"threads", num_threads()},
                {"gflops", peak.flops_per_second / 1e9},
                {"gb_per_s", peak.levels.back().bytes_per_second / 1e9},
                {"levels", levels}}
        .dump();
}

std::string percent(double share) { return share > 0 ? fmt::format("{:.0f}%", 100 * share) : "-"; }

double Measurement::share(const MachinePeak& peak) const {
    return peak.floor_seconds(flops, bytes) / times.median;
}

std::string measurement_head() {
    return fmt::format("{:<34}{:>11}{:>11}{:>10}{:>9}{:>8}{:>9}", "", "median ms", "min ms",
                       "GFLOP/s", "GB/s", "share", "peak MB");
}

std::string measurement_text(const Measurement& m, const MachinePeak& peak) {
    return fmt::format("{:<34}{:>11.4f}{:>11.4f}{:>10}{:>9}{:>8}{:>9.1f}", m.what,
                       1e3 * m.times.median, 1e3 * m.times.min,
                       number(m.flops / m.times.median / 1e9, 1),
                       number(m.bytes / m.times.median / 1e9, 1), percent(m.share(peak)),
                       static_cast<double>(m.peak_bytes) / 1e6);
}

std::string measurement_json(const Measurement& m, const MachinePeak& peak) {
    return Json{{"what", m.what},
                {"median_ms", 1e3 * m.times.median},
                {"min_ms", 1e3 * m.times.min},
                {"gflops", m.flops / m.times.median / 1e9},
                {"gb_per_s", m.bytes / m.times.median / 1e9},
                {"share", m.share(peak)},
                {"peak_bytes", m.peak_bytes}}
        .dump();
}

}  // namespace tapestry::cli
