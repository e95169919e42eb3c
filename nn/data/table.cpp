#include <tapestry/nn/data/table.h>

#include <tapestry/core/checksum.h>
#include <tapestry/core/error.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/data/delimited.h>
#include <tapestry/nn/data/text.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace tapestry {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// A finite or infinite number; no value if the field is none.
std::optional<double> number_in(std::string_view field) {
    if (field.starts_with('+')) field.remove_prefix(1);
    double value = 0;
    const char* const end = field.data() + field.size();
    const auto [stop, error] = std::from_chars(field.data(), end, value);
    const bool is_range = error == std::errc::result_out_of_range;
    if (stop != end || field.empty() || (error != std::errc{} && !is_range)) return std::nullopt;
    if (!is_range) return value;
    const bool is_tiny = field.find("e-") != field.npos || field.find("E-") != field.npos;
    return is_tiny ? 0 : std::numeric_limits<double>::infinity();
}

// "0,25" or "1,234,567": of which kind the commas are cannot be known.
bool is_number_with_commas(std::string_view field) {
    if (field.starts_with('-') || field.starts_with('+')) field.remove_prefix(1);
    bool has_comma = false, follows_digit = false;
    for (const char c : field) {
        const bool is_digit = c >= '0' && c <= '9';
        if (!is_digit && !(c == ',' && follows_digit)) return false;
        has_comma |= !is_digit;
        follows_digit = is_digit;
    }
    return has_comma && follows_digit;
}

// A column while it is read.
struct ColumnReading {
    std::string name;
    bool is_read = true;
    std::optional<bool> is_number = {};  // no value: the values decide
    bool is_date = false;
    std::int64_t numbers = 0, dates = 0, present = 0, with_commas = 0;
    PlaceInFile place = {};       // of the first number with commas
    std::string comma_text = {};  // which it is

    void count(const std::string& field, const PlaceInFile& at) {
        ++present;
        numbers += number_in(field).has_value();
        dates += days_of_date(field).has_value();
        if (!is_number_with_commas(field) || with_commas++ > 0) return;
        place = at;
        comma_text = field;
    }

    void check_commas() const {
        if (with_commas == 0 || 2 * (numbers + with_commas) <= present) return;
        place.wrong(
            "column {} has {}; a number has a decimal point and no commas (--categories {} reads "
            "these as names)",
            utf8::quoted(name, 40), utf8::quoted(comma_text, 40), utf8::printable(name));
    }

    // What most of its values are; numbers if there are none.
    void decide() {
        is_date = is_date || (!is_number && 2 * dates > present);
        if (!is_number) is_number = is_date || 2 * numbers > present || present == 0;
    }
};

// The file's records after its first line, whose fields are the same number.
class TableReading {
public:
    TableReading(std::string name, std::string_view text, bool has_quotes)
        : text_(text), name_(std::move(name)), has_quotes_(has_quotes) {
        const std::string first = has_quotes ? outside_quotes(text) : std::string();
        const auto has = [&first](char c) { return first.find(c) != first.npos; };
        separator_ = !has_quotes ? '\t' : has(',') ? ',' : has(';') ? ';' : has('\t') ? '\t' : ',';
    }

    const std::string& name() const { return name_; }

    // f(place, fields) for each record; `names` are those of the first.
    template <class F>
    void for_each(std::vector<std::string>& names, const F& f) const {
        DelimitedText from(name_, text_);
        names.clear();
        while (!from.is_done()) {
            std::vector<std::string> fields = from.next_record(separator_, has_quotes_);
            for (std::string& field : fields) field = without_blanks(field);
            if (fields.size() == 1 && fields[0].empty() && names.size() != 1) continue;
            if (names.empty()) {
                names = std::move(fields);
                check_names(names, from.place());
                continue;
            }
            if (fields.size() != names.size()) {
                from.place().wrong("has {}, expected {} as in the first line",
                                   pluralize(std::ssize(fields), "field"), names.size());
            }
            f(from.place(), fields);
        }
    }

private:
    // The first record without what is in quotes: "a, b";c has no comma.
    static std::string outside_quotes(std::string_view text) {
        std::string outside;
        for (std::size_t at = 0; at < text.size() && text[at] != '\n'; ++at) {
            const bool begins = at == 0 || std::string_view(",;\t").find(text[at - 1]) != text.npos;
            if (begins && text[at] == '"') {
                do {
                    at = std::min(text.find('"', at + 1), text.size() - 1);
                } while (text.substr(at, 2) == "\"\"" && ++at > 0);  // two of them are one
            }
            outside += text[at];
        }
        return outside;
    }

    static void check_names(const std::vector<std::string>& names, const PlaceInFile& place) {
        const bool has_names = std::any_of(names.begin(), names.end(), [](const auto& name) {
            return !is_missing_value(name) && !number_in(name);
        });
        if (!has_names) place.wrong("names no columns; the first line must have a name for each");
        std::set<std::string_view> seen;
        for (std::size_t i = 0; i < names.size(); ++i) {
            if (names[i].empty()) place.wrong("column {} has no name", i + 1);
            if (!seen.insert(names[i]).second) {
                place.wrong("two columns have the name {}", utf8::quoted(names[i], 40));
            }
        }
    }

    std::string_view text_;
    std::string name_;
    bool has_quotes_;
    char separator_ = ',';
};

bool is_among_names(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

void check_names_exist(const std::string& file, const std::vector<std::string>& wanted,
                       const std::vector<std::string>& names, const char* option) {
    for (const std::string& name : wanted) {
        require<IoError>(is_among_names(names, name),
                         "{}: has no column {} ({}); its columns are {}", file,
                         utf8::quoted(name, 40), option,
                         utf8::printable(fmt::format("{}", fmt::join(names, ", ")).substr(0, 300)));
    }
}

// The columns, as far as the options describe them.
std::vector<ColumnReading> columns_to_read(const std::string& file,
                                           const std::vector<std::string>& names,
                                           const TableOptions& options) {
    std::vector<ColumnReading> columns;
    for (const std::string& name : names) columns.push_back({.name = name});
    if (!options.known.empty()) {
        for (ColumnReading& column : columns) column.is_read = false;
        for (const KnownColumn& known : options.known) {
            const auto found = std::find(names.begin(), names.end(), known.name);
            require<IoError>(found != names.end() || known.may_be_absent,
                             "{}: has no column {}, which the model reads", file,
                             utf8::quoted(known.name, 40));
            if (found == names.end()) continue;
            ColumnReading& column = columns[static_cast<std::size_t>(found - names.begin())];
            column.is_read = true;
            column.is_number = known.is_number;
            column.is_date = known.is_date;
        }
        return columns;
    }
    check_names_exist(file, options.categories, names, "--categories");
    check_names_exist(file, options.ignore, names, "--ignore");
    for (ColumnReading& column : columns) {
        column.is_read = !is_among_names(options.ignore, column.name);
        if (is_among_names(options.categories, column.name)) column.is_number = false;
    }
    return columns;
}

double number_of_column(const std::string& field, const ColumnReading& column, bool is_known,
                        const PlaceInFile& place) {
    if (is_missing_value(field)) return kMissing;
    const auto value = column.is_date ? days_of_date(field) : number_in(field);
    if (!value) {
        place.wrong("column {} has {}, which is no {} as {}; leave it empty if it is missing{}",
                    utf8::quoted(column.name, 40), utf8::quoted(field, 40),
                    column.is_date ? "date (2026-11-27)" : "number",
                    is_known ? "the model reads there" : "most of the column are",
                    is_known ? "" : fmt::format(", or give --categories {}", column.name));
    }
    constexpr double kLargest = 1e150;  // whose square is finite
    if (!(std::abs(*value) <= kLargest)) {
        place.wrong("column {} has {}; a number must be finite and at most 1e150 in size",
                    utf8::quoted(column.name, 40), utf8::quoted(field, 40));
    }
    return *value;
}

std::string hash_of_table(const Table& table) {
    Checksum sum;
    for (const TableColumn& column : table.columns) {
        const char* const kind = column.is_date ? "date" : column.is_number ? "number" : "category";
        sum.add(fmt::format("{}\n{}\n", column.name, kind));
        sum.add(std::as_bytes(std::span(column.numbers)));
        for (const std::string& text : column.texts) {
            sum.add(text);
            sum.add(std::string_view("\0", 1));
        }
    }
    return sum.hex();
}

}  // namespace

bool is_missing_value(std::string_view field) {
    std::string small;
    for (const char c : field.substr(0, 5)) {
        small += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return small.empty() || small == "?" || small == "na" || small == "n/a" || small == "nan" ||
           small == "null";
}

const TableColumn* Table::find(std::string_view name) const {
    for (const TableColumn& column : columns) {
        if (column.name == name) return &column;
    }
    return nullptr;
}

std::string Table::place(std::size_t row) const { return fmt::format("{}:{}", file, lines[row]); }

// Twice through the text instead of once with all fields in memory.
Table read_table(const std::filesystem::path& file, const TableOptions& options) {
    const std::string whole = read_text(file);
    const TableReading from(utf8::printable(file.string()), whole, file.extension() != ".tsv");
    std::vector<std::string> names;
    std::vector<ColumnReading> columns;
    Table table{.file = from.name(), .columns = {}, .lines = {}, .hash = {}};
    from.for_each(names, [&](const PlaceInFile& place, const std::vector<std::string>& fields) {
        if (columns.empty()) columns = columns_to_read(from.name(), names, options);
        table.lines.push_back(place.line);
        for (std::size_t i = 0; i < fields.size(); ++i) {
            if (columns[i].is_number || is_missing_value(fields[i])) continue;
            columns[i].count(fields[i], place);
        }
    });
    require<IoError>(!table.lines.empty(), "{}: has no rows below the names of its columns",
                     from.name());
    std::vector<std::size_t> places;  // of the columns that are read
    for (std::size_t i = 0; i < columns.size(); ++i) {
        ColumnReading& column = columns[i];
        if (!column.is_read) continue;
        column.check_commas();
        column.decide();
        places.push_back(i);
        table.columns.push_back(
            {.name = column.name, .is_number = *column.is_number, .is_date = column.is_date});
    }
    from.for_each(names, [&](const PlaceInFile& place, const std::vector<std::string>& fields) {
        for (std::size_t c = 0; c < places.size(); ++c) {
            const std::string& field = fields[places[c]];
            TableColumn& to = table.columns[c];
            if (to.is_number) {
                to.numbers.push_back(
                    number_of_column(field, columns[places[c]], !options.known.empty(), place));
            } else {
                to.texts.push_back(is_missing_value(field) ? "" : field);
            }
        }
    });
    table.hash = hash_of_table(table);
    return table;
}

}  // namespace tapestry
