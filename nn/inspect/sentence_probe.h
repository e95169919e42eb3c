// A model's attention and predictions for one sequence at one point of a run. The sequence is the
// same every time, which shows how heads form. Read next:
// nn/pages/report.h, which shows it.
#pragma once

#include <tapestry/nn/inspect/attention_trace.h>
#include <tapestry/nn/inspect/prediction_trace.h>
#include <tapestry/nn/module/module.h>

#include <functional>

namespace tapestry {

/// What a model computes for one sequence.
struct SentenceProbe {
    std::vector<AttentionTrace> attention{};  ///< with weights and their description only
    std::vector<Prediction> rows{};           ///< as in PredictionTrace

    bool empty() const {
        return attention.empty() && rows.empty();
    }  ///< whether there is nothing to show
};

/// Runs the forward pass of `loss`; computes no gradient and does not change the model.
SentenceProbe probe_sentence(const Module& model, const std::function<Tensor()>& loss);

}  // namespace tapestry
