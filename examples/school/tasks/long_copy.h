// Copying over a long distance: what each form of attention can and cannot do, and its cost.
//
// The input is some symbols, a long silence, then a place for each symbol, where it must be
// repeated:
//
//     3 1 4 1 . . . . . . . . . . . . . . . . _ _ _ _    ->    3 1 4 1 at the end
//     `-m -'  `---------- distance ----------------'
//
// Position i must look back at position i - distance and nowhere else. Softmax attention can. A
// sliding window cannot: through n layers nothing travels further than n windows. Linear attention
// sums up the whole sequence in a D x D matrix per head, which can hold about D items. A Performer
// estimates softmax with random features, and sharp attention takes many of them. Linformer mixes
// all positions into a few summaries, and must learn to omit the silence. After the copying task of
// Arjovsky et al. 2015 ("Unitary Evolution Recurrent Neural Networks").
#pragma once

#include <tapestry/examples/school/tasks/task.h>

#include <string>
#include <vector>

namespace tapestry::examples {

struct LongCopyOptions {
    std::int64_t distance = 512;
    std::int64_t symbols = 32;   ///< symbols to copy
    std::int64_t alphabet = 16;  ///< number of different symbols
    std::int64_t dim = 64;
    std::int64_t heads = 2;
    std::int64_t layers = 1;
    std::int64_t window = 64;     ///< of the sliding window
    std::int64_t summaries = 64;  ///< of Linformer
    std::int64_t features = 128;  ///< of the Performer, per head
    std::int64_t steps = 600;
    std::int64_t batch = 8;
    double rate = 3e-3;
    std::uint64_t seed = 1;

    std::int64_t length() const { return distance + symbols; }
};

/// A form of attention with its name in the table.
struct Contender {
    std::string name;
    AttentionFormFactory form;
};

/// All forms, for sequences of up to `length`. Random parts are drawn from `generator`, which must
/// outlive them.
std::vector<Contender> contenders(const LongCopyOptions& o, std::int64_t length,
                                  Generator& generator);

std::vector<std::string> contender_names(const LongCopyOptions& o);

/// ids [B, T] -> logits [B, symbols, alphabet] at the last positions.
class CopyModel : public Module {
public:
    Embedding token;
    PositionalEncoding position;
    Encoder encoder;
    Linear head;

    /// Throws ValueError if there are more symbols than positions between.
    CopyModel(const LongCopyOptions& o, const AttentionFormFactory& form, Generator& generator);

    Tensor operator()(const Tensor& ids) const;

private:
    std::int64_t symbols_;
};

struct CopyBatch {
    Tensor ids;      // i64 [B, T]
    Tensor targets;  // i64 [B, m]
};

CopyBatch copy_batch(const LongCopyOptions& o, Generator& generator);

/// The fraction of symbols copied correctly in new sequences; `logits` maps a CopyBatch to [B,
/// symbols, A].
double copy_accuracy(const std::function<Tensor(const CopyBatch&)>& logits,
                     const LongCopyOptions& o);

struct CopyResult {
    double accuracy = 0;
    double milliseconds = 0;  ///< per step
    double megabytes = 0;     ///< peak, including model and optimiser
};

/// Trains a model with contender number `which`.
CopyResult learn_to_copy(const LongCopyOptions& o, std::size_t which);

/// Time and memory of one forward and backward pass of one layer over `length` positions.
struct Cost {
    double milliseconds = 0;
    double megabytes = 0;
};

Cost cost_at(const LongCopyOptions& o, std::size_t which, std::int64_t length);

}  // namespace tapestry::examples
