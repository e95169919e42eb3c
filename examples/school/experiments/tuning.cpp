// Learning rates of trials, chosen from grids that grow until the best is inside. Part of
// experiment.h.
#include <tapestry/examples/school/experiments/tuning.h>

#include <tapestry/core/error.h>
#include <tapestry/core/parallel.h>
#include <tapestry/nn/train/train_step.h>

#include <time.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tapestry::experiments {
namespace {

constexpr int kExtensions = 4;

/// A rate of a trial that is still to be tried.
struct Job {
    std::size_t trial;
    double rate;
};

void check(const Trial& trial) {
    const std::vector<double>& rates = trial.tuning->rates;
    require<ValueError>(rates.size() >= 3 && std::ranges::is_sorted(rates) && rates.front() > 0,
                        "trial '{}': a grid needs at least 3 ascending rates", trial.name);
}

// The rate next to the grid on the side of the best one; 0 if the best is inside.
double next_rate(const std::vector<Tried>& tried) {
    const std::size_t best = best_of(tried), last = tried.size() - 1;
    if (best == 0) return tried[0].rate * tried[0].rate / tried[1].rate;
    return best == last ? tried[last].rate * tried[last].rate / tried[last - 1].rate : 0;
}

}  // namespace

std::size_t best_of(const std::vector<Tried>& tried) {
    require<ValueError>(!tried.empty(), "no learning rates were tried");
    const auto best = std::ranges::min_element(tried, {}, &Tried::loss);
    return static_cast<std::size_t>(best - tried.begin());
}

bool Outcomes::Entry::is_inside() const {
    if (tried.empty()) return false;
    const std::size_t best = best_of(tried);
    return best > 0 && best + 1 < tried.size() && std::isfinite(tried[best].loss);
}

double cpu_seconds(bool on_all_threads, const std::function<void()>& f) {
    const auto now = [clock = on_all_threads ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID] {
        timespec time{};
        ::clock_gettime(clock, &time);
        return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    };
    const double start = now();
    f();
    return now() - start;
}

void run_jobs(std::int64_t jobs, const std::function<bool(std::int64_t)>& is_timed,
              const std::function<void(std::int64_t)>& f) {
    std::vector<std::int64_t> beside, alone;
    for (std::int64_t job = 0; job < jobs; ++job) (is_timed(job) ? alone : beside).push_back(job);
    parallel_for_chunks(static_cast<std::int64_t>(beside.size()),
                        [&](std::int64_t i) { f(beside[static_cast<std::size_t>(i)]); });
    for (const std::int64_t job : alone) f(job);
}

void tune(const std::vector<Trial>& trials, std::uint64_t first_seed, std::int64_t seeds,
          std::vector<Outcomes::Entry>& entries) {
    std::vector<Job> jobs;
    for (std::size_t t = 0; t < trials.size(); ++t) {
        if (!trials[t].tuning) continue;
        check(trials[t]);
        for (const double rate : trials[t].tuning->rates) jobs.push_back({t, rate});
    }
    for (int round = 0; !jobs.empty(); ++round) {
        std::vector<double> losses(jobs.size() * static_cast<std::size_t>(seeds));
        std::vector<double> seconds(losses.size());
        const auto job_of = [&](std::int64_t i) {
            return jobs[static_cast<std::size_t>(i / seeds)];
        };
        run_jobs(
            static_cast<std::int64_t>(losses.size()),
            [&](std::int64_t i) { return trials[job_of(i).trial].timed; },
            [&](std::int64_t i) {
                const Tuning& tuning = *trials[job_of(i).trial].tuning;
                const auto seed = first_seed + static_cast<std::uint64_t>(i % seeds);
                Measured run;
                seconds[static_cast<std::size_t>(i)] =
                    cpu_seconds(trials[job_of(i).trial].timed, [&] {
                        try {
                            run = tuning.run(seed, job_of(i).rate);
                        } catch (const DivergedError&) {  // a rate that is too high
                            run.numbers[tuning.by] = std::numeric_limits<double>::infinity();
                        }
                    });
                const auto loss = run.numbers.find(tuning.by);
                require<ValueError>(loss != run.numbers.end(), "trial '{}' has no number '{}'",
                                    trials[job_of(i).trial].name, tuning.by);
                losses[static_cast<std::size_t>(i)] = std::isnan(loss->second)
                                                          ? std::numeric_limits<double>::infinity()
                                                          : loss->second;
            });
        for (std::size_t i = 0; i < losses.size(); ++i) {
            const Job& job = jobs[i / static_cast<std::size_t>(seeds)];
            std::vector<Tried>& tried = entries[job.trial].tried;
            if (i % static_cast<std::size_t>(seeds) == 0) tried.push_back({job.rate, 0});
            tried.back().loss += losses[i] / static_cast<double>(seeds);
            entries[job.trial].seconds += seconds[i];
        }
        jobs.clear();
        for (std::size_t t = 0; t < trials.size(); ++t) {
            if (!trials[t].tuning) continue;
            std::ranges::sort(entries[t].tried, {}, &Tried::rate);
            const double next = next_rate(entries[t].tried);
            if (next > 0 && round < kExtensions) jobs.push_back({t, next});
        }
    }
}

}  // namespace tapestry::experiments
