// Learning to turn one text into another from pairs of them, character by character: with the
// Transformer, and with the recurrent networks that came before it. Read dates.h and bottleneck.h
// for what is translated.
#pragma once

#include <tapestry/examples/school/tasks/task.h>
#include <tapestry/nn/models/seq2seq.h>

namespace tapestry::examples {

struct Pair {
    std::string source, target;
};

using DrawPair = std::function<Pair(bool for_test, Generator& generator)>;

// Ids: three marks, then the printable characters of ASCII.
constexpr std::int64_t kPad = 0, kBegin = 1, kEnd = 2, kFirstCharacter = 3;
constexpr std::int64_t kCharacters = kFirstCharacter + ('~' - ' ' + 1);

struct PairBatch {
    Tensor source;   ///< i64 [B, S], short ones filled with kPad
    Tensor lengths;  ///< i64 [B]: of the sources
    Tensor target;   ///< i64 [B, T]: begin and the target
    Tensor next;     ///< i64 [B, T]: the target and its end
};

/// Rows of ids: `before`, the text, `after`, and padding, with after = kPad for none.
Tensor pack(const std::vector<std::string>& texts, std::int64_t before, std::int64_t after);

PairBatch pack(const std::vector<Pair>& pairs);

/// The characters of ids, up to the end.
std::string text_of(const std::vector<std::int64_t>& ids);

// ---- the two kinds of models --------------------------------------------------------------------

Tensor loss_of(const Transformer& model, const PairBatch& b);

Tensor loss_of(const Seq2Seq& model, const PairBatch& b);

/// How much was looked at each character of the source, for each character that is written: [T, S].
/// Of the Transformer the mean over the heads of the last layer.
Tensor attention_map(const Transformer& model, const PairBatch& b);

Tensor attention_map(const Seq2Seq& model, const PairBatch& b);

// ---- learning -----------------------------------------------------------------------------------

/// How many of `count` held-out pairs are written exactly; always the same ones. Model, here and
/// below: Transformer or Seq2Seq.
template <class Model>
Score examine(const Model& model, const DrawPair& draw, std::int64_t count);

/// The map of one pair: a row per letter written, a column per letter read.
template <class Model>
std::string picture(const Model& model, const Pair& pair);

/// With a model of this name: "transformer", "lstm" or "lstm-attention", Bahdanau's. The pictures
/// are of the two that attend. Saves the Transformer in options.out; throws ValueError if another
/// is to be saved, IoError if it cannot be.
Score learn_with(const std::string& name, const DrawPair& draw, const TaskOptions& options,
                 const Pair* example = nullptr);

}  // namespace tapestry::examples
