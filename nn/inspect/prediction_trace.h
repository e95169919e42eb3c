// What a model expected, behind its loss: of every place where a class was to be predicted (the
// next token, a hidden word, what an image shows) the likeliest classes and what the right one got,
//     p = softmax(logits),   loss = -ln p(right),
// and the same for each layer alone (logit_lens.h).
#pragma once

#include <tapestry/nn/inspect/logit_lens.h>
#include <tapestry/ops/recorded_loss.h>

#include <string>
#include <vector>

namespace tapestry {

/// Of a row of logits.
struct PredictedClass {
    std::int64_t id = 0;
    double probability = 0;
};

struct Prediction {
    std::int64_t right = -1;  ///< the target; -1: the loss does not count this row
    double loss = 0;          ///< -ln p(right), in nats; 0 if it does not count
    std::int64_t rank = 0;    ///< 1: none is likelier than the right one; 0: no right
    std::vector<PredictedClass> likeliest{};  ///< at most five, the likeliest first
};

struct LayerPredictions {
    std::string layer;  ///< "blocks.3": what that layer read, through what comes behind the last
    std::vector<Prediction> rows;
};

/// Of one sequence of a batch, or of a whole batch of single classes. In ordinary memory, as
/// AttentionTrace is.
struct PredictionTrace {
    int entry = -1;      ///< of Inspector::entries(): the cross-entropy
    std::string module;  ///< of the last layer, "blocks.3"; empty without layers
    std::int64_t classes = 0;
    double label_smoothing = 0;  ///< of the step's loss; that of the rows here has none
    std::vector<Prediction> rows = {};
    /// The model's own predictions, `rows`, follow the last.
    std::vector<LayerPredictions> layers = {};
};

/// Of an entry of cross_entropy: logits [..., T, V] of sequence 0, or [N, V], and what was asked of
/// it. The lens has been told of all entries before it. Layers are left out where their logits,
/// which are those of the whole batch, would be more than 2^26 numbers.
PredictionTrace trace_predictions(const Op& op, const Tensor& logits,
                                  const RecordedCrossEntropy& asked, const LogitLens& lens);

}  // namespace tapestry
