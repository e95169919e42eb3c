// How fast a text becomes ids, byte pairs are learned from it, and batches are drawn: on one
// thread, the reading of its file included.
#pragma once

#include <tapestry/nn/bench/measurement.h>

#include <cstdint>
#include <string>

namespace tapestry::bench {

struct DataOptions {
    std::string text = {};      ///< a file
    std::int64_t vocab = 4096;  ///< of the byte pairs
    std::int64_t batch = 12;
    std::int64_t context = 64;
    double seconds = 1;  ///< for each row; each is measured five times at least
};

struct DataRow {
    double bytes = 0;        ///< of the text
    std::int64_t vocab = 0;  ///< of the byte pairs, as it became
    Times characters = {};   ///< the vocabulary found and the text encoded: the file is read twice
    Times learning = {};     ///< of byte pairs, from all of the text
    Times byte_pairs = {};   ///< the text encoded
    Times batch = {};        ///< one, from the ids of the byte pairs

    double bytes_per_second(const Times& times) const { return bytes / times.median; }
};

/// Throws IoError and ValueError as DocumentReader does, and for a text shorter than the context.
DataRow measure_data(const DataOptions& options);

}  // namespace tapestry::bench
