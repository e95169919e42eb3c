// A text as training data: its ids, split into parts for training, validation and, optionally,
// testing; and batches of sequences from a part. Read next: token_ids.h, which holds the ids;
// nn/train, which uses the batches.
#pragma once

#include <tapestry/core/random.h>
#include <tapestry/core/tensor.h>
#include <tapestry/nn/data/token_ids.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

/// The text in a file: UTF-8, without its byte order mark if it has one; line endings unchanged.
/// Throws IoError when the file is missing, a directory, unreadable, larger than `max_bytes`,
/// empty, or not valid UTF-8 (with the byte position, and how to convert it from UTF-16).
std::string read_text(const std::filesystem::path& path,
                      std::uint64_t max_bytes = std::uint64_t{1} << 30);

/// A part of a text: its beginning, the next part, its end, or all of it.
enum class Split {
    train,       ///< the beginning
    validation,  ///< the part after it, to choose settings by
    test,        ///< the end, to report
    all          ///< the whole text
};

template <>
struct NamesOf<Split> {
    static constexpr EnumNames<Split, 4> list{{{Split::train, "train"},
                                               {Split::validation, "validation"},
                                               {Split::test, "test"},
                                               {Split::all, "all"}}};
};

/// How batches choose sequences. random: each starts anywhere in the part with equal probability;
/// overlaps and repetitions occur. epoch: the part is cut into floor((n - 1) / context) consecutive
/// sequences (fewer ids than a context are left over at the end), and each is used once per epoch,
/// in a different order every time.
enum class BatchOrder {
    random,  ///< each sequence starts anywhere
    epoch    ///< each sequence once per epoch
};

template <>
struct NamesOf<BatchOrder> {
    static constexpr EnumNames<BatchOrder, 2> list{
        {{BatchOrder::random, "random"}, {BatchOrder::epoch, "epoch"}}};
};

/// How a text is split.
struct TextOptions {
    double train_fraction = 0.9;  ///< fraction of all ids for training, at the beginning
    double test_fraction = 0;     ///< fraction of all ids, at the end
    std::string name = "text";    ///< used in error messages: for instance the file's name
};

/// A batch of sequences; targets[b, t] is the id that follows inputs[b, t] in the text.
struct Batch {
    Tensor inputs;   ///< i64 [B, T]
    Tensor targets;  ///< i64 [B, T]
};

/// The ids of a text in their splits, and batches of sequences from them.
class TextData {
public:
    /// Splits n ids: the first floor(train_fraction n) are for training, the last
    /// floor(test_fraction n) for testing, those between for validation. Throws ValueError unless 0
    /// < train_fraction < 1 and 0 <= test_fraction < 1 - train_fraction.
    explicit TextData(TokenIds ids, TextOptions options = {});
    explicit TextData(const std::vector<std::int64_t>& ids, TextOptions options = {});

    /// The ids of a split, which share memory or file with the whole.
    TokenIds ids(Split split) const;
    /// Number of ids in a split.
    std::int64_t size(Split split) const { return ids(split).size(); }

    /// Throws ValueError, with the sizes, unless each part (except an empty test part) holds a
    /// sequence of `context` ids and the next id; `what` names the size. Call it before training.
    void check_context(std::int64_t context, std::string_view what = "context") const;

    /// `batch` sequences of `context` ids, chosen according to `order`. The choice depends only on
    /// the generator, so its state determines the next batch: random order draws from it; epoch
    /// order counts sequences with its offset and derives the orders from its seed. Throws
    /// ValueError when batch or context is less than 1 or the part is shorter than context + 1.
    Batch batch(BatchOrder order, Split split, std::int64_t batch, std::int64_t context,
                Generator& generator) const;

    /// The same with random order.
    Batch random_batch(Split split, std::int64_t batch, std::int64_t context,
                       Generator& generator) const;

    /// The sequences that start at these positions of the part. Throws ValueError as random_batch
    /// does, and IndexError for a start with fewer than context + 1 ids after it.
    Batch batch_at(Split split, std::span<const std::int64_t> starts, std::int64_t context) const;

private:
    void check_fits(Split split, std::int64_t context) const;

    TokenIds ids_;
    std::int64_t train_size_ = 0;
    std::int64_t test_size_ = 0;
    std::string name_;
};

}  // namespace tapestry
