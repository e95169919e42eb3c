// Predictions of a text classifier: probabilities, with a temperature that is fitted on held-out
// texts, and how well it predicts.
#include <tapestry/core/text/message.h>
#include <tapestry/nn/models/diverged_error.h>
#include <tapestry/nn/train/classify/classify_task.h>

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace tapestry {

double ClassifyTask::temperature() const { return model_->temperature.to_vector<double>()[0]; }

double ClassifyTask::threshold() const {
    require(has_several_labels(), "threshold: each text has exactly one label");
    return model_->threshold.to_vector<double>()[0];
}

// Batches of texts at once; the last of them may be smaller.
LabelledLogits ClassifyTask::logits_of(const std::vector<Example>& examples) const {
    constexpr std::size_t kTexts = 64;
    const NoGradGuard no_grad;
    LabelledLogits all{.labels = labels_.size(), .several = has_several_labels()};
    for (std::size_t begin = 0; begin < examples.size(); begin += kTexts) {
        std::vector<const Example*> rows;
        for (std::size_t i = begin; i < std::min(begin + kTexts, examples.size()); ++i) {
            rows.push_back(&examples[i]);
        }
        const std::vector<double> some = (*model_)(batch_from(rows).inputs).to_vector<double>();
        all.logits.insert(all.logits.end(), some.begin(), some.end());
    }
    all.is.resize(all.logits.size(), 0);
    for (std::size_t i = 0; i < examples.size(); ++i) {
        for (const std::int64_t id : examples[i].labels) {
            all.is[i * all.labels + static_cast<std::size_t>(id)] = 1;
        }
    }
    return all;
}

LabelledLogits ClassifyTask::logits_of(const LabelledTexts& texts) const {
    std::vector<Example> examples;
    for (std::size_t i = 0; i < texts.texts.size(); ++i) {
        examples.push_back(example_of(texts.texts[i], texts.labels_of(i), i, model_->config()));
    }
    LabelledLogits all = logits_of(examples);
    all.logits = finite_outputs(std::move(all.logits));
    return all;
}

void ClassifyTask::calibrate() {
    const LabelledLogits held_out = logits_of(examples().held_out);
    model_->temperature.fill_(fit_temperature(held_out));
    if (has_several_labels()) model_->threshold.fill_(fit_threshold(held_out, temperature()));
}

std::string ClassifyTask::closing_text() const {
    const LabelledLogits held_out = logits_of(examples().held_out);
    Calibration calibration(temperature());
    calibration.add(held_out);
    std::string text =
        fmt::format("{}: {}\n", pluralize(std::ssize(examples().held_out), "held-out text"),
                    to_text(calibration));
    if (!has_several_labels()) return text;
    LabelSetScores fitted(labels_, threshold(), temperature()), half(labels_, 0.5, temperature());
    fitted.add(held_out);
    half.add(held_out);
    return text + fmt::format(
                      "labels are predicted from a probability of {:.3f} on: micro F1 "
                      "{:.4f} there (from 0.5 on: {:.4f})\n",
                      threshold(), fitted.micro_f1(), half.micro_f1());
}

std::vector<std::vector<LabelProbability>> ClassifyTask::classify(
    const std::vector<std::string>& texts, std::int64_t most, double threshold) const {
    std::vector<std::vector<LabelProbability>> all;
    for (const std::string& text : texts) {
        const Example one = example_of(text, {0}, 0, model_->config());
        const std::vector<double> logits = finite_outputs(logits_of({one}).logits);
        all.push_back(likeliest(
            labels_, probabilities_of(logits, temperature(), has_several_labels()), most));
        std::erase_if(all.back(), [threshold](const LabelProbability& label) {
            return label.probability < threshold;
        });
    }
    return all;
}

ClassificationScores ClassifyTask::score(const LabelledTexts& texts) const {
    require(!texts.several && !has_several_labels(), "score: a text has several labels");
    const LabelledLogits logits = logits_of(texts);
    ClassificationScores scores(labels_);
    for (std::size_t i = 0; i < logits.texts(); ++i) {
        scores.add({texts.targets[i]}, probabilities_of(logits.row(i), temperature(), false));
    }
    scores.calibration.emplace(temperature());
    scores.calibration->add(logits);
    return scores;
}

LabelSetScores ClassifyTask::score_sets(const LabelledTexts& texts, double threshold) const {
    LabelSetScores scores(labels_, threshold, temperature());
    scores.add(logits_of(texts));
    return scores;
}

}  // namespace tapestry
