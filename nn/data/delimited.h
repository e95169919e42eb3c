// Files of fields: columns separated by a character, with or without quotes, and messages that name
// file and line. Internal to nn. Read next: labelled_texts.h, text_pairs.h, questions.h,
// table.h, the files.
#pragma once

#include <tapestry/core/error.h>

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapestry {

/// `text` without spaces, tabs and carriage returns at its ends.
std::string_view without_blanks(std::string_view text);

/// The fields of a line between tabs, each without blanks.
std::vector<std::string_view> tab_fields(std::string_view line);

/// The place of the column with this name in a first line; fields.size() if there is none. Names
/// are compared as column_name() has them.
std::size_t place_of_column(const std::vector<std::string_view>& fields, std::string_view name);

/// Whether the first line of a .tsv names these columns, or that of a .jsonl is an object with
/// these members. False for other files.
bool begins_with_names(const std::filesystem::path& file,
                       std::initializer_list<std::string_view> names);

/// A place in a file, for messages.
struct PlaceInFile {
    std::string name;       ///< of the file, printable
    std::int64_t line = 0;  ///< counted from 1

    /// Throws IoError: "file:line: what".
    template <class... Args>
    [[noreturn]] void wrong(fmt::format_string<Args...> format, Args&&... args) const {
        fail<IoError>("{}:{}: {}", name, line, fmt::format(format, std::forward<Args>(args)...));
    }
};

/// Reads a text line by line, or record by record where a quoted field may hold line ends.
class DelimitedText {
public:
    /// `text` must outlive this object; `name` is for messages, as is `line`, that of its
    /// beginning.
    /// Throws IoError for a text whose lines end with CR only.
    DelimitedText(std::string name, std::string_view text, std::int64_t line = 1);

    bool is_done() const { return at_ >= text_.size(); }  ///< whether nothing is left
    PlaceInFile& place() { return place_; }               ///< of the latest line or record

    /// The next line, without its end.
    std::string_view next_line();
    /// The fields of the next record; with `has_quotes`, those that begin with a double quote end
    /// at the next one that is not doubled (RFC 4180). Throws IoError if there is none, or if
    /// anything but blanks is between it and the next separator.
    std::vector<std::string> next_record(char separator, bool has_quotes);

private:
    std::string quoted_field();

    PlaceInFile place_;
    std::string_view text_;
    std::size_t at_ = 0;
    std::int64_t next_;  // the next line's number
};

}  // namespace tapestry
