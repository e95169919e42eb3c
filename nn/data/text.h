// A text as training data: its ids, cut once into a part to learn from, one to validate on and, if
// asked for, one to test on; and batches of its pieces. Read next: token_ids.h, where the ids are;
// nn/train, which asks for the batches.
#pragma once

#include <tapestry/core/random.h>
#include <tapestry/core/tensor.h>
#include <tapestry/nn/data/token_ids.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace tapestry {

/// The text in a file: UTF-8, without a byte order mark if there was one; line ends as they are.
/// Throws IoError when the file is missing, a directory, unreadable, larger than `max_bytes`,
/// empty, or not UTF-8 throughout (saying at which byte, and how to convert it from UTF-16).
std::string read_text(const std::filesystem::path& path,
                      std::uint64_t max_bytes = std::uint64_t{1} << 30);

/// Which part of a text: the beginning, what follows it, the end, or all of it.
enum class Split { train, validation, test, all };

template <>
struct NamesOf<Split> {
    static constexpr EnumNames<Split, 4> list{{{Split::train, "train"},
                                               {Split::validation, "validation"},
                                               {Split::test, "test"},
                                               {Split::all, "all"}}};
};

/// Which sequences a batch has. random: each begins anywhere in the part with equal probability;
/// overlaps and repetitions happen. epoch: the part is cut into floor((n - 1) / context) sequences
/// that follow one another (fewer ids than a context are left over at the end), and each comes once
/// before any comes again, in another order every time.
enum class BatchOrder { random, epoch };

template <>
struct NamesOf<BatchOrder> {
    static constexpr EnumNames<BatchOrder, 2> list{
        {{BatchOrder::random, "random"}, {BatchOrder::epoch, "epoch"}}};
};

struct TextOptions {
    double train_fraction = 0.9;
    double test_fraction = 0;   ///< of all ids, the last of them
    std::string name = "text";  ///< how errors call it: the file's name, say
};

/// A batch of sequences; targets[b, t] is the id that follows inputs[b, t] in the text.
struct Batch {
    Tensor inputs;   ///< i64 [B, T]
    Tensor targets;  ///< i64 [B, T]
};

class TextData {
public:
    /// Of n ids the first floor(train_fraction n) are for training, the last floor(test_fraction n)
    /// for testing, those between for validation. Throws ValueError unless 0 < train_fraction < 1
    /// and 0 <= test_fraction < 1 - train_fraction.
    explicit TextData(TokenIds ids, TextOptions options = {});
    explicit TextData(const std::vector<std::int64_t>& ids, TextOptions options = {});

    TokenIds ids(Split split) const;
    std::int64_t size(Split split) const { return ids(split).size(); }

    /// Throws ValueError, naming the sizes, unless each part (but that for testing, if it is empty)
    /// holds a sequence of `context` ids and the one that follows it. For asking before a training
    /// begins.
    void check_context(std::int64_t context) const;

    /// `batch` sequences of `context` ids, chosen as `order` says. What is chosen depends on the
    /// generator alone, so that its state says which batch comes next: random order takes its
    /// random numbers from it, epoch order counts sequences with its offset, and its seed decides
    /// on the orders. Throws ValueError when batch or context is less than 1 or the part is shorter
    /// than context + 1.
    Batch batch(BatchOrder order, Split split, std::int64_t batch, std::int64_t context,
                Generator& generator) const;

    /// The same in random order.
    Batch random_batch(Split split, std::int64_t batch, std::int64_t context,
                       Generator& generator) const;

    /// The sequences that begin at these places of the part. Throws ValueError as random_batch
    /// does, and IndexError for a start from which context + 1 ids do not fit.
    Batch batch_at(Split split, std::span<const std::int64_t> starts, std::int64_t context) const;

private:
    void check_fits(Split split, std::int64_t context) const;

    TokenIds ids_;
    std::int64_t train_size_ = 0;
    std::int64_t test_size_ = 0;
    std::string name_;
};

}  // namespace tapestry
