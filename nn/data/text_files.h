// The texts among the files of directories: which are wanted, by name, and which are text.
// Read next: documents.h, which reads them.
#pragma once

#include <tapestry/core/error.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace tapestry {

/// Which files of a directory to take.
struct TextFileOptions {
    /// Patterns as in a shell ("*.py", "docs/*"), matched with a file's name and with its path
    /// below the directory. Empty: all files.
    std::vector<std::string> include = {};
    std::vector<std::string> exclude = {};  ///< the same; wins over include
    bool strict = false;                    ///< what is left out for another reason is an error
    /// Called with the reason for every file that is left out because it is not text, and for every
    /// link to a directory or to nothing, pipe and device. May be empty.
    std::function<void(const std::string& why)> skipped = {};
};

/// Expands paths as files_below() does. Files found in directories are left out if their names do
/// not match or, unless `strict`, if they are not UTF-8 text; files that were named are kept.
/// Throws IoError as files_below() does, NotTextError under `strict`, and ValueError if nothing is
/// left of a directory.
std::vector<std::filesystem::path> text_files(const std::vector<std::string>& paths,
                                              const TextFileOptions& options = {});

}  // namespace tapestry
