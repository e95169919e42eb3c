// The learning rates of trials, chosen before their seeds run. Only run_trials() uses it.
#pragma once

#include <tapestry/examples/school/experiments/experiment.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace tapestry::experiments {

/// Runs f(0), ..., f(jobs - 1): those that measure time one after another, on all threads, the
/// others in parallel. Loops inside a chunk run on its thread (core/parallel.h), so each job uses
/// one core.
void run_jobs(std::int64_t jobs, const std::function<bool(std::int64_t)>& is_timed,
              const std::function<void(std::int64_t)>& f);

/// The CPU seconds that f takes: of this thread, or, if f runs alone on all threads, of the
/// process. Unlike time on a clock they say what a run costs on a shared machine.
double cpu_seconds(bool on_all_threads, const std::function<void()>& f);

/// Fills `tried` of the entries whose trials have a tuning, with `seeds` seeds from first_seed, and
/// adds the CPU seconds to `seconds`.
void tune(const std::vector<Trial>& trials, std::uint64_t first_seed, std::int64_t seeds,
          std::vector<Outcomes::Entry>& entries);

}  // namespace tapestry::experiments
