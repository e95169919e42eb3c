#include <tapestry/nn/inspect/sentence_probe.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/nn/inspect/inspector.h>

#include <utility>

namespace tapestry {
namespace {

// The ops on the tokens' path that begin the residual stream or add to it.
void keep_stream(SentenceProbe& look, const Inspector& inspector) {
    const TokenPath& path = inspector.token_path();
    look.places = even_places(path.tokens, path.tokens);
    for (const FollowedEntry& e : path.entries) {
        const InspectedEntry& entry = inspector.entries()[static_cast<std::size_t>(e.entry)];
        if (e.whole || e.lengths.empty() || (entry.name != "add" && entry.name != "embedding"))
            continue;
        look.stream.push_back({.entry = e.entry,
                               .op = entry.name,
                               .module = entry.module,
                               .lengths = e.lengths,
                               .gradients = e.gradients});
    }
}

}  // namespace

SentenceProbe probe_sentence(const Module& model, const std::function<Tensor()>& loss) {
    Inspector inspector(model);
    {
        Tape tape;
        const Tensor y = loss();
        Tensors asked;
        for (const auto& [name, parameter] : model.named_parameters()) {
            if (parameter.requires_grad()) asked.push_back(parameter);
        }
        if (!asked.empty()) tape.gradient(y, asked);  // backward() would add to grad()
    }
    SentenceProbe look;
    for (const AttentionTrace& seen : inspector.attention()) {
        AttentionTrace kept;  // a report has many of these: omit vectors and matrices
        kept.entry = seen.entry;
        kept.module = seen.module;
        kept.causal = seen.causal;
        kept.heads = seen.heads, kept.queries = seen.queries, kept.keys = seen.keys;
        kept.weights = seen.weights;
        kept.entropy = seen.entropy;
        look.attention.push_back(std::move(kept));
    }
    if (inspector.predictions()) look.rows = inspector.predictions()->rows;
    keep_stream(look, inspector);
    return look;
}

}  // namespace tapestry
