// The mutator's random choices, reproducible by their seed.
#pragma once

#include <cstddef>
#include <random>

namespace tapestry::fuzz {

class Chance {
public:
    explicit Chance(unsigned seed) : engine_(seed) {}

    /// In [0, bound); bound > 0.
    std::size_t below(std::size_t bound) { return engine_() % bound; }
    bool one_in(std::size_t n) { return below(n) == 0; }
    template <class Range>
    auto& pick(Range& range) {
        return range[below(std::size(range))];
    }

private:
    std::minstd_rand engine_;
};

}  // namespace tapestry::fuzz
