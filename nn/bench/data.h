// How fast a text becomes ids, byte pairs are learned from it, and batches are drawn: on one
// thread, the reading of its file included.
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
    double seconds = 1;         ///< for each row; each is measured five times at least
};

/// The speeds found, each as the seconds of one pass.
struct DataRow {
    double bytes = 0;        ///< of the text
    std::int64_t vocab = 0;  ///< of the byte pairs, as it became
    Times characters = {};   ///< the vocabulary found and the text encoded: the file is read twice
    Times learning = {};     ///< of byte pairs, from all of the text
    Times byte_pairs = {};   ///< the text encoded
    Times batch = {};        ///< one, from the ids of the byte pairs

    /// Bytes of text per second, for one of the times that cover the whole text.
    double bytes_per_second(const Times& times) const { return bytes / times.median; }
};

/// Throws IoError and ValueError as DocumentReader does, and for a text shorter than the context.
DataRow measure_data(const DataOptions& options);

}  // namespace tapestry::bench
