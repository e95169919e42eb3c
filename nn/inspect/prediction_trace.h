// A model's predictions behind its loss: for every position with a class to predict (the next
// token, a masked word, an image's class), the likeliest classes and the target's probability,
//     p = softmax(logits),   loss = -ln p(right),
// and the same for each layer on its own.
#pragma once

#include <tapestry/autograd/op.h>
#include <tapestry/ops/recorded.h>

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace tapestry {

/// "decoder.3" of "decoder.3.attention.qkv"; empty for a path outside layers.
std::string layer_of(const std::string& path);

// ---- the logit lens -----------------------------------------------------------------------------

// The logit lens: predictions of each layer by itself. A stack of layers passes a stream of vectors
// [B, T, C] from one to the next, and the entries after the last turn it into logits: a norm, a
// head. The same entries, rerun on an earlier layer's input, give logits for that layer. Source:
// nostalgebraist 2020, "interpreting GPT: the logit lens".
//
// This does not depend on the model: layers are recognized by their paths ("blocks.3",
// "decoder.0"), and the rest is what was recorded after the last one.

/// Computes the predictions that each layer would make if it were the last.
class LogitLens {
public:
    /// Call for every entry as it is recorded. Copies numbers to ordinary memory; keeps only
    /// tensors that the entries after the layers read but did not compute.
    void recorded(const Op& op, const Tensors& inputs);

    /// "decoder.3", the last layer of the most recently recorded stack; empty without layers.
    const std::string& last_layer() const { return layer_; }

    /// For each layer, reruns the entries after the last one on that layer's input, up to the entry
    /// that computed the logits in this slot: use("decoder.3", logits). Does nothing without
    /// layers, or if the logits do not depend on them.
    void run(int slot,
             const std::function<void(const std::string& layer, const Tensor& logits)>& use) const;

    /// Clears everything.
    void clear();

private:
    struct Stream {
        std::string layer;  ///< layer that reads it
        std::vector<float> numbers;
        Shape shape;
        DType dtype = DType::f32;
    };
    struct Behind {
        const Op* op;
        Tensors inputs;  ///< undefined for the stream, and for results of entries after the layers
    };
    void enter(const std::string& layer);
    void find_stream(const Op& op, const Tensors& inputs);
    void follow(const Op& op, const Tensors& inputs);
    Tensor again(int slot, const Tensor& stream) const;

    std::string layer_;
    int entered_ = 0;                       // number of layers so far
    bool is_found_ = false;                 // this layer's input was found
    int stream_ = -1;                       // slot of the last layer's output,
    Shape given_;                           // and its shape
    std::unordered_map<int, int> made_in_;  // by slot: the layer that computed it
    std::vector<Stream> streams_;
    std::vector<Behind> behind_;
    std::unordered_map<int, bool> made_;  // slots computed after the layers
};

// ---- predictions --------------------------------------------------------------------------------

/// A class and its probability.
struct PredictedClass {
    std::int64_t id = 0;     ///< class
    double probability = 0;  ///< in [0, 1]
};

/// The prediction at one position.
struct Prediction {
    std::int64_t right = -1;  ///< target; -1: row ignored by the loss
    double loss = 0;          ///< -ln p(right), in nats; 0 if ignored
    std::int64_t rank = 0;  ///< 1 + number of classes likelier than the target; 0 without a target
    std::vector<PredictedClass> likeliest{};  ///< at most five, in descending order
};

/// The predictions from one layer's input.
struct LayerPredictions {
    std::string layer;             ///< "blocks.3": predictions from that layer's input
    std::vector<Prediction> rows;  ///< one per position, as PredictionTrace::rows
};

/// For one sequence of a batch, or a whole batch of single classes. In ordinary memory, as
/// AttentionTrace is.
struct PredictionTrace {
    int entry = -1;                     ///< index into Inspector::entries(): the cross-entropy
    std::string module;                 ///< of the last layer, "blocks.3"; empty without layers
    std::int64_t classes = 0;           ///< V, the number of classes
    double label_smoothing = 0;         ///< of the step's loss; the rows' losses here have none
    std::vector<Prediction> rows = {};  ///< one per position of the sequence
    /// The model's own predictions, `rows`, follow the last.
    std::vector<LayerPredictions> layers = {};
};

/// Traces a cross_entropy entry: logits [..., T, V] of sequence 0, or [N, V], and its recorded
/// arguments. `lens` must have seen all entries before it. Omits layers if the logits of the whole
/// batch are more than 2^26 numbers.
PredictionTrace trace_predictions(const Op& op, const Tensor& logits,
                                  const RecordedCrossEntropy& asked, const LogitLens& lens);

}  // namespace tapestry
