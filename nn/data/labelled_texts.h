// Texts with labels, from a file: what a classifier learns from. Read next:
// nn/train/classify/classify_task.h, which trains one.
#pragma once

#include <tapestry/core/random.h>
#include <tapestry/nn/data/text.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

/// Texts and their labels: one each, or any number.
struct LabelledTexts {
    std::vector<std::string> labels = {};    ///< the distinct names, sorted
    std::vector<std::string> texts = {};     ///< in the order of the file
    std::vector<std::int64_t> targets = {};  ///< of each text: index of its label, unless `several`
    std::string hash = {};                   ///< XXH3 of all of them
    bool several = false;                    ///< a text may have no label, one or more
    /// With `several`, of each text: indices of its labels, ascending.
    std::vector<std::vector<std::int64_t>> sets = {};
    std::int64_t first_with_several = 0;  ///< line of the first text with two labels; 0: none

    /// Number of texts with each label.
    std::vector<std::int64_t> counts() const;
    /// Indices of the labels of text i, ascending.
    std::vector<std::int64_t> labels_of(std::size_t i) const;
};

/// How many labels a model gives a text.
enum class LabelsPerText {
    as_in_file,  ///< decided by the file: any number if one of its texts has several
    one,         ///< exactly one; a text with another number is an error
    any          ///< any number, even if each text of the file has one
};

/// The names between semicolons, without blanks; empty ones are left out.
std::vector<std::string> label_names(std::string_view text);

/// Reads a file of one of these forms, which its name tells:
///   .csv       comma-separated, fields in double quotes where they need it (RFC 4180)
///   .tsv       tab-separated, without quotes
///   any other  lines "__label__NAME text", fastText's form; several: "__label__A __label__B text"
/// The columns of the first two are those called "label" and "text" in the first line, or, if it
/// has no such names, a label and a text. A column "labels" has any number of them, with semicolons
/// between. Empty lines are skipped. If `known` is not empty, these are the labels, in their order.
///
/// Throws IoError as read_text does; with file and line, for a line without a label (in a column
/// "labels" that is allowed), with one twice, without a text, with another number of fields than
/// the first, an unclosed quote, a label that is not known, and a number of labels that is not
/// `needed`; and unless there is a text, and at least two labels.
LabelledTexts read_labelled_texts(const std::filesystem::path& file,
                                  const std::vector<std::string>& known = {},
                                  LabelsPerText needed = LabelsPerText::as_in_file);

/// The next `batch` of n examples, by index: each with equal probability, or each once per epoch.
/// The generator's state decides, as for TextData::batch. Throws ValueError unless both are
/// positive.
std::vector<std::int64_t> next_rows(BatchOrder order, std::int64_t n, std::int64_t batch,
                                    Generator& generator);

}  // namespace tapestry
