// Who drew random numbers here? What runs a function twice and wants the same numbers both times
// (autograd/recompute.h) must know which generators it uses; they tell, as they are drawn from.
#pragma once

#include <tapestry/core/random.h>

#include <vector>

namespace tapestry {

/// Which generators were drawn from, or set, on this thread while the log is alive, and where each
/// stood before. Of logs alive together each takes note. A generator that dies is forgotten.
class GeneratorLog {
public:
    struct State {
        Generator* generator;
        std::uint64_t seed;
        std::uint64_t offset;
    };

    GeneratorLog();
    ~GeneratorLog();
    GeneratorLog(const GeneratorLog&) = delete;
    GeneratorLog& operator=(const GeneratorLog&) = delete;

    const std::vector<State>& states() const { return states_; }

private:
    friend class Generator;
    static void note(Generator& generator);
    static void forget(const Generator& generator);

    static thread_local GeneratorLog* current_;
    GeneratorLog* outer_;
    std::vector<State> states_;
};

/// Generators stand where they once stood until this leaves scope; then where they stood before it.
class RewindGuard {
public:
    explicit RewindGuard(const std::vector<GeneratorLog::State>& states);
    ~RewindGuard();
    RewindGuard(const RewindGuard&) = delete;
    RewindGuard& operator=(const RewindGuard&) = delete;

private:
    std::vector<GeneratorLog::State> now_;
};

}  // namespace tapestry
