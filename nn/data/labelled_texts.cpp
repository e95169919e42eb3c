#include <tapestry/nn/data/labelled_texts.h>

#include <tapestry/core/checksum.h>
#include <tapestry/core/error.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/data/delimited.h>
#include <tapestry/nn/data/documents.h>
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

struct Labelled {
    std::string label, text;
    std::int64_t line = 0;
};

// ---- __label__NAME text -------------------------------------------------------------------------

std::vector<Labelled> read_prefixed(DelimitedText& from) {
    std::vector<Labelled> all;
    while (!from.is_done()) {
        std::string_view rest = without_blanks(from.next_line());
        if (rest.empty()) continue;
        Labelled one{.label = {}, .text = {}, .line = from.place().line};
        while (rest.starts_with(kLabel)) {
            if (!one.label.empty()) {
                from.place().wrong("has several labels; a text needs exactly one");
            }
            const std::size_t end = std::min(rest.find_first_of(kBlank), rest.size());
            one.label = rest.substr(kLabel.size(), end - kLabel.size());
            if (one.label.empty()) from.place().wrong("{} without a name", kLabel);
            rest = without_blanks(rest.substr(end));
        }
        if (one.label.empty()) {
            from.place().wrong(
                "has no label; a line begins with {}NAME (or name the file .csv or .tsv)", kLabel);
        }
        one.text = rest;
        all.push_back(std::move(one));
    }
    return all;
}

// ---- columns ------------------------------------------------------------------------------------

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

std::vector<Labelled> read_columns(DelimitedText& from, char separator, bool has_quotes) {
    std::vector<Labelled> all;
    std::optional<Columns> columns;
    while (!from.is_done()) {
        std::vector<std::string> fields = from.next_record(separator, has_quotes);
        if (fields.size() == 1 && without_blanks(fields[0]).empty()) continue;
        if (!columns) {
            const auto named = named_columns(fields);
            columns = named.value_or(Columns());
            if (named) continue;
        }
        if (fields.size() != columns->count) {
            from.place().wrong(
                "has {}, expected {}: a label and a text, or the columns of a first line "
                "with the names label and text",
                pluralize(std::ssize(fields), "field"), columns->count);
        }
        all.push_back({std::string(without_blanks(fields[columns->label])),
                       std::string(without_blanks(fields[columns->text])), from.place().line});
    }
    return all;
}

std::vector<Labelled> read_all(const std::filesystem::path& file, DelimitedText& from) {
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
    DelimitedText from(utf8::printable(file.string()), whole);
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
        from.place().line = one.line;
        if (one.label.empty()) from.place().wrong("the label is empty");
        if (one.text.empty()) from.place().wrong("the text is empty");
        const auto found = ids.find(one.label);
        if (found == ids.end()) {
            from.place().wrong("label {} is not one of the model's {}", utf8::quoted(one.label),
                               ids.size());
        }
        result.targets.push_back(found->second);
        result.texts.push_back(std::move(one.text));
    }
    require<IoError>(result.labels.size() >= 2,
                     "{}: a classifier needs at least 2 labels, and this file has {}",
                     from.place().name, result.labels.size());
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
