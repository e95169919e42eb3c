#include <tapestry/nn/data/text_files.h>

#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/data/documents.h>
#include <tapestry/nn/data/file_kind.h>

#include <fnmatch.h>

#include <algorithm>
#include <utility>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

bool matches(const std::vector<std::string>& patterns, const fs::path& below) {
    return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
        return ::fnmatch(pattern.c_str(), below.c_str(), 0) == 0 ||
               ::fnmatch(pattern.c_str(), below.filename().c_str(), 0) == 0;
    });
}

bool is_wanted(const fs::path& below, const TextFileOptions& options) {
    if (matches(options.exclude, below)) return false;
    return options.include.empty() || matches(options.include, below);
}

// Reads the file once. An empty file is text, with a byte order mark or without.
void check_is_text(const fs::path& file) {
    if (InputFile(file).size() == 0 || beginning_of(file) == utf8::kByteOrderMark) return;
    DocumentReader reader({file});
    while (reader.next()) {
    }
}

std::vector<fs::path> texts_in(const std::string& directory, const TextFileOptions& options) {
    const auto skip = [&](const std::string& why) {
        if (options.skipped) options.skipped(why);
    };
    const auto skip_entry = [&](const fs::path& entry, const char* why) {
        if (!is_wanted(entry.lexically_relative(directory), options)) return;
        require<IoError>(!options.strict, "{}: {}", shown(entry), why);
        skip(fmt::format("{}: {}", shown(entry), why));
    };
    std::vector<fs::path> texts;
    std::size_t wanted = 0;
    for (const fs::path& file : files_below({directory}, skip_entry)) {
        if (!is_wanted(file.lexically_relative(directory), options)) continue;
        ++wanted;
        try {
            check_is_text(file);
            texts.push_back(file);
        } catch (const NotTextError& error) {
            if (options.strict) throw;
            skip(error.what());
        }
    }
    require(!texts.empty(), "{}: {}", shown(directory),
            wanted == 0 ? "no file's name matches --include and --exclude"
                        : fmt::format("none of its {} files is UTF-8 text", wanted));
    return texts;
}

}  // namespace

std::vector<fs::path> text_files(const std::vector<std::string>& paths,
                                 const TextFileOptions& options) {
    std::vector<fs::path> files;
    for (const std::string& path : paths) {
        std::error_code ignored;  // opening a missing file reports it
        if (!fs::is_directory(path, ignored)) {
            files.emplace_back(path);
            continue;
        }
        for (fs::path& file : texts_in(path, options)) files.push_back(std::move(file));
    }
    return files;
}

}  // namespace tapestry
