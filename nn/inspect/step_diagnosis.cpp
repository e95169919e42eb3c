#include <tapestry/core/text/fixed_text.h>
#include <tapestry/nn/inspect/diagnosis.h>
#include <tapestry/nn/inspect/inspector.h>
#include <tapestry/nn/inspect/prediction_trace.h>

#include <fmt/format.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <vector>

namespace tapestry {
namespace {

struct LayerGradient {
    std::string layer;
    double squares = 0, count = 0;

    double rms() const { return std::sqrt(squares / count); }
};

// The gradient of each layer's matrices, in the model's order.
std::vector<LayerGradient> gradients_of(const Inspector& step) {
    std::vector<LayerGradient> all;
    for (const InspectedParameter& p : step.parameters()) {
        const std::string layer = layer_of(p.name);
        if (layer.empty() || p.shape.rank() < 2 || !p.gradient) continue;
        if (all.empty() || all.back().layer != layer) all.push_back({.layer = layer});
        const auto count = static_cast<double>(p.gradient->count);
        all.back().squares += count * p.gradient->rms() * p.gradient->rms();
        all.back().count += count;
    }
    return all;
}

// Why an operation on finite inputs gave NaN or infinity, as far as its numbers show.
std::string overflow_text(const Inspector& step, const NonFinite& finding) {
    if (finding.origin != NonFiniteOrigin::operation || finding.entry < 0) return {};
    for (const AttentionTrace& a : step.attention()) {
        if (a.entry != finding.entry) continue;
        const auto largest = [](const std::vector<float>& x) {
            double most = 0;
            for (const float each : x) most = std::max(most, std::abs(double{each}));
            return most;
        };
        const double q = largest(a.q), k = largest(a.k);
        const bool overflows = q * k * static_cast<double>(a.dim) > FLT_MAX;
        if (a.dtype == DType::f64 || !overflows) return {};
        return fmt::format(
            ": its queries reach {:.2g} and its keys {:.2g}, so their products "
            "exceed the largest f32 (3.4e38)",
            q, k);
    }
    return {};
}

struct Answers {
    std::size_t asked = 0, first = 0;
    double loss = 0;
};

Answers answers_of(const PredictionTrace& trace) {
    Answers all;
    for (const Prediction& row : trace.rows) {
        if (row.right < 0) continue;
        ++all.asked;
        all.loss += row.loss;
        if (row.rank == 1) ++all.first;
    }
    if (all.asked > 0) all.loss /= static_cast<double>(all.asked);
    return all;
}

Diagnosis vanishing(const std::vector<LayerGradient>& layers) {
    constexpr double kFar = 1e-4;
    if (layers.size() < 2) return {};
    const auto less = [](const LayerGradient& a, const LayerGradient& b) {
        return a.rms() < b.rms();
    };
    const auto [low, high] = std::minmax_element(layers.begin(), layers.end(), less);
    if (!(low->rms() < kFar * high->rms())) return {};
    return {
        DiagnosisVerdict::bad,
        "vanishing",
        fmt::format("the gradient vanishes: its root mean square is {:.2g} in {} and {:.2g} in {}",
                    low->rms(), low->layer, high->rms(), high->layer),
        "check the initialisation and the norms",
        {}};
}

Diagnosis dead(const Inspector& step) {
    constexpr std::int64_t kRows = 16;
    for (const InspectedEntry& e : step.entries()) {
        if (!e.units || e.units->rows < kRows || 2 * e.units->dead < e.units->units) continue;
        return {DiagnosisVerdict::bad,
                "dead_units",
                fmt::format("{} of {} units of {} in {} are dead: no gradient passes through them",
                            e.units->dead, e.units->units, e.name, e.module),
                "try a lower learning rate or another activation",
                {}};
    }
    return {};
}

Diagnosis predicting(const Inspector& step, const std::vector<LayerGradient>& layers,
                     const std::string& command) {
    constexpr std::size_t kFew = 8;
    if (!step.predictions()) return {};
    const Answers all = answers_of(*step.predictions());
    const double guessing = std::log(static_cast<double>(step.predictions()->classes));
    if (all.asked < kFew || !std::isfinite(all.loss)) return {};
    if (all.loss > guessing + 0.5) {
        return {DiagnosisVerdict::bad,
                "above_guessing",
                fmt::format("the model does worse than guessing here: its loss is {}, that of "
                            "guessing {:.3f}",
                            fixed_text(all.loss, 3), guessing),
                "train it on text of this kind",
                {}};
    }
    // Counting tokens reaches 0.7 to 0.8 of guessing's loss.
    if (all.loss > 0.6 * guessing || 4 * all.first < all.asked) return {};
    std::string reach;
    if (layers.size() >= 2) {
        reach = fmt::format("; the gradient reaches every layer ({:.2g} in {}, {:.2g} in {})",
                            layers.front().rms(), layers.front().layer, layers.back().rms(),
                            layers.back().layer);
    }
    return {DiagnosisVerdict::good,
            "good",
            fmt::format("the model expects this text: its loss is {:.3f}, that of guessing {:.3f}, "
                        "and {} of {} first choices are right{}",
                        all.loss, guessing, all.first, all.asked, reach),
            {},
            command};
}

}  // namespace

Diagnosis diagnose(const Inspector& step, const std::string& command) {
    if (step.non_finite()) {
        return {DiagnosisVerdict::bad,
                "not_finite",
                headline(*step.non_finite()) + overflow_text(step, *step.non_finite()),
                "what follows it is not finite either",
                {}};
    }
    const std::vector<LayerGradient> layers = gradients_of(step);
    for (const Diagnosis& found : {vanishing(layers), dead(step)}) {
        if (found.verdict != DiagnosisVerdict::silent) return found;
    }
    return predicting(step, layers, command);
}

}  // namespace tapestry
