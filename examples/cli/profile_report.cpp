#include <tapestry/examples/cli/bench_report.h>
#include <tapestry/examples/cli/profile_report.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace tapestry::cli {
namespace {

using Json = nlohmann::ordered_json;

// ---- text ---------------------------------------------------------------------------------------

std::string head(const std::string& title) {
    return fmt::format("\n{:<28}{:>6}{:>12}{:>13}{:>10}{:>10}{:>10}{:>7}\n", title, "calls",
                       "forward ms", "backward ms", "GFLOP", "MB", "floor ms", "share");
}

// "-" for what does not apply.
std::string number(double value, int decimals) {
    return value > 0 ? fmt::format("{:.{}f}", value, decimals) : "-";
}

std::string line(const std::string& name, const ProfileRow& row) {
    const ProfiledWork all = row.total();
    return fmt::format("{:<28}{:>6}{:>12}{:>13}{:>10}{:>10}{:>10}{:>7}\n", name,
                       row.forward.calls > 0 ? row.forward.calls : row.backward.calls,
                       number(1e3 * row.forward.seconds, 3), number(1e3 * row.backward.seconds, 3),
                       number(all.flops / 1e9, 3), number(all.bytes / 1e6, 1),
                       number(1e3 * all.floor, 3), percent(all.share()));
}

std::string name_of_module(const ProfileRow& row) {
    return row.module.empty() ? "(the model itself)" : row.module;
}

// ---- JSON ---------------------------------------------------------------------------------------

Json json_of(const ProfiledWork& work) {
    return {{"calls", work.calls},    {"ms", 1e3 * work.seconds},     {"gflop", work.flops / 1e9},
            {"mb", work.bytes / 1e6}, {"floor_ms", 1e3 * work.floor}, {"share", work.share()}};
}

enum class Name { op, module, both };

Json json_of(const std::vector<ProfileRow>& rows, Name name) {
    Json all = Json::array();
    for (const ProfileRow& row : rows) {
        Json one;
        if (name != Name::module) one["op"] = row.op;
        if (name != Name::op) one["module"] = row.module;
        one["forward"] = json_of(row.forward);
        one["backward"] = json_of(row.backward);
        one["total"] = json_of(row.total());
        all.push_back(std::move(one));
    }
    return all;
}

// What both have to say of the whole.
struct Totals {
    ProfiledWork tape, outside, all;
    Times step;
    double flops;  // of the model's products, by its sizes
    double share;  // of the peak, counted by these and the median step

    explicit Totals(const ProfileReport& r)
        : tape(sum_of(r.rows).total()),
          outside(sum_of(r.outside).total()),
          all(tape),
          step(times_of(r.step_seconds)),
          flops(step_flops(r.config, r.batch)),
          share(r.peak.floor_seconds(flops, 0) / step.median) {
        all += outside;
    }
};

}  // namespace

std::string to_string(const ProfileReport& r) {
    const Totals t(r);
    std::string text = fmt::format(
        "{}\n{}: {} layers, {} heads, dim {}, context {}, vocabulary {}, batch {}, {} parameters\n",
        peak_text(r.peak, DType::f32), r.what, r.config.layers, r.config.heads, r.config.dim,
        r.config.context, r.config.vocab, r.batch, r.parameters);
    text += fmt::format("{} steps: median {:.3f} ms, fastest {:.3f} ms; {:.1f} GFLOP/s, ",
                        r.step_seconds.size(), 1e3 * t.step.median, 1e3 * t.step.min,
                        t.flops / t.step.median / 1e9);
    text += fmt::format("{} of the peak; at most {:.0f} MB\n", percent(t.share),
                        static_cast<double>(r.peak_bytes) / 1e6);

    text += head("by operation");
    for (const ProfileRow& row : by_op(r.rows)) text += line(row.op, row);
    text += line("all", sum_of(r.rows));
    text += head("by module");
    for (const ProfileRow& row : by_module(r.rows, r.depth)) text += line(name_of_module(row), row);
    text += head("outside of the tape");
    for (const ProfileRow& row : by_op(r.outside)) text += line(row.op, row);
    text += fmt::format("\nsum of floors {:.3f} ms of {:.3f} ms in the fastest step: {}; ",
                        1e3 * t.all.floor, 1e3 * t.all.seconds, percent(t.all.share()));
    text += fmt::format("{:.3f} ms on the tape, {:.3f} ms outside of it", 1e3 * t.tape.seconds,
                        1e3 * t.outside.seconds);
    return text;
}

std::string to_json(const ProfileReport& r) {
    const Totals t(r);
    const Json json{{"what", r.what},
                    {"layers", r.config.layers},
                    {"heads", r.config.heads},
                    {"dim", r.config.dim},
                    {"context", r.config.context},
                    {"vocab", r.config.vocab},
                    {"batch", r.batch},
                    {"parameters", r.parameters},
                    {"steps", r.step_seconds.size()},
                    {"median_ms", 1e3 * t.step.median},
                    {"min_ms", 1e3 * t.step.min},
                    {"gflops", t.flops / t.step.median / 1e9},
                    {"share", t.share},
                    {"peak_bytes", r.peak_bytes},
                    {"total", json_of(t.all)},
                    {"tape", json_of(t.tape)},
                    {"outside", json_of(r.outside, Name::op)},
                    {"ops", json_of(by_op(r.rows), Name::op)},
                    {"modules", json_of(by_module(r.rows, r.depth), Name::module)},
                    {"rows", json_of(r.rows, Name::both)},
                    {"ceiling", Json::parse(peak_json(r.peak, DType::f32))}};
    return json.dump();
}

}  // namespace tapestry::cli
