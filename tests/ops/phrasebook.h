// The phrases of phrases_test.cpp as data: PyTorch's call, and ours.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace tapestry::test {

struct Phrase {
    std::string torch;  ///< "torch.cat([x, y], 1)"
    std::string ours;   ///< "concat({x, y}, 1)"; empty if we have no equivalent
};

/// One of the hundred: a function, or a few closely related ones.
struct Subject {
    std::string name;   ///< "floor, round"
    std::string group;  ///< "numbers"
    std::vector<Phrase> phrases;

    /// Do we have all of it?
    bool is_there() const;
};

struct Phrasebook {
    std::vector<Subject> subjects;
    std::set<std::string> no_counterpart;  ///< functions that PyTorch lacks

    /// Phrases that begin with a call of `function`.
    std::vector<Phrase> with(const std::string& function) const;
};

/// Throws std::runtime_error for a line that the file must not contain.
Phrasebook read_phrasebook(const std::filesystem::path& file);

}  // namespace tapestry::test
