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
#include <set>
#include <string_view>
#include <utility>

namespace tapestry {
namespace {

constexpr std::string_view kLabel = "__label__";
constexpr std::string_view kBlank = " \t\r";

struct LabelledText {
    std::vector<std::string> labels;
    std::string text;
    std::int64_t line = 0;
};

// What a file has.
struct Contents {
    std::vector<LabelledText> all;
    bool several = false;  // a text may have any number of labels
};

// ---- __label__NAME text -------------------------------------------------------------------------

Contents read_prefixed(DelimitedText& from) {
    Contents contents;
    while (!from.is_done()) {
        std::string_view rest = without_blanks(from.next_line());
        if (rest.empty()) continue;
        LabelledText one{.labels = {}, .text = {}, .line = from.place().line};
        while (rest.starts_with(kLabel)) {
            const std::size_t end = std::min(rest.find_first_of(kBlank), rest.size());
            one.labels.emplace_back(rest.substr(kLabel.size(), end - kLabel.size()));
            if (one.labels.back().empty()) from.place().wrong("{} without a name", kLabel);
            rest = without_blanks(rest.substr(end));
        }
        if (one.labels.empty()) {
            from.place().wrong(
                "has no label; a line begins with {}NAME (or name the file .csv or .tsv)", kLabel);
        }
        one.text = rest;
        contents.several |= one.labels.size() > 1;
        contents.all.push_back(std::move(one));
    }
    return contents;
}

// ---- columns ------------------------------------------------------------------------------------

struct Columns {
    std::size_t label = 0, text = 1, count = 2;
    bool several = false;  // the column is "labels"
};

// The columns that the first record names, if it does.
std::optional<Columns> named_columns(std::vector<std::string> first) {
    for (std::string& name : first) name = column_name(name);
    const auto place = [&first](std::string_view name) {
        return static_cast<std::size_t>(std::find(first.begin(), first.end(), name) -
                                        first.begin());
    };
    Columns columns{place("label"), place("text"), first.size()};
    if (columns.label == first.size()) {
        columns.label = place("labels");
        columns.several = true;
    }
    if (columns.label == first.size() || columns.text == first.size()) return std::nullopt;
    return columns;
}

Contents read_columns(DelimitedText& from, char separator, bool has_quotes) {
    Contents contents;
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
                "with the names label (or labels) and text",
                pluralize(std::ssize(fields), "field"), columns->count);
        }
        const std::string& label = fields[columns->label];
        contents.several = columns->several;
        contents.all.push_back(
            {columns->several ? label_names(label)
                              : std::vector<std::string>{std::string(without_blanks(label))},
             std::string(without_blanks(fields[columns->text])), from.place().line});
    }
    return contents;
}

Contents read_all(const std::filesystem::path& file, DelimitedText& from) {
    if (file.extension() == ".csv") return read_columns(from, ',', true);
    if (file.extension() == ".tsv") return read_columns(from, '\t', false);
    return read_prefixed(from);
}

std::string hash_of_texts(const LabelledTexts& texts) {
    Checksum sum;
    for (std::size_t i = 0; i < texts.texts.size(); ++i) {
        for (const std::int64_t label : texts.labels_of(i)) {
            sum.add(texts.labels[static_cast<std::size_t>(label)]);
            sum.add(std::string_view("\n", 1));
        }
        sum.add(texts.texts[i]);
        sum.add(std::string_view("\0", 1));
    }
    return sum.hex();
}

}  // namespace

std::vector<std::int64_t> LabelledTexts::counts() const {
    std::vector<std::int64_t> all(labels.size(), 0);
    for (std::size_t i = 0; i < texts.size(); ++i) {
        for (const std::int64_t label : labels_of(i)) ++all[static_cast<std::size_t>(label)];
    }
    return all;
}

std::vector<std::int64_t> LabelledTexts::labels_of(std::size_t i) const {
    return several ? sets[i] : std::vector<std::int64_t>{targets[i]};
}

std::vector<std::string> label_names(std::string_view text) {
    std::vector<std::string> names;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(';', at), text.size());
        const std::string_view name = without_blanks(text.substr(at, end - at));
        if (!name.empty()) names.emplace_back(name);
        at = end + 1;
    }
    return names;
}

namespace {

// A text's labels by id, sorted.
std::vector<std::int64_t> ids_of(const LabelledText& one, const PlaceInFile& place,
                                 const std::map<std::string, std::int64_t>& ids) {
    std::vector<std::int64_t> all;
    for (const std::string& label : one.labels) {
        if (label.empty()) place.wrong("the label is empty");
        const auto found = ids.find(label);
        if (found == ids.end()) {
            place.wrong("label {} is not one of the model's {}", utf8::quoted(label), ids.size());
        }
        if (std::find(all.begin(), all.end(), found->second) != all.end()) {
            place.wrong("has the label {} twice", utf8::quoted(label));
        }
        all.push_back(found->second);
    }
    std::sort(all.begin(), all.end());
    return all;
}

std::map<std::string, std::int64_t> ids_by_name(const std::vector<std::string>& labels) {
    std::map<std::string, std::int64_t> ids;
    for (std::size_t i = 0; i < labels.size(); ++i) ids[labels[i]] = static_cast<std::int64_t>(i);
    return ids;
}

std::vector<std::string> sorted_names(const std::vector<LabelledText>& all) {
    std::set<std::string> names;
    for (const LabelledText& one : all) names.insert(one.labels.begin(), one.labels.end());
    return {names.begin(), names.end()};
}

}  // namespace

LabelledTexts read_labelled_texts(const std::filesystem::path& file,
                                  const std::vector<std::string>& known, LabelsPerText needed) {
    const std::string whole = read_text(file);
    DelimitedText from(utf8::printable(file.string()), whole);
    Contents contents = read_all(file, from);
    const bool several =
        needed == LabelsPerText::as_in_file ? contents.several : needed == LabelsPerText::any;
    LabelledTexts result{.labels = known.empty() ? sorted_names(contents.all) : known,
                         .several = several};
    const auto ids = ids_by_name(result.labels);
    for (LabelledText& one : contents.all) {
        from.place().line = one.line;
        if (needed == LabelsPerText::one && one.labels.size() != 1) {
            from.place().wrong("has {}; the model gives each text exactly one",
                               pluralize(std::ssize(one.labels), "label"));
        }
        std::vector<std::int64_t> labels = ids_of(one, from.place(), ids);
        if (one.text.empty()) from.place().wrong("the text is empty");
        if (labels.size() > 1 && result.first_with_several == 0) {
            result.first_with_several = one.line;
        }
        if (several) {
            result.sets.push_back(std::move(labels));
        } else {
            result.targets.push_back(labels[0]);
        }
        result.texts.push_back(std::move(one.text));
    }
    require<IoError>(!result.texts.empty(), "{}: no texts; each needs a line with its label",
                     from.place().name);
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
