#include <tapestry/nn/inspect/diagnosis.h>
#include <tapestry/nn/inspect/inspector.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <vector>

namespace tapestry {
namespace {

// "blocks.3" of "blocks.3.attention.qkv.weight"; empty if no module is numbered.
std::string layer_path(const std::string& name) {
    std::size_t from = 0;
    while (from < name.size()) {
        const std::size_t end = std::min(name.find('.', from), name.size());
        const std::string_view part(name.data() + from, end - from);
        const bool numbered =
            !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
        if (numbered) return name.substr(0, end);
        from = end + 1;
    }
    return {};
}

struct LayerGradient {
    std::string layer;
    double rms = 0;
};

// Root mean square of the gradient of each layer's matrices, in the model's order.
std::vector<LayerGradient> gradients_of(const Inspector& step) {
    std::vector<std::string> order;
    std::map<std::string, std::pair<double, double>> sums;  // of squares, and counts
    for (const InspectedParameter& p : step.parameters()) {
        const std::string layer = layer_path(p.name);
        if (layer.empty() || p.shape.rank() < 2 || !p.gradient) continue;
        if (!sums.contains(layer)) order.push_back(layer);
        const double square =
            p.gradient->mean * p.gradient->mean + p.gradient->deviation * p.gradient->deviation;
        const auto count = static_cast<double>(p.gradient->count);
        sums[layer].first += count * square;
        sums[layer].second += count;
    }
    std::vector<LayerGradient> all;
    for (const std::string& layer : order) {
        all.push_back({layer, std::sqrt(sums[layer].first / sums[layer].second)});
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
        return fmt::format(
            ": its queries reach {:.2g} and its keys {:.2g}, so their products "
            "exceed the largest f32 (3.4e38)",
            largest(a.q), largest(a.k));
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
    const auto less = [](const LayerGradient& a, const LayerGradient& b) { return a.rms < b.rms; };
    const auto [low, high] = std::minmax_element(layers.begin(), layers.end(), less);
    if (!(low->rms < kFar * high->rms)) return {};
    return {
        DiagnosisVerdict::bad,
        "vanishing",
        fmt::format("the gradient vanishes: its root mean square is {:.2g} in {} and {:.2g} in {}",
                    low->rms, low->layer, high->rms, high->layer),
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
                fmt::format("the model does worse than guessing here: its loss is {:.3f}, that of "
                            "guessing {:.3f}",
                            all.loss, guessing),
                "train it on text of this kind",
                {}};
    }
    if (all.loss > 0.8 * guessing) return {};
    std::string reach;
    if (layers.size() >= 2) {
        reach = fmt::format("; the gradient reaches every layer ({:.2g} in {}, {:.2g} in {})",
                            layers.front().rms, layers.front().layer, layers.back().rms,
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
