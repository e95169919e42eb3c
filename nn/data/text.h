// A text as training data: its ids, cut once into a part to learn from and a part to be tested on,
// and batches of random pieces. Read next: nn/train, which asks for the batches.
#pragma once

#include <tapestry/core/random.h>
#include <tapestry/core/tensor.h>

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

/// Which part of a text: the beginning, the end, or all of it.
enum class Split { train, validation, all };

struct TextOptions {
    double train_fraction = 0.9;
    std::string name = "text";  ///< how errors call it: the file's name, say
};

/// A batch of sequences; targets[b, t] is the id that follows inputs[b, t] in the text.
struct Batch {
    Tensor inputs;   ///< i64 [B, T]
    Tensor targets;  ///< i64 [B, T]
};

class TextData {
public:
    /// The first floor(train_fraction * n) ids are for training, the others for validation. Throws
    /// ValueError unless 0 < train_fraction < 1.
    explicit TextData(std::vector<std::int64_t> ids, TextOptions options = {});

    std::span<const std::int64_t> ids(Split split) const;

    /// Throws ValueError, naming the sizes, unless both parts hold a sequence of `context` ids and
    /// the one that follows it. For asking before a training begins.
    void check_context(std::int64_t context) const;

    /// `batch` sequences of `context` ids, each beginning anywhere in the part with equal
    /// probability; overlaps and repetitions happen. Takes all its random numbers from `generator`,
    /// so that its state says which batch comes next. Throws ValueError when batch or context is
    /// less than 1 or the part is shorter than context + 1.
    Batch random_batch(Split split, std::int64_t batch, std::int64_t context,
                       Generator& generator) const;

    /// The sequences that begin at these places of the part. Throws ValueError as random_batch
    /// does, and IndexError for a start from which context + 1 ids do not fit.
    Batch batch_at(Split split, std::span<const std::int64_t> starts, std::int64_t context) const;

private:
    void check_fits(Split split, std::int64_t context) const;

    std::vector<std::int64_t> ids_;
    std::size_t train_size_ = 0;
    std::string name_;
};

}  // namespace tapestry
