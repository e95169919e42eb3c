// What a model expected, behind its loss: of every place where a class was to be predicted (the
// next token, a hidden word, what an image shows) the likeliest classes and what the right one got,
//     p = softmax(logits),   loss = -ln p(right),
// and the same for each layer alone.
#pragma once

#include <tapestry/autograd/op.h>
#include <tapestry/ops/recorded.h>

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace tapestry {

// ---- the logit lens -----------------------------------------------------------------------------

// What each layer alone would predict. A stack of layers hands a stream of vectors [B, T, C] from
// one to the next, and what comes behind the last makes logits of it: a norm, a head. The same
// entries, run again on what an earlier layer read, give that layer's logits. Source:
// nostalgebraist 2020, "interpreting GPT: the logit lens".
//
// Nothing of it is a property of one model: layers are known by their paths ("blocks.3",
// "decoder.0"), and what comes behind is what was recorded after the last.

class LogitLens {
public:
    /// To be told of every entry as it is recorded. Numbers are copied to ordinary memory; of
    /// tensors only those are held that the entries behind the layers read and did not make.
    void recorded(const Op& op, const Tensors& inputs);

    /// "decoder.3", the last layer of the stack that was recorded last; empty without layers.
    const std::string& last_layer() const { return layer_; }

    /// For each layer in turn what it read, run through the entries behind the last, up to the one
    /// that made the logits in this slot: use("decoder.3", logits). Nothing where there are no
    /// layers, or where the logits are not made of what they give.
    void run(int slot,
             const std::function<void(const std::string& layer, const Tensor& logits)>& use) const;

    /// Forgets everything.
    void clear();

private:
    struct Stream {
        std::string layer;  ///< that reads it
        std::vector<float> numbers;
        Shape shape;
        DType dtype = DType::f32;
    };
    struct Behind {
        const Op* op;
        Tensors inputs;  ///< undefined where they are the stream, or made behind the layers
    };
    void enter(const std::string& layer);
    void find_stream(const Op& op, const Tensors& inputs);
    void follow(const Op& op, const Tensors& inputs);
    Tensor again(int slot, const Tensor& stream) const;

    std::string layer_;
    int entered_ = 0;                       // how many layers so far
    bool is_found_ = false;                 // what this layer reads
    int stream_ = -1;                       // the slot of what the last layer gave,
    Shape given_;                           // and its shape
    std::unordered_map<int, int> made_in_;  // slots: which of the layers made it
    std::vector<Stream> streams_;
    std::vector<Behind> behind_;
    std::unordered_map<int, bool> made_;  // slots: of outputs behind the layers
};

// ---- predictions --------------------------------------------------------------------------------

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
