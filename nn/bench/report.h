// Benchmark results as text and JSON; the only place that formats them. Except for data,
// checkpoints and busy machines, every text and object gives the machine's measured peak and
// compares each time with it. docs/profiling.md explains how to read them.
#pragma once

#include <tapestry/core/dtype.h>
#include <tapestry/nn/bench/checkpoint.h>
#include <tapestry/nn/bench/data.h>
#include <tapestry/nn/bench/measurement.h>
#include <tapestry/nn/bench/model.h>
#include <tapestry/nn/bench/ops.h>
#include <tapestry/nn/bench/profile.h>

#include <string>
#include <vector>

namespace tapestry::bench {

/// "peak: 519.8 GFLOP/s in f32 (avx512, 2 threads); 183 GB/s in 0.5 MB, ..., 41 GB/s in 134.2 MB"
std::string peak_text(const MachinePeak& peak);

/// "87%"; "-" if it does not apply.
std::string percent(double x);

/// The header of a table, and a row.
std::string table_head();
/// One row of such a table, for one measurement.
std::string table_row(const Measurement& m, const MachinePeak& peak);

/// Some lines, without the peak.
std::string to_text(const StepRow& row, const MachinePeak& peak);
std::string to_text(const BusyRow& row);
std::string to_text(const SamplingRow& row);
std::string to_text(const DataRow& row);
std::string to_text(const CheckpointRow& row);
/// Tables by operation and by module; module paths are cut to `depth` parts, or not at all if 0.
std::string to_text(const ModelProfile& profile, int depth);

/// One JSON object. Threads and instruction set are those in use now.
std::string to_json(const std::vector<GemmRow>& rows, DType dtype, const MachinePeak& peak);
std::string to_json(const std::vector<Measurement>& rows, const AttentionOptions& options,
                    const MachinePeak& peak);
std::string to_json(const std::vector<Measurement>& rows, const OpsOptions& options,
                    const MachinePeak& peak);
std::string to_json(const StepRow& row, const MachinePeak& peak);
std::string to_json(const BusyRow& row);
std::string to_json(const SamplingRow& row, const MachinePeak& peak);
std::string to_json(const DataRow& row);
std::string to_json(const CheckpointRow& row);
std::string to_json(const ModelProfile& profile, int depth);
/// One of the objects above with "peak_check" added: the peaks measured before and after in
/// GFLOP/s, and any doubt.
std::string with_check(const std::string& json, const PeakCheck& check);

}  // namespace tapestry::bench
