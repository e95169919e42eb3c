// Forms of attention, what each costs at a length (operations, time, memory), and whether it can
// still copy symbols over a distance. Used by experiment quadratic_cost.
#pragma once

#include <tapestry/examples/school/experiments/experiment.h>
#include <tapestry/nn/attention/attention_form.h>

#include <functional>
#include <memory>

namespace tapestry::experiments {

/// Peak growth in bytes of the resident memory of a process while it runs f and nothing else,
/// measured in a forked child with its own threads. Includes everything, also kernel scratch, which
/// the library's statistics (core/storage.h) do not see. NaN if the system does not report it.
double peak_resident(const std::function<void()>& f);

struct Form {
    std::string name;
    std::function<std::unique_ptr<AttentionForm>(std::int64_t length)> make;
    double work;    ///< theoretical exponent of n: operations
    double memory;  ///< theoretical exponent of n: memory
    bool causal = false;
    bool is_log = false;  ///< operations grow as n^work log n
};

const std::vector<Form>& attention_forms();

/// One attention over 128, 256, ... positions up to `longest`, 2 heads of 32, forward and backward.
/// Numbers for each length: "GFLOP 128" of the forward pass, "ms 128" the best of `repetitions`,
/// "MB 128" the peak of the tensors; for the three longest "process MB 512"; and the exponents over
/// these three: "work", "time", "memory", "process".
Measured costs_of(const Form& form, std::int64_t longest, int repetitions);

/// A small encoder of one layer with this form learns to copy 8 symbols over 128 positions.
/// Numbers: "right", the fraction of symbols, and "loss", both of sequences that it has not seen.
Measured copies(const Form& form, std::int64_t steps, double rate, std::uint64_t seed);

}  // namespace tapestry::experiments
