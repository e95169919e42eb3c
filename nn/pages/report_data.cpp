// The report's data, as web/report.js reads it.
#include <tapestry/nn/pages/html.h>
#include <tapestry/nn/pages/report.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace tapestry {
namespace {

using Json = nlohmann::json;

Json number(double x) { return std::isfinite(x) ? Json(six_digits(x)) : Json(); }

const char* name_of(TrainingState state) {
    constexpr const char* kNames[] = {"running", "finished", "interrupted", "diverged", "failed"};
    return kNames[static_cast<std::size_t>(state)];
}

// Columns. As long as every point is one step, which it is and not how they spread says it all.
Json to_json(const TrainingCurve& curve) {
    const auto points = curve.points();
    const bool single = std::all_of(points.begin(), points.end(),
                                    [](const TrainingPoint& p) { return p.count == 1; });
    Json last = Json::array(), mean = Json::array();
    Json first = Json::array(), low = Json::array(), high = Json::array();
    for (const TrainingPoint& p : points) {
        last.push_back(p.last);
        mean.push_back(number(p.mean));
        if (single) continue;
        first.push_back(p.first);
        low.push_back(number(p.low));
        high.push_back(number(p.high));
    }
    Json json{{"last", last}, {"mean", mean}};
    if (!single) json.update({{"first", first}, {"low", low}, {"high", high}});
    return json;
}

Json to_json(const Log2Histogram& h) { return {{"first", h.first}, {"counts", h.counts}}; }

// Names and shapes once, for they are the same at every evaluation.
Json parameters_of(const TrainingReport& report) {
    Json parameters = Json::array();
    for (const ReportedEvaluation& e : report.evaluations()) {
        if (e.flow.empty()) continue;
        for (const ParameterFlow& p : e.flow) {
            parameters.push_back({{"name", p.frozen ? p.name + " (frozen)" : p.name},
                                  {"shape", std::vector(p.shape.begin(), p.shape.end())}});
        }
        break;
    }
    return parameters;
}

Json to_json(const ReportedEvaluation& e) {
    Json flow = Json::array();
    for (const ParameterFlow& p : e.flow) {
        flow.push_back({{"value", number(p.value_rms)},
                        {"gradient", number(p.gradient_rms)},
                        {"update", number(p.update_rms)},
                        {"ratio", number(p.ratio())},
                        {"values", to_json(p.values)},
                        {"gradients", to_json(p.gradients)},
                        {"updates", to_json(p.updates)}});
    }
    return {{"step", e.step},
            {"val", e.val_loss ? number(*e.val_loss) : Json()},
            {"sample", e.sample},
            {"flow", flow}};
}

Json to_json(const TrainingRecipe& recipe) {
    Json options = Json::array(), expected = Json::array();
    for (const RecipeLine& line : recipe.options) {
        options.push_back({{"name", line.name}, {"value", line.value}, {"meaning", line.meaning}});
    }
    for (const ExpectedLoss& e : recipe.expected) {
        expected.push_back({{"name", e.name}, {"loss", number(e.loss)}, {"meaning", e.meaning}});
    }
    return {{"command", recipe.command},
            {"options", options},
            {"expected", expected},
            {"steps", recipe.steps},
            {"tokens", recipe.tokens_per_step},
            {"floor", number(recipe.step_floor)},
            {"clip", number(recipe.clip)}};
}

Json to_json(const ReportStatus& status, const StepMetrics& latest) {
    return {{"state", name_of(status.state)},
            {"message", status.message},
            {"step", latest.step},
            {"seconds", number(latest.seconds)},
            {"cost", number(status.cost_seconds)},
            {"started", status.started},
            {"written", status.written}};
}

}  // namespace

std::string to_json(const TrainingReport& report, const ReportStatus& status) {
    Json evaluations = Json::array();
    for (const ReportedEvaluation& e : report.evaluations()) evaluations.push_back(to_json(e));
    const Json all{{"title", report.recipe().title},
                   {"subtitle", report.recipe().subtitle},
                   {"status", to_json(status, report.latest())},
                   {"recipe", to_json(report.recipe())},
                   {"curves",
                    {{"loss", to_json(report.loss())},
                     {"val", to_json(report.val_loss())},
                     {"lr", to_json(report.lr())},
                     {"norm", to_json(report.grad_norm())},
                     {"seconds", to_json(report.step_seconds())}}},
                   {"parameters", parameters_of(report)},
                   {"evaluations", evaluations}};
    // A model may write what is no UTF-8: that becomes U+FFFD.
    return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tapestry
