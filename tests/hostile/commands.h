// The commands that are tried on hostile directories. The directory is above/m, outputs go to out/.
#pragma once

#include <tapestry/tests/cli/command.h>
#include <tapestry/tests/hostile/directories.h>

#include <string>
#include <vector>

namespace tapestry::test {

struct Command {
    std::string name;
    Arguments arguments;
    bool reads_manifest = true;  ///< of above/m itself
    bool refused = false;        ///< whatever the directory holds: it must not change it
    bool slow = false;           ///< measures the machine
};

/// Commands that read above/m, where a directory of this kind is.
const std::vector<Command>& reading_commands(Kind kind);
/// Commands that write into it.
const std::vector<Command>& writing_commands(Kind kind);

/// The one of this name.
const Command& find_command(const std::vector<Command>& commands, const std::string& name);

}  // namespace tapestry::test
