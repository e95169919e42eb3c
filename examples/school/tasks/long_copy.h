// Copying over a long distance: what each form of attention can and cannot do, and what it costs.
//
// Some symbols, a long silence, then a place for each symbol, where it has to be said again:
//
//     3 1 4 1 . . . . . . . . . . . . . . . . _ _ _ _    ->    3 1 4 1 at the end
//     `-m -'  `---------- distance ----------------'
//
// Place i must look back at position i - distance and nowhere else. Softmax attention does. A
// sliding window cannot: through n layers nothing travels further than n windows. Linear attention
// sums the whole sequence up in a matrix D x D per head: it can be asked for about D things. A
// Performer estimates softmax with random features, and a sharp look takes many. Linformer mixes
// all positions into a few summaries, and must learn to leave the silence out. After the copying
// task of Arjovsky et al. 2015 ("Unitary Evolution Recurrent Neural Networks").
#pragma once

#include <tapestry/examples/school/tasks/task.h>

#include <string>
#include <vector>

namespace tapestry::examples {

struct LongCopyOptions {
    std::int64_t distance = 512;
    std::int64_t symbols = 32;   ///< how many are to be copied
    std::int64_t alphabet = 16;  ///< how many different ones there are
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

/// A form under the name it has in the table.
struct Contender {
    std::string name;
    AttentionFormFactory form;
};

/// All of them, for sequences of up to `length`. What is random in a form comes from `generator`,
/// which must outlive them.
std::vector<Contender> contenders(const LongCopyOptions& o, std::int64_t length,
                                  Generator& generator);

std::vector<std::string> contender_names(const LongCopyOptions& o);

/// ids [B, T] -> logits [B, symbols, alphabet] at the last places.
class CopyModel : public Module {
public:
    Embedding token;
    PositionalEncoding position;
    Encoder encoder;
    Linear head;

    /// Throws ValueError for more symbols than there are positions between.
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

/// The share of symbols that come out right, in new sequences; `logits` makes [B, symbols, A] of a
/// CopyBatch.
double copy_accuracy(const std::function<Tensor(const CopyBatch&)>& logits,
                     const LongCopyOptions& o);

struct CopyResult {
    double accuracy = 0;
    double milliseconds = 0;  ///< per step
    double megabytes = 0;     ///< at the highest, model and optimiser included
};

/// A model with contender number `which` learns to copy.
CopyResult learn_to_copy(const LongCopyOptions& o, std::size_t which);

/// One forward and backward pass of one layer over `length` positions: milliseconds and megabytes.
struct Cost {
    double milliseconds = 0;
    double megabytes = 0;
};

Cost cost_at(const LongCopyOptions& o, std::size_t which, std::int64_t length);

}  // namespace tapestry::examples
