// A model's attention, residual stream and predictions for one sequence at one point of a run. The
// sequence is the same every time, which shows how heads form and where gradients go. Read next:
// nn/pages/report.h, which shows it.
#pragma once

#include <tapestry/nn/inspect/attention_trace.h>
#include <tapestry/nn/inspect/prediction_trace.h>
#include <tapestry/nn/module/module.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tapestry {

/// The residual stream after one op: how long each token's vector is, and its gradient.
struct StreamLengths {
    int entry = -1;                  ///< order of the ops, as AttentionTrace::entry
    std::string op = {};             ///< "embedding" or "add"
    std::string module = {};         ///< "blocks.0"
    std::vector<float> lengths{};    ///< by place of SentenceProbe::places
    std::vector<float> gradients{};  ///< likewise; empty if none reached it
};

/// What a model computes for one sequence.
struct SentenceProbe {
    std::vector<AttentionTrace> attention{};  ///< with weights and their description only
    std::vector<Prediction> rows{};           ///< as in PredictionTrace
    std::vector<std::int64_t> places{};       ///< tokens that `stream` is about, ascending
    std::vector<StreamLengths> stream{};      ///< in the order of the ops

    bool empty() const {
        return attention.empty() && rows.empty();
    }  ///< whether there is nothing to show
};

/// Runs `loss` forward and back; changes neither the model nor its gradients.
SentenceProbe probe_sentence(const Module& model, const std::function<Tensor()>& loss);

}  // namespace tapestry
