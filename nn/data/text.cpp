// From a file to batches: reads, rejects invalid text, splits, extracts sequences.
#include <tapestry/nn/data/text.h>

#include <tapestry/core/file.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/data/documents.h>
#include <tapestry/nn/data/permutation.h>

#include <algorithm>
#include <utility>

namespace tapestry {
namespace {

std::string_view name_of(Split split) {
    switch (split) {
        case Split::train: return "training";
        case Split::validation: return "validation";
        case Split::test: return "test";
        case Split::all: break;
    }
    return "whole";
}

}  // namespace

std::string read_text(const std::filesystem::path& path, std::uint64_t max_bytes) {
    std::string text = read_file(path, max_bytes);
    check_utf8(text, shown(path));
    text.erase(0, utf8::mark_bytes(text));
    require<IoError>(!text.empty(), "{}: the file is empty", shown(path));
    return text;
}

TextData::TextData(TokenIds ids, TextOptions options)
    : ids_(std::move(ids)), name_(std::move(options.name)) {
    const double fraction = options.train_fraction;
    require(fraction > 0 && fraction < 1,
            "{}: the training fraction must be between 0 and 1, got {}", name_, fraction);
    require(options.test_fraction >= 0 && fraction + options.test_fraction < 1,
            "{}: the test fraction must be >= 0 and leave something for validation, got {} with a "
            "training fraction of {}",
            name_, options.test_fraction, fraction);
    const auto all = static_cast<double>(ids_.size());
    train_size_ = static_cast<std::int64_t>(fraction * all);
    test_size_ = static_cast<std::int64_t>(options.test_fraction * all);
}

TextData::TextData(const std::vector<std::int64_t>& ids, TextOptions options)
    : TextData(TokenIds(ids), std::move(options)) {}

TokenIds TextData::ids(Split split) const {
    const std::int64_t validation = ids_.size() - train_size_ - test_size_;
    switch (split) {
        case Split::train: return ids_.slice(0, train_size_);
        case Split::validation: return ids_.slice(train_size_, validation);
        case Split::test: return ids_.slice(train_size_ + validation, test_size_);
        case Split::all: break;
    }
    return ids_;
}

void TextData::check_context(std::int64_t context, std::string_view what) const {
    require(context >= 1, "{}: {} must be at least 1, got {}", name_, what, context);
    const std::int64_t validation = size(Split::validation);
    const bool fits =
        std::min(train_size_, validation) > context && (test_size_ == 0 || test_size_ > context);
    const std::string test = test_size_ == 0 ? "" : fmt::format(" and {} for testing", test_size_);
    require(fits,
            "{}: too short: {} tokens for training and {} for validation{}; a {} of {} needs more "
            "than {} in each (a longer text, or a smaller {})",
            name_, train_size_, validation, test, what, context, context, what);
}

void TextData::check_fits(Split split, std::int64_t context) const {
    require(context >= 1, "{}: context must be at least 1, got {}", name_, context);
    require(size(split) > context,
            "{}: too short: the {} part has {} tokens; a context of {} needs more than {}", name_,
            name_of(split), size(split), context, context);
}

Batch TextData::random_batch(Split split, std::int64_t batch, std::int64_t context,
                             Generator& generator) const {
    return this->batch(BatchOrder::random, split, batch, context, generator);
}

Batch TextData::batch(BatchOrder order, Split split, std::int64_t batch, std::int64_t context,
                      Generator& generator) const {
    require(batch >= 1, "{}: batch must be at least 1, got {}", name_, batch);
    check_fits(split, context);
    const std::int64_t size = this->size(split);
    Tensor starts;
    if (order == BatchOrder::random) {
        starts = randint(0, size - context, {batch}, generator);
    } else {
        starts = Tensor({batch}, DType::i64);
        const std::span<std::int64_t> numbers(starts.mutable_data<std::int64_t>(),
                                              static_cast<std::size_t>(batch));
        next_in_epochs(generator, (size - 1) / context, numbers);
        for (std::int64_t& number : numbers) number *= context;
    }
    return batch_at(split, {starts.data<std::int64_t>(), static_cast<std::size_t>(batch)}, context);
}

Batch TextData::batch_at(Split split, std::span<const std::int64_t> starts,
                         std::int64_t context) const {
    check_fits(split, context);
    require(!starts.empty(), "{}: batch must be at least 1, got 0", name_);
    const TokenIds part = ids(split);
    const Shape shape{static_cast<std::int64_t>(starts.size()), context};
    Batch batch{Tensor(shape, DType::i64), Tensor(shape, DType::i64)};
    std::int64_t* inputs = batch.inputs.mutable_data<std::int64_t>();
    std::int64_t* targets = batch.targets.mutable_data<std::int64_t>();
    RecycledVector<std::int64_t> sequence(static_cast<std::size_t>(context) + 1);
    for (const std::int64_t start : starts) {
        if (start < 0 || start >= part.size() - context) {
            fail<IndexError>("{}: a sequence of {} from {} exceeds the {} part of {} tokens", name_,
                             context, start, name_of(split), part.size());
        }
        part.read(start, sequence);
        inputs = std::copy_n(sequence.data(), context, inputs);
        targets = std::copy_n(sequence.data() + 1, context, targets);
    }
    return batch;
}

}  // namespace tapestry
