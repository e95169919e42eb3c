// Reports every change of a generator to the logs that are alive.
#include <tapestry/core/generator_log.h>

#include <algorithm>
#include <utility>

namespace tapestry {

thread_local GeneratorLog* GeneratorLog::current_ = nullptr;

GeneratorLog::GeneratorLog() : outer_(std::exchange(current_, this)) {}
GeneratorLog::~GeneratorLog() { current_ = outer_; }

void GeneratorLog::note(Generator& generator) {
    for (GeneratorLog* log = current_; log != nullptr; log = log->outer_) {
        const bool known =
            std::any_of(log->states_.begin(), log->states_.end(),
                        [&](const State& state) { return state.generator == &generator; });
        if (!known) log->states_.push_back({&generator, generator.seed(), generator.offset()});
    }
}

void GeneratorLog::forget(const Generator& generator) {
    for (GeneratorLog* log = current_; log != nullptr; log = log->outer_) {
        std::erase_if(log->states_,
                      [&](const State& state) { return state.generator == &generator; });
    }
}

Generator::~Generator() { GeneratorLog::forget(*this); }

void Generator::set_state(std::uint64_t seed, std::uint64_t offset) {
    GeneratorLog::note(*this);
    seed_ = seed;
    offset_ = offset;
}

std::uint64_t Generator::take(std::uint64_t count) {
    GeneratorLog::note(*this);
    offset_ += count;
    return offset_ - count;
}

RewindGuard::RewindGuard(const std::vector<GeneratorLog::State>& states) {
    for (const auto& then : states) {
        now_.push_back({then.generator, then.generator->seed(), then.generator->offset()});
        then.generator->set_state(then.seed, then.offset);
    }
}

RewindGuard::~RewindGuard() {
    for (const auto& now : now_) now.generator->set_state(now.seed, now.offset);
}

}  // namespace tapestry
