#include <tapestry/nn/inspect/sentence_probe.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/nn/inspect/inspector.h>

namespace tapestry {

SentenceProbe probe_sentence(const Module& model, const std::function<Tensor()>& loss) {
    Inspector inspector(model);
    {
        Tape tape;
        loss();
    }
    SentenceProbe look;
    for (const AttentionTrace& seen : inspector.attention()) {
        AttentionTrace kept;  // a report has many of these: omit vectors and matrices
        kept.module = seen.module;
        kept.causal = seen.causal;
        kept.heads = seen.heads, kept.queries = seen.queries, kept.keys = seen.keys;
        kept.weights = seen.weights;
        kept.entropy = seen.entropy;
        look.attention.push_back(std::move(kept));
    }
    if (inspector.predictions()) look.rows = inspector.predictions()->rows;
    return look;
}

}  // namespace tapestry
