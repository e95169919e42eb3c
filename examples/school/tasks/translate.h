// Learning to translate one text into another from pairs, character by character, with the
// Transformer or the recurrent networks that preceded it. Read dates.h and bottleneck.h for the
// pairs.
#pragma once

#include <tapestry/examples/school/tasks/task.h>
#include <tapestry/nn/models/seq2seq.h>

namespace tapestry::examples {

// Ids: three marks, then the printable characters of ASCII.
constexpr std::int64_t kPad = 0, kBegin = 1, kEnd = 2, kFirstCharacter = 3;
constexpr std::int64_t kCharacters = kFirstCharacter + ('~' - ' ' + 1);

struct PairBatch {
    Tensor source;   ///< i64 [B, S], padded with kPad
    Tensor lengths;  ///< i64 [B]: of the sources
    Tensor target;   ///< i64 [B, T]: begin and the target
    Tensor next;     ///< i64 [B, T]: the target and its end
};

/// Rows of ids: `before`, the text, `after`, and padding; after = kPad omits it.
Tensor pack(const std::vector<std::string>& texts, std::int64_t before, std::int64_t after);

PairBatch pack(const std::vector<Pair>& pairs);

/// The characters of `ids` up to kEnd.
std::string text_of(const std::vector<std::int64_t>& ids);

// ---- the two kinds of model --------------------------------------------------------------------

Tensor loss_of(const Transformer& model, const PairBatch& b);

Tensor loss_of(const Seq2Seq& model, const PairBatch& b);

/// The attention paid to each source character for each character written: [T, S]. For the
/// Transformer, the mean over the heads of the last layer.
Tensor attention_map(const Transformer& model, const PairBatch& b);

Tensor attention_map(const Seq2Seq& model, const PairBatch& b);

// ---- training ----------------------------------------------------------------------------------

/// How many of `count` held-out pairs, always the same ones, are written exactly. Model, here and
/// below: Transformer or Seq2Seq.
template <class Model>
Score examine(const Model& model, const DrawPair& draw, std::int64_t count);

/// The attention map of one pair: a row per letter written, a column per letter read.
template <class Model>
std::string picture(const Model& model, const Pair& pair);

/// Trains the model called "transformer", "lstm" or "lstm-attention" (Bahdanau's). Prints attention
/// maps for the two that attend. Saves the Transformer in options.out; throws ValueError if another
/// model has options.out, IoError if saving fails.
Score learn_with(const std::string& name, const DrawPair& draw, const TaskOptions& options,
                 const Pair* example = nullptr);

}  // namespace tapestry::examples
