// Texts with a label each, from a file: what a classifier learns from. Read next:
// nn/train/classify/classify_task.h, which trains one.
#pragma once

#include <tapestry/core/random.h>
#include <tapestry/nn/data/text.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tapestry {

/// Texts and their labels.
struct LabelledTexts {
    std::vector<std::string> labels;    ///< the distinct names, sorted
    std::vector<std::string> texts;     ///< in the order of the file
    std::vector<std::int64_t> targets;  ///< of each text: index of its label
    std::string hash;                   ///< XXH3 of all of them

    /// Number of texts with each label.
    std::vector<std::int64_t> counts() const;
};

/// Reads a file of one of these forms, which its name tells:
///   .csv       comma-separated, fields in double quotes where they need it (RFC 4180)
///   .tsv       tab-separated, without quotes
///   any other  lines "__label__NAME text", fastText's form
/// The columns of the first two are those called "label" and "text" in the first line, or, if it
/// has no such names, a label and a text. Empty lines are skipped. If `known` is not empty, these
/// are the labels, in their order.
///
/// Throws IoError as read_text does; with file and line, for a line without a label or with
/// several, without a text, with another number of fields than the first, an unclosed quote, and a
/// label that is not known; and unless there are at least two labels.
LabelledTexts read_labelled_texts(const std::filesystem::path& file,
                                  const std::vector<std::string>& known = {});

/// The next `batch` of n examples, by index: each with equal probability, or each once per epoch.
/// The generator's state decides, as for TextData::batch. Throws ValueError unless both are
/// positive.
std::vector<std::int64_t> next_rows(BatchOrder order, std::int64_t n, std::int64_t batch,
                                    Generator& generator);

}  // namespace tapestry
