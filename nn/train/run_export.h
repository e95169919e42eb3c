// A run's numbers for other programs: CSV for spreadsheets and pandas, event files for TensorBoard.
//
// A TensorBoard event file is a sequence of TFRecords; numbers are little-endian:
//
//     u64 length   u32 masked_crc(length)   bytes data   u32 masked_crc(data)
//     masked_crc(x) = ((c >> 15) | (c << 17)) + 0xa282ead8, c = crc32c(x), modulo 2^32
//
// Each record's data is a protobuf message Event {1: double wall_time, 2: int64 step, 3: string
// file_version, 5: Summary {1: repeated Value {1: string tag, 2: float simple_value}}}; the first
// has file_version "brain.Event:2". Sources: TensorFlow's core/lib/io/record_writer.cc,
// core/util/event.proto and core/framework/summary.proto. CRC-32C: RFC 3720, appendix B.4.
#pragma once

#include <tapestry/nn/inspect/step_metrics.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

/// A line of CSV (RFC 4180), ended by "\n": fields with commas, quotes or line breaks are quoted.
std::string csv_line(const std::vector<std::string>& fields);

/// A number as CSV: the shortest text that reads as the same; empty if it is not finite.
std::string csv_number(double x);

/// The steps of runs as CSV, one per line, after a line of names: run, step, loss, lr, grad_norm,
/// tokens_per_s, seconds, val_loss. Throws as read_steps does.
std::string steps_to_csv(const std::vector<std::filesystem::path>& runs);

/// The CRC-32C (Castagnoli) of some bytes.
std::uint32_t crc32c(std::string_view bytes);

/// A TFRecord with this data.
std::string tfrecord(std::string_view data);

/// The steps as the contents of an event file: loss, learning rate, gradient norm, and validation
/// loss where there is one. `began`: when the run began, in seconds since 1970.
std::string to_event_file(std::span<const StepMetrics> steps, double began);

/// Writes an events.out.tfevents file for each run into a folder of `out` with its name, to be
/// shown by `tensorboard --logdir OUT`. Returns the paths. Throws IoError, and as read_steps does.
std::vector<std::filesystem::path> write_event_files(const std::vector<std::filesystem::path>& runs,
                                                     const std::filesystem::path& out);

}  // namespace tapestry
