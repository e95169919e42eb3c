// What a model makes of one sequence at one time of its training: where its heads look, what it
// expects. The same sequence every time, so that one can watch a head find its role. Read next:
// nn/pages/report.h, which shows it.
#pragma once

#include <tapestry/nn/inspect/attention_trace.h>
#include <tapestry/nn/inspect/prediction_trace.h>
#include <tapestry/nn/module/module.h>

#include <functional>

namespace tapestry {

struct SentenceLook {
    std::vector<AttentionTrace> attention{};  ///< of each the weights, and what says what they are
    std::vector<Prediction> rows{};           ///< as in PredictionTrace

    bool empty() const { return attention.empty() && rows.empty(); }
};

/// Of a forward pass, which `loss` takes; no gradient is computed, and nothing in the model
/// changes.
SentenceLook look_at(const Module& model, const std::function<Tensor()>& loss);

}  // namespace tapestry
