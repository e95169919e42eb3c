#include <tapestry/nn/generate/decoding.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/ops/indexing.h>
#include <tapestry/ops/view.h>

namespace tapestry {
namespace {

// ids [B] -> [B, 1]
Tensor as_column(const Tensor& ids) {
    require<ShapeError>(ids.defined() && ids.rank() == 1, "Decoding: needs ids [B], got {}",
                        ids.shape());
    return unsqueeze(ids, 1);
}

// logits [B, T, V] -> [B, V]
Tensor last(const Tensor& logits) { return squeeze(slice(logits, 1, -1, logits.size(1)), 1); }

}  // namespace

TransformerDecoding::TransformerDecoding(const Transformer& model, const Tensor& source)
    : model_(model), source_(source) {
    const NoGradGuard no_grad;
    memory_ = model.encode(source);
}

Tensor TransformerDecoding::next(const Tensor& ids) {
    const NoGradGuard no_grad;
    return last(model_.decode(as_column(ids), memory_, source_, {.caches = &caches_}));
}

void TransformerDecoding::select(const Tensor& rows) {
    const NoGradGuard no_grad;
    source_ = index_select(source_, 0, rows);
    memory_ = index_select(memory_, 0, rows);
    for (DecoderCache& cache : caches_) {
        cache.self.select(rows);
        cache.memory.select(rows);
    }
}

Tensor LanguageModelDecoding::read(const Tensor& ids) {
    const NoGradGuard no_grad;
    return last(model_(ids, {.caches = &caches_}));
}

Tensor LanguageModelDecoding::next(const Tensor& ids) { return read(as_column(ids)); }

void LanguageModelDecoding::select(const Tensor& rows) {
    for (KeyValueCache& cache : caches_) cache.select(rows);
}

}  // namespace tapestry
