// Which generators were used? Code that runs a function twice with the same random numbers
// (autograd/recompute.h) must know the generators that it draws from; they report each use.
#pragma once

#include <tapestry/core/random.h>

#include <vector>

namespace tapestry {

/// Records which generators were used or set on this thread while the log is alive, and the state
/// of each before that. Every log alive records. A generator that is destroyed is forgotten.
class GeneratorLog {
public:
    /// The state of one generator before its first use.
    struct State {
        Generator* generator;  ///< the one that was used or set
        std::uint64_t seed;    ///< its Generator::seed()
        std::uint64_t offset;  ///< its Generator::offset()
    };

    GeneratorLog();
    ~GeneratorLog();
    GeneratorLog(const GeneratorLog&) = delete;
    GeneratorLog& operator=(const GeneratorLog&) = delete;

    const std::vector<State>& states() const { return states_; }  ///< in order of first use

private:
    friend class Generator;
    static void note(Generator& generator);
    static void forget(const Generator& generator);

    static thread_local GeneratorLog* current_;
    GeneratorLog* outer_;
    std::vector<State> states_;
};

/// Rewinds generators to earlier states until this leaves scope, then restores their states before
/// it.
class RewindGuard {
public:
    /// Sets each generator to its state in the list.
    explicit RewindGuard(const std::vector<GeneratorLog::State>& states);
    ~RewindGuard();
    RewindGuard(const RewindGuard&) = delete;
    RewindGuard& operator=(const RewindGuard&) = delete;

private:
    std::vector<GeneratorLog::State> now_;
};

}  // namespace tapestry
