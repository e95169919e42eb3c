// The commands tried on hostile directories. The directory is above/m, outputs go to out/.
#pragma once

#include <tapestry/tests/cli/command.h>
#include <tapestry/tests/hostile/directories.h>

#include <string>
#include <vector>

namespace tapestry::test {

struct Command {
    std::string name;
    Arguments arguments;
    bool reads_manifest = true;  ///< the one in above/m itself
    bool refused = false;        ///< must fail without changes for any contents
    bool slow = false;           ///< measures the machine
};

/// Commands that read above/m, for a directory of this kind.
const std::vector<Command>& reading_commands(Kind kind);
/// Commands that write into above/m.
const std::vector<Command>& writing_commands(Kind kind);

/// The command with this name.
const Command& find_command(const std::vector<Command>& commands, const std::string& name);

}  // namespace tapestry::test
