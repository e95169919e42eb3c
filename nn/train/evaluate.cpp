#include <tapestry/autograd/tape.h>
#include <tapestry/nn/train/evaluate.h>

namespace tapestry {
namespace {

// Puts the mode back at the end of the scope, also when a batch throws.
class InEvaluationMode {
public:
    explicit InEvaluationMode(Module& model) : model_(model), was_training_(model.is_training()) {
        model_.eval();
    }
    ~InEvaluationMode() { model_.train(was_training_); }
    InEvaluationMode(const InEvaluationMode&) = delete;
    InEvaluationMode& operator=(const InEvaluationMode&) = delete;

private:
    Module& model_;
    bool was_training_;
};

}  // namespace

double evaluate(GPT& model, const TextData& data, Split split, const EvaluateOptions& options,
                Generator& generator) {
    require(options.batches >= 1, "evaluate: {} batches; at least 1 is needed", options.batches);
    const NoGradGuard no_grad;
    const InEvaluationMode mode(model);
    double total = 0;
    for (std::int64_t i = 0; i < options.batches; ++i) {
        const Batch b = data.random_batch(split, options.batch, model.config().context, generator);
        total += model.loss(b.inputs, b.targets).item();
    }
    return total / static_cast<double>(options.batches);
}

}  // namespace tapestry
