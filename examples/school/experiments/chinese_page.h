// docs/experiments.zh.md: the page of experiments in Chinese, made from the same numbers as the
// English one, with the words of chinese.txt. Read render.h first.
#pragma once

#include <tapestry/examples/school/experiments/results.h>

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace tapestry::experiments {

/// The Chinese of what experiments say in English.
class Chinese {
public:
    /// Reads chinese.txt. Throws ValueError, with its number, for a line that is neither a pair nor
    /// part of a theory, and for an English text that occurs twice.
    explicit Chinese(std::string_view file);

    /// The translation: of the whole text, or with "#" for its numbers, or with "$" for a name in
    /// single quotes, or of its parts between ", ". Texts without two lower-case letters in a row
    /// are the same in both languages. Others stay English and are `missing`.
    std::string of(const std::string& english);
    /// What the experiment named `experiment` says of theory.
    std::string theory(const std::string& experiment) const;

    /// What had no translation so far.
    const std::set<std::string>& missing() const { return missing_; }

private:
    std::string found(const std::string& english) const;  // empty if there is none

    std::map<std::string, std::string> words_, theories_;
    std::set<std::string> missing_;
};

/// The page; pictures are in `folder`, those of the English page.
std::string to_chinese_page(const Results& results, const std::string& folder, Chinese& chinese);

}  // namespace tapestry::experiments
