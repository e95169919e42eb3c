// A directory as a process leaves it that was killed while its commit took its place: the manifest
// is new, and a part of the files is still staged.
#pragma once

#include <tapestry/tests/hostile/attack.h>

#include <functional>
#include <string>
#include <vector>

namespace tapestry::test {

enum class Layout { beside, on_top };  ///< staged_beside, staged_on_top

/// Moves back to their staged names the listed files for which `is_staged` holds; `older` is what
/// lies in their places then, if anything does.
void interrupt(const std::filesystem::path& directory, Layout layout,
               const std::function<bool(std::size_t)>& is_staged, const std::string& older = "");

/// What a command says and writes, but for times and what differs each time.
struct Answer {
    int code = 0;
    std::string out, err;
    std::map<std::string, std::string> files;  ///< of out/

    bool operator==(const Answer&) const = default;
};
Answer answer_of(const AttackPlace& place, const Command& command, bool as_nobody = false);

/// The answers of all commands that read this kind of directory, as it should be; asked once.
const Answer& right_answer(Kind kind, const Command& command);

}  // namespace tapestry::test
