#include <tapestry/nn/data/labelled_texts.h>

#include <tapestry/core/checksum.h>
#include <tapestry/core/error.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/data/permutation.h>

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace tapestry {
namespace {

constexpr std::string_view kLabel = "__label__";
constexpr std::string_view kBlank = " \t\r";

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(kBlank);
    if (begin == text.npos) return {};
    return text.substr(begin, text.find_last_not_of(kBlank) + 1 - begin);
}

struct Labelled {
    std::string label, text;
    std::int64_t line = 0;
};

// A place in a text, for reading it line by line or field by field.
struct Reading {
    std::string name;  ///< of the file, for messages
    std::string_view text;
    std::size_t at = 0;
    std::int64_t line = 0;  ///< of the latest record, counted from 1
    std::int64_t next = 1;  ///< line of the next

    bool is_done() const { return at >= text.size(); }

    template <class... Args>
    [[noreturn]] void wrong(fmt::format_string<Args...> format, Args&&... args) const {
        fail<IoError>("{}:{}: {}", name, line, fmt::format(format, std::forward<Args>(args)...));
    }

    std::string_view next_line() {
        line = next++;
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string_view found = text.substr(at, end - at);
        at = end + 1;
        return found;
    }
};

// ---- __label__NAME text -------------------------------------------------------------------------

std::vector<Labelled> read_prefixed(Reading& from) {
    std::vector<Labelled> all;
    while (!from.is_done()) {
        std::string_view rest = trimmed(from.next_line());
        if (rest.empty()) continue;
        Labelled one{.label = {}, .text = {}, .line = from.line};
        while (rest.starts_with(kLabel)) {
            if (!one.label.empty()) {
                from.wrong("has several labels; a text needs exactly one");
            }
            const std::size_t end = std::min(rest.find_first_of(kBlank), rest.size());
            one.label = rest.substr(kLabel.size(), end - kLabel.size());
            if (one.label.empty()) from.wrong("{} without a name", kLabel);
            rest = trimmed(rest.substr(end));
        }
        if (one.label.empty()) {
            from.wrong("has no label; a line begins with {}NAME (or name the file .csv or .tsv)",
                       kLabel);
        }
        one.text = rest;
        all.push_back(std::move(one));
    }
    return all;
}

// ---- columns ------------------------------------------------------------------------------------

// A quoted field, from after its opening quote to after its closing one.
std::string quoted_field(Reading& from) {
    std::string field;
    for (;;) {
        const std::size_t end = from.text.find('"', from.at);
        if (end == from.text.npos) from.wrong("a quote is not closed");
        const std::string_view part = from.text.substr(from.at, end - from.at);
        from.next += std::count(part.begin(), part.end(), '\n');
        field += part;
        from.at = end + 1;
        if (from.at >= from.text.size() || from.text[from.at] != '"') return field;
        field += '"';  // two of them are one
        ++from.at;
    }
}

// The fields of the next record.
std::vector<std::string> next_record(Reading& from, char separator, bool has_quotes) {
    from.line = from.next;
    std::vector<std::string> fields;
    for (;;) {
        std::string field;
        if (has_quotes && !from.is_done() && from.text[from.at] == '"') {
            ++from.at;
            field = quoted_field(from);
        }
        const std::size_t end = std::min(
            {from.text.find(separator, from.at), from.text.find('\n', from.at), from.text.size()});
        field += from.text.substr(from.at, end - from.at);
        const bool ends = end == from.text.size() || from.text[end] == '\n';
        from.at = end + 1;
        if (ends && field.ends_with('\r')) field.pop_back();
        fields.push_back(std::move(field));
        if (!ends) continue;
        ++from.next;
        return fields;
    }
}

struct Columns {
    std::size_t label = 0, text = 1, count = 2;
};

// The columns that the first record names, if it does.
std::optional<Columns> named_columns(std::vector<std::string> first) {
    for (std::string& name : first) name = column_name(name);
    const auto place = [&first](std::string_view name) {
        return static_cast<std::size_t>(std::find(first.begin(), first.end(), name) -
                                        first.begin());
    };
    const Columns columns{place("label"), place("text"), first.size()};
    if (columns.label == first.size() || columns.text == first.size()) return std::nullopt;
    return columns;
}

std::vector<Labelled> read_columns(Reading& from, char separator, bool has_quotes) {
    std::vector<Labelled> all;
    std::optional<Columns> columns;
    while (!from.is_done()) {
        std::vector<std::string> fields = next_record(from, separator, has_quotes);
        if (fields.size() == 1 && trimmed(fields[0]).empty()) continue;
        if (!columns) {
            const auto named = named_columns(fields);
            columns = named.value_or(Columns());
            if (named) continue;
        }
        if (fields.size() != columns->count) {
            from.wrong(
                "has {}, expected {}: a label and a text, or the columns of a first line "
                "with the names label and text",
                pluralize(std::ssize(fields), "field"), columns->count);
        }
        all.push_back({std::string(trimmed(fields[columns->label])),
                       std::string(trimmed(fields[columns->text])), from.line});
    }
    return all;
}

std::vector<Labelled> read_all(const std::filesystem::path& file, Reading& from) {
    if (file.extension() == ".csv") return read_columns(from, ',', true);
    if (file.extension() == ".tsv") return read_columns(from, '\t', false);
    return read_prefixed(from);
}

std::string hash_of_texts(const LabelledTexts& texts) {
    Checksum sum;
    for (std::size_t i = 0; i < texts.texts.size(); ++i) {
        sum.add(texts.labels[static_cast<std::size_t>(texts.targets[i])]);
        sum.add(std::string_view("\n", 1));
        sum.add(texts.texts[i]);
        sum.add(std::string_view("\0", 1));
    }
    return sum.hex();
}

}  // namespace

std::vector<std::int64_t> LabelledTexts::counts() const {
    std::vector<std::int64_t> all(labels.size(), 0);
    for (const std::int64_t target : targets) ++all[static_cast<std::size_t>(target)];
    return all;
}

LabelledTexts read_labelled_texts(const std::filesystem::path& file,
                                  const std::vector<std::string>& known) {
    const std::string whole = read_text(file);
    Reading from{.name = utf8::printable(file.string()), .text = whole};
    std::vector<Labelled> all = read_all(file, from);
    std::map<std::string, std::int64_t> ids;
    LabelledTexts result{.labels = known, .texts = {}, .targets = {}, .hash = {}};
    if (known.empty()) {
        for (const Labelled& one : all) ids[one.label];
        for (const auto& [label, id] : ids) result.labels.push_back(label);
    }
    for (std::size_t i = 0; i < result.labels.size(); ++i) {
        ids[result.labels[i]] = static_cast<std::int64_t>(i);
    }
    for (Labelled& one : all) {
        from.line = one.line;
        if (one.label.empty()) from.wrong("the label is empty");
        if (one.text.empty()) from.wrong("the text is empty");
        const auto found = ids.find(one.label);
        if (found == ids.end()) {
            from.wrong("label {} is not one of the model's {}", utf8::quoted(one.label),
                       ids.size());
        }
        result.targets.push_back(found->second);
        result.texts.push_back(std::move(one.text));
    }
    require<IoError>(result.labels.size() >= 2,
                     "{}: a classifier needs at least 2 labels, and this file has {}", from.name,
                     result.labels.size());
    result.hash = hash_of_texts(result);
    return result;
}

std::vector<std::int64_t> next_rows(BatchOrder order, std::int64_t n, std::int64_t batch,
                                    Generator& generator) {
    require(n >= 1 && batch >= 1, "next_rows: needs at least 1 example and 1 row, got {} and {}", n,
            batch);
    if (order == BatchOrder::random) {
        return randint(0, n, {batch}, generator).to_vector<std::int64_t>();
    }
    std::vector<std::int64_t> rows(static_cast<std::size_t>(batch));
    next_in_epochs(generator, n, rows);
    return rows;
}

}  // namespace tapestry
