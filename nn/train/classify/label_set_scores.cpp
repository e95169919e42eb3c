#include <tapestry/nn/train/classify/label_set_scores.h>

#include <tapestry/core/text/fixed_text.h>
#include <tapestry/core/text/json_writer.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

namespace tapestry {
namespace {

double share(std::int64_t part, std::int64_t all) {
    return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

std::int64_t total(const std::vector<std::int64_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

}  // namespace

LabelSetScores::LabelSetScores(std::vector<std::string> names, double least, double divisor)
    : labels(std::move(names)),
      threshold(least),
      right(labels.size(), 0),
      occurring(labels.size(), 0),
      predicted(labels.size(), 0),
      calibration(divisor) {}

void LabelSetScores::add(const LabelledLogits& some) {
    calibration.add(some);
    double sum_of_losses = loss * static_cast<double>(texts);
    for (std::size_t i = 0; i < some.texts(); ++i) {
        const std::span<const std::uint8_t> is = some.labels_of(i);
        const std::vector<double> p =
            probabilities_of(some.row(i), calibration.temperature(), true);
        bool all_right = true;
        double loss_of_text = 0;
        for (std::size_t c = 0; c < some.labels; ++c) {
            const bool has = is[c] != 0, says = p[c] >= threshold;
            right[c] += has && says;
            occurring[c] += has;
            predicted[c] += says;
            all_right = all_right && has == says;
            const double z = some.row(i)[c] / calibration.temperature();
            loss_of_text += std::max(z, 0.0) - (has ? z : 0) + std::log1p(std::exp(-std::abs(z)));
        }
        const auto best =
            static_cast<std::size_t>(std::max_element(p.begin(), p.end()) - p.begin());
        first += is[best] != 0;
        exact += all_right;
        sum_of_losses += loss_of_text / static_cast<double>(some.labels);
    }
    texts += static_cast<std::int64_t>(some.texts());
    loss = texts == 0 ? 0 : sum_of_losses / static_cast<double>(texts);
}

double LabelSetScores::f1(std::size_t label) const {
    return share(2 * right[label], occurring[label] + predicted[label]);
}

double LabelSetScores::micro_f1() const {
    return share(2 * total(right), total(occurring) + total(predicted));
}

double LabelSetScores::macro_f1() const {
    double sum = 0;
    std::int64_t seen = 0;
    for (std::size_t c = 0; c < labels.size(); ++c) {
        sum += f1(c);
        seen += occurring[c] + predicted[c] > 0;
    }
    return seen == 0 ? 0 : sum / static_cast<double>(seen);
}

double LabelSetScores::precision_at_1() const { return share(first, texts); }
double LabelSetScores::exact_share() const { return share(exact, texts); }

std::string to_text(const LabelSetScores& scores, const std::string& of) {
    constexpr std::size_t kMost = 20;
    std::string text = fmt::format(
        "micro F1 {:.4f}, macro F1 {:.4f}, precision@1 {:.4f}, exactly the right labels {:.4f}, "
        "loss {} over {} of {}; a label is predicted from a probability of {:.3f} on\n",
        scores.micro_f1(), scores.macro_f1(), scores.precision_at_1(), scores.exact_share(),
        fixed_text(scores.loss), pluralize(scores.texts, "text"), utf8::printable(of),
        scores.threshold);
    text += to_text(scores.calibration) + "\n";
    if (scores.labels.size() > kMost) return text;
    for (std::size_t c = 0; c < scores.labels.size(); ++c) {
        text += fmt::format("{}: F1 {:.4f}, predicted {}, right {}, texts with it {}\n",
                            utf8::printable(scores.labels[c]), scores.f1(c), scores.predicted[c],
                            scores.right[c], scores.occurring[c]);
    }
    return text;
}

std::string to_json(const LabelSetScores& scores) {
    JsonWriter json;
    json.object([&] {
        json.member("texts", scores.texts);
        json.member("micro_f1", scores.micro_f1());
        json.member("macro_f1", scores.macro_f1());
        json.member("precision_at_1", scores.precision_at_1());
        json.member("exact", scores.exact_share());
        json.member("loss", scores.loss);
        json.member("threshold", scores.threshold);
        json.member("temperature", scores.calibration.temperature());
        json.member("calibration_error", scores.calibration.error());
        json.member("calibration_error_without", scores.calibration.error_without());
        json.member("labels", scores.labels);
        std::vector<double> f1;
        for (std::size_t c = 0; c < scores.labels.size(); ++c) f1.push_back(scores.f1(c));
        json.member("f1", f1);
        json.member("occurring", scores.occurring);
        json.member("predicted", scores.predicted);
        json.member("right", scores.right);
    });
    return json.text();
}

std::vector<ExpectedLoss> losses_without_looking(
    std::size_t labels, const std::vector<std::vector<std::int64_t>>& train,
    const std::vector<std::vector<std::int64_t>>& held_out) {
    const auto counts = [labels](const std::vector<std::vector<std::int64_t>>& texts) {
        std::vector<double> all(labels, 0);
        for (const auto& ids : texts) {
            for (const std::int64_t id : ids) all[static_cast<std::size_t>(id)] += 1;
        }
        return all;
    };
    const std::vector<double> known = counts(train), held = counts(held_out);
    const auto n = static_cast<double>(train.size()), m = static_cast<double>(held_out.size());
    double loss = 0;
    for (std::size_t c = 0; c < labels; ++c) {  // Laplace's: nothing is impossible
        const double p = (known[c] + 1) / (n + 2);
        loss -= held[c] * std::log(p) + (m - held[c]) * std::log(1 - p);
    }
    return {
        {"guessing", std::log(2.0),
         "Gives each label a probability of a half: ln(2). An untrained model's is this."},
        {"counting labels", loss / (m * static_cast<double>(labels)),
         "Knows how often each label occurs in the training part, and does not read the text."}};
}

}  // namespace tapestry
