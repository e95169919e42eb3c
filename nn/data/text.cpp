// From a file to batches: read, refuse what is not text, split, cut out pieces.
#include <tapestry/nn/data/text.h>

#include <tapestry/core/file.h>
#include <tapestry/core/text/utf8.h>

#include <algorithm>
#include <utility>

namespace tapestry {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string_view name_of(Split split) {
    switch (split) {
        case Split::train: return "training";
        case Split::validation: return "validation";
        case Split::all: break;
    }
    return "whole";
}

// The commonest way not to be UTF-8 and still be text.
std::string_view hint_for(std::string_view text) {
    const std::string_view mark = text.substr(0, 2);
    if (mark == "\xFF\xFE" || mark == "\xFE\xFF") {
        return "; it begins like UTF-16, which iconv -f UTF-16 -t UTF-8 converts";
    }
    return "; text must be UTF-8 (iconv converts it)";
}

}  // namespace

std::string read_text(const std::filesystem::path& path, std::uint64_t max_bytes) {
    std::string text = read_file(path, max_bytes);
    const std::string shown = utf8::quoted(path.native(), 300);
    if (const auto flaw = utf8::find_flaw(text)) {
        fail<IoError>("{}: not UTF-8 at byte {}: {}{}", shown, flaw->byte, flaw->what,
                      hint_for(text));
    }
    if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
    require<IoError>(!text.empty(), "{}: the file is empty", shown);
    return text;
}

TextData::TextData(std::vector<std::int64_t> ids, TextOptions options)
    : ids_(std::move(ids)), name_(std::move(options.name)) {
    const double fraction = options.train_fraction;
    require(fraction > 0 && fraction < 1, "{}: a training fraction of {}; it lies between 0 and 1",
            name_, fraction);
    train_size_ = static_cast<std::size_t>(fraction * static_cast<double>(ids_.size()));
}

std::span<const std::int64_t> TextData::ids(Split split) const {
    const std::span<const std::int64_t> all(ids_);
    switch (split) {
        case Split::train: return all.first(train_size_);
        case Split::validation: return all.subspan(train_size_);
        case Split::all: break;
    }
    return all;
}

void TextData::check_context(std::int64_t context) const {
    require(context >= 1, "{}: a context of {}; it must be at least 1", name_, context);
    const std::size_t shorter = std::min(train_size_, ids_.size() - train_size_);
    require(std::cmp_greater(shorter, context),
            "{}: too short: {} tokens for training and {} for validation; a context of {} needs "
            "more than {} in each (a longer text, or a smaller context)",
            name_, train_size_, ids_.size() - train_size_, context, context);
}

void TextData::check_fits(Split split, std::int64_t context) const {
    require(context >= 1, "{}: a context of {}; it must be at least 1", name_, context);
    const std::size_t size = ids(split).size();
    require(std::cmp_greater(size, context),
            "{}: too short: the {} part has {} tokens; a context of {} needs more than {}", name_,
            name_of(split), size, context, context);
}

Batch TextData::random_batch(Split split, std::int64_t batch, std::int64_t context,
                             Generator& generator) const {
    require(batch >= 1, "{}: a batch of {}; it must be at least 1", name_, batch);
    check_fits(split, context);
    const auto size = static_cast<std::int64_t>(ids(split).size());
    const Tensor starts = randint(0, size - context, {batch}, generator);
    return batch_at(split, {starts.data<std::int64_t>(), static_cast<std::size_t>(batch)}, context);
}

Batch TextData::batch_at(Split split, std::span<const std::int64_t> starts,
                         std::int64_t context) const {
    check_fits(split, context);
    require(!starts.empty(), "{}: a batch of 0; it must be at least 1", name_);
    const std::span<const std::int64_t> part = ids(split);
    const auto size = static_cast<std::int64_t>(part.size());
    const Shape shape{static_cast<std::int64_t>(starts.size()), context};
    Batch batch{Tensor(shape, DType::i64), Tensor(shape, DType::i64)};
    std::int64_t* inputs = batch.inputs.mutable_data<std::int64_t>();
    std::int64_t* targets = batch.targets.mutable_data<std::int64_t>();
    for (const std::int64_t start : starts) {
        if (start < 0 || start >= size - context) {
            fail<IndexError>("{}: a sequence of {} from {} on leaves the {} part of {} tokens",
                             name_, context, start, name_of(split), size);
        }
        const std::int64_t* from = part.data() + start;
        inputs = std::copy_n(from, context, inputs);
        targets = std::copy_n(from + 1, context, targets);
    }
    return batch;
}

}  // namespace tapestry
