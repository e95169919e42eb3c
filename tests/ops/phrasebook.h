// The phrases of phrases_test.cpp, as data: how PyTorch says it, and how one says it here.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace tapestry::test {

struct Phrase {
    std::string torch;  ///< "torch.cat([x, y], 1)"
    std::string ours;   ///< "concat({x, y}, 1)"; empty where we have no way to say it
};

/// One of the hundred: a function, or a few that are nearly one.
struct Subject {
    std::string name;   ///< "floor, round"
    std::string group;  ///< "numbers"
    std::vector<Phrase> phrases;

    /// Can all of it be said?
    bool is_there() const;
};

struct Phrasebook {
    std::vector<Subject> subjects;
    std::set<std::string> no_counterpart;  ///< functions that PyTorch lacks

    /// Phrases that begin with a call of `function`.
    std::vector<Phrase> with(const std::string& function) const;
};

/// Throws std::runtime_error for a line that is none of those the file may hold.
Phrasebook read_phrasebook(const std::filesystem::path& file);

}  // namespace tapestry::test
