#include <tapestry/nn/pages/report.h>

#include <tapestry/core/text/json_writer.h>
#include <tapestry/nn/pages/encoding.h>
#include <tapestry/nn/pages/html.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace tapestry {

namespace {

// The loss of this name, or NaN.
double expected_loss(const TrainingRecipe& recipe, std::string_view name) {
    for (const ExpectedLoss& expected : recipe.expected) {
        if (expected.name == name) return expected.loss;
    }
    return NAN;
}

// B of LoRA begins at 0: at any rate its first updates are as large as it is.
bool begins_at_zero(const std::string& name) {
    return name.find(".lora_") != name.npos && name.ends_with(".b");
}

// Median of ||update|| / ||value|| over the matrices, where the learning rate was highest.
double typical_ratio(const std::vector<ReportedEvaluation>& evaluations) {
    const ReportedEvaluation* chosen = nullptr;
    for (const ReportedEvaluation& e : evaluations) {
        if (!e.flow.empty() && (chosen == nullptr || e.lr > chosen->lr)) chosen = &e;
    }
    std::vector<double> ratios;
    if (chosen == nullptr) return NAN;
    for (const ParameterFlow& p : chosen->flow) {
        const bool counts = p.shape.rank() >= 2 && !p.frozen && !begins_at_zero(p.name);
        if (counts && std::isfinite(p.ratio())) ratios.push_back(p.ratio());
    }
    if (ratios.empty()) return NAN;
    const auto middle = ratios.begin() + std::ssize(ratios) / 2;
    std::nth_element(ratios.begin(), middle, ratios.end());
    return *middle;
}

}  // namespace

TrainingReport::TrainingReport(TrainingRecipe recipe)
    : recipe_(std::move(recipe)),
      watch_(recipe_.steps, recipe_.clip, expected_loss(recipe_, "guessing")) {}

RunFacts TrainingReport::facts(TrainingState state) const {
    RunFacts facts = watch_.facts();
    facts.diverged = state == TrainingState::diverged;
    facts.running = state == TrainingState::running;
    facts.usual_lr = recipe_.usual_lr;
    facts.val_at_start = recipe_.val_at_start;
    facts.unit = recipe_.unit;
    facts.command = recipe_.command;
    facts.use = recipe_.use;
    facts.ratio = typical_ratio(evaluations_);
    facts.counting = expected_loss(recipe_, "counting " + recipe_.unit + "s");
    facts.pairs = expected_loss(recipe_, "counting pairs");
    return facts;
}

void TrainingReport::add(const StepMetrics& m) {
    loss_.add(m.step, m.loss);
    lr_.add(m.step, m.lr);
    grad_norm_.add(m.step, m.grad_norm);
    step_seconds_.add(m.step, m.step_seconds);
    if (m.val_loss) val_loss_.add(m.step, *m.val_loss);
    spikes_.add(m);
    watch_.add(m);
    latest_ = m;
}

void TrainingReport::plan(std::int64_t steps) {
    recipe_.steps = steps;
    watch_.plan(steps);
}

// Keeps evaluations whose index is a multiple of the stride, followed by the latest.
void TrainingReport::add(ReportedEvaluation evaluation) {
    const bool latest_stays = evaluated_ == 0 || (evaluated_ - 1) % stride_ == 0;
    if (!latest_stays) evaluations_.pop_back();
    evaluations_.push_back(std::move(evaluation));
    ++evaluated_;
    if (evaluations_.size() <= kMostEvaluations) return;
    std::vector<ReportedEvaluation> kept;  // all before the latest are multiples
    for (std::size_t i = 0; i + 1 < evaluations_.size(); i += 2) {
        kept.push_back(std::move(evaluations_[i]));
    }
    kept.push_back(std::move(evaluations_.back()));
    evaluations_ = std::move(kept);
    stride_ *= 2;
}

std::string to_html(const TrainingReport& report, const ReportStatus& status) {
    // Lets an open page load itself, from disk ("file:") or a server ('self').
    return html_page(page_assets::kReport, to_json(report, status), "frame-src 'self' file:");
}

// ---- the report's data --------------------------------------------------------------------------

// As web/report.js reads it.

namespace {

const char* name_of(TrainingState state) {
    constexpr const char* kNames[] = {"running", "finished", "interrupted", "diverged", "failed"};
    return kNames[static_cast<std::size_t>(state)];
}

// JSON has no NaN: "NaN", "Infinity", "-Infinity".
std::string not_finite_text(double x) {
    return std::isnan(x) ? "NaN" : x > 0 ? "Infinity" : "-Infinity";
}

// What points merge: the exact latest and lowest value, and those that no point has.
void write_exact(JsonWriter& json, const TrainingCurve& curve) {
    const auto write_value = [&](const char* name, const StepValue& v) {
        json.member(name, [&] { json.object("step", v.step, "value", six_digits(v.value)); });
    };
    if (curve.latest().step > 0) {
        write_value("latest", curve.latest());
        write_value("lowest", curve.lowest());
    }
    if (curve.not_finite().empty()) return;
    json.list("notFinite", curve.not_finite(), [&](const StepValue& v) {
        json.object("step", v.step, "value", not_finite_text(v.value));
    });
}

// Columns. While every point is a single step, its step and mean are enough.
void write(JsonWriter& json, const TrainingCurve& curve) {
    const auto points = curve.points();
    const bool single = std::all_of(points.begin(), points.end(),
                                    [](const TrainingPoint& p) { return p.count == 1; });
    json.object([&] {
        json.list("last", points, [&](const TrainingPoint& p) { json.value(p.last); });
        json.list("mean", points, [&](const TrainingPoint& p) { json.value(six_digits(p.mean)); });
        write_exact(json, curve);
        if (single) return;
        json.list("first", points, [&](const TrainingPoint& p) { json.value(p.first); });
        json.list("low", points, [&](const TrainingPoint& p) { json.value(six_digits(p.low)); });
        json.list("high", points, [&](const TrainingPoint& p) { json.value(six_digits(p.high)); });
        json.list("spread", points,
                  [&](const TrainingPoint& p) { json.value(six_digits(std::sqrt(p.square))); });
    });
}

// Names and shapes once, because they are the same at every evaluation.
void write_parameters(JsonWriter& json, const TrainingReport& report) {
    const auto& all = report.evaluations();
    const auto found = std::find_if(all.begin(), all.end(),
                                    [](const ReportedEvaluation& e) { return !e.flow.empty(); });
    json.array([&] {
        if (found == all.end()) return;
        for (const ParameterFlow& p : found->flow) {
            json.object("name", p.frozen ? p.name + " (frozen)" : p.name, "shape", p.shape);
        }
    });
}

void write(JsonWriter& json, const ParameterFlow& p) {
    json.object([&] {
        json.member("value", six_digits(p.value_rms));
        json.member("gradient", six_digits(p.gradient_rms));
        json.member("update", six_digits(p.update_rms));
        json.member("ratio", six_digits(p.ratio()));
        json.member("values", [&] { write(json, p.values); });
        json.member("gradients", [&] { write(json, p.gradients); });
        json.member("updates", [&] { write(json, p.updates); });
    });
}

// Weights 0 to 1 as the nearest 254th, one byte each: a picture shows no more. 255: not finite.
std::string bytes_of(const std::vector<float>& weights) {
    std::vector<std::byte> bytes;
    for (const float p : weights) {
        const long level = std::isfinite(p) ? std::lround(254 * std::clamp<double>(p, 0, 1)) : 255;
        bytes.push_back(static_cast<std::byte>(level));
    }
    return base64(bytes);
}

void write(JsonWriter& json, const AttentionTrace& a) {
    json.object([&] {
        json.member("entry", a.entry);
        json.member("module", a.module);
        json.member("causal", a.causal);
        json.member("heads", a.heads);
        json.member("queries", a.queries);
        json.member("keys", a.keys);
        json.list("entropy", a.entropy, [&](double x) { json.value(six_digits(x)); });
        json.member("weights", bytes_of(a.weights));
    });
}

void write(JsonWriter& json, const StreamLengths& s) {
    json.object([&] {
        json.member("entry", s.entry);
        json.member("op", s.op);
        json.member("module", s.module);
        json.list("lengths", s.lengths, [&](float x) { json.value(six_digits(x)); });
        if (s.gradients.empty()) return;
        json.list("gradients", s.gradients, [&](float x) { json.value(six_digits(x)); });
    });
}

// Rows: [loss, rank, id, probability] of the likeliest class.
void write(JsonWriter& json, const SentenceProbe& look) {
    json.object([&] {
        json.list("attention", look.attention, [&](const AttentionTrace& a) { write(json, a); });
        json.member("places", look.places);
        json.list("stream", look.stream, [&](const StreamLengths& s) { write(json, s); });
        json.list("rows", look.rows, [&](const Prediction& row) {
            json.value([&] {
                json.array([&] {
                    json.value(six_digits(row.loss));
                    json.value(row.rank);
                    json.value(row.likeliest.front().id);
                    json.value(six_digits(row.likeliest.front().probability));
                });
            });
        });
    });
}

// The tokens, and the names of all classes that were ever the likeliest.
void write_sentence(JsonWriter& json, const TrainingReport& report) {
    const TrainingRecipe& recipe = report.recipe();
    if (recipe.sentence.empty()) return json.value(nullptr);
    std::set<std::int64_t> used;
    for (const ReportedEvaluation& e : report.evaluations()) {
        for (const Prediction& row : e.look.rows) used.insert(row.likeliest.front().id);
    }
    json.object([&] {
        json.member("tokens", recipe.sentence);
        json.member("names", [&] {
            json.object([&] {
                for (const std::int64_t id : used) {
                    if (recipe.name_of) json.member(std::to_string(id), recipe.name_of(id));
                }
            });
        });
    });
}

void write(JsonWriter& json, const ReportedEvaluation& e) {
    json.object([&] {
        json.member("step", e.step);
        if (e.lr > 0) json.member("lr", six_digits(e.lr));
        json.member("val", e.val_loss ? six_digits(*e.val_loss) : NAN);
        json.member("sample", e.sample);
        json.list("flow", e.flow, [&](const ParameterFlow& p) { write(json, p); });
        if (!e.look.empty()) json.member("look", [&] { write(json, e.look); });
    });
}

void write(JsonWriter& json, const ProcessAccount& p) {
    json.object([&] {
        json.member("host", p.host);
        json.member("threads", p.threads);
        json.member("tokens", p.tokens);
        json.member("speed", six_digits(p.tokens_per_second()));
        json.member("flops", six_digits(p.flops));
        json.member("waiting", six_digits(p.waiting_share()));
        json.member("hidden", six_digits(p.hidden_share()));
        json.member("sent", p.bytes_sent);
        json.member("moments", p.moment_bytes);
    });
}

void write(JsonWriter& json, const RecipeLine& line) {
    json.object("name", line.name, "value", line.value, "meaning", line.meaning);
}

void write(JsonWriter& json, const ExpectedLoss& expected) {
    json.object("name", expected.name, "loss", six_digits(expected.loss), "meaning",
                expected.meaning);
}

void write(JsonWriter& json, const TrainingRecipe& recipe) {
    json.object([&] {
        json.member("command", recipe.command);
        json.list("options", recipe.options, [&](const RecipeLine& line) { write(json, line); });
        json.list("expected", recipe.expected, [&](const ExpectedLoss& e) { write(json, e); });
        json.member("steps", recipe.steps);
        json.member("tokens", recipe.tokens_per_step);
        json.member("counted", recipe.counted);
        json.member("least", six_digits(recipe.step_least));
        json.member("clip", six_digits(recipe.clip));
    });
}

void write(JsonWriter& json, const Spike& spike, const std::string& rewind) {
    json.object(
        "step", spike.step, "what", spike.what, "value", six_digits(spike.value), "mean",
        six_digits(spike.mean), "command",
        rewind.empty() ? "" : fmt::format("{} --step {} --inspect page.html", rewind, spike.step));
}

void write(JsonWriter& json, const ReportStatus& status, const StepMetrics& latest) {
    const double total = std::max(status.total_seconds, latest.seconds);
    json.object("state", name_of(status.state), "message", status.message, "step", latest.step,
                "seconds", six_digits(latest.seconds), "cost", six_digits(status.cost_seconds),
                "total", six_digits(total), "started", status.started, "written", status.written);
}

void write_curves(JsonWriter& json, const TrainingReport& report) {
    json.object([&] {
        json.member("loss", [&] { write(json, report.loss()); });
        json.member("val", [&] { write(json, report.val_loss()); });
        json.member("lr", [&] { write(json, report.lr()); });
        json.member("norm", [&] { write(json, report.grad_norm()); });
        json.member("seconds", [&] { write(json, report.step_seconds()); });
    });
}

}  // namespace

std::string to_json(const TrainingReport& report, const ReportStatus& status) {
    JsonWriter json;
    json.object([&] {
        json.member("title", report.recipe().title);
        json.member("subtitle", report.recipe().subtitle);
        json.member("status", [&] { write(json, status, report.latest()); });
        json.member("diagnosis", [&] { write(json, diagnose(report.facts(status.state))); });
        json.member("recipe", [&] { write(json, report.recipe()); });
        json.member("curves", [&] { write_curves(json, report); });
        json.list("spikes", report.spikes(),
                  [&](const Spike& spike) { write(json, spike, report.recipe().rewind); });
        json.list("processes", report.processes(),
                  [&](const ProcessAccount& process) { write(json, process); });
        json.member("parameters", [&] { write_parameters(json, report); });
        json.member("sentence", [&] { write_sentence(json, report); });
        json.list("evaluations", report.evaluations(),
                  [&](const ReportedEvaluation& e) { write(json, e); });
    });
    return json.text();
}

}  // namespace tapestry
