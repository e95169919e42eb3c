// Mutates an archive as a directory of a run, a model or data, and the files in it.
// Read next: repair.h, of checksums.
#pragma once

#include <tapestry/tests/fuzz/archive.h>

#include <cstddef>
#include <random>
#include <string>
#include <string_view>

namespace tapestry::fuzz {

/// The mutator's random choices, reproducible by their seed.
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

/// Applies a few mutations, and mostly repairs the checksums.
void mutate(Archive& archive, Chance& chance);

/// The first, with some entries of the second.
Archive cross(const Archive& a, const Archive& b, Chance& chance);

// ---- one file: the JSON in it and the numbers after it, so that most of it still parses ---------

/// A path, name, stage or text that a reader must refuse or survive.
std::string_view hostile_text(Chance& chance);

/// Changes one number, string or member.
std::string mutate_json(std::string text, Chance& chance);

/// Changes the header, mostly with the right length afterwards, or a number.
std::string mutate_safetensors(std::string file, Chance& chance);

/// Chooses the mutation by the file's name.
std::string mutate_contents(std::string_view name, std::string contents, Chance& chance);

}  // namespace tapestry::fuzz
