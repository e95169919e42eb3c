// Decoding: a batch of sequences that grow by one token at a time; the interface between greedy or
// beam search and a model.
#pragma once

#include <tapestry/nn/models/language_model.h>
#include <tapestry/nn/models/transformer.h>

namespace tapestry {

/// A batch of sequences that a model extends by a token at a time. Derive from this for a model of
/// your own.
class Decoding {
public:
    virtual ~Decoding() = default;

    /// ids i64 [B], the latest token of each sequence -> logits [B, V] of the next one.
    virtual Tensor next(const Tensor& ids) = 0;

    /// Replaces sequence i by a copy of sequence rows[i], i64 [B'], as beam search drops and splits
    /// sequences.
    virtual void select(const Tensor& rows) = 0;
};

/// A Transformer that generates the target of `source` [B, S], which is encoded once. Works under a
/// NoGradGuard, with the model in evaluation mode; the model must outlive it.
class TransformerDecoding : public Decoding {
public:
    /// `source` i64 [B, S]. Throws as Transformer::encode() does.
    TransformerDecoding(const Transformer& model, const Tensor& source);
    Tensor next(const Tensor& ids) override;
    void select(const Tensor& rows) override;

private:
    const Transformer& model_;
    Tensor source_;  // [B, S]
    Tensor memory_;  // [B, S, C]
    std::vector<DecoderCache> caches_;
};

/// A language model that continues B prompts of equal length. `next` throws ShapeError when the
/// context is full.
class LanguageModelDecoding : public Decoding {
public:
    /// The model must outlive it.
    explicit LanguageModelDecoding(const LanguageModel& model) : model_(model) {}

    /// Reads tokens [B, T] at once and returns the logits [B, V] after the last.
    Tensor read(const Tensor& ids);
    Tensor next(const Tensor& ids) override;
    void select(const Tensor& rows) override;
    /// Tokens read so far.
    std::int64_t length() const { return caches_.empty() ? 0 : caches_.front().length(); }
    /// Clears all that was read.
    void clear() { caches_.clear(); }

private:
    const LanguageModel& model_;
    std::vector<KeyValueCache> caches_;
};

/// The name from when a GPT was the only one.
using GPTDecoding = LanguageModelDecoding;

}  // namespace tapestry
