#include <tapestry/core/cpu.h>
#include <tapestry/core/parallel.h>
#include <tapestry/nn/bench/profile_totals.h>
#include <tapestry/nn/bench/report.h>

#include <nlohmann/json.hpp>

#include <algorithm>

namespace tapestry::bench {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const MachinePeak& peak) {
    Json levels = Json::array();
    for (const MachinePeak::Level& level : peak.levels) {
        levels.push_back({{"bytes", level.bytes}, {"gb_per_s", level.bytes_per_second / 1e9}});
    }
    return {{"dtype", name_of(peak.dtype)},
            {"isa", name_of(current_isa())},
            {"threads", num_threads()},
            {"gflops", peak.flops_per_second / 1e9},
            {"gb_per_s", peak.levels.back().bytes_per_second / 1e9},
            {"levels", levels}};
}

double gflops_of(const Measurement& m) { return m.flops / m.times.median / 1e9; }

Json json_of(const Measurement& m, const MachinePeak& peak) {
    return {{"what", m.what},
            {"median_ms", 1e3 * m.times.median},
            {"min_ms", 1e3 * m.times.min},
            {"gflops", gflops_of(m)},
            {"gb_per_s", m.bytes / m.times.median / 1e9},
            {"of_peak", m.of_peak(peak)},
            {"peak_bytes", m.peak_bytes}};
}

// [{"n": 64, "nn": 147.2, ...}, ...] of the square ones, in GFLOP/s.
Json squares_of(const std::vector<GemmRow>& rows) {
    Json squares = Json::array();
    for (const auto& [p, measurement] : rows) {
        if (squares.empty() || squares.back().at("n") != p.n) squares.push_back({{"n", p.n}});
        const std::string form{p.form[0] == 'N' ? 'n' : 't', p.form[1] == 'N' ? 'n' : 't'};
        squares.back()[form] = gflops_of(measurement);
    }
    return squares;
}

bool is_square(const GemmRow& row) {
    return row.product.m == row.product.n && row.product.n == row.product.k;
}

// ---- a profile ----------------------------------------------------------------------------------

Json json_of(const ProfiledWork& work) {
    return {{"calls", work.calls},    {"ms", 1e3 * work.seconds},     {"gflop", work.flops / 1e9},
            {"mb", work.bytes / 1e6}, {"least_ms", 1e3 * work.least}, {"of_peak", work.of_peak()}};
}

enum class Name { op, module, both };

// One process alone tells nobody anything.
Json json_of(const Messages& m) {
    Json predicted = Json::array();  // by Gbit/s
    for (const double gbit : {0.1, 0.2, 0.5, 1.0, 2.5, 10.0, 25.0}) {
        if (m.processes == 1) break;
        const NetworkCost cost = network_cost(m.step, {.bytes_per_second = gbit * 125e6});
        predicted.push_back({{"gbit", gbit},
                             {"step_ms", 1e3 * cost.total},
                             {"exposed_ms", 1e3 * cost.exposed},
                             {"gradients_ms", 1e3 * cost.gradients}});
    }
    return {{"processes", m.processes},
            {"bytes", m.bytes},
            {"gradients_ms", 1e3 * m.gradients},
            {"waited_ms", 1e3 * m.waited},
            {"hidden_share", m.hidden_share()},
            {"parameters_ms", 1e3 * m.parameters},
            {"compute_ms", 1e3 * m.step.compute},
            {"to_go", m.step.to_go},
            {"predicted", predicted}};
}

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

}  // namespace

std::string to_json(const std::vector<GemmRow>& rows, DType dtype, const MachinePeak& peak) {
    Json json{{"threads", num_threads()}, {"dtype", name_of(dtype)}};
    if (std::all_of(rows.begin(), rows.end(), is_square)) json["gflops"] = squares_of(rows);
    json["products"] = Json::array();
    for (const auto& [p, measurement] : rows) {
        Json row{{"m", p.m}, {"n", p.n}, {"k", p.k}, {"form", p.form}};
        row.update(json_of(measurement, peak));
        json["products"].push_back(std::move(row));
    }
    json["peak"] = json_of(peak);
    return json.dump();
}

std::string to_json(const std::vector<Measurement>& rows, const AttentionOptions& options,
                    const MachinePeak& peak) {
    Json all = Json::array();
    for (const Measurement& m : rows) all.push_back(json_of(m, peak));
    return Json{{"what", title_of(options)},
                {"threads", num_threads()},
                {"rows", all},
                {"peak", json_of(peak)}}
        .dump();
}

std::string to_json(const std::vector<Measurement>& rows, const OpsOptions& options,
                    const MachinePeak& peak) {
    Json all = Json::array();
    for (const Measurement& m : rows) {
        all.push_back(json_of(m, peak));
        all.back()["backward"] = m.backward;
    }
    return Json{{"threads", num_threads()},
                {"dtype", name_of(options.dtype)},
                {"rows", all},
                {"peak", json_of(peak)}}
        .dump();
}

std::string to_json(const StepRow& row, const MachinePeak& peak) {
    const Measurement& m = row.measurement;
    return Json{{"median_ms", 1e3 * m.times.median},
                {"min_ms", 1e3 * m.times.min},
                {"tokens_per_s", row.tokens_per_second},
                {"gflops", gflops_of(m)},
                {"of_peak", m.of_peak(peak)},
                {"peak_bytes", m.peak_bytes},
                {"parameters", row.parameters},
                {"threads", num_threads()},
                {"peak", json_of(peak)}}
        .dump();
}

std::string to_json(const BusyRow& row) {
    const auto times = [](const Times& t) {
        return Json{
            {"median_ms", 1e3 * t.median}, {"p95_ms", 1e3 * t.p95}, {"min_ms", 1e3 * t.min}};
    };
    return Json{{"quiet", times(row.quiet)},
                {"busy", times(row.busy)},
                {"median_ratio", row.busy.median / row.quiet.median},
                {"p95_ratio", row.busy.p95 / row.quiet.p95},
                {"parameters", row.parameters},
                {"threads", num_threads()}}
        .dump();
}

std::string to_json(const SamplingRow& row, const MachinePeak& peak) {
    return Json{{"tokens_per_s", 1 / row.token.median},
                {"median_ms", 1e3 * row.token.median},
                {"min_ms", 1e3 * row.token.min},
                {"tokens_per_s_without_cache", row.tokens_per_second_without_cache},
                {"gb_per_s", row.bytes_per_second() / 1e9},
                {"reading_gb_per_s", row.read_speed / 1e9},
                {"of_peak", row.of_peak()},
                {"peak_bytes", row.peak_bytes},
                {"same_tokens", row.same_tokens},
                {"threads", num_threads()},
                {"peak", json_of(peak)}}
        .dump();
}

std::string to_json(const DataRow& row) {
    return Json{{"bytes", row.bytes},
                {"vocab", row.vocab},
                {"characters_mb_per_s", row.bytes_per_second(row.characters) / 1e6},
                {"learning_mb_per_s", row.bytes_per_second(row.learning) / 1e6},
                {"byte_pairs_mb_per_s", row.bytes_per_second(row.byte_pairs) / 1e6},
                {"batch_us", 1e6 * row.batch.median}}
        .dump();
}

std::string to_json(const CheckpointRow& row) {
    const auto trainings = [](const std::vector<CheckpointTraining>& all) {
        Json list = Json::array();
        for (const CheckpointTraining& one : all) {
            list.push_back({{"seconds", one.seconds},
                            {"median_ms", 1e3 * one.median},
                            {"longest_ms", 1e3 * one.longest},
                            {"waited_ms", 1e3 * one.waited},
                            {"writer_ms", 1e3 * one.writer_seconds},
                            {"checkpoints", one.checkpoints}});
        }
        return list;
    };
    return Json{
        {"parameters", row.parameters},       {"bytes", row.bytes},
        {"interval", row.interval},           {"waited_share", row.waited_share()},
        {"writer_share", row.writer_share()}, {"longest_share", row.longest_share(row.with)},
        {"with", trainings(row.with)},        {"without", trainings(row.without)}}
        .dump();
}

std::string to_json(const GPTProfile& p, int depth) {
    const ProfileTotals t(p);
    const StepProfile& profile = p.profile;
    return Json{{"what", p.what},
                {"layers", p.config.layers},
                {"heads", p.config.heads},
                {"dim", p.config.dim},
                {"context", p.config.context},
                {"vocab", p.config.vocab},
                {"batch", p.batch},
                {"parameters", p.parameters},
                {"steps", profile.step_seconds.size()},
                {"median_ms", 1e3 * t.step.median},
                {"min_ms", 1e3 * t.step.min},
                {"gflops", t.flops / t.step.median / 1e9},
                {"of_peak", t.of_peak},
                {"peak_bytes", profile.peak_bytes},
                {"messages", json_of(profile.messages)},
                {"total", json_of(t.all)},
                {"tape", json_of(t.tape)},
                {"outside", json_of(profile.outside, Name::op)},
                {"ops", json_of(by_op(profile.rows), Name::op)},
                {"modules", json_of(by_module(profile.rows, depth), Name::module)},
                {"rows", json_of(profile.rows, Name::both)},
                {"peak", json_of(profile.peak)}}
        .dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string with_check(const std::string& json, const PeakCheck& check) {
    Json all = Json::parse(json);
    all["peak_check"] = {{"gflops_before", check.before / 1e9},
                         {"gflops_after", check.after / 1e9},
                         {"fastest_gflops", check.fastest / 1e9},
                         {"doubt", check.doubt()}};
    return all.dump();
}

}  // namespace tapestry::bench
