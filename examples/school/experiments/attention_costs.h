// Forms of attention, and what one of them costs at a length: operations, time, memory; and what it
// can still do: copy symbols over a distance. What experiment quadratic_cost asks of each.
#pragma once

#include <tapestry/examples/school/experiments/experiment.h>
#include <tapestry/nn/attention/form.h>

#include <functional>
#include <memory>

namespace tapestry::experiments {

/// By how many bytes the resident memory of a process that has nothing else to do grows at most
/// while it runs f; a forked child runs it, on threads of its own. Everything is in it, scratch of
/// kernels as well, which the library's own statistics (core/storage.h) do not see. NaN where the
/// system does not tell.
double peak_resident(const std::function<void()>& f);

struct Form {
    std::string name;
    std::function<std::unique_ptr<AttentionForm>(std::int64_t length)> make;
    double work;    ///< a of n^a, in theory: operations
    double memory;  ///< the same of memory
    bool causal = false;
};

const std::vector<Form>& attention_forms();

/// One attention over 128, 256, ... positions up to `longest`, 2 heads of 32, forward and backward.
/// Numbers, for each length: "GFLOP 128" of the forward pass, "ms 128" the best of `repetitions`,
/// "MB 128" of tensors at the most; for the three longest "process MB 512"; and the exponents over
/// these three: "work", "time", "memory", "process".
Measured costs_of(const Form& form, std::int64_t longest, int repetitions);

/// The share of 8 symbols that a small encoder with this form copies right over 128 positions.
Measured copies(const Form& form, std::int64_t steps, std::uint64_t seed);

}  // namespace tapestry::experiments
