#include <tapestry/nn/train/classify/scores.h>

#include <tapestry/core/error.h>
#include <tapestry/core/text/fixed_text.h>
#include <tapestry/core/text/json_writer.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace tapestry {
namespace {

std::int64_t sum(const std::vector<std::int64_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

// Right label by row, predicted by column.
std::string confusion_text(const ClassificationScores& scores) {
    std::vector<std::vector<std::string>> rows{{"right \\ predicted"}};
    for (const std::string& label : scores.labels) rows[0].push_back(utf8::printable(label));
    for (std::size_t r = 0; r < scores.labels.size(); ++r) {
        auto& row = rows.emplace_back(std::vector{utf8::printable(scores.labels[r])});
        for (std::size_t p = 0; p < scores.labels.size(); ++p) {
            const auto found = scores.confusion.find({r, p});
            row.push_back(fmt::format("{}", found == scores.confusion.end() ? 0 : found->second));
        }
        row.push_back(fmt::format("F1 {:.4f}", scores.f1(r)));
    }
    rows[0].emplace_back();
    std::string text;
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            std::size_t width = 0;
            for (const auto& each : rows) width = std::max(width, each[i].size());
            text += i == 0 ? fmt::format("{:<{}}", row[i], width)
                           : fmt::format("  {:>{}}", row[i], width);
        }
        text.erase(text.find_last_not_of(' ') + 1);
        text += '\n';
    }
    return text;
}

}  // namespace

std::vector<LabelProbability> likeliest(const std::vector<std::string>& labels,
                                        std::span<const double> probabilities, std::int64_t most) {
    std::vector<std::size_t> order(labels.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return probabilities[a] > probabilities[b];
    });
    std::vector<LabelProbability> found;
    for (const std::size_t i : order) {
        if (std::ssize(found) < most) found.push_back({labels[i], probabilities[i]});
    }
    return found;
}

ClassificationScores::ClassificationScores(std::vector<std::string> names)
    : ClassCounts(names.size()), labels(std::move(names)) {}

void ClassificationScores::add(const std::vector<std::int64_t>& targets,
                               std::span<const double> probabilities) {
    auto before = static_cast<double>(count());
    double sum_of_losses = loss * before;
    for (std::size_t r = 0; r < targets.size(); ++r) {
        const auto row = probabilities.subspan(r * labels.size(), labels.size());
        const auto label = static_cast<std::size_t>(targets[r]);
        const auto found = std::max_element(row.begin(), row.end()) - row.begin();
        add(label, static_cast<std::size_t>(found));
        sum_of_losses -= std::log(std::max(row[label], 1e-38));
    }
    before += static_cast<double>(targets.size());
    loss = before == 0 ? 0 : sum_of_losses / before;
}

ClassificationScores ClassificationScores::of_baseline() const {
    ClassificationScores all(labels);
    const auto found = std::find(labels.begin(), labels.end(), baseline);
    require(found != labels.end(), "scores: the baseline {} is no label", utf8::quoted(baseline));
    const auto id = static_cast<std::size_t>(found - labels.begin());
    for (std::size_t i = 0; i < labels.size(); ++i) {
        if (occurring[i] > 0) all.add(i, id, occurring[i]);
    }
    return all;
}

namespace {

std::string baseline_text(const ClassificationScores& scores) {
    if (scores.baseline.empty()) return {};
    const ClassificationScores always = scores.of_baseline();
    return fmt::format(
        "always {}, the most frequent in training: accuracy {:.4f}, macro F1 {:.4f}\n",
        utf8::quoted(scores.baseline, 40), always.accuracy(), always.macro_f1());
}

}  // namespace

std::string to_text(const ClassificationScores& scores, const std::string& of) {
    constexpr std::size_t kMost = 20;
    return fmt::format("accuracy {:.4f}, macro F1 {:.4f}, loss {} over {} of {}\n",
                       scores.accuracy(), scores.macro_f1(), fixed_text(scores.loss),
                       pluralize(scores.count(), scores.what), utf8::printable(of)) +
           (scores.calibration ? to_text(*scores.calibration) + "\n" : "") + baseline_text(scores) +
           (scores.labels.size() > kMost ? "" : confusion_text(scores));
}

std::string to_json(const ClassificationScores& scores) {
    JsonWriter json;
    json.object([&] {
        json.member(scores.what + "s", scores.count());
        json.member("accuracy", scores.accuracy());
        json.member("macro_f1", scores.macro_f1());
        json.member("loss", scores.loss);
        if (scores.calibration) {
            json.member("temperature", scores.calibration->temperature());
            json.member("calibration_error", scores.calibration->error());
            json.member("calibration_error_without", scores.calibration->error_without());
        }
        if (!scores.baseline.empty()) {
            const ClassificationScores always = scores.of_baseline();
            json.member("baseline", scores.baseline);
            json.member("baseline_accuracy", always.accuracy());
            json.member("baseline_macro_f1", always.macro_f1());
        }
        json.member("labels", scores.labels);
        std::vector<double> f1;
        for (std::size_t i = 0; i < scores.labels.size(); ++i) f1.push_back(scores.f1(i));
        json.member("f1", f1);
        json.list("confusion", scores.confusion, [&](const auto& entry) {
            const auto& [pair, texts] = entry;
            json.value(std::vector{static_cast<std::int64_t>(pair.first),
                                   static_cast<std::int64_t>(pair.second), texts});
        });
    });
    return json.text();
}

std::vector<ExpectedLoss> losses_without_looking(const std::vector<std::int64_t>& train,
                                                 const std::vector<std::int64_t>& held_out,
                                                 std::string_view what) {
    const auto classes = static_cast<double>(train.size());
    const double total = static_cast<double>(sum(train)) + classes;
    double loss = 0;
    for (std::size_t i = 0; i < train.size(); ++i) {  // Laplace's: no label is impossible
        loss -=
            static_cast<double>(held_out[i]) * std::log(static_cast<double>(train[i] + 1) / total);
    }
    return {{"guessing", std::log(classes),
             fmt::format("Every one of the {} labels is as likely as any other: ln({}). An "
                         "untrained model's is this.",
                         train.size(), train.size())},
            {"counting labels", loss / static_cast<double>(sum(held_out)),
             fmt::format("Knows how often each label occurs in the training part, and does not {} "
                         "the {}.",
                         what == "text" ? "read" : "see", what)}};
}

}  // namespace tapestry
