// The speed of encoding a text, learning byte pairs from it and drawing batches, on one thread,
// including reading the file.
#pragma once

#include <tapestry/nn/bench/measurement.h>

#include <cstdint>
#include <string>

namespace tapestry::bench {

/// What to measure.
struct DataOptions {
    std::string text = {};      ///< a file
    std::int64_t vocab = 4096;  ///< of the byte pairs
    std::int64_t batch = 12;    ///< sequences per batch
    std::int64_t context = 64;  ///< ids per sequence
    double seconds = 1;         ///< for each row; each is measured at least five times
};

/// The speeds found, each as the seconds of one pass.
struct DataRow {
    double bytes = 0;        ///< size of the text
    std::int64_t vocab = 0;  ///< byte pair vocabulary size reached
    Times characters = {};   ///< collecting the vocabulary and encoding: reads the file twice
    Times learning = {};     ///< of byte pairs, from the whole text
    Times byte_pairs = {};   ///< encoding
    Times batch = {};        ///< one batch of byte pair ids

    /// Bytes of text per second; `times` must be one that covers the whole text.
    double bytes_per_second(const Times& times) const { return bytes / times.median; }
};

/// Throws IoError and ValueError as DocumentReader does, and ValueError for a text shorter than the
/// context.
DataRow measure_data(const DataOptions& options);

}  // namespace tapestry::bench
