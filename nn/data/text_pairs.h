// Pairs of texts from a file: what a model reads, and what it should write. Read next:
// length_buckets.h, which forms batches of pairs of similar length;
// nn/train/translate/translate_task.h, which learns them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tapestry {

/// A pair and its place.
struct TextPair {
    std::string source;     ///< to read
    std::string target;     ///< to write
    std::int64_t line = 0;  ///< of the file, counted from 1
};

/// The pairs of a file, in its order.
struct TextPairs {
    std::string file;             ///< its name, for messages
    std::vector<TextPair> pairs;  ///< in order
    std::string hash;             ///< XXH3 of all of them
};

/// Reads a file of one of these forms, which its name tells:
///   .jsonl     an object in each line, {"source": "...", "target": "..."}; other members are
///              ignored
///   any other  tab-separated, without quotes; the columns are those called "source" and "target"
///              in the first line, or, if it has no such names, a source and a target
/// Blanks around a text are removed, empty lines skipped. Throws IoError as read_text does; with
/// file and line, for a line without a separator or with several, a side that is empty, what is no
/// JSON object of two texts; and for a file without pairs.
TextPairs read_text_pairs(const std::filesystem::path& file);

/// Whether the file is clearly one of pairs: its name ends in .tsv or .jsonl, and its first line
/// names source and target. False if it cannot be read.
bool names_source_and_target(const std::filesystem::path& file);

}  // namespace tapestry
