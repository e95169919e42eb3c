#include <tapestry/core/cpu.h>
#include <tapestry/core/parallel.h>
#include <tapestry/core/text/json_writer.h>
#include <tapestry/nn/bench/profile.h>
#include <tapestry/nn/bench/report.h>

#include <algorithm>

namespace tapestry::bench {
namespace {

void write(JsonWriter& json, const MachinePeak& peak) {
    json.object([&] {
        json.members("dtype", name_of(peak.dtype), "isa", name_of(current_isa()), "threads",
                     num_threads(), "gflops", peak.flops_per_second / 1e9, "gb_per_s",
                     peak.levels.back().bytes_per_second / 1e9);
        json.list("levels", peak.levels, [&](const MachinePeak::Level& level) {
            json.object("bytes", level.bytes, "gb_per_s", level.bytes_per_second / 1e9);
        });
    });
}

void write(JsonWriter& json, const Times& times) {
    json.object("median_ms", 1e3 * times.median, "p95_ms", 1e3 * times.p95, "min_ms",
                1e3 * times.min);
}

void write(JsonWriter& json, const CheckpointTraining& one) {
    json.object("seconds", one.seconds, "median_ms", 1e3 * one.median, "longest_ms",
                1e3 * one.longest, "waited_ms", 1e3 * one.waited, "writer_ms",
                1e3 * one.writer_seconds, "checkpoints", one.checkpoints);
}

void write(JsonWriter& json, const ProfiledWork& work) {
    json.object("calls", work.calls, "ms", 1e3 * work.seconds, "gflop", work.flops / 1e9, "mb",
                work.bytes / 1e6, "least_ms", 1e3 * work.least, "of_peak", work.of_peak());
}

// By Gbit/s. A single process sends nothing.
void write_predicted(JsonWriter& json, const Messages& m) {
    for (const double gbit : {0.1, 0.2, 0.5, 1.0, 2.5, 10.0, 25.0}) {
        if (m.processes == 1) break;
        const NetworkCost cost = network_cost(m.step, {.bytes_per_second = gbit * 125e6});
        json.object("gbit", gbit, "step_ms", 1e3 * cost.total, "exposed_ms", 1e3 * cost.exposed,
                    "gradients_ms", 1e3 * cost.gradients);
    }
}

void write(JsonWriter& json, const Messages& m) {
    json.object("processes", m.processes, "bytes", m.bytes, "gradients_ms", 1e3 * m.gradients,
                "waited_ms", 1e3 * m.waited, "hidden_share", m.hidden_share(), "parameters_ms",
                1e3 * m.parameters, "compute_ms", 1e3 * m.step.compute, "to_go", m.step.to_go,
                "predicted", [&] { json.array([&] { write_predicted(json, m); }); });
}

// A function that writes x as its type is written.
template <class T>
auto written(JsonWriter& json, const T& x) {
    return [&json, &x] { write(json, x); };
}

double gflops_of(const Measurement& m) { return m.flops / m.times.median / 1e9; }

void write_members(JsonWriter& json, const Measurement& m, const MachinePeak& peak) {
    json.members("what", m.what, "median_ms", 1e3 * m.times.median, "min_ms", 1e3 * m.times.min,
                 "gflops", gflops_of(m), "gb_per_s", m.bytes / m.times.median / 1e9, "of_peak",
                 m.of_peak(peak), "peak_bytes", m.peak_bytes);
}

// [{"n": 64, "nn": 147.2, ...}, ...] for square products, in GFLOP/s.
void write_squares(JsonWriter& json, const std::vector<GemmRow>& rows) {
    for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
        const std::int64_t n = rows[begin].product.n;
        std::vector<std::pair<std::string, double>> forms;  // the last one wins if a form repeats
        for (; end < rows.size() && rows[end].product.n == n; ++end) {
            const std::string& p = rows[end].product.form;
            const std::string form{p[0] == 'N' ? 'n' : 't', p[1] == 'N' ? 'n' : 't'};
            auto found = std::find_if(forms.begin(), forms.end(),
                                      [&](const auto& each) { return each.first == form; });
            if (found == forms.end()) found = forms.emplace(found, form, 0);
            found->second = gflops_of(rows[end].measurement);
        }
        json.object([&] {
            json.member("n", n);
            for (const auto& [form, gflops] : forms) json.member(form, gflops);
        });
    }
}

bool is_square(const GemmRow& row) {
    return row.product.m == row.product.n && row.product.n == row.product.k;
}

enum class Name { op, module, both };

void write(JsonWriter& json, std::string_view list, const std::vector<ProfileRow>& rows,
           Name name) {
    json.list(list, rows, [&](const ProfileRow& row) {
        const ProfiledWork total = row.total();
        json.object([&] {
            if (name != Name::module) json.member("op", row.op);
            if (name != Name::op) json.member("module", row.module);
            json.members("forward", written(json, row.forward), "backward",
                         written(json, row.backward), "total", written(json, total));
        });
    });
}

}  // namespace

std::string to_json(const std::vector<GemmRow>& rows, DType dtype, const MachinePeak& peak) {
    JsonWriter json;
    json.object([&] {
        json.members("threads", num_threads(), "dtype", name_of(dtype));
        if (std::all_of(rows.begin(), rows.end(), is_square)) {
            json.member("gflops", [&] { json.array([&] { write_squares(json, rows); }); });
        }
        json.list("products", rows, [&](const GemmRow& row) {
            const Product& p = row.product;
            json.object([&] {
                json.members("m", p.m, "n", p.n, "k", p.k, "form", p.form);
                write_members(json, row.measurement, peak);
            });
        });
        json.member("peak", written(json, peak));
    });
    return json.text();
}

std::string to_json(const std::vector<Measurement>& rows, const AttentionOptions& options,
                    const MachinePeak& peak) {
    JsonWriter json;
    json.object([&] {
        json.members("what", title_of(options), "threads", num_threads());
        json.list("rows", rows, [&](const Measurement& m) {
            json.object([&] { write_members(json, m, peak); });
        });
        json.member("peak", written(json, peak));
    });
    return json.text();
}

std::string to_json(const std::vector<Measurement>& rows, const OpsOptions& options,
                    const MachinePeak& peak) {
    JsonWriter json;
    json.object([&] {
        json.members("threads", num_threads(), "dtype", name_of(options.dtype));
        json.list("rows", rows, [&](const Measurement& m) {
            json.object([&] {
                write_members(json, m, peak);
                json.member("backward", m.backward);
            });
        });
        json.member("peak", written(json, peak));
    });
    return json.text();
}

std::string to_json(const StepRow& row, const MachinePeak& peak) {
    const Measurement& m = row.measurement;
    JsonWriter json;
    json.object("median_ms", 1e3 * m.times.median, "min_ms", 1e3 * m.times.min, "tokens_per_s",
                row.tokens_per_second, "gflops", gflops_of(m), "of_peak", m.of_peak(peak),
                "peak_bytes", m.peak_bytes, "parameters", row.parameters, "threads", num_threads(),
                "peak", written(json, peak));
    return json.text();
}

std::string to_json(const BusyRow& row) {
    JsonWriter json;
    json.object("quiet", written(json, row.quiet), "busy", written(json, row.busy), "median_ratio",
                row.busy.median / row.quiet.median, "p95_ratio", row.busy.p95 / row.quiet.p95,
                "parameters", row.parameters, "threads", num_threads());
    return json.text();
}

std::string to_json(const SamplingRow& row, const MachinePeak& peak) {
    JsonWriter json;
    json.object("tokens_per_s", 1 / row.token.median, "median_ms", 1e3 * row.token.median, "min_ms",
                1e3 * row.token.min, "tokens_per_s_without_cache",
                row.tokens_per_second_without_cache, "gb_per_s", row.bytes_per_second() / 1e9,
                "reading_gb_per_s", row.read_speed / 1e9, "of_peak", row.of_peak(), "peak_bytes",
                row.peak_bytes, "same_tokens", row.same_tokens, "threads", num_threads(), "peak",
                written(json, peak));
    return json.text();
}

std::string to_json(const DataRow& row) {
    const auto speed = [&](const Times& times) { return row.bytes_per_second(times) / 1e6; };
    JsonWriter json;
    json.object("bytes", row.bytes, "vocab", row.vocab, "characters_mb_per_s",
                speed(row.characters), "learning_mb_per_s", speed(row.learning),
                "byte_pairs_mb_per_s", speed(row.byte_pairs), "batch_us", 1e6 * row.batch.median);
    return json.text();
}

std::string to_json(const CheckpointRow& row) {
    JsonWriter json;
    const auto training = [&](const CheckpointTraining& one) { write(json, one); };
    json.object([&] {
        json.members("parameters", row.parameters, "bytes", row.bytes, "interval", row.interval,
                     "waited_share", row.waited_share(), "writer_share", row.writer_share(),
                     "longest_share", row.longest_share(row.with));
        json.list("with", row.with, training);
        json.list("without", row.without, training);
    });
    return json.text();
}

std::string to_json(const ModelProfile& p, int depth) {
    const ProfileTotals t(p);
    const StepProfile& profile = p.profile;
    const CommonSettings c = common_settings(p.config);
    JsonWriter json;
    json.object([&] {
        json.members("what", p.what, "layers", c.layers, "heads", c.heads, "dim", c.dim, "context",
                     c.context, "vocab", c.vocab, "batch", p.batch, "parameters", p.parameters,
                     "steps", profile.step_seconds.size(), "median_ms", 1e3 * t.step.median,
                     "min_ms", 1e3 * t.step.min, "gflops", t.flops / t.step.median / 1e9, "of_peak",
                     t.of_peak, "peak_bytes", profile.peak_bytes, "messages",
                     written(json, profile.messages), "total", written(json, t.all), "tape",
                     written(json, t.tape));
        write(json, "outside", profile.outside, Name::op);
        write(json, "ops", by_op(profile.rows), Name::op);
        write(json, "modules", by_module(profile.rows, depth), Name::module);
        write(json, "rows", profile.rows, Name::both);
        json.member("peak", written(json, profile.peak));
    });
    return json.text();
}

std::string with_check(const std::string& text, const PeakCheck& check) {
    JsonWriter json;
    json.object([&] {
        json.members_of(text);
        json.member("peak_check", [&] {
            json.object("gflops_before", check.before / 1e9, "gflops_after", check.after / 1e9,
                        "fastest_gflops", check.fastest / 1e9, "doubt", check.doubt());
        });
    });
    return json.text();
}

}  // namespace tapestry::bench
