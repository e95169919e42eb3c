#include <tapestry/core/cpu.h>
#include <tapestry/core/parallel.h>
#include <tapestry/core/text/json_writer.h>
#include <tapestry/nn/bench/profile.h>
#include <tapestry/nn/bench/report.h>

#include <algorithm>

namespace tapestry::bench {
namespace {

template <class F>
std::string object(const F& write_members) {
    JsonWriter json;
    json.object([&] { write_members(json); });
    return json.text();
}

void write_peak(JsonWriter& json, const MachinePeak& peak) {
    json.member("peak", [&] {
        json.object([&] {
            json.member("dtype", name_of(peak.dtype));
            json.member("isa", name_of(current_isa()));
            json.member("threads", num_threads());
            json.member("gflops", peak.flops_per_second / 1e9);
            json.member("gb_per_s", peak.levels.back().bytes_per_second / 1e9);
            json.list("levels", peak.levels, [&](const MachinePeak::Level& level) {
                json.object([&] {
                    json.member("bytes", level.bytes);
                    json.member("gb_per_s", level.bytes_per_second / 1e9);
                });
            });
        });
    });
}

double gflops_of(const Measurement& m) { return m.flops / m.times.median / 1e9; }

void write_members(JsonWriter& json, const Measurement& m, const MachinePeak& peak) {
    json.member("what", m.what);
    json.member("median_ms", 1e3 * m.times.median);
    json.member("min_ms", 1e3 * m.times.min);
    json.member("gflops", gflops_of(m));
    json.member("gb_per_s", m.bytes / m.times.median / 1e9);
    json.member("of_peak", m.of_peak(peak));
    json.member("peak_bytes", m.peak_bytes);
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

// ---- a profile ----------------------------------------------------------------------------------

void write(JsonWriter& json, std::string_view name, const ProfiledWork& work) {
    json.member(name, [&] {
        json.object([&] {
            json.member("calls", work.calls);
            json.member("ms", 1e3 * work.seconds);
            json.member("gflop", work.flops / 1e9);
            json.member("mb", work.bytes / 1e6);
            json.member("least_ms", 1e3 * work.least);
            json.member("of_peak", work.of_peak());
        });
    });
}

enum class Name { op, module, both };

// For several network speeds in Gbit/s. Meaningless for a single process.
void write_predicted(JsonWriter& json, const Messages& m) {
    for (const double gbit : {0.1, 0.2, 0.5, 1.0, 2.5, 10.0, 25.0}) {
        if (m.processes == 1) break;
        const NetworkCost cost = network_cost(m.step, {.bytes_per_second = gbit * 125e6});
        json.object([&] {
            json.member("gbit", gbit);
            json.member("step_ms", 1e3 * cost.total);
            json.member("exposed_ms", 1e3 * cost.exposed);
            json.member("gradients_ms", 1e3 * cost.gradients);
        });
    }
}

void write(JsonWriter& json, const Messages& m) {
    json.object([&] {
        json.member("processes", m.processes);
        json.member("bytes", m.bytes);
        json.member("gradients_ms", 1e3 * m.gradients);
        json.member("waited_ms", 1e3 * m.waited);
        json.member("hidden_share", m.hidden_share());
        json.member("parameters_ms", 1e3 * m.parameters);
        json.member("compute_ms", 1e3 * m.step.compute);
        json.member("to_go", m.step.to_go);
        json.member("predicted", [&] { json.array([&] { write_predicted(json, m); }); });
    });
}

void write(JsonWriter& json, std::string_view list, const std::vector<ProfileRow>& rows,
           Name name) {
    json.list(list, rows, [&](const ProfileRow& row) {
        json.object([&] {
            if (name != Name::module) json.member("op", row.op);
            if (name != Name::op) json.member("module", row.module);
            write(json, "forward", row.forward);
            write(json, "backward", row.backward);
            write(json, "total", row.total());
        });
    });
}

void write(JsonWriter& json, std::string_view name, const Times& times) {
    json.member(name, [&] {
        json.object([&] {
            json.member("median_ms", 1e3 * times.median);
            json.member("p95_ms", 1e3 * times.p95);
            json.member("min_ms", 1e3 * times.min);
        });
    });
}

void write(JsonWriter& json, std::string_view name, const std::vector<CheckpointTraining>& all) {
    json.list(name, all, [&](const CheckpointTraining& one) {
        json.object([&] {
            json.member("seconds", one.seconds);
            json.member("median_ms", 1e3 * one.median);
            json.member("longest_ms", 1e3 * one.longest);
            json.member("waited_ms", 1e3 * one.waited);
            json.member("writer_ms", 1e3 * one.writer_seconds);
            json.member("checkpoints", one.checkpoints);
        });
    });
}

}  // namespace

std::string to_json(const std::vector<GemmRow>& rows, DType dtype, const MachinePeak& peak) {
    return object([&](JsonWriter& json) {
        json.member("threads", num_threads());
        json.member("dtype", name_of(dtype));
        if (std::all_of(rows.begin(), rows.end(), is_square)) {
            json.member("gflops", [&] { json.array([&] { write_squares(json, rows); }); });
        }
        json.list("products", rows, [&](const GemmRow& row) {
            json.object([&] {
                json.member("m", row.product.m);
                json.member("n", row.product.n);
                json.member("k", row.product.k);
                json.member("form", row.product.form);
                write_members(json, row.measurement, peak);
            });
        });
        write_peak(json, peak);
    });
}

std::string to_json(const std::vector<Measurement>& rows, const AttentionOptions& options,
                    const MachinePeak& peak) {
    return object([&](JsonWriter& json) {
        json.member("what", title_of(options));
        json.member("threads", num_threads());
        json.list("rows", rows, [&](const Measurement& m) {
            json.object([&] { write_members(json, m, peak); });
        });
        write_peak(json, peak);
    });
}

std::string to_json(const std::vector<Measurement>& rows, const OpsOptions& options,
                    const MachinePeak& peak) {
    return object([&](JsonWriter& json) {
        json.member("threads", num_threads());
        json.member("dtype", name_of(options.dtype));
        json.list("rows", rows, [&](const Measurement& m) {
            json.object([&] {
                write_members(json, m, peak);
                json.member("backward", m.backward);
            });
        });
        write_peak(json, peak);
    });
}

std::string to_json(const StepRow& row, const MachinePeak& peak) {
    const Measurement& m = row.measurement;
    return object([&](JsonWriter& json) {
        json.member("median_ms", 1e3 * m.times.median);
        json.member("min_ms", 1e3 * m.times.min);
        json.member("tokens_per_s", row.tokens_per_second);
        json.member("gflops", gflops_of(m));
        json.member("of_peak", m.of_peak(peak));
        json.member("peak_bytes", m.peak_bytes);
        json.member("parameters", row.parameters);
        json.member("threads", num_threads());
        write_peak(json, peak);
    });
}

std::string to_json(const BusyRow& row) {
    return object([&](JsonWriter& json) {
        write(json, "quiet", row.quiet);
        write(json, "busy", row.busy);
        json.member("median_ratio", row.busy.median / row.quiet.median);
        json.member("p95_ratio", row.busy.p95 / row.quiet.p95);
        json.member("parameters", row.parameters);
        json.member("threads", num_threads());
    });
}

std::string to_json(const SamplingRow& row, const MachinePeak& peak) {
    return object([&](JsonWriter& json) {
        json.member("tokens_per_s", 1 / row.token.median);
        json.member("median_ms", 1e3 * row.token.median);
        json.member("min_ms", 1e3 * row.token.min);
        json.member("tokens_per_s_without_cache", row.tokens_per_second_without_cache);
        json.member("gb_per_s", row.bytes_per_second() / 1e9);
        json.member("reading_gb_per_s", row.read_speed / 1e9);
        json.member("of_peak", row.of_peak());
        json.member("peak_bytes", row.peak_bytes);
        json.member("same_tokens", row.same_tokens);
        json.member("threads", num_threads());
        write_peak(json, peak);
    });
}

std::string to_json(const DataRow& row) {
    return object([&](JsonWriter& json) {
        json.member("bytes", row.bytes);
        json.member("vocab", row.vocab);
        json.member("characters_mb_per_s", row.bytes_per_second(row.characters) / 1e6);
        json.member("learning_mb_per_s", row.bytes_per_second(row.learning) / 1e6);
        json.member("byte_pairs_mb_per_s", row.bytes_per_second(row.byte_pairs) / 1e6);
        json.member("batch_us", 1e6 * row.batch.median);
    });
}

std::string to_json(const CheckpointRow& row) {
    return object([&](JsonWriter& json) {
        json.member("parameters", row.parameters);
        json.member("bytes", row.bytes);
        json.member("interval", row.interval);
        json.member("waited_share", row.waited_share());
        json.member("writer_share", row.writer_share());
        json.member("longest_share", row.longest_share(row.with));
        write(json, "with", row.with);
        write(json, "without", row.without);
    });
}

std::string to_json(const GPTProfile& p, int depth) {
    const ProfileTotals t(p);
    const StepProfile& profile = p.profile;
    return object([&](JsonWriter& json) {
        json.member("what", p.what);
        json.member("layers", p.config.layers);
        json.member("heads", p.config.heads);
        json.member("dim", p.config.dim);
        json.member("context", p.config.context);
        json.member("vocab", p.config.vocab);
        json.member("batch", p.batch);
        json.member("parameters", p.parameters);
        json.member("steps", profile.step_seconds.size());
        json.member("median_ms", 1e3 * t.step.median);
        json.member("min_ms", 1e3 * t.step.min);
        json.member("gflops", t.flops / t.step.median / 1e9);
        json.member("of_peak", t.of_peak);
        json.member("peak_bytes", profile.peak_bytes);
        json.member("messages", [&] { write(json, profile.messages); });
        write(json, "total", t.all);
        write(json, "tape", t.tape);
        write(json, "outside", profile.outside, Name::op);
        write(json, "ops", by_op(profile.rows), Name::op);
        write(json, "modules", by_module(profile.rows, depth), Name::module);
        write(json, "rows", profile.rows, Name::both);
        write_peak(json, profile.peak);
    });
}

std::string with_check(const std::string& text, const PeakCheck& check) {
    return object([&](JsonWriter& json) {
        json.members_of(text);
        json.member("peak_check", [&] {
            json.object([&] {
                json.member("gflops_before", check.before / 1e9);
                json.member("gflops_after", check.after / 1e9);
                json.member("fastest_gflops", check.fastest / 1e9);
                json.member("doubt", check.doubt());
            });
        });
    });
}

}  // namespace tapestry::bench
