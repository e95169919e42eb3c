// A directory left by a process killed during a commit: the manifest is new, and some files are
// still staged.
#pragma once

#include <tapestry/tests/hostile/attack.h>

#include <functional>
#include <string>
#include <vector>

namespace tapestry::test {

enum class Layout { beside, on_top };  ///< staged_beside, staged_on_top

/// Moves the listed files for which `is_staged` holds back to their staged names; `older` is the
/// previous contents of their places, if any.
void interrupt(const std::filesystem::path& directory, Layout layout,
               const std::function<bool(std::size_t)>& is_staged, const std::string& older = "");

/// A command's output and files, without times and values that vary.
struct Answer {
    int code = 0;
    std::string out, err;
    std::map<std::string, std::string> files;  ///< of out/

    bool operator==(const Answer&) const = default;
};
Answer answer_of(const AttackPlace& place, const Command& command, bool as_nobody = false);

/// The results of all commands that read this kind of directory when it is intact; computed once.
const Answer& right_answer(Kind kind, const Command& command);

}  // namespace tapestry::test
